"""Bounds on the waits of a queue: against the best of all schedules of tiny clusters, and cases worked by hand."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from packenv.errors import InputError
from packenv.units import UNIT
from packenv.workloads.laws import Discrete, Fixed, Law
from packenv.workloads.workload import Workload
from packenv_kubernetes.planning.queue import NEVER, QueueGoal, Times, parse_queue_goals
from packenv_kubernetes.planning.wait_bound import WaitBound
from packenv_kubernetes.started import ENDLESS, Started

GOALS = parse_queue_goals(["mean wait <= 5", "p50 wait <= 5", "max wait <= 5", "makespan <= 9"], 1.0)


def small(demand: Any, running: Any, server: list[int], law: Law, nodes: Any, endless: tuple[int, ...] = ()) -> Workload:
    """A queue, running pods of age 0, and nodes."""
    ends = np.isin(np.arange(len(running)), endless)
    started = Started(
        demand=np.array(demand, np.float64),
        row=np.arange(len(demand)),
        endless=np.zeros(len(demand), np.bool_),
        running_demand=np.array(running, np.float64).reshape(-1, len(nodes[0])),
        running_endless=ends,
        server=np.array(server, np.int64),
        age=np.zeros(len(running)),
        services=(law,),
    )
    return Workload(jobs=started, servers=np.array(nodes, np.float64))


def best(workload: Workload, seed: int) -> list[float | None]:
    """The least value of each goal over all orders and nodes: each pod starts as soon as its node has room for all its time."""
    draw: Any = workload.draw
    table, held = draw(seed), draw.in_service(seed)
    begun = zip(held.demand / UNIT, held.server, held.remaining, strict=True)
    demand, nodes = table.demand / workload.servers.units.max() * workload.servers.capacity.max(), workload.servers.capacity
    horizon, n = 40, len(table)
    free = np.repeat(nodes[:, None], horizon, axis=1)
    for amount, server, left in begun:
        free[server, : min(left, horizon)] -= amount
    found = []
    for order in itertools.permutations(range(n)):
        for where in itertools.product(range(len(nodes)), repeat=n):
            room, start = free.copy(), np.full(n, NEVER)
            for pod in order:
                length = int(table.service[pod])
                for slot in range(horizon - length + 1):
                    if (room[where[pod], slot : slot + length] >= demand[pod] - 1e-6).all():
                        room[where[pod], slot : slot + length] -= demand[pod]
                        start[pod] = slot
                        break
            if (start < NEVER).all():
                found.append(Times(start, start + table.service, np.ones(n, np.bool_)))
    values = [[goal.of(times) for times in found] for goal in GOALS]
    return [min((one for one in own if one is not None), default=None) for own in values]


def test_no_schedule_is_better() -> None:
    """On 12 random clusters of two resources; the bounds are not far below the best either."""
    random = np.random.default_rng(0)
    exact = 0
    for seed in range(12):
        nodes = random.choice([0.5, 0.75, 1.0], (2, 2))
        demand = random.choice([0.25, 0.5], (3, 2))
        running = np.minimum(random.choice([0.25, 0.5, 0.75], (2, 2)), nodes)
        law = Discrete([1, 3, 7], [0.3, 0.4, 0.3])
        workload = small(demand, running, [0, 1], law, nodes)
        bound = WaitBound(workload, seed)
        for goal, value in zip(GOALS, best(workload, seed), strict=True):
            least = bound.least(goal)
            assert value is not None and least is not None and least <= value + 1e-9, (seed, goal.text)
            exact += goal.statistic != "mean" and least == value
    assert exact >= 18  # of 36: a bound of 0 alone would reach fewer


def test_by_hand() -> None:
    """One node is full for 10 slots, then for two pods of 10, one after the other; more room lets both start at once."""
    workload = small([[1.0], [1.0]], [[1.0]], [0], Fixed(10), [[1.0]])
    bound = WaitBound(workload, 0)
    assert [bound.least(goal) for goal in GOALS] == [15, 10, 20, 30]
    assert bound.most_started(np.array([0, 9, 10, 19, 20, 30])).tolist() == [0, 0, 1, 1, 2, 2]
    wide = WaitBound(workload.with_(servers=np.array([[1.0]] * 3)), 0)
    assert [wide.least(goal) for goal in GOALS] == [0, 0, 0, 10]


def test_a_pod_that_can_never_start() -> None:
    workload = small([[1.0]], [[1.0]], [0], Fixed(10), [[1.0]], endless=(0,))
    assert [WaitBound(workload, 0).least(goal) for goal in GOALS] == [None] * 4
    room = small([[1.0]], [[1.0]], [0], Fixed(10), [[1.0], [1.0]], endless=(0,))
    assert [WaitBound(room, 0).least(goal) for goal in GOALS] == [0, 0, 0, 10]


def test_measures() -> None:
    wait = np.array([5, 0, 1, 3])
    times = Times(wait, np.array([6, ENDLESS, 30, 9]), np.array([True, False, True, True]))
    assert [goal.of(times) for goal in GOALS] == [2.25, 1, 5, 30]
    never = times._replace(wait=np.array([5, 0, 1, NEVER]))
    assert [goal.of(never) for goal in GOALS[:3]] == [None, 1, None]
    nothing = np.zeros(0, np.int64)
    assert [goal.of(Times(nothing, nothing, nothing > 0)) for goal in GOALS] == [0, 0, 0, 0]
    assert times.joined(never).wait.tolist() == [5, 0, 1, 3, 5, 0, 1, NEVER]


def test_goals() -> None:
    (goal,) = parse_queue_goals(["  max   wait <= 2min"], 30.0)
    assert goal == QueueGoal("max wait <= 2min", "max", "wait", 4.0)
    for texts, problem in (
        ([], "give a --goal, such as mean wait <= 60s"),
        (["max queue <= 5"], "max queue is not measured in a cluster as it is"),
        (["p95 wait >= 5"], "wait <= is the sign to use here"),
        (["p95 wait <= 5y"], "'y' is not a unit of time"),
        (["p95 wait <= -5"], "the limit is below 0"),
        (["wait"], "cannot be read; goals of a cluster are"),
        (["max wait <= 5", "max wait <= 6"], "two goals for the max wait; give one"),
    ):
        with pytest.raises(InputError, match=problem):
            parse_queue_goals(texts, 1.0)
