"""A cluster as it would be: with nodes that are added, and without some that it has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from packenv.errors import InputError, nearest
from packenv.units import to_units
from packenv.workloads.kubernetes.cluster import FITS_NOWHERE, Cluster
from packenv.workloads.servers import as_servers

Bools = NDArray[np.bool_]


class NodeKind(NamedTuple):
    """What a node offers."""

    name: str  # a node of this kind, or the capacity as it was given
    capacity: tuple[float, ...]  # (D,) in units of the largest node

    def is_on(self, cluster: Cluster) -> Bools:
        """(L,) which nodes are of this kind."""
        return np.asarray((to_units(cluster.capacity) == to_units(np.array(self.capacity))).all(axis=1), np.bool_)


def kind_of(cluster: Cluster, text: str | None = None) -> NodeKind:
    """The kind of a node that is named, or of a capacity such as 1:0.5; by default the commonest. Raises InputError."""
    rows = [tuple(row) for row in cluster.capacity.tolist()]
    if text is None:
        most = Counter(rows).most_common(1)[0][0]
        return NodeKind(cluster.nodes[rows.index(most)], most)
    if text in cluster.nodes:
        return NodeKind(text, rows[cluster.nodes.index(text)])
    try:
        own = as_servers(f"1x{text}", len(cluster.resources)).capacity
    except InputError:
        known = nearest(text, cluster.nodes) if len(cluster.nodes) <= 20 else ""
        raise InputError(f"--add {text}: neither a node of {cluster.source} nor a capacity such as 1:0.5{known}") from None
    if own.shape[1] != len(cluster.resources):
        raise InputError(f"--add {text}: a node has {len(cluster.resources)} resources: {', '.join(cluster.resources)}")
    return NodeKind(text, tuple(own[0].tolist()))


def changed(cluster: Cluster, kind: NodeKind, count: int) -> Cluster:
    """With `count` more nodes of a kind; below 0 without so many of them, those with the least in service first.

    Waiting pods that fit on no node of today, but on one of this kind, wait too; while there is none, they are `stranded`.
    Raises InputError if there are not so many nodes.
    """
    joined = _with_unfit(cluster, kind)
    if count < 0:
        names = emptiest_first(joined, kind)
        if -count > len(names):
            raise InputError(f"{cluster.source}: {len(names)} nodes are like {kind.name}, not {-count}")
        return without_nodes(joined, names[:-count])
    added = np.tile(np.array(kind.capacity), (count, 1))
    nodes = (*joined.nodes, *(f"added {n + 1}" for n in range(count)))
    grown = replace(joined, nodes=nodes, capacity=np.concatenate([joined.capacity, added]))
    return grown if count else _without_stranded(grown)


def without_nodes(cluster: Cluster, names: Sequence[str]) -> Cluster:
    """Without these nodes. Their pods are queued behind those that wait, and start again.

    Pods that fit on none of the others are `stranded`, and do not wait. Raises InputError for a node that is not there, and if
    none is left.
    """
    for name in names:
        if name not in cluster.nodes:
            raise InputError(f"{cluster.source} has no node {name} that is ready{nearest(name, cluster.nodes)}")
    gone = np.isin(cluster.nodes, names)
    if gone.all():
        raise InputError(f"{cluster.source}: no node is left")
    number = np.where(gone, -1, np.cumsum(~gone) - 1)
    node = np.where(cluster.node < 0, -1, number[cluster.node])
    left = replace(
        cluster,
        nodes=tuple(name for name, out in zip(cluster.nodes, gone, strict=True) if not out),
        capacity=cluster.capacity[~gone],
        node=node,
        again=(*cluster.again, *np.flatnonzero((node < 0) & (cluster.node >= 0)).tolist()),
    )
    return _without_stranded(left)


def emptiest_first(cluster: Cluster, kind: NodeKind) -> list[str]:
    """Names of the nodes of a kind: those first whose pods ask for the least of the resource of which they ask for most."""
    used = np.zeros_like(cluster.capacity)
    here = cluster.node >= 0
    np.add.at(used, cluster.node[here], cluster.running_demand[here])
    largest = used.max(axis=1)
    return [cluster.nodes[n] for n in sorted(np.flatnonzero(kind.is_on(cluster)), key=lambda n: (largest[n], n))]


def _with_unfit(cluster: Cluster, kind: NodeKind) -> Cluster:
    """The pods that fit on this kind alone wait with the others, in order of creation."""
    fit = _fits(cluster.unfit_demand, np.array([kind.capacity]))
    if not fit.any():
        return cluster
    pods = [*cluster.waiting, *(pod for pod, own in zip(cluster.unfit, fit, strict=True) if own)]
    order = sorted(range(len(pods)), key=lambda n: (pods[n].created, pods[n].name))
    return replace(
        cluster,
        waiting=tuple(pods[n] for n in order),
        demand=np.concatenate([cluster.demand, cluster.unfit_demand[fit]])[order],
        row=np.arange(len(pods)),
        unfit=tuple(pod for pod, own in zip(cluster.unfit, fit, strict=True) if not own),
        unfit_demand=cluster.unfit_demand[~fit],
        left_out=_left_out(cluster, int(fit.sum())),
    )


def _without_stranded(cluster: Cluster) -> Cluster:
    """Pods that fit on none of the nodes do not wait."""
    waiting = _fits(cluster.demand, cluster.capacity)
    again = _fits(cluster.running_demand[[*cluster.again]], cluster.capacity)
    lost = [pod.name for pod, fit in zip(cluster.waiting, waiting, strict=True) if not fit]
    lost += [cluster.running[n].name for n, fit in zip(cluster.again, again, strict=True) if not fit]
    return replace(
        cluster,
        waiting=tuple(pod for pod, fit in zip(cluster.waiting, waiting, strict=True) if fit),
        demand=cluster.demand[waiting],
        row=cluster.row[waiting],
        again=tuple(n for n, fit in zip(cluster.again, again, strict=True) if fit),
        stranded=(*cluster.stranded, *lost),
    )


def _fits(demand: NDArray[np.float64], capacity: NDArray[np.float64]) -> Bools:
    """(n,) whether each demand fits on some node."""
    nodes, asked = to_units(np.unique(capacity, axis=0)), to_units(demand.reshape(-1, capacity.shape[1]))
    here: Bools = np.all(asked[:, None] <= nodes[None], axis=2)
    return np.any(here, axis=1)


def _left_out(cluster: Cluster, fit: int) -> dict[str, int]:
    counts = cluster.left_out | {FITS_NOWHERE: cluster.left_out[FITS_NOWHERE] - fit}
    return {reason: count for reason, count in counts.items() if count}
