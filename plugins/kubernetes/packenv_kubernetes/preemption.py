"""The scheduler's next decisions: starts by priority, with preemption.

Pods are placed in queue order. One without a node preempts. Candidates are nodes with room for it without pods of lower
priority. The node with the fewest and least victims is chosen. Victims are first all pods of lower priority there. Then, in
order of priority and oldest first, each stays if the pod still fits. Nodes are compared by the highest priority among their
victims, the sum of priorities, the number, and the start of the oldest of the highest priority, of which the latest is best.
A pod without a start has not begun: it counts as the youngest. Sources:
kubernetes.io/docs/concepts/scheduling-eviction/pod-priority-preemption and the plugin DefaultPreemption of kube-scheduler.
PodDisruptionBudgets are not in the file.

Preemption counts on the pods placed before it, and its room is for waiting pods. So these start now too. The policy places the
other pods of the lowest priority.

A pod does not preempt again while pods that the scheduler preempted for it are ending on its nominated node. It starts there,
when pods being deleted have left enough room (podEligibleToPreemptOthers of kube-scheduler).

A gang starts now only if each needed pod finds a node, perhaps by preemption. Otherwise none starts, and nothing is preempted.
Volcano (its action preempt commits the victims of a job at its minimum, and discards others) and Kubernetes' own gangs do the
same. With the coscheduling plugin pods preempt one by one, perhaps in vain.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from packenv.extend import to_units
from packenv_kubernetes.filters import Port, admitted, groups_of
from packenv_kubernetes.pod_groups import gangs_of, largest_first

if TYPE_CHECKING:
    from packenv_kubernetes.cluster import Cluster
    from packenv_kubernetes.objects import Pod

Ints = NDArray[np.int64]
LEAST_CANDIDATES = 100
"""Nodes considered for preemption: this many or a tenth, whichever is more. Here the first in the file."""
SMALLEST = 2**31
"""Added to each priority before they are summed, so that fewer victims count first."""


class Begun(NamedTuple):
    """A waiting pod's immediate start."""

    pod: int  # number among the waiting
    node: int
    victims: tuple[int, ...]  # numbers among the running
    delay: float  # s until there is room: victims hold theirs until their grace has ended


def first_cycle(cluster: Cluster, lowest: int | None = None) -> list[Begun]:
    """Return the pods that start now before all others.

    Others, waiting or running, have lower priority. `lowest`: lowest waiting priority, if its pod is not in the cluster.
    """
    least_there = min((pod.priority for pod in cluster.waiting), default=0)
    lowest = least_there if lowest is None else min(lowest, least_there)
    below = [pod.priority for pod, node in zip(cluster.running, cluster.node, strict=True) if node >= 0]
    least = min(below, default=lowest)
    if all(pod.priority <= min(lowest, least) or (pod.priority == lowest and not pod.preempts) for pod in cluster.waiting):
        return []
    return _Nodes(cluster).begin(lowest)


Alike = tuple[object, ...]
"""Rules, demand and priority. Pods with equal ones find the same nodes."""
Victims = tuple[int, int, int, float, int, tuple[int, ...]]
"""Four numbers to compare nodes, the node, and the pods."""


Leaving = tuple[float, Ints, tuple[Port, ...]]
"""Seconds until a pod is gone, its amount, and its host ports."""


