"""`packenv kubernetes submit`: starts, who pays for them and what would help, by hand; manifests, good and bad."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kubernetes_tests.sample import NODES, container, listed, node, pod
from packenv.cli.main import main
from packenv.errors import InputError
from packenv_kubernetes import read_cluster
from packenv_kubernetes.manifests import read_manifests

FULL = pod("runs", container(cpu="4"), on="n", started="2024-05-01T11:59:00Z", priority=0)
WAITS = pod("waits", container(cpu="4"))
POD = {"restartPolicy": "Never", "containers": [container(cpu="4")]}


def manifest(kind: str = "Pod", name: str = "new", spec: Any = None, **more: Any) -> dict[str, Any]:
    return {"kind": kind, "metadata": {"name": name, "namespace": "team"}, "spec": POD | (spec or {}), **more}


def job(name: str = "new", pod_spec: Any = None, kind: str = "Job", **spec: Any) -> dict[str, Any]:
    return manifest(kind, name) | {"spec": {"template": {"spec": POD | (pod_spec or {})}, **spec}}


def written(folder: Path, *objects: Any) -> Path:
    file = folder / "new.json"
    file.write_text(json.dumps({"kind": "List", "items": [*objects]}))
    return file


def submit(folder: Path, items: list[Any], *objects: Any, words: tuple[str, ...] = ("--service", "fixed:600")) -> Any:
    cluster, out = listed(folder / "cluster.json", items), folder / "out.json"
    options = "--slots", "9000", "--draws", "9", "--processes", "1", "--json", str(out)
    main(["kubernetes", "submit", str(cluster), str(written(folder, *objects)), *words, *options])
    (record,) = json.loads(out.read_text())
    return record


def test_a_pod_behind_others(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One node, which is full for 540 s, and then for 600 s with the pod that waits; what would help it is tried."""
    found = submit(tmp_path, [node("n"), FULL, WAITS], manifest())
    (start,) = found["pods"]
    assert (start["pod"], start["low_s"], start["high_s"], start["now"]) == ("team/new", 1140, 1140, False)
    assert (found["preempted"], found["later"], found["fits_nowhere"]) == ([], [], [])
    (change,) = found["changes"]
    assert (change["kind"], change["amount"], change["nodes"]) == ("node", 2, ["added 2"])  # the pod before it takes one
    printed = capsys.readouterr().out
    assert "bf-js: 0 of 1 submitted pods start now." in printed and "bf-js: no pod that waits starts later for them." in printed
    assert "the submitted pods, from now; a run has" in printed and "they held" not in printed and found["covered"] is None


