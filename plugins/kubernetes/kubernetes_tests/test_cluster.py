"""A cluster as kubectl prints it: servers, start state and queue, worked by hand; and runs that begin there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import packenv
from kubernetes_tests.sample import NODES, PODS, container, listed, node, pod
from packenv.cli.main import main
from packenv.errors import InputError
from packenv.units import UNIT
from packenv.workloads.estimates import misjudged
from packenv.workloads.laws import Discrete, Fixed, Geometric, LogNormal
from packenv_kubernetes import is_mine, read_cluster
from packenv_kubernetes.changed import kind_of, with_unfit
from packenv_kubernetes.fits_nowhere import unfit_lines
from packenv_kubernetes.started import ENDLESS, remaining, stretches
from tests.envs.playing import plain_env


def test_a_cluster(tmp_path: Path) -> None:
    file = listed(tmp_path / "cluster.json")
    assert is_mine(file)
    found = read_cluster(file)
    assert found.resources == ("cpu", "memory", "nvidia.com/gpu")
    assert found.nodes == ("big", "small", "cordoned")
    assert found.capacity.tolist() == [[1, 1, 1], [0.5, 0.5, 0], [0.5, 0.5, 0]]
    assert [each.name for each in found.running] == ["team/web", "team/train", "team/on-cordoned"]
    assert found.node.tolist() == [1, 0, 2]
    assert found.running_demand.tolist() == [[1 / 8, 1 / 4, 0], [6 / 8, 1 / 16, 3 / 4], [1 / 8, 0, 0]]
    assert [each.name for each in found.waiting] == ["team/early", "team/late"]
    assert found.demand.tolist() == [[1 / 2, 1 / 16, 1 / 2], [1 / 4, 1 / 8, 0]]
    assert found.left_out == {
        "not ready nodes": 1,
        "pods that have ended": 1,
        "pods on a node that is left out": 1,
        "pods on a node that is not in the file": 1,
        "pods that ask for none of the resources": 1,
        "waiting pods that fit on no node": 1,
        "pods held by a scheduling gate": 1,
    }
    assert found.ignored == {}
    assert found.about == "capacity 1: the largest node, 8 cores, 16 GiB memory, 4 nvidia.com/gpu"
    pods = len(found.running) + len(found.waiting) + sum(count for what, count in found.left_out.items() if "nodes" not in what)
    assert pods == len(PODS)


def test_resources_can_be_chosen(tmp_path: Path) -> None:
    file = listed(tmp_path / "cluster.json")
    assert read_cluster(file, ("memory", "cpu")).capacity.tolist() == [[1, 1], [0.5, 0.5], [0.5, 0.5]]
    counted = read_cluster(file, ("pods",))  # every pod is one of 110
    assert counted.demand.tolist() == [[1 / 110]] * 3 and len(counted.running) == 4
    with pytest.raises(InputError, match=r"no resource amd.com/gpu; known: cpu, memory, nvidia.com/gpu, pods"):
        read_cluster(file, ("amd.com/gpu",))


def test_memory_of_one_gpu(tmp_path: Path) -> None:
    """gpushare, two GPUs of 16 on one node, one of 24 on another: what has more than half of a GPU has it for itself.

    On the first node 9 and 10 take both GPUs, beside which it has 13 left in all: the third, of 9, is on none of them. 17 is more
    than one has. On the other node 12 and 12 share the GPU.
    """

    def memory(amount: str) -> dict[str, Any]:
        return {"name": "c", "resources": {"limits": {"cpu": "1", "aliyun.com/gpu-mem": amount}}}

    few = node("few", "8", **{"aliyun.com/gpu-mem": "32", "aliyun.com/gpu-count": "2"}, labels={"of": "16"})
    one = node("one", "8", **{"aliyun.com/gpu-mem": "24", "aliyun.com/gpu-count": "1"}, labels={"of": "24"})
    pods = [pod(f"p{n}", memory(str(n)), nodeSelector={"of": "16"}) for n in (9, 10, 17)]
    pods += [pod("third", memory("9"), nodeSelector={"of": "16"}, created="2024-05-01T11:30:00Z")]
    pods += [pod(f"twelve{n}", memory("12"), nodeSelector={"of": "24"}) for n in range(2)]
    cluster = read_cluster(listed(tmp_path / "cluster.json", [few, one, *pods]))
    assert [each.name for each in cluster.unfit] == ["team/p17"]
    assert cluster.ignored == {}
    result = packenv.simulate(cluster.workload(Fixed(100)), "fifo-ff", drain=True, schedule=True)
    assert result.schedule is not None and result.schedule.start.tolist() == [0, 0, 0, 0, 100]


def test_runs_begin_there(tmp_path: Path) -> None:
    """The big node's pod has run for 60 of its 100 slots; `early` waits for its GPUs, `late` starts beside `web` at once."""
    workload = read_cluster(listed(tmp_path / "cluster.json")).workload(Fixed(100))
    result = packenv.simulate(workload, "bf-js", slots=500, schedule=True)
    assert result.schedule is not None
    assert result.schedule.start.tolist() == [40, 0]
    assert result.schedule.server.tolist() == [0, 1]
    assert result.schedule.end.tolist() == [140, 100]
    assert (result.arrived, result.completed) == (2, 2)
    used = np.array([6 * 40 + 4 * 100 + 2 * 100 + 1 * 500 + 1 * 1, 0.0]) / (16 * 500)  # cores, over those of all nodes
    assert result.utilisation[0] == pytest.approx(used[0], rel=1e-6)


