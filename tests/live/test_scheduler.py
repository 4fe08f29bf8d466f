"""What a Scheduler answers when a cluster does what clusters do, and what it refuses."""

from __future__ import annotations

import json
import random
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import packenv
from packenv import Scheduler
from packenv.cluster import BY_QUEUE, Needs
from packenv.errors import InputError, MisuseError
from packenv.policy_names import registered
from tests.cluster.user_policies import Hold, HoldInPython
from tests.live.driving import compare, driven, simulated

CANNOT = {
    *("price", "priority", "capacity", "fifo", "tetris", "drf", "slot-fair", "task-fair", "critical-path", "most-work", "srpt"),
    *("graphene", "weighted-fair", "delay", "delay-dynamic", "fair", "sat", "sparrow", "hawk", "eagle", "lwl", "yaq"),
}
"""Policies that know all jobs of a run beforehand."""
OF_DEVICES = {"fgd", "gpu-best-fit", "dot-product", "gpu-packing", "gpu-clustering", "random"}
OF_FILES = {"replay", "optimal", "agent"}
NEED_A_LAW = {"vqs", "vqs-bf", "slot-fifo", "quickswap", "maxweight", "msr", "kmw"}


def test_every_policy_is_asked_or_refused_with_the_reason() -> None:
    for name in registered():
        if name in OF_FILES:
            continue
        if name in CANNOT:
            with pytest.raises(InputError, match="must know all jobs before the first one arrives"):
                Scheduler(name, servers=5)
        elif name in OF_DEVICES:
            with pytest.raises(InputError, match="no devices"):
                Scheduler(name, servers=5)
        elif name in NEED_A_LAW:
            with pytest.raises(InputError, match="must know the law of the tasks: give a `workload`"):
                Scheduler(name, servers=5).submit("a", size=0.5)
            Scheduler(name, workload="paper/fig4b")
        else:
            Scheduler(name, servers=5)


def test_devices_of_the_scoring_policies() -> None:
    with pytest.raises(InputError, match="must know all jobs before"):
        Scheduler("fgd", servers="2x96:8@8*A10", resources=("cpu", "gpu"))


def test_a_loop_by_hand() -> None:
    scheduler = Scheduler("bf-js", servers="2")
    for name, size in (("a", 0.6), ("b", 0.5), ("c", 0.4), ("d", 0.7)):
        scheduler.submit(name, size=size)
    assert [(start.task, start.server, start.slot) for start in scheduler.decide()] == [("a", 0, 0), ("b", 1, 0), ("c", 0, 0)]
    assert scheduler.waiting == ["d"] and scheduler.running == {"a": 0, "b": 1, "c": 0}
    assert scheduler.decide() == []  # nothing has happened
    scheduler.complete("b")
    assert scheduler.decide(now=10)[0][:2] == ("d", 1)
    scheduler.fail("a")
    assert scheduler.waiting == ["a"]
    assert [(start.task, start.server) for start in scheduler.decide(now=10)] == [("a", 0)]  # the same slot again


@pytest.mark.parametrize("policy", ["bf-js", "fifo-ff"])
def test_a_task_is_held_until_its_gang_has_started(policy: str) -> None:
    """Two servers, and a gang that needs both of them. In slot 0 one is taken, and the held task would have room on the other."""
    scheduler = Scheduler(policy, servers="2")
    scheduler.submit("runs", size=1)
    assert [start.task for start in scheduler.decide()] == ["runs"]
    for name in ("a", "b"):
        scheduler.submit(name, size=0.8, gang="g")
    for name in ("held", "second", "gone"):
        scheduler.submit(name, size=0.2, after="g")
    scheduler.submit("third", size=0.2, after="g", since=1)
    assert scheduler.decide() == [] and len(scheduler.waiting) == 6
    scheduler.withdraw("gone")
    again = Scheduler.from_dict(json.loads(json.dumps(scheduler.to_dict())))
    for each in (scheduler, again):
        assert each.decide() == []
        each.complete("runs")
        assert [start.task for start in each.decide(now=5)] == ["a", "b", "held", "second"]  # all in slot 5, full servers
        assert each.waiting == ["third"] and each.decide() == []
        each.fail("held")  # it waits on its own from now on
        each.submit("new", size=0.2, after="g")  # its gang runs
        assert [start.task for start in each.decide()] == ["third"]
        each.complete("a")
        assert {start.task for start in each.decide()} == {"held", "new"}


