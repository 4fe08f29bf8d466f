"""Jobs in a fixed order: FIFO, priority and capacity (PAPERS §3).

Zhang and Yao compare the price scheduler with them. Each starts the first ready phase of its order on the first server with
room. If no server has room for it, all others wait behind it (`blocking`), or it is skipped.

A group is identical waiting tasks. Its merit may differ by kind of server. The group with the highest merit starts on the first
server with room of the kind with its highest merit. Merits within 10⁻⁹ of the largest absolute merit are equal. Ties go to the
earlier job, then phase, then row, and to the server of lower index.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from packenv.cluster import NONE, Cluster, Needs
from packenv.cluster.whole_jobs.book import JobBook, group_fits, job_book, note_new, start
from packenv.compiled.decorators import compiled
from packenv.compiled.frame import Frame
from packenv.errors import ArgumentError
from packenv.policy import Setting, schedules

Floats = NDArray[np.float64]
ALIKE = 1e-9


class GroupRanking(Frame):
    """Merits and rooms of G groups on K kinds of L servers."""

    merit: Floats  # (G, K) valid for groups with waiting tasks
    possible: NDArray[np.bool_]  # (G, K) whether an empty server of the kind can hold a task of the group
    room: NDArray[np.int32]  # (G, K) index in `server` of the first of the kind with room now; of_kind[k + 1] if none
    server: NDArray[np.int32]  # (L,) servers sorted by kind, then by index
    of_kind: NDArray[np.int64]  # (K + 1,) the servers of kind k are server[of_kind[k] : of_kind[k + 1]]


def ranking(book: JobBook, capacity: NDArray[np.int64], kind: NDArray[np.int64]) -> GroupRanking:
    """Return the ranking before slot 0, with all merits 0.

    `capacity` (L, D) units and `kind` (L,) of the servers.
    """
    kinds, first = np.unique(kind, return_index=True)
    shape = len(book.demand), len(kinds)
    possible = np.ones(shape, np.bool_)
    if len(kinds) > 1:
        np.all(book.demand[:, None] <= capacity[first], axis=2, out=possible)
    return GroupRanking(
        merit=np.zeros(shape),
        possible=possible,
        room=np.zeros(shape, np.int32),
        server=np.argsort(kind, kind="stable").astype(np.int32),
        of_kind=np.searchsorted(np.sort(kind), np.append(kinds, kinds[-1] + 1)).astype(np.int64),
    )


@compiled
def look_for_room(c: Cluster, book: JobBook, r: GroupRanking) -> None:
    """Find each group's and kind's first server, before a slot's first start."""
    for n in range(book.count[0]):
        for k in range(r.merit.shape[1]):
            r.room[book.active[n], k] = r.of_kind[k]
            move_on(c, book, r, book.active[n], k)


@compiled
def move_on(c: Cluster, book: JobBook, r: GroupRanking, g: int, k: int) -> None:
    """Move `room` of group g and kind k to the next server with room."""
    while has_room(r, g, k) and not group_fits(c, book, g, r.server[r.room[g, k]]):
        r.room[g, k] += 1


@compiled
def has_room(r: GroupRanking, g: int, k: int) -> bool:
    return r.room[g, k] < r.of_kind[k + 1]


@compiled
def best_group(book: JobBook, r: GroupRanking, blocking: bool) -> int:
    """Return the best group (with room unless `blocking`), or NONE."""
    best, largest = -np.inf, 0.0
    for n in range(book.count[0]):
        g = book.active[n]
        for k in range(r.merit.shape[1]):
            if r.possible[g, k] if blocking else has_room(r, g, k):
                best, largest = max(best, r.merit[g, k]), max(largest, abs(r.merit[g, k]))
    chosen = NONE
    for n in range(book.count[0]):
        g = book.active[n]
        for k in range(r.merit.shape[1]):
            if (r.possible[g, k] if blocking else has_room(r, g, k)) and r.merit[g, k] >= best - ALIKE * largest:
                if chosen == NONE or goes_first(book, g, chosen):
                    chosen = g
    return chosen


@compiled
def goes_first(book: JobBook, g: int, other: int) -> bool:
    """Return whether group g precedes an equal one: job, phase, row."""
    if book.job[g] != book.job[other]:
        return book.job[g] < book.job[other]
    if book.phase[g] != book.phase[other]:
        return book.phase[g] < book.phase[other]
    return book.ends[g].head < book.ends[other].head


