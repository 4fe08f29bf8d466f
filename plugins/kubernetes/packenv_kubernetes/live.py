"""Pods of a dump as tasks of `packenv.Scheduler`."""

from __future__ import annotations

from dataclasses import replace
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
    Those above its minimum are held until then. Nothing is preempted. Tasks that the caller submits later have no rules.
    """
    cluster = read_cluster(path)
    running, waiting = cluster.running, cluster.waiting
    # Rules of waiting pods, and of running ones that may wait again. A rule that excludes a pod's own node does not count.
    moves = np.array([returns(pod) for pod in running], np.bool_)
    queue = [*waiting, *(running[n] for n in np.flatnonzero(moves))]
    names, allowed, queued, staying = as_resources(queue, [running[n] for n in np.flatnonzero(~moves)], cluster.traits)
    rules = np.zeros((len(running), len(names)))
    rules[moves], rules[~moves] = queued[len(waiting) :], staying
    rules *= allowed[cluster.node] > 0
    sizes = np.hstack([np.vstack([cluster.running_demand, cluster.demand]), np.vstack([rules, queued[: len(waiting)]])])
    tasks: list[dict[str, Any]] = [
        {"task": pod.name, "size": row} for pod, row in zip((*running, *waiting), sizes.tolist(), strict=True)
    ]
    for task, node in zip(tasks, cluster.node.tolist(), strict=False):
        task["server"] = cluster.nodes[node]
    servers = Servers(np.hstack([cluster.capacity, allowed]), names=cluster.nodes)
    if (gpus := cluster.gpus) is not None:
        servers = replace(servers, devices=gpus.devices)
        shares = [*gpus.held(running)[:, SHARE].tolist(), *gpus.shares(waiting).tolist()]
        for task, share, bits in zip(tasks, shares, [*gpus.taken.tolist(), *([0] * len(waiting))], strict=True):
            task |= {"gpu": share / int(gpus.devices[:, WHOLE].max())} | ({"devices": [bits.bit_length() - 1]} if bits else {})

    # Gangs stand together in the queue.
    groups, order, gang = side_by_side(cluster, [], [])
    in_queue = [tasks[len(running) + n] for n in (order.tolist() if len(order) else range(len(waiting)))]
    for task, n, number in zip(in_queue, order.tolist(), gang.tolist(), strict=False):
        task |= {} if number == NO_GANG else {"gang": waiting[n].gang_name}
    for group in groups:
        for n in group.others:
            tasks[len(running) + n]["after"] = group.name
    tasks = [task for task in (*tasks[: len(running)], *in_queue) if any(task["size"])]
    return tasks, {"servers": servers, "resources": (*cluster.resources, *names)}
