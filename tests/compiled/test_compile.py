"""How compiled functions are made: those that become part of their callers, and those that are called by address."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from numba.core.errors import TypingError
from numpy.typing import NDArray

from packenv.compiled.apart import Apart
from packenv.compiled.decorators import apart, compiled, fused
from packenv.compiled.frame import Frame, compiled_type


@compiled
def shared(x):
    if x < 0:
        raise ValueError("below zero")
    return 2 * x + 1


@compiled
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


@compiled
def next_to(x, step=1):
    return x + step


@compiled
def of_many_lengths(short, word, unsigned):
    return next_to(short[0]) + next_to(word[0], step=short[1]) + next_to(5) + next_to(word[1], -1) + next_to(unsigned[0])


class TestInnerFunctions:
    """Functions that are compiled into others."""

    values = np.array([3, 1, 4], np.int64)

    def test_one_reached_by_two_ways(self):
        assert outermost(self.values) == ((7 + 9) * (7 + 3 + 9))

    def test_their_errors_reach_python(self):
        with pytest.raises(ValueError, match="below zero"):
            outermost(-self.values)

    def test_integers_of_all_lengths_and_constants_share_one(self):
        short, word, unsigned = np.array([-3, -7], np.int16), np.array([2**40, 9]), np.array([7], np.uint64)
        assert of_many_lengths(short, word, unsigned) == -2 + (2**40 - 7) + 6 + 8 + 8
        kinds = {str(kind) for signature in next_to.inner.signatures for kind in signature if "omitted" not in str(kind)}
        assert kinds <= {"int64", "uint64"}

    def test_python_calls_them_too(self):
        assert above(3) == 7 + 9
        with pytest.raises(ValueError, match="below zero"):
            above(-1)

    def test_copied_and_pickled_they_stay_what_they_are(self):
        assert copy.deepcopy(above) is above
        assert pickle.loads(pickle.dumps(above)) is above


class Pair(Frame):
    """A number and some more."""

    first: int
    others: NDArray[np.int64]


def pair(first: int, *others: int) -> Pair:
    return Pair(first=first, others=np.array(others, np.int64))


@apart
def halved(x: int) -> float:
    if x < 0:
        raise ValueError("no half of what is below zero")
    return x / 2


@apart
def total(p: Pair, scale: int) -> int:
    found = p.first
    for k in range(p.others.shape[0]):
        found += scale * p.others[k]
    return found


@apart
def forget(p: Pair) -> None:
    p.first = 0


@apart
def even(x: int) -> bool:
    return x % 2 == 0


@apart
def half_of_total(p: Pair) -> float:
    return halved(total(p, scale=1))


@apart
def rarely_called(x: int) -> int:
    return x


@apart
def impossible(x: int) -> int:
    return x.nothing_of_the_kind()


@compiled
def about(p, scale):
    if scale == 77:
        return rarely_called(scale)
    if scale == 78:
        return impossible(scale)
    found = total(p, scale)
    if not even(found):
        forget(p)
    return found


@compiled
def half(p):
    return half_of_total(p)


def of(function):
    """What is known of a function that is compiled apart."""
    return next(one for one in Apart.by_address.values() if one.function is function.function)


class TestApart:
    """Functions that are compiled once and called by address."""

    def test_arguments_and_results_of_every_kind(self):
        p = pair(1, 2, 3)
        assert about(p, 1) == 6
        assert p.assigned("first") == 1
        assert about(p, np.int32(2)) == 11  # of another length: widened
        assert p.assigned("first") == 0
        assert half(pair(1, 2)) == 1.5

    def test_they_are_compiled_when_first_called(self):
        about(pair(1, 2), 1)
        assert of(total).word.value != 0
        assert of(rarely_called).word.value == 0
        assert about(pair(0), 77) == 77
        assert of(rarely_called).word.value != 0

    def test_errors_pass_through_them(self):
        with pytest.raises(ValueError, match=r"^no half of what is below zero$"):
            half(pair(1, -2))

    def test_one_that_cannot_be_compiled_says_why(self):
        for _ in range(2):
            with pytest.raises(TypingError, match="nothing_of_the_kind"):
                about(pair(0), 78)

    def test_python_calls_them_too(self):
        assert halved(5) == 2.5
        with pytest.raises(ValueError, match="no half"):
            halved(-5)

    def test_compiling_them_is_timed(self):
        assert Apart.seconds > 0
        about(pair(1, 2), 1)
        spent = Apart.seconds
        about(pair(1, 2), 1)
        assert Apart.seconds == spent

    def test_a_frame_class_of_several_types_is_an_error(self):
        class Any(Frame):
            what: NDArray[np.int64]

        Any(what=np.zeros(1))
        Any(what=np.zeros((1, 1)))
        with pytest.raises(TypeError, match="Any has 2 compiled types"):
            compiled_type(Any)

    def test_values_of_another_type_are_refused_once_functions_are_compiled_for_the_first(self):
        class Settled(Frame):
            what: NDArray[np.int64]

        Settled(what=np.zeros(1))
        compiled_type(Settled)
        Settled(what=np.zeros(2))
        with pytest.raises(TypeError, match="Settled is compiled with other fields"):
            Settled(what=np.zeros((1, 1)))
