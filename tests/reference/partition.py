"""The universal partition I (PAPERS §1.3) and the reduced configurations K_RED (§1.4), relative to one capacity."""

from __future__ import annotations

Configuration = dict[int, int]  # type -> number of jobs of that type


def type_of(size: int, capacity: int, J: int) -> int | None:
    """The type of a size on a server of this capacity, by exact integer comparison; None if it does not fit."""
    if size > capacity:
        return None
    if size * 2**J <= capacity:  # size <= 2^-J
        return 2 * J - 1
    for m in range(J):
        if 2**m * size <= capacity and 3 * 2**m * size > 2 * capacity:  # (2/3 2^-m, 2^-m]
            return 2 * m
        if 3 * 2**m * size <= 2 * capacity and 2 * 2**m * size > capacity:  # (1/2 2^-m, 2/3 2^-m]
            return 2 * m + 1
    raise AssertionError(f"size {size} has no type")


def reduced_configurations(J: int) -> list[Configuration]:
    """K_RED in the order of §1.4, which also breaks ties of weight."""
    first = [{2 * m: 2**m} for m in range(J)]
    second = [{2 * m + 1: 3 * 2 ** (m - 1)} for m in range(1, J)]
    third = [{1: 1, 2 * m: 2**m // 3} for m in range(2, J)]
    fourth = [{1: 1, 2 * m + 1: 2 ** (m - 1)} for m in range(1, J)]
    return [*first, *second, *third, *fourth]


def weight(configuration: Configuration | None, lengths: dict[int, int]) -> int:
    """<k, Q>; a server that has no configuration yet weighs nothing."""
    return sum(k * lengths.get(j, 0) for j, k in configuration.items()) if configuration else 0


def heaviest(configurations: list[Configuration], lengths: dict[int, int]) -> Configuration:
    """argmax <k, Q>, the earliest of equals."""
    best = max(weight(k, lengths) for k in configurations)
    return next(k for k in configurations if weight(k, lengths) == best)


def levels(J: int, capacity: int, largest: int) -> int:
    """J of a server of this capacity when the largest server has J: one level less for each halving."""
    if capacity == 0:
        return 2
    halvings = 0
    while capacity * 2 ** (halvings + 1) <= largest:
        halvings += 1
    return max(2, J - halvings)


def default_levels(sizes: list[int], capacity: int) -> int:
    """The smallest J >= 2 with F(2^-J) <= 0.01 over these sizes, at most 16."""
    for J in range(2, 16):
        if 100 * sum(size * 2**J <= capacity for size in sizes) <= len(sizes):
            return J
    return 16
