"""`packenv kubernetes plan`: nodes to add, to take away, and that fail, worked by hand with services of 600 s."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kubernetes_tests.sample import container, listed, node, pod
from packenv.cli.main import main


def cluster(folder: Path, nodes: int, waiting: int, big: bool = False) -> Path:
    """Nodes of four cores; the first, or a big one of eight, is full with a pod of a minute's age; others need a whole node."""
    items = [node(f"n{n}", "4") for n in range(nodes)] + ([node("big", "8")] if big else [])
    where, cores = ("big", "8") if big else ("n0", "4")
    items.append(pod("runs", container(cpu=cores), on=where, started="2024-05-01T11:59:00Z"))
    items += [pod(f"waits-{n}", container(cpu="4"), created=f"2024-05-01T11:{n:02}:00Z") for n in range(waiting)]
    return listed(folder / "cluster.json", items)


def plan(file: Path, *words: object) -> list[Any]:
    out = file.with_name("out.json")
    service = () if "--durations" in words else ("--service", "fixed:600")
    seeds = "--seeds", 2, "--processes", 1, "--resources", "cpu"
    main(["kubernetes", "plan", str(file), *map(str, (*words, *service, *seeds, "--json", out))])
    found: list[Any] = json.loads(out.read_text())
    return found


def test_nodes_to_add(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One node: the pods start after 540 s and 1,140 s. Two: at once and after 540 s. Area says so as well."""
    file = cluster(tmp_path, 1, 2)
    service = '{"kind": "Service", "metadata": {"name": "web", "namespace": "default"}}'
    file.write_text(file.read_text().replace('"items": [', f'"items": [{service}, ', 1))
    page = tmp_path / "page.html"
    (found,) = plan(file, "-g", "max wait <= 10min", "-g", "makespan <= 20min", "--report", page)
    assert "1 more node like n0 is enough with bf-js" in page.read_text()
    assert "left out: 1 object of kind Service" in page.read_text()
    assert (found["added"], found["bound"], found["add"], found["nodes"]) == (1, 1, "n0", 1)
    wait, makespan = found["goals"]
    assert (wait["value"][0], wait["one_less"], makespan["value"][0]) == (540, [1140, 1140, 1140], 1140)
    assert found["tried"] == [{"added": 1, "values": [540, 1140], "meets": True}]
    said = capsys.readouterr().out
    assert "1 more node like n0 is enough with bf-js for max wait <= 10min and makespan <= 20min. With fewer" in said


def test_a_larger_node_holds_both(tmp_path: Path) -> None:
    (found,) = plan(cluster(tmp_path, 1, 2), "-g", "max wait <= 0", "--add", "2")
    assert (found["added"], found["bound"], found["capacity"]) == (1, 1, [2.0])
    assert found["goals"][0]["one_less"][0] == 1140
    (found,) = plan(
        listed(tmp_path / "c.json", [node("n0"), pod("large", container(cpu="6"))]), "-g", "max wait <= 0", "--add", "2"
    )
    assert (found["added"], found["bound"], found["goals"][0]["one_less"]) == (1, 1, [None, None, None])


def test_pods_that_do_not_go_on_such_a_node_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Both GPU pods wait for the one node that has a GPU, whatever is added of the other kind."""
    items = [node("n0"), node("g", **{"nvidia.com/gpu": "1"}), *(pod(f"gpu-{n}", container(cpu="1", gpu="1")) for n in range(2))]
    with pytest.raises(SystemExit):
        words = "-g", "max wait <= 60s", "--add", "n0", "--service", "fixed:600"
        main(["kubernetes", "plan", str(listed(tmp_path / "c.json", items)), *words])
    said = capsys.readouterr()
    assert "the max wait is 600 s; team/gpu-1 does not go on such a node: --add with one of another kind" in (said.out + said.err)


def test_nodes_to_take_away(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Three nodes, of which two are empty; one pod waits."""
    file = cluster(tmp_path, 3, 1)
    (found,) = plan(file, "-g", "max wait <= 10s")
    assert (found["added"], found["taken_away"], found["bound"]) == (-1, ["n1"], -1)
    assert found["goals"][0]["one_less"][0] == 540
    first, second = capsys.readouterr().out.splitlines()[-2:]
    assert first.startswith("1 node like n0 can be taken away with bf-js for max wait <= 10s. With 2 nodes fewer than today")
    assert first.endswith("(n1 and n2) no policy meets the goals.") and second == "Taken away: n1 (empty)."
    (found,) = plan(file, "-g", "max wait <= 10min")
    assert (found["added"], found["taken_away"], found["goals"][0]["one_less"]) == (-2, ["n1", "n2"], None)
    assert found["bound"] is None and "any policy" not in (printed := capsys.readouterr().out) and "no policy" not in printed


def test_the_nodes_taken_away_are_told_with_their_pods(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The emptiest first: one that is cordoned, and one whose pod runs 600 s anew, from 0 s, on the node that is left."""
    items = [node(name) for name in ("a", "b", "c")]
    items[1]["spec"]["unschedulable"] = True
    runs = pod("runs", container(cpu="1"), on="c", started="2024-05-01T11:59:00Z")
    file = listed(tmp_path / "c.json", [*items, runs, pod("p", container(cpu="1")), pod("large", container(cpu="4"), on="a")])
    (record,) = plan(file, "-g", "max wait <= 1h")
    assert record["taken_away"] == ["b", "c"]
    assert "Taken away: b (cordoned, empty) and c (1 pod starts again, behind the waiting pods).\n" in capsys.readouterr().out


def test_a_bound_that_says_nothing_of_nodes_to_add(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each of two nodes has two of four cores left: by area there is room for a pod of three, and with one node there is none."""
    items = [*(node(name) for name in "ab"), *(pod(f"on-{name}", container(cpu="2"), on=name, job=False) for name in "ab")]
    (record,) = plan(listed(tmp_path / "c.json", [*items, pod("p", container(cpu="3"))]), "-g", "max wait <= 0")
    assert (record["added"], record["bound"]) == (1, 0)
    printed = capsys.readouterr().out
    assert "1 more node like a is enough with bf-js for max wait <= 0.\n" in printed and "any policy" not in printed


def test_a_node_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The pod that ran for 60 s is queued behind the one that waits, and runs 600 s anew, from 600 s to 1,200 s."""
    file = cluster(tmp_path, 2, 1)
    (found,) = plan(file, "-g", "mean wait <= 1min", "-g", "makespan <= 10min", "--without", "n0")
    assert (found["again"], found["stranded"]) == (["team/runs"], [])
    wait, makespan = found["goals"]
    assert [own[0] for own in (wait["value"], wait["value_without"], wait["difference"])] == [0, 300, 300]
    assert [own[0] for own in (makespan["value"], makespan["value_without"])] == [600, 1200]
    assert (wait["met"], wait["met_without"]) == (True, False)
    assert [own[0] for own in found["later"].values()] == [0, 600]
    said = capsys.readouterr().out
    assert "1 pod of these nodes would start again, behind the waiting pods: team/runs." in said
    assert "pods that wait now start 0 s later on average; the others start 600 s later on average." in said


def test_pods_that_start_earlier_without_a_node(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The first pod fits only on the large node, which is full for 540 s, and the second waits behind it with `fifo-ff`."""
    items = [node("a"), node("large", "8"), pod("runs", container(cpu="8"), on="large", started="2024-05-01T11:59:00Z")]
    items += [pod("first", container(cpu="8")), pod("second", container(cpu="1"), created="2024-05-01T11:30:00Z")]
    file = listed(tmp_path / "c.json", items)
    (found,) = plan(file, "-g", "max wait <= 1h", "--without", "large", "-p", "fifo-ff")
    assert found["later"]["waiting"][0] == -540
    assert "pods that wait now start 540 s earlier on average" in capsys.readouterr().out


def test_a_node_without_which_a_pod_fits_nowhere(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (found,) = plan(cluster(tmp_path, 1, 1, big=True), "-g", "max wait <= 1h", "--without", "big")
    assert (found["again"], found["stranded"]) == ([], ["team/runs"])
    assert found["goals"][0]["value_without"][0] == 0 and not found["goals"][0]["met_without"]
    assert "1 pod cannot start on the nodes that are there then: team/runs." in capsys.readouterr().out


@pytest.mark.parametrize("fits", [True, False])
def test_pods_that_wait_for_ever_with_the_nodes(tmp_path: Path, capsys: pytest.CaptureFixture[str], fits: bool) -> None:
    """One pod fits no node, or one only that fails and is never free: with that node, too, the goal is not met."""
    items = [node("a"), node("b", "8"), pod("keeps", container(cpu="8"), on="b", job=False)]
    items += [pod("large", container(cpu="8" if fits else "9")), pod("small", container(cpu="1"))]
    (record,) = plan(listed(tmp_path / "c.json", items), "-g", "max wait <= 1h", "--without", "b")
    assert record["never"] == ["team/large"] and not record["goals"][0]["met"]
    printed = capsys.readouterr().out
    never = "bf-js: team/large never starts with these nodes either, and the measures are of the others"
    assert f"{never}; not met with or without: max wait <= 1h; pods that wait now start 0 s later" in printed


def test_goals_that_no_pod_of_all_that_wait_breaks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    items = [node("a"), node("b"), pod("large", container(cpu="9")), *(pod(f"p{n}", container(cpu="1")) for n in range(2))]
    (record,) = plan(listed(tmp_path / "c.json", items), "-g", "p50 wait <= 0", "-g", "max wait <= 0", "--without", "b")
    assert [(goal["met"], goal["met_without"]) for goal in record["goals"]] == [(True, True), (False, False)]
    capsys.readouterr()
    plan(listed(tmp_path / "c.json", items), "-g", "max wait <= 0")
    assert (
        "1 node like a can be taken away with bf-js for max wait <= 0. Not counted, without a node: 1 pod"
        in capsys.readouterr().out
    )


def test_nothing_waits_and_nothing_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan(listed(tmp_path / "c.json", [node("a"), node("b")]), "-g", "max wait <= 0", "--without", "b")
    assert "without these nodes all goals are met.\n" in capsys.readouterr().out


def test_pods_of_a_gang_start_again_together(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Node a of four cores goes, with three pods of a gang; the fourth goes on, on b, where a core is free for 540 s."""
    more: dict[str, Any] = {"started": "2024-05-01T11:59:00Z", "schedulingGroup": {"podGroupName": "g"}}
    ring = [pod(f"ring-{n}", container(cpu="1"), on="b" if n == 3 else "a", **more) for n in range(4)]
    keeps = pod("keeps", container(cpu="2"), on="b", started="2024-05-01T11:59:00Z")
    file = listed(tmp_path / "c.json", [node("a"), node("b"), *ring, keeps])
    (record,) = plan(file, "-g", "max wait <= 540s", "--without", "a")
    assert (record["again"], record["stranded"]) == ([f"team/ring-{n}" for n in range(3)], [])
    assert record["goals"][0]["value_without"][0] == 540 and record["goals"][0]["met_without"]
    assert "gang team/g: 3 pods start together, all: the file has no minimum" in capsys.readouterr().out

    # With a minimum of four at once three start beside the one that runs, for which b has no room beside a larger one.
    group = {"kind": "PodGroup", "metadata": {"name": "g", "namespace": "team"}, "spec": {"minMember": 4}}
    small = [node("a"), node("b", cpu="3"), *ring, pod("keeps", container(cpu="2"), on="b"), group]
    (record,) = plan(listed(tmp_path / "d.json", small), "-g", "max wait <= 540s", "--without", "a")
    assert (record["again"], record["stranded"]) == ([], [f"team/ring-{n}" for n in range(3)])


def test_a_grace_period_is_added_to_a_deadline(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A pod of a minute's age that may run for two, and 20 s more: the next one starts in 80 s."""
    limited = {"activeDeadlineSeconds": 120, "terminationGracePeriodSeconds": 20}
    runs = pod("runs", container(cpu="4"), on="a", started="2024-05-01T11:59:00Z", **limited)
    file = listed(tmp_path / "c.json", [node("a"), runs, pod("p", container(cpu="4"))])
    (found,) = plan(file, "-g", "max wait <= 80s")
    assert (found["added"], found["goals"][0]["value"][0]) == (0, 80)
    line = "1 pod with a known latest end: team/runs; a grace period is added to an activeDeadlineSeconds"
    assert line in capsys.readouterr().out


def test_durations_by_owner(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    past = tmp_path / "past.csv"
    past.write_text("owner,seconds\n" + "team/waits,600\n" * 30 + "team,600\n" * 30)
    (found,) = plan(cluster(tmp_path, 1, 2), "-g", "max wait <= 10min", "--durations", past)
    assert (found["added"], found["goals"][0]["value"][0], found["goals"][0]["one_less"][0]) == (1, 540, 1140)
    said = capsys.readouterr().out
    assert "past.csv: 60 durations of 2 owners; 3 pods have those of their owner, 0 those of an owner that is drawn" in said
    assert "of 30 held-back durations 100% fell in the 80% interval that earlier ones give" in said


def test_no_pod_waits_today(tmp_path: Path) -> None:
    (found,) = plan(cluster(tmp_path, 2, 0), "-g", "max wait <= 1s", "--without", "n0")
    assert (found["again"], found["goals"][0]["value"][0], found["goals"][0]["value_without"][0]) == (["team/runs"], 0, 0)


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ((), "give a --goal, such as mean wait <= 60s"),
        ((), "`packenv kubernetes when` shows when pods start"),
        (("-g", "max wait <= 1", "--slots", "9"), "No such option"),
        (("-g", "p95 wait <= 1"), "of 2 pods it is the largest; at least 20 would have to wait"),
        (("-g", "max wait <= 1", "--add", "n7"), "--add n7: neither a node of"),
        (("-g", "max wait <= 1", "--without", "n7"), "has no node n7 that is ready; did you mean n0"),
        (("-g", "max wait <= 1", "--without", "n0"), "no node is left"),
        (("-g", "max wait <= 1", "--without", "n0", "--add", "n0"), "give one of --add and --without"),
        (("-g", "makespan <= 5min"), "no number of nodes like n0 meets 'makespan <= 5min': with 2 more nodes, one for each pod"),
    ],
)
def test_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str], words: tuple[Any, ...], problem: str) -> None:
    with pytest.raises(SystemExit):
        plan(cluster(tmp_path, 1, 2), *words)
    said = capsys.readouterr()
    assert problem in said.out + said.err
