"""Pods of gangs, however a scheduler knows them, in dumps, in manifests and in their owners; objects of other kinds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import packenv
from kubernetes_tests.sample import container, listed, node, pod
from packenv.workloads.laws import Fixed
from packenv_kubernetes import Cluster, read_cluster
from packenv_kubernetes.manifests import read_manifests
from packenv_kubernetes.pod_groups import gangs_of
from packenv_kubernetes.started import Started

MARKS: list[tuple[str, str, Any]] = [
    ("spec", "workloadRef", {"name": "ring", "podGroup": "all"}),
    ("spec", "schedulingGroup", {"podGroupName": "ring"}),
    ("labels", "scheduling.x-k8s.io/pod-group", "ring"),
    ("labels", "pod-group.scheduling.sigs.k8s.io/name", "ring"),
    ("labels", "kueue.x-k8s.io/pod-group-name", "ring"),
    ("labels", "grove.io/podgang", "ring"),
    ("labels", "ray.io/gang-scheduling-enabled", "true"),
    ("annotations", "scheduling.k8s.io/group-name", "ring"),
    ("annotations", "scheduling.volcano.sh/group-name", "ring"),
    ("annotations", "gang.scheduling.koordinator.sh/name", "ring"),
    ("annotations", "yunikorn.apache.org/task-group-name", "ring"),
    ("annotations", "pod-group-name", "ring"),
    ("annotations", "armadaproject.io/gangId", "ring"),
]
NONE: list[tuple[str, str, Any]] = [
    ("labels", "app.kubernetes.io/name", "ganglia"),
    ("labels", "ganglia.io/name", "x"),
    ("labels", "team.example/group-name", "x"),
    ("labels", "scheduling.x-k8s.io/pod-group", ""),
    ("labels", "ray.io/gang-scheduling-enabled", "false"),
    ("spec", "workloadRef", None),
    ("spec", "securityContext", {"fsGroup": 1}),
]


def marked(item: dict[str, Any], where: str, key: str, value: Any) -> dict[str, Any]:
    target = item if where == "spec" else item.setdefault("metadata", {})
    target.setdefault(where, {})[key] = value
    return item


@pytest.mark.parametrize(("where", "key", "value"), MARKS)
def test_pods_of_a_gang_start_together(tmp_path: Path, where: str, key: str, value: Any) -> None:
    """Four of a core on a node of four, where something else has one."""
    ring = [marked(pod(f"ring-{n}", container(cpu="1"), owner="Job/ring"), where, key, value) for n in range(4)]
    runs = pod("runs", container(cpu="1"), on="n", started="2024-05-01T11:59:58Z")
    cluster = read_cluster(listed(tmp_path / "c.json", [node("n"), runs, *ring]))
    assert {each.gang for each in cluster.waiting} == {f"spec.{key}" if where == "spec" else key}
    (group,) = gangs_of(cluster)
    assert (group.together, group.others, group.least) == ((0, 1, 2, 3), (), None)
    assert starts(cluster, Fixed(5)) == {f"ring-{n}": 3 for n in range(4)}
    assert f"gang {group.name}: 4 pods start together, all: the file has no minimum" in cluster.notes(None)


@pytest.mark.parametrize("kind", ["PodGroup", "PodGang"])
def test_a_pod_that_a_group_owns(tmp_path: Path, kind: str) -> None:
    ring = [pod(f"ring-{n}", container(cpu="1"), owner=f"{kind}/ring") for n in range(2)]
    cluster = read_cluster(listed(tmp_path / "c.json", [node("n"), *ring]))
    assert [each.gang for each in cluster.waiting] == [f"{kind}, its owner,"] * 2
    assert [group.name for group in gangs_of(cluster)] == ["team/ring"]


@pytest.mark.parametrize(("where", "key", "value"), NONE)
def test_a_pod_of_none(tmp_path: Path, where: str, key: str, value: Any) -> None:
    cluster = read_cluster(listed(tmp_path / "c.json", [node("n"), marked(pod("p", container(cpu="1")), where, key, value)]))
    assert [(each.gang, each.unmodelled) for each in cluster.waiting] == [("", ())]


def test_a_gang_without_a_name_is_not_modelled(tmp_path: Path) -> None:
    """Which pods are its own is not known: each counts by itself, and no bound counts on it."""
    lone = marked(pod("lone", container(cpu="1")), "labels", "ray.io/gang-scheduling-enabled", "true")
    cluster = read_cluster(listed(tmp_path / "c.json", [node("n"), lone]))
    assert gangs_of(cluster) == []
    line = "not modelled: ray.io/gang-scheduling-enabled of 1 waiting pod (team/lone): they may start later than shown"
    assert any(note.startswith(line) for note in cluster.notes(None))


@pytest.mark.parametrize(
    ("marks", "groups"),
    [  # kubectl prints keys in order, so a size stands before the name
        ({"gang.scheduling.koordinator.sh/min-available": "2", "gang.scheduling.koordinator.sh/name": "NAME"}, 2),
        ({"armadaproject.io/gangCardinality": "4", "armadaproject.io/gangId": "NAME"}, 2),
        ({"kueue.x-k8s.io/pod-group-total-count": "4", "pod-group-name": "NAME"}, 2),
        ({"yunikorn.apache.org/app-id": "app", "yunikorn.apache.org/task-group-name": "NAME"}, 1),
    ],
)
def test_which_pods_are_of_one_gang(tmp_path: Path, marks: dict[str, str], groups: int) -> None:
    pods = [pod(f"p-{n}", container(cpu="1"), owner="Job/all") for n in range(4)]
    for n, each in enumerate(pods):
        each["metadata"]["annotations"] = {key: value.replace("NAME", "ab"[n // 2]) for key, value in marks.items()}
    cluster = read_cluster(listed(tmp_path / "c.json", [node("n"), *pods]))
    assert len({each.gang_name for each in cluster.waiting}) == groups


def owner_with(where: str, mark: tuple[str, str, Any], kind: str) -> dict[str, Any]:
    """An object with two pods; the mark at `where`: on the object, on its template, or on a CronJob's template of Jobs."""
    template: dict[str, Any] = {"spec": {"restartPolicy": "Never", "containers": [container(cpu="1")]}}
    spec: dict[str, Any] = {"parallelism": 2, "replicas": 2, "template": template}
    job = {"spec": spec}
    item: dict[str, Any] = {"kind": kind, "metadata": {"name": "ring", "namespace": "team"}}
    item["spec"] = {"jobTemplate": job} if kind == "CronJob" else spec
    marked({"object": item, "template": template, "job": job}[where], *mark)
    return item


