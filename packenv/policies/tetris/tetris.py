"""Tetris: pack by alignment, and favour jobs with little work left.

Source: Grandl et al., SIGCOMM 2014; PAPERS §2. Servers are filled in index order. Candidates are the tasks that fit in every
resource and belong to the owners (tenants, or jobs) with the least shares. The candidate with the highest score,
packing · a − m · ε · p, starts. Here a = Σ_r w_r (d_r / C_r) (free_r / C_r), less a penalty on a server without the task's data.
p is the remaining work of its job, and ε = mean a / mean p over the candidates. If a fraction b of the tasks before a barrier
(`barriers`) has completed, the others go before all other candidates.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from packenv.cluster import NONE, Cluster, Needs, new_count, new_task, now, row_of, server_count
from packenv.cluster.locality import can_read, reads_take_room
from packenv.cluster.servers import freed_count
from packenv.cluster.whole_jobs.book import JobBook, at_home, free_of, group_fits, job_book
from packenv.cluster.whole_jobs.remaining_work import (
    RemainingWork,
    note_no_work_left,
    note_overdue,
    note_start,
    remaining_work,
    work_left,
)
from packenv.compiled.decorators import compiled
from packenv.compiled.frame import Frame
from packenv.errors import InputError
from packenv.jobs import Jobs, Ragged
from packenv.policies.tetris.owner_ranking import Shares, add_new, launch, owner_of, settle, shares
from packenv.policy import Setting, completes, schedules
from packenv.workloads.precedence import phase_edges, set_numbers

Ints = NDArray[np.int64]

ROUNDING = 1e-9


class Barriers(Frame):
    """Sets of tasks that must complete before other tasks start (PAPERS §2).

    The tasks of a phase are before a barrier if a later phase of their job waits for them. So are the predecessors of a task.
    Tasks with the same predecessors wait behind the same barrier, so a chain of phases written as predecessors has the barriers
    of the phases. A task may be before several barriers. There are B, and G groups of tasks before the same ones.
    """

    of: Ints  # (G + 1,) group g is before the barriers barrier[of[g] : of[g + 1]]
    barrier: Ints
    tasks: Ints  # (B,) number of tasks before each barrier
    ended: Ints  # (B,) number of these that have completed


def barriers_of_tasks(jobs: Jobs) -> Ragged:
    """The barriers before which each task is, sorted."""
    n = len(jobs)
    before, after, nodes = phase_edges(jobs)
    of_phase = after >= n
    row, barrier = [before[of_phase]], [after[of_phase] - n]
    if jobs.predecessors is not None:
        for number, first in enumerate(np.unique(set_numbers(jobs.predecessors), return_index=True)[1]):
            row.append(jobs.predecessors.row(int(first)))
            barrier.append(np.full(len(row[-1]), nodes - n + number))
    pairs = np.unique(np.column_stack([np.concatenate(row), np.concatenate(barrier)]), axis=0)
    return Ragged(np.searchsorted(pairs[:, 0], np.arange(n + 1)).astype(np.int64), pairs[:, 1].astype(np.int64))


def barriers(book: JobBook, of_tasks: Ragged) -> Barriers:
    """Return the state before slot 0, for groups that tell barriers apart."""
    sets = [of_tasks.row(int(row)) for row in np.unique(book.group, return_index=True)[1]]
    tasks = np.bincount(of_tasks.values)
    return Barriers(
        of=np.cumsum([0, *map(len, sets)]).astype(np.int64),
        barrier=np.concatenate(sets),
        tasks=tasks.astype(np.int64),
        ended=np.zeros(len(tasks), np.int64),
    )


@compiled
def holds_up(b: Barriers, g: int, fraction: float) -> bool:
    """Return whether a fraction of the tasks before g's barrier has completed."""
    for k in range(b.of[g], b.of[g + 1]):
        if b.ended[b.barrier[k]] >= fraction * b.tasks[b.barrier[k]] - ROUNDING:
            return True
    return False


Floats = NDArray[np.float64]

ALIKE = 1e-9  # scores that differ by less, relative to their largest terms, are equal: the earlier row goes first


class Knobs(NamedTuple):
    """Parameters of the compiled rule, as in `Tetris`."""

    f: float
    b: float
    m: float
    packing: float
    remote: float


