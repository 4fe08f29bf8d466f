"""What packenv leaves out of a cluster: each line of "In which direction it errs" in docs/model.md."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import packenv
from kubernetes_tests.sample import container, listed, node, pod
from packenv.errors import InputError
from packenv.units import UNIT
from packenv_kubernetes import read_cluster
from packenv_kubernetes.changed import kind_of
from packenv_kubernetes.cluster import Cluster
from packenv_kubernetes.planning.nodes import AddedNodes
from packenv_kubernetes.planning.queue import parse_queue_goals
from packenv_kubernetes.preemption import first_cycle

FULL = pod("full", container(cpu="4"), on="n", job=False)
NEW = container(cpu="2")
REQUIRED = {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "zone"}]}
PREFERRED = {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1}]}


def read(folder: Path, *items: Any) -> Cluster:
    return read_cluster(listed(folder / "cluster.json", [node("n"), *items]))


def bound(cluster: Cluster, goal: str = "max wait <= 0s") -> int:
    """With fewer nodes more no policy meets the goal."""
    return AddedNodes(cluster, kind_of(cluster), 1).bound(parse_queue_goals([goal], 1.0), lambda own: own.workload())


@pytest.mark.parametrize(
    ("kind", "spec"),
    [
        ("podAffinity", {"affinity": {"podAffinity": REQUIRED}}),
        ("podAntiAffinity", {"affinity": {"podAntiAffinity": REQUIRED}}),
        ("topologySpreadConstraints", {"topologySpreadConstraints": [{"topologyKey": "zone"}]}),
        ("volumes", {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]}),
        ("resourceClaims", {"resourceClaims": [{"name": "gpu"}]}),
        ("runtimeClassName", {"runtimeClassName": "gvisor"}),
        ("schedulerName", {"schedulerName": "volcano"}),
        ("toleration", {"tolerations": [{"key": "a", "operator": "Gt", "value": "5"}]}),
        ("", {"affinity": {"podAntiAffinity": PREFERRED}}),
        ("", {"topologySpreadConstraints": [{"topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}]}),
        ("", {"volumes": [{"name": "v", "configMap": {"name": "c"}}], "schedulerName": "default-scheduler"}),
    ],
)
def test_constraints_that_play_no_part(tmp_path: Path, kind: str, spec: dict[str, Any]) -> None:
    """They are counted with names; the bound counts on the plain pod alone."""
    cluster = read(tmp_path, FULL, pod("new", NEW, **spec))
    lines = [line for line in cluster.notes(None) if line.startswith("not modelled")]
    assert bound(cluster) == (0 if kind else 1)
    when = "earlier or later" if kind == "schedulerName" else "later"
    said = f"not modelled: {kind} of 1 waiting pod (team/new): they may start {when} than shown, and no bound relies on them"
    assert lines == ([said] if kind else [])
    plain = [pod(f"plain-{n}", container(cpu="3")) for n in range(2)]
    assert bound(read(tmp_path, FULL, pod("new", NEW, **spec), *plain)) == 2


def test_anti_affinity_of_running_pods(tmp_path: Path) -> None:
    shy = pod("shy", container(cpu="4"), on="n", job=False, affinity={"podAntiAffinity": REQUIRED})
    cluster = read(tmp_path, shy, pod("new", NEW))
    assert cluster.ignored == {"podAntiAffinity of running pods": 1} and bound(cluster) == 1


def test_what_could_be_preempted_is_gone_for_the_bound(tmp_path: Path) -> None:
    low = pod("low", container(cpu="4"), on="n", job=False, priority=-1)
    assert bound(read(tmp_path, low, pod("new", NEW))) == 0
    assert bound(read(tmp_path, low, pod("new", NEW, preemptionPolicy="Never"))) == 1
    daemon = pod("daemon", container(cpu="3"), on="n", job=False, priority=-1, owner="DaemonSet/d")
    assert bound(read(tmp_path, daemon, pod("new", NEW))) == 0


def test_pods_that_preempt_each_other_may_have_started(tmp_path: Path) -> None:
    """Both have started by slot 1 if the second takes the first one's place; without preemption one waits for ever."""
    pods = [pod(f"w{n}", container(cpu="4"), priority=n) for n in range(2)]
    assert bound(read(tmp_path, *pods), "max wait <= 1s") <= 0
    assert bound(read(tmp_path, *pods), "max wait <= 0s") == 1


def starts_of(cluster: Cluster, slots: int = 100) -> list[int]:
    """Slots in which the waiting pods start under bf-js; -1: they do not."""
    workload = cluster.workload()
    result = packenv.simulate(workload, "bf-js", slots, schedule=True)
    assert result.schedule is not None
    start, _ = workload.draw.times(0, result.schedule.start, result.schedule.end)  # type: ignore[union-attr]
    return [int(slot) for slot in start]


