"""Jobs in a fixed order: FIFO, priority and capacity, with which seed 002 compares the price scheduler (PAPERS §3).

Each starts the ready phase that comes first in its order on the first server with room. If no server has room for it, all
others wait behind it (`blocking`), or else it is skipped.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from packenv.cluster import NONE, Cluster, Needs
from packenv.compiled.frame import Frame
from packenv.errors import InputError
from packenv.policies.job_book import JobBook, job_book, note_new
from packenv.policies.price.merit_ranking import Ranking, best_group, best_kind, look_for_room, ranking, start_first
from packenv.policy import Setting, schedules


class OrderState(Frame):
    """State of the three policies. Merits are set before slot 0 and are the same on all servers."""

    book: JobBook
    ranking: Ranking


def table_needs(setting: Setting) -> Needs:
    """Needs of policies that know jobs: the table of jobs, and demand vectors if there are several resources."""
    return Needs(vectors=setting.capacity.shape[1] > 1, table=True)


class InOrder(NamedTuple):
    """Parameters of the compiled rule of all three policies; their orders are in their state, as merits."""

    blocking: bool


def rows_in_order(setting: Setting) -> OrderState:
    """The state before slot 0. All merits are 0, which means the order of the rows, until a policy sets them."""
    book = job_book(setting.table)
    return OrderState(book=book, ranking=ranking(book, setting.capacity, np.zeros(len(setting.capacity), np.int64)))


class JobFifo(NamedTuple):
    """FIFO by job: the ready phase of the earliest job first."""

    blocking: bool = True

    @property
    def rule(self) -> InOrder:
        return InOrder(self.blocking)

    def needs(self, setting: Setting) -> Needs:
        return table_needs(setting)

    def initial_state(self, setting: Setting, seed: int) -> OrderState:
        return rows_in_order(setting)


class Priority(NamedTuple):
    """The ready phase of the job with the largest value first; needs column `value`."""

    blocking: bool = False

    @property
    def rule(self) -> InOrder:
        return InOrder(self.blocking)

    def needs(self, setting: Setting) -> Needs:
        return table_needs(setting)

    def initial_state(self, setting: Setting, seed: int) -> OrderState:
        state = rows_in_order(setting)
        if setting.table.value is None:
            raise InputError(f"policy priority: workload {setting.workload.name} has no column `value`")
        state.ranking.merit[state.book.group, 0] = setting.table.value
        return state


class SmallestDemand(NamedTuple):
    """The ready phase with the smallest demand first: Σ_r d_r / k_r, k_r the largest capacity of a server."""

    blocking: bool = False

    @property
    def rule(self) -> InOrder:
        return InOrder(self.blocking)

    def needs(self, setting: Setting) -> Needs:
        return table_needs(setting)

    def initial_state(self, setting: Setting, seed: int) -> OrderState:
        state = rows_in_order(setting)
        capacity = setting.capacity.max(axis=0)
        state.ranking.merit[:, 0] = -(state.book.demand / np.where(capacity > 0, capacity, 1)).sum(axis=1)
        return state


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
