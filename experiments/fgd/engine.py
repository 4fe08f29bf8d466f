"""The published run in an engine of its own (PAPERS §7): nothing leaves, and a pod that fits nowhere is turned away."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from packenv.compiled.decorators import compiled
from packenv.compiled.frame import Frame
from packenv.policies.gpus.fragmentation import REASONS, WHOLE, Ints, TaskShapes, add_by_reason
from packenv.policies.gpus.ranking import GpuRanking, GpuRequests, choose, device_for, load, note_change, ranking

Floats = NDArray[np.float64]


class Nodes(NamedTuple):
    """L nodes."""

    free: Ints  # (L, 2) cpu, memory
    devices: Ints  # (L,)
    kind: Ints  # (L,) bit

    @property
    def capacity(self) -> int:
        """Milli of all devices."""
        return WHOLE * int(self.devices.sum())


class Play(Frame):
    """A run of n pods."""

    free: Ints  # (1, L, 2)
    left: Ints  # (1, L, M)
    pods: Ints  # (n,) the request of each pod, in the order in which they come
    node: Ints  # (n,) where each goes; −1: turned away
    allocated: Ints  # (n,) milli, after each
    amounts: Ints  # (n, 7) F of all nodes by reason, after each, in milli times `shapes.total`
    now: Ints  # (7,)


class Run(NamedTuple):
    """What a run did, after each of n pods."""

    node: Ints  # (n,) −1: turned away
    arrived: Ints  # (n,) milli
    allocated: Ints  # (n,) milli
    fragmented: Floats  # (n, 7) milli of all nodes, by reason


def play(
    nodes: Nodes, requests: GpuRequests, shapes: TaskShapes, pods: Ints, score: int, ties: int, seed: int, beside: float = 1.0
) -> Run:
    """Place `pods` (n,), given by their requests, one after the other."""
    servers, most = len(nodes.devices), int(nodes.devices.max())
    left = np.where(np.arange(most) < nodes.devices[:, None], WHOLE, 0)
    run = Play(
        free=nodes.free[None].copy(),
        left=left[None].astype(np.int64),
        pods=pods.astype(np.int64),
        node=np.full(len(pods), -1),
        allocated=np.zeros(len(pods), np.int64),
        amounts=np.zeros((len(pods), len(REASONS)), np.int64),
        now=np.zeros(len(REASONS), np.int64),
    )
    assert run.left.shape == (1, servers, most)
    go(ranking(score, ties, requests, shapes, nodes.free, 0, nodes.devices, nodes.kind, seed, beside), run)
    arrived = np.cumsum((requests.share * requests.count)[pods])
    return Run(run.node, arrived, run.allocated, run.amounts / shapes.total)


@compiled
def go(r: GpuRanking, run: Play) -> None:
    for s in range(len(r.order)):
        fragments(r, run, s, 1)
    allocated = 0
    for n in range(len(run.pods)):
        request = run.pods[n]
        s = choose(r, request, run.free, run.left, 0)
        run.node[n] = s
        if s >= 0:
            fragments(r, run, s, -1)
            start(r, run, request, s)
            fragments(r, run, s, 1)
            allocated += r.requests.share[request] * r.requests.count[request]
        run.allocated[n] = allocated
        for k in range(len(run.now)):
            run.amounts[n, k] = run.now[k]


@compiled
def start(r: GpuRanking, run: Play, request: int, s: int) -> None:
    """Let a pod join node `s`."""
    share, count, device = r.requests.share[request], r.requests.count[request], device_for(r, request, s, run.left, 0)
    for d in range(run.free.shape[2]):
        run.free[0, s, d] -= r.requests.demand[request, d]
    for d in range(r.devices[s]):
        if d == device or (device < 0 and share > 0 and count > 0 and run.left[0, s, d] == WHOLE):
            run.left[0, s, d] -= share
            count -= 1
    note_change(r, request, s, 1)


@compiled
def fragments(r: GpuRanking, run: Play, s: int, sign: int) -> None:
    """Add F of node `s`, times `sign`, to what is known of all."""
    load(r, s, run.left, 0)
    add_by_reason(r.shapes, run.free[0, s, r.cpu], r.left, r.devices[s], r.kind[s], sign, run.now)
