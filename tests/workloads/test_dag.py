"""The workload `dag`: whole stages wait for whole stages, and the statistics are those of its laws."""

from __future__ import annotations

import numpy as np

import packenv
from packenv.workloads.named.dag import Dags, all_tasks_of, dag, stage_numbers, stage_parents
from packenv.workloads.precedence import longest_paths, precedence_edges, ready_slots


def test_a_table_is_a_function_of_the_seed() -> None:
    one, same, other = (packenv.workload("dag").at(seed).jobs for seed in (3, 3, 4))
    assert one is not None and same is not None and other is not None and one.predecessors is not None
    assert np.array_equal(one.demand, same.demand) and np.array_equal(one.arrival, same.arrival)
    assert np.array_equal(one.predecessors.values, same.predecessors.values)
    assert len(one) != len(other)


def test_predecessors_are_whole_stages_of_the_same_job() -> None:
    jobs = Dags(40, 5, 0.9, 20)(1)
    assert jobs.predecessors is not None and jobs.job is not None
    lists = [jobs.predecessors.row(i) for i in range(len(jobs))]
    first = next(row for row, waits in enumerate(lists) if len(waits) > 20)
    assert [jobs.job[row] for row in lists[first]] == [jobs.job[first]] * len(lists[first])
    for waits in lists:
        for row in waits:  # a task beside it in its stage has the same job, list, demand and estimate, and is waited for too
            for beside in (row - 1, row + 1):
                alike = jobs.job[row] == jobs.job[beside] and np.array_equal(lists[row], lists[beside])
                if (
                    alike
                    and jobs.estimate[row] == jobs.estimate[beside]
                    and np.array_equal(jobs.demand[row], jobs.demand[beside])
                ):
                    assert beside in waits


def test_all_tasks_of_the_parents_by_hand() -> None:
    """Job 0: stages of 2, 1 and 2 tasks, the last waits for both others; job 1: one stage."""
    lists = all_tasks_of([[[], [], [0, 1]], [[]]], np.array([2, 1, 2, 1]))
    assert lists.offsets.tolist() == [0, 0, 0, 0, 3, 6, 6]
    assert lists.values.tolist() == [0, 1, 2, 0, 1, 2]


def test_the_last_stage_joins_all() -> None:
    random = np.random.Generator(np.random.Philox(0))
    for stages in range(1, 30):
        parents = stage_parents(random, stages)
        waited_for = {one for waits in parents for one in waits}
        assert waited_for == set(range(stages - 1)) and parents[0] == []
        assert all(one < stage for stage, waits in enumerate(parents) for one in waits)


def test_stages_of_a_job() -> None:
    numbers = stage_numbers(np.random.Generator(np.random.Philox(1)), 100_000)
    shares = np.bincount(numbers, minlength=5)[1:4] / len(numbers)
    assert np.allclose(shares, [0.222, 0.221, 0.194], atol=0.005)
    assert abs(numbers[numbers > 3].mean() - 8) < 0.1 and numbers.max() <= 60


def test_load_and_arrivals() -> None:
    jobs = Dags(300, 7, 0.8, 50)(2)
    work = (jobs.demand / packenv.UNIT * jobs.service[:, None]).sum(axis=0).max()
    assert abs(work / (7 * jobs.arrival[-1]) - 0.8) < 1e-3


def test_edges_are_few() -> None:
    """Stages of a and b tasks cost a + b pairs, and say the same as the a · b lists."""
    jobs = dag(jobs=100).at(0).jobs
    assert jobs is not None and jobs.predecessors is not None
    before, after, nodes = precedence_edges(jobs)
    assert len(before) < 3 * len(jobs) < len(jobs.predecessors.values)
    end = np.cumsum(np.arange(len(jobs)) % 7) + 1
    ready = ready_slots(jobs.arrival, end, before, after, nodes)
    lists = [jobs.predecessors.row(i) for i in range(len(jobs))]
    assert ready.tolist() == [max([int(a), *end[waits].tolist()]) for a, waits in zip(jobs.arrival, lists, strict=True)]
    paths = np.zeros(len(jobs), np.int64)
    for row in reversed(range(len(jobs))):
        paths[row] += jobs.service[row]
        np.maximum.at(paths, lists[row], paths[row])
    assert longest_paths(jobs, jobs.service).tolist() == paths.tolist()
