"""A small workload as the numbers of a Markov decision process: types, servers, arrivals and departures (PAPERS §6)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from packenv.errors import InputError
from packenv.theory.capacity.max_workload import resolved, supportable
from packenv.theory.rounded_types import distinct_sizes
from packenv.workloads.laws.arrivals import Bernoulli, Poisson
from packenv.workloads.laws.services import Geometric
from packenv.workloads.workload import Workload

MOST_TYPES = 8


@dataclass(frozen=True, eq=False)
class SmallInstance:
    """Types of jobs by their size, which arrive independently from slot to slot and have geometric service."""

    sizes: NDArray[np.int64]  # (n,) units, descending
    shares: NDArray[np.float64]  # (n,) probability of each size
    capacity: NDArray[np.int64]  # (L,) units
    mean_service: float  # slots
    rate: float  # jobs per slot
    poisson: bool  # a Poisson number of arrivals in a slot; else at most one

    @property
    def departure(self) -> float:
        """The probability that a job in service leaves before the next slot."""
        return 1.0 / self.mean_service


def small_instance(workload: Workload) -> SmallInstance:
    """The instance of a workload. Raises InputError where `small_types` does, and for a load that no policy keeps stable."""
    found = small_types(workload)
    known = resolved(workload)
    offered, most = known.rate * known.mean_service, supportable(known).upper
    if offered >= most:
        raise InputError(f"{workload.name}: no policy is stable: {offered:.4g} jobs in service are offered, and ρ* is {most:.4g}")
    return replace(found, rate=known.rate)


def small_types(workload: Workload) -> SmallInstance:
    """The instance of a workload, without its rate (0).

    Raises InputError unless it has one resource, discrete sizes, geometric service, and Bernoulli or Poisson arrivals.
    """
    where = f"{workload.name}: the optimal policy is found for"
    if workload.jobs is not None:
        raise InputError(f"{where} random workloads, not for a table of jobs")
    if workload.D > 1:
        raise InputError(f"{where} one resource, not {workload.D}")
    if not isinstance(workload.service, Geometric):
        raise InputError(f"{where} geometric service, not {workload.service!r}")
    if not isinstance(workload.arrivals, (Bernoulli, Poisson)):
        raise InputError(f"{where} Bernoulli or Poisson arrivals, not {type(workload.arrivals).__name__}")
    found = distinct_sizes(workload.demand_law, workload.servers)
    if found is None:
        raise InputError(f"{where} discrete sizes, not {workload.sizes!r}")
    sizes, below = found
    if len(sizes) > MOST_TYPES:
        raise InputError(f"{where} at most {MOST_TYPES} sizes, not {len(sizes)}")
    return SmallInstance(
        sizes=sizes[::-1].copy(),
        shares=np.diff(below, prepend=0.0)[::-1].copy(),
        capacity=workload.servers.units[:, 0].copy(),
        mean_service=workload.mean_service,
        rate=0.0,
        poisson=isinstance(workload.arrivals, Poisson),
    )
