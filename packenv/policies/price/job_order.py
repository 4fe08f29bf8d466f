"""Jobs in a fixed order: FIFO, priority and capacity (PAPERS §3).

Zhang and Yao compare the price scheduler with them. Each starts the first ready phase of its order on the first server with
room. If no server has room for it, all others wait behind it (`blocking`), or it is skipped.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from packenv.cluster import NONE, Cluster, Needs
from packenv.cluster.whole_jobs.book import JobBook, job_book, note_new
from packenv.compiled.frame import Frame
from packenv.errors import ArgumentError
from packenv.policies.price.merit_ranking import Floats, Ranking, best_group, best_kind, look_for_room, ranking, start_first
from packenv.policy import Setting, schedules

Ints = NDArray[np.int64]


class OrderState(Frame):
    """State of these policies.

    Merits are set before slot 0 and are the same on all servers.
    """

    book: JobBook
    ranking: Ranking


def table_needs(setting: Setting) -> Needs:
    """Return the needs of policies that know jobs.

    These are the table of jobs, and demand vectors with several resources.
    """
    return Needs(vectors=setting.capacity.shape[1] > 1, table=True)


class InOrder(NamedTuple):
    """The part that these policies share.

    Their orders are merits in the state, so compiled code needs only `blocking`.
    """

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
        """Return numbers (n,) that tell tasks of different merits apart.

        They are needed where the columns of a group do not (`job_book`).
        """
        return None

    def merits(self, setting: Setting, book: JobBook) -> Floats:
        """Return the merits of the book's groups, (G,).

        The highest goes first, ties in the order of the rows.
        """
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
    """Return the value of each task's job, (n,).

    Raises InputError if there are none.
    """
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
