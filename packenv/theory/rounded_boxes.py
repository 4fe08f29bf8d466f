"""The linear program for ρ_K (PAPERS §6), and boxes of demands as types.

It uses column generation over configurations of boxes. A box is a single vector if these are few, else a part of all demands.
"""

from __future__ import annotations

import heapq
import itertools
import time
from dataclasses import dataclass
from functools import partial

import numpy as np

from packenv.errors import InputError
from packenv.theory.capacity.best_proofs import rounded_down
from packenv.theory.capacity.linear_program import (
    ConfigurationColumns,
    ConfigurationProgram,
    Floats,
    Ints,
    ServerKinds,
    generate,
)
from packenv.theory.capacity.one_resource.search import weighted, within
from packenv.theory.capacity.several_resources.certificate import Boxes, maximal_fillings
from packenv.theory.capacity.several_resources.demand_law import Atoms, VectorKinds, VectorLaw, first_box
from packenv.theory.capacity.several_resources.packing import IntegerPricing, columns_of, packing, valuable


@dataclass(frozen=True, eq=False)
class RoundedProgram:
    """Types, and configurations that hold ρ_K tasks in their shares.

    Every task counts as its type. For several resources types are boxes, descending by volume. A demand belongs to the last box
    that holds it.
    """

    sizes: Ints  # (T,) units, descending: what a task of each type counts as; boxes: (T, D)
    least: Ints  # (T,) units: the smallest size of each type; boxes: (T, D), a lower bound on it in each resource
    capacity: Ints  # (G,) units of each kind of server, decreasing; boxes: (G, D), in any order
    counts: Ints  # (m, T) how many tasks of each type a configuration holds
    kind: Ints  # (m,) kind of server that it is for
    share: Floats  # (m,) share of the time of these servers; sums to at most 1 for each kind
    rho: float  # ρ_K is at least this, in exact arithmetic
    listed: ConfigurationColumns | None = None  # boxes: all configurations, or the best known ones, with those of `counts`

    @property
    def boxes(self) -> bool:
        """Whether types are boxes of demand vectors."""
        return self.sizes.ndim > 1


MOST_ENUMERATED = 5000  # configurations of a kind of server that the program takes all at once
LISTED = 1000  # configurations to choose from on each kind of server


def solve_boxes(law: VectorLaw, kinds: VectorKinds, boxes: Ints, gap: float, seconds: float) -> RoundedProgram:
    """Solve the program of `boxes` (T, D). A demand is of its last box."""
    # Leave out boxes without tasks.
    shares = law.shares(boxes[::-1])
    assert shares is not None  # the boxes hold all demands
    inhabited = np.array([share > 0 for share in shares[0][::-1]])
    boxes = boxes[inhabited]
    share = np.array([share / shares[1] for share in shares[0][::-1]])[inhabited]
    # Solve the program over the other boxes.
    program = ConfigurationProgram(share, ServerKinds(np.arange(len(kinds.number)), kinds.number))
    prices = _prices(program, boxes, kinds, gap, time.monotonic() + seconds)
    columns, weights = program.columns(), program.weights()
    # Take the best proof, whose boxes ascend.
    ascending = tuple(map(tuple, boxes[::-1].tolist()))
    turned = ConfigurationColumns(columns.counts[:, ::-1], columns.kind)
    proofs = [Boxes(ascending, counts, parts) for counts, parts in weighted(turned, weights, kinds.number)]
    best = max(proofs, key=lambda proof: proof.value(law, kinds))
    # Turn its configurations into counts of the descending boxes.
    kind = np.array([configuration.kind for configuration in best.configurations], np.int64)
    counts = np.zeros((len(kind), len(boxes)), np.int64)
    for row, configuration in enumerate(best.configurations):
        for j, count in configuration.held:
            counts[row, len(boxes) - 1 - j] = count
    parts = np.array([configuration.servers / best.parts for configuration in best.configurations])
    return RoundedProgram(
        sizes=boxes,
        least=least_of(law, boxes),
        capacity=kinds.capacity,
        counts=counts,
        kind=kind,
        share=parts / kinds.number[kind],
        rho=rounded_down(best.value(law, kinds)),
        listed=_listed(columns, weights, prices),
    )


def _prices(program: ConfigurationProgram, boxes: Ints, kinds: VectorKinds, gap: float, deadline: float) -> Floats:
    """Return the program's prices, by enumeration or generation. Raises InputError for oversized boxes."""
    try:
        counts = [maximal_fillings(boxes, capacity, MOST_ENUMERATED) for capacity in kinds.capacity]
    except OverflowError:
        _begin_with_packings(program, boxes, kinds)
        prices = volumes(boxes, kinds.capacity)
        for pricing in (partial(valuable, boxes, kinds), IntegerPricing(boxes, kinds)):
            prices = generate(program, pricing, prices, within(gap), deadline).prices
        return prices
    kind = np.repeat(np.arange(len(counts)), [len(fillings) for fillings in counts])
    program.add(ConfigurationColumns(np.concatenate([np.array(fillings, np.float64) for fillings in counts]), kind))
    return program.solve()[1]


