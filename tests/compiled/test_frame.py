"""Copies of a frame, and frames with fields replaced, have the integers that compiled code has assigned."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numba
import numpy as np
import pytest
from numpy.typing import NDArray

from packenv.compiled.frame import Frame


class Inner(Frame):
    count: int
    numbers: NDArray[np.int64]


class Outer(Frame):
    first: NDArray[np.int64]
    inner: Inner
    sent: int


@numba.njit
def count_up(outer: Any) -> None:
    outer.sent += 1
    outer.inner.count += 2
    outer.inner.numbers[0] += 3


def fresh() -> Outer:
    return Outer(first=np.zeros(2, np.int64), inner=Inner(count=5, numbers=np.zeros(3, np.int64)), sent=7)


def values(outer: Outer) -> tuple[int, int, int]:
    """As a further call of compiled code finds them."""
    count_up(outer)
    found = outer.replace()
    return found.sent, found.inner.count, int(found.inner.numbers[0])


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one)), lambda one: one.replace()])
def test_copies_go_on_from_where_compiled_code_was(copied: Any) -> None:
    outer = fresh()
    count_up(outer)
    assert values(copied(outer)) == (9, 9, 6)


def test_a_copy_has_arrays_of_its_own() -> None:
    outer = fresh()
    other = copy.deepcopy(outer)
    count_up(other)
    assert outer.inner.numbers[0] == 0 and values(outer) == (8, 7, 3)
