"""Nodes and pods of the list that kubectl prints, checked."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from packenv.errors import InputError
from packenv.inputs.json_files import PER_BYTE, parse_json
from packenv.inputs.memory import Memory
from packenv.inputs.numbers import shown
from packenv.inputs.text_files import reading
from packenv.workloads.kubernetes.requests import Amounts, amounts, objects, requests_of

COMMAND = "kubectl get nodes,pods -A -o json"
DONE = ("Succeeded", "Failed")
FORM = "%Y-%m-%dT%H:%M:%S%z"


class Node(NamedTuple):
    """What is taken of a node."""

    name: str
    offers: Amounts
    problem: str | None  # why no pod can be started on it, or None
    taints: int
    seen: float  # the latest time that it mentions, seconds


class Pod(NamedTuple):
    """What is taken of a pod. Times in seconds since 1970."""

    name: str  # namespace/name
    owner: str  # namespace/name of its controller; empty if it has none
    asks: Amounts
    node: str | None
    created: float
    started: float | None
    done: bool
    held: bool  # by a scheduling gate
    endless: bool  # restarted whenever it ends
    ignored: tuple[str, ...]  # what of its spec plays no part


def read_objects(path: Path) -> tuple[list[Node], list[Pod]]:
    """The nodes and pods of a file. Raises InputError, naming file and object."""
    with reading(path):
        Memory(path).take(PER_BYTE * path.stat().st_size)
        text = path.read_text(encoding="utf-8-sig")
    try:
        found = parse_json(text)
    except InputError as problem:
        raise InputError(f"{path}: {problem}") from None
    items = found.get("items") if isinstance(found, dict) else None
    if not isinstance(items, list):
        raise InputError(f"{path}: not what `{COMMAND}` prints: no list of items")
    nodes, pods = [], []
    for number, item in enumerate(items, 1):
        kind = item.get("kind") if isinstance(item, dict) else None
        if kind not in ("Node", "Pod"):
            raise InputError(
                f"{path}: item {number}: {shown(str(kind))} is neither a Node nor a Pod; give what `{COMMAND}` prints"
            )
        where = f"{path}: item {number}"
        try:
            name = _object(item, "metadata").get("name")
            if not isinstance(name, str):
                raise InputError("metadata: has no name")
            where = f"{path}: {kind.lower()} {shown(name, quoted=False)}"
            nodes += [_node(item, name)] if kind == "Node" else []
            pods += [_pod(item, name)] if kind == "Pod" else []
        except InputError as problem:
            raise InputError(f"{where}: {problem}") from None
    if not nodes:
        raise InputError(f"{path}: no node in it: give what `{COMMAND}` prints")
    return nodes, pods


def _node(item: dict[str, Any], name: str) -> Node:
    spec, status = _object(item, "spec"), _object(item, "status")
    offers = amounts(status.get("allocatable", status.get("capacity")), "status, allocatable")
    conditions = objects(status, "conditions")
    ready = next((each.get("status") for each in conditions if each.get("type") == "Ready"), "True")
    problem = "unschedulable" if spec.get("unschedulable") is True else "not ready" if ready != "True" else None
    times = [_time(each, key) for each in conditions for key in ("lastHeartbeatTime", "lastTransitionTime")]
    times.append(_time(item["metadata"], "creationTimestamp"))
    return Node(name, offers, problem, len(objects(spec, "taints")), max(time or 0.0 for time in times))


def _pod(item: dict[str, Any], name: str) -> Pod:
    metadata, spec, status = item["metadata"], _object(item, "spec"), _object(item, "status")
    node = spec.get("nodeName")
    if node is not None and not isinstance(node, str):
        raise InputError("spec, nodeName: is no name")
    created = _time(metadata, "creationTimestamp")
    if created is None:
        raise InputError("metadata, creationTimestamp: is missing")
    namespace = metadata.get("namespace", "default")
    return Pod(
        f"{namespace}/{name}",
        _owner(metadata, namespace),
        requests_of(spec),
        node or None,
        created,
        _time(status, "startTime"),
        status.get("phase") in DONE,
        bool(objects(spec, "schedulingGates")),
        spec.get("restartPolicy", "Always") == "Always",
        tuple(_ignored(spec)),
    )


def _owner(metadata: dict[str, Any], namespace: str) -> str:
    """The controller among the objects that own it."""
    names = [each.get("name") for each in objects(metadata, "ownerReferences") if each.get("controller") is True]
    return f"{namespace}/{names[0]}" if names and isinstance(names[0], str) else ""


def _ignored(spec: dict[str, Any]) -> list[str]:
    """What of a pod's spec a real scheduler heeds, and packenv does not."""
    affinity = spec.get("affinity")
    found = [kind for kind, terms in affinity.items() if terms] if isinstance(affinity, dict) else []
    found += [key for key in ("nodeSelector", "topologySpreadConstraints") if spec.get(key)]
    return found + (["priority"] if spec.get("priority") else [])


def _object(found: dict[str, Any], key: str) -> dict[str, Any]:
    value = found.get(key)
    if value is not None and not isinstance(value, dict):
        raise InputError(f"{key}: an object is expected")
    return value or {}


def _time(found: dict[str, Any], key: str) -> float | None:
    """Seconds since 1970 of a time such as 2024-05-01T12:00:00Z; None if there is none. Raises InputError."""
    text = found.get(key)
    if text is None:
        return None
    try:
        if not (isinstance(text, str) and len(text) <= 35 and text.isascii()):
            raise ValueError
        return (
            datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()
            if text.endswith("Z")
            else datetime.strptime(text, FORM).timestamp()
        )
    except (ValueError, OverflowError):
        raise InputError(f"{key}: {shown(str(text))} is not a time such as 2024-05-01T12:00:00Z") from None
