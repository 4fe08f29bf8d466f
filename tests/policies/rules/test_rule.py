"""The loop of rules: BF-J/S with best fit's priority, and any other rule against the same text executed by Python."""

from __future__ import annotations

import pickle
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import packenv
from packenv.cluster import (
    BY_QUEUE,
    NONE,
    Cluster,
    Needs,
    demand_of,
    device_count,
    device_left,
    eligible_since,
    fits,
    freed_count,
    freed_server,
    jobs_in,
    level_of,
    new_count,
    new_task,
    next_in_queue,
    now,
    oldest,
    place,
    remote_slots,
    room_of,
    row_of,
    server_count,
    size_of,
)
from packenv.errors import MisuseError
from packenv.jobs import Jobs
from packenv.policies.rules import pairing
from packenv.policies.rules.rule import Pairing, PriorityRule
from packenv.policy import Setting, find_policy
from packenv.workloads.laws.services import Geometric
from packenv.workloads.laws.sizes import Uniform
from packenv.workloads.network import Network
from packenv.workloads.workload import Workload

BEST_FIT = "def priority(task, server, cluster):\n    return task.size - server.room\n"
MANY_TERMS = """
import math

WIDTH = 1 / 16


def beside(server, size):
    return server.capacity - size


def priority(task, server, cluster, weight=0.3):
    left = server.room - task.size
    others = cluster.waiting_between(task.size - WIDTH, task.size + WIDTH)
    fill = cluster.waiting_between(beside(server, task.size) - 0.2, beside(server, task.size))
    score = math.log1p(others) - weight * math.sqrt(abs(cluster.room_after(left, 2))) + 0.01 * fill
    for r in range(cluster.resources):
        score += 0.2 * task.demand[r] * (server.capacities[r] - server.free[r])
    if server.jobs > 1 and task.age > 3:
        score += 0.5
    return score - 0.1 * server.index + cluster.free - cluster.waiting_size / (1 + cluster.waiting)
"""


class Slow:
    """The documented loop in plain Python, where the rule is executed as it stands."""

    def __init__(self, source: str) -> None:
        names: dict[str, Any] = {}
        exec(source, names)
        self.priority = names["priority"]

    def schedule(self, c: Cluster, state: Any) -> None:
        for n in range(freed_count(c)):
            while self.fill(c, freed_server(c, n)):
                pass
        for n in range(new_count(c)):
            i = new_task(c, n)
            able = [server for server in range(server_count(c)) if i != NONE and fits(c, i, server)]
            if able:
                place(c, i, max(able, key=lambda k: (self.value(c, i, k), -self.free_share(c, k), -k)))

    def free_share(self, c: Cluster, server: int) -> float:
        record = self.server(c, server)
        return float(sum(record.free / record.capacities))

    def fill(self, c: Cluster, server: int) -> bool:
        able = [i for i in self.waiting(c) if fits(c, i, server)]
        first: dict[tuple[int, ...], int] = {}
        for i in sorted(able, key=lambda i: row_of(c, i)):
            first.setdefault(tuple(demand_of(c, i, r) for r in range(c.capacity.shape[1])), i)
        if able:
            place(c, max(first.values(), key=lambda i: (self.value(c, i, server), size_of(c, i), -row_of(c, i))), server)
        return bool(able)

    def waiting(self, c: Cluster) -> list[int]:
        tasks, i = [], oldest(c)
        while i != NONE:
            tasks.append(i)
            i = next_in_queue(c, i)
        return tasks

    def server(self, c: Cluster, server: int) -> Any:
        whole = c.scale.astype(float)
        several = c.capacity.shape[1] > 1
        free = c.free[0, server] / whole if several else np.array([room_of(c, server)]) / whole
        room, known = min(free), c.server[0, server]
        about = {"room": room, "capacity": known["capacity"] / whole.max(), "jobs": jobs_in(c, server), "index": server}
        return SimpleNamespace(**about, kind=int(known["kind"]), free=free, capacities=c.capacity[server] / whole)

    def value(self, c: Cluster, i: int, server: int) -> float:
        whole, size = c.scale.astype(float), size_of(c, i) / c.scale.max()
        sizes = sorted(size_of(c, other) / c.scale.max() for other in self.waiting(c))
        others = sorted(size_of(c, other) / c.scale.max() for other in self.waiting(c) if other != i)

        def room_after(room: float, tasks: int) -> float:
            left, rest = room, list(others)
            for _ in range(tasks):
                able = [other for other in rest if other <= left + 1e-9]
                if able:
                    left -= able[-1]
                    rest = rest[: len(able) - 1]
            return left

        used = 1 - c.used[0] / c.capacity.sum(axis=0)
        cluster = SimpleNamespace(
            servers=server_count(c),
            resources=c.capacity.shape[1],
            waiting=len(sizes),
            waiting_size=sum(sizes),
            in_service=int(c.head["in_service"][0]),
            free=used.mean(),
            waiting_between=lambda low, high: sum(low - 1e-9 <= other <= high + 1e-9 for other in others),
            room_after=room_after,
        )
        demand = [demand_of(c, i, r) / whole[r] for r in range(len(whole))]
        task = SimpleNamespace(size=size, age=now(c) - eligible_since(c, i), demand=demand)
        return float(self.priority(task, self.server(c, server), cluster))


