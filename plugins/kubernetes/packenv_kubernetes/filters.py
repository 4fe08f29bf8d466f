"""Rules for pods on nodes: labels, affinity, taints, host ports.

Room plays no part here. Sources: kubernetes.io/docs/concepts/scheduling-eviction/assign-pod-node and .../taint-and-toleration;
the plugins NodeAffinity, TaintToleration, NodeUnschedulable and NodePorts of kube-scheduler.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from packenv.extend import InputError
from packenv_kubernetes.requests import objects

Bools = NDArray[np.bool_]

UNSCHEDULABLE = "node.kubernetes.io/unschedulable"
KEEPS_OUT = ("NoSchedule", "NoExecute")
OF_CONDITIONS = "node.kubernetes.io/"
STARTING = re.compile(
    rf"^{re.escape(OF_CONDITIONS)}|(agent-)?not-ready$|/unregistered$|/uninitialized$|^(startup|ignore)-taint\.cluster-autoscaler\."
)
"""Taints of a starting node: conditions, agents (Cilium, CSI drivers), Karpenter and cloud providers."""
"""Such taints describe a node's state, so a new node has none of them."""
NAME = "metadata.name"
EVERY_ADDRESS = ("", "0.0.0.0")
OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")


class Taint(NamedTuple):
    key: str
    value: str
    effect: str


class Toleration(NamedTuple):
    key: str  # empty: every key
    operator: str  # Equal or Exists
    value: str
    effect: str  # empty: every effect

    def tolerates(self, taint: Taint) -> bool:
        """Return whether it tolerates the taint."""
        if self.effect not in ("", taint.effect) or self.key not in ("", taint.key):
            return False
        return self.operator == "Exists" or self.value == taint.value


class Expression(NamedTuple):
    """A condition on a label of a node."""

    key: str
    operator: str
    values: tuple[str, ...]

    def holds(self, value: str | None) -> bool:
        """Return whether it holds for a value, None without the label."""
        if self.operator in ("Exists", "DoesNotExist"):
            return (value is not None) == (self.operator == "Exists")
        if self.operator in ("In", "NotIn"):
            return (value in self.values) == (self.operator == "In")
        try:
            amount, limit = int(value or ""), int(self.values[0])
        except (ValueError, IndexError):
            return False
        return amount > limit if self.operator == "Gt" else amount < limit


class Port(NamedTuple):
    """A host port."""

    number: int
    protocol: str
    address: str  # empty: every one

    def conflicts(self, other: Port) -> bool:
        same = self.number == other.number and self.protocol == other.protocol
        return same and (not self.address or not other.address or self.address == other.address)

    def __str__(self) -> str:
        return f"{self.address}{':' if self.address else ''}{self.number}/{self.protocol}"


class Rules(NamedTuple):
    """A pod's conditions on its node, without room, shared by equal pods."""

    selector: tuple[Expression, ...] = ()  # all hold
    terms: tuple[tuple[Expression, ...], ...] | None = None  # all conditions of one term hold; None: no such demand
    tolerations: tuple[Toleration, ...] = ()
    ports: tuple[Port, ...] = ()

    @property
    def labels(self) -> set[str]:
        """Labels of nodes in the rules."""
        return {clause.key for clause in (*self.selector, *(clause for term in self.terms or () for clause in term))}

    def against(self, node: Traits) -> str | None:
        """Return the reason against even an empty node, or None."""
        if not all(clause.holds(node.label(clause.key)) for clause in self.selector):
            return "its nodeSelector"
        if self.terms is not None and not any(
            term and all(clause.holds(node.label(clause.key)) for clause in term) for term in self.terms
        ):
            return "its required nodeAffinity"
        for taint in node.taints:
            if not any(toleration.tolerates(taint) for toleration in self.tolerations):
                return "that they are unschedulable" if taint.key == UNSCHEDULABLE else f"their taint {taint.key}, not tolerated"
        if any(port.conflicts(used) for port in self.ports for used in node.ports):
            return "a host port that pods of the node take"
        return None


class Traits(NamedTuple):
    """A node's properties for rules."""

    name: str
    labels: tuple[tuple[str, str], ...] = ()
    taints: tuple[Taint, ...] = ()  # only taints that keep pods off
    ports: tuple[Port, ...] = ()  # of pods that belong to the node

    def label(self, key: str) -> str | None:
        return self.name if key == NAME else dict(self.labels).get(key)

    @property
    def cordoned(self) -> bool:
        return any(taint.key == UNSCHEDULABLE for taint in self.taints)

    def lasting(self) -> tuple[Taint, ...]:
        """Return taints of a new node of this kind, not of conditions."""
        return tuple(taint for taint in self.taints if not STARTING.search(taint.key))

    def renamed(self, name: str) -> Traits:
        """Return the traits of a new node with this name."""
        labels = tuple((key, name if key == "kubernetes.io/hostname" else value) for key, value in self.labels)
        return Traits(name, labels, self.lasting(), self.ports)

    def seen_by(self, keys: set[str]) -> Traits:
        """Return the traits with only these labels."""
        labels = tuple(label for label in self.labels if label[0] in keys)
        return Traits(self.name if NAME in keys else "", labels, self.taints, self.ports)


