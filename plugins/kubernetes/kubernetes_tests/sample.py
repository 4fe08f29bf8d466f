"""A small hand-made cluster in the form that kubectl prints."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

NOW = "2024-05-01T12:00:00Z"


def node(
    name: str, cpu: Any = "4", memory: str = "8Gi", spec: Any = None, ready: str = "True", labels: Any = None, **more: str
) -> dict[str, Any]:
    allocatable = {"cpu": cpu, "memory": memory, "pods": "110", "ephemeral-storage": "100Gi", **more}
    conditions = [{"type": "MemoryPressure", "status": "False"}, {"type": "Ready", "status": ready, "lastHeartbeatTime": NOW}]
    metadata = {"name": name, "creationTimestamp": "2024-04-01T00:00:00Z", "labels": labels or {}}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": metadata,
        "spec": spec or {},
        "status": {"allocatable": allocatable, "conditions": conditions},
    }


def container(**requests: Any) -> dict[str, Any]:
    return {
        "name": "c",
        "resources": {"requests": {key.replace("gpu", "nvidia.com/gpu"): value for key, value in requests.items()}},
    }


def pod(
    name: str,
    *containers: dict[str, Any],
    on: str | None = None,
    phase: str | None = None,
    created: str = "2024-05-01T11:00:00Z",
    started: str | None = None,
    job: bool = True,
    owner: str = "",
    deleted: str | None = None,
    **spec: Any,
) -> dict[str, Any]:
    """`owner`: kind/name of the controller."""
    whole = {"containers": [*containers], "restartPolicy": "Never" if job else "Always", **spec} | (
        {"nodeName": on} if on else {}
    )
    status = {"phase": phase or ("Running" if on else "Pending")} | ({"startTime": started} if started else {})
    metadata: dict[str, Any] = {"name": name, "namespace": "team", "creationTimestamp": created}
    metadata |= {"deletionTimestamp": deleted} if deleted else {}
    if owner:
        kind, _, which = owner.partition("/")
        metadata["ownerReferences"] = [{"kind": kind, "name": which, "controller": True}]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": whole, "status": status}


NODES = [
    node("big", "8", "16Gi", **{"nvidia.com/gpu": "4"}, spec={"taints": [{"key": "gpu", "effect": "NoSchedule"}]}),
    node("small", "4000m", "8Gi", labels={"zone": "a"}),
    node("cordoned", spec={"unschedulable": True}),
    node("lost", ready="Unknown"),
]
PODS = [
    pod("web", container(cpu="1", memory="4Gi"), on="small", job=False, started="2024-04-30T12:00:00Z"),
    pod("train", container(cpu="6", memory="1Gi", gpu="3"), on="big", started="2024-05-01T11:59:00Z"),  # for 60 s
    pod("done", container(cpu="4"), on="small", phase="Succeeded"),
    pod("on-cordoned", container(cpu="1"), on="cordoned"),
    pod("on-lost", container(cpu="1"), on="lost"),
    pod("on-gone", container(cpu="1"), on="gone"),
    pod("best-effort", {"name": "c"}, on="small"),
    pod("late", container(cpu="2", memory="2Gi"), created="2024-05-01T11:30:00Z", nodeSelector={"zone": "a"}),
    pod(
        "early",
        container(cpu="4", memory="1Gi", gpu="2"),
        created="2024-05-01T11:10:00Z",
        affinity={"nodeAffinity": {"a": 1}, "podAffinity": {}},
        tolerations=[{"key": "gpu", "operator": "Exists"}],
    ),
    pod("huge", container(cpu="9"), created="2024-05-01T11:20:00Z"),
    pod("gated", container(cpu="1"), schedulingGates=[{"name": "g"}]),
]


def listed(where: Path, items: Any = (*NODES, *PODS)) -> Path:
    where.write_text(
        json.dumps({"apiVersion": "v1", "items": [*items], "kind": "List", "metadata": {"resourceVersion": ""}}, indent=4)
    )
    return where