def starts(workload: Workload, policy: Any, slots: int, seed: int) -> list[np.ndarray[Any, Any]]:
    schedule = packenv.simulate(workload, policy, slots=slots, seed=seed, schedule=True).schedule
    return [schedule.start, schedule.server]


@pytest.mark.parametrize("workload", ["paper/fig4b", "google2011-like"])
def test_best_fits_priority_is_bf_js(workload: str) -> None:
    played = packenv.workload(workload)
    expected = starts(played, "bf-js", 3000, 1)
    assert all(map(np.array_equal, starts(played, PriorityRule(BEST_FIT), 3000, 1), expected))


ONE = {"sizes": Uniform(0.05, 0.8), "servers": [1.0, 1.0, 0.7]}
TWO = {"sizes": (Uniform(0.05, 0.6), Uniform(0.1, 0.7)), "servers": [(1.0, 1.0), (1.0, 0.9), (0.7, 1.0)]}


@pytest.mark.parametrize("cluster", [ONE, TWO], ids=["one resource", "two resources"])
def test_against_python(cluster: dict[str, Any]) -> None:
    workload = packenv.Workload(**cluster, service=Geometric(20), rate=0.2)
    expected = starts(workload, Slow(MANY_TERMS), 600, 3)
    found = starts(workload, PriorityRule(MANY_TERMS), 600, 3)
    assert all(map(np.array_equal, found, expected))
    other = starts(workload, PriorityRule(MANY_TERMS, parameters=(-3.0,)), 600, 3)
    assert not all(map(np.array_equal, other, expected))


def test_pairing_is_what_the_page_shows() -> None:
    """And at home it halves best fit's queue."""
    page = (Path(packenv.__file__).parent.parent / "docs" / "explanation" / "pairing.md").read_text(encoding="utf-8")
    text = Path(pairing.__file__).read_text(encoding="utf-8").partition("def priority")[2].partition("\n")[2]
    assert text in page
    workload = packenv.workload("paper/fig4b", intensity=0.95)
    shares = [
        packenv.simulate(workload, Pairing(), slots=300_000, seed=seed).mean_queue
        / packenv.simulate(workload, "bf-js", slots=300_000, seed=seed).mean_queue
        for seed in range(3)
    ]
    assert np.exp(np.mean(np.log(shares))) < 0.7


def test_in_another_process_it_is_compiled_there() -> None:
    rule = PriorityRule(BEST_FIT).rule
    _, arguments = rule.__reduce__()
    assert arguments == (BEST_FIT, "priority.py", "priority") and pickle.loads(pickle.dumps(rule)) == rule


def test_a_file_with_parameters(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text("def priority(task, server, cluster, a=1.0, b=2):\n    return a * task.size + b\n")
    assert find_policy("mine.py").name == find_policy("mine.py:priority:b=2").name == "mine.py:priority"
    rule = find_policy("mine.py:priority:a=-1.5")
    assert rule.name == "mine.py:priority:a=-1.5" and rule.parameters == (-1.5, 2.0)
    with pytest.raises(packenv.InputError, match="unknown parameter 'c'"):
        find_policy("mine.py:priority:c=1")
    with pytest.raises(packenv.InputError, match="b must be a number, not 'x'"):
        find_policy("mine.py:priority:b=x")
    with pytest.raises(packenv.InputError, match=r"other\.py: no such file"):
        find_policy("other.py")


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ("return math.log(-1.0)", "not a finite number"),
        ("return 0 / (task.size - task.size)", "not a finite number"),
        ("return 1 / (task.size - task.size)", "not a finite number: a division by 0"),
        ("return task.demand[1]", "a resource that the cluster does not have"),
        ("return task.demand[-1]", "a resource that the cluster does not have"),
        ("for k in range(2000):\n        x = k\n    return 1.0", "more than 1,000 rounds"),
    ],
)
def test_misuse_is_one_line(body: str, problem: str) -> None:
    rule = PriorityRule(f"import math\ndef priority(task, server, cluster):\n    {body}\n", "mine.py")
    with pytest.raises(MisuseError, match=problem):
        packenv.simulate(packenv.workload("paper/fig4b"), rule, slots=1000)


