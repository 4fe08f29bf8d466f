"""Submitted pods: whether and when they start, delays, and remedies."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from packenv import Result, Workload
from packenv.extend import AskRuns, Law, Run, to_units
from packenv_kubernetes.changed import NodeKind, changed, kind_of, with_changed_pods, without_submitted
from packenv_kubernetes.cluster import Cluster
from packenv_kubernetes.durations import Durations
from packenv_kubernetes.filters import Toleration
from packenv_kubernetes.objects import Pod
from packenv_kubernetes.planning.queue import LATER, StartInterval, intervals, waiting_times
from packenv_kubernetes.preemption import first_cycle
from packenv_kubernetes.started import Started
from packenv_kubernetes.texts import amount_text, counted

Ints = NDArray[np.int64]

MOST_KINDS = 8
"""Kinds of nodes tried as additions: the commonest that the pods fit."""
STEPS = {"cpu": Fraction(1, 100), "memory": Fraction(2**24), "ephemeral-storage": Fraction(2**24)}
"""A request is lowered to a whole number of these: 10m, 16Mi; of other resources to a whole number."""
STEPS_TOGETHER = {"cpu": Fraction(1, 20), "memory": Fraction(2**26), "ephemeral-storage": Fraction(2**26)}
"""Steps of all requests together: 50m, 64Mi."""
FINEST = 2**10
"""Largest number of amounts tried for each resource."""
PARTS = 64
"""All requests together are lowered to multiples of one part in this number, rounded down to whole steps."""


class Later(NamedTuple):
    """A queued pod delayed by the submitted ones, on the same seeds."""

    pod: str
    slots: tuple[int, ...]  # delay in each draw with both starts
    lost: float  # share of the draws with a start only without them


class Change(NamedTuple):
    """A change to start equal pods now, tried with the whole queue."""

    pods: tuple[str, ...]
    kind: str  # "rule", "request" or "node"
    text: str
    amount: float  # nodes, or the share that is left of the request; 1 for a rule
    nodes: tuple[str, ...]  # where they would start


@dataclass(frozen=True)
class Submission:
    """The answer for one policy, with `starts` in queue order."""

    policy: str
    pods: tuple[str, ...]
    starts: tuple[StartInterval, ...]
    now: tuple[str, ...]  # they start now, or as soon as preempted pods are gone
    unfit: tuple[str, ...]  # they fit no node, or their gang cannot start as a whole
    preempted: tuple[str, ...]  # pods in service that give way to them
    later: tuple[Later, ...]  # most delayed first
    changes: tuple[Change, ...]  # the smallest of each kind


@dataclass(frozen=True)
class SubmittedPods:
    """A cluster with submitted pods, and assumed times in service."""

    cluster: Cluster
    service: tuple[Law, ...] | Durations = ()
    slot_seconds: float = 1.0
    preemption: bool = True

    @property
    def lowest(self) -> int:
        """Lowest waiting priority, to start the same pods in both clusters."""
        return min((pod.priority for pod in self.cluster.waiting), default=0)

    def workload(self, cluster: Cluster) -> Workload:
        return cluster.workload(self.service or None, self.slot_seconds, self.preemption, self.lowest)

    def answer(self, policy: str, slots: int, draws: int, ask: AskRuns) -> Submission:
        """Return submitted and other pods' fate in `slots` slots.

        Other pods are compared with and without them.
        """
        new = [n for n, pod in enumerate(self.cluster.waiting) if pod.submitted]
        before = without_submitted(self.cluster)
        times = np.zeros((draws, 0), np.int64)
        later: list[Later] = []
        preempted: set[str] = set()
        if new:
            times = self._times(self.cluster, policy, slots, draws, ask)
            names_before = {pod.name: n for n, pod in enumerate(before.waiting)}
            queued = [n for n, pod in enumerate(self.cluster.waiting) if pod.name in names_before]
            same = [names_before[self.cluster.waiting[n].name] for n in queued]
            pods = [before.waiting[n] for n in same]
            later = _later(pods, self._times(before, policy, slots, draws, ask)[:, same], times[:, queued])
            preempted = self._preempted(self.cluster) - self._preempted(before)
        started = {*self._start_now(self.cluster, policy, ask)}
        names = tuple(self.cluster.waiting[n].name for n in new)
        return Submission(
            policy,
            names,
            tuple(intervals(times[:, new])) if new else (),
            tuple(name for name in names if name in started),
            tuple(pod.name for pod in self.cluster.unfit if pod.submitted),
            tuple(sorted(preempted)),
            tuple(later),
            tuple(change for group in self._late(started) for change in self._changes(group, policy, ask)),
        )

    def _times(self, cluster: Cluster, policy: str, slots: int, draws: int, ask: AskRuns) -> Ints:
        """Return slots of starts, (draws, waiting)."""
        if not cluster.waiting:
            return np.zeros((draws, 0), np.int64)
        return waiting_times(self.workload(cluster), policy, slots, draws, ask)

    def _preempted(self, cluster: Cluster) -> set[str]:
        begun = first_cycle(cluster, self.lowest) if self.preemption else []
        return {cluster.running[v].name for placement in begun for v in placement.victims}

    def _start_now(self, cluster: Cluster, policy: str, ask: AskRuns) -> dict[str, str]:
        """Return the immediate starts of submitted pods, with nodes."""
        if not cluster.waiting:
            return {}
        (places,) = ask([Run(self.workload(cluster), policy, 0, 1, {"schedule": True})], first_places)
        named = zip(cluster.waiting, places, strict=True)
        return {pod.name: cluster.nodes[node] for pod, node in named if pod.submitted and node >= 0}

    def _late(self, started: set[str]) -> list[list[Pod]]:
        """Return groups of equal submitted pods with later starts."""
        groups: dict[Any, list[Pod]] = {}
        for pod in (*self.cluster.waiting, *self.cluster.unfit):
            if pod.submitted:
                groups.setdefault((pod.rules, tuple(sorted(pod.asks.items())), pod.priority), []).append(pod)
        return [group for group in groups.values() if any(pod.name not in started for pod in group)]

    def _changes(self, group: Sequence[Pod], policy: str, ask: AskRuns) -> Iterator[Change]:
        names = dict.fromkeys(pod.name for pod in group)

        def start(cluster: Cluster) -> tuple[str, ...] | None:
            """Return the nodes if all pods start now."""
            places = self._start_now(cluster, policy, ask)
            return tuple(dict.fromkeys(places[name] for name in names)) if names.keys() <= places.keys() else None

        def changing(**fields: Any) -> tuple[str, ...] | None:
            return start(with_changed_pods(self.cluster, lambda pod: pod._replace(**fields) if pod.name in names else pod))

        for kind, changes in (
            ("rule", self._rules(group[0], changing)),
            ("request", self._requests(group[0], changing)),
            ("node", self._nodes(group[0], start)),
        ):
            for text, amount, nodes in changes:
                yield Change(tuple(pod.name for pod in group), kind, text, amount, nodes)

    def _rules(self, pod: Pod, changing: Changing) -> Iterator[Try]:
        """Try the pod without each excluding rule."""
        rules, cluster = pod.rules, self.cluster
        choices = [("without its nodeSelector", rules._replace(selector=()))] if rules.selector else []
        choices += [("without its required nodeAffinity", rules._replace(terms=None))] if rules.terms is not None else []
        choices += [("without its host ports", rules._replace(ports=()))] if rules.ports else []
        taints = dict.fromkeys(taint for node in cluster.traits for taint in node.lasting())
        for taint in taints:
            if not any(toleration.tolerates(taint) for toleration in rules.tolerations):
                more = Toleration(taint.key, "Exists", "", taint.effect)
                text = f"with a toleration of the taint {taint.key}"
                choices.append((text, rules._replace(tolerations=tuple(sorted((*rules.tolerations, more))))))
        for text, variant in choices:
            if (nodes := changing(rules=variant)) is not None:
                yield text, 1.0, nodes

    def _requests(self, pod: Pod, changing: Changing) -> Iterator[Try]:
        """Try the largest helpful request of each resource, or all."""
        if any(amount > 0 and "/" in name and name not in self.cluster.resources for name, amount in pod.asks.items()):
            return
        requests = {name: amount for name, amount in pod.asks.items() if amount > 0 and name in self.cluster.resources}

        def most(choices: Sequence[dict[str, Fraction]]) -> tuple[dict[str, Fraction], tuple[str, ...]] | None:
            """Return the last helpful of increasing choices."""
            low, best = 0, None
            high = len(choices)
            while low < high:
                middle = low if best is None else (low + high) // 2  # the least first: if that does not help, none does
                if (nodes := changing(asks=pod.asks | choices[middle])) is not None:
                    best, low = (choices[middle], nodes), middle + 1
                elif best is None:
                    return None
                else:
                    high = middle
            return best

        # One resource at a time, then all of them.
        helped = False
        for name, amount in sorted(requests.items()):
            step = STEPS.get(name, Fraction(1))
            step *= max(math.ceil(amount / step / FINEST), 1)
            if (less := most([{name: step * k} for k in range(1, math.ceil(amount / step))])) is not None:
                helped = True
                yield _less(less[0], pod), float(less[0][name] / amount), less[1]
        if not helped and len(requests) > 1:
            choices = [{name: _part(name, amount, k) for name, amount in requests.items()} for k in range(1, PARTS)]
            if (less := most(choices)) is not None:
                lower = {name: amount for name, amount in less[0].items() if amount < requests[name]}
                yield _less(lower, pod), min(float(amount / requests[name]) for name, amount in lower.items()), less[1]

    def _nodes(self, pod: Pod, start: Start) -> Iterator[Try]:
        """Try the fewest additional nodes of a kind, then the smallest."""
        cluster, labels = self.cluster, pod.rules.labels
        room, traits = cluster.emptied(pod.priority if pod.preempts else -math.inf)
        demand = to_units(cluster.shares([pod]))[0]
        fits = ((demand <= to_units(room)) | (demand == 0)).all(axis=1)
        # Kinds of nodes that the pod fits, the commonest first.
        kinds = [
            (tuple(row), node.seen_by(labels).labels, node.lasting())
            for row, node in zip(cluster.capacity.tolist(), traits, strict=True)
        ]
        possible = [kind for n, kind in enumerate(kinds) if fits[n] and pod.rules.against(traits[n].renamed("added")) is None]
        best: tuple[int, float, NodeKind, tuple[str, ...]] | None = None
        for kind, _ in Counter(possible).most_common(MOST_KINDS):
            node = kind_of(cluster, cluster.nodes[kinds.index(kind)])
            most = len(cluster.waiting) + len(cluster.unfit) if best is None else best[0]
            fewest = _fewest(partial(self._grown, node, start), most)
            if fewest is not None and (best is None or (fewest[0], sum(kind[0])) < best[:2]):
                best = fewest[0], sum(kind[0]), node, fewest[1]
        if best is not None:
            yield f"with {counted(best[0], 'more node')} like {best[2].name}", float(best[0]), best[3]

    def _grown(self, kind: NodeKind, start: Start, count: int) -> tuple[str, ...] | None:
        return start(changed(self.cluster, kind, count))


Try = tuple[str, float, tuple[str, ...]]
"""A change in words, its amount, and the nodes where all pods then start."""
Changing = Callable[..., tuple[str, ...] | None]
Start = Callable[[Cluster], tuple[str, ...] | None]


def _fewest(start: Callable[[int], tuple[str, ...] | None], most: int) -> tuple[int, tuple[str, ...]] | None:
    """Return the least sufficient number, up to `most`, and nodes, or None."""
    low, high = 0, 1
    while (nodes := start(high)) is None:
        if high >= most:
            return None
        low, high = high, min(2 * high, most)
    while high - low > 1:
        middle = (low + high) // 2
        fewer = start(middle)
        low, high, nodes = (middle, high, nodes) if fewer is None else (low, middle, fewer)
    return high, nodes


def _part(name: str, amount: Fraction, part: int) -> Fraction:
    """Return `part` of PARTS of a request, in whole steps, at least one."""
    step = STEPS_TOGETHER.get(name, Fraction(1))
    return min(max(amount * part / PARTS // step, 1) * step, amount)


def _less(amounts: dict[str, Fraction], pod: Pod) -> str:
    lower = " and ".join(amount_text(name, amount) for name, amount in sorted(amounts.items()))
    return f"with {lower} each, not {' and '.join(amount_text(name, pod.asks[name]) for name in sorted(amounts))}"


def _later(pods: Sequence[Pod], without: Ints, with_: Ints) -> list[Later]:
    """Return queued pods' delays from (draws, pods), the largest first."""
    later = []
    for n, pod in enumerate(pods):
        a, b = without[:, n], with_[:, n]
        both = (a < LATER) & (b < LATER)
        slots = (b[both] - a[both]).tolist()
        lost = float((a < LATER).mean() - (b < LATER).mean())
        if sum(slots) > 0 or lost > 0:
            later.append(Later(pod.name, tuple(slots), max(lost, 0.0)))
    return sorted(later, key=lambda entry: (-entry.lost, -sum(entry.slots) / max(len(entry.slots), 1)))


def first_places(workload: Workload, result: Result) -> list[int]:
    """Extract each pod's immediate node, (waiting,), or -1."""
    schedule, started = result.schedule, workload.draw
    assert schedule is not None and isinstance(started, Started)
    places = np.full(len(started.demand), -1)
    start, server = started.in_queue_order(schedule.start), started.in_queue_order(schedule.server)
    rows = slice(len(started.queued))
    places[started.queued] = np.where(start[rows] == 0, server[rows], -1)
    for pod, node, _ in started.begun:
        places[pod] = node
    for pod, leader in started.behind:
        places[pod] = places[pod] if places[leader] >= 0 else -1
    return [int(place) for place in places]
