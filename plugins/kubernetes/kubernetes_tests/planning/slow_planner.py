"""Whether any schedule meets a goal of a cluster's queue: all of them are tried, pod by pod, node by node, slot by slot.

Written from Kubernetes' documentation and the words of docs/model.md, on the objects as kubectl prints them, without
packenv's code. A pod that may be preempted goes when one of higher priority starts on its node. Slots are seconds.
"""

from __future__ import annotations

import itertools
import math
from datetime import datetime
from fractions import Fraction
from typing import Any, NamedTuple

from kubernetes_tests import slow_scheduler

Object = dict[str, Any]


class Running(NamedTuple):
    pod: Object
    start: int
    end: float


class Question(NamedTuple):
    """`service`: seconds that each pod that ends by itself lasts; `now`: the time of the dump; `jobs`: those with a deadline."""

    nodes: list[Object]
    running: list[Object]
    waiting: list[Object]
    service: int
    now: str
    jobs: tuple[Object, ...] = ()

    @property
    def items(self) -> list[Object]:
        return [*self.nodes, *self.running, *self.waiting, *self.jobs]


def grown(question: Question, template: str, count: int) -> Question:
    """With so many more nodes like one, and pods like those that belong to it."""
    like = next(each for each in question.nodes if each["metadata"]["name"] == template)
    own = [each for each in question.running if each["spec"]["nodeName"] == template and slow_scheduler.belongs(each)]
    nodes, pods = [*question.nodes], [*question.running]
    for n in range(count):
        name = f"more-{n}"
        spec = {"taints": like["spec"].get("taints", [])}  # a cordoned node's new ones are not
        nodes.append(like | {"metadata": like["metadata"] | {"name": name}, "spec": spec})
        for each in own:
            metadata = each["metadata"] | {"name": f"{each['metadata']['name']}-{n}"}
            pods.append(each | {"metadata": metadata, "spec": each["spec"] | {"nodeName": name}})
    return question._replace(nodes=nodes, running=pods)


def without(question: Question, names: list[str]) -> Question:
    """Without these nodes: their pods wait again, as new ones, but for those that belong to them or are being deleted."""
    nodes = [each for each in question.nodes if each["metadata"]["name"] not in names]
    stay = [each for each in question.running if each["spec"]["nodeName"] not in names]
    gone = [each for each in question.running if each["spec"]["nodeName"] in names]
    again = [each for each in gone if not slow_scheduler.belongs(each) and "deletionTimestamp" not in each["metadata"]]
    again = [each | {"status": {"phase": "Pending"}} for each in again]  # a new pod is not under way to another size
    return question._replace(nodes=nodes, running=stay, waiting=[*question.waiting, *again])


def seconds(a: str, b: str) -> int:
    return int((datetime.fromisoformat(b) - datetime.fromisoformat(a)).total_seconds())


def end_of(question: Question, pod: Object, start: int) -> float:
    """When a pod ends that starts so many seconds from now; it is there for a slot at least.

    At its deadline, or its Job's, it is told to end, and is gone when its grace period has passed; at its `deletionTimestamp`,
    in which the grace period is, it is gone.
    """
    spec, metadata = pod["spec"], pod["metadata"]
    grace = spec["terminationGracePeriodSeconds"]
    ends = [start + (math.inf if spec["restartPolicy"] == "Always" else question.service)]
    ends.append(start + spec.get("activeDeadlineSeconds", math.inf) + grace)
    for job in question.jobs:
        if any((each["kind"], each["name"]) == ("Job", job["metadata"]["name"]) for each in metadata.get("ownerReferences", [])):
            ends.append(seconds(question.now, job["status"]["startTime"]) + job["spec"]["activeDeadlineSeconds"] + grace)
    if "deletionTimestamp" in metadata:
        ends.append(seconds(question.now, metadata["deletionTimestamp"]))
    return max(min(ends), max(start, 0) + 1)


def started(question: Question, pod: Object) -> int:
    """When a running pod started, in seconds from now."""
    return -seconds(pod["status"].get("startTime", pod["metadata"]["creationTimestamp"]), question.now)


def fits_empty(question: Question, pod: Object) -> bool:
    """Whether it fits on some node where nothing is but what belongs there and it may not preempt."""
    for node in question.nodes:
        on_it = [each for each in question.running if each["spec"]["nodeName"] == node["metadata"]["name"]]
        low = slow_scheduler.lower(pod, on_it)
        if slow_scheduler.fits(pod, node, [each for each in on_it if slow_scheduler.belongs(each) and each not in low]):
            return True
    return False


def on_one_node(question: Question, node: Object, starts: list[tuple[int, Object]]) -> bool:
    """Whether the node has room for each of these pods when it starts. `starts`: slots and pods."""
    name = node["metadata"]["name"]
    running = [each for each in question.running if each["spec"]["nodeName"] == name]
    there = [Running(each, -1, end_of(question, each, started(question, each))) for each in running]
    for slot, group in itertools.groupby(sorted(starts, key=lambda each: each[0]), key=lambda each: each[0]):
        new = [pod for _, pod in group]
        there = [each for each in there if each.end > slot]
        for pod in new:
            gone = slow_scheduler.lower(pod, [each.pod for each in there])
            there = [each for each in there if not any(each.pod is other for other in gone)]
        on_it = [each.pod for each in there]
        for n, pod in enumerate(new):
            if not slow_scheduler.has_room(pod, node, [*on_it, *new[:n], *new[n + 1 :]]):
                return False
        there += [Running(pod, slot, end_of(question, pod, slot)) for pod in new]
    return True


def meets(question: Question, counted: list[Object], statistic: str, measure: str, limit: int) -> bool:
    """Whether some schedule meets the goal, of the pods that are counted; the others wait for ever, and are in nobody's way."""
    if not all(fits_empty(question, pod) for pod in counted):
        return False
    n = len(counted)
    if n == 0:
        return True
    if measure == "makespan":
        pods = [pod for pod in counted if pod["spec"]["restartPolicy"] != "Always"]
        in_time = [[slot for slot in range(limit) if end_of(question, pod, slot) <= limit] for pod in pods]
        return place(question, [(pod, max(slots, default=-1)) for pod, slots in zip(pods, in_time, strict=True)])
    if statistic == "mean":
        return place(question, [(pod, n * limit) for pod in counted], n * limit)
    most = math.ceil(Fraction(1 if statistic == "max" else Fraction(statistic[1:]) / 100) * n)
    return any(place(question, [(pod, limit) for pod in some]) for some in itertools.combinations(counted, most))


def place(question: Question, pods: list[tuple[Object, int]], total: float = math.inf) -> bool:
    """Whether each pod can start by its slot, with waits of at most `total` together."""
    everything = [pod for pod, _ in pods] + question.running
    early = len({pod["spec"].get("priority", 0) for pod in everything}) == 1  # then a start never makes room
    may = [[n for n, node in enumerate(question.nodes) if slow_scheduler.may_go(pod, node)] for pod, _ in pods]
    starts: list[list[tuple[int, Object]]] = [[] for _ in question.nodes]

    def one(k: int, left: float) -> bool:
        if k == len(pods):
            return early or all(on_one_node(question, node, own) for node, own in zip(question.nodes, starts, strict=True))
        pod, last = pods[k]
        for slot in range(int(min(last, left)) + 1):
            for n in may[k]:
                starts[n].append((slot, pod))
                if (not early or on_one_node(question, question.nodes[n], starts[n])) and one(k + 1, left - slot):
                    return True
                starts[n].pop()
        return False

    return one(0, total)