def test_without_a_law_no_pod_ends(tmp_path: Path) -> None:
    workload = read_cluster(listed(tmp_path / "cluster.json")).workload()
    result = packenv.simulate(workload, "bf-js", slots=100_000, schedule=True)
    assert result.schedule is not None
    assert result.schedule.start.tolist() == [-1, 0] and result.completed == 0


def test_environments_begin_there(tmp_path: Path) -> None:
    workload = read_cluster(listed(tmp_path / "cluster.json"), ("cpu",)).workload(Fixed(100))
    env = plain_env("Placement", workload=workload, horizon=200, record_schedule=True)
    for _ in range(2):  # every episode
        _, info = env.reset(seed=0)
        used = env.unwrapped.core.batch.c.used[0, 0]  # type: ignore[attr-defined]
        assert used == UNIT
    assert info is not None
    with pytest.raises(InputError, match="begins with tasks in service, which have no estimates"):
        misjudged(workload, 0.1)
    with pytest.raises(InputError, match="there is no server 2"):
        packenv.simulate(workload.with_(servers=[[1.0, 1, 1]] * 2), "bf-js", slots=10)


def test_seeds_draw_times(tmp_path: Path) -> None:
    draw = read_cluster(listed(tmp_path / "cluster.json")).workload(Geometric(1000)).draw
    assert draw is not None
    started: Any = draw
    times = [(started(seed).service.tolist(), started.in_service(seed).remaining.tolist()) for seed in (0, 0, 1)]
    assert times[0] == times[1] != times[2]
    assert times[0][1][0] == ENDLESS and 1 <= times[0][1][1] < ENDLESS  # web is restarted, train is not


@pytest.mark.parametrize("law", [Geometric(50), LogNormal(100, 2), Discrete([10, 60, 200], [0.5, 0.3, 0.2])])
@pytest.mark.parametrize("age", [0.0, 30.0])
def test_what_remains_has_the_law_given_the_age(law: Any, age: float) -> None:
    """P(remaining <= k) is (F(age + k) - F(age)) / (1 - F(age)): at 20,000 equally spaced quantiles, to one of them."""
    n = 20_000
    slots = remaining(law, np.full(n, age), (np.arange(n) + 0.5) / n)
    for k in (1, 5, 30, 31, 100, 170, 500):
        share = (law.cdf(age + k) - law.cdf(age)) / (1 - law.cdf(age))
        assert np.mean(slots <= k) == pytest.approx(float(share), abs=1.5 / n)


