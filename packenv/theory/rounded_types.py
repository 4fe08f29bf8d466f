"""Types to round sizes up to (PAPERS §1.2)."""

from __future__ import annotations

from bisect import bisect_left
from functools import partial

import numpy as np
from numpy.typing import NDArray

from packenv.jobs import Jobs
from packenv.units import to_units
from packenv.workloads.demand import Sizes, largest_demands, per_resource, scalar_cdf, scalar_size
from packenv.workloads.laws.joint import Joint
from packenv.workloads.laws.law import Law
from packenv.workloads.servers import Servers

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

ROUNDING = 1e-9
"""A sum of probabilities may fall short of a quantile by this much."""


def distinct_sizes(sizes: Sizes | Jobs, servers: Servers) -> tuple[Ints, Floats] | None:
    """Return ascending sizes (units) with P(size ≤ each), or None if continuous."""
    if isinstance(sizes, Jobs):
        return _tally(scalar_size(sizes.demand, servers), np.full(len(sizes), 1 / len(sizes)))
    if isinstance(sizes, Joint):
        vectors, weights = sizes.atoms()
        return _tally(scalar_size(to_units(vectors[weights > 0]), servers), weights[weights > 0])
    laws = per_resource(sizes)
    alone = [_sizes_of_one(law, r, servers) for r, law in enumerate(laws)]
    if any(values is None for values in alone):
        return None
    parts = [values for values in alone if values is not None]
    values = np.unique(np.concatenate(parts))
    values = values[values >= max(part.min() for part in parts)]
    limits = values[:, None] * servers.largest // servers.largest.max()
    below = [law.cdf_units(limits[:, r]) for r, law in enumerate(laws)]
    return values, np.asarray(np.prod(below, axis=0))


def _tally(sizes: Ints, weights: Floats) -> tuple[Ints, Floats]:
    """Distinct sizes, ascending, with P(size ≤ each)."""
    values, place = np.unique(sizes, return_inverse=True)
    return values, np.cumsum(np.bincount(place, weights=weights))


def _sizes_of_one(law: Law, resource: int, servers: Servers) -> Ints | None:
    """Return scalar sizes for this resource alone, or None if infinitely many."""
    atoms = law.atoms()
    if atoms is None:
        return None
    demand = np.zeros((int((atoms[1] > 0).sum()), servers.D), np.int64)
    demand[:, resource] = to_units(atoms[0][atoms[1] > 0])
    return scalar_size(demand, servers)


def largest_of_cells(sizes: Sizes | Jobs, servers: Servers, cells: int) -> Ints:
    """(at most `cells`,) units, descending: all sizes, or each cell's largest.

    The cells have equal probability: cell n = 1, 2, … ends at the smallest size s with P(size ≤ s) ≥ n / cells.
    """
    finite = distinct_sizes(sizes, servers)
    if finite is not None and len(finite[0]) <= cells:
        return finite[0][::-1].copy()
    shares = [n / cells - ROUNDING for n in range(1, cells)]
    if finite is not None:
        values, below = finite
        ends = [*values[np.searchsorted(below, shares)].tolist(), int(values[-1])]
    else:
        top = int(scalar_size(largest_demands(sizes), servers).max())
        ends = [*(bisect_left(range(top), share, key=partial(scalar_cdf, sizes, servers)) for share in shares), top]
    return np.unique(ends)[::-1].copy()


def equal_widths(capacity: int, types: int) -> NDArray[np.int64]:
    """(types,) largest sizes of equally wide cells, descending."""
    return capacity * np.arange(types, 0, -1, dtype=np.int64) // types
