"""Reads a cluster as printed by kubectl."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from packenv import Workload
from packenv.extend import (
    ArgumentError,
    InputError,
    Provenance,
    Wanted,
    experimental,
    from_standard_input,
    parse_law,
    resource_names,
)
from packenv_kubernetes.cluster import (
    ASKS_NOTHING,
    COMPLETED,
    DELETED,
    FITS_NOWHERE,
    HELD,
    LOST,
    NEVER_WHOLE,
    NO_NODE,
    PINNED,
    Cluster,
    shares_of,
)
from packenv_kubernetes.filters import UNSCHEDULABLE
from packenv_kubernetes.manifests import Submitted
from packenv_kubernetes.objects import Node, Pod, read_objects
from packenv_kubernetes.shared_gpus import ABOVE_HALF, GPU_COUNT, GPU_MEM, OF_ONE_GPU, SharedGpus, shared_gpus, with_whole_gpus

Floats = NDArray[np.float64]

USUAL = ("cpu", "memory")
PLACEHOLDERS = "running placeholders of YuniKorn: each gives its place to a waiting pod of its task group"


@experimental
def read_cluster(path: str | Path, choice: Wanted = None, submitted: Submitted | None = None) -> Cluster:
    """Read a cluster that `kubectl get nodes,pods -A -o json` printed.

    `submitted`: pods to add. `choice`: names of the resources. Default: cpu, memory and the requested extended resources
    (nvidia.com/gpu). "all" takes all requested ones, and `pods`, the pods of a node. Raises InputError, naming file and object.
    """
    where = Path(from_standard_input(path))
    nodes, pods, others, minimums, suspended = read_objects(where)
    pods, freed = without_placeholders(pods)
    times = [time for pod in pods for time in (pod.created, pod.started) if time is not None]
    now = max([node.latest for node in nodes] + times)
    if submitted is not None:
        pods = [*pods, *submitted.pods(str(where), pods, now, minimums)]
    # Ready nodes, and resources that count.
    ready = [node for node in nodes if node.problem is None]
    left_out = Counter(f"{node.problem} nodes" for node in nodes if node.problem is not None)
    left_out.update({kind if " " in kind else f"objects of kind {kind}": count for kind, count in others.items()})
    if all(UNSCHEDULABLE in [taint.key for taint in node.traits.taints] for node in ready):
        raise InputError(f"{where}: all of its {len(nodes)} nodes are unschedulable or not ready")
    pods = without_unlisted(pods, ready)
    ready, alive = with_whole_gpus(ready, [pod for pod in pods if not pod.done])
    resources = _resources(where, ready, alive, choice)
    largest = [max(node.offers.get(name, Fraction(0)) for node in ready) for name in resources]
    number = {node.name: n for n, node in enumerate(ready)}
    all_nodes = {node.name for node in nodes}
    capacity = shares_of([node.offers for node in ready], resources, largest)
    running, waiting = [], []
    # Sort pods into running, waiting and left out.
    elsewhere: Counter[str] = Counter()  # by gang: pods that count as running, but are left out
    for pod, demand in zip(alive, shares_of([pod.asks for pod in alive], resources, largest), strict=True):
        if pod.node is not None and pod.node not in number:
            left_out[NO_NODE if pod.node in all_nodes else LOST] += 1
            elsewhere[pod.gang_name] += 1
        elif pod.node is not None:
            if demand.any() or pod.rules.ports:
                running.append((pod, demand))
            else:
                left_out[ASKS_NOTHING] += 1
                elsewhere[pod.gang_name] += 1
        elif pod.held:
            left_out[HELD] += 1
        elif pod.stays:
            left_out[PINNED] += 1
        elif pod.deleted is not None:
            left_out[DELETED] += 1
        elif choice is None and _asks_for_more(pod, ready):
            waiting.append((pod, np.full(len(resources), np.inf)))
        elif not demand.any() and pod.submitted:
            raise InputError(f"{pod.name}, which is submitted, requests none of {', '.join(resources)}")
        elif not demand.any():
            left_out[ASKS_NOTHING] += 1
            elsewhere[pod.gang_name] += 1
        else:
            waiting.append((pod, demand))
    node = np.array([number[str(pod.node)] for pod, _ in running], np.int64)
    # GPUs that pods share, then the cluster and its queue.
    shares_count = GPU_MEM in resources and len(resources) > 1
    gpus = shared_gpus(ready, [pod for pod, _ in running], node, [pod for pod, _ in waiting]) if shares_count else None
    cluster = Cluster(
        source=str(where),
        resources=resources,
        nodes=tuple(node.name for node in ready),
        capacity=capacity,
        traits=tuple(node.traits for node in ready),
        running=tuple(pod for pod, _ in running),
        node=node,
        running_demand=np.array([demand for _, demand in running]).reshape(-1, len(resources)),
        waiting=(),
        demand=np.zeros((0, len(resources))),
        row=np.arange(0),
        left_out={**left_out, FITS_NOWHERE: 0, NEVER_WHOLE: 0, COMPLETED: len(pods) - len(alive)},
        ignored=_ignored(gpus, ready, [pod for pod, _ in (*running, *waiting)]) | ({PLACEHOLDERS: freed} if freed else {}),
        suspended=dict(suspended),
        now=now,
        amounts=tuple(largest),
        gpus=gpus,
    )
    demands = np.array([demand for _, demand in waiting]).reshape(-1, len(resources))
    return cluster.with_queue([pod.with_others(elsewhere[pod.gang_name]) for pod, _ in waiting], demands)


def without_placeholders(pods: list[Pod]) -> tuple[list[Pod], int]:
    """Remove YuniKorn's placeholders of waiting task groups. Count them."""
    waiting = Counter(pod.task_group for pod in pods if pod.task_group and pod.node is None and not (pod.done or pod.placeholder))
    kept = []
    for pod in pods:
        if pod.placeholder and pod.node is not None and not pod.done and waiting[pod.task_group]:
            waiting[pod.task_group] -= 1
        else:
            kept.append(pod)
    return kept, len(pods) - len(kept)


