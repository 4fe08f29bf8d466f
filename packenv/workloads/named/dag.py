"""Jobs of stages in directed acyclic graphs (DAGs), drawn by seed.

The laws are fitted to statistics of the DAG jobs of Alibaba's cluster-trace-v2018 (batch tasks whose names contain their
predecessors; `experiments/dag_statistics.py` measures both). A stage of a job is a batch task of the trace, a task here an
instance of it. A stage waits for all tasks of its parent stages. Its duration excludes that wait, which the trace includes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from packenv.jobs import Jobs, Ragged
from packenv.workloads.workload import Workload

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

FEW_STAGES = (0.222, 0.221, 0.194)  # shares of jobs of one, two and three stages; the others have
MORE_STAGES = 5.0  # 3 + a geometric number of this mean, and
MOST_STAGES = 60  # at most this number
ROOT = 0.3  # of the stages between the first and the last one, the share that waits for none
JOINS = 0.2  # a stage waits for the latest stage without a child, and with this chance for one more, and so on
SHARED = 0.12  # and with this chance also for any earlier stage
SINGLE = 0.65  # share of the stages of one task; the others have
ROOT_TASKS, ROOT_SIGMA = 3.27, 1.96  # a log-normal number: mean and deviation of its logarithm, of stages that wait for none
TASKS, TASKS_SIGMA = 2.67, 1.62  # and of stages that wait for others
SECONDS, SECONDS_BY_TASKS = 0.55, 0.5  # the logarithm of a duration: this, and so much for each of the logarithm of tasks,
JOB_SIGMA, STAGE_SIGMA = 1.17, 1.54  # and two normal numbers of these deviations, one of the job and one of the stage
MOST_SECONDS = 3600
SPREAD = 0.2  # tasks of a stage differ by at most this share from its mean; chosen here
CORES, CORES_SHARES = np.array([0.5, 1.0, 2.0]), (0.46, 0.53, 0.01)  # of a task; all tasks of a job alike
MEMORY = np.array([0.2, 0.3, 0.39, 0.49, 0.59])  # of a task, in percent of a machine
MEMORY_SHARES = (0.34, 0.24, 0.23, 0.12, 0.07)
SERVER = (8.0, 4.0)  # cores, and memory as above, of a server here
BURST = 2.7  # jobs arrive in bursts, of a geometric number of this mean


@dataclass(frozen=True)
class Dags:
    """Function from a seed to a Jobs table with predecessors."""

    jobs: int
    servers: int
    intensity: float  # work of the scarcest resource / capacity of the servers while jobs arrive
    most_tasks: int  # larger stages have this number of tasks

    def __call__(self, seed: int) -> Jobs:
        random = np.random.Generator(np.random.Philox(seed))
        # Stages: parents, tasks, mean durations and demands.
        parents = [stage_parents(random, number) for number in stage_numbers(random, self.jobs)]
        stages = np.array([len(of_job) for of_job in parents])
        job = np.repeat(np.arange(self.jobs), stages)
        root = np.array([not waits for of_job in parents for waits in of_job])
        tasks = np.minimum(stage_tasks(random, root), self.most_tasks)
        mean = stage_seconds(random, job, tasks)
        demand = np.stack([random.choice(CORES, self.jobs, p=CORES_SHARES)[job], memory(random, len(job))], axis=1) / SERVER
        of = np.repeat(np.arange(len(job)), tasks)  # stage of each task
        service = np.maximum(np.rint(mean[of] * random.uniform(1 - SPREAD, 1 + SPREAD, len(of))), 1)
        work = (demand[of] * service[:, None]).sum(axis=0).max()
        # Arrivals in bursts, scaled to the intensity.
        burst = np.cumsum(random.random(self.jobs) < 1 / BURST)
        gaps = random.exponential(size=self.jobs + 1)
        instants = np.cumsum(gaps)[burst]
        instants = (instants - instants[0]) / max(instants[-1] - instants[0], 1e-9)
        arrival = np.floor(instants * work / (self.servers * self.intensity))
        return Jobs.of(
            arrival[job[of]],
            demand[of],
            service,
            job=job[of],
            predecessors=all_tasks_of(parents, tasks),
            estimate=mean[of],
        )


def stage_numbers(random: np.random.Generator, jobs: int) -> Ints:
    """Draw the number of stages of each job (jobs,)."""
    many = np.minimum(len(FEW_STAGES) + random.geometric(1 / MORE_STAGES, jobs), MOST_STAGES)
    few = np.searchsorted(np.cumsum(FEW_STAGES), random.random(jobs), "right") + 1
    return np.where(few <= len(FEW_STAGES), few, many)


def stage_parents(random: np.random.Generator, stages: int) -> list[list[int]]:
    """Draw each stage's parents, for the last all childless stages."""
    parents: list[list[int]] = [[]]
    childless = [0]
    for stage in range(1, stages):
        last = stage == stages - 1
        if not last and random.random() < ROOT:
            waits: list[int] = []
        else:
            waits = childless if last else childless[-int(random.geometric(1 - JOINS)) :]
            if random.random() < SHARED:
                waits = sorted({*waits, int(random.integers(stage))})
        parents.append(waits)
        childless = [earlier for earlier in childless if earlier not in waits] + [stage]
    return parents


def stage_tasks(random: np.random.Generator, root: NDArray[np.bool_]) -> Ints:
    """Draw the number of tasks of each stage (stages,)."""
    log = np.where(root, ROOT_TASKS, TASKS) + np.where(root, ROOT_SIGMA, TASKS_SIGMA) * random.standard_normal(len(root))
    return np.where(random.random(len(root)) < SINGLE, 1, np.maximum(np.rint(np.exp(log)), 2)).astype(np.int64)


def stage_seconds(random: np.random.Generator, job: Ints, tasks: Ints) -> Floats:
    """Draw the mean duration of each stage's tasks (stages,), ≥ 1 s."""
    of_job = JOB_SIGMA * random.standard_normal(int(job[-1]) + 1)
    log = SECONDS + SECONDS_BY_TASKS * np.log(tasks) + of_job[job] + STAGE_SIGMA * random.standard_normal(len(job))
    return np.clip(np.rint(np.exp(log)), 1.0, MOST_SECONDS)


def memory(random: np.random.Generator, stages: int) -> Floats:
    """Draw the memory of a task of each stage (stages,)."""
    return random.choice(MEMORY, stages, p=MEMORY_SHARES)


def all_tasks_of(parents: list[list[list[int]]], tasks: Ints) -> Ragged:
    """Return the rows of the tasks in each stage's parents."""
    end = np.cumsum(tasks)
    lists, stage = [], 0
    for of_job in parents:
        rows = [np.arange(end[stage + k] - tasks[stage + k], end[stage + k]) for k in range(len(of_job))]
        lists += [np.concatenate([rows[parent] for parent in waits] or [end[:0]]) for waits in of_job]
        stage += len(of_job)
    lengths = np.repeat([len(predecessors) for predecessors in lists], tasks)
    values = [np.tile(predecessors, count) for predecessors, count in zip(lists, tasks, strict=True)]
    return Ragged(np.append(0, np.cumsum(lengths)).astype(np.int64), np.concatenate(values).astype(np.int64))


def dag(jobs: int = 200, servers: int = 10, intensity: float = 0.9, most_tasks: int = 100) -> Workload:
    """Return jobs of dependent stages on servers of 8 cores."""
    return Workload(
        jobs=Dags(jobs, servers, intensity, most_tasks),
        servers=f"{servers}x1:1",
        resources=("cpu", "memory"),
        slot_seconds=1.0,
        name="dag",
    )
