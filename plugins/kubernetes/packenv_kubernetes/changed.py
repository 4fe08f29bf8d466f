"""A cluster with added or removed nodes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from packenv.extend import InputError, as_servers, nearest, read_whole, to_units
from packenv_kubernetes.cluster import Cluster
from packenv_kubernetes.filters import Traits
from packenv_kubernetes.objects import Pod
from packenv_kubernetes.pod_groups import pod_groups, whole_gangs
from packenv_kubernetes.shared_gpus import GPU_MEM
from packenv_kubernetes.texts import counted, some

Bools = NDArray[np.bool_]

MOST_ADDED = 10_000


class NodeKind(NamedTuple):
    """A node's capacity, and a template of labels, taints and own pods."""

    name: str  # a node of this kind, or the capacity as it was given
    capacity: tuple[float, ...]  # (D,) in units of the largest node
    template: str  # a node

    def is_on(self, cluster: Cluster) -> Bools:
        """Return the nodes of this kind: equal size and lasting taints, (L,)."""
        size = (to_units(cluster.capacity) == to_units(np.array(self.capacity))).all(axis=1)
        taints = self._traits(cluster).lasting()
        return np.asarray(size & np.array([node.lasting() == taints for node in cluster.traits], np.bool_), np.bool_)

    def pods(self, cluster: Cluster) -> list[int]:
        """Return the running pods, by number, for each new node too."""
        node = cluster.nodes.index(self.template)
        return [n for n in np.flatnonzero(cluster.node == node).tolist() if cluster.running[n].stays]

    def nodes(self, cluster: Cluster, count: int) -> list[Traits]:
        """Return the traits of `count` new nodes."""
        return [self._traits(cluster).renamed(f"added {n + 1}") for n in range(count)]

    def note(self, cluster: Cluster) -> str:
        """Return a line about the pods of a new node."""
        names = [cluster.running[n].name for n in self.pods(cluster)]
        pods = f"{counted(len(names), 'pod')} like its own ({some(names)}) run there" if names else "no pods of their own"
        return f"new nodes are like {self.template}: its labels and taints; {pods}"

    def _traits(self, cluster: Cluster) -> Traits:
        return cluster.traits[cluster.nodes.index(self.template)]


def kind_of(cluster: Cluster, text: str | None = None) -> NodeKind:
    """Return the kind of a node name, a capacity, or the commonest (InputError)."""
    rows = [tuple(row) for row in cluster.capacity.tolist()]
    common = cluster.commonest
    if text is None:
        return NodeKind(cluster.nodes[common], rows[common], cluster.nodes[common])
    if text in cluster.nodes:
        return NodeKind(text, rows[cluster.nodes.index(text)], text)
    try:
        capacity = as_servers(f"1x{text}", len(cluster.resources)).capacity
    except InputError:
        suggestion = nearest(text, cluster.nodes) if len(cluster.nodes) <= 20 else ""
        raise InputError(f"--add {text}: neither a node of {cluster.source} nor a capacity such as 1:0.5{suggestion}") from None
    if capacity.shape[1] != len(cluster.resources):
        raise InputError(f"--add {text}: a node has {len(cluster.resources)} resources: {', '.join(cluster.resources)}")
    return NodeKind(text, tuple(capacity[0].tolist()), cluster.nodes[common])


def nodes_to_add(cluster: Cluster, text: str) -> tuple[int, NodeKind]:
    """Return number and kind of `node-3`, `1:0.5` or `3xnode-3` (InputError)."""
    number, times, kind = text.partition("x")
    if text in cluster.nodes or not (times and number.isdecimal()):
        return 1, kind_of(cluster, text)
    count = read_whole(number)
    if not 1 <= count <= MOST_ADDED:
        raise InputError(f"--add {text}: from 1 to {MOST_ADDED:,} nodes")
    return count, kind_of(cluster, kind)


def changed(cluster: Cluster, kind: NodeKind, count: int) -> Cluster:
    """Return the cluster with `count` more nodes of a kind.

    If `count` is negative, nodes are removed, those with the least in service first. Waiting pods that fit only this kind wait
    too, or are `stranded` while there are too few nodes of it. Raises InputError if the cluster has too few nodes.
    """
    joined = with_unfit(cluster, kind)
    if count < 0:
        names = emptiest_first(joined, kind)
        if -count > len(names):
            raise InputError(f"{cluster.source}: {len(names)} nodes are like {kind.name}, not {-count}")
        return without_nodes(joined, names[:-count])
    if count and not any(pod.gang for pod in joined.waiting):  # of pods by themselves all fit on one that is new
        return _grown(joined, kind, count)
    return _without_stranded(_grown(joined, kind, count) if count else joined)


def _grown(cluster: Cluster, kind: NodeKind, count: int) -> Cluster:
    """Return the cluster with `count` more nodes."""
    traits, staying = kind.nodes(cluster, count), kind.pods(cluster)
    pods = [cluster.running[n]._replace(name=f"{node.name}: {cluster.running[n].name}") for node in traits for n in staying]
    gpus = cluster.gpus
    if gpus is not None:
        memory = cluster.resources.index(GPU_MEM)
        offered = kind.capacity[memory] * float(cluster.amounts[memory])
        gpus = gpus.grown(cluster.nodes.index(kind.template), offered, count, staying)
    return replace(
        cluster,
        nodes=(*cluster.nodes, *(node.name for node in traits)),
        capacity=np.concatenate([cluster.capacity, np.tile(np.array(kind.capacity), (count, 1))]),
        traits=(*cluster.traits, *traits),
        gpus=gpus,
        running=(*cluster.running, *pods),
        node=np.concatenate([cluster.node, np.repeat(len(cluster.nodes) + np.arange(count), len(staying))]),
        running_demand=np.concatenate([cluster.running_demand, np.tile(cluster.running_demand[staying], (count, 1))]),
    )