class _Nodes:
    """The room of each node while pods are placed."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.demand = to_units(cluster.demand)
        self.capacity = np.maximum(to_units(cluster.capacity), 1)
        self.held = to_units(cluster.running_demand)
        self.free = to_units(cluster.capacity)
        self.node = cluster.node.copy()
        self.cache: dict[tuple[Alike, int], tuple[int, Victims | None]] = {}
        self.changes = [0] * len(cluster.nodes)
        self.lower: dict[int, Ints] = {}  # of each priority, (L, D) what pods below it hold
        self.leaving: list[list[Leaving]] = [[] for _ in cluster.nodes]  # victims
        self.lent = np.zeros_like(self.free)  # (L, D) part of `free` that victims hold until their grace has ended
        placed = cluster.node >= 0
        np.subtract.at(self.free, cluster.node[placed], self.held[placed])
        rules, self.rule = groups_of(pod.rules for pod in cluster.waiting)
        self.allowed = admitted(rules, cluster.traits)
        self.ports = [set[Port]() for _ in cluster.nodes]
        self.on_node: list[list[int]] = [[] for _ in cluster.nodes]
        for n in np.flatnonzero(placed).tolist():
            self.ports[cluster.node[n]].update(cluster.running[n].rules.ports)
            self.on_node[cluster.node[n]].append(n)

    def begin(self, lowest: int) -> list[Begun]:
        """Place the pods in queue order, gangs (then the rest) at their first."""
        placed: list[Begun] = []
        begun = 0  # this many of the placed pods start now
        hopeless: set[Alike] = set()
        gangs = {group.members[0]: group for group in gangs_of(self.cluster)}
        others = {n for group in gangs.values() for n in group.members}  # they do not start alone
        for n in range(len(self.cluster.waiting)):
            starts: list[Begun] = []
            if n in gangs and max(gangs[n].together) < len(self.cluster.waiting):
                starts = self._place_all(largest_first(gangs[n].together, self.cluster.demand), hopeless)
            elif n not in others and (start := self._place(n, hopeless)) is not None:
                starts = [start]
            if starts:
                delay = max(start.delay for start in starts)
                placed += [start._replace(delay=delay) for start in starts]
                others -= {*gangs[n].others} if n in gangs else set()
            if any(self._starts_now(start, lowest) for start in starts):
                begun = len(placed)
        return placed[:begun]

    def _starts_now(self, start: Begun, lowest: int) -> bool:
        """Return whether a placed pod starts under every policy: by priority, or where pods were preempted."""
        first = self.cluster.waiting[start.pod].priority > lowest or self._nominated(start.pod) is not None
        return first or bool(self.leaving[start.node])

    def _place_all(self, numbers: Sequence[int], hopeless: set[Alike]) -> list[Begun]:
        """Place all of these pods or none, without preemption in vain."""
        starts: list[Begun] = []
        for n in numbers:
            start = self._place(n, {*hopeless})  # next to its gang: no result for the pod alone
            if start is None:
                for taken in reversed(starts):
                    self._take_back(taken)
                return []
            starts.append(start)
        return starts

    def _place(self, n: int, hopeless: set[Alike]) -> Begun | None:
        """Place a pod, perhaps by preemption, or return None."""
        pod = self.cluster.waiting[n]
        alike = (self.rule[n], self.demand[n].tobytes(), pod.priority)
        node = self._where_it_fits(n)
        if node is not None:
            start = Begun(n, node, (), self._delay(n, node))
            self._put(n, node)
            return start
        if (node := self._nominated(n)) is not None:
            return self._place_nominated(n, node)
        if not pod.preempts or alike in hopeless:
            return None
        choices = (self._cached_victims(n, node, alike) for node in self._candidates(n))
        best = min((choice for choice in choices if choice), default=None)
        if best is None:
            hopeless.add(alike)
            return None
        node, victims = best[-2], best[-1]
        self._evict(node, victims)
        start = Begun(n, node, victims, self._delay(n, node))
        self._put(n, node)
        return start

    def _nominated(self, n: int) -> int | None:
        """Return a pod's nominated node if pods preempted for it are ending there."""
        pod, running = self.cluster.waiting[n], self.cluster.running
        if not pod.nominated or pod.nominated not in self.cluster.nodes:
            return None
        node = self.cluster.nodes.index(pod.nominated)
        ending = any(running[v].preempted and running[v].priority < pod.priority for v in self.on_node[node])
        return node if ending and self.allowed[self.rule[n], node] else None

    def _place_nominated(self, n: int, node: int) -> Begun | None:
        """Place a pod on its nominated node, in the room of pods being deleted, or return None."""
        running = self.cluster.running
        ending = [v for v in self.on_node[node] if running[v].deleted is not None]
        room = self.free[node] + self.held[ending].sum(axis=0)
        if not ((self.demand[n] <= room) | (self.demand[n] == 0)).all() or self._port_taken(n, node, tuple(ending)):
            return None
        ends = [(max((running[v].deleted or 0.0) - self.cluster.now, 0.0), self.held[v], running[v].rules.ports) for v in ending]
        start = Begun(n, node, (), self._delay(n, node, ends))
        self._put(n, node)
        return start

    def _delay(self, n: int, node: int, ends: Sequence[Leaving] = ()) -> float:
        """Return the seconds until victims, and pods with these `ends`, have left enough room and the pod's host ports."""
        leaving = sorted([*self.leaving[node], *ends], key=lambda pod: pod[0])
        delay, free, demand = 0.0, self.free[node] - self.lent[node], self.demand[n]
        for k, (grace, amount, _) in enumerate(leaving):
            taken = [port for _, _, ports in leaving[k:] for port in ports]
            if ((demand <= free) | (demand == 0)).all() and not self._conflicts(n, taken):
                break
            delay, free = grace, free + amount
        return delay

    def _where_it_fits(self, n: int) -> int | None:
        """Return the node with the least capacity left, one with room already if there is any."""
        demand = self.demand[n]
        fits = self.allowed[self.rule[n]] & ((demand <= self.free) | (demand == 0)).all(axis=1)
        nodes = np.flatnonzero(fits)
        if self.cluster.waiting[n].rules.ports:
            nodes = np.array([node for node in nodes.tolist() if not self._port_taken(n, node)], np.int64)
        if len(nodes) == 0:
            return None
        already = nodes[((demand <= self.free[nodes] - self.lent[nodes]) | (demand == 0)).all(axis=1)]
        nodes = already if len(already) else nodes
        return int(nodes[np.argmin((self.free[nodes] / self.capacity[nodes]).sum(axis=1))])

    def _port_taken(self, n: int, node: int, without: tuple[int, ...] = ()) -> bool:
        if not self.cluster.waiting[n].rules.ports:
            return False
        return self._conflicts(n, self.ports[node] - {port for v in without for port in self.cluster.running[v].rules.ports})

    def _conflicts(self, n: int, taken: Iterable[Port]) -> bool:
        return any(port.conflicts(used) for port in self.cluster.waiting[n].rules.ports for used in taken)

    def _candidates(self, n: int) -> list[int]:
        """Return the first nodes with room without lower priorities, limited."""
        if (priority := self.cluster.waiting[n].priority) not in self.lower:
            lower = [pod.priority < priority and pod.deleted is None for pod in self.cluster.running]
            rows = np.flatnonzero(np.array(lower, np.bool_) & (self.node >= 0))
            self.lower[priority] = np.zeros_like(self.free)
            np.add.at(self.lower[priority], self.node[rows], self.held[rows])
        amount, demand = self.lower[priority], self.demand[n]
        room = ((demand <= self.free + amount) | (demand == 0)).all(axis=1)
        nodes = np.flatnonzero(self.allowed[self.rule[n]] & room)
        return [int(node) for node in nodes[: max(LEAST_CANDIDATES, len(self.on_node) // 10)]]

    def _cached_victims(self, n: int, node: int, alike: Alike) -> Victims | None:
        """Return the victims, cached for equal pods until the node changes."""
        change, victims = self.cache.get((alike, node), (-1, None))
        if change != self.changes[node]:
            victims = self._victims(n, node)
            self.cache[alike, node] = self.changes[node], victims
        return victims

    def _victims(self, n: int, node: int) -> Victims | None:
        """Return the pods to preempt and their comparison, or None."""
        running, priority = self.cluster.running, self.cluster.waiting[n].priority
        lower = [v for v in self.on_node[node] if running[v].priority < priority and running[v].deleted is None]
        if not lower:
            return None
        free, demand = self.free[node] + self.held[lower].sum(axis=0), self.demand[n]

        def fits(without: tuple[int, ...]) -> bool:
            return bool(((demand <= free) | (demand == 0)).all()) and not self._port_taken(n, node, without)

        if not fits(tuple(lower)):
            return None
        gone = list(lower)
        for v in sorted(lower, key=lambda v: (-running[v].priority, _start(running[v]), v)):
            gone.remove(v)
            free = free - self.held[v]
            if not fits(tuple(gone)):
                gone.append(v)
                free = free + self.held[v]
        most = max(running[v].priority for v in gone)
        oldest = min(_start(running[v]) for v in gone if running[v].priority == most)
        total = sum(running[v].priority + SMALLEST for v in gone)
        return most, total, len(gone), -oldest, node, tuple(sorted(gone))

    def _evict(self, node: int, victims: tuple[int, ...]) -> None:
        self.changes[node] += 1
        for v in victims:
            self.on_node[node].remove(v)
            self.free[node] += self.held[v]
            self.leaving[node].append((self.cluster.running[v].grace, self.held[v], self.cluster.running[v].rules.ports))
            self.lent[node] += self.held[v]
            self.node[v] = -1
            for priority, amount in self.lower.items():
                amount[node] -= self.held[v] * (self.cluster.running[v].priority < priority)
            self.ports[node] -= {*self.cluster.running[v].rules.ports}

    def _put(self, n: int, node: int) -> None:
        self.changes[node] += 1
        self.free[node] -= self.demand[n]
        self.ports[node].update(self.cluster.waiting[n].rules.ports)

    def _take_back(self, start: Begun) -> None:
        """Undo the last `_put`, and the `_evict` before it."""
        node, running = start.node, self.cluster.running
        self.changes[node] += 1
        self.free[node] += self.demand[start.pod]
        self.ports[node] -= {*self.cluster.waiting[start.pod].rules.ports}
        del self.leaving[node][len(self.leaving[node]) - len(start.victims) :]
        for v in start.victims:
            self.on_node[node].append(v)
            self.free[node] -= self.held[v]
            self.lent[node] -= self.held[v]
            self.node[v] = node
            for priority, amount in self.lower.items():
                amount[node] += self.held[v] * (running[v].priority < priority)
            self.ports[node].update(running[v].rules.ports)


def _start(pod: Pod) -> float:
    return math.inf if pod.started is None else pod.started
