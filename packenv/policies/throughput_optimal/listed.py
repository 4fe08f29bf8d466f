"""The heaviest configuration ⟨k, Q⟩ of a list.

For boxes, and for sizes with too many sums. The list has the configurations that attain ρ_K, so its largest weight is at least
theirs, as the proof needs. Among equal weights the first counts, in descending lexicographic order.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from packenv.cluster import Cluster, queue_length
from packenv.compiled.decorators import compiled
from packenv.policies.throughput_optimal.entitled import Entitled, Ints
from packenv.theory.rounded_configurations import RoundedProgram


class Listed(NamedTuple):
    """Configurations by kind of server, as pairs (type, number).

    The larger types first. m rows, W pairs.
    """

    type: NDArray[np.int32]  # (m, W)
    number: NDArray[np.int32]  # (m, W)
    types: NDArray[np.int32]  # (m,) how many pairs a row has
    first: Ints  # (kinds + 1,) those of kind k are rows first[k] .. first[k + 1] - 1; (0,) if there is no list
    heaviest: Ints  # (kinds,) scratch: row of the largest weight


def listed(program: RoundedProgram, kinds: Ints, width: int) -> Listed:
    """Return the list of a program.

    `kinds` (G,) or (G, D): capacity of each kind of server, as the cluster numbers them.
    """
    if program.listed is None:
        nothing = np.zeros((0, width), np.int32)
        return Listed(nothing, nothing, np.zeros(0, np.int32), np.zeros(0, np.int64), np.zeros(0, np.int64))
    capacity = program.capacity.reshape(len(program.capacity), -1)
    kind_of = [int(np.flatnonzero((capacity == units).all(axis=1))[0]) for units in kinds]
    chosen = [program.listed.counts[program.listed.kind == kind].astype(np.int64) for kind in kind_of]
    counts = [rows if len(rows) else np.zeros((1, len(program.sizes)), np.int64) for rows in chosen]
    return Listed(*pairs(np.concatenate(counts), width), np.cumsum([0, *map(len, counts)]), np.zeros(len(counts), np.int64))


def pairs(counts: Ints, width: int) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
    """Return configurations `counts` (m, T) as pairs.

    Types (m, width), numbers of tasks (m, width), and numbers of pairs (m,).
    """
    of_type, number = np.zeros((len(counts), width), np.int32), np.zeros((len(counts), width), np.int32)
    for n, row in enumerate(counts):
        present = np.flatnonzero(row)
        of_type[n, : len(present)], number[n, : len(present)] = present, row[present]
    return of_type, number, np.count_nonzero(counts, axis=1).astype(np.int32)


@compiled
def is_listed(choices: Listed) -> bool:
    """Whether there is a list."""
    return choices.first.shape[0] > 0


@compiled
def largest_listed_weight(cluster: Cluster, choices: Listed, kind: int) -> int:
    """The largest weight of a configuration in the list."""
    most = -1
    for row in range(choices.first[kind], choices.first[kind + 1]):
        weight = 0
        for n in range(choices.types[row]):
            weight += choices.number[row, n] * queue_length(cluster, kind, choices.type[row, n])
        if weight > most:
            most, choices.heaviest[kind] = weight, row
    return most


@compiled
def activate_heaviest(choices: Listed, entitled: Entitled, kind: int, server: int) -> None:
    """Make the last configuration of this kind the server's active one."""
    row = choices.heaviest[kind]
    entitled.types[server] = choices.types[row]
    for n in range(choices.types[row]):
        entitled.type[server, n], entitled.number[server, n] = choices.type[row, n], choices.number[row, n]
