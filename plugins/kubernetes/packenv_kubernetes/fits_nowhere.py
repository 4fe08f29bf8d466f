"""Reasons why pods or gangs cannot start, and remedies."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from packenv.extend import to_units
from packenv_kubernetes.filters import admitted
from packenv_kubernetes.pod_groups import PodGroup, beside_own, largest_first, least_priority, pod_groups, room_for
from packenv_kubernetes.shared_gpus import ABOVE_HALF
from packenv_kubernetes.texts import MOST_NAMED, amount_text, counted, some

if TYPE_CHECKING:
    from packenv_kubernetes.cluster import Cluster
    from packenv_kubernetes.objects import Pod

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


def unfit_lines(cluster: Cluster) -> list[str]:
    """Return lines on unfit pods, alike ones together, and on gangs."""
    alone = cluster.fitting_alone(cluster.unfit, cluster.unfit_demand)
    groups: dict[Any, list[int]] = {}
    for n in np.flatnonzero(~alone).tolist():
        pod = cluster.unfit[n]
        groups.setdefault((pod.rules, tuple(sorted(pod.asks.items()))), []).append(n)
    alike = [*groups.values()]
    lines = [_pods_line(cluster, group) for group in alike[:MOST_NAMED]]
    more = sum(map(len, alike[MOST_NAMED:]))
    lines += [f"{counted(more, 'more waiting pod')} fit on no node"] if more else []

    in_service = (pod for pod, node in zip(cluster.running, cluster.node, strict=True) if node >= 0)
    gangs = [group for group in pod_groups(cluster.unfit, in_service) if alone[[*group.members]].any()]
    lines += [_gang_line(cluster, group, alone) for group in gangs[:MOST_NAMED]]
    more = len(gangs) - MOST_NAMED
    return [*lines, *([f"{counted(more, 'more gang')} cannot start as a whole"] if more > 0 else [])]


def _pods_line(cluster: Cluster, numbers: Sequence[int]) -> str:
    """Return the line on equal unfit pods."""
    pod, demand = cluster.unfit[numbers[0]], cluster.unfit_demand[numbers[0]]
    each = "each requests" if len(numbers) > 1 else "it requests"
    verb = "fit" if len(numbers) > 1 else "fits"
    what = f"{some([cluster.unfit[n].name for n in numbers])} {verb} on no node: {each} {_asks(pod)}"
    if np.isinf(demand).any():
        missing = [name for name, amount in pod.asks.items() if amount and "/" in name and name not in cluster.resources]
        return f"{what}; no node has {some(missing)}; a node with it would help, but the file has none"
    nodes = _Nodes(cluster, pod, demand)
    helps = next((text for text in nodes.candidates() if nodes.fits_on_new(text)), None)
    if helps is not None:
        return f"{what}; {nodes.reason}; --add {helps} would help, a node like this"
    some_may = nodes.allowed.any() and not len(nodes.barred)
    like = f"a node like {cluster.nodes[cluster.commonest]}" if some_may else "a node like one of these"
    return f"{what}; {nodes.reason}; --add with {like} does not help"


def _gang_line(cluster: Cluster, group: PodGroup, alone: Bools) -> str:
    """Return the line on an unable gang. `alone`: pods with a node."""
    if group.missing:
        run = f"{group.running:,} {'runs' if group.running == 1 else 'run'}"
        return f"gang {group.name} does not start: its minimum is {group.least:,} pods, {run}, and {len(group.members):,} wait"
    lacking = [cluster.unfit[n].name for n in group.members if not alone[n]]
    what = f"gang {group.name} does not start as a whole: {counted(group.needed, 'pod')} start together"
    if lacking:
        return f"{what}, and {some(lacking)} {'fit' if len(lacking) > 1 else 'fits'} on no node"

    together = largest_first(group.together, cluster.unfit_demand)
    pods, demand = [cluster.unfit[n] for n in together], cluster.unfit_demand[together]
    room, traits = cluster.emptied(least_priority(pods))
    own_nodes, room = room, beside_own(cluster, group, room)
    found = room_for(pods, demand, room, traits).found
    beside = "the running pods" if room is not own_nodes else "pods of the nodes themselves"
    who = "each" if len({_asks(pod) for pod in pods}) == 1 else "the largest"
    what += f", {who} requests {_asks(pods[0])}; the nodes have room for {found:,} of them next to {beside}"

    # The fewest new nodes of the commonest kinds: at most one for each pod.
    def holds(like: int, count: int) -> bool:
        new = [traits[like].renamed(f"added {n + 1}") for n in range(count)]
        larger = np.concatenate([room, np.tile(own_nodes[like], (count, 1))])
        return room_for(pods, demand, larger, [*traits, *new]).found == len(pods)

    for like in cluster.kinds[:MOST_NAMED]:
        if holds(like, group.needed):
            low, high = 0, group.needed
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (low, middle) if holds(like, middle) else (middle, high)
            such = "a node like this" if high == 1 else f"{high:,} nodes like this"
            return f"{what}; --add {cluster.nodes[like]} would help, {such}"
    return f"{what}; --add with a node like {cluster.nodes[cluster.commonest]} does not help"


def _asks(pod: Pod) -> str:
    amounts = {name: amount for name, amount in sorted(pod.asks.items()) if amount and not name.startswith(ABOVE_HALF)}
    asks = ", ".join(amount_text(name, float(amount)) for name, amount in amounts.items()) or "nothing"
    sizes = [
        float(name.removeprefix(ABOVE_HALF)) for name, amount in pod.asks.items() if name.startswith(ABOVE_HALF) and amount > 1
    ]
    return asks + (f", its share of a GPU on a single one, which has {max(sizes):g} at the most" if sizes else "")


@dataclass
class _Nodes:
    """The nodes with their own pods alone, for an unfit demand (D,)."""

    cluster: Cluster
    pod: Pod
    demand: Floats

    def __post_init__(self) -> None:
        self.room, self.traits = self.cluster.emptied(self.pod.priority if self.pod.preempts else -math.inf)
        self.allowed = admitted([self.pod.rules], self.traits)[0]
        self.roomy = self._holds(self.room)
        self.barred = np.flatnonzero(self.roomy & ~self.allowed).tolist()
        off = self.barred if self.allowed.any() else range(len(self.traits))
        self.why = {n: str(self.pod.rules.against(self.traits[n])) for n in off}  # by node

    def _holds(self, room: Floats) -> Bools:
        need = to_units(self.demand)
        return np.asarray(((need <= to_units(room)) | (need == 0)).all(axis=-1), np.bool_)

    @property
    def nearest(self) -> int:
        """Allowed node with the least missing."""
        nodes = np.flatnonzero(self.allowed)
        missing = np.maximum(self.demand - self.room[nodes], 0.0) / np.maximum(self.demand, 1e-12)
        return int(nodes[np.argmin(missing.sum(axis=1))])

    @property
    def reason(self) -> str:
        """Reason against the pod, or the room of the nearest node."""
        names = self.cluster.nodes
        reasons = ", ".join(f"{why} ({counted(count, 'node')})" for why, count in Counter(self.why.values()).most_common())
        if self.barred:
            have = "have" if len(self.barred) > 1 else "has"
            return f"{some([names[n] for n in self.barred])} {have} room; excluded by {reasons}"
        if not self.allowed.any():
            return f"excluded from every node by {reasons}"
        beside = " next to its own pods" if self._used(self.nearest).any() else ""
        has = self.cluster.amounts_text(self.room[self.nearest])
        return f"the nearest, {names[self.nearest]}, has {has}{beside}"

    def candidates(self) -> list[str]:
        """Return values of `--add` to try.

        They are a node with room for each reason, and a sufficient capacity. A new node lacks the state and name of its template,
        so one like a barred node may help.
        """
        examples = {why: self.cluster.nodes[n] for n, why in self.why.items() if self.roomy[n]}
        texts = [*examples.values()][:MOST_NAMED]
        if self.allowed.any():
            used = np.maximum(self._used(self.nearest), self._used(self.cluster.commonest))  # the new node's own pods
            enough = np.ceil((self.demand + used) * 1000 - 1e-6) / 1000
            capacity = np.maximum(self.cluster.capacity[self.nearest], enough) + 0.0  # no -0
            of_gpus = [name.startswith(ABOVE_HALF) for name in self.cluster.resources]  # more GPUs make none larger
            capacity[of_gpus] = self.cluster.capacity[self.nearest, of_gpus]
            texts.append(":".join(f"{share:.4g}" for share in capacity))
        return texts

    def fits_on_new(self, add: str) -> bool:
        """Return whether the pod fits a node made by `--add`."""
        named = add in self.cluster.nodes
        like = self.cluster.nodes.index(add) if named else self.cluster.commonest
        capacity = self.cluster.capacity[like] if named else np.array([float(share) for share in add.split(":")])
        room = np.maximum(capacity - self._used(like), 0.0)
        return bool(self._holds(room)) and self.pod.rules.against(self.traits[like].renamed("added 1")) is None

    def _used(self, node: int) -> Floats:
        return np.asarray(self.cluster.capacity[node] - self.room[node], np.float64)