@pytest.mark.parametrize("mark", [MARKS[1], MARKS[2], MARKS[7]])
@pytest.mark.parametrize(
    ("where", "kind"),
    [("template", "Job"), ("object", "Job"), ("template", "StatefulSet"), ("template", "CronJob"), ("job", "CronJob")],
)
def test_a_gang_of_a_template(tmp_path: Path, where: str, kind: str, mark: tuple[str, str, Any]) -> None:
    item = owner_with(where, mark, kind)
    (tmp_path / "new.json").write_text(json.dumps(item))
    file = listed(tmp_path / "c.json", [node("n")])
    cluster = read_cluster(file, None, read_manifests([tmp_path / "new.json"]))
    assert [group.together for group in gangs_of(cluster)] == [(0, 1)]
    assert [each.name for each in cluster.waiting] == ["team/ring-0", "team/ring-1"]
    owned = [pod(f"ring-{n}", container(cpu="1"), owner=f"{kind}/ring") for n in range(2)]  # and in a dump that has the owner
    cluster = read_cluster(listed(tmp_path / "c.json", [*owned, node("n"), item]))
    assert [group.together for group in gangs_of(cluster)] == [(0, 1)]


def test_a_group_is_submitted_with_its_minimum(tmp_path: Path) -> None:
    """Two Jobs whose pods are one gang, and its PodGroup: five of nine pods have to start together."""
    jobs = [owner_with("template", MARKS[2], "Job") for _ in range(2)]
    jobs[1]["metadata"] = {"name": "driver", "namespace": "team"}
    jobs[0]["spec"]["parallelism"] = 7
    _, _, group = minimum("minMember", 5)
    (tmp_path / "new.json").write_text(json.dumps({"kind": "List", "items": [*jobs, group]}))
    submitted = read_manifests([tmp_path / "new.json"])
    cluster = read_cluster(listed(tmp_path / "c.json", [node("n", cpu="6")]), None, submitted)
    (gang,) = gangs_of(cluster)
    assert (submitted.notes, gang.name, gang.needed, len(gang.members)) == ((), "team/ring", 5, 9)


