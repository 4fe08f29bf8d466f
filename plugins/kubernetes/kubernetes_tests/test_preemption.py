"""Starts and preemption now, by hand and by kube-scheduler's rules on lists; measures of pods that wait in the dump."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest

import packenv
from kubernetes_tests.sample import container, listed, node, pod
from packenv.cli.main import main
from packenv.runs.delay_classes import by_size
from packenv.workloads.laws import Fixed
from packenv_kubernetes import read_cluster
from packenv_kubernetes.cluster import Cluster
from packenv_kubernetes.preemption import first_cycle

HOUR = Fixed(3600)
LOW = pod("low", container(cpu="3"), on="n", started="2024-05-01T11:50:00Z", priority=-10)


def read(folder: Path, *items: Any) -> Cluster:
    return read_cluster(listed(folder / "cluster.json", [*items]))


def starts_of(cluster: Cluster, policy: str = "bf-js") -> dict[str, int]:
    workload: Any = cluster.workload(HOUR)
    result = packenv.simulate(workload, policy, slots=20_000, schedule=True)
    assert result.schedule is not None
    start, _ = workload.draw.times(0, result.schedule.start, result.schedule.end)
    return dict(zip((each.name for each in cluster.waiting), start.tolist(), strict=True))


def queue(*cores: str, **spec: Any) -> list[dict[str, Any]]:
    """Waiting pods w1, w2, …, the oldest first."""
    return [pod(f"w{n}", container(cpu=cpu), created=f"2024-05-01T11:{n:02}:00Z", **spec) for n, cpu in enumerate(cores, 1)]


@pytest.mark.parametrize("policy", ["bf-js", "fifo-ff:blocking=false"])
@pytest.mark.parametrize("grace", [30, 3000])
def test_an_older_pod_that_fits_starts_before_one_that_preempts(tmp_path: Path, policy: str, grace: int) -> None:
    """1 of 4 cores is free: w1 starts in it, and w2 in the place of low."""
    low = pod("low", container(cpu="3"), on="n", priority=-10, terminationGracePeriodSeconds=grace)
    assert starts_of(read(tmp_path, node("n"), low, *queue("1", "1")), policy) == {"team/w1": 0, "team/w2": grace}


def test_no_node_is_added_for_it(tmp_path: Path) -> None:
    file, out = listed(tmp_path / "cluster.json", [node("n"), LOW, *queue("1", "1")]), tmp_path / "out.json"
    words = "--service", "fixed:1h", "--processes", "1", "--json", str(out)
    main(["kubernetes", "plan", str(file), "-g", "max wait <= 10min", *words, "--seeds", "1"])
    (record,) = json.loads(out.read_text())
    assert record["added"] == 0
    file, job = listed(tmp_path / "cluster.json", [node("n"), LOW]), tmp_path / "job.json"
    template = {"spec": {"restartPolicy": "Never", "containers": [container(cpu="1")]}}
    job.write_text(json.dumps({"kind": "Job", "metadata": {"name": "j"}, "spec": {"parallelism": 2, "template": template}}))
    main(["kubernetes", "submit", str(file), str(job), *words, "--draws", "9", "--slots", "9000"])
    (record,) = json.loads(out.read_text())
    assert [each["low_s"] for each in record["pods"]] == [0, 30] and record["changes"] == []


def test_what_preempted_pods_leave_is_for_waiting_pods(tmp_path: Path) -> None:
    """w1 takes a's 2 cores, w2 needs one of b's 2: the other is for w3, and a, as large as both, waits for an end."""
    a = pod("a", container(cpu="2"), on="n", started="2024-05-01T11:50:00Z", priority=-10)
    b = pod("b", container(cpu="2"), on="n", started="2024-05-01T11:40:00Z", priority=-10)
    cluster = read(tmp_path, node("n"), a, b, *queue("2", "1", "1"))
    assert [[cluster.running[v].name for v in each.victims] for each in first_cycle(cluster)] == [["team/a"], ["team/b"], []]
    assert starts_of(cluster) == {"team/w1": 30, "team/w2": 30, "team/w3": 30}


def test_a_node_with_room_now_goes_before_one_with_room_later(tmp_path: Path) -> None:
    """high takes n from low, of which 1 core is left in 30 s; w1 does not wait for it: the other node has 2."""
    low = pod("low", container(cpu="4"), on="n", priority=-10)
    other = pod("other", container(cpu="2"), on="m", priority=20)
    high = pod("high", container(cpu="3"), priority=10)
    middle = pod("middle", container(cpu="1"), priority=5)
    cluster = read(tmp_path, node("n"), node("m"), low, other, high, middle, *queue("4", priority=0))
    starts = {cluster.waiting[each.pod].name: (cluster.nodes[each.node], each.delay) for each in first_cycle(cluster)}
    assert starts == {"team/high": ("n", 30), "team/middle": ("m", 0)}


def test_a_host_port_is_free_when_its_pod_is_gone(tmp_path: Path) -> None:
    ports = [{"hostPort": 80}]
    low = pod("low", container(cpu="1") | {"ports": ports}, on="n", priority=-10, terminationGracePeriodSeconds=70)
    assert starts_of(read(tmp_path, node("n"), low, pod("w", container(cpu="1") | {"ports": ports}))) == {"team/w": 70}


def clock(ago: int) -> str:
    """A second before so many seconds ago, up to an hour."""
    return f"2024-05-01T11:{59 - ago // 60:02}:{59 - ago % 60:02}Z"


def test_the_node_whose_oldest_victim_is_the_youngest(tmp_path: Path) -> None:
    """Equal priorities, sums and numbers: x's pods are 3000 and 100 s old, y's 1500 and 1000 s."""
    ages = {"x1": 3000, "x2": 100, "y1": 1500, "y2": 1000}
    pods = [pod(name, container(cpu="2"), on=name[0], started=clock(age), priority=0) for name, age in ages.items()]
    cluster = read(tmp_path, node("x"), node("y"), *pods, pod("high", container(cpu="4"), priority=10))
    (begun,) = first_cycle(cluster)
    assert [cluster.running[v].name for v in begun.victims] == ["team/y1", "team/y2"]


def test_a_pod_without_a_start_is_the_youngest(tmp_path: Path) -> None:
    """It is bound and has not started: kube-scheduler takes the present time. It was created before the other started."""
    pods = [pod("bound", container(cpu="4"), on="x", priority=0, created=clock(3000))]
    pods += [pod("runs", container(cpu="4"), on="y", priority=0, started=clock(100))]
    cluster = read(tmp_path, node("x"), node("y"), *pods, pod("high", container(cpu="4"), priority=10))
    (begun,) = first_cycle(cluster)
    assert [cluster.running[v].name for v in begun.victims] == ["team/bound"]


Row = tuple[str, int, int, int]
"""Name, millicores, priority, age in s."""


def victims_on(pods: list[Row], need: int, priority: int) -> tuple[tuple[int, int, int, int], set[str]] | None:
    """kube-scheduler's comparison of a node of 4 cores, the least is best, and its victims; None: no room there."""
    left = 4000 - need - sum(cores for _, cores, own, _ in pods if own >= priority)
    if left < 0:
        return None
    gone = []
    for row in sorted((row for row in pods if row[2] < priority), key=lambda row: (-row[2], -row[3])):
        if row[1] <= left:
            left -= row[1]
        else:
            gone.append(row)
    highest = max(own for _, _, own, _ in gone)
    key = highest, sum(own + 2**31 for _, _, own, _ in gone), len(gone), max(age for _, _, own, age in gone if own == highest)
    return key, {name for name, *_ in gone}


