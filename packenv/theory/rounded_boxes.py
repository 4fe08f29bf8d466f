"""Boxes of demand vectors as types: every vector itself if the vectors are few, else a partition of all demands into boxes."""

from __future__ import annotations

import heapq
from itertools import count

import numpy as np

from packenv.theory.capacity.linear_program import Floats, Ints
from packenv.theory.capacity.several_resources.demand_law import Atoms, VectorKinds, VectorLaw, first_box


def boxes_of(law: VectorLaw, kinds: VectorKinds, most: int) -> Ints:
    """(T, D) at most `most` boxes, units, descending by volume; a demand is of the last one that holds it."""
    if isinstance(law, Atoms):
        found = law.vectors if len(law.vectors) <= most else halved(law, kinds, most)
    else:
        found = law.boxes(max(1, int(most ** (1 / kinds.capacity.shape[1]) + 1e-9)), kinds)
    return found[np.argsort(-volumes(found, kinds.capacity), kind="stable")]


def volumes(boxes: Ints, capacity: Ints) -> Floats:
    """(T,) the sum over the resources of the share of the largest capacity (G, D) that each box takes."""
    return np.asarray((boxes / np.maximum(capacity.max(axis=0), 1)).sum(axis=1))


def least_of(law: VectorLaw, boxes: Ints) -> Ints:
    """(T, D) for each of `boxes`, descending, a lower bound on the demands of its tasks in each resource."""
    if isinstance(law, Atoms):
        place = len(boxes) - 1 - first_box(law.vectors, boxes[::-1])
        return np.array([law.vectors[place == j].min(axis=0) for j in range(len(boxes))])
    least = np.empty_like(boxes)  # they are all combinations of the same ends
    for r, of_one in enumerate(law.laws):
        ends = np.unique(boxes[:, r])
        least[:, r] = np.append(of_one.low[0], ends[:-1] + 1)[np.searchsorted(ends, boxes[:, r])]
    return least


def halved(law: Atoms, kinds: VectorKinds, most: int) -> Ints:
    """At most `most` boxes: again and again the one that wastes most is cut in two. A box holds its vectors exactly.

    A cut is where it wastes least. What a box wastes is what rounding up adds to the volume of its tasks; a box that fits
    no server comes first, though its vectors do.
    """
    scale = 1 / np.maximum(kinds.capacity.max(axis=0), 1)
    order = count()
    cells = [_cell(law.vectors, law.mass, kinds, scale, next(order))]
    while len(cells) < most and cells[0][0] < 0:
        _, _, vectors, mass = heapq.heappop(cells)
        for half in _best_cut(vectors, mass, scale):
            heapq.heappush(cells, _cell(vectors[half], mass[half], kinds, scale, next(order)))
    return np.unique([vectors.max(axis=0) for _, _, vectors, _ in cells], axis=0)


def _cell(vectors: Ints, mass: Floats, kinds: VectorKinds, scale: Floats, number: int) -> tuple[float, int, Ints, Floats]:
    """Sorts by how much the box wastes, the most first."""
    corner = vectors.max(axis=0)
    waste = float(mass @ ((corner - vectors) @ scale))
    if not (corner <= kinds.capacity).all(axis=1).any():
        waste = np.inf
    return -waste, number, vectors, mass


def _best_cut(vectors: Ints, mass: Floats, scale: Floats) -> tuple[Ints, Ints]:
    """The two halves (rows) into which a cut across some resource leaves the least waste."""
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