def test_a_pod_of_higher_priority(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It starts when the other's grace has passed, in 30 s, and the one that waits in 630 s instead of 540 s."""
    found = submit(tmp_path, [node("n"), FULL, WAITS], manifest(spec={"priority": 9}))
    assert [(each["low_s"], each["now"]) for each in found["pods"]] == [(30, True)]
    assert (found["preempted"], found["changes"]) == (["team/runs"], [])
    assert [(each["pod"], each["later_s"][0], each["lost"]) for each in found["later"]] == [("team/waits", 90, 0)]
    printed = capsys.readouterr().out
    assert "1 pod preempted for them, whose work is lost: team/runs." in printed
    assert (
        "team/new starts within 30 s on n: team/runs preempted" in printed and "now: or as soon as the pods in whose" in printed
    )
    assert "waiting pods that start later on average: team/waits (90 s)." in printed
    spared = submit(tmp_path, [node("n"), FULL, WAITS], manifest(spec={"priority": 9}), words=("--no-preemption",))
    assert spared["preempted"] == [] and spared["pods"][0]["low_s"] is None


def test_who_never_starts_for_them(tmp_path: Path) -> None:
    """Nothing ends: the submitted pod takes the room that the other would have had."""
    items = [node("n"), pod("waits", container(cpu="3"), priority=0)]
    found = submit(tmp_path, items, manifest(spec={"priority": 9}), words=())
    assert [(each["pod"], each["later_s"], each["lost"]) for each in found["later"]] == [("team/waits", [None] * 3, 1.0)]


@pytest.mark.parametrize(
    ("items", "spec", "changes"),
    [
        ([node("n", "4")], {"containers": [container(cpu="6")]}, [("request", "with 4 cores each, not 6 cores")]),
        ([node("n", "330m")], {"containers": [container(cpu="500m")]}, [("request", "with 0.33 cores each, not 0.5 cores")]),
        ([node("n", "4", "4Gi")], {"containers": [container(cpu="6", memory="5Gi")]}, "both"),
        ([node("n", labels={"a": "b"})], {"nodeSelector": {"a": "c"}}, [("rule", "without its nodeSelector")]),
        (
            [node("n", spec={"taints": [{"key": "gpu", "effect": "NoSchedule"}]})],
            {},
            [("rule", "with a toleration of the taint gpu")],
        ),
        (
            [node("n"), FULL, node("small", "2"), node("cold", "4", spec={"unschedulable": True})],
            {"containers": [container(cpu="3")]},
            [("request", "with 2 cores each, not 3 cores"), ("node", "with 1 more node like n")],
        ),
        ([node("n")], {"containers": [container(cpu="1", gpu="1")]}, []),
    ],
)
def test_what_would_help(tmp_path: Path, items: Any, spec: Any, changes: Any) -> None:
    found = [(each["kind"], each["change"]) for each in submit(tmp_path, items, manifest(spec=spec))["changes"]]
    if changes == "both":  # neither alone helps: two thirds of each, in 64ths and whole steps
        ((kind, text),) = found
        assert kind == "request" and text == "with 4 cores and 3.312 GiB memory each, not 6 cores and 5 GiB memory"
    else:
        assert found == changes


def test_all_pods_of_a_template(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Room for one of three; two nodes more, or a third of the cores, in hundredths of a core."""
    found = submit(tmp_path, [node("n")], job(parallelism=3))
    assert [(each["pod"], each["low_s"]) for each in found["pods"]] == [(f"team/new-{n}", 600 * n) for n in range(3)]
    assert [(each["kind"], each["amount"]) for each in found["changes"]] == [("request", 1.33 / 4), ("node", 2)]
    assert "bf-js: 1 of 3 submitted pods starts now." in capsys.readouterr().out


def test_the_same_as_in_the_dump(tmp_path: Path) -> None:
    """A pod that is submitted starts when the same pod would that waits in the dump; who does not meet it waits as long."""
    items = [node("n"), node("gpu", labels={"a": "b"}), FULL, WAITS]
    items += [pod(f"g{n}", container(cpu="3"), nodeSelector={"a": "b"}) for n in range(2)]
    law = "--service", "exponential:600"
    spec = {"containers": [container(cpu="2")], "nodeSelector": {"kubernetes.io/os": "x"}}
    alone = submit(tmp_path, items, manifest(spec=spec), words=law)
    assert (alone["fits_nowhere"], alone["later"]) == (["team/new"], [])
    found = submit(tmp_path, items, manifest(spec={"nodeSelector": {"a": "b"}}), words=law)
    assert {each["pod"] for each in found["later"]} <= {"team/g0", "team/g1"}
    late = pod("new", container(cpu="4"), created="2024-05-01T12:00:00Z", nodeSelector={"a": "b"})
    cluster, out = listed(tmp_path / "all.json", [*items, late]), tmp_path / "when.json"
    main(["kubernetes", "when", str(cluster), *law, *["--slots", "9000", "--draws", "9", "--processes", "1", "--json"], str(out)])
    whens = {each["pod"]: each for each in json.loads(out.read_text())}
    assert {key: found["pods"][0][key] for key in ("low_s", "median_s", "high_s")} == {
        key: whens["team/new"][key] for key in ("low_s", "median_s", "high_s")
    }


YAML = """
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: fast, creationTimestamp: 2024-05-01T12:00:00Z}
value: 7
preemptionPolicy: Never
---
kind: Deployment
metadata: {name: web, namespace: team}
spec:
  replicas: 2
  template:
    spec:
      priorityClassName: fast
      containers: [{name: c, resources: {requests: {cpu: 0.5, memory: 1e2}}}]
---
---
kind: StatefulSet
metadata: {name: db}
spec: {template: {spec: {priority: 3, priorityClassName: gone, containers: [{name: c}]}}}
---
kind: CronJob
metadata: {name: nightly}
spec:
  jobTemplate:
    spec:
      parallelism: 5
      completions: 3
      activeDeadlineSeconds: 60
      template: {spec: {priorityClassName: of-the-dump, restartPolicy: Never, containers: [{name: c}]}}
---
kind: Pod
metadata: {generateName: x-}
spec: {containers: [{name: c}], priorityClassName: system-node-critical}
"""


def test_manifests(tmp_path: Path) -> None:
    file = tmp_path / "new.yaml"
    file.write_text(YAML, encoding="utf-16")
    known = pod("known", container(cpu="1"), on="n", priority=5, priorityClassName="of-the-dump")
    cluster = read_cluster(listed(tmp_path / "c.json", [node("n"), known]), None, read_manifests([file]))
    pods = {each.name: each for each in cluster.waiting}
    assert [*pods] == [
        "default/x-1",
        *(f"team/web-{n}" for n in (1, 2)),
        *(f"default/nightly-{n}" for n in range(3)),
        "default/db-0",
    ]
    assert [each.priority for each in pods.values()] == [2_000_001_000, 7, 7, 5, 5, 5, 3]
    web = pods["team/web-1"]
    assert ({**web.asks}, web.preempts, web.owner, web.endless) == ({"cpu": 0.5, "memory": 100}, False, "team/web", True)
    assert pods["default/nightly-0"].deadline == cluster.now + 60 and cluster.resources[-1] == "pods"


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ({"kind": "Service", "metadata": {"name": "s"}}, "names nothing that is scheduled: it has Service; those are Pod, Job"),
        ("", "names nothing that is scheduled: it is empty"),
        (
            {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": {"name": "a"}, "spec": {"tasks": []}},
            "it has Job of batch.volcano.sh/v1alpha1; those are",
        ),
        ("just a text", "object 1: is not a manifest: an object with a kind"),
        ("a: [", "neither JSON nor YAML: while parsing"),
        ('{"kind": "Pod"', "not JSON"),
        ({"kind": "Pod", "metadata": {}}, "object 1: metadata: has no name"),
        ({"kind": "Pod", "metadata": {"name": "a"}}, "pod a: spec: has no containers"),
        ({"kind": "Job", "metadata": {"name": "a"}, "spec": {}}, "job a: spec, template: has no spec of a pod"),
        (job(kind="Deployment", replicas=0), "deployment new: spec, replicas: 0: no pod would start"),
        (job(parallelism=0), "job new: spec, parallelism: 0: no pod would start"),
        (job(kind="StatefulSet", replicas="two"), "statefulset new: replicas: 'two' is not a whole number"),
        (job(kind="Deployment", replicas=10**6), "1,000,000 pods, more than 100,000, are too many"),
        (job(pod_spec={"containers": [container(cpu="x")]}), "job new: containers, requests, cpu: 'x' is not a quantity"),
        (manifest(spec={"nodeName": "n"}), "pod new: spec, nodeName: it is on a node already"),
        (manifest(spec={"schedulingGates": [{"name": "g"}]}), "pod new: spec, schedulingGates: it is held"),
        (manifest(spec={"priorityClassName": "x"}), "pod new: priorityClassName 'x': no pod of "),
        (manifest(name="runs"), "pod runs: there is a pod team/runs already"),
        ({"kind": "List", "items": [manifest(), manifest()]}, "pod new: there is a pod team/new already"),
        (job(name="old"), "job old: "),
        (job(kind="Deployment", name="web"), "has its pods already: give new ones another name"),
        ({"kind": "PriorityClass", "metadata": {"name": "p"}}, "priorityclass p: value: is missing"),
    ],
)
def test_bad_manifests(tmp_path: Path, capsys: pytest.CaptureFixture[str], content: Any, problem: str) -> None:
    file = tmp_path / "new.yaml"
    file.write_text(content if isinstance(content, str) else json.dumps(content))
    items = [node("n"), FULL, pod("a", on="n", owner="Job/old"), pod("b", on="n", owner="ReplicaSet/web-7d4b9c")]
    with pytest.raises(SystemExit) as end:
        main(["kubernetes", "submit", str(listed(tmp_path / "cluster.json", items)), str(file)])
    line = capsys.readouterr().err.strip()
    assert end.value.code == 2 and problem in line and "\n" not in line
    assert str(file) in line or "too many" in problem


def test_submit_is_for_clusters(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = str(written(tmp_path, manifest()))
    cluster = str(listed(tmp_path / "cluster.json", NODES))
    for words, problem in (
        ((cluster,), "Missing argument 'MANIFEST…'"),
        ((cluster, file, "-g", "max wait <= 1s"), "No such option"),
        ((cluster, "gone.yaml"), "gone.yaml: no such file"),
        (("gone.json", file), "gone.json: no such file"),
    ):
        with pytest.raises(SystemExit):
            main(["kubernetes", "submit", *words])
        assert problem in capsys.readouterr().err


def test_a_pod_that_asks_for_none_of_the_resources(tmp_path: Path) -> None:
    cluster = listed(tmp_path / "cluster.json", [node("n")])
    new = read_manifests([written(tmp_path, manifest())])
    with pytest.raises(InputError, match="team/new, which is submitted, requests none of memory"):
        read_cluster(cluster, ("memory",), new)
