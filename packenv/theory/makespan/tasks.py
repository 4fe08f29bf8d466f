"""Offline scheduling problems: tasks, servers, bounds and checks (PAPERS §3)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from packenv.errors import InputError
from packenv.jobs import Jobs
from packenv.workloads.precedence import NEVER, precedence_edges, ready_slots
from packenv.workloads.workload import Workload

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

CUTS = 32  # values at most of heads, of tails and of demands that the lower bound tries


@dataclass(frozen=True)
class Tasks:
    """n tasks and B barriers on L servers (ticks).

    Ticks are the greatest common divisor of all times, from the first arrival. Nodes are the n rows of the table, then the
    barriers. Node `before[k]` must end before node `after[k]` begins.
    """

    tick: int  # slots
    origin: int  # slot of the first arrival
    release: Ints  # (n,) ticks
    service: Ints  # (n,) ticks
    demand: Ints  # (n, D) units
    capacity: Ints  # (L, D) units
    fixed: Ints | None  # (n,) server of each task, if assigned beforehand
    before: Ints  # (edges,) nodes
    after: Ints  # (edges,)
    nodes: int

    def __len__(self) -> int:
        return len(self.service)

    @cached_property
    def allowed(self) -> Bools:
        """(n, L) whether each task may run on each server."""
        if self.fixed is not None:
            return np.asarray(self.fixed[:, None] == np.arange(len(self.capacity)))
        return np.all(self.demand[:, None, :] <= self.capacity, axis=2)

    @cached_property
    def head(self) -> Ints:
        """(nodes,) earliest ticks to begin, by releases and precedence."""
        return self._longest(np.append(self.release, np.zeros(self.nodes - len(self), np.int64)), self.before, self.after)

    @cached_property
    def tail(self) -> Ints:
        """(nodes,) ticks of the longest chain after each node."""
        return self._longest(np.zeros(self.nodes, np.int64), self.after, self.before)

    def _longest(self, least: Ints, before: Ints, after: Ints) -> Ints:
        """Return (nodes,) longest paths to each node, at least `least`."""
        service = np.append(self.service, np.zeros(self.nodes - len(self), np.int64))
        while True:
            longer = least.copy()
            np.maximum.at(longer, after, least[before] + service[before])
            if (longer == least).all():
                return least
            least = longer

    @cached_property
    def bound(self) -> int:
        """Return a lower bound on the makespan, in ticks.

        It is the longest chain, or an energy argument: for every pair of a head and a tail, the work of all tasks with at least
        these takes at least work / capacity ticks, after the head and before the tail.
        """
        head, tail = self.head[: len(self)], self.tail[: len(self)]
        heads, tails = _cuts(head), _cuts(tail)
        of = np.searchsorted(heads, head, "right") - 1, np.searchsorted(tails, tail, "right") - 1
        longest = int((head + self.service + tail).max())
        for work, room in self._works():
            inside = np.zeros((len(heads), len(tails)), object)
            np.add.at(inside, of, work)
            inside = inside[::-1, ::-1].cumsum(axis=0).cumsum(axis=1)[::-1, ::-1]  # work from this head and tail on
            least = heads[:, None] + tails + -(-inside // room)
            longest = max(longest, int(least[inside > 0].max(initial=0)))
        return longest

    def _works(self) -> list[tuple[NDArray[Any], int]]:
        """Return (n,) work and capacity per tick, for the cluster or fixed servers too."""
        servers = np.arange(len(self.capacity))
        groups = [servers] if self.fixed is None else [servers, *servers[:, None]]
        pairs = []
        for group in groups:
            on_group = np.ones(len(self), np.bool_) if self.fixed is None else np.isin(self.fixed, group)
            for r in range(self.demand.shape[1]):
                capacity = self.capacity[group, r]
                if capacity.any():
                    demand = np.where(on_group, self.demand[:, r], 0)
                    counted = _dual_feasible(demand, int(capacity[0])) if (capacity == capacity[0]).all() else [demand]
                    pairs += [(values.astype(object) * self.service, int(capacity.sum())) for values in counted]
        return pairs

    @property
    def pairs(self) -> int:
        """Count pairs of predecessor and successor, through barriers too."""
        entering = np.bincount(self.after, minlength=self.nodes)
        inner = (self.before >= len(self)) & (self.after < len(self))
        return int((self.after < len(self)).sum() - inner.sum() + entering[self.before[inner]].sum())

    @cached_property
    def waits_for(self) -> tuple[Ints, Ints]:
        """(offsets, rows): row i waits, also through barriers, for rows[offsets[i] : offsets[i + 1]]."""
        direct = (self.before < len(self)) & (self.after < len(self))
        pairs = [np.stack([self.before[direct], self.after[direct]])]
        for barrier in range(len(self), self.nodes):
            enter, leave = self.before[self.after == barrier], self.after[self.before == barrier]
            pairs.append(np.stack([np.tile(enter, len(leave)), np.repeat(leave, len(enter))]))
        before, after = np.concatenate(pairs, axis=1)
        return self._rows_by(before, after)

    @cached_property
    def followed_by(self) -> tuple[Ints, Ints]:
        """(offsets, rows): rows[offsets[i] : offsets[i + 1]] wait for row i."""
        offsets, before = self.waits_for
        return self._rows_by(np.repeat(np.arange(len(self)), np.diff(offsets)), before)

    def _rows_by(self, rows: Ints, group: Ints) -> tuple[Ints, Ints]:
        """(offsets, rows) of the rows of each group."""
        order = np.argsort(group, kind="stable")
        return np.searchsorted(group[order], np.arange(len(self) + 1)).astype(np.int64), rows[order]

    def longest_tail_first(self) -> Ints:
        """(n,) rows by service + tail, the longest first."""
        return np.argsort(-(self.tail[: len(self)] + self.service), kind="stable")

    def fault(self, start: NDArray[np.integer[Any]], server: NDArray[np.integer[Any]]) -> str | None:
        """Return the first violation by starts (n,) on servers (n,), or None."""
        rows = np.flatnonzero(start >= 0)
        wrong = rows[(server[rows] < 0) | (server[rows] >= len(self.capacity))]
        if len(wrong):
            return f"row {wrong[0]}: there is no server {server[wrong[0]]}"
        end = np.where(start < 0, NEVER, start + self.service * self.tick)
        ready = ready_slots(self.origin + self.release * self.tick, end, self.before, self.after, self.nodes)
        early = rows[start[rows] < ready[rows]]
        if len(early):
            return f"row {early[0]} starts in slot {start[early[0]]} and is not eligible then"
        return self._overfull(start.astype(np.int64), end, server, rows)

    def _overfull(self, start: Ints, end: Ints, server: NDArray[np.integer[Any]], rows: Ints) -> str | None:
        """Name a row that starts without room."""
        row = np.concatenate([rows, rows])
        slot = np.concatenate([end[rows], start[rows]])
        change = np.concatenate([-self.demand[rows], self.demand[rows]])
        order = np.lexsort((np.arange(len(row)), slot, server[row]))  # ends before starts in the same slot
        held = np.cumsum(change[order], axis=0)  # every server's changes add up to 0
        over = order[(held > self.capacity[server[row[order]]]).any(axis=1)]
        if len(over) == 0:
            return None
        return f"row {row[over[0]]} does not fit on server {server[row[over[0]]]} in slot {slot[over[0]]}"


def check_known(workload: Workload) -> None:
    """Raise InputError for what the offline optimum does not know."""
    if workload.has_devices:
        raise InputError("the optimum does not model devices; --one-amount (devices=False) makes a server's GPUs one amount")
    if workload.has_gangs:
        raise InputError("the optimum does not model gangs; --one-by-one (gangs=False) lets their tasks start one by one")


def tasks_of(workload: Workload, fixed_allocation: bool = False) -> Tasks:
    """Return a workload's tasks; `fixed_allocation` assigns servers in advance.

    Raises InputError without a table, and for a table whose tasks take longer away from their data.
    """
    jobs = workload.jobs
    if jobs is None:
        raise InputError(f"workload {workload.name} has no Jobs table: an offline optimum needs all jobs (Workload.tabulated)")
    if jobs.home is not None and jobs.remote_overhead is not None and jobs.remote_overhead.any():
        raise InputError("the optimum does not model remote reading: leave out the column remote_overhead")
    check_known(workload)
    capacity = workload.servers.units
    before, after, nodes = precedence_edges(jobs)
    origin = int(jobs.arrival[0])
    # All times become multiples of a tick.
    tick = int(np.gcd.reduce(np.append(jobs.service, jobs.arrival - origin)))
    return Tasks(
        tick=tick,
        origin=origin,
        release=(jobs.arrival - origin) // tick,
        service=jobs.service // tick,
        demand=jobs.demand,
        capacity=capacity,
        fixed=_least_loaded(jobs, capacity) if fixed_allocation else None,
        before=before,
        after=after,
        nodes=nodes,
    )


def _least_loaded(jobs: Jobs, capacity: Ints) -> Ints:
    """(n,) the first least loaded fitting servers (PAPERS §3)."""
    load = np.zeros(len(capacity))
    chosen = np.zeros(len(jobs), np.int64)
    for row, demand in enumerate(jobs.demand):
        chosen[row] = np.argmin(np.where((demand <= capacity).all(axis=1), load, np.inf))
        load[chosen[row]] += jobs.service[row] * (demand / np.maximum(capacity[chosen[row]], 1)).sum()
    return chosen


def _dual_feasible(demand: Ints, capacity: int) -> list[Ints]:
    """Return demands and valid roundings (Martello & Toth 1990).

    For a cut c: a demand above capacity − c counts as the whole server, and one below c counts as nothing.
    """
    cuts = np.concatenate([demand, capacity - demand + 1])  # the smallest cuts that change a demand
    cuts = _cuts(cuts[(cuts > 0) & (2 * cuts <= capacity)])
    large = [np.where(demand + cut > capacity, capacity, demand) for cut in cuts]
    return [demand, *(np.where(demand < cut, 0, counted) for cut, counted in zip(cuts, large, strict=True))]


def _cuts(values: Ints) -> Ints:
    distinct = np.unique(values)
    return distinct[np.unique(np.linspace(0, len(distinct) - 1, CUTS).astype(int))] if len(distinct) > CUTS else distinct
