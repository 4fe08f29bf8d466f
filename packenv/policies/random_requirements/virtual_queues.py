"""Scheduling by virtual queues: VQS and VQS-BF.

Source: Psychas & Ghaderi, arXiv 1901.05998, §V-VI; PAPERS §1.3-1.5. Both support at least two thirds of the maximum workload for
geometric service and sizes >= 2^-J (Theorems 3, 4). If a share ε of the sizes is below 2^-J, VQS-BF supports at least (1 - ε)·⅔.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from packenv.cluster import (
    BY_INDEX,
    BY_LINE,
    BY_MIX,
    BY_QUEUE,
    BY_SIZE,
    BY_TYPE,
    NONE,
    Cluster,
    Needs,
    close,
    fill,
    heaviest,
    is_closed,
    jobs_in,
    kind_of,
    next_with_room,
    now,
    room_of,
    server_count,
    waiting,
    wake_at,
    weight,
)
from packenv.cluster.servers import kind_levels, scalar_capacity, server_kinds
from packenv.cluster.virtual_queues import (
    AS_MANY_AS_FIT,
    MOST_LEVELS,
    Levels,
    adapt,
    first_levels,
    serve_in_line,
    serve_largest,
    serve_reserved,
)
from packenv.compiled.decorators import compiled
from packenv.errors import InputError
from packenv.policies.random_requirements.stalling import in_model, share_below
from packenv.policy import Setting, name_of, schedules, takes_over


class VirtualQueues(NamedTuple):
    """Active configurations of L servers, and the levels J."""

    ones: NDArray[np.int64]  # (L,) active configuration of each server: k_1, number of type-1 jobs
    type: NDArray[np.int64]  # (L,) its other type j; NONE before the first renewal
    number: NDArray[np.int64]  # (L,) k_j, number of jobs of type j
    reserved: NDArray[np.int64]  # (L,) VQS: units held by the type-1 job in the reserved part of the server
    levels: Levels

    def active_configuration(self, server: int, types: int) -> NDArray[np.int64] | None:
        """Return the server's jobs by type, (types,), or None at first."""
        if self.type[server] == NONE:
            return None
        counts = np.zeros(types, np.int64)
        counts[1] = self.ones[server]
        counts[self.type[server]] = self.number[server]
        return counts


def _levels(policy: VQS | VQSBestFit, setting: Setting) -> int:
    if policy.adaptive:
        return 2
    if policy.J and not 2 <= policy.J <= MOST_LEVELS:
        raise InputError(f"{name_of(policy)}: J must lie between 2 and {MOST_LEVELS}, not {policy.J}")
    return policy.J or setting.levels


def _queue(policy: VQS | VQSBestFit) -> int:
    """Return the order of new types after a change of J."""
    return BY_QUEUE if policy.adaptive else 0


def _initial_state(policy: VQS | VQSBestFit, setting: Setting) -> VirtualQueues:
    nothing = np.full(len(setting.capacity), NONE, np.int64)
    return VirtualQueues(
        np.zeros_like(nothing),
        nothing,
        np.zeros_like(nothing),
        np.zeros_like(nothing),
        first_levels(_levels(policy, setting), policy.check),
    )


def _guarantee(policy: VQS | VQSBestFit, setting: Setting) -> float:
    if policy.adaptive or not in_model(setting, policy.stall):
        return 0.0
    smallest = int(setting.capacity.max()) >> _levels(policy, setting)
    return (1 - share_below(setting, smallest)) * 2 / 3


@compiled
def renew(cluster: Cluster, state: VirtualQueues, server: int) -> None:
    """Give an empty server the heaviest reduced configuration (eq. 8)."""
    if jobs_in(cluster, server) == 0:
        state.ones[server], state.type[server], state.number[server] = heaviest(cluster, kind_of(cluster, server))


@compiled
def stall_light(cluster: Cluster, state: VirtualQueues) -> None:
    """Stall servers with less than half of the largest weight."""
    for server in range(server_count(cluster)):
        if jobs_in(cluster, server) > 0 and not is_closed(cluster, server):
            kind = kind_of(cluster, server)
            active = 0
            if state.type[server] != NONE:
                active = weight(cluster, kind, state.ones[server], state.type[server], state.number[server])
            ones, j, count = heaviest(cluster, kind)
            if 2 * active < weight(cluster, kind, ones, j, count):
                close(cluster, server)


