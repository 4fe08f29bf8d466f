"""How compiled functions are made: inner functions, linked into their callers or called from Python."""

from __future__ import annotations

import numba
import numpy as np
import pytest

from packenv.compiled.decorators import LEAN, fused, inner
from packenv.compiled.pipelines import OuterCompiler

compiled = numba.njit(pipeline_class=OuterCompiler, **LEAN)  # not kept on disk, whence it would come without inner functions


@inner
def shared(x):
    if x < 0:
        raise ValueError("below zero")
    return 2 * x + 1


@inner
def above(x):
    return shared(x) + shared(x + 1)


@fused
def beside(values):
    total = 0
    for value in values:
        total += shared(value)
    return total


@compiled
def outermost(values):
    return above(values[0]) * beside(values)


@inner
def next_to(x, step=1):
    return x + step


@compiled
def of_many_lengths(short, word, unsigned):
    return next_to(short[0]) + next_to(word[0], step=short[1]) + next_to(5) + next_to(word[1], -1) + next_to(unsigned[0])


class TestInnerFunctions:
    """Functions that are compiled into others only."""

    values = np.array([3, 1, 4], np.int64)

    def test_one_reached_by_two_ways_is_linked_once(self):
        assert outermost(self.values) == ((7 + 9) * (7 + 3 + 9))

    def test_their_errors_reach_python(self):
        with pytest.raises(ValueError, match="below zero"):
            outermost(-self.values)

    def test_they_have_no_machine_code_of_their_own(self):
        outermost(self.values)
        for function, expected in ((outermost, True), (shared.inner, False), (above.inner, False), (beside.inner, False)):
            (made,) = function.overloads.values()
            assert bool(made.library.get_pointer_to_function(made.fndesc.llvm_func_name)) == expected

    def test_integers_of_all_lengths_and_constants_share_one(self):
        short, word, unsigned = np.array([-3, -7], np.int16), np.array([2**40, 9]), np.array([7], np.uint64)
        assert of_many_lengths(short, word, unsigned) == -2 + (2**40 - 7) + 6 + 8 + 8
        kinds = {str(kind) for signature in next_to.inner.signatures for kind in signature if "omitted" not in str(kind)}
        assert kinds == {"int64", "uint64"}

    def test_python_calls_them_too(self):
        assert above(3) == 7 + 9
        with pytest.raises(ValueError, match="below zero"):
            above(-1)
