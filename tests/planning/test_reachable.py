"""Goals that no number of servers meets, and quantiles of too few tasks."""

from __future__ import annotations

import numpy as np
import pytest

import packenv
from packenv import Jobs, Workload
from packenv.errors import InputError
from packenv.planning.goals import parse_goal
from packenv.planning.request import goals_for
from packenv.planning.search import with_servers
from packenv.simulation import simulate


def table(*rows: tuple[int, int, int]) -> Workload:
    """Tasks of half a server: arrival, service, job."""
    arrival, service, job = np.array(rows).T
    return Workload(jobs=Jobs.of(arrival, [0.5] * len(rows), service, job=job), servers=1, slot_seconds=1.0)


THREE = table((0, 5, 7), (1, 40, 8), (4, 9, 7), (6, 2, 9))  # jobs last 13, 40 and 2 slots, all until slot 41


@pytest.mark.parametrize(
    "goal, problem",
    [
        ("max completion <= 39s", "row 1 (from 0, by arrival) is in service for 40 slots, and the max completion is 40 slots at"),
        ("p50 completion <= 12", "row 2 (from 0, by arrival) is in service for 9 slots, and the p50 completion is 13 slots at"),
        (
            "mean completion <= 18",
            "row 1 (from 0, by arrival) is in service for 40 slots, and the mean completion is 18.33 slots",
        ),
        (
            "makespan <= 40",
            "row 1 (from 0, by arrival) is in service for 40 slots, and the makespan is 41 slots at least, not 40",
        ),
        ("p99 completion <= 90", "too few for a p99: of 3 jobs it is the largest; custom would have to have at least 100"),
        ("p95 wait <= 90", "too few for a p95: of 4 tasks it is the largest; custom would have to have at least 20"),
    ],
)
def test_refused(goal: str, problem: str) -> None:
    with pytest.raises(InputError) as raised:
        goals_for(THREE, [goal])
    assert problem in str(raised.value)


def test_the_limit_itself_is_met() -> None:
    """What the tasks' own lengths give is allowed, and enough servers reach it."""
    texts = ("max completion <= 40", "p50 completion <= 13", "mean completion <= 18.34", "makespan <= 41", "p50 wait <= 0")
    result = simulate(with_servers(THREE, 4), "fifo-ff", drain=True)
    assert all(goal.met(goal.value(result)) for goal in goals_for(THREE, texts))


@pytest.mark.parametrize("statistic, fewest", [("p50", 2), ("p95", 20), ("p99", 100), ("p99.9", 1000)])
def test_a_quantile_of_enough_tasks_is_not_the_largest(statistic: str, fewest: int) -> None:
    """On one server that they fill one by one: the quantile of so many waits is below the largest, of one fewer it is that."""
    for count, refused in ((fewest, False), (fewest - 1, True)):
        jobs = Jobs.of([0] * count, [1] * count, [1] * count)
        workload = Workload(jobs=jobs, servers=1)
        goal = parse_goal(f"{statistic} wait <= 1", None)
        assert (goal.value(simulate(workload, "fifo-ff", drain=True)) == count - 1) is refused
        if refused:
            with pytest.raises(packenv.InputError, match="too few"):
                goals_for(workload, [goal.text])
        else:
            assert goals_for(workload, [goal.text])
