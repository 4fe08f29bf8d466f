"""Tetris: pack tasks by the alignment of their demands with what is free, and favour jobs with little work left
(Grandl et al., SIGCOMM 2014; PAPERS §2).

Servers are filled in index order. Of the tasks that fit in every resource, among the owners (tenants, or jobs) furthest
below their fair share, the one of the highest score starts: packing · a − m · ε · p. Here a = Σ_r w_r (d_r / C_r) (free_r / C_r),
less a penalty where the task would read its data from elsewhere; p is the work that its job has left; and ε = mean a / mean p
of those tasks. Once a fraction b of a phase has completed on which another one waits, its last tasks go first.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from packenv.cluster import NONE, Cluster, Needs, new_count, new_task, now, remote_slots, row_of, server_count
from packenv.compiled.decorators import inner
from packenv.compiled.frame import Frame
from packenv.errors import InputError
from packenv.policies.job_book import at_home, free_of, group_fits
from packenv.policies.tetris.owner_ranking import DOMINANT, Shares, launch, owner_of, settle, shares, take_up
from packenv.policy import Setting, completes, schedules

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

WORK_UNITS = 2**20  # per slot of the whole of a resource: work is counted in integers, so that nothing drifts
ALIKE = 1e-9  # scores closer than this, relative to what they are made of, are equal: the earlier row goes first


class Knobs(NamedTuple):
    """What the compiled rule knows."""

    f: float
    b: float
    m: float
    packing: float
    remote: float


class Tetris(NamedTuple):
    """Multi-resource packing with little work left first, fairness and barriers.

    f  fairness knob, 0 ≤ f < 1: only the ⌈(1 − f) n⌉ owners of the n with waiting tasks that have the least dominant share
    b  barrier knob, 0 ≤ b ≤ 1, 1 is off
    m  weight of the work left; packing: weight of the alignment (0: only the work left counts)
    remote   share of the alignment that is lost away from home
    weights  of the resources in the alignment, as 1:1:2:1; all 1 by default

    Believes the durations in column `estimate`, or else those that are true. InputError for knobs out of range.
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
        return Needs(vectors=setting.capacity.shape[1] > 1, table=True, durations=True)

    def initial_state(self, setting: Setting, seed: int) -> Candidates:
        fair = shares(setting, DOMINANT)
        book, largest = fair.book, setting.capacity.max(axis=0)
        work = np.rint(WORK_UNITS * (book.demand / np.where(largest > 0, largest, 1)).sum(axis=1)).astype(np.int64)
        groups, jobs = len(book.job), len(book.owner)
        ahead = np.zeros(jobs, np.int64)
        np.add.at(ahead, book.job[book.group], (work * book.duration)[book.group])
        return Candidates(
            shares=fair,
            weights=self._weights(setting.capacity.shape[1]),
            work=work,
            ahead=ahead,
            ends=np.zeros(jobs, np.int64),
            rate=np.zeros(jobs, np.int64),
            leaves=np.zeros(len(book.group), np.int64),
            considered=np.zeros(len(book.queued), np.int8),
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
            raise InputError(f"tetris: weights are numbers such as 1:1:2, not {self.weights!r}") from None
        if len(weights) != resources or not (np.isfinite(weights) & (weights >= 0)).all():
            raise InputError(f"tetris: weights are {resources} numbers >= 0, one for each resource, not {self.weights!r}")
        return weights


class Candidates(Frame):
    """What Tetris knows of the jobs."""

    shares: Shares
    weights: Floats  # (D,)
    work: Ints  # (G,) work units of a task per slot: its demands, each in shares of the largest server, added up
    ahead: Ints  # (jobs,) work of the tasks that have not started, later phases included
    ends: Ints  # (jobs,) Σ work · slot in which it should leave, over the tasks in service
    rate: Ints  # (jobs,) Σ work over the tasks in service
    leaves: Ints  # (n,) that slot for each row
    considered: NDArray[np.int8]  # (owners,) 1 for those that were, when that was last looked at
    news: NDArray[np.int32]  # (G,) groups that have new tasks in this slot, or whose owner has come to be considered,
    count: Ints  # (1,) how many there are,
    noted: Ints  # (G,) and the slot in which each was last one of them
    fitting: NDArray[np.int32]  # (G,) scratch: the groups that fit,
    alignment: Floats  # (G,) and their a
    left: Floats  # (G,) and p


@schedules(Knobs)
def schedule_tetris(knobs: Knobs, cluster: Cluster, state: Candidates) -> None:
    take_up(cluster, state.shares)
    state.count[0] = 0
    note_new_groups(cluster, state)
    note_considered(knobs, cluster, state)
    while fill_changed(knobs, cluster, state):  # who is considered changes with every start
        pass


@completes(Knobs)
def complete_tetris(knobs: Knobs, cluster: Cluster, state: Candidates, task: int) -> None:
    settle(cluster, state.shares, task)
    row = row_of(cluster, task)
    if row >= 0:
        book = state.shares.book
        g = book.group[row]
        state.ends[book.job[g]] -= state.work[g] * state.leaves[row]
        state.rate[book.job[g]] -= state.work[g]


@inner
def note_new_groups(cluster: Cluster, state: Candidates) -> None:
    for n in range(new_count(cluster)):
        i = new_task(cluster, n)
        if i != NONE:
            note(cluster, state, state.shares.book.group[row_of(cluster, i)])


@inner
def note(cluster: Cluster, state: Candidates, g: int) -> None:
    """A group that may fit where nothing did at the end of the last slot."""
    if state.noted[g] != now(cluster):
        state.noted[g] = now(cluster)
        state.news[state.count[0]] = g
        state.count[0] += 1


@inner
def note_considered(knobs: Knobs, cluster: Cluster, state: Candidates) -> None:
    """Note the groups of the owners that are considered and were not before."""
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


@inner
def fill_changed(knobs: Knobs, cluster: Cluster, state: Candidates) -> bool:
    """Fill the servers in index order; whether anything started.

    Nothing that was considered fitted anywhere at the end of the last slot: only completions and news can change that.
    """
    started = False
    for server in range(server_count(cluster)):
        if cluster.server[cluster.e, server].freed == now(cluster) or any_news_fits(knobs, cluster, state, server):
            started |= fill_one(knobs, cluster, state, server)
    return started


@inner
def any_news_fits(knobs: Knobs, cluster: Cluster, state: Candidates, server: int) -> bool:
    considered = owners_considered(knobs, state)
    for n in range(state.count[0]):
        g = state.news[n]
        if state.shares.book.waiting[g] > 0 and state.shares.rank[owner_of(state.shares, g)] < considered:
            if group_fits(cluster, state.shares.book, g, server):
                return True
    return False


@inner
def fill_one(knobs: Knobs, cluster: Cluster, state: Candidates, server: int) -> bool:
    """Start the best task on a server until nothing fits; whether anything started."""
    started = False
    row = best_row(knobs, cluster, state, server)
    while row != NONE:
        begin(knobs, cluster, state, row, server)
        started = True
        row = best_row(knobs, cluster, state, server)
    return started


@inner
def begin(knobs: Knobs, cluster: Cluster, state: Candidates, row: int, server: int) -> None:
    book = state.shares.book
    g = book.group[row]
    job, slots = book.job[g], book.duration[g]
    state.ahead[job] -= state.work[g] * slots
    state.leaves[row] = now(cluster) + slots + remote_slots(cluster, row, server)
    state.ends[job] += state.work[g] * state.leaves[row]
    state.rate[job] += state.work[g]
    launch(cluster, state.shares, row, server)
    if knobs.f > 0:
        note_considered(knobs, cluster, state)


@inner
def best_row(knobs: Knobs, cluster: Cluster, state: Candidates, server: int) -> int:
    """The task of the highest score that fits on a server; NONE if nothing fits."""
    book = state.shares.book
    considered = owners_considered(knobs, state)
    count, total_a, total_p, most_a, most_p, urgent = 0, 0.0, 0.0, 0.0, 0.0, False
    for k in range(book.count[0]):
        g = book.active[k]
        if state.shares.rank[owner_of(state.shares, g)] < considered and group_fits(cluster, book, g, server):
            a, p = alignment(knobs, cluster, state, g, server), work_left(cluster, state, book.job[g])
            state.fitting[count], state.alignment[count], state.left[count] = g, a, p
            count += 1
            total_a += book.waiting[g] * a
            total_p += book.waiting[g] * p
            most_a, most_p = max(most_a, a), max(most_p, p)
            urgent |= holds_up(knobs, state, g)
    if count == 0:
        return NONE
    per_work = knobs.m * total_a / total_p if total_p > 0 else 0.0
    best, alike = -np.inf, ALIKE * (knobs.packing * most_a + per_work * most_p)
    for n in range(count):
        if not urgent or holds_up(knobs, state, state.fitting[n]):
            best = max(best, knobs.packing * state.alignment[n] - per_work * state.left[n])
    chosen = NONE
    for n in range(count):
        if not urgent or holds_up(knobs, state, state.fitting[n]):
            row = book.first[state.fitting[n]]
            score = knobs.packing * state.alignment[n] - per_work * state.left[n]
            if score >= best - alike and (chosen == NONE or row < chosen):
                chosen = row
    return chosen


@inner
def owners_considered(knobs: Knobs, state: Candidates) -> int:
    """How many owners, from the least served on, may start tasks."""
    return int(np.ceil((1 - knobs.f) * state.shares.ranked[0] - ALIKE))


@inner
def alignment(knobs: Knobs, cluster: Cluster, state: Candidates, g: int, server: int) -> float:
    """a of a group of like tasks with what is free on a server."""
    book = state.shares.book
    a = 0.0
    for r in range(book.demand.shape[1]):
        capacity = float(cluster.capacity[server, r])
        if capacity > 0:
            a += state.weights[r] * (book.demand[g, r] / capacity) * (free_of(cluster, server, r) / capacity)
    return a if at_home(book, g, server) else a * (1 - knobs.remote)


@inner
def work_left(cluster: Cluster, state: Candidates, job: int) -> float:
    """p of a job, in work units: what has not started, and what is left of the tasks in service."""
    return float(max(state.ahead[job] + state.ends[job] - now(cluster) * state.rate[job], 0))


@inner
def holds_up(knobs: Knobs, state: Candidates, g: int) -> bool:
    """Whether this is one of the last tasks of a phase on which another one waits."""
    book = state.shares.book
    phase = book.phase[g]
    return knobs.b < 1 and book.followed[phase] == 1 and book.ended[phase] >= knobs.b * book.tasks[phase] - ALIKE