def _begin_with_packings(program: ConfigurationProgram, boxes: Ints, kinds: VectorKinds) -> None:
    """Add greedy packings. Raises InputError for oversized boxes."""
    if not all((box <= kinds.capacity).all(axis=1).any() for box in boxes):
        raise InputError(f"{len(boxes)} types: the box of one fits no server, though each of its demands does; give more types")
    scale = 1 / np.maximum(kinds.number @ kinds.capacity, 1)
    for scales in (scale, *np.diag(scale)):
        program.add(columns_of(packing(boxes, program.shares, kinds, scales)))


def _listed(columns: ConfigurationColumns, weights: Floats, prices: Floats) -> ConfigurationColumns:
    """Return used and most valuable configurations in descending lexicographic order."""
    worth = np.where(weights > 0, np.inf, columns.counts @ prices)
    of_kind = [np.flatnonzero(columns.kind == kind) for kind in np.unique(columns.kind)]
    best = [rows[np.argsort(-worth[rows], kind="stable")[:LISTED]] for rows in of_kind]
    rows = np.concatenate(best)
    order = np.lexsort([*-columns.counts[rows].T[::-1], columns.kind[rows]])
    return ConfigurationColumns(columns.counts[rows][order], columns.kind[rows][order])


def boxes_of(law: VectorLaw, kinds: VectorKinds, most: int) -> Ints:
    """(T, D) at most `most` boxes, as in `solve_boxes`, in units."""
    if isinstance(law, Atoms):
        boxes = law.vectors if len(law.vectors) <= most else halved(law, kinds, most)
    else:
        boxes = law.boxes(max(1, int(most ** (1 / kinds.capacity.shape[1]) + 1e-9)), kinds)
    return boxes[np.argsort(-volumes(boxes, kinds.capacity), kind="stable")]


def volumes(boxes: Ints, capacity: Ints) -> Floats:
    """(T,) each box's shares of the largest capacity (G, D), summed."""
    return np.asarray((boxes / np.maximum(capacity.max(axis=0), 1)).sum(axis=1))


def least_of(law: VectorLaw, boxes: Ints) -> Ints:
    """(T, D) lower bounds on demands in each of the descending `boxes`."""
    if isinstance(law, Atoms):
        place = len(boxes) - 1 - first_box(law.vectors, boxes[::-1])
        return np.array([law.vectors[place == j].min(axis=0) for j in range(len(boxes))])
    least = np.empty_like(boxes)  # they are all combinations of the same ends
    for r, of_one in enumerate(law.laws):
        ends = np.unique(boxes[:, r])
        least[:, r] = np.append(of_one.low[0], ends[:-1] + 1)[np.searchsorted(ends, boxes[:, r])]
    return least


def halved(law: Atoms, kinds: VectorKinds, most: int) -> Ints:
    """Return at most `most` boxes, by cutting the most wasteful one repeatedly.

    Each box fits its vectors tightly, and is cut where the waste is least. Waste is the volume that rounding up adds to its
    tasks. A box that fits no server comes first, though its vectors do.
    """
    scale = 1 / np.maximum(kinds.capacity.max(axis=0), 1)
    order = itertools.count()
    cells = [_cell(law.vectors, law.mass, kinds, scale, next(order))]
    while len(cells) < most and cells[0][0] < 0:
        _, _, vectors, mass = heapq.heappop(cells)
        for half in _best_cut(vectors, mass, scale):
            heapq.heappush(cells, _cell(vectors[half], mass[half], kinds, scale, next(order)))
    return np.unique([vectors.max(axis=0) for _, _, vectors, _ in cells], axis=0)


def _cell(vectors: Ints, mass: Floats, kinds: VectorKinds, scale: Floats, number: int) -> tuple[float, int, Ints, Floats]:
    """Return the box, with its waste as key."""
    corner = vectors.max(axis=0)
    waste = float(mass @ ((corner - vectors) @ scale))
    if not (corner <= kinds.capacity).all(axis=1).any():
        waste = np.inf
    return -waste, number, vectors, mass


def _best_cut(vectors: Ints, mass: Floats, scale: Floats) -> tuple[Ints, Ints]:
    """Return the two halves (rows) with the least waste."""
    least, best = np.inf, None
    for r in range(vectors.shape[1]):
        order = np.argsort(vectors[:, r], kind="stable")
        ordered, below = vectors[order] * scale, np.cumsum(mass[order])
        lower = np.maximum.accumulate(ordered).sum(axis=1)  # volume of the box of the first n + 1
        upper = np.maximum.accumulate(ordered[::-1])[::-1].sum(axis=1)
        for n in np.flatnonzero(np.diff(vectors[order, r])).tolist():
            volume = below[n] * lower[n] + (below[-1] - below[n]) * upper[n + 1]
            if volume < least:
                least, best = volume, (order[: n + 1], order[n + 1 :])
    assert best is not None  # vectors are distinct
    return best
