"""Pods of gangs, however a scheduler knows them, in dumps, in manifests and in their owners; objects of other kinds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from packenv.kubernetes import read_cluster
from packenv.kubernetes.manifests import read_manifests
from tests.kubernetes.sample import container, listed, node, pod

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
def test_a_pod_of_a_gang_does_not_wait_alone(tmp_path: Path, where: str, key: str, value: Any) -> None:
    ring = marked(pod("ring", container(cpu="1")), where, key, value)
    cluster = read_cluster(listed(tmp_path / "c.json", [node("n"), ring, pod("other", container(cpu="1"))]))
    field = f"spec.{key}" if where == "spec" else key
    assert [(each.name, each.gang) for each in cluster.gangs] == [("team/ring", field)]
    assert [each.name for each in cluster.waiting] == ["team/other"] and cluster.left_out == {"waiting pods of gangs": 1}
    assert any(line.startswith(f"not modelled: {field} of 1 waiting pod (team/ring)") for line in cluster.notes(None))


def test_a_pod_that_a_group_owns(tmp_path: Path) -> None:
    ring = pod("ring", container(cpu="1"), owner="PodGroup/ring")
    cluster = read_cluster(listed(tmp_path / "c.json", [node("n"), ring]))
    assert [(each.name, each.gang) for each in cluster.gangs] == [("team/ring", "PodGroup, its owner,")]


@pytest.mark.parametrize(("where", "key", "value"), NONE)
def test_a_pod_of_none(tmp_path: Path, where: str, key: str, value: Any) -> None:
    cluster = read_cluster(listed(tmp_path / "c.json", [node("n"), marked(pod("p", container(cpu="1")), where, key, value)]))
    assert cluster.gangs == () and len(cluster.waiting) == 1


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
    assert ([each.name for each in cluster.gangs], cluster.waiting) == (["team/ring-0", "team/ring-1"], ())
    owned = [pod(f"ring-{n}", container(cpu="1"), owner=f"{kind}/ring") for n in range(2)]  # and in a dump that has the owner
    cluster = read_cluster(listed(tmp_path / "c.json", [*owned, node("n"), item]))
    assert ([each.name for each in cluster.gangs], cluster.waiting) == (["team/ring-0", "team/ring-1"], ())


def test_a_pod_that_is_submitted(tmp_path: Path) -> None:
    item = pod("ring", container(cpu="1"))
    (tmp_path / "new.json").write_text(json.dumps(marked(item, *MARKS[2])))
    cluster = read_cluster(listed(tmp_path / "c.json", [node("n")]), None, read_manifests([tmp_path / "new.json"]))
    assert [each.name for each in cluster.gangs] == ["team/ring"]


def test_objects_of_other_kinds_are_counted(tmp_path: Path) -> None:
    others = [{"kind": kind, "metadata": {"name": "a"}, "spec": {}} for kind in ("PodGroup", "Workload", "PodGroup", "Job")]
    cluster = read_cluster(listed(tmp_path / "c.json", [node("n"), *others, pod("p", container(cpu="1"))]))
    assert cluster.left_out == {"objects of kind PodGroup": 2, "objects of kind Workload": 1}


@pytest.mark.parametrize(
    ("least", "line"),
    [
        (None, "gang team/ring: room for 3 of 4 waiting pods now: it does not start now"),
        (
            4,
            "gang team/ring: room for 3 of 4 waiting pods now, of which 3 have to start together: it may start now",
        ),
        (5, "gang team/ring: room for 3 of 4 waiting pods now, of which 4 have to start together: it does not start now"),
    ],
)
def test_for_how_many_of_a_gang_there_is_room(tmp_path: Path, least: int | None, line: str) -> None:
    """Two nodes of two cores, on one of which a pod of the gang runs; the minimum is that of its PodGroup, if the dump has it."""
    pods = [pod(f"ring-{n}", container(cpu="1"), on="a" if n == 0 else None) for n in range(5)]
    items = [node("a", cpu="2"), node("b", cpu="2"), *(marked(each, *MARKS[2]) for each in pods)]
    if least is not None:
        items.append({"kind": "PodGroup", "metadata": {"name": "ring", "namespace": "team"}, "spec": {"minMember": least}})
    notes = read_cluster(listed(tmp_path / "c.json", items)).notes(None)
    assert any(note.startswith(line) for note in notes), notes