class Tetris(NamedTuple):
    """Pack by alignment, and favour jobs with little work left.

    f        fairness, 0 ≤ f < 1: of the n owners with waiting tasks, only the ⌈(1 − f) n⌉ with the least dominant share count
    b        barrier, 0 ≤ b ≤ 1: when this fraction of the tasks before a barrier has completed, the others go first. 1 is off.
             Before a barrier are the tasks of a phase that another phase follows, and the predecessors of a task
    m        weight of the remaining work, >= 0
    packing  weight of the alignment, >= 0. 0: only the remaining work counts
    remote   share of the alignment that is lost on a server without the task's data, 0 ≤ remote ≤ 1
    weights  of the resources in the alignment, as 1:1:2:1. All are 1 by default

    Durations are column `estimate`, or the true ones without it. Raises InputError for parameters out of range.
    """

    f: float = 0.25
    b: float = 0.9
    m: float = 1.0
    packing: float = 1.0
    remote: float = 0.1
    weights: str = ""

    @property
    def rule(self) -> Knobs:
        return Knobs(self.f, self.b, self.m, self.packing, self.remote)

    def needs(self, setting: Setting) -> Needs:
        if not (0 <= self.f < 1 and 0 <= self.b <= 1 and 0 <= self.remote <= 1):
            knobs = f"{self.f}, {self.b} and {self.remote}"
            raise InputError(f"tetris: needs 0 <= f < 1, 0 <= b <= 1 and 0 <= remote <= 1, not {knobs}")
        if not (0 <= self.m < math.inf and 0 <= self.packing < math.inf):
            raise InputError(f"tetris: needs m >= 0 and packing >= 0, not {self.m} and {self.packing}")
        return Needs(vectors=setting.capacity.shape[1] > 1, table=True, durations=True, reads=True)

    def initial_state(self, setting: Setting, seed: int) -> Candidates:
        of_tasks = barriers_of_tasks(setting.table)
        fair = shares(setting, job_book(setting.table, sort=set_numbers(of_tasks)))
        groups = len(fair.book.job)
        return Candidates(
            shares=fair,
            barriers=barriers(fair.book, of_tasks),
            work=remaining_work(fair.book, setting.capacity),
            weights=self._weights(setting.capacity.shape[1]),
            considered=np.zeros(len(fair.book.queued), np.int8),
            news=np.zeros(groups, np.int32),
            count=np.zeros(1, np.int64),
            noted=np.full(groups, NONE, np.int64),
            fitting=np.zeros(groups, np.int32),
            alignment=np.zeros(groups),
            left=np.zeros(groups),
        )

    def _weights(self, resources: int) -> Floats:
        try:
            weights = np.array([float(weight) for weight in self.weights.split(":")] if self.weights else [1.0] * resources)
        except ValueError:
            raise InputError(f"tetris: weights must be numbers such as 1:1:2, not {self.weights!r}") from None
        if len(weights) != resources or not (np.isfinite(weights) & (weights >= 0)).all():
            raise InputError(f"tetris: weights must be {resources} numbers >= 0, one for each resource, not {self.weights!r}")
        return weights


class Candidates(Frame):
    """Owners, barriers, remaining work of jobs, and groups to look at."""

    shares: Shares
    barriers: Barriers
    work: RemainingWork
    weights: Floats  # (D,) of the resources in the alignment
    considered: NDArray[np.int8]  # (owners,) 1 if tasks of the owner were candidates when last checked
    news: NDArray[np.int32]  # (G,) groups that got new tasks in this slot or whose owner became considered in it
    count: Ints  # (1,) number of these groups
    noted: Ints  # (G,) last slot in which a group was in `news`, NONE
    fitting: NDArray[np.int32]  # (G,) scratch: groups of the candidates for a server
    alignment: Floats  # (G,) scratch: a of these groups
    left: Floats  # (G,) scratch: p of these groups


@schedules(Knobs)
def schedule_tetris(knobs: Knobs, cluster: Cluster, state: Candidates) -> None:
    add_new(cluster, state.shares)
    note_overdue(cluster, state.work, state.shares.book)
    state.count[0] = 0
    for n in range(new_count(cluster)):
        i = new_task(cluster, n)
        if i != NONE:
            note(cluster, state, state.shares.book.group[row_of(cluster, i)])
    note_considered(knobs, cluster, state)
    while fill_changed(knobs, cluster, state):  # every start may change which owners are considered
        pass


@completes(Knobs)
def complete_tetris(knobs: Knobs, cluster: Cluster, state: Candidates, task: int) -> None:
    settle(cluster, state.shares, task)
    row = row_of(cluster, task)
    if row >= 0:
        note_no_work_left(state.work, state.shares.book, row)
        b, g = state.barriers, state.shares.book.group[row]
        for k in range(b.of[g], b.of[g + 1]):
            b.ended[b.barrier[k]] += 1


@compiled
def note(cluster: Cluster, state: Candidates, g: int) -> None:
    """Add a group that may fit where nothing fitted before to `news`."""
    if state.noted[g] != now(cluster):
        state.noted[g] = now(cluster)
        state.news[state.count[0]] = g
        state.count[0] += 1


@compiled
def note_considered(knobs: Knobs, cluster: Cluster, state: Candidates) -> None:
    """Add the groups of newly considered owners to `news`."""
    fair = state.shares
    considered = owners_considered(knobs, state)
    for k in range(fair.ranked[0]):
        owner = fair.order[k]
        if k >= considered:
            state.considered[owner] = 0
        elif state.considered[owner] == 0:
            state.considered[owner] = 1
            for n in range(fair.groups_of[owner], fair.groups_of[owner + 1]):
                if fair.book.waiting[fair.groups[n]] > 0:
                    note(cluster, state, fair.groups[n])


