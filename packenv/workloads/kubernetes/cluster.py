"""A Kubernetes cluster as servers, tasks in service, and a queue; and the workload that begins there."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from packenv.errors import InputError
from packenv.units import to_units
from packenv.workloads.kubernetes.durations import Durations
from packenv.workloads.kubernetes.objects import Node, Pod, read_objects
from packenv.workloads.kubernetes.owners import OwnerTimes
from packenv.workloads.kubernetes.started import Started
from packenv.workloads.laws import Law
from packenv.workloads.traces.format import first_bytes
from packenv.workloads.traces.table import Wanted, wanted_of
from packenv.workloads.workload import Workload

Floats = NDArray[np.float64]

USUAL = ("cpu", "memory")
SNIFFED = 2**10  # bytes
START = re.compile(rb'(\xef\xbb\xbf)?\s*\{\s*"(apiVersion|items|kind)"\s*:')
UNITS = {"cpu": (1, "cores"), "memory": (2**30, "GiB"), "ephemeral-storage": (2**30, "GiB ephemeral-storage")}
COMPLETED, HELD = "pods that have ended", "pods held by a scheduling gate"
NO_NODE = "pods on a node that is left out"
ASKS_NOTHING, FITS_NOWHERE = "pods that ask for none of the resources", "waiting pods that fit on no node"


@dataclass(frozen=True)
class Cluster:
    """The nodes on which pods can be started, the pods in service there, and those that wait, in order of creation.

    Amounts are in units of the largest node in each resource. Everything left out or ignored is counted by reason.
    """

    source: str
    resources: tuple[str, ...]  # D names
    nodes: tuple[str, ...]  # L names
    capacity: Floats  # (L, D)
    running: tuple[Pod, ...]
    node: NDArray[np.int64]  # (running,) number of each pod's node; -1: it is taken away
    running_demand: Floats  # (running, D)
    waiting: tuple[Pod, ...]
    demand: Floats  # (waiting, D)
    row: NDArray[np.int64]  # (waiting,) each one's place in the queue as it was read
    left_out: dict[str, int]
    ignored: dict[str, int]
    now: float  # s since 1970: the latest time in the file
    about: str  # what capacity 1 is
    unfit: tuple[Pod, ...] = ()  # waiting pods that fit on no node
    unfit_demand: Floats = field(default_factory=lambda: np.zeros((0, 1)))  # (unfit, D)
    again: tuple[int, ...] = ()  # of the running pods, by number: queued behind those that wait, to start again
    stranded: tuple[str, ...] = ()  # pods for which no node is left

    @property
    def name(self) -> str:
        return Path(self.source).name

    def workload(self, service: Law | Sequence[Law] | Durations | None = None, slot_seconds: float = 1.0) -> Workload:
        """The waiting pods as tasks that are there in slot 0, on nodes that begin with the running pods.

        service       law of a whole service, in slots, of pods that end by themselves; the time that remains to a running pod
                      is drawn from it too, given that the pod has lasted until now. Pods that are restarted whenever they end
                      (restartPolicy Always), and without a law all pods, are in service longer than any run. Of several laws
                      each seed has one; Durations are past ones by owner
        slot_seconds  length of a slot

        Every seed draws other times. Raises InputError if no pod waits.
        """
        if not self.waiting and not self.again:
            raise InputError(f"{self.source}: no pod waits for a node, so there is nothing to place")
        age = np.array([self.now - (pod.created if pod.started is None else pod.started) for pod in self.running])
        age = np.maximum(age, 0.0) / slot_seconds
        if isinstance(service, Durations):
            services: tuple[Law, ...] | OwnerTimes = service.times(self.waiting, self.running, age, slot_seconds)
        else:
            services = () if service is None else (service,) if isinstance(service, Law) else tuple(service)
        started = Started(
            demand=self.demand,
            row=self.row,
            endless=np.array([pod.endless for pod in self.waiting], np.bool_),
            running_demand=self.running_demand,
            running_endless=np.array([pod.endless for pod in self.running], np.bool_),
            server=self.node,
            age=age,
            services=services,
            again=self.again,
            names=tuple(pod.name for pod in (*self.waiting, *(self.running[n] for n in self.again))),
            notes=self.notes(service),
        )
        return Workload(jobs=started, servers=self.capacity, name=self.name, resources=self.resources, slot_seconds=slot_seconds)

    def notes(self, service: Law | Sequence[Law] | Durations | None) -> tuple[str, ...]:
        """Lines that say what begins, what is assumed of times, and what is ignored."""
        ends = service not in (None, ())
        begun = [pod for pod, node in zip(self.running, self.node, strict=True) if node >= 0]
        ending = sum(not pod.endless for pod in begun) if ends else 0
        times = f"{len(begun)} pods run at the start" + (f", {ending} of them for a time that is drawn" if ending else "")
        law = "; others do not end" if ends else "; no pod ends (--service says how long those that can end last)"
        ignored = ", ".join(f"{count} {what}" for what, count in self.ignored.items())
        past = service.notes([*begun, *self.waiting]) if isinstance(service, Durations) else ()
        return (self.about, times + law, *past, *([f"ignored: {ignored}"] if ignored else []))


def is_cluster(path: Path) -> bool:
    """Whether a file begins as kubectl prints lists in JSON."""
    return START.match(first_bytes(path, SNIFFED)) is not None


def read_cluster(path: str | Path, wanted: Wanted = None) -> Cluster:
    """The cluster that `kubectl get nodes,pods -A -o json` printed to a file.

    `wanted`: names of the resources; by default cpu, memory and the extended resources (nvidia.com/gpu) that pods ask for;
    "all" takes all that pods ask for, and `pods`, the number that a node takes. Raises InputError, naming file and object.
    """
    where = Path(path)
    nodes, pods = read_objects(where)
    usable = [node for node in nodes if node.problem is None]
    left_out = Counter(f"{node.problem} nodes" for node in nodes if node.problem is not None)
    if not usable:
        raise InputError(f"{where}: all of its {len(nodes)} nodes are unschedulable or not ready")
    alive = [pod for pod in pods if not pod.done]
    resources = _resources(where, usable, alive, wanted)
    largest = [max(node.offers.get(name, Fraction(0)) for node in usable) for name in resources]
    number = {node.name: n for n, node in enumerate(usable)}
    capacity = _shares([node.offers for node in usable], resources, largest)
    running, waiting, unfit = [], [], []
    for pod, demand in zip(alive, _shares([pod.asks for pod in alive], resources, largest), strict=True):
        if pod.node is not None and pod.node not in number:
            left_out[NO_NODE] += 1
        elif not demand.any():
            left_out[ASKS_NOTHING] += 1
        elif pod.node is not None:
            running.append((pod, demand))
        elif pod.held:
            left_out[HELD] += 1
        elif wanted is None and _asks_for_more(pod, usable):
            left_out[FITS_NOWHERE] += 1
        elif not (to_units(capacity) >= to_units(demand)).all(axis=1).any():
            unfit.append((pod, demand))
        else:
            waiting.append((pod, demand))
    left_out[FITS_NOWHERE] += len(unfit)
    left_out[COMPLETED] = len(pods) - len(alive)
    waiting.sort(key=lambda each: (each[0].created, each[0].name))
    now = max([node.seen for node in nodes] + [time for pod in pods for time in (pod.created, pod.started) if time is not None])
    ignored = Counter({"taints of nodes": sum(node.taints for node in usable)})
    ignored.update(f"{what} of waiting pods" for pod, _ in waiting for what in pod.ignored)
    found = Cluster(
        source=str(where),
        resources=resources,
        nodes=tuple(node.name for node in usable),
        capacity=capacity,
        running=tuple(pod for pod, _ in running),
        node=np.array([number[str(pod.node)] for pod, _ in running], np.int64),
        running_demand=np.array([demand for _, demand in running]).reshape(-1, len(resources)),
        waiting=tuple(pod for pod, _ in waiting),
        demand=np.array([demand for _, demand in waiting]).reshape(-1, len(resources)),
        row=np.arange(len(waiting)),
        left_out={reason: count for reason, count in left_out.items() if count},
        ignored={reason: count for reason, count in ignored.items() if count},
        now=now,
        about="capacity 1: the largest node, " + ", ".join(map(_amount, resources, largest)),
        unfit=tuple(pod for pod, _ in unfit),
        unfit_demand=np.array([demand for _, demand in unfit]).reshape(-1, len(resources)),
    )
    _check_room(found)
    return found


def _resources(path: Path, nodes: list[Node], pods: list[Pod], wanted: Wanted) -> tuple[str, ...]:
    """The names of the resources to read. Raises InputError if a node offers none of them."""
    offered = {name for node in nodes for name, amount in node.offers.items() if amount > 0}
    asked = {name for pod in pods for name, amount in pod.asks.items() if amount > 0} & offered
    extended = sorted(name for name in asked if "/" in name)
    usual = (*(name for name in USUAL if name in offered), *extended)
    known = (*usual, *sorted((asked | offered & {"pods"}) - {*usual}))
    if not known:
        raise InputError(f"{path}: no node says what it offers (status, allocatable)")
    return wanted_of(wanted, known, usual or known, path)


def _asks_for_more(pod: Pod, nodes: list[Node]) -> bool:
    """Whether a pod asks for an extended resource that no node offers."""
    extended = [name for name, amount in pod.asks.items() if "/" in name and amount > 0]
    return any(all(node.offers.get(name, 0) == 0 for node in nodes) for name in extended)


def _shares(found: list[dict[str, Fraction]], resources: tuple[str, ...], largest: list[Fraction]) -> Floats:
    """(n, D) amounts in units of the largest node; a pod counts as one of `pods`."""
    rows = [
        [float(own.get(name, Fraction(name == "pods")) / most) for name, most in zip(resources, largest, strict=True)]
        for own in found
    ]
    return np.array(rows, np.float64).reshape(-1, len(resources))


def _amount(name: str, amount: Fraction) -> str:
    unit, word = UNITS.get(name, (1, name))
    return f"{float(amount / unit):,.4g} {word}" + (" memory" if name == "memory" else "")


def _check_room(found: Cluster) -> None:
    """Raise InputError for the first node that its running pods exceed."""
    left = to_units(found.capacity)
    np.subtract.at(left, found.node, to_units(found.running_demand))
    if (left < 0).any():
        node, resource = np.argwhere(left < 0)[0]
        raise InputError(
            f"{found.source}: node {found.nodes[node]}: its pods ask for more {found.resources[resource]} than it has"
        )
