"""What a pod asks of its node, as Kubernetes' scheduler counts it.

For each resource the larger of two: what its containers and sidecars (init containers that are restarted) ask together, and
the most that one of its init containers asks beside the sidecars started before it; a request for the pod as a whole stands in
place of both; the overhead is added. A container that names a limit and no request asks for its limit.
Source: kubernetes.io/docs/concepts/workloads/pods/init-containers and .../sidecar-containers, "Resource sharing".
"""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from typing import Any

from packenv.errors import InputError
from packenv.workloads.kubernetes.quantities import quantity

Amounts = dict[str, Fraction]


def requests_of(spec: dict[str, Any]) -> Amounts:
    """The amounts of each resource that a pod of this spec asks for. Raises InputError that says where in the spec."""
    running: Amounts = defaultdict(Fraction)
    starting: Amounts = defaultdict(Fraction)
    sidecars: Amounts = defaultdict(Fraction)
    for container in objects(spec, "initContainers"):
        for name, amount in _asked(container.get("resources"), "initContainers").items():
            starting[name] = max(starting[name], sidecars[name] + amount)
            if container.get("restartPolicy") == "Always":
                sidecars[name] += amount
    for container in objects(spec, "containers"):
        for name, amount in _asked(container.get("resources"), "containers").items():
            running[name] += amount
    total = {name: max(starting[name], running[name] + sidecars[name]) for name in {*starting, *running}}
    total |= _asked(spec.get("resources"), "resources")
    for name, amount in amounts(spec.get("overhead"), "overhead").items():
        total[name] = total.get(name, Fraction(0)) + amount
    return total


def amounts(found: Any, where: str) -> Amounts:
    """An object of quantities, by name of the resource. Raises InputError that begins with `where`."""
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise InputError(f"{where}: an object with quantities is expected")
    values = {}
    for name, value in found.items():
        try:
            values[name] = quantity(value)
        except InputError as problem:
            raise InputError(f"{where}, {name}: {problem}") from None
    return values


def objects(found: dict[str, Any], key: str) -> list[dict[str, Any]]:
    """A list of objects under a key; empty if there is none. Raises InputError."""
    value = found.get(key)
    value = [] if value is None else value
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise InputError(f"{key}: a list of objects is expected")
    return value


def _asked(resources: Any, where: str) -> Amounts:
    if resources is None:
        return {}
    if not isinstance(resources, dict):
        raise InputError(f"{where}: resources are no object")
    return amounts(resources.get("limits"), f"{where}, limits") | amounts(resources.get("requests"), f"{where}, requests")