@compiled
def fill_changed(knobs: Knobs, cluster: Cluster, state: Candidates) -> bool:
    """Fill the servers in index order; return whether anything started.

    At the end of the last slot no candidate fitted on any server. So only servers with completions, and servers where a group in
    `news` fits, are tried. If remote reads take room, all are, because a completion anywhere may have made some.
    """
    started = False
    for server in range(server_count(cluster)):
        anywhere = reads_take_room(cluster) and freed_count(cluster) > 0
        if anywhere or cluster.server[cluster.e, server].freed == now(cluster) or any_new_fits(knobs, cluster, state, server):
            started |= fill_server(knobs, cluster, state, server)
    return started


@compiled
def any_new_fits(knobs: Knobs, cluster: Cluster, state: Candidates, server: int) -> bool:
    considered = owners_considered(knobs, state)
    for n in range(state.count[0]):
        g = state.news[n]
        if state.shares.book.waiting[g] > 0 and state.shares.rank[owner_of(state.shares, g)] < considered:
            if has_room(cluster, state, g, server):
                return True
    return False


@compiled
def has_room(cluster: Cluster, state: Candidates, g: int, server: int) -> bool:
    """Return whether the group fits, with its remote read."""
    book = state.shares.book
    return group_fits(cluster, book, g, server) and can_read(cluster, book.ends[g].head, server)


@compiled
def fill_server(knobs: Knobs, cluster: Cluster, state: Candidates, server: int) -> bool:
    """Start a server's best candidates until none fits. True if any."""
    started = False
    row = best_row(knobs, cluster, state, server)
    while row != NONE:
        note_start(cluster, state.work, state.shares.book, row, server)
        launch(cluster, state.shares, row, server)
        if knobs.f > 0:
            note_considered(knobs, cluster, state)
        started = True
        row = best_row(knobs, cluster, state, server)
    return started


@compiled
def best_row(knobs: Knobs, cluster: Cluster, state: Candidates, server: int) -> int:
    """Return the row with a server's highest score, or NONE."""
    book = state.shares.book
    considered = owners_considered(knobs, state)
    # Groups that fit, of the owners considered: alignment a and remaining work p, and their sums over waiting tasks.
    count, total_a, total_p, most_a, most_p, urgent = 0, 0.0, 0.0, 0.0, 0.0, False
    for k in range(book.count[0]):
        g = book.active[k]
        if state.shares.rank[owner_of(state.shares, g)] < considered and has_room(cluster, state, g, server):
            a, p = alignment(knobs, cluster, state, g, server), work_left(cluster, state.work, book.job[g])
            state.fitting[count], state.alignment[count], state.left[count] = g, a, p
            count += 1
            total_a += book.waiting[g] * a
            total_p += book.waiting[g] * p
            most_a, most_p = max(most_a, a), max(most_p, p)
            urgent |= is_urgent(knobs, state, g)
    if count == 0:
        return NONE
    # The score is a - m·ε·p, with ε the mean a over the mean p of the candidates (PAPERS §2).
    per_work = knobs.m * total_a / total_p if total_p > 0 else 0.0
    best, alike = -np.inf, ALIKE * (knobs.packing * most_a + per_work * most_p)
    for n in range(count):
        if not urgent or is_urgent(knobs, state, state.fitting[n]):
            best = max(best, knobs.packing * state.alignment[n] - per_work * state.left[n])
    # Of the groups whose scores differ by rounding alone, the one with the earliest row.
    chosen = NONE
    for n in range(count):
        if not urgent or is_urgent(knobs, state, state.fitting[n]):
            row = book.ends[state.fitting[n]].head
            score = knobs.packing * state.alignment[n] - per_work * state.left[n]
            if score >= best - alike and (chosen == NONE or row < chosen):
                chosen = row
    return chosen


@compiled
def owners_considered(knobs: Knobs, state: Candidates) -> int:
    """Return how many owners of the least shares may start tasks."""
    return int(np.ceil((1 - knobs.f) * state.shares.ranked[0] - ALIKE))


@compiled
def alignment(knobs: Knobs, cluster: Cluster, state: Candidates, g: int, server: int) -> float:
    """Return a of a group on a server, less the remote penalty."""
    book = state.shares.book
    a = 0.0
    for r in range(book.demand.shape[1]):
        capacity = float(cluster.capacity[server, r])
        if capacity > 0:
            a += state.weights[r] * (book.demand[g, r] / capacity) * (free_of(cluster, server, r) / capacity)
    return a if at_home(book, g, server) else a * (1 - knobs.remote)


@compiled
def is_urgent(knobs: Knobs, state: Candidates, g: int) -> bool:
    return knobs.b < 1 and holds_up(state.barriers, g, knobs.b)