def without_nodes(cluster: Cluster, names: Sequence[str]) -> Cluster:
    """Return the cluster without these nodes.

    Their pods start again, queued behind the waiting ones. The nodes' own pods are gone. Pods of a gang start again together
    with its waiting pods, and its other pods keep running. Pods that fit no other node, or whose gang cannot start as a whole,
    are `stranded`. Raises InputError for an unknown node, and if none is left.
    """
    present = {*cluster.nodes}
    for name in names:
        if name not in present:
            raise InputError(f"{cluster.source} has no node {name} that is ready{nearest(name, cluster.nodes)}")
    leaving = {*names}
    gone = np.array([name in leaving for name in cluster.nodes], np.bool_)
    if gone.all():
        raise InputError(f"{cluster.source}: no node is left")
    # New numbers of the nodes, and the pods to queue again.
    number = np.where(gone, -1, np.cumsum(~gone) - 1)
    node = np.where(cluster.node < 0, -1, number[cluster.node])
    queued = [n for n in np.flatnonzero((node < 0) & (cluster.node >= 0)).tolist() if returns(cluster.running[n])]
    smaller = replace(
        cluster,
        nodes=tuple(name for name, out in zip(cluster.nodes, gone, strict=True) if not out),
        capacity=cluster.capacity[~gone],
        gpus=None if cluster.gpus is None else cluster.gpus.only(~gone),
        traits=tuple(traits for traits, out in zip(cluster.traits, gone, strict=True) if not out),
        node=node,
        again=(*cluster.again, *queued),
    )
    return _without_stranded(smaller)


def emptiest_first(cluster: Cluster, kind: NodeKind) -> list[str]:
    """Return names of a kind's nodes, least used first (scarcest resource)."""
    used = np.zeros_like(cluster.capacity)
    returning = [n for n in np.flatnonzero(cluster.node >= 0).tolist() if returns(cluster.running[n])]
    np.add.at(used, cluster.node[returning], cluster.running_demand[returning])
    largest = used.max(axis=1)
    return [cluster.nodes[n] for n in sorted(np.flatnonzero(kind.is_on(cluster)), key=lambda n: (largest[n], n))]


def without_submitted(cluster: Cluster) -> Cluster:
    """Return the cluster without submitted pods. Random numbers stay."""
    pods, demand = [*cluster.waiting, *cluster.unfit], np.concatenate([cluster.demand, cluster.unfit_demand])
    there = np.flatnonzero([not pod.submitted for pod in pods])
    pods, demand = [pods[n] for n in there], demand[there]
    more = cluster.row.max(initial=-1) + 1 + np.arange(len(cluster.unfit))  # of one that fits only without those
    return cluster.with_queue(pods, demand, row=np.concatenate([cluster.row, more])[there])


def with_changed_pods(cluster: Cluster, change: Callable[[Pod], Pod]) -> Cluster:
    """Return the cluster with changed waiting pods."""
    pods = [change(pod) for pod in (*cluster.waiting, *cluster.unfit)]
    without_end = {pod.name for pod, row in zip(cluster.unfit, cluster.unfit_demand, strict=True) if np.isinf(row).any()}
    demand = cluster.shares(pods)
    demand[[pod.name in without_end for pod in pods]] = np.inf  # of a resource that no node has
    return cluster.with_queue(pods, demand)


def with_unfit(cluster: Cluster, kind: NodeKind) -> Cluster:
    """Return the cluster with unfit pods and gangs waiting for this kind."""
    if not cluster.unfit:
        return cluster
    gangs = pod_groups(cluster.unfit, cluster.running)
    larger = _grown(cluster, kind, max((len(group.members) for group in gangs), default=1))  # one for each pod
    if not larger.fitting_alone(cluster.unfit, cluster.unfit_demand).any():
        return cluster
    demand = np.concatenate([cluster.demand, cluster.unfit_demand])
    joined = cluster.with_queue([*cluster.waiting, *cluster.unfit], demand, larger)
    return joined if len(joined.waiting) > len(cluster.waiting) else cluster


def _without_stranded(cluster: Cluster) -> Cluster:
    """Return the cluster without waiting pods or gangs unable to start."""
    pods = [*cluster.waiting, *(cluster.running[n] for n in cluster.again)]
    demand = np.concatenate([cluster.demand, cluster.anew(cluster.again)])
    fit, undecided = whole_gangs(cluster, pods, demand, cluster.fitting_alone(pods, demand))
    waiting, again = fit[: len(cluster.waiting)], fit[len(cluster.waiting) :]
    lost = [pod.name for pod, fits in zip(pods, fit, strict=True) if not fits]
    return replace(
        cluster,
        waiting=tuple(pod for pod, fit in zip(cluster.waiting, waiting, strict=True) if fit),
        demand=cluster.demand[waiting],
        row=cluster.row[waiting],
        again=tuple(n for n, fits in zip(cluster.again, again, strict=True) if fits),
        stranded=(*cluster.stranded, *lost),
        undecided=cluster.undecided or undecided,
    )


def returns(pod: Pod) -> bool:
    """Return whether a running pod is queued again if its node is gone."""
    return not pod.stays and pod.deleted is None
