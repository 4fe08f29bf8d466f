"""MSR's candidates: the configurations that attain ρ_K, in the cyclic order in which a server goes through them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from packenv.policies.throughput_optimal.listed import pairs
from packenv.theory.rounded_boxes import volumes
from packenv.theory.rounded_configurations import RoundedProgram
from packenv.units import UNIT

Ints = NDArray[np.int64]

NEVER_USED = 1e-9  # a smaller share of the time is a rounding error of the linear program


class Candidates(NamedTuple):
    """Configurations of all kinds of server, as pairs (type, number of tasks), the larger types first. m rows, W pairs."""

    type: NDArray[np.int32]  # (m, W)
    number: NDArray[np.int32]  # (m, W)
    types: NDArray[np.int32]  # (m,) how many pairs a row has
    share: NDArray[np.float64]  # (m,) share of the time of a server of its kind; sums to 1 for each kind
    after: Ints  # (m,) the row that follows it in the cycle


def candidates(program: RoundedProgram, width: int) -> tuple[Candidates, list[Ints]]:
    """The candidates, and for each kind of server of the program its rows in cyclic order."""
    sizes = in_units(program)
    cycles: list[Ints] = []
    held: list[Ints] = []
    shares: list[NDArray[np.float64]] = []
    for kind in range(len(program.capacity)):
        used = np.flatnonzero((program.kind == kind) & (program.share > NEVER_USED))
        order = used[in_order(program.held[used], sizes)]
        if len(order):
            held += list(program.held[order])
            shares.append(program.share[order] / program.share[order].sum())
        else:  # too small for every type: nothing is entitled there
            held.append(np.zeros(len(program.sizes), np.int64))
            shares.append(np.ones(1))
        cycles.append(np.arange(len(held) - len(shares[-1]), len(held)))
    of_type, number, types = pairs(np.array(held), width)
    made = Candidates(
        type=of_type,
        number=number,
        types=types,
        share=np.concatenate(shares),
        after=np.concatenate([np.roll(cycle, -1) for cycle in cycles]),
    )
    return made, cycles


def in_units(program: RoundedProgram) -> Ints:
    """(T,) one size for each type, descending: that of a box is its volume."""
    return np.round(volumes(program.sizes, program.capacity) * UNIT).astype(np.int64) if program.boxes else program.sizes


def in_order(held: Ints, sizes: Ints) -> Ints:
    """A short cycle through configurations `held` (m, T) of `sizes` (T,), descending: (m,) their rows.

    Two configurations are as far apart as the area between their curves "number of tasks larger than s": the room that a
    change wastes when tasks of the first are replaced one by one by slightly smaller or larger ones.
    """
    widths = -np.diff(np.append(sizes, 0))
    larger = np.cumsum(held, axis=1)  # (m, T) number of tasks of at least each size
    apart = np.array([np.abs(larger - one) @ widths for one in larger]).reshape(len(held), len(held))
    tour, left = [0] if len(held) else [], set(range(1, len(held)))
    while left:
        nearest = min(left, key=lambda n: (apart[tour[-1], n], n))
        left.remove(nearest)
        tour.append(nearest)
    return two_opt(np.array(tour, np.int64), apart)


def two_opt(tour: Ints, apart: NDArray[np.int64]) -> Ints:
    """Reverse parts of a cycle as long as that makes it shorter."""
    better = len(tour) > 3
    while better:
        better = False
        for i in range(len(tour) - 2):
            ends = tour[i + 1 :]
            after = np.append(ends[1:], tour[0])
            longer = apart[tour[i], ends] + apart[tour[i + 1], after] - apart[tour[i], tour[i + 1]] - apart[ends, after]
            k = int(np.argmin(longer))
            if longer[k] < 0:
                tour[i + 1 : i + 2 + k] = tour[i + 1 : i + 2 + k][::-1].copy()
                better = True
    return tour