def test_nodes_and_victims_of_random_clusters(tmp_path: Path) -> None:
    preempted = tied = 0
    for seed in range(120):
        draw = Random(seed)
        there: dict[str, list[Row]] = {f"n{n}": [] for n in range(draw.randint(2, 5))}
        for name, rows in there.items():
            for k in range(6):
                cores = draw.choice([1000, 2000])
                if sum(row[1] for row in rows) + cores <= 4000:
                    rows.append((f"{name}-{k}", cores, draw.choice([0, 0, 1, 20]), draw.randint(1, 3000)))
        need = draw.choice([1000, 2000, 3000, 4000])
        if any(sum(row[1] for row in rows) + need <= 4000 for rows in there.values()):
            continue
        pods = [
            pod(name, container(cpu=f"{cores}m"), on=where, priority=own, started=clock(age))
            for where, rows in there.items()
            for name, cores, own, age in rows
        ]
        cluster = read(tmp_path, *map(node, there), *pods, pod("high", container(cpu=f"{need}m"), priority=10))
        found = [each for rows in there.values() if (each := victims_on(rows, need, 10)) is not None]
        begun = first_cycle(cluster)
        assert bool(begun) == bool(found), seed
        if begun:
            names = {cluster.running[v].name.removeprefix("team/") for v in begun[0].victims}
            assert names in [victims for key, victims in found if key == min(found, key=lambda each: each[0])[0]], seed
            preempted += 1
            tied += sum(key[:3] == min(found, key=lambda each: each[0])[0][:3] for key, _ in found) > 1
    assert preempted > 60 and tied > 20