def test_preemption_later_than_now(tmp_path: Path) -> None:
    """In 10 s there is room beside a pod of low priority, which Kubernetes would preempt then: the answer is too late."""
    soon = pod("soon", container(cpu="2"), on="n", job=False, priority=9, deleted="2024-05-01T12:00:10Z")
    low = pod("low", container(cpu="2"), on="n", job=False, priority=0)
    cluster = read(tmp_path, soon, low, pod("new", container(cpu="4"), priority=5))
    assert starts_of(cluster) == [-1] and bound(cluster, "max wait <= 10s") <= 0
    assert starts_of(read(tmp_path, soon, pod("new", container(cpu="4"), priority=5))) == [10]


def test_the_age_of_pods_with_different_rules(tmp_path: Path) -> None:
    """Both ask for the core that is free in 10 s. bf-js prefers the younger: pods with its rule are on the node."""
    nodes = [node("z", labels={"zone": "a"}), node("y"), node("x", spec={"taints": [{"key": "k", "effect": "NoSchedule"}]})]
    soon = pod("soon", container(cpu="1"), on="z", job=False, deleted="2024-05-01T12:00:10Z")
    full = [pod(f"full-{name}", container(cpu=cpu), on=name, job=False) for name, cpu in (("y", "4"), ("z", "2"))]
    queue = [pod(f"w{n}", container(cpu="1"), job=False, created=f"2024-05-01T11:00:0{n}Z") for n in range(3)]
    queue[1]["spec"]["nodeSelector"] = {"zone": "a"}
    cluster = read_cluster(listed(tmp_path / "cluster.json", [*nodes, soon, *full, *queue]))
    assert starts_of(cluster) == [0, -1, 10] and bound(cluster, "max wait <= 10s") <= 1  # it starts on another node


def test_the_victim_starts_within_its_grace(tmp_path: Path) -> None:
    low = pod("low", container(cpu="4"), on="n", job=False, priority=-1, terminationGracePeriodSeconds=7)
    cluster = read(tmp_path, low, pod("new", NEW))
    (begun,) = first_cycle(cluster)
    assert (begun.victims, begun.delay) == ((0,), 7)
    assert "team/new starts within 7 s on n: team/low preempted" in cluster.workload().draw.notes  # type: ignore[union-attr]


def test_victims_hold_their_room_until_their_grace_has_ended(tmp_path: Path) -> None:
    """6 of 8 cores are a victim's for 7 s: of them 3 are the preempting pod's then, and the other pods have the rest."""
    low = pod("low", container(cpu="6"), on="n", job=False, priority=0, terminationGracePeriodSeconds=7)
    pods = [low, pod("high", container(cpu="3"), priority=9), pod("middle", container(cpu="2"), priority=5)]
    pods += [pod("small", container(cpu="1"), priority=5), pod("last", container(cpu="2"), priority=0)]
    cluster = read_cluster(listed(tmp_path / "cluster.json", [node("n", "8"), *pods]))
    assert {cluster.waiting[begun.pod].name: begun.delay for begun in first_cycle(cluster)} == {
        "team/high": 7,
        "team/middle": 7,
        "team/small": 7,
        "team/last": 7,
    }
    assert starts_of(cluster) == [7, 7, 7, 7]
    room = pod("low", container(cpu="2"), on="n", job=False, priority=0, terminationGracePeriodSeconds=7)
    pods = [room, pod("high", container(cpu="7"), priority=9), pod("last", container(cpu="1"), priority=0)]
    assert starts_of(read_cluster(listed(tmp_path / "cluster.json", [node("n", "8"), *pods]))) == [7, 7]


def test_waiting_pods_that_are_left_out(tmp_path: Path) -> None:
    pods = [
        pod("gated", NEW, schedulingGates=[{"name": "g"}]),
        pod("deleted", NEW, deleted="2024-05-01T12:00:00Z"),
        pod("daemon", NEW, owner="DaemonSet/d"),
    ]
    cluster = read(tmp_path, *pods)
    assert cluster.left_out == {
        "pods held by a scheduling gate": 1,
        "waiting pods bound to one node by a DaemonSet": 1,
        "waiting pods that are being deleted": 1,
    }
    with pytest.raises(InputError, match="no pod is there to place but for 1 pod held by a scheduling gate, 1 waiting pod bound"):
        cluster.workload()


def test_waiting_pods_that_are_left_out_take_no_room(tmp_path: Path) -> None:
    """The other pod starts now, and the bound is for it alone."""
    plain = pod("plain", container(cpu="3"))
    for other in (
        pod("other", NEW, schedulingGates=[{"name": "g"}]),
        pod("other", NEW, deleted="2024-05-01T12:00:05Z"),
        pod("other", NEW, owner="DaemonSet/d"),
    ):
        cluster = read(tmp_path, plain, other)
        assert starts_of(cluster) == [0] and bound(cluster) <= 0
    assert bound(read(tmp_path, plain, pod("other", NEW))) == 1


def test_nodes_that_are_not_ready(tmp_path: Path) -> None:
    """They would have room; their pods start nowhere else. The bound is for the nodes that are ready."""
    cluster = read(tmp_path, FULL, node("lost", ready="Unknown"), pod("on-lost", NEW, on="lost"), pod("new", NEW))
    assert cluster.left_out == {"not ready nodes": 1, "pods on a node that is left out": 1}
    assert starts_of(cluster) == [-1] and bound(cluster) == 1
    assert bound(read(tmp_path, FULL, node("there"), pod("on-there", NEW, on="there"), pod("new", NEW))) <= 0