def test_names_of_servers_amounts_and_devices() -> None:
    servers = packenv.Servers(
        np.array([[8.0, 32, 2], [8, 32, 2]]), np.array([[2, 1000, 0], [2, 1000, 1]]), ("A10", "T4"), names=("n1", "n2")
    )
    scheduler = Scheduler("bf-js", servers, resources=("cpu", "memory", "gpu"))
    scheduler.submit("a", cpu=2, memory=4, gpu=1, gpu_kinds="T4")
    scheduler.submit("b", cpu="500m", memory=4, gpu=0.5, gpu_kinds="T4")
    scheduler.submit("c", cpu=1, memory=1, gpu=1, gpu_kinds="T4")
    starts = scheduler.decide()
    assert [(start.task, start.server, start.devices) for start in starts] == [("a", "n2", (0,)), ("b", "n2", (1,))]
    scheduler.complete("b")
    assert [(start.task, start.devices) for start in scheduler.decide()] == [("c", (1,))]
    again = Scheduler.from_dict(json.loads(json.dumps(scheduler.to_dict())))
    again.submit("d", cpu=1, memory=1, gpu=0.1, gpu_kinds="T4")
    assert again.decide() == []  # both devices are taken
    again.complete("a")
    assert [(start.task, start.devices) for start in again.decide()] == [("d", (0,))]


def test_the_number_of_devices_is_the_capacity_of_gpu() -> None:
    scheduler = Scheduler("bf-js", servers="2x64:4@A10", resources=("cpu", "gpu"))
    scheduler.submit("a", cpu=4, gpu=4, gpu_kinds=["A10"])
    scheduler.submit("b", cpu=4, gpu=0.5, gpu_kinds=("T4", "A10")[1:])
    assert [(start.task, start.devices) for start in scheduler.decide()] == [("a", (0, 1, 2, 3)), ("b", (0,))]
    with pytest.raises(InputError, match="task 'c' fits on no server"):
        scheduler.submit("c", cpu=1, gpu=5)
    scheduler.add_server("n", "64:5@T4")
    scheduler.submit("c", cpu=1, gpu=5, gpu_kinds=["T4", "A10"])
    assert [(start.task, start.server) for start in scheduler.decide()] == [("c", "n")]
    assert Scheduler.from_dict(scheduler.to_dict()).to_dict() == scheduler.to_dict()
    with pytest.raises(InputError, match="give the number of GPUs, such as 4\\*A10, or a resource gpu"):
        Scheduler("bf-js", servers="2x64:4@A10")
    # A law whose amount of 1 is 8 GPUs.
    node = packenv.Servers(np.ones((1, 2)), np.array([[8, 1000, -1]]))
    jobs = replace(packenv.Jobs.of([0], [[0.1, 0.125]], [5]), devices=np.array([[1, 0, 0]]))
    law = packenv.Workload(jobs=jobs, servers=node, resources=("cpu", "gpu"))
    devices = Scheduler("bf-js", servers="1x1:0.25@T4", workload=law).setting.servers.devices
    assert devices is not None and devices.tolist() == [[2, 1000, 0]]


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda s: s.submit("a", size=0.1), "task 'a' runs already"),
        (lambda s: s.submit("w", size=0.1), "task 'w' waits already"),
        (lambda s: s.submit("x", size=1.5), "task 'x' fits on no server"),
        (lambda s: s.submit("x", size=0.0), "task 'x': all demands are 0"),
        (lambda s: s.submit("x", size=-1), "task 'x': size must be at least 0"),
        (lambda s: s.submit("x", size=float("nan")), "task 'x': size must be at least 0"),
        (lambda s: s.submit("x", size=(0.1, 0.2)), "task 'x': size 2 amounts"),
        (lambda s: s.submit("x"), "task 'x': all demands are 0"),
        (lambda s: s.submit("x", cpu=1), "task 'x': no resource 'cpu'"),
        (lambda s: s.submit(True, size=0.1), "a task is named by a text or a whole number"),
        (lambda s: s.submit("x", size=0.1, home=[7]), "no server 7"),
        (lambda s: s.submit("x", size=0.9, server=0), "task 'x': server 0 has no room for it"),
        (lambda s: s.submit("x", size=0.1, home=3), "task 'x': home is a list, not '3'"),
        (lambda s: s.submit("x", size=0.1, gang="g", after="h"), "task 'x': give gang or after, not both"),
        (lambda s: s.submit("x", size={}), "task 'x': size is a list, not '{}'"),
        (lambda s: s.submit("x", size=0.1, gpu_kinds=7), "task 'x': gpu_kinds is a list, not '7'"),
        (lambda s: s.submit("x", size=0.1, server=0, devices=[1e15]), "task 'x': devices are numbered from 0 to 61"),
        (lambda s: s.submit("x", size=0.1, server=0, devices=[0.5]), "task 'x': devices are numbered from 0 to 61"),
        (lambda s: s.complete(["a"]), r"task \['a'\] does not run"),
        (lambda s: s.withdraw(["w"]), r"task \['w'\] does not wait"),
        (lambda s: s.add_server(["n"], "1"), "a server is named by a text or a whole number"),
        (lambda s: s.add_server("n", 3), "server 'n': a capacity is a text such as \"64:256\", not '3'"),
        (lambda s: s.complete("w"), "task 'w' does not run; it waits"),
        (lambda s: s.complete("x"), "task 'x' does not run"),
        (lambda s: s.fail("x"), "task 'x' does not run"),
        (lambda s: s.withdraw("a"), "task 'a' does not wait; it runs"),
        (lambda s: s.drain("n7"), "no server 'n7'"),
        (lambda s: s.decide(now=2), "time goes forward"),
        (lambda s: s.decide(now="x"), "now is not a number"),
    ],
)
def test_what_is_refused_changes_nothing(call: Any, message: str) -> None:
    scheduler = Scheduler("bf-js", servers="1")
    scheduler.submit("a", size=0.6)
    scheduler.submit("w", size=0.6)
    scheduler.decide(now=3)
    before = scheduler.to_dict()
    with pytest.raises(InputError, match=message):
        call(scheduler)
    assert scheduler.to_dict() == before
    scheduler.complete("a")
    assert [start.task for start in scheduler.decide(now=4)] == ["w"]