class VQS(NamedTuple):
    """Give each empty server a configuration, and serve only its virtual queues.

    This is VQS of §V. A server keeps its configuration until it is empty.
    `J` = 0 is the smallest J >= 2 with F(2^-J) <= 0.01, where F is the distribution of sizes. With `adaptive`, J is
    estimated from the sizes seen so far, after `check` tasks and whenever their number has doubled.
    """

    J: int = 0
    adaptive: bool = False
    stall: bool = False
    check: int = 256

    def needs(self, setting: Setting) -> Needs:
        levels = _levels(self, setting)
        scalar = scalar_capacity(setting.capacity)
        kind, capacity = server_kinds(scalar)
        least = capacity >> np.array(kind_levels(levels, capacity))
        return Needs(
            orders=BY_TYPE | BY_LINE | BY_MIX | _queue(self),
            levels=levels,
            most_levels=MOST_LEVELS if self.adaptive else 0,
            least=least[kind],
        )

    def initial_state(self, setting: Setting, seed: int) -> VirtualQueues:
        return _initial_state(self, setting)

    def guarantee(self, setting: Setting) -> float:
        """Return (1 − ε)·⅔, ε the share of sizes ≤ 2^-J (Theorem 3), or 0."""
        return _guarantee(self, setting)


@schedules(VQS)
def schedule_vqs(policy: VQS, cluster: Cluster, state: VirtualQueues) -> None:
    if policy.adaptive:
        adapt(cluster, state.levels, True)
    before = waiting(cluster)
    if before > 0:
        for server in range(server_count(cluster)):
            if not is_closed(cluster, server):
                renew(cluster, state, server)
                j = state.type[server]
                if j != NONE:  # a type-1 job goes into the reserved two thirds, then heads of line of VQ_j
                    room = serve_reserved(cluster, server, state.reserved) if state.ones[server] else room_of(cluster, server)
                    serve_in_line(cluster, server, j, room, AS_MANY_AS_FIT)
    if 0 < waiting(cluster) < before:  # a new head of line may fit on a server that was served before in this pass
        wake_at(cluster, now(cluster) + 1)
    if policy.stall and waiting(cluster) > 0:
        stall_light(cluster, state)


class VQSBestFit(NamedTuple):
    """Serve a configuration's queues, then fill the server by best fit.

    This is VQS-BF of §VI. The largest task of each virtual queue goes first. Best fit takes from the whole queue. `J` as in VQS.
    """

    J: int = 0
    adaptive: bool = False
    stall: bool = False
    check: int = 256

    def needs(self, setting: Setting) -> Needs:
        orders = BY_TYPE | BY_MIX | BY_SIZE | BY_INDEX | _queue(self)
        return Needs(orders=orders, levels=_levels(self, setting), most_levels=MOST_LEVELS if self.adaptive else 0)

    def initial_state(self, setting: Setting, seed: int) -> VirtualQueues:
        return _initial_state(self, setting)

    def guarantee(self, setting: Setting) -> float:
        """Return (1 − ε)·⅔, ε the share of sizes ≤ 2^-J (Theorem 4), or 0."""
        return _guarantee(self, setting)


@schedules(VQSBestFit)
def schedule_vqs_bf(policy: VQSBestFit, cluster: Cluster, state: VirtualQueues) -> None:
    if policy.adaptive:
        adapt(cluster, state.levels, False)
    server = next_with_room(cluster, 0)
    while server != NONE:
        renew(cluster, state, server)
        serve_best(cluster, state, server)
        server = next_with_room(cluster, server + 1)
    if policy.stall and waiting(cluster) > 0:
        stall_light(cluster, state)


@compiled
def serve_best(cluster: Cluster, state: VirtualQueues, server: int) -> None:
    """Start a configuration's largest tasks of each type, then best fit (VQS-BF)."""
    j = state.type[server]
    if j != NONE:
        serve_largest(cluster, server, 1, state.ones[server])
        serve_largest(cluster, server, j, state.number[server])
    fill(cluster, server)


@takes_over(VQS)
@takes_over(VQSBestFit)
def forget_configurations(policy: VQS | VQSBestFit, cluster: Cluster, state: VirtualQueues) -> None:
    """Clear configurations of servers with another policy's jobs, until empty."""
    for server in range(server_count(cluster)):
        if jobs_in(cluster, server) > 0:
            state.ones[server], state.type[server], state.number[server] = 0, NONE, 0
            state.reserved[server] = 0
