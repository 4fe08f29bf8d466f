"""Clusters drawn at random with daemons, resizes, priorities, ports, labels and taints, by a slow scheduler of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import packenv
from kubernetes_tests import slow_scheduler
from kubernetes_tests.sample import listed, node, pod
from packenv_kubernetes import read_cluster
from packenv_kubernetes.changed import kind_of
from packenv_kubernetes.fits_nowhere import unfit_lines
from packenv_kubernetes.planning.nodes import AddedNodes
from packenv_kubernetes.planning.queue import parse_queue_goals
from packenv_kubernetes.preemption import first_cycle

LABELS = [{}, {"zone": "a", "rank": "1"}, {"zone": "b", "rank": "5"}, {"zone": "a", "disk": "ssd"}]
EXPRESSIONS = [
    {"key": "zone", "operator": "In", "values": ["a", "c"]},
    {"key": "zone", "operator": "NotIn", "values": ["b"]},
    {"key": "disk", "operator": "Exists"},
    {"key": "disk", "operator": "DoesNotExist"},
    {"key": "rank", "operator": "Gt", "values": ["3"]},
    {"key": "rank", "operator": "Lt", "values": ["3"]},
]
TAINTS = [{"key": "gpu", "value": "yes", "effect": "NoSchedule"}, {"key": "old", "effect": "NoExecute"}]
SOFT = {"key": "soft", "effect": "PreferNoSchedule"}
TOLERATIONS = [
    {"key": "gpu", "value": "yes"},
    {"key": "gpu", "value": "no"},
    {"operator": "Exists"},
    {"key": "old", "operator": "Exists", "effect": "NoSchedule"},
    {"key": "old", "operator": "Exists", "effect": "NoExecute"},
    {"key": "node.kubernetes.io/unschedulable", "operator": "Exists"},
]
PORTS = [{"hostPort": 80}, {"hostPort": 80, "hostIP": "10.0.0.1"}, {"hostPort": 80, "protocol": "UDP"}, {"containerPort": 80}]
Object = dict[str, Any]


class Draw:
    """Random objects."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)

    def chance(self, share: float) -> bool:
        return bool(self.random.random() < share)

    def one(self, values: Any) -> Any:
        return values[self.random.integers(len(values))]

    def nodes(self) -> list[Object]:
        return [self.node(f"n{n}") for n in range(self.random.integers(1, 4))]

    def node(self, name: str) -> Object:
        taints = [each for each in (*TAINTS, SOFT) if self.chance(0.15)]
        spec = {"taints": taints} | ({"unschedulable": True} if self.chance(0.1) and name != "n0" else {})
        made = node(name, self.one(["2", "4"]), "8Gi", spec, labels=self.one(LABELS))
        made["status"]["allocatable"]["pods"] = self.one(["4", "110"])
        return made

    def running(self, nodes: list[Object]) -> list[Object]:
        """Some of them more than their node has; daemons, pods that shrink or cannot grow, pods that are being deleted."""
        pods = []
        for each in nodes:
            name = each["metadata"]["name"]
            for n in range(self.random.integers(0, 4)):
                owner = self.one(["", "", "DaemonSet/d", f"Node/{name}"])
                deleted = "2024-05-01T12:00:30Z" if self.chance(0.1) and not owner else None
                made = self.pod(f"{name}-{n}", on=name, owner=owner, deleted=deleted)
                if self.chance(0.3):
                    given = {"cpu": self.one(["500m", "1", "2"]), "memory": "1Gi"}
                    kind = self.one(["Deferred", "Infeasible"])
                    made["status"]["conditions"] = [{"type": "PodResizePending", "status": "True", "reason": kind}]
                    made["status"]["containerStatuses"] = [
                        {"name": "c", "allocatedResources": given, "resources": {"requests": given}}
                    ]
                pods.append(made)
        return pods

    def pod(self, name: str, priorities: tuple[int, ...] = (-10, 0, 0, 7), **more: Any) -> Object:
        container: Object = {"name": "c"}
        if self.chance(0.9):
            container["resources"] = {
                "requests": {"cpu": self.one(["500m", "1", "1500m", "2"]), "memory": self.one(["1Gi", "4Gi"])}
            }
        if self.chance(0.3):
            container["ports"] = [self.one(PORTS)]
        spec: Object = {"priority": self.one(priorities), "terminationGracePeriodSeconds": 0}
        if self.chance(0.2):
            spec["preemptionPolicy"] = "Never"
        if self.chance(0.15):
            spec["nodeSelector"] = {"zone": self.one("ab")}
        if self.chance(0.25):
            terms = [{"matchExpressions": [self.one(EXPRESSIONS) for _ in range(self.random.integers(0, 3))]} for _ in range(2)]
            if self.chance(0.2):
                terms = [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n0"]}]}]
            required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
            spec["affinity"] = {"nodeAffinity": required}
        spec["tolerations"] = [each for each in TOLERATIONS if self.chance(0.2)]
        return pod(name, container, job=False, **spec, **more)


def on_nodes(nodes: list[Object], pods: list[Object]) -> dict[str, list[Object]]:
    return {
        each["metadata"]["name"]: [one for one in pods if one["spec"].get("nodeName") == each["metadata"]["name"]]
        for each in nodes
    }


def test_a_pod_alone(tmp_path: Path) -> None:
    """On 60 clusters: whether it starts now, by preemption or not, later, or on no node of these."""
    seen = dict.fromkeys(("fits", "preempts", "waits", "never"), 0)
    for seed in range(60):
        draw = Draw(seed)
        nodes = draw.nodes()
        pods, new = draw.running(nodes), draw.pod("new")
        verdict = slow_scheduler.starts_now(new, nodes, on_nodes(nodes, pods))
        seen[verdict] += 1
        cluster = read_cluster(listed(tmp_path / "cluster.json", [*nodes, *pods, new]))
        assert [each.name for each in cluster.unfit] == (["team/new"] if verdict == "never" else []), (seed, verdict)
        if verdict == "never":
            assert len(unfit_lines(cluster)) == 1
            continue
        begun = first_cycle(cluster)
        workload = cluster.workload()
        result = packenv.simulate(workload, "bf-js", slots=1, schedule=True)
        draw_of: Any = workload.draw
        assert result.schedule is not None
        (start, *_), _ = draw_of.times(0, result.schedule.start, result.schedule.end)
        assert start == (0 if verdict in ("fits", "preempts") else -1), (seed, verdict)
        assert any(each.victims for each in begun) == (verdict == "preempts"), (seed, verdict)
        for each in begun:
            on_it = on_nodes(nodes, pods)[cluster.nodes[each.node]]
            victims = {cluster.running[v].name.removeprefix("team/") for v in each.victims}
            left = [one for one in on_it if one["metadata"]["name"] not in victims]
            assert slow_scheduler.fits(new, nodes[each.node], left), seed
            for one in (one for one in on_it if one["metadata"]["name"] in victims):  # none of them goes for nothing
                assert not slow_scheduler.fits(new, nodes[each.node], [*left, one]), seed
    assert min(seen.values()) >= 3, seen


def test_a_queue(tmp_path: Path) -> None:
    """What starts now has room where it starts, and nothing that still waits would fit; pods of one priority, 40 clusters."""
    started = waited = 0
    for seed in range(40):
        draw = Draw(1000 + seed)
        nodes = draw.nodes()
        pods = [*draw.running(nodes)]
        queue = [draw.pod(f"w{n}", (-10,)) for n in range(draw.random.integers(2, 7))]
        cluster = read_cluster(listed(tmp_path / "cluster.json", [*nodes, *pods, *queue]))
        if not cluster.waiting:
            continue
        result = packenv.simulate(cluster.workload(), "bf-js", slots=1, schedule=True)
        assert result.schedule is not None
        there, late = on_nodes(nodes, pods), []
        raw = {f"team/{each['metadata']['name']}": each for each in queue}
        for each, start, server in zip(cluster.waiting, result.schedule.start, result.schedule.server, strict=True):
            if start < 0:
                late.append(raw[each.name])
                continue
            assert slow_scheduler.fits(raw[each.name], nodes[server], there[cluster.nodes[server]]), (seed, each.name)
            there[cluster.nodes[server]].append(raw[each.name])
            started += 1
        for one in late:
            waited += 1
            assert not any(slow_scheduler.fits(one, each, there[each["metadata"]["name"]]) for each in nodes), seed
    assert started > 30 and waited > 15


def test_no_claim_is_refuted(tmp_path: Path) -> None:
    """The bound on nodes with which all start now, against all placements, preemption included."""
    (goal,) = parse_queue_goals(["max wait <= 0s"], 1.0)
    reached = 0
    for seed in range(40):
        draw = Draw(2000 + seed)
        nodes = [draw.node(f"n{n}") for n in range(draw.random.integers(1, 3))]
        pods = draw.running(nodes)
        queue = [draw.pod(f"w{n}") for n in range(draw.random.integers(2, 4))]
        cluster = read_cluster(listed(tmp_path / "cluster.json", [*nodes, *pods, *queue]))
        if not cluster.waiting or cluster.unfit:
            continue
        kind = kind_of(cluster)
        bound = AddedNodes(cluster, kind, 1).bound([goal], lambda own: own.workload())
        template = next(each for each in nodes if each["metadata"]["name"] == kind.template)
        own = [each for each in pods if each["spec"]["nodeName"] == kind.template and slow_scheduler.belongs(each)]
        fewest = next((n for n in range(4) if slow_scheduler.all_start_now(queue, *_grown(nodes, pods, template, own, n))), 4)
        assert bound <= fewest, seed
        reached += bound == fewest > 0
    assert reached >= 3


def _grown(nodes: list[Object], pods: list[Object], template: Object, own: list[Object], count: int) -> Any:
    """With more nodes like the template: its labels and lasting taints, and pods like those that belong to it."""
    there = on_nodes(nodes, pods)
    spec = {"taints": template["spec"].get("taints", [])}
    added = [template | {"metadata": template["metadata"] | {"name": f"added {n}"}, "spec": spec} for n in range(count)]
    return [*nodes, *added], there | {each["metadata"]["name"]: own for each in added}
