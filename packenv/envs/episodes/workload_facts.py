"""Facts of a workload: J, sizes, and tasks in service."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray

from packenv.cluster.state import NEVER
from packenv.errors import InputError
from packenv.jobs import Jobs
from packenv.units import UNIT, to_units
from packenv.workloads.demand import per_resource, scalar_cdf, scalar_size
from packenv.workloads.laws.joint import Joint
from packenv.workloads.workload import Workload


def check_jobs(workload: Workload, name: str, does: str) -> None:
    """Raise InputError without a table of jobs, required here."""
    if workload.jobs is None:
        raise InputError(f"{name} {does}: {workload.name} is a stream of tasks, and it needs a table of jobs")


def levels_for(workload: Workload, J: int | None) -> int:
    """Return J as given or by default, reporting small ones."""
    levels = J or workload.default_levels()
    capacity = int(workload.servers.largest.max())
    below = scalar_cdf(workload.demand_law, workload.servers, capacity >> levels)
    if J is not None and below >= 1:
        raise InputError(f"J={levels} cannot represent the workload: every size is at most 2^-{levels} of the largest server")
    if J is not None and below > 0.01:
        share = f"{below:.3g} of the sizes lie at or below 2^-{levels}"
        warnings.warn(f"J={levels}: {share} and share the last virtual queue", stacklevel=5)
    return levels


def mean_scalar_size(workload: Workload) -> float:
    """Return a task's mean scalar size, maybe of 20,000 draws."""
    law = workload.demand_law
    if isinstance(law, Jobs):
        return float(scalar_size(law.demand, workload.servers).mean()) / UNIT
    if isinstance(law, Joint):
        vectors, weights = law.atoms()
        units = np.maximum(np.floor(vectors * UNIT + 1e-3), 0).astype(np.int64)
        return float(weights @ scalar_size(units, workload.servers)) / UNIT
    if workload.D == 1:
        return float(workload.mean_size[0])
    sample: NDArray[np.int64] = workload.jobs_table(0, 20_000).demand
    return float(scalar_size(sample, workload.servers).mean()) / UNIT


def mean_work(workload: Workload) -> float:
    """Return mean size · service over mean service, resource average."""
    return float(workload.mean_size_in_service.mean())


def most_in_service(workload: Workload) -> int:
    """Return the most tasks that the servers can hold.

    NEVER if a task may demand nothing, and for tables drawn by seed: another seed may have smaller demands.
    """
    if workload.draw is not None:
        return NEVER
    law = workload.demand_law
    if isinstance(law, Jobs):
        least = law.demand.min(axis=0)
    elif isinstance(law, Joint):
        vectors, weights = law.atoms()
        least = to_units(vectors[weights > 0]).min(axis=0)
    else:
        least = to_units([part.support()[0] for part in per_resource(law)])
    if not (least > 0).any():
        return NEVER
    return int((workload.servers.units[:, least > 0] // least[least > 0]).min(axis=1).sum())
