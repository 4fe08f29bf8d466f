"""Draw a dump of a large cluster, and measure time and memory of `packenv kubernetes plan`.

    python plugins/kubernetes/experiments/large_dump.py [--nodes 5000] [--pods 100000] [--keep FILE] [--goal "max wait <= 10min"]

Nodes of three kinds, some with GPUs and a taint, in three zones, each with two daemons. 19 of 20 other pods run: of Deployments,
which are restarted, and of Jobs; of one priority, or of two with `--priorities`. The rest wait. Pods are about as long as kubectl
prints them: conditions, statuses, environment and volumes.
"""

from __future__ import annotations

import argparse
import json
import resource
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from packenv.cli.main import main as packenv_main
from packenv_kubernetes import read_cluster

KINDS = ((32, 128, 0), (64, 256, 0), (96, 768, 8))  # cores, GiB, GPUs
NOW = "2024-05-01T12:00:00Z"
GIB = 2**30


def node(n: int, random: np.random.Generator) -> dict[str, Any]:
    cores, memory, gpus = KINDS[int(random.choice(3, p=(0.5, 0.4, 0.1)))]
    offers = {"cpu": f"{cores * 1000 - 120}m", "memory": f"{memory * 2**20 - 1234567}Ki", "pods": "110"}
    offers |= {"nvidia.com/gpu": str(gpus)} if gpus else {}
    labels = {"topology.kubernetes.io/zone": f"zone-{n % 3}", "kubernetes.io/hostname": f"node-{n}", "size": str(cores)}
    taints = [{"key": "nvidia.com/gpu", "effect": "NoSchedule"}] if gpus else []
    condition = [{"type": "Ready", "status": "True", "lastHeartbeatTime": NOW, "reason": "KubeletReady"}]
    images = [{"names": [f"registry.example/image-{k}@sha256:{'0' * 64}"], "sizeBytes": 123456789 + k} for k in range(50)]
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": f"node-{n}", "creationTimestamp": "2024-04-01T00:00:00Z", "labels": labels},
        "spec": {"taints": taints},
        "status": {"allocatable": offers, "capacity": offers, "conditions": condition, "images": images},
    }


