"""Pods of a dump as tasks of `packenv.Scheduler`."""

from __future__ import annotations

from typing import Any

from packenv import Servers
from packenv_kubernetes.dump import read_cluster


def tasks_of(path: str) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return arguments of `Scheduler.submit` for pods, and the nodes as servers.

    Amounts are shares of the largest node. Rules on nodes and gangs play no part, so the calling scheduler must refuse forbidden
    starts.
    """
    cluster = read_cluster(path)
    running = zip(cluster.running, cluster.running_demand.tolist(), cluster.node.tolist(), strict=True)
    tasks: list[dict[str, Any]] = [
        {"task": pod.name, "size": demand, "server": cluster.nodes[node]} for pod, demand, node in running if any(demand)
    ]
    tasks += [{"task": pod.name, "size": demand} for pod, demand in zip(cluster.waiting, cluster.demand.tolist(), strict=True)]
    return tasks, {"servers": Servers(cluster.capacity, names=cluster.nodes), "resources": cluster.resources}
