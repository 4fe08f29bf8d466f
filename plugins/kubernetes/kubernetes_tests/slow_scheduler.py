"""A slow scheduler written from Kubernetes' documentation, on the objects as kubectl prints them: filter, then place.

It shares no code with packenv. Sources: kubernetes.io/docs/concepts/scheduling-eviction (kube-scheduler, assign-pod-node,
taint-and-toleration, pod-priority-preemption), .../workloads/controllers/daemonset, .../configure-pod-container/
resize-container-resources.
"""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

UNITS = {"m": Fraction(1, 1000), "Gi": Fraction(2**30), "Mi": Fraction(2**20)}


def amount(text: str) -> Fraction:
    for unit, factor in UNITS.items():
        if text.endswith(unit):
            return Fraction(text.removesuffix(unit)) * factor
    return Fraction(text)


def requests(pod: dict[str, Any]) -> dict[str, Fraction]:
    """Of the one container of each pod here; a pod counts as one pod."""
    (container,) = pod["spec"]["containers"]
    asked = {key: amount(value) for key, value in container.get("resources", {}).get("requests", {}).items()}
    conditions = pod["status"].get("conditions", [])
    infeasible = any(each["type"] == "PodResizePending" and each["reason"] == "Infeasible" for each in conditions)
    for status in pod["status"].get("containerStatuses", []):
        for given in (status["allocatedResources"], status["resources"]["requests"]):
            for key, value in given.items():
                asked[key] = amount(value) if infeasible else max(asked.get(key, Fraction(0)), amount(value))
    return {**asked, "pods": Fraction(1)}


def ports(pod: dict[str, Any]) -> list[tuple[int, str, str]]:
    (container,) = pod["spec"]["containers"]
    listed = [each for each in container.get("ports", []) if each.get("hostPort")]
    return [(each["hostPort"], each.get("protocol", "TCP"), each.get("hostIP", "0.0.0.0")) for each in listed]


def clash(a: tuple[int, str, str], b: tuple[int, str, str]) -> bool:
    return a[:2] == b[:2] and (a[2] == b[2] or "0.0.0.0" in (a[2], b[2]))


def expression(each: dict[str, Any], labels: dict[str, str]) -> bool:
    key, operator, values = each["key"], each["operator"], each.get("values", [])
    if operator == "In":
        return key in labels and labels[key] in values
    if operator == "NotIn":
        return key not in labels or labels[key] not in values
    if operator == "Exists":
        return key in labels
    if operator == "DoesNotExist":
        return key not in labels
    if key not in labels or not labels[key].isdigit():
        return False
    return int(labels[key]) > int(values[0]) if operator == "Gt" else int(labels[key]) < int(values[0])


def may_go(pod: dict[str, Any], node: dict[str, Any]) -> bool:
    """The filters that look at the node alone."""
    spec, labels = pod["spec"], node["metadata"].get("labels", {})
    if any(labels.get(key) != value for key, value in spec.get("nodeSelector", {}).items()):
        return False
    required = spec.get("affinity", {}).get("nodeAffinity", {}).get("requiredDuringSchedulingIgnoredDuringExecution")
    if required is not None:
        name = {"metadata.name": node["metadata"]["name"]}
        terms = []
        for term in required["nodeSelectorTerms"]:
            both = [(each, labels) for each in term.get("matchExpressions", [])]
            both += [(each, name) for each in term.get("matchFields", [])]
            terms.append(bool(both) and all(expression(each, known) for each, known in both))
        if not any(terms):
            return False
    taints = [each for each in node["spec"].get("taints", []) if each["effect"] in ("NoSchedule", "NoExecute")]
    if node["spec"].get("unschedulable"):
        taints.append({"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"})
    return all(any(tolerates(each, taint) for each in spec.get("tolerations", [])) for taint in taints)


def tolerates(toleration: dict[str, Any], taint: dict[str, Any]) -> bool:
    if toleration.get("effect") and toleration["effect"] != taint["effect"]:
        return False
    if toleration.get("operator", "Equal") == "Exists":
        return not toleration.get("key") or toleration["key"] == taint["key"]
    return toleration.get("key") == taint["key"] and toleration.get("value", "") == taint.get("value", "")


def has_room(pod: dict[str, Any], node: dict[str, Any], there: list[dict[str, Any]]) -> bool:
    """The filters that look at the pods of the node: resources that are asked for, and ports."""
    for key, wanted in requests(pod).items():
        used = sum((requests(other).get(key, Fraction(0)) for other in there), Fraction(0))
        if wanted > 0 and used + wanted > amount(node["status"]["allocatable"].get(key, "0")):
            return False
    return not any(clash(a, b) for a in ports(pod) for other in there for b in ports(other))


def fits(pod: dict[str, Any], node: dict[str, Any], there: list[dict[str, Any]]) -> bool:
    return may_go(pod, node) and has_room(pod, node, there)


def lower(pod: dict[str, Any], there: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Pods that it may preempt."""
    if pod["spec"].get("preemptionPolicy") == "Never":
        return []
    priority = pod["spec"].get("priority", 0)
    return [each for each in there if each["spec"].get("priority", 0) < priority and "deletionTimestamp" not in each["metadata"]]


def starts_now(pod: dict[str, Any], nodes: list[dict[str, Any]], there: dict[str, list[dict[str, Any]]]) -> str:
    """What becomes of a pod that is alone in the queue: fits, preempts, waits or, where empty nodes do not help, never."""
    if any(fits(pod, node, there[node["metadata"]["name"]]) for node in nodes):
        return "fits"
    for node in nodes:
        on_it = there[node["metadata"]["name"]]
        victims = lower(pod, on_it)
        if victims and fits(pod, node, [each for each in on_it if each not in victims]):
            return "preempts"
    for node in nodes:
        on_it = there[node["metadata"]["name"]]
        if fits(pod, node, [each for each in on_it if belongs(each) and each not in lower(pod, on_it)]):
            return "waits"
    return "never"


def belongs(pod: dict[str, Any]) -> bool:
    return any(each["kind"] in ("DaemonSet", "Node") for each in pod["metadata"].get("ownerReferences", []))


def all_start_now(waiting: list[dict[str, Any]], nodes: list[dict[str, Any]], there: dict[str, list[dict[str, Any]]]) -> bool:
    """Whether some placement of all of them at once, with whatever preemption is allowed, has room for each. Tries all."""
    for where in itertools.product(range(len(nodes)), repeat=len(waiting)):
        for n, node in enumerate(nodes):
            new = [pod for pod, place in zip(waiting, where, strict=True) if place == n]
            gone = [each for pod in new for each in lower(pod, there[node["metadata"]["name"]])]
            on_it = [each for each in there[node["metadata"]["name"]] if each not in gone]
            if not all(fits(pod, node, [*on_it, *(other for other in new if other is not pod)]) for pod in new):
                break
        else:
            return True
    return False