def test_what_the_policy_does_not_take() -> None:
    with pytest.raises(InputError, match="easy plans with durations: give estimate"):
        Scheduler("easy", servers=1).submit("a", size=0.5)
    with pytest.raises(InputError, match="bf-s does not start gangs"):
        Scheduler("bf-s", servers=1).submit("a", size=0.5, gang="g")
    with pytest.raises(InputError, match="PutsAll does not look for room on devices"):
        Scheduler(PutsAll(), packenv.Servers(np.array([[8.0, 2]]), np.array([[2, 1000, -1]])))


@pytest.mark.parametrize("policy", ["bf-js", "fifo-ff", "easy", "reserve:age=2"])
@pytest.mark.parametrize("resources", [1, 2])
def test_servers_come_go_and_are_drained(policy: str, resources: int) -> None:
    """At every step: no server above its capacity, nothing new on a drained one, no task lost."""
    rng = random.Random(f"{policy}{resources}")
    scheduler = Scheduler(policy, servers=f"4x{':'.join(['1'] * resources)}")
    present, sizes, drained, number = set[int](), dict[int, tuple[float, ...]](), set[Any](), 0
    for slot in range(300):
        for _ in range(rng.randint(0, 2)):
            sizes[number] = tuple(rng.randint(1, 10) / 10 for _ in range(resources))
            scheduler.submit(number, size=sizes[number], estimate=rng.randint(1, 9))
            present.add(number)
            number += 1
        for task in [*scheduler.running]:
            if rng.random() < 0.3:
                scheduler.complete(task)
                present.remove(int(task))
        if rng.random() < 0.2:
            server = rng.choice(scheduler.server_names)
            if server in drained:
                scheduler.resume(server)
                drained.remove(server)
            elif len(drained) + 1 < len(scheduler.server_names):
                drained.add(server)
                if rng.random() < 0.5:
                    scheduler.drain(server)
                else:
                    lost = {task for task, where in scheduler.running.items() if where == server}
                    assert set(scheduler.remove_server(server)) == lost and lost <= set(scheduler.waiting)
        if slot == 150:
            scheduler.add_server("fifth", ":".join(["1"] * resources))
        if slot in (100, 200):
            scheduler = Scheduler.from_dict(json.loads(json.dumps(scheduler.to_dict())), policy)
        starts = scheduler.decide(now=slot)
        assert not drained & {start.server for start in starts}
        running = scheduler.running
        assert {*running} | {*scheduler.waiting} == present and len(running) + len(scheduler.waiting) == len(present)
        for server in scheduler.server_names:
            taken = np.sum([sizes[int(task)] for task, where in running.items() if where == server], axis=0)
            assert np.all(taken <= 1 + 1e-6)


