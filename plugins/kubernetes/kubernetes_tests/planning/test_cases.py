"""Dumps made after public reports of what goes wrong on real clusters: daemons, overfull nodes, resizes, priorities, ports."""

from __future__ import annotations

import io
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

import packenv
from kubernetes_tests.sample import container, listed, node, pod
from packenv.cli.main import main
from packenv.inputs.text_files import standard_input
from packenv_kubernetes import read_cluster
from packenv_kubernetes.filters import Taint, Traits
from packenv_kubernetes.objects import held_by
from packenv_kubernetes.preemption import first_cycle

CASES = Path(__file__).parents[2] / "cases"
NOW = "-g", "max wait <= 0s"
HUNDRED = "--service", "fixed:100", "--slots", "1000", "--draws", "9"


def ask(command: str, name: str, out: Path, *words: str) -> list[Any]:
    main(["kubernetes", command, str(CASES / f"k8s-{name}.json"), *words, "--processes", "1", "--json", str(out)])
    records: list[Any] = json.loads(out.read_text())
    return records


@pytest.mark.parametrize(
    ("name", "goal", "added", "line"),
    [
        ("daemons-add", "0s", 3, "with bf-js for max wait <= 0s. With fewer nodes no policy meets the goals."),
        ("daemons-add", "0s", 3, "its labels and taints; 1 pod like its own (default/agent-1) run there"),
        ("daemons-drain-wait", "0s", -1, "1 node like n1 can be taken away"),
        ("overfull-node", "0s", 0, "1 node holds more than it has, and takes nothing until there is room again: big"),
        ("overfull-reserved", "0s", -39, "1 node holds more than it has, and takes nothing until there is room again: small"),
        ("terminating", "60s", 0, "1 pod with a known latest end: default/model-v1"),
        ("placeholders", "0s", 0, "default/jupyter-alice starts now on user-0: default/user-placeholder-3 preempted"),
        ("priority", "0s", 0, "1 pod of lower priority preempted and queued again, last; its work is lost"),
        (
            "shrinking",
            "0s",
            1,
            "1 more node like n is enough with bf-js for max wait <= 0s. With fewer nodes no policy",
        ),
        ("hostport", "0s", 8, "8 more nodes like tmpl"),
        ("pod-limit", "0s", 2, "are enough with bf-js for max wait <= 0s. With fewer nodes no policy meets the goals."),
        ("utf16", "0s", 0, "1 pod in the queue"),
    ],
)
def test_nodes_to_add(tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, goal: str, added: int, line: str) -> None:
    (record,) = ask("plan", name, tmp_path / "out.json", "-g", f"max wait <= {goal}", "--seeds", "1")
    printed = capsys.readouterr().out
    assert record["added"] == added and line in printed
    assert record["bound"] is None or record["bound"] <= added
    if added <= 0:  # these nodes, not any
        assert "with fewer nodes no policy" not in printed


@pytest.mark.parametrize(
    ("name", "latest"),
    [("terminating", 30), ("shrinking", None), ("overfull-node", 0), ("overfull-reserved", 0), ("priority", 0)],
)
def test_when_pods_start(tmp_path: Path, name: str, latest: float | None) -> None:
    (record,) = ask("when", name, tmp_path / "out.json", "--draws", "9", "--slots", "1000")
    assert record["high_s"] == latest and record["started"] == (latest is not None)