OF_A_TABLE = """
def priority(task, server, cluster):
    job = 0.3 * task.job_left - 0.5 * task.job_in_service + 0.01 * task.job_age - 0.02 * task.job_work + 0.1 * task.phase_left
    return job - 0.05 * task.estimate + 0.03 * task.path - 0.7 * task.distance - server.room + 0.001 * task.age
"""
OF_DEVICES = """
def priority(task, server, cluster):
    devices = task.devices - 2 * task.device_share - 3 * server.device_left + 0.3 * server.free_devices
    return devices - server.device_room + 0.01 * server.devices - 0.1 * server.room + 0.002 * task.age{}
"""


class SlowJobs(Slow):
    """The documented loop for tables: of the tasks of a job that are alike, the nearest stands for all."""

    def __init__(self, source: str, jobs: Jobs) -> None:
        super().__init__(source)
        self.jobs, self.began, self.done = jobs, dict[int, float](), set[int]()

    def needs(self, setting: Setting) -> Needs:
        return Needs(orders=BY_QUEUE, vectors=len(setting.capacity[0]) > 1, devices=True)

    def on_completion(self, c: Cluster, state: Any, task: int) -> None:
        self.done.add(row_of(c, task))

    def schedule(self, c: Cluster, state: Any) -> None:
        new = dict.fromkeys(self.group(row_of(c, new_task(c, n))) for n in range(new_count(c)) if new_task(c, n) != NONE)
        for n in range(freed_count(c)):
            server = freed_server(c, n)
            while able := [i for i in self.nearest(c, server).values() if fits(c, i, server)]:
                self.start(c, max(able, key=lambda i: (self.value(c, i, server), size_of(c, i), -row_of(c, i))), server)
        for group in new:
            while True:
                near = [(self.nearest(c, server).get(group, NONE), server) for server in range(server_count(c))]
                able = [(i, server) for i, server in near if i != NONE and fits(c, i, server)]
                if not able:
                    break
                self.start(c, *max(able, key=lambda pair: (self.value(c, *pair), -self.free_share(c, pair[1]), -pair[1])))

    def start(self, c: Cluster, i: int, server: int) -> None:
        self.began[row_of(c, i)] = now(c) + self.estimate(row_of(c, i)) + remote_slots(c, row_of(c, i), server)
        place(c, i, server)

    def estimate(self, row: int) -> int:
        return 1 if self.jobs.estimate is None else max(round(float(self.jobs.estimate[row])), 1)

    def group(self, row: int) -> Any:
        columns = (self.jobs.job, self.jobs.phase, self.jobs.demand, self.jobs.devices)
        alike = [[] if column is None else np.atleast_1d(column[row]).tolist() for column in columns]
        return str((alike, self.estimate(row)))

    def nearest(self, c: Cluster, server: int) -> dict[Any, int]:
        """By group, the waiting task whose data are nearest to the server; of those equally near the earliest row."""
        found: dict[Any, int] = {}
        for i in sorted(self.waiting(c), key=lambda i: (level_of(c, row_of(c, i), server), row_of(c, i))):
            found.setdefault(self.group(row_of(c, i)), i)
        return found

    def value(self, c: Cluster, i: int, server: int) -> float:
        jobs, row, whole = self.jobs, row_of(c, i), c.scale.astype(float)
        mine = np.flatnonzero(jobs.job == jobs.job[row]).tolist() if jobs.job is not None else [row]
        left = [other for other in mine if other not in self.done]
        rate = {other: float((jobs.demand[other] / whole).sum()) for other in left}
        ends = {other: now(c) + self.estimate(other) for other in left} | {o: self.began[o] for o in left if o in self.began}
        phase = [0] * len(jobs) if jobs.phase is None else jobs.phase.tolist()
        later = [max(self.estimate(o) for o in mine if phase[o] == k) for k in {phase[o] for o in mine} if k > phase[row]]
        about = {
            "job_left": len(left), "job_in_service": len([other for other in left if other in self.began]),
            "job_age": now(c) - int(jobs.arrival[mine].min()), "phase_left": sum(phase[o] == phase[row] for o in left),
            "job_work": sum(rate[o] * max(ends[o] - now(c), 0) for o in left), "estimate": self.estimate(row),
            "path": self.estimate(row) + sum(later), "distance": level_of(c, row, server), "age": now(c) - eligible_since(c, i),
        }  # fmt: skip
        near = self.server(c, server)
        if jobs.devices is not None:
            left_of = [device_left(c, server, device) / 1000 for device in range(device_count(c, server))]
            share = int(jobs.devices[row, 1]) / 1000
            able = [amount for amount in left_of if amount >= share]
            about |= {"devices": int(jobs.devices[row, 0]), "device_share": share}
            near.devices, near.device_room, near.free_devices = len(left_of), max(left_of), sum(amount == 1 for amount in left_of)
            near.device_left = min(able) - share if share > 0 else 0.0
        return float(self.priority(SimpleNamespace(**about), near, None))


