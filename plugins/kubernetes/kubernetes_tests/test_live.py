"""`packenv.Scheduler` of a dump: it starts pods where a simulation does, by the rules of the pods."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import packenv
from kubernetes_tests.sample import container, listed, node, pod
from packenv.cli.main import main
from packenv.errors import InputError
from packenv_kubernetes import read_cluster
from packenv_kubernetes.live import tasks_of
from packenv_kubernetes.planning.submitted import first_places
from packenv_kubernetes.preemption import first_cycle

CASES = sorted((Path(__file__).parents[1] / "cases").glob("k8s-*.json"))


def starts_live(path: Path, policy: str = "bf-js") -> dict[str, str]:
    return {str(start.task): str(start.server) for start in packenv.Scheduler.of(path, policy).decide()}


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_pods_start_as_in_a_simulation(path: Path) -> None:
    try:
        cluster = read_cluster(path)
        workload = cluster.workload()
    except InputError as problem:
        pytest.skip(str(problem))
    if cluster.overfull or any(start.victims for start in first_cycle(cluster)):
        pytest.skip("a scheduler preempts nothing, and an overfull node is refused")
    places = first_places(workload, packenv.simulate(workload, "bf-js", slots=1, schedule=True))
    named = zip(cluster.waiting, places, strict=True)
    assert starts_live(path) == {each.name: cluster.nodes[place] for each, place in named if place >= 0}


def test_rules_gangs_and_ports(tmp_path: Path) -> None:
    taint = {"taints": [{"key": "gpu", "effect": "NoSchedule"}]}
    nodes = [
        node("gpu", "8", spec=taint),
        node("off", "8", spec={"unschedulable": True}),
        node("a", labels={"zone": "a"}),
        node("b"),
    ]
    port = {"ports": [{"hostPort": 80, "containerPort": 80}]}
    pods = [
        pod("busy", container(cpu="2"), on="b", job=False),
        pod("runs", container(cpu="1"), on="gpu", job=False),  # its rules exclude this node now
        pod("zone", container(cpu="1"), nodeSelector={"zone": "a"}, created="2024-05-01T10:00:00Z"),
        pod("web-1", container(cpu="1") | port, created="2024-05-01T10:01:00Z"),
        pod("web-2", container(cpu="1") | port, created="2024-05-01T10:02:00Z"),
        pod("web-3", container(cpu="1") | port, created="2024-05-01T10:03:00Z"),
        *(
            pod(
                f"ring-{n}",
                container(cpu="3"),
                owner="Job/ring",
                created="2024-05-01T10:04:00Z",
                schedulingGroup={"name": "ring"},
            )
            for n in range(2)
        ),
    ]
    path = listed(tmp_path / "cluster.json", [*nodes, *pods])
    starts = starts_live(path)
    assert starts["team/zone"] == "a" and {starts["team/web-1"], starts["team/web-2"]} == {"a", "b"}
    assert {*starts} == {"team/zone", "team/web-1", "team/web-2"}  # no third port, and no half of a gang
    with pytest.raises(InputError, match="does not start gangs"):
        packenv.Scheduler.of(path, "bf-s")
    scheduler = packenv.Scheduler.of(path, "bf-js")
    scheduler.remove_server("gpu")
    assert {start.task: start.server for start in scheduler.decide()}["team/runs"] in ("a", "b")  # not on the cordoned node


@pytest.mark.parametrize("policy", ["bf-js", "fifo-ff", "easy"])
def test_pods_above_the_minimum_start_with_their_gang_at_the_earliest(policy: str, tmp_path: Path) -> None:
    """Three of five pods of 2 cores start together, on two nodes of 4 cores. A pod of 3 cores runs on each.

    Without the first of these, there is room for two pods: too few. Without both there is room for four: the gang and one more.
    """
    gang: Any = {"schedulingGroup": {"podGroupName": "ring"}}
    group = {"kind": "PodGroup", "metadata": {"name": "ring", "namespace": "team"}, "spec": {"minMember": 3}}
    pods = [pod(f"ring-{n}", container(cpu="2"), created=f"2024-05-01T11:0{n}:00Z", **gang) for n in range(5)]
    pods += [pod(f"runs-{name}", container(cpu="3"), on=name) for name in "ab"]
    tasks, known = tasks_of(str(listed(tmp_path / "cluster.json", [node("a"), node("b"), *pods, group])))
    scheduler = packenv.Scheduler(policy, **known)
    for task in tasks:
        scheduler.submit(**task, estimate=100)
    assert scheduler.decide(now=0) == []
    scheduler.complete("team/runs-b")
    assert scheduler.decide(now=20) == []
    scheduler.complete("team/runs-a")
    assert [start.task for start in scheduler.decide(now=40)] == [f"team/ring-{n}" for n in range(4)]
    assert scheduler.waiting == ["team/ring-4"]
    scheduler.complete("team/ring-0")
    assert [start.task for start in scheduler.decide(now=60)] == ["team/ring-4"]


def test_a_dump_is_no_list_of_servers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["serve", "bf-js", "--servers", str(listed(tmp_path / "cluster.json"))])
    assert "is a list of kubectl: give it to packenv.Scheduler.of" in capsys.readouterr().err


def test_a_share_is_of_one_gpu(tmp_path: Path) -> None:
    memory = "aliyun.com/gpu-mem"
    share = {"name": "c", "resources": {"requests": {"cpu": "1", memory: "10"}}}
    nodes = [node("n", "8", **{memory: "32", "aliyun.com/gpu-count": "2"})]
    pods = [pod("runs", share, on="n"), *(pod(f"waits-{n}", share, created=f"2024-05-01T11:0{n}:00Z") for n in range(2))]
    path = listed(tmp_path / "cluster.json", [*nodes, *pods])
    (start,) = packenv.Scheduler.of(path, "bf-js").decide()  # 30 of 32 would have room as one amount
    assert (start.task, start.devices) == ("team/waits-0", (1,))