def pod(
    name: str, owner: tuple[str, str], cores: float, gib: float, gpus: int, on: str | None, spec: dict[str, Any], age: int
) -> dict[str, Any]:
    requests = {"cpu": f"{int(cores * 1000)}m", "memory": f"{int(gib * 1024)}Mi"} | (
        {"nvidia.com/gpu": str(gpus)} if gpus else {}
    )
    created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(1714564800 - age))
    container = {
        "name": "main",
        "image": f"registry.example/{owner[1]}:1.2.3",
        "env": [{"name": f"VARIABLE_{k}", "value": f"value-{k}"} for k in range(8)],
        "resources": {"requests": requests, "limits": requests if gpus else {}},
        "volumeMounts": [{"mountPath": "/var/run/secrets/kubernetes.io/serviceaccount", "name": "token", "readOnly": True}],
        "livenessProbe": {"httpGet": {"path": "/", "port": 8080, "scheme": "HTTP"}, "periodSeconds": 10},
    }
    conditions = [
        {"type": kind, "status": "True", "lastTransitionTime": created}
        for kind in ("Initialized", "Ready", "ContainersReady", "PodScheduled")
    ]
    status: dict[str, Any] = {"phase": "Pending", "conditions": conditions[-1:]}
    if on is not None:
        state = {"running": {"startedAt": created}}
        ran = {"name": "main", "ready": True, "restartCount": 0, "imageID": "0" * 64, "state": state}
        status = {"phase": "Running", "startTime": created, "conditions": conditions, "containerStatuses": [ran]}
    token = {"name": "token", "projected": {"sources": [{"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}}]}}
    never = [
        {"key": f"node.kubernetes.io/{what}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
        for what in ("not-ready", "unreachable")
    ]
    tolerations = [*spec.pop("tolerations", []), *never]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": f"team-{hash(owner[1]) % 7}",
            "creationTimestamp": created,
            "labels": {"app": owner[1], "pod-template-hash": "5d9c7b"},
            "ownerReferences": [{"apiVersion": "v1", "kind": owner[0], "name": owner[1], "controller": True, "uid": "0" * 36}],
        },
        "spec": {
            "containers": [container],
            "volumes": [token],
            "restartPolicy": "Never" if owner[0] == "Job" else "Always",
            "tolerations": tolerations,
            "terminationGracePeriodSeconds": 30,
            **({"nodeName": on} if on is not None else {}),
            **spec,
        },
        "status": status,
    }


def items(nodes: int, pods: int, priorities: bool, seed: int = 0) -> list[dict[str, Any]]:
    """Nodes and pods; on no node more than it has."""
    random = np.random.default_rng(seed)
    there = [node(n, random) for n in range(nodes)]
    sizes = np.array([[float(each["metadata"]["labels"]["size"]), 0, 0] for each in there])
    sizes[:, 1:] = [next(kind[1:] for kind in KINDS if kind[0] == size) for size in sizes[:, 0]]
    free = sizes - (0.5, 2.0, 0)  # what is reserved, and more
    found = list(there)
    for n in range(nodes):
        for daemon in ("proxy", "logs"):
            critical = {"priority": 2_000_001_000, "tolerations": [{"operator": "Exists"}]}
            found.append(pod(f"{daemon}-{n}", ("DaemonSet", daemon), 0.1, 0.2, 0, f"node-{n}", critical, 10**6))
    free[:, 0] -= 0.2
    free[:, 1] -= 0.5
    left = max(pods - 2 * nodes, 0)
    for n in range(left):
        job = bool(random.random() < 0.5)
        gpus = int(random.choice((1, 2, 8))) if random.random() < 0.02 else 0
        cores = float(random.choice((0.25, 0.5, 1, 2, 4, 8)))
        gib = cores * float(random.choice((2, 4, 6)))
        spec: dict[str, Any] = {"tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}]} if gpus else {}
        zone = int(random.integers(3)) if random.random() < 0.2 else None
        spec |= {} if zone is None else {"nodeSelector": {"topology.kubernetes.io/zone": f"zone-{zone}"}}
        spec |= {"priority": int(random.choice((0, 1000)))} if priorities else {}
        owner = ("Job" if job else "ReplicaSet", f"{'train' if job else 'web'}-{int(random.integers(2000))}")
        where = None
        if n % 20 or gpus:
            for _ in range(60):
                m = int(random.integers(nodes))
                asks, is_gpu = np.array([cores, gib, gpus]), sizes[m, 2] > 0
                if (asks <= free[m]).all() and is_gpu == (gpus > 0) and (zone is None or m % 3 == zone):
                    free[m] -= asks
                    where = f"node-{m}"
                    break
        if gpus and where is None:  # one that waits needs a node with GPUs, not one of the commonest kind
            continue
        found.append(pod(f"{owner[1]}-{n}", owner, cores, gib, gpus, where, spec, int(random.exponential(5000))))
    return found


def memory() -> float:
    """GB at most so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def main(words: list[str] | None = None) -> None:
    """Draw the dump, and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument("--pods", type=int, default=100_000)
    parser.add_argument("--priorities", action="store_true")
    parser.add_argument("--keep", type=Path, help="keep the dump here; if it is there, it is taken as it is")
    parser.add_argument("--goal", default="max wait <= 10min")
    parser.add_argument("--read-only", action="store_true", help="do not plan")
    options = parser.parse_args(words)
    with tempfile.TemporaryDirectory() as folder:
        file = options.keep or Path(folder) / "cluster.json"
        if not file.exists():
            drawn = items(options.nodes, options.pods, options.priorities)
            file.write_text(json.dumps({"apiVersion": "v1", "items": drawn, "kind": "List"}, indent=4))
            del drawn
        begin = time.perf_counter()
        if options.read_only:
            cluster = read_cluster(file)
            print(f"{len(cluster.nodes):,} nodes, {len(cluster.running):,} pods run, {len(cluster.waiting):,} wait")
        else:
            packenv_main(
                ["kubernetes", "plan", str(file), "-g", options.goal, "--service", "exponential:3600", "--processes", "1"]
            )
        print(f"{file.stat().st_size / 1e6:.0f} MB: {time.perf_counter() - begin:.1f} s, at most {memory():.2f} GB")


if __name__ == "__main__":
    main()
