"""Quickswap: one type at a time, with an early change (PAPERS §6).

Chen et al., Improving nonpreemptive multiserver job scheduling with Quickswap, arXiv 2509.01893. MSFQ is for "one or all", where
a job needs a k-th of the server, or all of it. Other laws have the same phases for each type in turn.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from packenv.cluster import (
    BY_LINE,
    BY_TYPE,
    NONE,
    Cluster,
    Needs,
    fits,
    head_of_line,
    jobs_in,
    kind_of,
    place,
    queue_length,
    server_count,
    waiting,
)
from packenv.cluster.servers import scalar_capacity
from packenv.compiled.decorators import compiled
from packenv.errors import InputError
from packenv.policies.random_requirements.stalling import in_model
from packenv.policy import Setting, schedules, takes_over
from packenv.theory.rounded_types import distinct_sizes, largest_of_cells

MOST_TYPES = 32


class ServerPhases(NamedTuple):
    """State: what each of the L servers does."""

    most: NDArray[np.int64]  # (L, types) as many jobs of a type as a server holds
    serves: NDArray[np.int64]  # (L,) the type that the server serves
    drains: NDArray[np.bool_]  # (L,) whether it starts nothing until it is empty, to change then


class Quickswap(NamedTuple):
    """Serve one type of size at a time on each server.

    threshold  jobs in service ℓ, at most one less than fit. -1 is one less than fit, 0 is Most Servers First
    types      number of types: the distinct sizes of the law or table if there are at most this many, else cells of equal
               probability. A server takes as many jobs of a type as fit at the largest size of the type

    A server starts jobs of its type, oldest first. With at most ℓ jobs in service after that, and jobs of another type waiting,
    it starts nothing until it is empty, or until no other type waits. Then it serves the next smaller type with waiting jobs.
    After the smallest it serves the largest, and may drain immediately. The first type is the largest. Several resources are
    packed by scalar size.

    With one server and geometric service, every workload of "one or all" below ρ* is supported (Theorem 1 of the source, for any
    ℓ). Raises InputError for a threshold below -1, for less than 1 type, and for more than 32.
    """

    threshold: int = -1
    types: int = 16

    def needs(self, setting: Setting) -> Needs:
        return Needs(orders=BY_TYPE | BY_LINE, types=self._types(setting))

    def initial_state(self, setting: Setting, seed: int) -> ServerPhases:
        capacity = scalar_capacity(setting.capacity)
        servers = len(capacity)
        most = capacity[:, None] // self._types(setting)[None, :]
        return ServerPhases(most, np.zeros(servers, np.int64), np.zeros(servers, np.bool_))

    def guarantee(self, setting: Setting) -> float:
        """Return 1 for one server and two exclusive sizes, else 0."""
        if self.types < 2 or len(setting.capacity) > 1 or not in_model(setting, stall=False):
            return 0.0
        finite, capacity = distinct_sizes(setting.workload.demand_law, setting.workload.servers), int(setting.capacity[0, 0])
        sizes = [] if finite is None else finite[0].tolist()
        return float(len(sizes) == 2 and sum(sizes) > capacity and 2 * sizes[1] > capacity)

    def _types(self, setting: Setting) -> NDArray[np.int64]:
        """(types,) units, descending."""
        if self.threshold < -1:
            raise InputError(f"quickswap: threshold must be a number of jobs, or -1, not {self.threshold}")
        if not 1 <= self.types <= MOST_TYPES:
            raise InputError(f"quickswap: types must lie between 1 and {MOST_TYPES}, not {self.types}")
        return largest_of_cells(setting.workload.demand_law, setting.workload.servers, self.types)


@takes_over(Quickswap)
def take_over_quickswap(policy: Quickswap, cluster: Cluster, state: ServerPhases) -> None:
    """Drain servers with jobs: another policy placed these."""
    for server in range(server_count(cluster)):
        state.drains[server] = jobs_in(cluster, server) > 0


@schedules(Quickswap)
def schedule_quickswap(policy: Quickswap, cluster: Cluster, state: ServerPhases) -> None:
    for server in range(server_count(cluster)):
        if waiting(cluster) == 0:
            break
        serve(cluster, state, server, policy.threshold)


@compiled
def serve(c: Cluster, phases: ServerPhases, server: int, threshold: int) -> None:
    """Start jobs of the server's type, or change the type."""
    if not phases.drains[server]:
        start(c, phases, server)
        phases.drains[server] = has_few(c, phases, server, threshold)
    if phases.drains[server]:
        following = next_type(c, phases, server)
        if following == phases.serves[server] or jobs_in(c, server) == 0:
            phases.serves[server] = following
            start(c, phases, server)
            others = next_type(c, phases, server) != following
            phases.drains[server] = others and has_few(c, phases, server, threshold)


@compiled
def has_few(c: Cluster, phases: ServerPhases, server: int, threshold: int) -> bool:
    """Whether at most ℓ jobs are in service."""
    most = phases.most[server, phases.serves[server]]
    return jobs_in(c, server) <= max(most - 1 if threshold < 0 else min(threshold, most - 1), 0)


@compiled
def start(c: Cluster, phases: ServerPhases, server: int) -> None:
    """Start waiting jobs of the server's type, oldest first, while they fit."""
    served, kind = phases.serves[server], kind_of(c, server)
    task = head_of_line(c, kind, served)
    while task != NONE and jobs_in(c, server) < phases.most[server, served] and fits(c, task, server):
        place(c, task, server)
        task = head_of_line(c, kind, served)


@compiled
def next_type(c: Cluster, phases: ServerPhases, server: int) -> int:
    """Return the next type with waiting jobs, or the server's own."""
    types, served = phases.most.shape[1], phases.serves[server]
    for step in range(1, types):
        following = (served + step) % types
        if queue_length(c, kind_of(c, server), following) > 0:
            return following
    return served