def test_without_preemption(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (record,) = ask("when", "priority", tmp_path / "out.json", "--draws", "9", "--slots", "9", "--no-preemption")
    assert record["started"] == 0
    (record,) = ask("plan", "priority", tmp_path / "out.json", *NOW, "--seeds", "1", "--no-preemption")
    assert record["added"] == 1
    assert "for max wait <= 0s. With fewer nodes without preemption no policy meets the goals." in capsys.readouterr().out


def test_a_node_with_its_daemon_alone_can_go(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (record,) = ask("plan", "daemons-drain", tmp_path / "out.json", *NOW, "--seeds", "1", "--without", "n2")
    assert (record["again"], record["stranded"], record["goals"][0]["met_without"]) == ([], [], True)
    assert "No pod waits, and none of these nodes' pods would start again." in capsys.readouterr().out


@pytest.mark.parametrize("words", [("plan", *NOW), ("when",)])
def test_a_pod_that_fits_on_no_node(capsys: pytest.CaptureFixture[str], words: tuple[str, ...]) -> None:
    with pytest.raises(SystemExit):
        main(["kubernetes", words[0], str(CASES / "k8s-too-large.json"), *words[1:]])
    line = capsys.readouterr().err.strip()
    assert "default/p fits on no node: it requests 0.3 cores, 0.125 GiB memory; the nearest, n, has 0.299 cores" in line
    assert "--add 1.004:1 would help" in line and "no pod waits" not in line and "\n" not in line


def test_the_node_that_would_help_does(tmp_path: Path) -> None:
    (record,) = ask("plan", "too-large", tmp_path / "out.json", *NOW, "--seeds", "1", "--add", "1.004:1")
    assert (record["added"], record["fits_nowhere"]) == (1, [])


@pytest.mark.parametrize(
    ("name", "gang", "bound"),
    [("workloadref", "d/ring/all", 1), ("label", "d/ring", 1), ("volcano", "d/ring", None)],  # of another scheduler none is said
)
def test_a_gang_does_not_start_in_part(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, gang: str, bound: int | None
) -> None:
    with pytest.raises(SystemExit):
        ask("when", f"gang-{name}", tmp_path / "out.json", *HUNDRED)
    why = f"gang {gang} does not start as a whole: 4 pods start together, each requests 1 core; the nodes have room for 3"
    printed = capsys.readouterr().err
    assert why in printed and "--add n1 would help, a node like this" in printed
    records = ask("when", f"gang-{name}", tmp_path / "out.json", "--add", "n1", *HUNDRED)
    assert [(own["low_s"], own["high_s"]) for own in records] == [(0, 0)] * 4
    (record,) = ask("plan", f"gang-{name}", tmp_path / "out.json", *NOW, "--seeds", "1")
    assert (record["added"], record["bound"]) == (1, bound)


def test_a_gang_is_submitted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (record,) = ask("submit", "empty-3cores", tmp_path / "out.json", str(CASES / "k8s-gang-job-manifest.json"), *HUNDRED)
    ring = [f"d/ring-{n}" for n in range(4)]
    assert (record["pods"], record["not_modelled"], record["fits_nowhere"]) == ([], {}, ring)
    assert [(change["change"], change["pods"]) for change in record["changes"]] == [
        ("with 0.75 cores each, not 1 core", ring),
        ("with 1 more node like n1", ring),
    ]
    assert "0 of 4 submitted pods start now, 4 are of gangs that cannot start as a whole." in capsys.readouterr().out


def test_a_limit_of_a_pod_alone(tmp_path: Path) -> None:
    words = str(CASES / "k8s-podlevel-limits-only.json"), *HUNDRED
    (record,) = ask("submit", "two-of-four-free", tmp_path / "out.json", *words)
    assert [(pod["pod"], pod["now"], pod["high_s"]) for pod in record["pods"]] == [("d/w", True, 0)]


def test_a_nominated_pod(tmp_path: Path) -> None:
    records = ask("when", "nominated", tmp_path / "out.json", *HUNDRED)
    assert {own["pod"]: (own["low_s"], own["high_s"]) for own in records} == {"d/big": (30, 30), "d/small": (130, 130)}


@pytest.mark.parametrize(
    ("name", "words", "starts", "lines"),
    [
        ("pod-twice", (), {"default/wait-b": 0}, ["left out: 2 pods that occur more than once", "1 pod runs at the start"]),
        ("hami", (), {"default/w1": None, "default/w2": 0}, ["4 pods whose nvidia.com/gpumem must be on one GPU"]),
        (
            "yunikorn-placeholders",
            (),
            {"default/exec-1": 0, "default/exec-2": 0},
            ["2 running placeholders of YuniKorn: each gives its place", "may start earlier or later than shown"],
        ),
        ("kai-fraction", (), {"default/b": 0}, ["not modelled: gpu-fraction of 1 waiting pod (default/b)"]),
        ("kueue-suspended", (), {"default/q": 0}, ["not counted: suspended Job team/train of 4 pods: once admitted"]),
        ("two-documents", (), None, []),
        ("nested-lists", (), None, []),
        ("warning-first", (), None, []),
        ("two-kinds", ("--add", "a", "--add", "2xb"), None, ["with 1 more node like a, with 2 more nodes like b"]),
    ],
)
def test_what_is_not_modelled_is_counted(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    name: str,
    words: tuple[str, ...],
    starts: dict[str, float | None] | None,
    lines: list[str],
) -> None:
    records = ask("when", name, tmp_path / "out.json", *words, *HUNDRED)
    printed = capsys.readouterr().out
    assert [line for line in lines if line not in printed] == []
    assert records and (starts is None or {own["pod"]: own["high_s"] for own in records} == starts)


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("yunikorn-placeholders", "The present nodes are enough with bf-js for max wait <= 60s."),
        ("kueue-suspended", "are enough with bf-js for max wait <= 60s. Not counted: the pods of 1 suspended object."),
    ],
)
def test_no_nodes_to_add(tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, answer: str) -> None:
    (record,) = ask("plan", name, tmp_path / "out.json", "-g", "max wait <= 60s", "--service", "exponential:3600", "--seeds", "2")
    assert record["added"] <= 0 and (answer in capsys.readouterr().out or record["added"] < 0)