def test_objects_of_other_kinds_are_counted(tmp_path: Path) -> None:
    others = [{"kind": kind, "metadata": {"name": "a"}, "spec": {}} for kind in ("PodGroup", "Workload", "PodGroup", "Job")]
    cluster = read_cluster(listed(tmp_path / "c.json", [node("n"), *others, pod("p", container(cpu="1"))]))
    assert cluster.left_out == {"objects of kind PodGroup": 2, "objects of kind Workload": 1}
    _, _, used = minimum("minMember", 2)
    assert not read_cluster(listed(tmp_path / "c.json", [node("n"), used, pod("p", container(cpu="1"))])).left_out


def minimum(kind: str, least: int) -> tuple[str, Any, dict[str, Any]]:
    """Field and value of a pod, and the object that says how many of its gang have to run at once."""
    metadata = {"name": "ring", "namespace": "team"}
    gang = {"gang": {"minCount": least}}
    if kind == "minMember":
        return (
            "schedulingGroup",
            {"podGroupName": "ring"},
            {"kind": "PodGroup", "metadata": metadata, "spec": {kind: least}},
        )
    if kind == "PodGroup":
        spec: dict[str, Any] = {"schedulingPolicy": gang}
        return "schedulingGroup", {"podGroupName": "ring"}, {"kind": kind, "metadata": metadata, "spec": spec}
    groups = {"podGroups": [{"name": "other", "policy": {"gang": {"minCount": 9}}}, {"name": "all", "policy": gang}]}
    return "workloadRef", {"name": "ring", "podGroup": "all"}, {"kind": kind, "metadata": metadata, "spec": groups}


@pytest.mark.parametrize("kind", ["minMember", "PodGroup", "Workload"])
@pytest.mark.parametrize(
    ("least", "begin", "line"),
    [
        (4, [0, 0, 0, 5], "3 of 4 pods start together (minimum 4, 1 runs); 1 more is a single pod, which starts with them"),
        (5, [None] * 4, "does not start as a whole: 4 pods start together, each requests 1 core; the nodes have room for 3 of"),
        (7, [None] * 4, "does not start: its minimum is 7 pods, 1 runs, and 4 wait"),
        (2, [0, 0, 0, 5], None),  # one is enough: pods of their own
    ],
)
def test_minimums(tmp_path: Path, kind: str, least: int, begin: list[int | None], line: str | None) -> None:
    """Nodes of two cores, on one of which a pod of the gang runs for ever, or as long as others; four of a core wait."""
    field, value, item = minimum(kind, least)
    pods = [pod(f"ring-{n}", container(cpu="1"), on="a" if n == 0 else None, job=n > 0, **{field: value}) for n in range(5)]
    cluster = read_cluster(listed(tmp_path / "c.json", [node("a", cpu="2"), node("b", cpu="2"), *pods, item]))
    assert [*starts(cluster, Fixed(5)).values()] == [slot for slot in begin if slot is not None]
    notes = [note for note in cluster.notes(None) if note.startswith("gang ")]
    assert [note for note in notes if line is not None and f" {line}" in note] == notes and len(notes) == (line is not None)
    assert len(cluster.unfit) == begin.count(None)


def test_a_basic_group_is_no_gang(tmp_path: Path) -> None:
    field, value, item = minimum("PodGroup", 9)
    item["spec"] = {"schedulingPolicy": {"basic": {}}}
    pods = [pod(f"ring-{n}", container(cpu="1"), **{field: value}) for n in range(5)]
    cluster = read_cluster(listed(tmp_path / "c.json", [node("a", cpu="2"), *pods, item]))
    assert gangs_of(cluster) == [] and [*starts(cluster, Fixed(5)).values()] == [0, 0, 5, 5, 10]


def test_pods_on_a_node_that_is_left_out_count_as_running(tmp_path: Path) -> None:
    field, value, item = minimum("minMember", 4)
    pods = [pod(f"ring-{n}", container(cpu="1"), on="lost" if n == 0 else None, **{field: value}) for n in range(4)]
    cluster = read_cluster(listed(tmp_path / "c.json", [node("a"), node("lost", ready="Unknown"), *pods, item]))
    assert [(group.needed, group.missing) for group in gangs_of(cluster)] == [(3, 0)]


def starts(cluster: Cluster, service: Any, policy: str = "bf-js") -> dict[str, int]:
    """The slot in which each waiting pod starts."""
    if not cluster.waiting:
        return {}
    workload = cluster.workload(service)
    result = packenv.simulate(workload, policy, slots=200, schedule=True)
    assert result.schedule is not None and isinstance(workload.draw, Started)
    start, _ = workload.draw.times(result.seed, result.schedule.start, result.schedule.end)
    return {each.name.removeprefix("team/"): int(slot) for each, slot in zip(cluster.waiting, start, strict=True)}
