"""Delays by classes of sizes, worked by hand."""

from __future__ import annotations

import numpy as np
import pytest

import packenv
from packenv import Jobs
from packenv.errors import InputError
from packenv.results.schedule_table import Schedule
from packenv.runs.delay_classes import DelayClass, delay_by_size


def ran(start: list[int]) -> Schedule:
    starts = np.array(start, np.int64)
    return Schedule(starts, np.where(starts < 0, -1, 0).astype(np.int32), np.where(starts < 0, -1, starts + 1))


def test_a_class_for_each_of_few_sizes() -> None:
    jobs = Jobs.of([0, 0, 1, 2, 5], [0.5, 1, 0.5, 1, 0.25], [1] * 5)
    size = jobs.demand[:, 0]
    small, half, whole = np.unique(size).tolist()
    found = delay_by_size(jobs, ran([0, 4, 3, 9, -1]), size)
    nothing = (0, None, None, None, None, None)
    assert found == (
        DelayClass(small, *nothing),
        DelayClass(half, 2, None, 1.0, 2.0, 2.0, 2),
        DelayClass(whole, 2, None, 5.5, 7.0, 7.0, 7),
    )
    assert delay_by_size(jobs, ran([0, 4, 3, 9, -1]), size, warmup=2)[1:] == (
        DelayClass(half, *nothing),
        DelayClass(whole, 1, None, 7.0, 7.0, 7.0, 7),
    )


def test_quartiles_of_many_sizes() -> None:
    """Sizes 1 to 8 eighths that wait 1 to 8 slots: two in each quartile."""
    jobs = Jobs.of([0] * 8, [k / 8 for k in range(1, 9)], [1] * 8)
    found = delay_by_size(jobs, ran(list(range(1, 9))), jobs.demand[:, 0])
    delays = [(each.tasks, each.mean_delay, each.max_delay) for each in found]
    assert delays == [(2, 1.5, 2), (2, 3.5, 4), (2, 5.5, 6), (2, 7.5, 8)]


def test_the_largest_of_a_thousand_lies_above_the_quantile() -> None:
    jobs = Jobs.of([0] * 1000, [1] * 1000, [1] * 1000)
    (only,) = delay_by_size(jobs, ran(list(range(1000))), jobs.demand[:, 0])
    assert (only.delay_p999, only.max_delay) == (998.0, 999)


def test_agrees_with_the_result_of_the_run() -> None:
    workload = packenv.workload("paper/fig4b", intensity=0.8).tabulated(0, 20_000)
    jobs = workload.jobs
    result = packenv.simulate(workload, "bf-js", drain=True, schedule=True)
    assert jobs is not None and result.schedule is not None and result.mean_delay is not None
    found = delay_by_size(jobs, result.schedule, jobs.demand[:, 0])
    assert sum(each.tasks * (each.mean_delay or 0) for each in found) / len(jobs) == pytest.approx(result.mean_delay)


def test_a_schedule_of_another_table() -> None:
    jobs = Jobs.of([0, 0], [1, 1], [1, 1])
    with pytest.raises(InputError, match="a schedule of 3 rows and 2 sizes do not go with 2 tasks"):
        delay_by_size(jobs, ran([0, 1, 2]), jobs.demand[:, 0])
