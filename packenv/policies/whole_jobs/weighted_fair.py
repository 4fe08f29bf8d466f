"""`weighted-fair`: shares that grow or fall with a job's work (Decima, §7.1)."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from packenv.cluster import NONE, Cluster, Needs, row_of
from packenv.cluster.whole_jobs.book import note_end, note_new
from packenv.cluster.whole_jobs.remaining_work import WORK_UNITS
from packenv.compiled.decorators import compiled
from packenv.compiled.frame import Frame
from packenv.errors import InputError
from packenv.policies.price.job_order import Ints, look_for_room, start_first, table_needs
from packenv.policies.whole_jobs.srpt import JobState, best_in_best_job, job_state
from packenv.policy import Setting, completes, schedules
from packenv.workloads.precedence import set_numbers

MOST_ALPHA = 16.0


class WeightedShares(NamedTuple):
    """Parameters of the compiled rule: none. The weights are in the state."""


class SharesState(Frame):
    """Jobs, and the capacity of the whole cluster."""

    jobs: JobState
    total: Ints  # (D,) units


class WeightedFair(NamedTuple):
    """Serve the job with the least weighted dominant share first.

    The weighted share is the dominant share / T^alpha, with T the work of the whole job. The dominant share is the largest
    fraction of a resource of the cluster that the job's tasks in service use. Within the job, the stage with the fewest tasks in
    service is next, so that all branches of its DAG go on together. A stage is the tasks of the same phase, predecessors, demand,
    duration and home servers. A job whose tasks fit nowhere is skipped.

    alpha  0 is fair sharing, 1 gives large jobs more, −1 small ones, which Mao et al. (SIGCOMM 2019, §7.1) found to be the
           best on average of −2, −1.9, …, 2

    Work as in `srpt`. Raises InputError for |alpha| above 16.
    """

    alpha: float = -1.0

    @property
    def rule(self) -> WeightedShares:
        return WeightedShares()

    def needs(self, setting: Setting) -> Needs:
        if not abs(self.alpha) <= MOST_ALPHA:
            raise InputError(f"weighted-fair: needs alpha between -{MOST_ALPHA:g} and {MOST_ALPHA:g}, not {self.alpha}")
        return table_needs(setting)._replace(durations=True)

    def initial_state(self, setting: Setting, seed: int) -> SharesState:
        jobs = replace(setting.table, tenant=None)  # a job is its own owner
        none = np.zeros(len(jobs), np.int64)
        state = job_state(jobs, setting.capacity, none if jobs.predecessors is None else set_numbers(jobs.predecessors))
        state.weight[:] = (state.work.waiting / WORK_UNITS) ** self.alpha
        return SharesState(jobs=state, total=setting.capacity.sum(axis=0))


@schedules(WeightedShares)
def schedule_weighted(policy: WeightedShares, cluster: Cluster, state: SharesState) -> None:
    jobs = state.jobs
    note_new(cluster, jobs.book)
    look_for_room(cluster, jobs.book, jobs.ranking)
    set_shares(state)
    g = best_in_best_job(jobs)
    while g != NONE:
        start_first(cluster, jobs.book, jobs.ranking, g, 0)
        jobs.rank[g] -= 1
        set_shares(state)
        g = best_in_best_job(jobs)


@completes(WeightedShares)
def complete_weighted(policy: WeightedShares, cluster: Cluster, state: SharesState, task: int) -> None:
    note_end(cluster, state.jobs.book, task)
    row = row_of(cluster, task)
    if row >= 0:
        state.jobs.rank[state.jobs.book.group[row]] += 1


@compiled
def set_shares(state: SharesState) -> None:
    """Set the merits of waiting groups: minus the job's weighted share."""
    jobs = state.jobs
    for n in range(jobs.book.count[0]):
        g = jobs.book.active[n]
        job = jobs.book.job[g]
        share = 0.0
        for r in range(jobs.book.demand.shape[1]):
            if state.total[r] > 0:
                share = max(share, jobs.book.used[job, r] / state.total[r])
        jobs.ranking.merit[g, 0] = -share / jobs.weight[job]