@compiled
def best_kind(r: GroupRanking, g: int) -> int:
    """Return the kind with room and group g's highest merit, or NONE."""
    best, largest = -np.inf, 0.0
    for k in range(r.merit.shape[1]):
        if has_room(r, g, k):
            best, largest = max(best, r.merit[g, k]), max(largest, abs(r.merit[g, k]))
    chosen = NONE
    for k in range(r.merit.shape[1]):
        if has_room(r, g, k) and r.merit[g, k] >= best - ALIKE * largest:
            if chosen == NONE or r.server[r.room[g, k]] < r.server[r.room[g, chosen]]:
                chosen = k
    return chosen


@compiled
def start_first(c: Cluster, book: JobBook, r: GroupRanking, g: int, k: int) -> None:
    """Start group g's first task on its server of kind k. Update `room`."""
    place = r.room[g, k]
    start(c, book, book.ends[g].head, r.server[place])
    for n in range(book.count[0]):
        if r.room[book.active[n], k] == place:
            move_on(c, book, r, book.active[n], k)


Ints = NDArray[np.int64]


class OrderState(Frame):
    """State of these policies: merits fixed before slot 0, alike on all servers."""

    book: JobBook
    ranking: GroupRanking


def table_needs(setting: Setting) -> Needs:
    """Return needs of policies that know jobs: the table, and demand vectors."""
    return Needs(vectors=setting.capacity.shape[1] > 1, table=True)


class InOrder(NamedTuple):
    """Shared part: the order is merits, so compiled code needs only `blocking`."""

    blocking: bool = False

    @property
    def rule(self) -> InOrder:
        return InOrder(self.blocking)

    def needs(self, setting: Setting) -> Needs:
        return table_needs(setting)

    def initial_state(self, setting: Setting, seed: int) -> OrderState:
        book = job_book(setting.table, self.sort(setting))
        state = OrderState(book=book, ranking=ranking(book, setting.capacity, np.zeros(len(setting.capacity), np.int64)))
        state.ranking.merit[:, 0] = self.merits(setting, book)
        return state

    def sort(self, setting: Setting) -> Ints | None:
        """Return (n,) numbers that differ for merits that group columns do not tell apart."""
        return None

    def merits(self, setting: Setting, book: JobBook) -> Floats:
        """Return merits of the book's groups, (G,), the highest first."""
        return np.zeros(len(book.demand))


class JobFifo(InOrder):
    """Start the ready phase of the earliest job first."""

    _field_defaults = {"blocking": True}  # noqa: RUF012

    def __new__(cls, blocking: bool = True) -> JobFifo:
        return super().__new__(cls, blocking)


class Priority(InOrder):
    """Start the ready phase of the most valuable job first.

    The workload needs the column `value`.
    """

    def needs(self, setting: Setting) -> Needs:
        if setting.workload.jobs is not None:
            values_of(setting)  # said before anything runs
        return super().needs(setting)

    def merits(self, setting: Setting, book: JobBook) -> Floats:
        return values_of(setting)[np.unique(book.group, return_index=True)[1]]


def values_of(setting: Setting) -> Floats:
    """Return the value of each task's job, (n,), or raise InputError."""
    value = setting.table.value
    if value is None:
        where = "for another name, pass `columns` value=NAME"
        raise ArgumentError(f"policy priority: {setting.workload.name} has no column value; {where}")
    return value


class SmallestDemand(InOrder):
    """Start the ready phase with the smallest demand first.

    The demand is Σ_r d_r / k_r, with k_r the largest capacity of a server.
    """

    def merits(self, setting: Setting, book: JobBook) -> Floats:
        capacity = setting.capacity.max(axis=0)
        return np.asarray(-(book.demand / np.where(capacity > 0, capacity, 1)).sum(axis=1))


@schedules(InOrder)
def place_in_order(policy: InOrder, c: Cluster, state: OrderState) -> None:
    book = state.book
    note_new(c, book)
    look_for_room(c, book, state.ranking)
    g = best_group(book, state.ranking, policy.blocking)
    while g != NONE:
        k = best_kind(state.ranking, g)
        if k == NONE:
            return
        start_first(c, book, state.ranking, g, k)
        g = best_group(book, state.ranking, policy.blocking)
