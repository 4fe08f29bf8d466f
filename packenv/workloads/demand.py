"""Properties of task demands, for all kinds of sizes.

Demands come from one law, a law per resource, a joint law or a Jobs table.

The scalar size of a task (PAPERS §1.1) is the largest demand_r / capacity_r over the resources r. capacity_r is the largest
capacity of any server in resource r. Scalar sizes are integers in units of the largest capacity of any resource: the smallest
s such that demand_r ≤ ⌊s · capacity_r / largest⌋ for every r.
"""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from packenv.errors import InputError, RowError
from packenv.jobs import Jobs
from packenv.units import UNIT, to_units
from packenv.workloads.devices import could_have, needed_devices
from packenv.workloads.laws.joint import Conditional, Joint
from packenv.workloads.laws.law import Law
from packenv.workloads.servers import Servers

Sizes: TypeAlias = Law | tuple[Law, ...] | Joint
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SMALL_SHARE = 0.01
"""Largest share of tasks below 2^−J of the largest capacity, with J levels (PAPERS §1.3)."""
MOST_LEVELS = 16


def per_resource(sizes: Law | tuple[Law, ...]) -> tuple[Law, ...]:
    """Return one independent law per resource."""
    return (sizes,) if isinstance(sizes, Law) else sizes


def resources_of(sizes: Sizes | Jobs) -> int:
    """Return D, the number of resources."""
    if isinstance(sizes, Jobs):
        return sizes.resources
    return sizes.D if isinstance(sizes, Joint) else len(per_resource(sizes))


def mean_demand(sizes: Sizes | Jobs) -> Floats:
    """Return the (D,) mean demand of a task, in units of capacity."""
    if isinstance(sizes, Jobs):
        return np.ldexp(sizes.demand.mean(axis=0) / UNIT, np.array(sizes.scale or 0))
    return sizes.mean() if isinstance(sizes, Joint) else np.array([law.mean() for law in per_resource(sizes)])


def mean_service(sizes: Sizes | Jobs, service: Law | Conditional | None) -> float:
    """Return a task's mean service, in slots; `service` None for tables."""
    if isinstance(sizes, Jobs):
        return float(sizes.service.mean())
    if isinstance(service, Conditional):
        assert isinstance(sizes, Joint)
        return float(sizes.atoms()[1] @ service.means())
    assert service is not None
    return service.mean_slots()


def mean_residual(sizes: Sizes | Jobs, service: Law | Conditional | None) -> float:
    """Return E[S²] / 2E[S], the mean remaining slots in service."""
    if isinstance(sizes, Jobs):
        slots = sizes.service.astype(np.float64)
        return float(slots @ slots / slots.sum()) / 2
    if isinstance(service, Conditional):
        assert isinstance(sizes, Joint)
        square = float(sizes.atoms()[1] @ [law.mean_square() for law in service.laws])
    else:
        assert service is not None
        square = service.mean_square()
    return square / 2 / mean_service(sizes, service)


def mean_demand_in_service(sizes: Sizes | Jobs, service: Law | Conditional | None) -> Floats:
    """Return the (D,) mean demand in service, weighted by dependent services."""
    if isinstance(sizes, Jobs):
        return np.ldexp(sizes.service.astype(np.float64) @ sizes.demand / UNIT / sizes.service.sum(), np.array(sizes.scale or 0))
    if isinstance(service, Conditional) and isinstance(sizes, Joint):
        vectors, weights = sizes.atoms()
        return np.asarray((weights * service.means()) @ vectors / mean_service(sizes, service))
    return mean_demand(sizes)


