"""The price scheduler of Zhang and Yao (§3.3; PAPERS §3).

S is the set of phases that have not started, of all arrived jobs. A phase is a row of the table. Its value U is the value of its
job divided by the number of the job's phases. The price of a resource is the total value of the phases in S that need it. The
score of a phase is its value, minus the price of what it leaves idle on a server while it runs, plus a welfare. The welfare
grows whenever another phase starts before it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from packenv.cluster import NONE, Cluster, Needs, new_count, new_task, row_of
from packenv.cluster.whole_jobs.book import JobBook, job_book, note_new
from packenv.compiled.decorators import compiled
from packenv.compiled.frame import Frame
from packenv.errors import InputError
from packenv.policies.price.job_order import (
    Floats,
    GroupRanking,
    best_group,
    best_kind,
    look_for_room,
    ranking,
    start_first,
    table_needs,
)
from packenv.policy import Setting, schedules

Ints = NDArray[np.int64]


class PriceState(Frame):
    """State for D resources, N jobs, n rows, G groups, K capacities."""

    book: JobBook
    ranking: GroupRanking
    # derived from the table and the servers, constant during a run
    capacity: Ints  # (K, D) units
    value: Floats  # (N,) U of each phase of a job
    phases: Ints  # (N,) number of rows of a job
    needing: Ints  # (N, D) number of rows of a job that need each resource
    slots: Floats  # (G,) discounted duration of a task: Σ (1 + γ)^-i over its slots i = 0, 1, …
    # changes during a run
    arrived: Ints  # (2,) number of rows and of jobs that have arrived
    unstarted: Ints  # (1,) |S|
    unstarted_needing: Ints  # (D,) number of phases in S that need each resource
    demanded: Floats  # (D,) Σ U of these phases: the price of each resource
    paid: Floats  # (1,) welfare of a phase that has been ready since the start of the run
    paid_before: Floats  # (n,) value of `paid` when a row became ready; its own welfare is the difference


class Price(NamedTuple):
    """Start the phase with the most value for the least waste.

    A resource costs more if more waiting value needs it. The value is 1 where the table has none.

    welfare   weight of the welfare, >= 0
    c         divisor of the waste, > 0
    gamma     discount rate per slot of a phase's duration, > -1
    blocking  True: no phase starts before the one with the highest score

    Raises InputError for parameters out of range.
    """

    welfare: float = 0.1
    c: float = 4.0
    gamma: float = 0.0
    blocking: bool = False

    def needs(self, setting: Setting) -> Needs:
        if not (0 <= self.welfare < np.inf and 0 < self.c < np.inf and -1 < self.gamma < np.inf):
            raise InputError(f"price: needs welfare >= 0, c > 0 and gamma > -1, not {self.welfare}, {self.c} and {self.gamma}")
        return table_needs(setting)._replace(durations=True)

    def initial_state(self, setting: Setting, seed: int) -> PriceState:
        jobs = setting.table
        book = job_book(jobs)
        capacity, kind = np.unique(setting.capacity, axis=0, return_inverse=True)
        job = book.job[book.group]
        first, phases = np.unique(job, return_index=True)[1], np.bincount(job)
        needing = np.zeros((len(phases), jobs.resources), np.int64)
        np.add.at(needing, job, jobs.demand > 0)
        value = np.ones(len(jobs)) if jobs.value is None else jobs.value
        return PriceState(
            book=book,
            ranking=ranking(book, setting.capacity, kind.ravel()),
            capacity=capacity,
            value=value[first] / phases,
            phases=phases,
            needing=needing,
            slots=discounted(book.duration, self.gamma),
            arrived=np.zeros(2, np.int64),
            unstarted=np.zeros(1, np.int64),
            unstarted_needing=np.zeros(jobs.resources, np.int64),
            demanded=np.zeros(jobs.resources),
            paid=np.zeros(1),
            paid_before=np.zeros(len(jobs)),
        )


def discounted(duration: Ints, gamma: float) -> Floats:
    """Σ_{i < duration} (1 + γ)^-i."""
    if gamma == 0:
        return duration.astype(np.float64)
    factor = 1 / (1 + gamma)
    return np.asarray((1 - factor**duration) / (1 - factor))


@schedules(Price)
def schedule_price(policy: Price, cluster: Cluster, state: PriceState) -> None:
    book, ranks = state.book, state.ranking
    note_new(cluster, book)
    note_jobs(cluster, state)
    look_for_room(cluster, book, ranks)
    while book.count[0] > 0:
        score(state, policy.c)
        g = best_group(book, ranks, policy.blocking)
        k = NONE if g == NONE else best_kind(ranks, g)
        if k == NONE:
            return
        note_choice(state, g, policy.welfare)
        start_first(cluster, book, ranks, g, k)


@compiled
def note_jobs(c: Cluster, state: PriceState) -> None:
    """Add the phases of new jobs to S. Welfare starts at 0."""
    book = state.book
    for row in range(state.arrived[0], c.head[c.e].next_row):
        j = book.job[book.group[row]]
        if j == state.arrived[1]:
            state.arrived[1] += 1
            state.unstarted[0] += state.phases[j]
            for r in range(state.needing.shape[1]):
                state.unstarted_needing[r] += state.needing[j, r]
                state.demanded[r] += state.value[j] * state.needing[j, r]
    state.arrived[0] = c.head[c.e].next_row
    for n in range(new_count(c)):
        i = new_task(c, n)
        if i != NONE:
            state.paid_before[row_of(c, i)] = state.paid[0]


@compiled
def score(state: PriceState, c: float) -> None:
    """Set all groups' U − Waste + Welfare, of first waiting tasks (eq. 15–18)."""
    book, ranks = state.book, state.ranking
    for n in range(book.count[0]):
        g = book.active[n]
        worth = state.value[book.job[g]] + state.paid[0] - state.paid_before[book.ends[g].head]
        for k in range(ranks.merit.shape[1]):
            idle = 0.0
            for r in range(book.demand.shape[1]):
                if state.capacity[k, r] > 0:
                    idle += state.demanded[r] * (1.0 - book.demand[g, r] / state.capacity[k, r])
            ranks.merit[g, k] = worth - idle * state.slots[g] / (c * state.unstarted[0])


@compiled
def note_choice(state: PriceState, g: int, welfare: float) -> None:
    """Remove group g's first task from S, and raise others' welfare."""
    book = state.book
    value = state.value[book.job[g]]
    state.paid[0] += welfare * value / state.value.shape[0]
    state.unstarted[0] -= 1
    for r in range(book.demand.shape[1]):
        if book.demand[g, r] > 0:
            state.unstarted_needing[r] -= 1
            state.demanded[r] -= value
        if state.unstarted_needing[r] == 0:
            state.demanded[r] = 0.0  # removes rounding errors
