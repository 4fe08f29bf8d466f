"""A Kubernetes cluster and its workload: servers, tasks in service, a queue."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from packenv import Servers, Workload
from packenv.extend import NO_GANG, InputError, Law, counted_by_reason, to_units
from packenv_kubernetes.durations import Durations, are_drawn
from packenv_kubernetes.filters import (
    NAME,
    Expression,
    Port,
    Rules,
    Toleration,
    Traits,
    admitted,
    groups_of,
)
from packenv_kubernetes.fits_nowhere import unfit_lines
from packenv_kubernetes.objects import Pod
from packenv_kubernetes.owners import OwnerTimes
from packenv_kubernetes.pod_groups import gang_lines, side_by_side, whole_gangs
from packenv_kubernetes.preemption import Begun, first_cycle
from packenv_kubernetes.rules_as_resources import as_resources
from packenv_kubernetes.shared_gpus import SharedGpus
from packenv_kubernetes.started import ENDLESS, OfGpus, Started
from packenv_kubernetes.texts import MOST_NAMED, amount_text, counted, some

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

COMPLETED, HELD = "pods that have ended", "pods held by a scheduling gate"
NO_NODE, LOST = "pods on a node that is left out", "pods on a node that is not in the file"
ASKS_NOTHING, FITS_NOWHERE = "pods that ask for none of the resources", "waiting pods that fit on no node"
NEVER_WHOLE = "waiting pods of gangs that cannot start as a whole"
DELETED, PINNED = "waiting pods that are being deleted", "waiting pods bound to one node by a DaemonSet"


@dataclass(frozen=True)
class Cluster:
    """Ready nodes, their running pods, and waiting pods.

    Waiting pods are in order of priority, then creation. Amounts are in units of the largest node in each resource. Omissions are
    counted by reason.
    """

    source: str
    resources: tuple[str, ...]  # D names
    nodes: tuple[str, ...]  # L names
    capacity: Floats  # (L, D)
    traits: tuple[Traits, ...]  # (L,) what the rules of pods look at
    running: tuple[Pod, ...]
    node: NDArray[np.int64]  # (running,) number of each pod's node; -1: it is taken away
    running_demand: Floats  # (running, D)
    waiting: tuple[Pod, ...]
    demand: Floats  # (waiting, D)
    row: NDArray[np.int64]  # (waiting,) each one's place in the queue as it was read
    left_out: dict[str, int]
    ignored: dict[str, int]
    now: float  # s since 1970: the latest time in the file
    amounts: tuple[Fraction, ...]  # (D,) what capacity 1 is
    unfit: tuple[Pod, ...] = ()  # waiting pods that fit on no node, or whose gang cannot start as a whole
    unfit_demand: Floats = field(default_factory=lambda: np.zeros((0, 1)))  # (unfit, D)
    gpus: SharedGpus | None = None  # that pods share; None: no pod has a part of one
    again: tuple[int, ...] = ()  # of the running pods, by number: queued behind those that wait, to start again
    stranded: tuple[str, ...] = ()  # pods for which no node is left, or not enough for their gang
    suspended: dict[str, int] = field(default_factory=dict)  # pods to come, by the suspended object that will create them
    undecided: bool = False  # whether there may be room, which was not found, for the gang of some of those

    @property
    def name(self) -> str:
        return Path(self.source).name

    @property
    def about(self) -> str:
        return "capacity 1: the largest node, " + self.amounts_text(np.ones(len(self.resources)))

    def amounts_text(self, shares: Floats) -> str:
        """Return amounts (D,) as text, without zeros."""
        parts = zip(self.resources, shares.tolist(), self.amounts, strict=True)
        return ", ".join(amount_text(name, share * amount) for name, share, amount in parts if share) or "nothing"

    def shares(self, pods: Sequence[Pod]) -> Floats:
        """Return the requests of pods, (n, D), in units of the largest node."""
        return shares_of([pod.asks for pod in pods], self.resources, [*self.amounts])

    def anew(self, numbers: Sequence[int]) -> Floats:
        """Return the requests of restarted running pods, (n, D)."""
        demand = self.running_demand[[*numbers]]
        resized = [k for k, n in enumerate(numbers) if self.running[n].anew is not None]
        demand[resized] = shares_of([self.running[numbers[k]].anew or {} for k in resized], self.resources, [*self.amounts])
        return demand

    def emptied(self, priority: float = -math.inf) -> tuple[Floats, tuple[Traits, ...]]:
        """Return the room of nodes (L, D) with only their own pods, and traits.

        The traits include these pods' host ports. Pods of a `priority` may preempt own pods below it.
        """
        room = self.capacity.copy()
        staying = [n for n, pod in enumerate(self.running) if pod.stays and self.node[n] >= 0 and pod.priority >= priority]
        np.subtract.at(room, self.node[staying], self.running_demand[staying])
        ports: dict[int, tuple[Port, ...]] = {}
        for n in staying:
            ports[int(self.node[n])] = (*ports.get(int(self.node[n]), ()), *self.running[n].rules.ports)
        traits = tuple(node._replace(ports=ports.get(n, ())) for n, node in enumerate(self.traits))
        return np.maximum(room, 0.0), traits

    def with_queue(self, pods: Sequence[Pod], demand: Floats, places: Cluster | None = None, row: Ints | None = None) -> Cluster:
        """Return the cluster with these pods in the queue, demand (n, D).

        Pods able to start wait, in order. The others are `unfit`.
        places  a cluster with the nodes to fit instead
        row     (n,) place of each in the queue as it was read, by default the new one
        """
        order = sorted(range(len(pods)), key=lambda n: (-pods[n].priority, pods[n].created, pods[n].name))
        queue, demand = [pods[n] for n in order], demand[order]
        alone = (self if places is None else places).fitting_alone(queue, demand)
        fit, _ = whole_gangs(self if places is None else places, queue, demand, alone)
        unable = {FITS_NOWHERE: int((~alone).sum()), NEVER_WHOLE: int((alone & ~fit).sum())}
        return replace(
            self,
            waiting=tuple(pod for pod, fits in zip(queue, fit, strict=True) if fits),
            demand=demand[fit],
            row=np.arange(int(fit.sum())) if row is None else row[order][fit],
            unfit=tuple(pod for pod, fits in zip(queue, fit, strict=True) if not fits),
            unfit_demand=demand[~fit],
            left_out={reason: count for reason, count in (self.left_out | unable).items() if count},
        )

    def fitting_alone(self, pods: Sequence[Pod], demand: Floats) -> Bools:
        """Return whether each pod (n, D) fits some allowed node, perhaps later, (n,)."""
        fit = np.zeros(len(pods), np.bool_)
        priorities = sorted({pod.priority for pod in self.running if pod.stays})
        below = [max((n for n in priorities if n < pod.priority), default=None) if pod.preempts else None for pod in pods]
        rules, group = groups_of((pod.rules, limit) for pod, limit in zip(pods, below, strict=True))
        units = to_units(demand)
        places = {limit: self.emptied(-math.inf if limit is None else limit + 1) for limit in set(below)}
        for n, (rule, limit) in enumerate(rules):
            room, traits = places[limit]
            nodes = np.unique(to_units(room[admitted([rule], traits)[0]]), axis=0)
            rows = np.flatnonzero(group == n)
            distinct, kind = np.unique(units[rows], axis=0, return_inverse=True)
            fits = ((distinct[:, None] <= nodes[None]) | (distinct == 0)[:, None]).all(axis=2).any(axis=1)
            fit[rows] = fits[kind.reshape(-1)]
        return fit

    @property
    def overfull(self) -> list[str]:
        """Nodes with less of a resource than their pods request."""
        left, placed = to_units(self.capacity), self.node >= 0
        np.subtract.at(left, self.node[placed], to_units(self.running_demand)[placed])
        return [self.nodes[n] for n in np.flatnonzero((left < 0).any(axis=1))]

    def unmodelled(self, pods: Iterable[Pod]) -> dict[str, list[str]]:
        """Return names of pods by unmodelled constraints."""
        names: dict[str, list[str]] = {}
        for pod in pods:
            for kind in dict.fromkeys(pod.unmodelled):
                names.setdefault(kind, []).append(pod.name)
        return names

    def workload(
        self,
        service: Law | Sequence[Law] | Durations | None = None,
        slot_seconds: float = 1.0,
        preemption: bool = True,
        lowest: int | None = None,
    ) -> Workload:
        """Return the waiting pods as tasks, on nodes with the running pods.

        service       law of a whole service, in slots, for pods that end. The rest of a running pod's service is drawn from it
                      too, given its age. Pods that always restart (restartPolicy Always), and all pods without a law, last longer
                      than any run. With several laws each seed has one. Durations are past ones by owner. No pod is in service
                      after its latest known end
        slot_seconds  length of a slot
        preemption    whether waiting pods of higher priority replace others now, if they fit no node
        lowest        priority above which they do, by default the lowest waiting one
        Each seed draws other times. Additional resources encode the allowed nodes of each pod: forbidden nodes have none of a
        needed one. Raises InputError if no pod waits.
        """
        if not self.waiting and not self.again:
            raise InputError(self.nothing())

        # Pods that start now, pods that they preempt, and those of them that are queued again.
        begun = first_cycle(self, lowest) if preemption else []
        on_gpu, refused = dict[int, int](), list[str]()
        if self.gpus is not None:
            begun, on_gpu, refused = self.gpus.begin(self, begun)
        evicted = self._queued_again(begun)
        notes = (*self.notes(service), *self.begun_notes(begun), *refused)
        grace = {v: math.ceil(self.running[v].grace / slot_seconds) for placement in begun for v in placement.victims}
        server = np.where(np.isin(np.arange(len(self.running)), [v for v in grace if not grace[v]]), -1, self.node)
        if len(begun) == len(self.waiting) and not self.again and not evicted:  # a table needs a row: this pod finds room
            begun = begun[:-1]

        # The queue without pods that start now, and the pods in service.
        first = [placement.pod for placement in begun]
        waits = ~np.isin(np.arange(len(self.waiting)), first)
        again = [self.running[n] for n in self.again]
        requeued = [*again, *(_again_on(self.running[v], self.nodes[self.node[v]]) for v in evicted)]
        queue = [*(self.waiting[n] for n in np.flatnonzero(waits)), *requeued]
        groups, order, gang = side_by_side(self, first, evicted)
        gang_of = {n: g for g, group in enumerate(groups) for n in group.together}
        in_service = [pod if node >= 0 else None for pod, node in zip(self.running, server, strict=True)]
        pods = [*self.waiting, *again]

        # Rules for pods on nodes, as additional resources.
        names, columns, queue_extra, service_extra = as_resources(
            queue, [*in_service, *(self.waiting[n] for n in first)], self.traits
        )
        waiting_extra = np.zeros((len(self.waiting), len(names)))
        waiting_extra[waits] = queue_extra[: len(queue) - len(requeued)]
        waiting_extra[first] = service_extra[len(self.running) :]
        capacity = _beside(self.capacity, columns)
        demand = _beside(self.demand, waiting_extra)
        running_demand = _beside(self.running_demand, service_extra[: len(self.running)])
        again_demand = _beside(self.anew([*self.again, *evicted]), queue_extra[len(queue) - len(requeued) :])
        resources = (*self.resources, *names)
        if not (to_units(capacity) > 0).any(axis=1).all():  # servers need some capacity
            capacity, resources = _beside(capacity, np.ones((len(capacity), 1))), (*resources, ".nothing")
            tasks = demand, running_demand, again_demand
            demand, running_demand, again_demand = (_beside(amounts, np.zeros((len(amounts), 1))) for amounts in tasks)

        # Time in service so far, and the law of the rest.
        started = np.array([pod.created if pod.started is None else pod.started for pod in self.running])
        age = np.maximum(self.now - started, 0.0) / slot_seconds
        if isinstance(service, Durations):
            services: tuple[Law, ...] | OwnerTimes = service.times(self.waiting, self.running, age, slot_seconds)
        else:
            services = () if service is None else (service,) if isinstance(service, Law) else tuple(service)

        # Pods that others may preempt.
        preempting = [pod.priority for pod in (*self.waiting, *requeued) if pod.preempts and preemption]
        highest = max(preempting, default=-math.inf)

        # No pod is in service after its latest end; preempted ones hold their room until their grace has ended.
        running_latest = self._latest_ends(self.running, started.tolist(), slot_seconds)
        running_latest[[*grace]] = np.minimum(running_latest[[*grace]], [*grace.values()])

        shares = None
        if self.gpus is not None:
            needs, bits = self.gpus.needs, np.array([on_gpu.get(n, 0) for n in first], np.int64)
            shares = OfGpus(
                nodes=self.gpus.devices,
                need=needs(self.waiting),
                again=needs(requeued),
                held=self.gpus.held(self.running),
                begun=np.column_stack([needs([self.waiting[n] for n in first]), bits]),
            )

        draw = Started(
            demand=demand,
            row=self.row,
            endless=np.array([pod.endless for pod in self.waiting], np.bool_),
            running_demand=running_demand,
            running_endless=np.array([pod.endless for pod in self.running], np.bool_),
            server=server,
            age=age,
            services=services,
            again=self.again,
            again_demand=again_demand,
            names=tuple(pod.name for pod in pods),
            notes=notes,
            capacity=capacity,
            latest=self._latest_ends(self.waiting, [self.now] * len(self.waiting), slot_seconds),
            running_latest=running_latest,
            again_latest=self._latest_ends(requeued, [self.now] * len(requeued), slot_seconds),
            begun=tuple((placement.pod, placement.node, math.ceil(placement.delay / slot_seconds)) for placement in begun),
            begun_gang=np.array([gang_of.get(n, NO_GANG) for n in first], np.int64),
            evicted=tuple(evicted),
            unfit=tuple(pod.name for pod in self.unfit),
            loose=np.array([bool(pod.unmodelled) or pod.deadline is not None for pod in pods], np.bool_),
            lower=np.array([pod.priority < highest for pod in pods], np.bool_),
            running_lower=np.array([pod.priority < highest or pod.deleted is not None for pod in self.running], np.bool_),
            running_server=self.node,
            order=order,
            gang=gang,
            gpus=shares,
            behind=tuple((n, group.members[0]) for group in groups for n in group.others),
        )
        servers = Servers(capacity, None if self.gpus is None else self.gpus.devices)
        return Workload(jobs=draw, servers=servers, name=self.name, resources=resources, slot_seconds=slot_seconds)

    def _latest_ends(self, pods: Sequence[Pod], started: Sequence[float], slot_seconds: float) -> Ints:
        """Return slots to each pod's latest end, (n,), from its start."""
        latest = np.full(len(pods), ENDLESS)
        for n, pod in enumerate(pods):
            if pod.has_latest_end and (end := pod.ends_by(started[n])) is not None:
                latest[n] = min(max(math.ceil((end - self.now) / slot_seconds), 1), ENDLESS)
        return latest

    def notes(self, service: Law | Sequence[Law] | Durations | None) -> tuple[str, ...]:
        """Return lines on running pods, assumed times, and ignored parts."""
        ends = service not in (None, ())
        begun = [pod for pod, node in zip(self.running, self.node, strict=True) if node >= 0]
        ending = sum(not pod.endless for pod in begun) if ends else 0
        how_long = (
            "a time that is drawn" if are_drawn(service) else f"what is left of {'its' if ending == 1 else 'their'} service"
        )
        times = f"{counted(len(begun), 'pod') if begun else 'no pod'} {'run' if len(begun) > 1 else 'runs'} at the start"
        if ending == len(begun):
            times += f" for {how_long}" if ending else ""
        elif ending:
            times += f", {ending:,} of them for {how_long}; others do not end"
        elif ends:
            times += f" and {'does' if len(begun) == 1 else 'do'} not end"
        times += "" if ends else "; no pod ends"
        staying_on = [pod for pod in (*begun, *self.waiting) if pod.endless or not ends]
        times += " before a known latest end" if any(pod.has_latest_end for pod in staying_on) else ""
        times += "" if ends else " (set --service for pods that can end)"
        past = service.notes([*begun, *self.waiting]) if isinstance(service, Durations) else ()
        lines = [self.about, times, *past]
        if staying := sum(pod.stays for pod in begun):
            lines.append(
                f"{counted(staying, 'pod')} of DaemonSets and static ones belong to their nodes: they neither wait nor move"
            )
        if limited := [pod for pod in begun if pod.has_latest_end]:
            line = f"{counted(len(limited), 'pod')} with a known latest end: {some([pod.name for pod in limited])}"
            with_deadline = any(pod.deadline is not None or pod.longest is not None for pod in limited)
            lines.append(line + ("; a grace period is added to an activeDeadlineSeconds" if with_deadline else ""))
        if cordoned := [traits.name for traits in self.traits if traits.cordoned]:
            take = "takes" if len(cordoned) == 1 else "take"
            lines.append(f"{counted(len(cordoned), 'cordoned node')} {take} no new pods: {some(cordoned)}")
        if overfull := self.overfull:
            singular, plural = "node holds more than it has, and takes", "nodes hold more than they have, and take"
            what = singular if len(overfull) == 1 else plural
            lines.append(f"{len(overfull):,} {what} nothing until there is room again: {some(overfull)}")
        lines += self.gpus.lines() if self.gpus is not None else []
        for kind, names in self.unmodelled(self.waiting).items():
            what = f"{kind} of {counted(len(names), 'waiting pod')} ({some(names)})"
            direction = "earlier or later" if kind == "schedulerName" else "later"  # another scheduler may do either
            lines.append(f"not modelled: {what}: they may start {direction} than shown, and no bound relies on them")
        lines += self.suspended_lines()
        if self.ignored:
            lines.append(f"ignored: {counted_by_reason(self.ignored)}")
        return (*lines, *gang_lines(self), *unfit_lines(self))

    @property
    def commonest(self) -> int:
        """Number of a node of the commonest capacity and taints."""
        return self.kinds[0]

    @property
    def kinds(self) -> list[int]:
        """Number of a node of each capacity and taints, commonest first."""
        kinds = [(tuple(row), traits.lasting()) for row, traits in zip(self.capacity.tolist(), self.traits, strict=True)]
        return [kinds.index(kind) for kind, _ in Counter(kinds).most_common()]

    def _queued_again(self, begun: Sequence[Begun]) -> list[int]:
        """Return the preempted pods, by number, with a node to fit."""
        victims = [v for placement in begun for v in placement.victims if self.running[v].deleted is None]
        pods = [_again_on(self.running[v], self.nodes[self.node[v]]) for v in victims]
        fits = self.fitting_alone(pods, self.anew(victims))
        return [v for v, fit in zip(victims, fits, strict=True) if fit]

    def begun_notes(self, begun: Sequence[Begun]) -> list[str]:
        """Return lines about preempted pods and their successors."""
        lines = []
        for start in [start for start in begun if start.victims or start.delay][:MOST_NAMED]:
            victims = [self.running[v].name for v in start.victims]
            now = "now" if start.delay == 0 else f"within {start.delay:g} s"
            why = f"{some(victims)} preempted" if victims else "preempted pods are ending there"
            lines.append(f"{self.waiting[start.pod].name} starts {now} on {self.nodes[start.node]}: {why}")
        preempted = sum(len(start.victims) for start in begun)
        if preempted:
            whose = "its" if preempted == 1 else "their"
            lines.append(
                f"{counted(preempted, 'pod')} of lower priority preempted and queued again, last; {whose} work is lost; "
                "PodDisruptionBudgets are not in the file"
            )
        return lines

    def suspended_lines(self) -> list[str]:
        """Return a line about future pods of suspended objects."""
        if not self.suspended:
            return []
        names = [f"{what} of {counted(count, 'pod')}" if count else what for what, count in self.suspended.items()]
        return [f"not counted: {some(names)}: once admitted, their pods need room, so waiting pods may start later than shown"]

    def nothing(self) -> str:
        """Return why there is no pod to place."""
        if self.suspended:
            return f"{self.source}: no pod is there to place; {self.suspended_lines()[0]}"
        if self.unfit:
            lines = "; ".join(unfit_lines(self))
            return f"{self.source}: {counted(len(self.unfit), 'pod')} waiting, and none can be placed: {lines}"
        reasons = (HELD, PINNED, DELETED, ASKS_NOTHING)
        if left_out := counted_by_reason({what: self.left_out.get(what, 0) for what in reasons}):
            return f"{self.source}: no pod is there to place but for {left_out}, left out"
        return f"{self.source}: no pod waits for a node, so there is nothing to place"


def _again_on(pod: Pod, node: str) -> Pod:
    """Return a preempted pod queued again, bound to its lasting node."""
    if not pod.stays:
        return pod
    on_node, anything = Expression(NAME, "In", (node,)), Toleration("", "Exists", "", "")
    return pod._replace(rules=Rules((on_node,), None, (anything,), pod.rules.ports))


def _beside(amounts: Floats, extra: Floats) -> Floats:
    """Return amounts (n, D) with additional resources (n, d)."""
    return np.ascontiguousarray(np.concatenate([amounts, extra], axis=1))


def shares_of(amounts: list[dict[str, Fraction]], resources: tuple[str, ...], largest: list[Fraction]) -> Floats:
    """Return amounts (n, D) in units of the largest node. A pod is 1 of `pods`."""
    columns = []
    for name, most in zip(resources, largest, strict=True):
        otherwise = Fraction(name == "pods")
        column = [asks.get(name, otherwise) for asks in amounts]
        distinct = {id(amount): amount for amount in column}  # fractions are hashed slowly
        share = {key: float(amount / most) for key, amount in distinct.items()}
        columns.append([share[id(amount)] for amount in column])
    return np.ascontiguousarray(np.array(columns, np.float64).reshape(len(resources), -1).T)
