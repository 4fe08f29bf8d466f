"""How goals are read, and what they ask of a run."""

from __future__ import annotations

from dataclasses import replace

import pytest

import packenv
from packenv import Jobs, Workload
from packenv.errors import InputError
from packenv.planning.goals import check_goals, fewest_of, parse_goal
from packenv.simulation import simulate


@pytest.mark.parametrize(
    "text, title, limit",
    [
        ("p95 wait <= 60s", "p95 wait", 600),
        ("p99 wait<=2min", "p99 wait", 1200),
        ("  mean   wait <= 7 ", "mean wait", 7),
        ("p50 wait <= 1e3slots", "p50 wait", 1000),
        ("max queue <= 10", "max queue", 10),
        ("max wait <= 1min", "max wait", 600),
        ("p99.9 wait <= 1min", "p99.9 wait", 600),
        ("utilisation >= 70%", "utilisation", 0.7),
        ("utilisation >= 0.7", "utilisation", 0.7),
        ("makespan <= 1d", "makespan", 864_000),
        ("p90 completion <= 1.5h", "p90 completion", 54_000),
        ("p80 wait <= 20s", "p80 wait", 200),
        ("p95 wait <= 10m", "p95 wait", 6000),
        ("p95 wait <= 2 h 5 min", "p95 wait", 75_000),
        ("max wait <= 00:15:04", "max wait", 9040),
        ("p99.50 wait <= 20s", "p99.5 wait", 200),
        ("p33.3 completion <= 1s", "p33.3 completion", 10),
    ],
)
def test_read(text: str, title: str, limit: float) -> None:
    goal = parse_goal(text, slot_seconds=0.1)
    assert goal.title == title and goal.limit == pytest.approx(limit)


@pytest.mark.parametrize(
    "text, problem",
    [
        ("fast", "cannot be read; goals are such as p95 wait <= 60s"),
        ("max wait < 1h", "write <= in place of <"),
        ("p95 wiat <= 60s", "'wiat' is not a measure; did you mean wait?"),
        ("p95 response <= 60s", "'response' is not a measure; known: wait, queue, completion, makespan, utilisation"),
        ("p100 wait <= 60s", "of a wait there are mean, max, and quantiles such as p80 and p99.5, not 'p100'"),
        ("p0 wait <= 60s", "not 'p0'"),
        ("p٣ wait <= 60s", "not 'p٣'"),
        ("p80 queue <= 6", "of a queue there are mean, max, not 'p80'"),
        ("wait <= 60s", "of a wait there are mean, max, and quantiles such as p80 and p99.5"),
        ("mean makespan <= 60s", "makespan stands alone, not 'mean'"),
        ("p95 wait >= 60s", "wait <= is the sign to use here"),
        ("utilisation <= 0.5", "utilisation >= is the sign to use here"),
        ("p95 wait <= 60y", "'y' is not a unit of time"),
        ("mean queue <= 5s", "a queue has no unit 's'"),
        ("p95 wait <= -1s", "the limit is below 0"),
        ("p95 wait <= 1.2.3s", "'1.2.3' is not a number"),
        ("p95 wait <= 2h and 5 min", "'2h and 5 min' is not a number"),
        ("mean queue <= 2h 5m", "'2h 5m' is not a number"),
        ("utilisation >= 70", "no utilisation is above 1"),
    ],
)
def test_what_cannot_be_read(text: str, problem: str) -> None:
    with pytest.raises(InputError) as raised:
        parse_goal(text, slot_seconds=1.0)
    assert problem in str(raised.value)


def test_seconds_need_the_length_of_a_slot() -> None:
    with pytest.raises(InputError, match="the length of a slot is unknown"):
        parse_goal("p95 wait <= 60s", slot_seconds=None)
    assert parse_goal("p95 wait <= 60", slot_seconds=None).limit == 60


def test_jobs_and_doubles() -> None:
    workload = packenv.workload("paper/fig4b")
    with pytest.raises(InputError, match="make no jobs"):
        check_goals([parse_goal("makespan <= 5", None)], workload)
    with pytest.raises(InputError, match="two goals for the mean queue"):
        check_goals([parse_goal("mean queue <= 5", None), parse_goal("mean queue <= 6", None)], workload)


def test_measures_of_a_run() -> None:
    """Four tasks of half a server, at once, for 2 slots: two wait for 2 slots, and all has ended in slot 4."""
    jobs = replace(Jobs.of([0] * 4, [0.5] * 4, [2] * 4), job=Jobs.of([0], [1], [1]).arrival.repeat(4))
    result = simulate(Workload(jobs=jobs, servers=1), "fifo-ff", drain=True)

    def value(text: str) -> float | None:
        return parse_goal(text, None).value(result)

    assert (value("mean wait <= 9"), value("p50 wait <= 9"), value("p95 wait <= 9")) == (1, 0, 2)
    assert value("max wait <= 9") == 2
    assert (value("max queue <= 9"), value("makespan <= 9"), value("max completion <= 9")) == (2, 4, 4)
    assert parse_goal("p95 wait <= 2", None).met(2) and not parse_goal("p95 wait <= 2", None).met(2.5)
    assert not parse_goal("p95 wait <= 2", None).met(None)


def test_quantiles_of_many_waits() -> None:
    """4,000 tasks of a whole server in slot 0, for a slot each: task k waits for k slots; bins above 2,048 are two wide."""
    jobs = Jobs.of([0] * 4000, [1] * 4000, [1] * 4000)
    result = simulate(Workload(jobs=jobs, servers=1), "fifo-ff", drain=True)
    exact = {"p12.5": 499, "p90": 3599, "p99.9": 3995}
    for statistic, wait in exact.items():
        value = parse_goal(f"{statistic} wait <= 9", None).value(result)
        assert value is not None and abs(value - wait) <= 1
    assert parse_goal("max wait <= 9", None).value(result) == 3999


def test_fewest_tasks_of_a_quantile() -> None:
    """Of fewer it is the largest of all."""
    assert [fewest_of(name) for name in ("p50", "p80", "p90", "p95", "p99.5", "p99.9", "max", "mean")] == [
        *(2, 5, 10, 20, 200, 1000, 1, 1)
    ]
