"""Pods of a dump as tasks of `packenv.Scheduler`."""

from __future__ import annotations

from typing import Any

import numpy as np

from packenv import Servers
from packenv.extend import NO_GANG, SHARE, WHOLE
from packenv_kubernetes.changed import returns
from packenv_kubernetes.dump import read_cluster
from packenv_kubernetes.pod_groups import side_by_side
from packenv_kubernetes.rules_as_resources import as_resources


def tasks_of(path: str) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return arguments of `Scheduler.submit` for pods, and the nodes as servers.

    Amounts are shares of the largest node. Additional resources encode the rules of these pods. A gang's pods start together.
    Nothing is preempted. Tasks that the caller submits later have no rules.
    """
    cluster = read_cluster(path)
    running, waiting = cluster.running, cluster.waiting
    # Rules of waiting pods, and of running ones that may wait again. A rule that excludes a pod's own node does not count.
    moves = np.array([returns(pod) for pod in running], np.bool_)
    queue = [*waiting, *(running[n] for n in np.flatnonzero(moves))]
    names, allowed, queued, staying = as_resources(queue, [running[n] for n in np.flatnonzero(~moves)], cluster.traits)
    rules = np.zeros((len(running), len(names)))
    rules[moves], rules[~moves] = queued[len(waiting) :], staying
    in_service = np.hstack([cluster.running_demand, rules * (allowed[cluster.node] > 0)]).tolist()
    in_queue = np.hstack([cluster.demand, queued[: len(waiting)]]).tolist()

    _, order, gang = side_by_side(cluster, [], [])
    pods = zip(order.tolist(), gang.tolist(), strict=True) if len(order) else ((n, NO_GANG) for n in range(len(waiting)))
    tasks: list[dict[str, Any]] = [
        {"task": pod.name, "size": size, "server": cluster.nodes[node]}
        for pod, size, node in zip(running, in_service, cluster.node.tolist(), strict=True)
    ]
    tasks += [
        {"task": waiting[n].name, "size": in_queue[n]} | ({} if group == NO_GANG else {"gang": waiting[n].gang_name})
        for n, group in pods
    ]
    servers = Servers(np.hstack([cluster.capacity, allowed]), names=cluster.nodes)
    if (gpus := cluster.gpus) is not None:
        shares = {pod.name: share for pod, share in zip(waiting, gpus.shares(waiting).tolist(), strict=True)}
        held = gpus.held(running)
        devices = {pod.name: bits for pod, bits in zip(running, gpus.taken.tolist(), strict=True) if bits}
        shares |= {pod.name: share for pod, share in zip(running, held[:, SHARE].tolist(), strict=True)}
        for task in tasks:
            task["gpu"] = shares[task["task"]] / int(gpus.devices[:, WHOLE].max())
            task |= {"devices": [devices[task["task"]].bit_length() - 1]} if task["task"] in devices else {}
        servers = Servers(servers.capacity, gpus.devices, names=cluster.nodes)
    return [task for task in tasks if any(task["size"])], {"servers": servers, "resources": (*cluster.resources, *names)}