def test_one_node_and_random_queues(tmp_path: Path) -> None:
    """Each waiting pod in turn takes free room, then room of pods that are ending, else preempts; all end in 30 s."""
    after = before = 0
    for seed in range(60):
        draw = Random(seed)
        rows: list[Row] = []
        for n in range(6):
            cores = draw.choice([1000, 2000])
            if sum(row[1] for row in rows) + cores <= 7000:
                rows.append((f"r{n}", cores, draw.choice([-10, -5, 5]), draw.randint(1, 3000)))
        needs = [draw.choice([1000, 2000, 3000]) for _ in range(draw.randint(1, 4))]
        pods = [pod(name, container(cpu=f"{cores}m"), on="n", priority=own, started=clock(age)) for name, cores, own, age in rows]
        cluster = read(tmp_path, node("n", "8"), *pods, *queue(*(f"{need}m" for need in needs), priority=0))
        # By hand: millicores that are free, that victims hold for 30 s, and the pods that are left.
        free, lent, left, found = 8000 - sum(row[1] for row in rows), 0, rows, dict[str, int]()
        preempted = False
        for n, need in enumerate(needs, 1):
            if need > free + lent:
                low = sorted((row for row in left if row[2] < 0), key=lambda row: (-row[2], -row[3]))
                room = free + lent + sum(row[1] for row in low) - need
                if room < 0:
                    continue
                for row in low:  # each stays if there is room
                    if row[1] <= room:
                        room -= row[1]
                    else:
                        left = [other for other in left if other != row]
                        lent += row[1]
                preempted = True
            found[f"team/w{n}"] = 0 if need <= free else 30
            lent -= max(need - free, 0)
            free = max(free - need, 0)
            before += not preempted
            after += preempted
        starts = starts_of(cluster)
        assert not preempted or {name: starts[name] for name in found} == found, (seed, found, starts)
    assert before > 20 and after > 40


def test_measures_count_a_pod_that_starts_by_priority(tmp_path: Path) -> None:
    """high starts now, low when the running pod ends, in 3000 s, and ends after the run of 6000 s."""
    runs = pod("runs", container(cpu="2"), on="n", started="2024-05-01T11:50:00Z")
    cluster = read(tmp_path, node("n"), runs, pod("high", container(cpu="2"), priority=5), pod("low", container(cpu="2")))
    result = packenv.simulate(cluster.workload(HOUR), "bf-js", slots=6000)
    assert (result.arrived, result.started, result.completed, result.waiting) == (2, 2, 1, 0)
    assert (result.mean_delay, result.delay_p50, result.max_delay) == (1500, 0, 3000)
    assert (result.mean_queue, result.max_queue, result.mean_waiting_size) == (0.5, 1, 0.25)
    assert result.mean_response == (3600 + 6600) / 2
    assert result.delays.plain() == [[0, 3000], [1, 1]]
    width = result.trajectory.bin_slots
    assert abs(float(result.trajectory.queue.sum()) * width - 3000) <= width
    cut = packenv.simulate(cluster.workload(HOUR), "bf-js", slots=2000)
    assert (cut.started, cut.waiting, cut.mean_delay, cut.mean_queue) == (1, 1, 0, 1)


def test_measures_do_not_count_preempted_pods(tmp_path: Path) -> None:
    """The pod waits 30 s. The preempted one starts again after an hour, and counts nowhere."""
    low = pod("low", container(cpu="4"), on="n", started="2024-05-01T11:50:00Z", priority=-10)
    file, out = listed(tmp_path / "cluster.json", [node("n"), low, *queue("2")]), tmp_path / "out.json"
    words = "--service", "fixed:1h", "--slots", "6000", "--json", str(out)
    for command in (["kubernetes", "evaluate", str(file)], ["evaluate", str(file), "-p", "bf-js"]):
        main([*command, *words])
        record = next(each for each in json.loads(out.read_text()) if each["kind"] == "run")
        assert (record["arrived"], record["mean_delay"], record["max_queue"]) == (1, 30, 1)
        assert (record["mean_queue"], record["mean_response"]) == (30 / 6000, 3630)
    grace = read(tmp_path, node("n"), low, *queue("2"))
    result = packenv.simulate(grace.workload(HOUR), "bf-js", slots=20)  # within the grace
    assert (result.started, result.waiting, result.mean_delay, result.mean_queue) == (0, 1, None, 1)


def test_classes_of_sizes_have_the_same_pods(tmp_path: Path) -> None:
    cluster = read(tmp_path, node("n"), LOW, *queue("1", "1"))
    workload = cluster.workload(HOUR)
    ((classes,),) = by_size(workload, [[packenv.simulate(workload, "bf-js", slots=6000, schedule=True)]])
    assert [(each["tasks"], each["mean_delay"]) for each in classes.values()] == [(2, 15)]


def test_a_gang_that_preempts_counts_once(tmp_path: Path) -> None:
    """Three of a gang and one more pod wait 11 s for two victims: two delays, four pods in the queue."""
    low = [pod(f"low-{n}", container(cpu="3"), on=f"n{n}", terminationGracePeriodSeconds=10 + n) for n in range(2)]
    ring = [pod(f"ring-{n}", container(cpu="2"), priority=1, **{"schedulingGroup": {"podGroupName": "g"}}) for n in range(3)]
    cluster = read(tmp_path, node("n0"), node("n1"), *low, *ring, pod("last", container(cpu="1")))
    result = packenv.simulate(cluster.workload(HOUR), "bf-js", slots=100)
    assert result.delays.plain() == [[11], [2]] and (result.arrived, result.max_queue, result.mean_queue) == (4, 4, 0.44)
