"""Offline instances: jobs of ordered phases, all in slot 0 (PAPERS §3).

They are drawn by seed. Each phase has one task, one row of the table. Demands are in units of capacity.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from packenv.jobs import Jobs
from packenv.workloads.workload import Workload

Ints = NDArray[np.int64]
MACHINES = "2x50:50"
RESOURCES = ("bandwidth", "io")


@dataclass(frozen=True)
class PhasedJobs:
    """Function from a seed to phased jobs of uniform integers."""

    jobs: int
    phases: int  # of a job, at most
    demand: tuple[int, ...]  # of each resource, at most
    service: int  # slots, at most
    value: int = 1  # of a job, at most

    def __call__(self, seed: int) -> Jobs:
        random = np.random.Generator(np.random.Philox(seed))
        phases = random.integers(1, self.phases + 1, self.jobs)
        value = random.integers(1, self.value + 1, self.jobs)
        n = int(phases.sum())
        amount = random.integers(1, np.array(self.demand) + 1, (n, len(self.demand)))
        service = random.integers(1, self.service + 1, n)
        return at_once(phases, amount, service, value)


def at_once(phases: Ints, amount: Ints, service: Ints, value: Ints) -> Jobs:
    """Return jobs that all arrive in slot 0.

    phases           (jobs,) the number of phases of each job
    amount, service  (n, D) and (n,) by phase
    value            (jobs,) by job
    """
    job = np.repeat(np.arange(len(phases)), phases)
    phase = np.arange(len(job)) - np.repeat(np.cumsum(phases) - phases, phases)
    return Jobs.of(np.zeros(len(job)), amount, service, job=job, phase=phase, value=value[job].astype(np.float64))


def scarce_and_abundant(seed: int) -> Jobs:
    """Draw phases for which the alignment of Tetris does badly.

    Half of the phases need just over half a server of a scarce resource. The others fit next to them: they need less of it, and
    some of an abundant resource. Alignment with the free room prefers the others, and puts them next to each other.
    """
    random = np.random.Generator(np.random.Philox(seed))
    phases = random.integers(1, 6, 100)
    n = int(phases.sum())
    large = random.random(n) < 0.5
    scarce = np.where(large, random.integers(26, 31, n), random.integers(16, 21, n))
    abundant = np.where(large, 0, random.integers(10, 21, n))
    return at_once(phases, np.stack([scarce, abundant], axis=1), random.integers(1, 5, n), np.ones(100, np.int64))


def flow_shop() -> Workload:
    """Figure 1: jobs of A 5, B 2 and A 1, B 3 slots."""
    jobs, a, b = np.array([2, 2]), [1, 0], [0, 1]
    table = at_once(jobs, np.array([a, b, a, b]), np.array([5, 2, 1, 3]), np.array([1, 1]))
    return Workload(jobs=table, servers="1x1:1", resources=("A", "B"))


def phased(jobs: int, phases: int, demand: tuple[int, ...], service: int, value: int = 1) -> Workload:
    """Figures 2 to 10: phases of up to `demand` fiftieths of a server, `service` slots."""
    return Workload(jobs=PhasedJobs(jobs, phases, demand, service, value), servers=MACHINES, resources=RESOURCES)


def price_abundant() -> Workload:
    """Jobs for which the alignment of Tetris wastes the scarce resource."""
    return Workload(jobs=scarce_and_abundant, servers=MACHINES, resources=("scarce", "abundant"))
