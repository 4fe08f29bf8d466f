"""Scores of all servers for all requests, kept until they change."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from packenv.compiled.decorators import compiled
from packenv.compiled.frame import Frame
from packenv.policies.gpus.fragmentation import WHOLE, Ints, TaskShapes, fragmentation, idle_of
from packenv.policies.gpus.scores import (
    AT_RANDOM,
    BEST_FIT,
    BY_BEST_FIT,
    BY_FILE,
    CLASSES,
    CLUSTERING,
    DOT_PRODUCT,
    EXACT,
    FGD,
    PACKING,
    RANDOM,
    accepts,
    best_fit_score,
    class_of,
    clustering_score,
    dot_product_score,
    fgd_after,
    fgd_device,
    packing_score,
    take,
    tightest_device,
)
from packenv.workloads.sampling import uniform, word_at

Words = NDArray[np.uint64]
NOT_HERE = -1.0  # the score of a server that has no room


class GpuRequests(Frame):
    """N different requests of tasks: D resources, and devices."""

    demand: Ints  # (N, D)
    share: Ints  # (N,) milli of each device
    count: Ints  # (N,) devices
    kinds: Ints  # (N,) bit mask


class GpuRanking(Frame):
    """L servers, N requests, at most M devices a server."""

    score: int  # number in SCORES
    ties: int  # number in TIES
    requests: GpuRequests
    shapes: TaskShapes  # of which F is taken
    beside: NDArray[np.float64]  # (1,) weight of what is idle beside a shape that is satisfied
    cpu: int  # number of the resource
    devices: Ints  # (L,)
    kind: Ints  # (L,) bit
    order: Ints  # (L,) the servers, in the order in which ties are broken
    value: NDArray[np.float64]  # (N, L) scores, NOT_HERE
    device: NDArray[np.int8]  # (N, L) the device that a share is to have
    known: Ints  # (N, L) the change of the server up to which its score is known
    changes: Ints  # (L,) how often a server has changed, from 1
    before: NDArray[np.float64]  # (L,) F
    before_known: Ints  # (L,) as `known`
    held: Ints  # (L, CLASSES) tasks of each class on each server
    left: Ints  # (M,) of one server
    most_cpu: int  # of the largest server
    most_idle: int  # milli
    key: Words  # (1,) of the random choices
    draws: Ints  # (1,) random numbers drawn


def ranking(
    score: int,
    ties: int,
    requests: GpuRequests,
    shapes: TaskShapes,
    capacity: Ints,
    cpu: int,
    devices: Ints,
    kind: Ints,
    seed: int,
    beside: float = 1.0,
) -> GpuRanking:
    """Return the ranking before any task has started.

    `capacity` (L, D), `devices` and `kind` (L,) of the servers. `cpu`: index of the resource that scores use as cpu. `seed`: of
    the order and of random choices.
    """
    rng = np.random.default_rng([seed, 62])
    servers, number = len(capacity), len(requests.share)
    in_file = np.arange(servers)
    order = in_file if ties == BY_FILE else rng.permutation(servers)
    return GpuRanking(
        score=score,
        ties=AT_RANDOM if score == RANDOM else ties,
        requests=requests,
        shapes=shapes,
        beside=np.array([beside]),
        cpu=cpu,
        devices=devices.astype(np.int64),
        kind=kind.astype(np.int64),
        order=order.astype(np.int64),
        value=np.zeros((number, servers)),
        device=np.zeros((number, servers), np.int8),
        known=np.zeros((number, servers), np.int64),
        changes=np.ones(servers, np.int64),
        before=np.zeros(servers),
        before_known=np.zeros(servers, np.int64),
        held=np.zeros((servers, CLASSES), np.int64),
        left=np.zeros(max(1, int(devices.max(initial=0))), np.int64),
        most_cpu=max(1, int(capacity[:, cpu].max())),
        most_idle=max(1, WHOLE * int(devices.max(initial=0))),
        key=rng.integers(0, 2**64, 1, np.uint64),
        draws=np.zeros(1, np.int64),
    )


@compiled
def choose(r: GpuRanking, request: int, free: Any, left: Any, e: int) -> int:
    """Return the server for a request, or −1.

    `free` (B, L, D) and `left` (B, L, M) of cluster `e`.
    """
    best, server, equal, tightest = NOT_HERE, -1, 0, 0.0
    for n in range(len(r.order)):
        s = r.order[n]
        value = score_now(r, request, s, free, left, e)
        if value > best:
            best, server, equal = value, s, 1
            if r.ties == BY_BEST_FIT:
                tightest = fit_of(r, request, s, free, left, e)
        elif value == best and best != NOT_HERE:
            equal += 1
            if r.ties == BY_BEST_FIT:
                fit = fit_of(r, request, s, free, left, e)
                if fit > tightest:
                    tightest, server = fit, s
    if r.ties == AT_RANDOM and equal > 1:
        server = one_of(r, request, best, int(next_uniform(r) * equal))
    return server


@compiled
def score_now(r: GpuRanking, request: int, server: int, free: Any, left: Any, e: int) -> float:
    """Return a server's score, renewed if it changed. NOT_HERE without room."""
    if r.known[request, server] != r.changes[server]:
        r.value[request, server] = score_of(r, request, server, free, left, e)
        r.known[request, server] = r.changes[server]
    return r.value[request, server]


