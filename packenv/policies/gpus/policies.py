"""Six policies for servers with devices (PAPERS §7).

The oldest task that fits anywhere goes to the server with the best score. Tasks that fit nowhere are skipped. The queue is in
the order of arrival. A policy chooses the server, and the device for a share. `ties` names the rule for equal scores:
`scores.TIES`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np

from packenv.cluster import (
    BY_DEMAND,
    NONE,
    Cluster,
    Needs,
    first_of_group,
    freed_count,
    freed_server,
    group_count,
    place,
    row_of,
)
from packenv.compiled.decorators import compiled
from packenv.compiled.frame import Frame
from packenv.errors import InputError, nearest
from packenv.experimental import experimental
from packenv.jobs import HOW_MANY, WHOLE
from packenv.policies.gpus.fragmentation import WHOLE as MILLI
from packenv.policies.gpus.fragmentation import Ints, cpu_of, frequent_shapes, kind_bits, needs_of_devices
from packenv.policies.gpus.ranking import NOT_HERE, GpuRanking, GpuRequests, choose, device_for, note_change, ranking, score_now
from packenv.policies.gpus.scores import BEST_FIT, CLUSTERING, DOT_PRODUCT, FGD, PACKING, RANDOM, TIES
from packenv.policy import Setting, completes, schedules


class ByScore(NamedTuple):
    """Parameters of the compiled rule: none. The ranking has the scores."""


class Placing(Frame):
    """State of a policy: n rows of the table, N requests."""

    ranking: GpuRanking
    requests: Ints  # (n,) which of the N different requests each row has
    stuck: Ints  # (N,) 1: no server has had room since the last completion


@schedules(ByScore)
def schedule_by_score(policy: ByScore, cluster: Cluster, state: Placing) -> None:
    for n in range(freed_count(cluster)):
        look_again(cluster, state, freed_server(cluster, n))
    task = oldest_not_stuck(cluster, state)
    while task != NONE:
        request = state.requests[row_of(cluster, task)]
        server = choose(state.ranking, request, cluster.free, cluster.devices.left, cluster.e)
        if server == NONE:
            state.stuck[request] = 1
        else:
            device = device_for(state.ranking, request, server, cluster.devices.left, cluster.e)
            place(cluster, task, server, 0, 0 if device == NONE else 1 << device)
            note_change(state.ranking, request, server, 1)
        task = oldest_not_stuck(cluster, state)


@completes(ByScore)
def complete_by_score(policy: ByScore, cluster: Cluster, state: Placing, task: int) -> None:
    row = row_of(cluster, task)
    if row >= 0:
        note_change(state.ranking, state.requests[row], cluster.task[cluster.e, task].server, -1)


@compiled
def look_again(c: Cluster, state: Placing, server: int) -> None:
    """Find the requests that fit now on a server with more room."""
    state.ranking.changes[server] += 1
    for request in range(len(state.stuck)):
        if state.stuck[request] and score_now(state.ranking, request, server, c.free, c.devices.left, c.e) != NOT_HERE:
            state.stuck[request] = 0


@compiled
def oldest_not_stuck(c: Cluster, state: Placing) -> int:
    oldest = NONE
    for n in range(group_count(c)):
        task = first_of_group(c, n)
        if state.stuck[state.requests[row_of(c, task)]] == 0 and (oldest == NONE or row_of(c, task) < row_of(c, oldest)):
            oldest = task
    return oldest


Policy = TypeVar("Policy", bound=type)


def by_score(score: int) -> Callable[[Policy], Policy]:
    """Give a class the parts that all six policies share."""

    def with_score(kind: Policy) -> Policy:
        shared: Any = kind
        shared.rule = ByScore()
        shared.needs = lambda self, setting: needs(setting, getattr(self, "ties", TIES[0]))
        shared.initial_state = lambda self, setting, seed: placing(
            setting, score, getattr(self, "ties", TIES[0]), seed, getattr(self, "beside", 1.0)
        )
        return experimental(kind)

    return with_score


def needs(setting: Setting, ties: str) -> Needs:
    if ties not in TIES:
        raise InputError(f"unknown rule for ties {ties!r}: {', '.join(TIES)}{nearest(ties, list(TIES))}")
    devices = setting.workload.servers.devices
    if devices is None:
        raise InputError(f"workload {setting.workload.name} has no devices, among which these policies choose: bf-js takes any")
    if (devices[devices[:, HOW_MANY] > 0, WHOLE] != MILLI).any():
        raise InputError(f"policies that score devices take them to have a capacity of {MILLI} each")
    return Needs(orders=BY_DEMAND, vectors=True, table=True, devices=True, rejects=True)


def placing(setting: Setting, score: int, ties: str, seed: int, beside: float = 1.0) -> Placing:
    jobs, servers = setting.table, setting.workload.servers
    assert jobs.devices is not None and servers.devices is not None
    cpu, (milli, number, kinds) = cpu_of(setting.workload), needs_of_devices(jobs)
    distinct, of = np.unique(np.column_stack([jobs.demand, milli, number, kinds]), axis=0, return_inverse=True)
    demand, rest = np.ascontiguousarray(distinct[:, :-3]), [np.ascontiguousarray(column) for column in distinct[:, -3:].T]
    requests = GpuRequests(demand=demand, share=rest[0], count=rest[1], kinds=rest[2])
    shapes, devices = frequent_shapes(jobs.demand[:, cpu], milli, number, kinds), servers.devices
    of_servers = ranking(
        score, TIES.index(ties), requests, shapes, setting.capacity, cpu, devices[:, HOW_MANY], kind_bits(devices), seed, beside
    )
    return Placing(ranking=of_servers, requests=of.ravel().astype(np.int64), stuck=np.zeros(len(distinct), np.int64))


@by_score(FGD)
class Fgd(NamedTuple):
    """Waste the least idle GPU room for usual tasks.

    Source: FGD, Weng et al., USENIX ATC 2023.

    beside  weight of idle room on devices next to a task that fits: 1 as published. 0.1 with `ties=exact` allocates more if
            nothing leaves, but tasks wait far longer if they do. Both hold in exact arithmetic, not in floating point
    """

    ties: str = "order"
    beside: float = 1.0


@by_score(BEST_FIT)
class GpuBestFit(NamedTuple):
    """Leave the least cpu and GPU room on the server."""

    ties: str = "order"


@by_score(DOT_PRODUCT)
class DotProduct(NamedTuple):
    """Choose the smallest alignment of demands and free room."""

    ties: str = "order"


@by_score(PACKING)
class GpuPacking(NamedTuple):
    """Prefer devices in use, then servers in use."""

    ties: str = "order"


@by_score(CLUSTERING)
class GpuClustering(NamedTuple):
    """Prefer servers with tasks of the same class.

    A class is tasks with a share of a device, or with the same number of whole devices.
    """

    ties: str = "order"


@by_score(RANDOM)
class RandomServer(NamedTuple):
    """Choose a random server and device with room, for each task."""
