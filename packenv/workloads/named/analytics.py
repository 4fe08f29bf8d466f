"""Data-analytics jobs of up to three phases, drawn by seed (PAPERS §2).

A phase reads, shuffles or computes. Its tasks have the same demand and about the same duration. Schedulers know the mean duration
of the phase.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from packenv.jobs import Jobs
from packenv.workloads.workload import Workload

Floats = NDArray[np.float64]

RESOURCES = ("cpu", "memory", "disk", "network")
KINDS = np.array(
    [  # mean demand of a task, in shares of a server, of each resource
        [0.06, 0.06, 0.40, 0.05],  # reads
        [0.06, 0.08, 0.10, 0.45],  # shuffles
        [0.40, 0.20, 0.05, 0.05],  # computes
    ]
)
SPREAD = 0.6  # the demands of a phase differ from those of its kind by at most this share
LEAST, MOST = 0.02, 0.5  # range of demands without kinds
MEAN_SLOTS = 40.0  # mean service of a task
SLOTS_SIGMA = 0.8  # of the log-normal mean service of a phase; its tasks differ from that by at most a fifth
MEDIAN_TASKS, TASKS_SIGMA, MOST_TASKS = 12, 1.3, 300  # log-normal number of tasks in a phase


@dataclass(frozen=True)
class Analytics:
    """Function from a seed to a Jobs table of phased jobs.

    If `kinds`, each phase mainly needs the resources of its kind (KINDS). Otherwise demands are independent and uniform.
    """

    jobs: int
    servers: int
    intensity: float  # work of the scarcest resource / capacity of the servers while jobs arrive
    resources: int = 4
    kinds: bool = True

    def __call__(self, seed: int) -> Jobs:
        random = np.random.Generator(np.random.Philox(seed))
        # Phases: number, tasks, mean service and demand.
        phases = random.integers(1, 4, self.jobs)
        total = int(phases.sum())
        job = np.repeat(np.arange(self.jobs), phases)
        tasks = np.clip(np.rint(MEDIAN_TASKS * np.exp(TASKS_SIGMA * random.standard_normal(total))), 1, MOST_TASKS).astype(int)
        mean = MEAN_SLOTS * np.exp(SLOTS_SIGMA * random.standard_normal(total) - SLOTS_SIGMA**2 / 2)
        demand = self._demands(random, total)[:, : self.resources]
        gaps = random.exponential(size=self.jobs)
        # Tasks: service around the mean of their phase.
        of = np.repeat(np.arange(total), tasks)  # phase of each task
        service = np.maximum(np.rint(mean[of] * random.uniform(0.8, 1.2, len(of))), 1)
        # Arrivals: exponential gaps, scaled to the intensity.
        work = (demand[of] * service[:, None]).sum(axis=0).max()
        arrival = np.floor((np.cumsum(gaps) - gaps[0]) / gaps.sum() * work / (self.servers * self.intensity))
        first = np.cumsum(phases) - phases
        return Jobs.of(
            arrival[job[of]],
            demand[of],
            service,
            job=job[of],
            phase=(np.arange(total) - first[job])[of],
            estimate=np.maximum(mean[of], 1.0),
        )

    def _demands(self, random: np.random.Generator, phases: int) -> Floats:
        """Draw (phases, 4) shares of a server."""
        if not self.kinds:
            return random.uniform(LEAST, MOST, (phases, len(RESOURCES)))
        kind = random.integers(0, len(KINDS), phases)
        return KINDS[kind] * random.uniform(1 - SPREAD, 1 + SPREAD, (phases, len(RESOURCES)))


def analytics(jobs: int = 200, servers: int = 50, intensity: float = 1.5, resources: int = 4, kinds: bool = True) -> Workload:
    """Return the workload for comparisons of Tetris, at a high load."""
    return Workload(
        jobs=Analytics(jobs, servers, intensity, resources, kinds),
        servers=f"{servers}x" + ":".join(["1"] * resources),
        resources=RESOURCES[:resources],
        slot_seconds=1.0,
        name="analytics",
    )
