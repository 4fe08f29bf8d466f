"""Maximal configurations: against brute force, and the numbers of PAPERS §1.4."""

from __future__ import annotations

import random
from itertools import product

import numpy as np
import pytest

from packenv import UNIT, InputError
from packenv.theory.configurations import maximal_configurations


def feasible(sizes: list[int], capacity: int) -> list[tuple[int, ...]]:
    """All that fit, the empty one too."""
    every = product(*[range(capacity // size + 1) for size in sizes])
    return [k for k in every if sum(n * size for n, size in zip(k, sizes, strict=True)) <= capacity]


def is_maximal(k: tuple[int, ...], sizes: list[int], capacity: int) -> bool:
    return all(sum(n * size for n, size in zip(k, sizes, strict=True)) + more > capacity for more in sizes)


def test_brute_force() -> None:
    """In any order of sizes, with equal ones, and some that do not fit."""
    rng = random.Random(0)
    for _ in range(300):
        sizes = [rng.randint(1, 14) for _ in range(rng.randint(1, 4))]
        capacity = rng.randint(0, 18)
        expected = sorted((k for k in feasible(sizes, capacity) if is_maximal(k, sizes, capacity)), reverse=True)
        assert [tuple(row) for row in maximal_configurations(sizes, capacity, 10_000).tolist()] == expected


def test_partition_i() -> None:
    """The papers count every feasible configuration of the upper-rounded types, the empty one included."""
    for J, number, maximal in ((2, 10, 5), (3, 50, 20), (4, 476, 134)):
        sizes = [part for m in range(J) for part in (UNIT >> m, 2 * UNIT // (3 << m))]
        assert all(size * 3 * 2**J % UNIT == 0 for size in sizes)  # exact in units
        assert count(sizes, UNIT) == number
        found = [tuple(row) for row in maximal_configurations(sizes, UNIT, maximal).tolist()]
        assert len(found) == len(set(found)) == maximal
        assert all(is_maximal(k, sizes, UNIT) for k in found)
        assert found == sorted(found, reverse=True)
        with pytest.raises(InputError, match=f"more than {maximal - 1} maximal configurations"):
            maximal_configurations(sizes, UNIT, maximal - 1)


def count(sizes: list[int], capacity: int) -> int:
    if not sizes:
        return 1
    return sum(count(sizes[1:], capacity - k * sizes[0]) for k in range(capacity // sizes[0] + 1))


def test_nothing_fits() -> None:
    assert maximal_configurations([5, 7], 4, 1).tolist() == [[0, 0]]


def test_too_many_are_refused_at_once() -> None:
    with pytest.raises(InputError, match="30 types have more than 50000 maximal configurations"):
        maximal_configurations(range(1, 31), UNIT, 50_000)


@pytest.mark.parametrize("sizes, capacity", [([], 1), ([0, 1], 1), ([1], -1), ([[1]], 1)])
def test_bad_input(sizes: list[int], capacity: int) -> None:
    with pytest.raises(InputError, match="sizes of at least 1 unit"):
        maximal_configurations(sizes, capacity, 10)


def test_numbers_are_those_of_a_server() -> None:
    found = maximal_configurations(np.array([5, 2]) * UNIT, 10 * UNIT, 10)
    assert found.tolist() == [[2, 0], [1, 2], [0, 5]]