def groups_of(values: Iterable[Any]) -> tuple[list[Any], NDArray[np.int64]]:
    """Return distinct values, and each value's index in them, (n,)."""
    number: dict[Any, int] = {}
    group = [number.setdefault(value, len(number)) for value in values]
    return list(number), np.array(group, np.int64)


def admitted(rules: Sequence[Rules], nodes: Sequence[Traits]) -> Bools:
    """Return the allowed nodes of pods with each rule, (rules, L)."""
    keys = {key for rule in rules for key in rule.labels}
    kinds, of_node = groups_of(node.seen_by(keys) for node in nodes)
    allowed = np.array([[rule.against(kind) is None for kind in kinds] for rule in rules], np.bool_)
    return allowed.reshape(len(rules), len(kinds))[:, of_node]


def rules_of(spec: dict[str, Any]) -> tuple[Rules, list[str]]:
    """Return the rules of a pod's spec, and its unreadable parts.

    Unreadable parts exclude no node. Raises InputError.
    """
    selector = spec.get("nodeSelector") or {}
    if not isinstance(selector, dict) or not all(isinstance(value, str) for value in selector.values()):
        raise InputError("nodeSelector: an object of texts is expected")
    unknown: list[str] = []
    tolerations = set()
    for toleration in objects(spec, "tolerations"):
        operator = toleration.get("operator") or "Equal"
        if operator not in ("Equal", "Exists"):
            unknown.append("toleration")
            operator = "Exists"
        texts = [toleration.get(key) or "" for key in ("key", "value", "effect")]
        if not all(isinstance(text, str) for text in texts):
            raise InputError("tolerations: key, value and effect are texts")
        tolerations.add(Toleration(texts[0], operator, texts[1], texts[2]))
    affinity = spec.get("affinity") or {}
    of_nodes = affinity.get("nodeAffinity") if isinstance(affinity, dict) else None
    required = of_nodes.get("requiredDuringSchedulingIgnoredDuringExecution") if isinstance(of_nodes, dict) else None
    terms: tuple[tuple[Expression, ...], ...] | None = None
    if isinstance(required, dict):
        terms = tuple(_term(term, unknown) for term in objects(required, "nodeSelectorTerms"))
        terms = None if "nodeAffinity" in unknown else terms
    chosen = tuple(Expression(key, "In", (value,)) for key, value in sorted(selector.items()))
    return Rules(chosen, terms, tuple(sorted(tolerations)), _ports(spec)), unknown


def taints_of(spec: dict[str, Any]) -> tuple[Taint, ...]:
    """Return the repelling taints of a node's spec (InputError)."""
    taints = set()
    for taint in objects(spec, "taints"):
        texts = [taint.get(key) or "" for key in ("key", "value", "effect")]
        if not all(isinstance(text, str) for text in texts):
            raise InputError("taints: key, value and effect are texts")
        taints.add(Taint(*texts))
    if spec.get("unschedulable") is True:
        taints.add(Taint(UNSCHEDULABLE, "", "NoSchedule"))
    return tuple(sorted(taint for taint in taints if taint.effect in KEEPS_OUT))


def _term(term: dict[str, Any], unknown: list[str]) -> tuple[Expression, ...]:
    expressions = []
    for field in ("matchExpressions", "matchFields"):
        for requirement in objects(term, field):
            values = requirement.get("values") or []
            if not isinstance(requirement.get("key"), str) or not isinstance(values, list):
                raise InputError(f"nodeAffinity: {field}: a key, an operator and a list of values are expected")
            key = requirement["key"]
            if requirement.get("operator") not in OPERATORS or (field == "matchFields" and key != NAME):
                unknown.append("nodeAffinity")
            expressions.append(Expression(key, str(requirement.get("operator")), tuple(sorted(map(str, values)))))
    return tuple(expressions)


def _ports(spec: dict[str, Any]) -> tuple[Port, ...]:
    """Return host ports of containers and sidecars, all on a host network."""
    ports = set()
    sidecars = [container for container in objects(spec, "initContainers") if container.get("restartPolicy") == "Always"]
    for container in [*objects(spec, "containers"), *sidecars]:
        for port in objects(container, "ports"):
            number = port.get("hostPort") or (port.get("containerPort") if spec.get("hostNetwork") is True else 0)
            if not isinstance(number, int):
                raise InputError(f"containers, ports: hostPort {number!r} is no number")
            address = port.get("hostIP") or ""
            if number > 0:
                ports.add(Port(number, str(port.get("protocol") or "TCP"), "" if address in EVERY_ADDRESS else str(address)))
    return tuple(sorted(ports))
