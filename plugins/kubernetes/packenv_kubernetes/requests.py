"""Requests of a pod, counted as in Kubernetes' scheduler.

For each resource the request is the larger of two amounts. One is the sum over containers and sidecars (restarted init
containers). The other is the most that an init container requests together with earlier sidecars. A request for the whole pod
replaces both. The overhead is added. A limit without a request counts as a request. So does a limit of the whole pod, for a
resource that no container requests.
Source: kubernetes.io/docs/concepts/workloads/pods/init-containers and .../sidecar-containers, "Resource sharing";
.../tasks/configure-pod-container/resize-container-resources. Amounts such as 500m, 1.5, 128Mi, 2e3 follow
.../docs/reference/kubernetes-api/common-definitions/quantity.
"""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from functools import lru_cache
from typing import Any

from packenv.extend import InputError, excerpt, read_quantity

Amounts = dict[str, Fraction]


def requests_of(spec: dict[str, Any], status: dict[str, Any] | None = None) -> Amounts:
    """Return a pod's requests by spec and status. InputError names the place."""
    held = held_of(status or {})
    infeasible = _is_infeasible(status or {})

    def counted(container: dict[str, Any], where: str) -> Amounts:
        spoken = _spec_requests(container.get("resources"), where)
        granted = held.get(str(container.get("name")))
        if granted is None:
            return spoken
        return spoken | granted if infeasible else _larger(spoken, granted)

    def of_pod(key: str) -> Amounts:
        return amounts(_resources(spec.get("resources"), "resources").get(key), f"resources, {key}")

    running: Amounts = {}
    # Init containers run one by one, next to earlier sidecars.
    starting: Amounts = defaultdict(Fraction)
    sidecars: Amounts = defaultdict(Fraction)
    for container in objects(spec, "initContainers"):
        stays = container.get("restartPolicy") == "Always"
        requests = counted(container, "initContainers") if stays else _spec_requests(container.get("resources"), "initContainers")
        for name, amount in requests.items():
            starting[name] = max(starting[name], sidecars[name] + amount)
            if stays:
                sidecars[name] += amount
    for container in objects(spec, "containers"):
        for name, amount in counted(container, "containers").items():
            running[name] = running[name] + amount if name in running else amount
    total = running
    if starting:
        none = Fraction(0)
        total = {name: max(starting[name], running.get(name, none) + sidecars[name]) for name in {*starting, *running}}
    total = of_pod("limits") | total | of_pod("requests")
    for name, amount in amounts(spec.get("overhead"), "overhead").items():
        total[name] = total.get(name, Fraction(0)) + amount
    return total


def held_of(status: dict[str, Any]) -> dict[str, Amounts]:
    """Return each container's allocated or actual amounts, the larger, by name."""
    held = {}
    for field in ("containerStatuses", "initContainerStatuses"):
        for container in objects(status, field):
            resources = container.get("resources")
            runs = amounts(resources.get("requests") if isinstance(resources, dict) else None, f"{field}, resources, requests")
            both = _larger(runs, amounts(container.get("allocatedResources"), f"{field}, allocatedResources"))
            if both:
                held[str(container.get("name"))] = both
    return held


def _is_infeasible(status: dict[str, Any]) -> bool:
    """Return whether a resize is impossible, so given amounts count."""
    pending = [condition for condition in objects(status, "conditions") if condition.get("type") == "PodResizePending"]
    return status.get("resize") == "Infeasible" or any(
        condition.get("reason") == "Infeasible" and condition.get("status", "True") == "True" for condition in pending
    )


def _larger(a: Amounts, b: Amounts) -> Amounts:
    return {name: max(a.get(name, Fraction(0)), b.get(name, Fraction(0))) for name in {*a, *b}}


def amounts(quantities: Any, where: str) -> Amounts:
    """Return an object of quantities by resource, or InputError at `where`."""
    if quantities is None:
        return {}
    if not isinstance(quantities, dict):
        raise InputError(f"{where}: an object with quantities is expected")
    values = {}
    for name, value in quantities.items():
        try:
            values[name] = quantity(value)
        except InputError as problem:
            raise InputError(f"{where}, {name}: {problem}") from None
    return values


def objects(parent: dict[str, Any], key: str) -> list[dict[str, Any]]:
    """Return a list of objects under a key, or empty (InputError)."""
    value = parent.get(key)
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise InputError(f"{key}: a list of objects is expected")
    return value


def _resources(resources: Any, where: str) -> dict[str, Any]:
    if resources is not None and not isinstance(resources, dict):
        raise InputError(f"{where}: resources are not an object")
    return resources or {}


def _spec_requests(resources: Any, where: str) -> Amounts:
    given = _resources(resources, where)
    return amounts(given.get("limits"), f"{where}, limits") | amounts(given.get("requests"), f"{where}, requests")


def quantity(value: Any) -> Fraction:
    """Return the exact amount of a text or number. Raises InputError."""
    if not isinstance(value, (str, int, float)) or isinstance(value, bool):
        raise InputError(f"{excerpt(str(value))} is not a quantity such as 500m or 2Gi")
    return _amount(str(value))


_amount = lru_cache(10_000)(read_quantity)  # a large dump has few different ones: reading it takes half the time
