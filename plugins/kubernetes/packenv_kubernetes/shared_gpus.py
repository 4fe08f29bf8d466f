"""GPUs that pods share by memory, as in gpushare.

A node offers the memory of all its GPUs (aliyun.com/gpu-mem) and their number. A pod's amount is on a single GPU, in an
annotation by the scheduler. Source: github.com/AliyunContainerService/gpushare-scheduler-extender, docs/designs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from packenv.extend import MOST_DEVICES, NO_MODEL, WHOLE, InputError, parse_json
from packenv_kubernetes.objects import Node, Pod
from packenv_kubernetes.texts import counted, some

if TYPE_CHECKING:
    from packenv_kubernetes.cluster import Cluster
    from packenv_kubernetes.preemption import Begun

Ints = NDArray[np.int64]

GPU_MEM, GPU_COUNT = "aliyun.com/gpu-mem", "aliyun.com/gpu-count"
OF_ONE_GPU = ("nvidia.com/gpumem", "volcano.sh/vgpu-memory")
"""Resources of HAMi and Volcano on a single GPU too. Their nodes have no number of GPUs."""
ABOVE_HALF = f"{GPU_MEM} above half of a GPU of"
"""Prefix of resources that keep pods apart that cannot share a GPU."""


@dataclass(frozen=True, eq=False)
class SharedGpus:
    """The GPUs of L nodes, and the shares of running pods."""

    devices: Ints  # (L, 3) as `Servers.devices`
    taken: Ints  # (running,) as bits; 0: none
    unit: int  # subdivisions of a unit of memory, so that all amounts are whole
    guessed: tuple[str, ...] = ()  # running pods without an annotation
    homeless: tuple[str, ...] = ()  # running pods whose share has no room on the GPUs of their node

    def shares(self, pods: Sequence[Pod]) -> Ints:
        """Return the need of each pod for one GPU, (n,)."""
        return np.array([math.ceil(share_of(pod) * self.unit) for pod in pods], np.int64)

    def needs(self, pods: Sequence[Pod]) -> Ints:
        """Return these needs in the form of `Jobs.devices`, (n, 3)."""
        share = self.shares(pods)
        return np.stack([np.sign(share), share, np.zeros_like(share)], axis=1)

    def held(self, pods: Sequence[Pod]) -> Ints:
        """Return the running pods' shares as `InService.devices`, (running, 4)."""
        return np.column_stack([self.needs(pods) * (self.taken > 0)[:, None], self.taken])

    def left(self, pods: Sequence[Pod], node: Ints) -> list[list[int]]:
        """Return each GPU's rest, (L,), with pods on nodes (running,) or -1."""
        left = [[whole] * number for number, whole, _ in self.devices.tolist()]
        for share, bits, n in zip(self.shares(pods).tolist(), self.taken.tolist(), node.tolist(), strict=True):
            if bits and n >= 0:
                left[n][bits.bit_length() - 1] -= share
        return left

    def grown(self, template: int, memory: float, count: int, staying: Sequence[int]) -> SharedGpus:
        """Return the GPUs with `count` nodes of this memory, as the template's."""
        whole = int(self.devices[template, WHOLE]) or int(self.devices[:, WHOLE].max())
        number = min(int(memory * self.unit / whole + 1e-6), MOST_DEVICES)
        row = np.array([[number, whole if number else 0, NO_MODEL]])
        taken = np.concatenate([self.taken, np.tile(self.taken[[*staying]], count)])
        return replace(self, devices=np.concatenate([self.devices, np.tile(row, (count, 1))]), taken=taken)

    def only(self, nodes: NDArray[np.bool_]) -> SharedGpus:
        """Return the GPUs of only these nodes (L,)."""
        return replace(self, devices=self.devices[nodes])

    def lines(self) -> list[str]:
        """Return lines on assumptions about running pods."""
        said = f"{GPU_MEM} of {{}} ({{}})"
        guessed = f"{said}: no annotation names its GPU; tight packing is assumed"
        homeless = f"not modelled: {said}: no GPU of their node has room: only the node's total amount counts"
        pairs = ((guessed, self.guessed), (homeless, self.homeless))
        return [line.format(counted(len(names), "running pod"), some(names)) for line, names in pairs if names]

    def begin(self, cluster: Cluster, begun: Sequence[Begun]) -> tuple[list[Begun], dict[int, int], list[str]]:
        """Return starting pods with room, whole gangs, GPU bits, and a line."""
        gone = [v for start in begun for v in start.victims]
        left = self.left(cluster.running, np.where(np.isin(np.arange(len(cluster.running)), gone), -1, cluster.node))
        pods = [cluster.waiting[start.pod] for start in begun]
        taken: dict[int, int] = {}
        refused: set[str] = set()
        for start, pod, share in zip(begun, pods, self.shares(pods).tolist(), strict=True):
            able = [d for d, room in enumerate(left[start.node]) if room >= share > 0]
            if share and not able:
                refused.add(pod.gang_name if pod.gang else pod.name)
            elif share:
                device = min(able, key=lambda d: left[start.node][d])
                left[start.node][device] -= share
                taken[start.pod] = 1 << device
        kept = [start for start, pod in zip(begun, pods, strict=True) if (pod.gang_name if pod.gang else pod.name) not in refused]
        names = [pod.name for start, pod in zip(begun, pods, strict=True) if start not in kept]
        line = "not modelled: {} would start now by amounts, but no GPU of that node has room: taken to wait with the others"
        return kept, taken, [line.format(some(names))] if names else []


