"""Jobs by the work that they have left: `srpt` and `graphene`.

`graphene` takes other tasks of a job first.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from packenv.cluster import NONE, Cluster, Needs, row_of
from packenv.cluster.whole_jobs.below import Ints, path_below
from packenv.cluster.whole_jobs.book import believed_slots, note_end, note_new
from packenv.cluster.whole_jobs.remaining_work import note_no_work_left, note_overdue, note_start, work_left
from packenv.compiled.decorators import compiled
from packenv.errors import InputError
from packenv.jobs import Jobs
from packenv.policies.price.job_order import table_needs
from packenv.policies.price.merit_ranking import look_for_room, start_first
from packenv.policies.whole_jobs.longest_below import of_groups
from packenv.policies.whole_jobs.within_job import JobState, best_in_best_job, job_state
from packenv.policy import Setting, completes, schedules
from packenv.workloads.precedence import precedence_edges


class ByWork(NamedTuple):
    """Parameters of the compiled rule of both policies."""

    total: bool


class ShortestRemaining(NamedTuple):
    """Serve the job with the least work left first.

    Within the job, the task with the longest path to the end of its DAG goes first. The work left of a job counts waiting
    and coming tasks, and the rest of those in service, as Tetris does: Σ_r d_r / k_r · duration, k_r the largest capacity of a
    server.

    total  True: by the whole work of a job, finished or not. This is SJF-CP, "shortest job first, critical path" of Mao et al.,
           *Learning scheduling algorithms for data processing clusters* (Decima), SIGCOMM 2019, §7.1

    A job whose tasks fit nowhere is skipped. Durations are those of column `estimate`, or the true ones without it.
    """

    total: bool = False

    @property
    def rule(self) -> ByWork:
        return ByWork(self.total)

    def needs(self, setting: Setting) -> Needs:
        return table_needs(setting)._replace(durations=True)

    def initial_state(self, setting: Setting, seed: int) -> JobState:
        return state_by_work(setting, path_below(setting.table))


class Graphene(NamedTuple):
    """Serve short jobs first, and their troublesome tasks before others.

    Jobs go as in `srpt`. Within a job, troublesome tasks and all tasks that they wait for go first. A task is troublesome if its
    duration is at least `long` times that of the longest one of its job, or if it demands at least the share `large` of some
    resource of the largest server. Ties: the longest path, as in `srpt`.

    From Graphene (Grandl et al., *Packing and dependency-aware scheduling for data-parallel clusters*, OSDI 2016) this takes two
    ideas: long tasks and tasks that are hard to pack go first, after what they need, and jobs go by remaining work. It does not
    build a schedule of each job in advance, nor search thresholds for it, nor use Graphene's score of packing and bounded
    unfairness. Raises InputError for shares out of range.
    """

    long: float = 0.5
    large: float = 0.5

    @property
    def rule(self) -> ByWork:
        return ByWork(False)

    def needs(self, setting: Setting) -> Needs:
        if not (0 < self.long <= 1 and self.large > 0):
            raise InputError(f"graphene: needs 0 < long <= 1 and large > 0, not {self.long} and {self.large}")
        return table_needs(setting)._replace(durations=True)

    def initial_state(self, setting: Setting, seed: int) -> JobState:
        jobs = setting.table
        first = with_predecessors(jobs, self.troublesome(jobs, setting.capacity))
        ranks = np.unique(np.stack([first, path_below(jobs)], axis=1), axis=0, return_inverse=True)[1]
        return state_by_work(setting, ranks.ravel())

    def troublesome(self, jobs: Jobs, capacity: Ints) -> Ints:
        """(n,) 1 for the troublesome tasks, 0 for the others."""
        slots, name = believed_slots(jobs), np.arange(len(jobs)) if jobs.job is None else jobs.job
        number = np.unique(name, return_inverse=True)[1].ravel()
        longest = np.zeros(int(number.max()) + 1, np.int64)
        np.maximum.at(longest, number, slots)
        largest = np.maximum(capacity.max(axis=0), 1)
        hard = (jobs.demand >= self.large * largest).any(axis=1)
        return ((slots >= self.long * longest[number]) | hard).astype(np.int64)


def with_predecessors(jobs: Jobs, tasks: Ints) -> Ints:
    """Return 1 for the marked tasks and all that they wait for, (n,)."""
    before, after, nodes = precedence_edges(jobs)
    marks = np.append(tasks, np.zeros(nodes - len(jobs), np.int64))
    while True:
        more = marks.copy()
        np.maximum.at(more, before, marks[after])
        if (more == marks).all():
            return marks[: len(jobs)]
        marks = more


def state_by_work(setting: Setting, ranks: Ints) -> JobState:
    """Return the state before slot 0.

    `ranks` (n,) within the job, the highest first. `weight` is the work of a whole job.
    """
    state = job_state(setting.table, setting.capacity, ranks)
    state.rank[:] = of_groups(state.book, ranks)
    state.weight[:] = state.work.waiting
    return state


@schedules(ByWork)
def schedule_by_work(policy: ByWork, cluster: Cluster, state: JobState) -> None:
    note_new(cluster, state.book)
    note_overdue(cluster, state.work, state.book)
    look_for_room(cluster, state.book, state.ranking)
    set_work(policy, cluster, state)
    g = best_in_best_job(state)
    while g != NONE:
        row, place = state.book.ends[g].head, state.ranking.room[g, 0]
        note_start(cluster, state.work, state.book, row, state.ranking.server[place])
        start_first(cluster, state.book, state.ranking, g, 0)
        set_work(policy, cluster, state)
        g = best_in_best_job(state)


@completes(ByWork)
def complete_by_work(policy: ByWork, cluster: Cluster, state: JobState, task: int) -> None:
    note_end(cluster, state.book, task)
    row = row_of(cluster, task)
    if row >= 0:
        note_no_work_left(state.work, state.book, row)


@compiled
def set_work(policy: ByWork, c: Cluster, state: JobState) -> None:
    """Set the merits of all waiting groups.

    A task that starts away from its data adds to its job's work.
    """
    for n in range(state.book.count[0]):
        g = state.book.active[n]
        job = state.book.job[g]
        state.ranking.merit[g, 0] = -state.weight[job] if policy.total else -work_left(c, state.work, job)