@compiled
def one_of(r: GpuRanking, request: int, best: float, chosen: int) -> int:
    """Return number `chosen` of the servers with the best score."""
    for n in range(len(r.order)):
        s = r.order[n]
        if r.value[request, s] == best:
            if chosen == 0:
                return s
            chosen -= 1
    return -1


@compiled
def next_uniform(r: GpuRanking) -> float:
    r.draws[0] += 1
    return uniform(word_at(r.key[0], r.draws[0]))


@compiled
def load(r: GpuRanking, server: int, left: Any, e: int) -> None:
    """Copy the rest of a server's devices, to try a task there."""
    for d in range(r.devices[server]):
        r.left[d] = left[e, server, d]


@compiled
def fit_of(r: GpuRanking, request: int, server: int, free: Any, left: Any, e: int) -> float:
    """Return the exact score of best fit."""
    load(r, server, left, e)
    milli = r.requests.share[request] * r.requests.count[request]
    idle = idle_of(r.left, r.devices[server])
    return best_fit_score(free[e, server, r.cpu], idle, r.requests.demand[request, r.cpu], milli, r.most_cpu, r.most_idle)


@compiled
def score_of(r: GpuRanking, request: int, server: int, free: Any, left: Any, e: int) -> float:
    """Return a server's score and set `device`. NOT_HERE without room."""
    for d in range(r.requests.demand.shape[1]):
        if r.requests.demand[request, d] > free[e, server, d]:
            return NOT_HERE
    load(r, server, left, e)
    devices, kind, share, count = r.devices[server], r.kind[server], r.requests.share[request], r.requests.count[request]
    if not accepts(r.left, devices, kind, share, count, r.requests.kinds[request]):
        return NOT_HERE
    r.device[request, server] = tightest_device(r.left, devices, share) if 0 < share < WHOLE else 0
    cpu, needs_cpu, milli = free[e, server, r.cpu], r.requests.demand[request, r.cpu], share * count
    value = 0.0
    if r.score == FGD:
        value = fgd_of(r, request, server, cpu)
    elif r.score == BEST_FIT:
        value = best_fit_score(cpu, idle_of(r.left, devices), needs_cpu, milli, r.most_cpu, r.most_idle)
    elif r.score == DOT_PRODUCT:
        value = dot_product_score(cpu, idle_of(r.left, devices), needs_cpu, milli, r.most_cpu, r.most_idle)
    elif r.score == PACKING:
        value = packing_score(r.left, devices, share, count)
    elif r.score == CLUSTERING and share > 0:
        classes = 0
        for k in range(CLASSES):
            classes += r.held[server, k] > 0
        value = clustering_score(idle_of(r.left, devices), r.most_idle, r.held[server, class_of(share, count)], classes)
    return value if r.ties == EXACT else math.floor(value)


@compiled
def fgd_of(r: GpuRanking, request: int, server: int, cpu: int) -> float:
    devices, kind, share, count = r.devices[server], r.kind[server], r.requests.share[request], r.requests.count[request]
    if r.before_known[server] != r.changes[server]:
        r.before[server] = fragmentation(r.shapes, cpu, r.left, devices, kind, r.beside[0])
        r.before_known[server] = r.changes[server]
    before, cpu_after, beside = r.before[server], cpu - r.requests.demand[request, r.cpu], r.beside[0]
    if 0 < share < WHOLE:
        value, r.device[request, server] = fgd_device(
            r.shapes, before, cpu_after, r.left, devices, kind, beside, share, r.ties == EXACT
        )
        return value
    take(r.left, devices, share, count, -1)
    return fgd_after(r.shapes, before, cpu_after, r.left, devices, kind, beside)


@compiled
def device_for(r: GpuRanking, request: int, server: int, left: Any, e: int) -> int:
    """Return the chosen server's device for a share, else −1."""
    share = r.requests.share[request]
    if not 0 < share < WHOLE:
        return -1
    if r.score != RANDOM:
        return int(r.device[request, server])
    with_room = 0
    for d in range(r.devices[server]):
        with_room += left[e, server, d] >= share
    chosen = int(next_uniform(r) * with_room)
    for d in range(r.devices[server]):
        if left[e, server, d] >= share:
            if chosen == 0:
                return d
            chosen -= 1
    return -1


@compiled
def note_change(r: GpuRanking, request: int, server: int, tasks: int) -> None:
    """Count a task of this request that joined (1) or left (−1)."""
    r.changes[server] += 1
    k = class_of(r.requests.share[request], r.requests.count[request])
    if k >= 0:
        r.held[server, k] += tasks