def without_unlisted(pods: list[Pod], nodes: Sequence[Node]) -> list[Pod]:
    """Remove requests for resources of no node, which others account for."""
    listed = {name for node in nodes for name in node.offers}
    unlisted = {name for pod in pods if pod.node is not None and not pod.done for name in pod.asks} - listed
    return [
        pod._replace(
            asks={name: amount for name, amount in pod.asks.items() if name not in unlisted},
            unmodelled=(*pod.unmodelled, *sorted(unlisted.intersection(pod.asks))),
        )
        if unlisted.intersection(pod.asks)
        else pod
        for pod in pods
    ]


def workload_of(
    path: str, choice: Wanted = None, slot_seconds: float = 1.0, changes: Mapping[str, Any] | None = None
) -> Workload:
    """Return the workload that begins with the cluster of a file.

    changes  `service`: a law or its text, laws, or past durations. The file has the others: ArgumentError
    """
    others = dict(changes or {})
    service = others.pop("service", None)
    for argument in others:
        raise ArgumentError(f"`{argument}` does not go with a cluster as it is: {path} sets it")
    cluster = read_cluster(path, choice)
    law = parse_law(service, "`service`", slot_seconds) if isinstance(service, str) else service
    return cluster.workload(law, slot_seconds).recorded(Provenance(cluster.left_out))


def _ignored(gpus: SharedGpus | None, nodes: Sequence[Node], pods: Sequence[Pod]) -> dict[str, int]:
    counts = {"podAntiAffinity of running pods": sum("podAntiAffinity" in pod.unmodelled for pod in pods if pod.node)}
    of_one_gpu = OF_ONE_GPU if gpus is not None else (GPU_MEM, *OF_ONE_GPU)
    for name in of_one_gpu:
        counts[f"pods whose {name} must be on one GPU: the GPUs of a node are one amount"] = sum(
            bool(pod.asks.get(name)) for pod in pods
        )
    if gpus is not None:
        shares = [pod for pod in pods if pod.asks.get(GPU_MEM)]
        several = f"pods whose {GPU_MEM} is to be of several GPUs: a node's is one amount"
        counts[several] = sum(GPU_COUNT in pod.asks for pod in shares)
        silent = any(node.offers.get(GPU_MEM) and GPU_COUNT not in node.offers for node in nodes)
        counts[f"pods with {GPU_MEM}, on nodes without a number of GPUs: one GPU each is assumed"] = len(shares) * silent
    return {what: count for what, count in counts.items() if count}


def _resources(path: Path, nodes: list[Node], pods: list[Pod], choice: Wanted) -> tuple[str, ...]:
    """Return names of offered resources to read. Raises InputError."""
    offered = {name for node in nodes for name, amount in node.offers.items() if amount > 0}
    requested = {name for pod in pods for name, amount in pod.asks.items() if amount > 0} & offered
    extended = sorted(name for name in requested if "/" in name)
    usual = (*(name for name in USUAL if name in offered), *extended)
    available = (*usual, *sorted((requested | offered & {"pods"}) - {*usual}))
    if not available:
        raise InputError(f"{path}: no node has its capacity (status, allocatable)")
    new = any(pod.submitted for pod in pods)
    binding = ("pods",) if "pods" in offered and (new or _pods_bind(nodes, pods, usual)) else ()
    names = resource_names(choice, available, (*usual, *binding) or available, path)
    of_whole = (name for name in extended if name.startswith(ABOVE_HALF) and GPU_MEM in names)
    return tuple(dict.fromkeys((*names, *of_whole)))


def _pods_bind(nodes: list[Node], pods: list[Pod], usual: tuple[str, ...]) -> bool:
    """Return whether `pods` may run out, or nothing else counts."""
    staying = Counter(pod.node for pod in pods if pod.stays)
    movable = sum(not pod.stays for pod in pods)
    if any(node.offers.get("pods", movable + staying[node.name]) < movable + staying[node.name] for node in nodes):
        return True
    return any(pod.node is None and not any(pod.asks.get(name) for name in usual) for pod in pods)


def _asks_for_more(pod: Pod, nodes: list[Node]) -> bool:
    """Return whether a pod requests an extended resource of no node."""
    extended = [name for name, amount in pod.asks.items() if "/" in name and amount > 0]
    return any(all(node.offers.get(name, 0) == 0 for node in nodes) for name in extended)