def test_each_seed_has_one_of_several_laws(tmp_path: Path) -> None:
    """Two stretches, of tasks of 1,000 and of 2,000 slots: whatever a seed draws, all comes from the same one."""
    laws = stretches(np.array([1000] * 100 + [2000] * 100))
    assert [law.support() for law in laws] == [(1000, 1000), (1000, 2000), (2000, 2000)]
    started: Any = read_cluster(listed(tmp_path / "cluster.json")).workload((laws[0], laws[2])).draw
    seen = {(*started(seed).service.tolist(), int(started.in_service(seed).remaining[1])) for seed in range(20)}
    assert seen == {(1000, 1000, 940), (2000, 2000, 1940)}
    assert len(stretches(np.arange(1, 200_001))) <= 1001 and len(stretches(np.array([5, 7]))) == 1


def test_older_than_the_law_allows() -> None:
    assert remaining(Fixed(100), np.array([100.0, 250.0, 99.5, 0.0]), np.full(4, 0.5)).tolist() == [1, 1, 1, 100]


@pytest.mark.parametrize(
    ("items", "problem"),
    [
        (PODS, "no node in it: give what `kubectl get nodes,pods -A -o json` prints"),
        ([NODES[2]], "all of its 1 nodes are unschedulable or not ready"),
        ([NODES[0], {"kind": "Service"}], "item 2: metadata: has no name"),
        ([NODES[0], 7], "item 2: is not an object with a kind; give what `kubectl"),
        ([NODES[0], {"kind": "Pod"}], "item 2: metadata: has no name"),
        ([NODES[0], pod("a", container(cpu="x"))], "pod a: containers, requests, cpu: 'x' is not a quantity"),
        ([NODES[0], pod("a", created="yesterday")], "pod a: creationTimestamp: 'yesterday' is not a time such as"),
        ([NODES[0], pod("a", containers="none")], "pod a: containers: a list of objects is expected"),
        ([node("n", cpu="four")], "node n: status, allocatable, cpu: 'four' is not a quantity"),
        ([node("n", spec=[])], None),
        ([NODES[0], NODES[0]], "node big is there more than once"),
        ([NODES[0], pod("a", priority="high")], "pod a: priority: 'high' is not a whole number"),
        ([NODES[0], pod("a", nodeSelector=["a"])], "pod a: nodeSelector: an object of texts is expected"),
        ([NODES[0], pod("a", tolerations={})], "pod a: tolerations: a list of objects is expected"),
        ([NODES[0], pod("a", deleted="soon")], "pod a: deletionTimestamp: 'soon' is not a time such as"),
    ],
)
def test_bad_input(tmp_path: Path, items: Any, problem: str | None) -> None:
    file = listed(tmp_path / "cluster.json", items)
    if problem is None:
        assert read_cluster(file).nodes == ("n",)
        return
    with pytest.raises(InputError) as error:
        read_cluster(file)
    assert str(error.value).startswith(f"{file}: {problem}")


def cut_off(file: Path) -> None:
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


@pytest.mark.parametrize(
    ("items", "problem"),
    [
        ([], "no node in it: give what `kubectl get nodes,pods -A -o json` prints"),
        (PODS, "no node in it: give what `kubectl get nodes,pods -A -o json` prints"),
        ([*NODES, NODES[1], *PODS], "node small is there more than once"),
        ([*NODES, pod("a", container(memory="1 GB"))], "pod a: containers, requests, memory: '1 GB' is not a quantity"),
        ([node("n", memory="8GiB"), *PODS], "node n: status, allocatable, memory: '8GiB' is not a quantity"),
        ("cut off", "not JSON: "),
    ],
)
def test_dumps_that_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str], items: Any, problem: str) -> None:
    """One line that names the file, the object and the field, by every command that reads it, and nothing is written."""
    file, out = listed(tmp_path / "cluster.json", [*NODES, *PODS] if items == "cut off" else items), tmp_path / "out.json"
    if items == "cut off":
        cut_off(file)
    new = tmp_path / "new.json"
    new.write_text('{"kind": "Pod", "metadata": {"name": "new"}, "spec": {"containers": [{"name": "c"}]}}')
    for words in (("when",), ("plan", "-g", "max wait <= 1s"), ("submit", str(new)), ("evaluate",)):
        with pytest.raises(SystemExit) as end:
            main(["kubernetes", words[0], str(file), *words[1:], "--json", str(out)])
        line = capsys.readouterr().err.strip()
        assert end.value.code == 2 and f"{file}: {problem}" in line and "\n" not in line and not out.exists()