def test_pods_that_will_be_created(tmp_path: Path) -> None:
    """With one more pod in the queue none starts earlier, and no fewer nodes are needed."""
    soon = pod("soon", container(cpu="4"), on="n", job=False, deleted="2024-05-01T12:00:10Z")
    queue = [pod("a", container(cpu="3"), created="2024-05-01T11:00:02Z"), pod("b", container(cpu="3"))]
    few, more = read(tmp_path, soon, queue[0]), read(tmp_path, soon, *queue)
    assert starts_of(few) == [10] and sorted(starts_of(more)) == [-1, 10]
    assert bound(few, "max wait <= 10s") <= 0 < bound(more, "max wait <= 10s")


def test_amounts_below_a_unit(tmp_path: Path) -> None:
    """Two pods ask for 1 KiB more memory together than the node has, of which a unit is 1 KiB: both start."""
    small = node("n", memory="3145728Ki")
    half = str(1572864 * 1024 + 512)
    pods = [pod(name, container(cpu="1", memory=half)) for name in "ab"]
    cluster = read_cluster(listed(tmp_path / "cluster.json", [small, *pods]))
    assert starts_of(cluster) == [0, 0] and bound(cluster) == 0
    pods = [pod(name, container(cpu="1", memory=str(int(half) + 1024))) for name in "ab"]
    assert sorted(starts_of(read_cluster(listed(tmp_path / "cluster.json", [small, *pods])))) == [-1, 0]


def test_ephemeral_storage_and_huge_pages(tmp_path: Path) -> None:
    """They count with `--resources all` alone."""
    for name, amount in (("ephemeral-storage", "80Gi"), ("hugepages-2Mi", "1Gi")):
        asks = {name: amount, "cpu": "1"}
        items = [
            node("n", **{"hugepages-2Mi": "1Gi"}),
            pod("a", container(**asks), on="n", job=False),
            pod("b", container(**asks)),
        ]
        file = listed(tmp_path / "cluster.json", items)
        assert starts_of(read_cluster(file)) == [0] and bound(read_cluster(file)) == 0
        assert starts_of(read_cluster(file, "all")) == [-1] and bound(read_cluster(file, "all")) == 1


@pytest.mark.parametrize(("deleted", "slots"), [("2024-05-01T12:00:30Z", 30), ("2024-05-01T11:00:00Z", 1)])
def test_pods_that_are_being_deleted(tmp_path: Path, deleted: str, slots: int) -> None:
    """They end at the latest when they will be gone, in a slot if that has passed; for the bound they are gone."""
    cluster = read(tmp_path, pod("old", container(cpu="4"), on="n", job=False, deleted=deleted), pod("new", NEW))
    draw: Any = cluster.workload().draw
    assert draw.in_service(0).remaining.tolist() == [slots] and bound(cluster) == 0


def test_deadlines(tmp_path: Path) -> None:
    """A pod's own, from its start, and that of its Job, each with the grace period; waiting pods of such a Job bound nothing."""
    job = {
        "kind": "Job",
        "metadata": {"name": "j", "namespace": "team"},
        "spec": {"activeDeadlineSeconds": 120},
        "status": {"startTime": "2024-05-01T11:59:00Z"},
    }
    begun = "2024-05-01T11:59:30Z"
    own = pod("own", container(cpu="1"), on="n", started=begun, activeDeadlineSeconds=60, terminationGracePeriodSeconds=5)
    of_job = pod("of-job", container(cpu="1"), on="n", started=begun, owner="Job/j", terminationGracePeriodSeconds=0)
    cluster = read(
        tmp_path, job, own, of_job, pod("new", container(cpu="4"), owner="Job/j"), pod("timed", NEW, activeDeadlineSeconds=9)
    )
    draw: Any = cluster.workload().draw
    assert draw.in_service(0).remaining.tolist() == [35, 60]
    assert draw(0).service.tolist() == [60 + 30, 9 + 30]
    assert bound(read(tmp_path, job, FULL, pod("new", container(cpu="4"), owner="Job/j"))) == 0


def test_an_overfull_node_has_room_when_it_has_given_back_what_it_lacks(tmp_path: Path) -> None:
    """6 of 4 cores: the pod that ends first gives back nothing, the second one, of 3 cores, gives back two of them."""
    ends = ("2024-05-01T12:00:10Z", "2024-05-01T12:00:20Z", "2024-05-01T12:00:30Z")
    pods = [pod(f"r{n}", container(cpu=cpu), on="n", deleted=ends[n]) for n, cpu in enumerate(("1", "3", "2"))]
    cluster = read(tmp_path, *pods, pod("new", NEW))
    draw: Any = cluster.workload().draw
    held = draw.in_service(0)
    assert cluster.overfull == ["n"] and held.demand[:, 0].tolist() == [UNIT // 2] * 2 and held.remaining.tolist() == [20, 30]