def test_pods_that_a_suspended_job_will_create(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Where no pod waits, a plan does not count them, and `when` has nothing to show."""
    law = "--service", "exponential:3600"
    ask("plan", "kueue-only-suspended", tmp_path / "out.json", "-g", "max wait <= 60s", *law, "--seeds", "1")
    printed = capsys.readouterr().out
    assert "not counted: suspended Job team/train of 4 pods" in printed
    assert "for max wait <= 60s. Not counted: the pods of 1 suspended object." in printed
    assert ask("when", "kueue-only-suspended", tmp_path / "out.json", *law) == []
    assert "not counted: suspended Job team/train of 4 pods" in capsys.readouterr().out


def test_a_cluster_on_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    standard_input.cache_clear()
    piped = io.TextIOWrapper(io.BytesIO((CASES / "k8s-warning-first.json").read_bytes()))
    monkeypatch.setattr(sys, "stdin", piped)
    main(["kubernetes", "when", "-", *HUNDRED, "--processes", "1", "--json", str(tmp_path / "out.json")])
    standard_input.cache_clear()
    assert [own["pod"] for own in json.loads((tmp_path / "out.json").read_text())] == ["default/q"]


def test_a_plan_adds_one_kind(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["kubernetes", "plan", str(CASES / "k8s-two-kinds.json"), *NOW, "--add", "a", "--add", "2xb"])
    assert "a plan adds nodes of one kind: give --add once" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("key", "lasts"),
    [
        ("gpu", True),
        ("node.kubernetes.io/not-ready", False),
        ("node.cilium.io/agent-not-ready", False),
        ("ebs.csi.aws.com/agent-not-ready", False),
        ("karpenter.sh/unregistered", False),
        ("node.cloudprovider.kubernetes.io/uninitialized", False),
        ("startup-taint.cluster-autoscaler.kubernetes.io/agent", False),
        ("ignore-taint.cluster-autoscaler.kubernetes.io/agent", False),
    ],
)
def test_a_new_node_has_no_taint_of_a_starting_one(key: str, lasts: bool) -> None:
    traits = Traits("n", (), (Taint(key, "", "NoSchedule"),))
    assert bool(traits.lasting()) == lasts


@pytest.mark.parametrize(
    ("item", "pods"),
    [
        ({"kind": "Job", "spec": {"suspend": True, "parallelism": 4, "completions": 2}}, 2),
        ({"kind": "Job", "spec": {"suspend": True}}, 1),
        ({"kind": "Job", "spec": {"parallelism": 4}}, None),
        ({"kind": "CronJob", "spec": {"suspend": True}}, None),
        ({"kind": "MPIJob", "spec": {"runPolicy": {"suspend": True}}}, 0),
        ({"kind": "Workload", "apiVersion": "kueue.x-k8s.io/v1beta1", "spec": {"podSets": [{"count": 3}, {"count": 2}]}}, 5),
    ],
)
def test_suspended_objects(item: dict[str, Any], pods: int | None) -> None:
    assert held_by({"metadata": {}, **item}, item["kind"]) == pods
    admitted = {"conditions": [{"type": "Admitted", "status": "True"}]}
    if item["kind"] == "Workload":
        assert held_by({"metadata": {}, "status": admitted, **item}, item["kind"]) is None


def test_a_suspended_object_is_counted_once(tmp_path: Path) -> None:
    metadata = {"name": "w", "namespace": "team"}
    held = {"kind": "Workload", "apiVersion": "kueue.x-k8s.io/v1beta1", "metadata": metadata, "spec": {"podSets": [{"count": 4}]}}
    other = {"kind": "Service", "metadata": {"name": "s"}}
    cluster = read_cluster(listed(tmp_path / "cluster.json", [node("n"), held, other]))
    assert cluster.suspended == {"suspended Workload team/w": 4}
    assert cluster.left_out == {"objects of kind Service": 1}


AT = "2024-05-01T12:00:00Z"


def nominated(tmp_path: Path, nominate: str = "a", reason: str = "PreemptionByScheduler") -> Path:
    """A pod waits for one that is ending on node a. Another runs on b, and a third waits."""
    victim = pod("victim", container(cpu="4"), on="a", deleted="2024-05-01T12:00:30Z", started="2024-05-01T11:00:00Z")
    victim["status"]["conditions"] = [{"type": "DisruptionTarget", "status": "True", "reason": reason}]
    high = pod("high", container(cpu="4"), created=AT, priority=1000)
    high["status"]["nominatedNodeName"] = nominate
    runs = pod("runs", container(cpu="4"), on="b", started="2024-05-01T11:50:00Z")
    low = pod("low", container(cpu="1"), created="2024-05-01T11:00:00Z")
    return listed(tmp_path / "cluster.json", [node("a"), node("b"), victim, high, runs, low])


def starts_of(path: Path, out: Path) -> dict[str, float | None]:
    main(["kubernetes", "when", str(path), "--service", "fixed:2h", "--draws", "9", "--processes", "1", "--json", str(out)])
    return {record["pod"]: record["high_s"] for record in json.loads(out.read_text())}


def test_a_nominated_pod_preempts_no_second_time(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    starts = starts_of(nominated(tmp_path), tmp_path / "out.json")
    assert starts == {"team/high": 30, "team/low": 6600}  # b is free 110 min from now
    printed = capsys.readouterr().out
    assert "team/high starts within 30 s on a: preempted pods are ending there" in printed and "queued again" not in printed


@pytest.mark.parametrize(
    ("nominate", "reason"), [("b", "PreemptionByScheduler"), ("", ""), ("gone", ""), ("a", "EvictionByEvictionAPI")]
)
def test_it_preempts_where_no_pod_was_preempted_for_it(tmp_path: Path, nominate: str, reason: str) -> None:
    cluster = read_cluster(nominated(tmp_path, nominate, reason))
    assert [(start.node, start.victims) for start in first_cycle(cluster) if cluster.waiting[start.pod].priority] == [(1, (1,))]


def test_whole_gpus_are_proposed(tmp_path: Path) -> None:
    items = [node("n", "8", **{"nvidia.com/gpu": "2"}), pod("runs", container(cpu="4", gpu=1), on="n", job=False)]
    job = tmp_path / "job.json"
    template = {"spec": {"restartPolicy": "Never", "containers": [container(cpu="3", memory="6Gi", gpu=1)]}}
    spec = {"parallelism": 2, "template": template}
    job.write_text(json.dumps({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}, "spec": spec}))
    words = str(listed(tmp_path / "cluster.json", items)), str(job), "--service", "fixed:1h", "--draws", "9", "--slots", "9000"
    main(["kubernetes", "submit", *words, "--processes", "1", "--json", str(tmp_path / "out.json")])
    (record,) = json.loads((tmp_path / "out.json").read_text())
    assert [change["kind"] for change in record["changes"]] == ["node"]


def test_never_and_later(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    items = [
        node("a"),
        node("b", "8", labels={"big": "yes"}),
        pod("web", container(cpu="6"), on="b", job=False),
        pod("large", container(cpu="3"), nodeSelector={"big": "yes"}),
        *(pod(f"p{n}", container(cpu="4"), created=f"2024-05-01T11:0{n}:00Z") for n in range(3)),
    ]
    path = str(listed(tmp_path / "cluster.json", items))
    main(["kubernetes", "when", path, "--service", "fixed:1h", "--slots", "5000", "--processes", "1"])
    printed = capsys.readouterr()
    cells = [" ".join(line.split()[1:]) for line in printed.out.splitlines() if line.startswith("  team/")]
    assert cells == ["later", "0 s", "60 min", "later"]
    main(["kubernetes", "when", path, "--service", "fixed:1h", "--processes", "1"])
    printed = capsys.readouterr()
    assert re.search(r"team/large +never", printed.out) and "later" not in printed.out and "199 runs" not in printed.err
    with pytest.raises(SystemExit):
        main(["kubernetes", "plan", path, "-g", "max wait <= 3h", "--add", "a", "--service", "fixed:1h", "--processes", "1"])
    printed = capsys.readouterr()
    text = " ".join((printed.out + printed.err).split())
    assert "the max wait is never: not all pods start; team/large does not go on such a node" in text
    assert "any number of nodes" in text


def test_no_pod_waits(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["kubernetes", "when", str(listed(tmp_path / "cluster.json", [node("a")]))])
    assert "no pod waits for a node" in capsys.readouterr().out


def test_rules_are_no_resources_for_users(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = listed(tmp_path / "cluster.json")
    assert "one of 1 node" not in repr(packenv.workload(str(path), service="exponential:1h"))
    main(["kubernetes", "evaluate", str(path), "--service", "exponential:1h", "--slots", "200"])
    printed = capsys.readouterr().out
    assert "one of 1 node" not in printed and "--drain" not in printed and "undecided" not in printed
    assert "cluster.json: 3 nodes, 2 pods in the queue" in printed and "1 cordoned node takes no new pods: cordoned" in printed
