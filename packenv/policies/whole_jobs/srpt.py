"""Jobs by their remaining work, and tasks by what waits for them.

`srpt` and `graphene` choose a job and then one of its tasks, as `weighted-fair` does. The job with the highest merit and a
fitting task is chosen. Of its groups of equal tasks with room, the one with the highest rank within the job is next. Its first
task starts on the first server with room. Merits within 10⁻⁹ of the largest are equal. Ties go to the earlier job, and within the
job to the earlier phase, then row.

`critical-path` and `most-work` are the classic rules for DAGs of tasks. The eligible task with the longest path to the end of its
DAG, or with the most work below it, starts on the first server with room. If no server has room for it, it is skipped, or all
others wait behind it (`blocking`). Ties: the earlier job, phase, row.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from packenv.cluster import NONE, Cluster, Needs, row_of
from packenv.cluster.whole_jobs.book import JobBook, believed_slots, job_book, note_end, note_new
from packenv.cluster.whole_jobs.remaining_work import (
    RemainingWork,
    note_no_work_left,
    note_overdue,
    note_start,
    path_below,
    remaining_work,
    work_below,
    work_left,
)
from packenv.compiled.decorators import compiled
from packenv.compiled.frame import Frame
from packenv.errors import InputError
from packenv.jobs import Jobs
from packenv.policies.price.job_order import (
    Floats,
    GroupRanking,
    InOrder,
    Ints,
    best_group,
    goes_first,
    has_room,
    look_for_room,
    ranking,
    start_first,
    table_needs,
)
from packenv.policy import Setting, completes, schedules
from packenv.workloads.precedence import precedence_edges


class JobState(Frame):
    """State for N jobs and G groups of like tasks."""

    book: JobBook
    ranking: GroupRanking  # merits of the groups: those of their jobs
    rank: Floats  # (G,) within the job
    work: RemainingWork  # of each job
    weight: Floats  # (N,) of each job


def job_state(jobs: Jobs, capacity: Ints, sort: Ints) -> JobState:
    """Return the state with ranks 0 and weights 1; `sort` (n,) splits groups."""
    book = job_book(jobs, sort)
    return JobState(
        book=book,
        ranking=ranking(book, capacity, np.zeros(len(capacity), np.int64)),
        rank=np.zeros(len(book.demand)),
        work=remaining_work(book, capacity),
        weight=np.ones(len(book.owner)),
    )


@compiled
def best_in_best_job(state: JobState) -> int:
    """Return the next group by merits of jobs and ranks of groups, or NONE."""
    book = state.book
    chosen = best_group(book, state.ranking, False)
    if chosen != NONE:
        job = book.job[chosen]
        for n in range(book.count[0]):
            g = book.active[n]
            if book.job[g] == job and has_room(state.ranking, g, 0):
                higher = state.rank[g] > state.rank[chosen]
                if higher or (state.rank[g] == state.rank[chosen] and goes_first(book, g, chosen)):
                    chosen = g
    return chosen


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

    A job whose tasks fit nowhere is skipped. Durations are column `estimate`, or the true ones without it.
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
    """Return the state for `ranks` (n,) within jobs; `weight` is jobs' work."""
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
    """Set merits of waiting groups. Remote starts add to their job's work."""
    for n in range(state.book.count[0]):
        g = state.book.active[n]
        job = state.book.job[g]
        state.ranking.merit[g, 0] = -state.weight[job] if policy.total else -work_left(c, state.work, job)


class CriticalPath(InOrder):
    """Start the task with the longest path to its job's end first.

    A path is the task's duration and those of the tasks that wait for it, along the longest chain. Durations are those of column
    `estimate`, or the true ones without it. Source: Graham, *Bounds on multiprocessing timing anomalies*, SIAM J. Appl. Math.
    17(2), 1969, and Hu 1961: level scheduling.
    """

    def needs(self, setting: Setting) -> Needs:
        return super().needs(setting)._replace(durations=True)

    def sort(self, setting: Setting) -> Ints:
        return path_below(setting.table)

    def merits(self, setting: Setting, book: JobBook) -> Floats:
        return of_groups(book, self.sort(setting))


class MostWork(InOrder):
    """Start the task with the most work below it first.

    This is its own work and that of all tasks that wait for it, each counted once. Work is Σ_r d_r / k_r · duration, with k_r the
    largest capacity of a server. Durations as in `critical-path`.
    """

    def needs(self, setting: Setting) -> Needs:
        return super().needs(setting)._replace(durations=True)

    def sort(self, setting: Setting) -> Ints:
        return work_below(setting.table, setting.capacity)

    def merits(self, setting: Setting, book: JobBook) -> Floats:
        return of_groups(book, self.sort(setting))


def of_groups(book: JobBook, of_rows: Ints) -> Floats:
    """Return a book's group numbers (G,) from equal rows (n,)."""
    return of_rows[np.unique(book.group, return_index=True)[1]].astype(np.float64)
