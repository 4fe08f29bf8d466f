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
    NONE,
    Cluster,
    demand_of,
    eligible_since,
    fits,
    freed_count,
    freed_server,
    jobs_in,
    new_count,
    new_task,
    next_in_queue,
    now,
    oldest,
    place,
    room_of,
    row_of,
    server_count,
    size_of,
)
from packenv.errors import MisuseError
from packenv.policies.rules import pairing
from packenv.policies.rules.rule import Pairing, PriorityRule
from packenv.policy import find_policy
from packenv.workloads.laws.services import Geometric
from packenv.workloads.laws.sizes import Uniform
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
    page = (Path(packenv.__file__).parent.parent / "docs" / "reference" / "policies.md").read_text(encoding="utf-8")
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
        ("return math.log(-1.0)", "not a number"),
        ("return 0 / (task.size - task.size)", "not a number"),
        ("return task.demand[1]", "a resource that the cluster does not have"),
        ("return task.demand[-1]", "a resource that the cluster does not have"),
        ("for k in range(2000):\n        x = k\n    return 1.0", "more than 1,000 rounds"),
    ],
)
def test_misuse_is_one_line(body: str, problem: str) -> None:
    rule = PriorityRule(f"import math\ndef priority(task, server, cluster):\n    {body}\n", "mine.py")
    with pytest.raises(MisuseError, match=problem):
        packenv.simulate(packenv.workload("paper/fig4b"), rule, slots=1000)


def test_infinite_priorities_are_numbers() -> None:
    last = PriorityRule("def priority(task, server, cluster):\n    return -1 / (task.size - task.size)\n")
    assert packenv.simulate(packenv.workload("paper/fig4b"), last, slots=1000).started > 0
