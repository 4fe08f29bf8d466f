"""The configuration of the largest weight ⟨k, Q⟩ among all of T types: an unbounded knapsack over the reachable sums of sizes.

No configuration is listed: with 20 types of small sizes there are more than could be. The result is the one that
`maxweight` would choose from its list, the first of the largest weight in descending lexicographic order.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from packenv.cluster import Cluster, kind_of, queue_length
from packenv.compiled.decorators import compiled
from packenv.policies.throughput_optimal.entitled import Entitled, Ints
from packenv.theory.capacity.one_resource.knapsack import Knapsack

MOST_STEPS = 200_000  # sums times types: a tenth of a millisecond for each choice


class Packings(NamedTuple):
    """For each kind of server, the sums of sizes that it can hold, increasing from 0; R in all."""

    after: NDArray[np.int32]  # (R, T) number of the sum after one more task, within the same kind; -1: does not fit
    first: Ints  # (kinds + 1,) sums of kind k are rows first[k] .. first[k + 1] - 1
    best: Ints  # (R,) scratch: largest weight of what can be added to each sum
    present: Ints  # (T,) scratch: types with waiting tasks
    length: Ints  # (T,) scratch: how many of them wait


def all_packings(sizes: Ints, capacity: Ints) -> Packings:
    """Of types of `sizes` (T,) units on kinds of servers of `capacity` units."""
    tables = []
    for units in capacity.tolist():
        before = Knapsack(sizes, units).before
        after = np.full(before.shape, -1, np.int32)
        state, j = np.nonzero(before >= 0)
        after[before[state, j], j] = state
        tables.append(after)
    first = np.cumsum([0, *map(len, tables)])
    nothing = np.zeros(len(sizes), np.int64)
    return Packings(np.concatenate(tables), first, np.zeros(int(first[-1]), np.int64), nothing, nothing.copy())


def no_packings() -> Packings:
    """In place of `all_packings` where configurations are listed."""
    nothing = np.zeros(0, np.int64)
    return Packings(np.zeros((0, 0), np.int32), nothing, nothing, nothing, nothing)


@compiled
def largest_weight(cluster: Cluster, packings: Packings, kind: int) -> int:
    """The largest weight of a configuration, by the recursion V(s) = max_j Q_j + V(s + size_j) from the largest sum down."""
    types = 0
    for j in range(packings.present.shape[0]):
        length = queue_length(cluster, kind, j)
        if length > 0:
            packings.present[types], packings.length[types] = j, length
            types += 1
    first = packings.first[kind]
    for row in range(packings.first[kind + 1] - 1, first - 1, -1):
        most = 0
        for n in range(types):
            after = packings.after[row, packings.present[n]]
            if after >= 0:
                most = max(most, packings.length[n] + packings.best[first + after])
        packings.best[row] = most
    return packings.best[first]


@compiled
def first_heaviest(cluster: Cluster, packings: Packings, own: Entitled, server: int) -> None:
    """Make the configuration of the largest weight the server's active one, after `largest_weight` of its kind.

    The largest type that some best way to go on begins with is taken next: that gives the first one in descending
    lexicographic order, and one that leaves no room for another task.
    """
    kind = kind_of(cluster, server)
    first = packings.first[kind]
    row, j, n = first, 0, -1
    while j < own.size.shape[0]:
        after = packings.after[row, j]
        if after >= 0 and packings.best[row] == queue_length(cluster, kind, j) + packings.best[first + after]:
            if n < 0 or own.type[server, n] != j:
                n += 1
                own.type[server, n], own.number[server, n] = j, 0
            own.number[server, n] += 1
            row = first + after
        else:
            j += 1
    own.types[server] = n + 1