def largest_demands(sizes: Sizes | Jobs) -> Ints:
    """Return demands (m, D) in units that decide whether all tasks fit.

    Raises InputError for a law without a largest value.
    """
    if isinstance(sizes, Jobs):
        scalar = sizes.resources == 1  # rows are compared as strings of bytes, fifty times as slowly as numbers
        return np.unique(sizes.demand[:, 0])[:, None] if scalar else np.unique(sizes.demand, axis=0)
    if isinstance(sizes, Joint):
        vectors, weights = sizes.atoms()
        return to_units(vectors[weights > 0])
    ends = [law.support()[1] for law in per_resource(sizes)]
    if not np.isfinite(ends).all():
        raise InputError(f"sizes have no largest value: resource {ends.index(math.inf)} is unbounded")
    return to_units(ends)[None]


def fits_on(jobs: Jobs, servers: Servers, server: int) -> NDArray[np.bool_]:
    """Mark the tasks (n,) whose resources and devices fit an empty server."""
    fits = (jobs.demand <= servers.units[server]).all(axis=1)
    return np.asarray(fits if jobs.devices is None else fits & could_have(jobs, servers, server))


def fitting(jobs: Jobs, servers: Servers) -> NDArray[np.bool_]:
    """Mark the tasks (n,) that fit an empty server of any kind."""
    fits = np.zeros(len(jobs), np.bool_)
    for server in servers.examples[::-1].tolist():
        if not fits.all():
            fits |= fits_on(jobs, servers, server)
    return fits


def check_fits(sizes: Sizes | Jobs, servers: Servers) -> None:
    """Raise InputError, naming the demand, if some task fits no server."""
    kinds = servers.kinds
    # Amounts: every largest demand fits some kind of server.
    for demand in largest_demands(sizes):
        if not (demand <= kinds).all(axis=1).any():
            amounts, largest = (
                ", ".join(f"{amount:.5g}" for amount in np.ldexp(units / UNIT, np.array(servers.scale or 0)))
                for units in (demand, servers.largest)
            )
            problem = f"a demand of {amounts} fits in no server; the largest has {largest}"
            if (servers.kinds == UNIT).all():
                larger = f"{max(len(servers), math.ceil(demand.max() / UNIT)):,.10g}"
                problem += (
                    f" (one server of capacity {larger} is 1x{larger})"
                    if len(demand) == 1
                    else " (in other units, give servers a capacity for each resource: 3x32:128)"
                )
            if isinstance(sizes, Jobs):
                raise RowError(int(np.argmax((sizes.demand == demand).all(axis=1))), problem)
            raise InputError(problem)
    # Devices: every row fits a server.
    if isinstance(sizes, Jobs) and sizes.devices is not None and not (fits := fitting(sizes, servers)).all():
        row = int(np.argmin(fits))
        raise RowError(row, f"{needed_devices(sizes, row)}: no server has these devices and its demand")


def scalar_size(demand: Ints, servers: Servers) -> Ints:
    """Return scalar sizes (n,) of demands (n, D), in units."""
    # Round up, so that the size never understates a demand.
    scale = np.maximum(servers.largest, 1)
    return np.asarray((-(-demand * scale.max() // scale)).max(axis=1))


def scalar_cdf(sizes: Sizes | Jobs, servers: Servers, size: int) -> float:
    """Return P(scalar size ≤ `size` units), exactly."""
    if isinstance(sizes, Jobs):
        return float(np.mean(scalar_size(sizes.demand, servers) <= size))
    if isinstance(sizes, Joint):
        vectors, weights = sizes.atoms()
        return float(weights @ (scalar_size(to_units(vectors), servers) <= size))
    allowed = size * servers.largest // servers.largest.max()
    return math.prod(float(law.cdf_units(limit)) for law, limit in zip(per_resource(sizes), allowed, strict=True))


def default_levels(sizes: Sizes | Jobs, servers: Servers) -> int:
    """Return J = min{J ≥ 2: F(2^−J) ≤ 0.01} ≤ 16 (PAPERS §1.3)."""
    capacity = int(servers.largest.max())
    levels = 2
    while levels < MOST_LEVELS and scalar_cdf(sizes, servers, capacity >> levels) > SMALL_SHARE:
        levels += 1
    return levels