def shared_gpus(nodes: Sequence[Node], running: Sequence[Pod], node: Ints, waiting: Sequence[Pod]) -> SharedGpus | None:
    """Return the GPUs of the nodes, and shares of running pods (running,).

    Pods without an annotation are placed largest first, on the tightest GPU with room. None if no pod has a share.
    """
    gpus = [gpus_of(each) for each in nodes]
    asks = [share_of(pod) for pod in (*running, *waiting)]
    if not any(asks) or not any(size for _, size in gpus):
        return None
    unit = math.lcm(*(amount.denominator for amount in (*asks, *(size for _, size in gpus))))
    devices = np.array([(count, int(size * unit), NO_MODEL) for count, size in gpus], np.int64)
    share, said = [int(share_of(pod) * unit) for pod in running], [index_of(pod) for pod in running]
    left = [[int(size * unit)] * count for count, size in gpus]
    taken, guessed, homeless = np.zeros(len(running), np.int64), list[int](), list[int]()
    for n in sorted(np.flatnonzero(share).tolist(), key=lambda n: (said[n] is None, -share[n], n)):
        of_node = left[node[n]]
        able = [d for d, room in enumerate(of_node) if (room >= share[n] if said[n] is None else d == said[n])]
        if not able:
            homeless.append(n)
            continue
        device = min(able, key=lambda d: of_node[d])
        of_node[device] -= share[n]
        taken[n] = 1 << device
        guessed += [n] if said[n] is None and len(of_node) > 1 else []
    names = (tuple(running[n].name for n in sorted(numbers)) for numbers in (guessed, homeless))
    return SharedGpus(devices, taken, unit, *names)


def with_whole_gpus(nodes: list[Node], pods: list[Pod]) -> tuple[list[Node], list[Pod]]:
    """Add a resource for each size of GPU to nodes and pods.

    It keeps pods with more than half a GPU apart, where only amounts count: fit, preemption, and bounds. A node has its number
    of GPUs of that size, or enough if its GPUs have another size. A pod takes one if it needs more than half a GPU, more than
    any node has if it needs more than a whole one, otherwise none.
    """
    for size in sorted({gpus_of(node)[1] for node in nodes} - {0}):
        need = [share_of(pod) / size for pod in pods]
        if sum(share > Fraction(1, 2) for share in need) < 2 and max(need, default=0) <= 1:
            continue
        counts = [Fraction(count) if own == size else None for count, own in map(gpus_of, nodes)]
        over = max(count for count in counts if count is not None) + 1
        takes = [over if share > 1 else Fraction(share > Fraction(1, 2)) for share in need]
        name, enough = f"{ABOVE_HALF} {float(size):g}", sum(takes, Fraction(0))
        offers = [{name: enough if count is None else count} for count in counts]
        nodes = [node._replace(offers=node.offers | offer) for node, offer in zip(nodes, offers, strict=True)]
        pods = [pod._replace(asks=pod.asks | {name: take}) if take else pod for pod, take in zip(pods, takes, strict=True)]
    return nodes, pods


def share_of(pod: Pod) -> Fraction:
    """Return a pod's need for one GPU, 0 for several GPUs."""
    return Fraction(0) if GPU_COUNT in pod.asks else pod.asks.get(GPU_MEM, Fraction(0))


def gpus_of(node: Node) -> tuple[int, Fraction]:
    """Return a node's GPUs, 1 by default, and the memory of each."""
    memory, count = node.offers.get(GPU_MEM, Fraction(0)), min(int(node.offers.get(GPU_COUNT, 1)), MOST_DEVICES)
    return (count, memory / count) if memory and count > 0 else (0, Fraction(0))


def index_of(pod: Pod) -> int | None:
    """Return the GPU number in a pod's annotation, or None."""
    text = pod.gpu
    if text.startswith("{"):  # of each container the GPUs, and what it has of them
        try:
            containers = [gpus for gpus in parse_json(text).values() if isinstance(gpus, dict)]
        except InputError:
            return None
        text = next(iter({*chain(*containers)})) if len({*chain(*containers)}) == 1 else ""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 3 else None