def test_a_drained_server_is_full_again_when_it_comes_back() -> None:
    scheduler = Scheduler("bf-js", servers="1")
    scheduler.submit("a", size=0.5)
    scheduler.decide()
    scheduler.drain(0)
    scheduler.submit("b", size=0.5)
    assert scheduler.decide() == []
    scheduler.complete("a")
    assert scheduler.decide() == []
    scheduler.submit("c", size=0.5)
    scheduler.resume(0)
    assert {start.task for start in scheduler.decide()} == {"b", "c"}


@pytest.mark.parametrize("policy", ["bf-js", "reserve:age=2"])
def test_withdrawn_tasks_never_start(policy: str) -> None:
    scheduler = Scheduler(policy, servers="1")
    for name in "abcd":
        scheduler.submit(name, size=0.6)
    scheduler.decide()
    scheduler.withdraw("b")
    scheduler.submit("e", size=0.6)
    scheduler.withdraw("e")
    scheduler.complete("a")
    assert [start.task for start in scheduler.decide(now=5)] == ["c"]
    assert scheduler.waiting == ["d"]


def test_rows_are_used_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """The table is renumbered many times, and every start is still the simulator's."""
    monkeypatch.setattr("packenv.live.rows.FIRST_ROWS", 8)
    for policy in ("bf-js", "fifo-ff", "easy", "vqs:J=3"):
        workload = packenv.workload("paper/fig4b", intensity=0.95)
        if policy == "easy":
            table = workload.tabulated(1, 3000)
            jobs = table.jobs
            assert jobs is not None
            estimated = packenv.Jobs(jobs.arrival, jobs.demand, jobs.service, estimate=jobs.service.astype(float))
            workload = packenv.Workload(jobs=estimated, servers=table.servers)
        assert compare(workload, policy, 3000, law=workload if policy.startswith("vqs") else None) > 100
    scheduler = Scheduler("bf-js", servers=5)
    for n in range(5000):
        scheduler.submit(n, size=0.3)
        scheduler.decide()
        scheduler.complete(n)
    assert scheduler._rows is not None and scheduler._rows.places == 8 and len(scheduler._tasks) == 0


@pytest.mark.parametrize("policy", [Hold(3), HoldInPython(3)])
def test_timers_and_messages_of_policies(policy: Any) -> None:
    workload = packenv.workload("paper/fig4b", intensity=0.5)
    assert compare(workload, policy, 800) > 10


class PutsAll:
    """Places every task on the first server, whether there is room or not."""

    def needs(self, setting: Any) -> Any:
        return Needs(BY_QUEUE)

    def schedule(self, cluster: Any, state: Any) -> None:
        from packenv.cluster import NONE, oldest, place

        while (task := oldest(cluster)) != NONE:
            place(cluster, task, 0)


def test_a_policy_that_misuses_the_cluster() -> None:
    scheduler = Scheduler(PutsAll(), servers="1")
    scheduler.submit("a", size=0.6)
    scheduler.submit("b", size=0.6)
    with pytest.raises(MisuseError, match="server above its capacity in slot 0"):
        scheduler.decide()
    assert scheduler.waiting == ["a", "b"]  # nothing is lost
    scheduler.withdraw("b")
    assert [start.task for start in scheduler.decide()] == ["a"]