class SlowDevices(SlowJobs):
    """The loop of rules that see tasks alone, where servers have devices."""

    schedule = Slow.schedule

    def fill(self, c: Cluster, server: int) -> bool:
        first: dict[Any, int] = {}
        for i in sorted((i for i in self.waiting(c) if fits(c, i, server)), key=lambda i: row_of(c, i)):
            first.setdefault(str((self.jobs.demand[row_of(c, i)].tolist(), self.jobs.devices[row_of(c, i)].tolist())), i)
        if first:
            place(c, max(first.values(), key=lambda i: (self.value(c, i, server), size_of(c, i), -row_of(c, i))), server)
        return bool(first)


def table(kind: str) -> Workload:
    """Jobs of a few tasks in two phases, with estimates and home servers; or tasks that need devices."""
    draw = np.random.default_rng(1)
    arrival, service = np.sort(draw.integers(0, 150, 120)), draw.integers(1, 25, 120)
    if kind == "jobs":
        job, phase = np.arange(120) // 4, np.arange(120) % 4 // 2
        home = [[int(server) for server in draw.choice(4, draw.integers(0, 3), replace=False)] for _ in range(120)]
        about = {"home": home, "estimate": draw.integers(1, 30, 120).astype(float), "remote_overhead": np.full(120, 3)}
        jobs = Jobs.of(arrival[job * 4], draw.choice([0.3, 0.5], 120), service, job=job, phase=phase, **about)
        return Workload(servers=[1.0, 1.0, 0.7, 0.6], jobs=jobs, network=Network(racks=2))
    share = draw.choice([0, 200, 500], 120)
    devices = np.column_stack([np.ones(120, np.int64), share, draw.integers(0, 4, 120)])
    demand = np.column_stack([draw.choice([0.2, 0.4], 120), np.where(share == 0, 1, share / 1000)])
    jobs = Jobs.of(arrival, demand, service, devices=devices, device_kinds=("A", "B"))
    return Workload(servers="2x1:2@2*A,1x1:2@2*B", jobs=jobs, resources=("cpu", "gpu"))


@pytest.mark.parametrize(
    ("kind", "source"),
    [("jobs", OF_A_TABLE), ("devices", OF_DEVICES.format(" - 0.1 * task.job_left")), ("devices", OF_DEVICES.format(""))],
    ids=["jobs and homes", "devices, in jobs", "devices"],
)
def test_tables_against_python(kind: str, source: str) -> None:
    workload = table(kind)
    assert workload.jobs is not None
    reference = SlowJobs(source, workload.jobs) if "job_" in source else SlowDevices(source, workload.jobs)
    schedules = [
        packenv.simulate(workload, policy, drain=True, schedule=True).schedule for policy in (PriorityRule(source), reference)
    ]
    assert schedules[0] is not None and schedules[1] is not None and (schedules[0].start >= 0).all()
    assert (schedules[0].start == schedules[1].start).all() and (schedules[0].server == schedules[1].server).all()


def test_a_rule_is_refused_where_nobody_knows_what_it_asks_for() -> None:
    of_jobs = PriorityRule("def priority(task, server, cluster):\n    return -task.job_left\n", "mine.py")
    with pytest.raises(packenv.InputError, match=r"mine\.py: task\.job_left needs a table, and paper/fig4b is a stream"):
        packenv.simulate("paper/fig4b", of_jobs, slots=100)
    estimates = PriorityRule("def priority(task, server, cluster):\n    return -task.estimate\n", "mine.py")
    with pytest.raises(packenv.InputError, match=r"mine\.py: task\.estimate: hpc/lublin has no estimates"):
        packenv.simulate("hpc/lublin", estimates, drain=True)


@pytest.mark.parametrize(
    ("expression", "falls"),
    [
        *((text, True) for text in ("-task.age", "task.size / (1 + task.age)", "1.0 if task.age < 100 else 0.0")),
        *((text, False) for text in ("task.age", "task.size", "task.size - server.room + np.log(1 + task.age)")),
    ],
)
def test_a_priority_that_falls_with_age_is_remarked(expression: str, falls: bool) -> None:
    """Among equal sizes only the oldest is compared, so such a rule does not start the youngest."""
    rule = PriorityRule(f"import numpy as np\n\ndef priority(task, server, cluster):\n    return {expression}\n")
    remark = packenv.simulate("paper/fig3a", rule, slots=200).remark
    assert (remark is not None and "the priority falls with task.age" in remark) == falls
