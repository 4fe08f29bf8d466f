"""Placing pods on GPUs, slowly and obviously (PAPERS §7): fragmentation, six scores, and a run in which nothing leaves."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import NamedTuple


class Pod(NamedTuple):
    cpu: int
    memory: int
    milli: int  # of each device; 0: none
    count: int
    kinds: frozenset[str]

    @property
    def whole(self) -> bool:
        return self.milli == 1000

    @property
    def needs(self) -> int:
        return self.milli * self.count

    @property
    def kind_of_pod(self) -> str | int | None:
        return None if self.milli == 0 else self.count if self.whole else "share"


@dataclass
class Node:
    cpu: int
    memory: int
    left: list[int]
    kind: str
    pods: list[Pod] = field(default_factory=list)

    def has_devices_for(self, pod: Pod) -> bool:
        if pod.milli == 0:
            return True
        return self.kind in pod.kinds and sum(left >= pod.milli for left in self.left) >= pod.count

    def holds(self, pod: Pod) -> bool:
        return self.cpu >= pod.cpu and self.memory >= pod.memory and self.has_devices_for(pod)

    def with_pod(self, pod: Pod, device: int | None) -> Node:
        left = list(self.left)
        if pod.whole:
            for d in [d for d, amount in enumerate(left) if amount == 1000][: pod.count]:
                left[d] = 0
        elif pod.milli:
            assert device is not None and left[device] >= pod.milli
            left[device] -= pod.milli
        return Node(self.cpu - pod.cpu, self.memory - pod.memory, left, self.kind, [*self.pods, pod])


Shapes = list[tuple[Pod, int]]
"""Shapes, memory apart, and how many pods have each."""


def reason(node: Node, shape: Pod) -> str:
    cpu = node.cpu >= shape.cpu
    if shape.milli == 0:
        return "no GPU needed, satisfied" if cpu else "no GPU needed, lacks cpu"
    if node.kind not in shape.kinds:
        return "kind not accepted"
    if node.has_devices_for(shape):
        return "satisfied" if cpu else "lacks cpu"
    return "lacks GPU" if cpu else "lacks cpu and GPU"


def stranded(node: Node, shape: Pod) -> int:
    if reason(node, shape) == "satisfied":
        return sum(left for left in node.left if left < shape.milli)
    return sum(node.left)


def fragmentation(node: Node, shapes: Shapes, beside: float = 1) -> float:
    """Times the number of pods."""
    weight = {"satisfied": beside}
    return sum(number * stranded(node, shape) * weight.get(reason(node, shape), 1) for shape, number in shapes)


def score(
    policy: str, node: Node, pod: Pod, device: int | None, shapes: Shapes, most_cpu: int, most_milli: int, beside: float = 1
) -> float:
    """On a node that holds the pod, with its share on `device`."""
    if policy == "fgd":
        less = fragmentation(node, shapes, beside) - fragmentation(node.with_pod(pod, device), shapes, beside)
        return 100 / (1 + math.exp(-less / (1000 * sum(number for _, number in shapes))))
    milli = sum(node.left)
    if policy == "best-fit":
        return (1 - 0.5 * ((node.cpu - pod.cpu) / most_cpu) - 0.5 * ((milli - pod.needs) / most_milli)) * 100
    if policy == "dot-product":
        return 100 * (1 - (node.cpu / most_cpu * (pod.cpu / most_cpu) + milli / most_milli * (pod.needs / most_milli)) / 2)
    if pod.milli == 0:
        return 0
    if policy == "gpu-packing":
        free = node.left.count(1000)
        if free == len(node.left):
            return max(33 - free, free)
        if pod.whole or node.left[device or 0] == 1000:
            return max(50 - pod.count, 33)
        return max(100 - node.left[device or 0] // 10 // 10, 50)
    assert policy == "gpu-clustering"
    there = {other.kind_of_pod for other in node.pods if other.milli}
    base = (75 if len(there) == 1 else 50) if pod.kind_of_pod in there else (0 if there else 25)
    return base + 25 * (most_milli - milli) // most_milli


def tightest(node: Node, pod: Pod) -> int | None:
    if pod.milli == 0 or pod.whole:
        return None
    return min((d for d, left in enumerate(node.left) if left >= pod.milli), key=lambda d: (node.left[d], d))


def scored(
    policy: str, node: Node, pod: Pod, shapes: Shapes, most: tuple[int, int], exact: bool, beside: float
) -> tuple[float, int | None]:
    """The score of a node, and the device for a share."""
    devices = [tightest(node, pod)]
    if policy == "fgd" and pod.milli and not pod.whole:
        devices = [d for d, left in enumerate(node.left) if left >= pod.milli]
    best: tuple[float, int | None] = (-1, None)
    for device in devices:
        value = score(policy, node, pod, device, shapes, *most, beside)
        value = value if exact else math.floor(value)
        if value > best[0]:
            best = value, device
    return best


def run(nodes: list[Node], pods: list[Pod], shapes: Shapes, policy: str, ties: str, order: list[int], beside: float) -> list[int]:
    """The node of each pod, −1 for those turned away. `order`: of the nodes, in which ties are broken."""
    most = max(node.cpu for node in nodes), 1000 * max(len(node.left) for node in nodes)
    chosen = []
    for pod in pods:
        able = [n for n in order if nodes[n].holds(pod)]
        if not able:
            chosen.append(-1)
            continue
        scores = {n: scored(policy, nodes[n], pod, shapes, most, ties == "exact", beside) for n in able}
        best = [n for n in able if scores[n][0] == max(value for value, _ in scores.values())]
        if ties == "best-fit":
            fits = {n: score("best-fit", nodes[n], pod, None, shapes, *most) for n in best}
            best = [n for n in best if fits[n] == max(fits.values())]
        chosen.append(best[0])
        nodes[best[0]] = nodes[best[0]].with_pod(pod, scores[best[0]][1])
    return chosen