def test_begins_with_tasks_in_service_as_the_simulator_does() -> None:
    workload = packenv.workload("paper/fig4b", intensity=0.5)
    jobs = workload.tabulated(1, 1000).jobs
    assert jobs is not None
    table = packenv.Workload(jobs=jobs, servers=workload.servers)
    expected = packenv.simulate(table, "bf-js", 1000, initial=[(0.7, 1, 9000), (0.5, 3, 9000)], schedule=True).schedule
    assert expected is not None
    scheduler = Scheduler.of({"task": ["x", "y"], "size": [0.7, 0.5], "server": [1, 3]}, "bf-js", "5")
    actual = driven(scheduler, table, jobs, 1000)
    assert actual.slot == {row: int(slot) for row, slot in enumerate(expected.start) if slot >= 0}
    assert actual.server == {row: int(expected.server[row]) for row in actual.slot}
    assert actual != simulated(table, "bf-js", 1000)


def test_of_slurm(tmp_path: Path) -> None:
    squeue = tmp_path / "squeue.txt"
    squeue.write_text(
        "JOBID|STATE|NODELIST|CPUS|MIN_MEMORY|TIME_LIMIT\n17|RUNNING|n1|4|8G|1:00:00\n18|PENDING||8|16G|2-00:00:00\n19|COMPLETED|n1|4|1G|1:00\n"
    )
    sacct = tmp_path / "sacct.txt"
    sacct.write_text(
        "JobID|State|NodeList|AllocTRES|ReqTRES|Timelimit\n17|RUNNING|n1|cpu=4,mem=8G,node=1|cpu=4,mem=8G|01:00:00\n"
        "17.batch|RUNNING|n1|cpu=4,mem=8G||\n18|PENDING|None assigned||cpu=8,mem=16G|2-00:00:00\n"
    )
    servers = packenv.Servers(np.array([[8.0, 32], [8, 32]]), names=("n1", "n2"))
    for file in (squeue, sacct):
        scheduler = Scheduler.of(file, "easy", servers, resources=("cpu", "memory"))
        assert scheduler.running == {"17": "n1"} and scheduler.waiting == ["18"]
        assert [(task.estimate, task.demand) for task in scheduler._tasks.values()][1][0] == 172_800
        assert [(start.task, start.server) for start in scheduler.decide()] == [("18", "n2")]
    squeue.write_text("JOBID|STATE|NODELIST|CPUS\n17|RUNNING|n[1-2]|4\n")
    with pytest.raises(InputError, match=r"line 2: job 17 is on n\[1-2\]"):
        Scheduler.of(squeue, "bf-js", servers, resources=("cpu", "memory"))
    squeue.write_text("JOBID|STATE\n17|RUNNING\n")
    with pytest.raises(InputError, match="fields are missing: print squeue"):
        Scheduler.of(squeue, "bf-js", servers, resources=("cpu", "memory"))


def test_saved_and_loaded(tmp_path: Path) -> None:
    scheduler = Scheduler("bf-js", servers="3x1:2", resources=("cpu", "memory"))
    for n in range(12):
        scheduler.submit(n, cpu=0.1 + 0.07 * n, memory=0.3, job="j", estimate=4)
    scheduler.decide(now=4)
    scheduler.complete(0)
    scheduler.drain(1)
    path = tmp_path / "state.json"
    scheduler.save(path)
    again = Scheduler.load(path)
    assert again.to_dict() == scheduler.to_dict()
    assert {start.task for start in again.decide(now=5)} == {start.task for start in scheduler.decide(now=5)}
    plain = scheduler.to_dict()
    bad: list[tuple[str, Any]] = [("policy", "os:system"), ("policy", "agent:x"), ("version", 9), ("tasks", [{"task": 1}])]
    for key, value in [*bad, ("drained", [9])]:
        with pytest.raises(InputError):
            Scheduler.from_dict(plain | {key: value})
    odd: list[Any] = [None, [], {}, "x", -1, [[1]], [{}], [None]]
    for key in plain:
        for value in odd:
            with suppress(InputError):
                Scheduler.from_dict(plain | {key: value})
    (tmp_path / "bad.json").write_text("[1]")
    with pytest.raises(InputError, match=r"bad\.json: not the state of a scheduler"):
        Scheduler.load(tmp_path / "bad.json")