def test_other_json(tmp_path: Path) -> None:
    for text, ours in (
        ('{"kind":"List"}', True),
        ('\ufeff{ "items": []}', True),
        ('{"name": "a"}', False),
        ("[]", False),
        ("", False),
    ):
        (tmp_path / "a.json").write_text(text, encoding="utf-8")
        assert is_mine(tmp_path / "a.json") == ours
    (tmp_path / "a.json").write_text('{"items": [')
    with pytest.raises(InputError, match=r"a\.json: not JSON"):
        read_cluster(tmp_path / "a.json")
    (tmp_path / "a.json").write_text('{"kind": "Pod"}')
    with pytest.raises(InputError, match="no list of items"):
        read_cluster(tmp_path / "a.json")
    with pytest.raises(InputError, match="no pod waits for a node"):
        read_cluster(listed(tmp_path / "b.json", NODES)).workload()


TAINTED: dict[str, Any] = {"taints": [{"key": "gpu", "effect": "NoSchedule"}]}


@pytest.mark.parametrize(
    "specs, cpu, says, add",
    [
        # a taint keeps it off the nodes with room, and off a new node like the commonest
        ((TAINTED, TAINTED, None), "6", "a and b have room; excluded by their taint gpu, not tolerated (2 nodes)", None),
        ((TAINTED, TAINTED, TAINTED), "3", "a, b and c have room; excluded by their taint gpu, not tolerated (3 nodes)", None),
        # too large for all: a new node of that size would have the taint too
        ((TAINTED, TAINTED, None), "9", "the nearest, c, has 4 cores", None),
        ((None, None, TAINTED), "9", "the nearest, a, has 8 cores", "1.125:1"),
        # a node that is cordoned: a new one like it is not
        (({"unschedulable": True}, TAINTED, None), "6", "a and b have room", "a"),
    ],
)
def test_why_a_pod_fits_nowhere(tmp_path: Path, specs: tuple[Any, ...], cpu: str, says: str, add: str | None) -> None:
    """The true reason, and an --add only where a plan with it has the pod in its queue."""
    nodes = [node(name, size, "8Gi", spec=spec) for name, size, spec in zip("abc", ("8", "8", "4"), specs, strict=True)]
    cluster = read_cluster(listed(tmp_path / "cluster.json", [*nodes, pod("p", container(cpu=cpu))]))
    (line,) = unfit_lines(cluster)
    assert says in line
    suggested = re.search(r"--add (\S+) would help", line)
    assert (suggested and suggested[1]) == add
    if add is not None:
        assert not with_unfit(cluster, kind_of(cluster, add)).unfit
    else:
        assert "does not help" in line
        assert all(with_unfit(cluster, kind_of(cluster, text)).unfit for text in ("a", "b", "c"))


ENDS, STAYS = pod("a", container(cpu="1"), on="n"), pod("b", container(cpu="1"), on="n", job=False)
LATEST = "before a known latest end"
SOON = pod("c", container(cpu="1"), on="n", job=False, deleted="2024-05-01T12:00:30Z")


@pytest.mark.parametrize(
    ("running", "with_law", "without"),
    [
        ([], "no pod runs at the start", "; no pod ends"),
        ([ENDS], "1 pod runs at the start for what is left of its service", "; no pod ends"),
        ([STAYS], "1 pod runs at the start and does not end", "; no pod ends"),
        ([ENDS, STAYS], "2 pods run at the start, 1 of them for what is left of its service; others do not end", "; no pod ends"),
        (
            [STAYS, SOON],
            "2 pods run at the start and do not end before a known latest end",
            "; no pod ends before a known latest end",
        ),
    ],
)
def test_the_line_on_running_pods(tmp_path: Path, running: list[Any], with_law: str, without: str) -> None:
    cluster = read_cluster(listed(tmp_path / "cluster.json", [node("n"), *running, pod("new", container(cpu="1"))]))
    assert cluster.notes(Fixed(9))[1] == with_law
    count = {0: "no pod runs", 1: "1 pod runs", 2: "2 pods run"}[len(running)]
    assert cluster.notes(None)[1] == f"{count} at the start{without} (set --service for pods that can end)"
