"""Measures of whole jobs, on schedules worked by hand."""

from __future__ import annotations

import numpy as np
import pytest

from packenv import UNIT, Jobs
from packenv.results.fairness import unfairness
from packenv.results.job_times import cut, efficiency, eligible_slots, job_times, progress
from packenv.results.occupancy import most_allocated, occupancy
from packenv.results.schedule_table import Schedule

# One server. Job 7: half of it for 4 slots, and behind a barrier for 2. Job 3: all of it for 2.
TABLE = Jobs.of(
    [0, 0, 0], [0.5, 0.5, 1.0], [4, 2, 2], job=np.array([7, 7, 3]), phase=np.array([0, 1, 0]), value=np.array([3.0, 3, 1])
)
CAPACITY = np.array([[UNIT]])


def schedule(*start: int) -> Schedule:
    first = np.array(start)
    return Schedule(first, np.where(first < 0, -1, 0).astype(np.int32), np.where(first < 0, -1, first + TABLE.service))


IN_TURN = schedule(0, 4, 6)


def test_completion_times() -> None:
    times = job_times(TABLE, IN_TURN, until=8)
    assert times.completion.tolist() == [6, 8] and times.makespan == 8 and times.mean == 7
    assert [times.quantile(share) for share in (0.5, 0.51, 1)] == [6, 8, 8]
    other = job_times(TABLE, schedule(2, 6, 0), until=8)  # job 3 first: it takes 2 slots, job 7 takes 8
    assert times.slowed(other) == 0.5 and other.slowed(times) == 0.5
    assert times.slowed(other, by=3) == 0 and times.slowed(times) == 0


def test_a_job_that_has_not_ended() -> None:
    for early in (job_times(TABLE, IN_TURN, until=7), job_times(TABLE, schedule(0, 4, -1), until=8)):
        assert early.end.tolist() == [6, -1] and early.makespan is None and early.mean == 6


def test_efficiency_and_progress() -> None:
    slots, share = efficiency(TABLE, job_times(TABLE, IN_TURN, until=8))
    assert slots.tolist() == [6, 8] and share.tolist() == [0.75, 1]
    done = progress(TABLE, IN_TURN, np.array([3, 5, 7]))
    assert done == pytest.approx(np.array([[3 / 6, 0], [5 / 6, 0], [1, 0.5]]))


def test_eligible_behind_a_barrier() -> None:
    assert eligible_slots(TABLE, IN_TURN).tolist() == [0, 4, 0]
    assert eligible_slots(TABLE, schedule(-1, -1, 0)).tolist() == [0, -1, 0]


def test_occupancy() -> None:
    found = occupancy(TABLE, IN_TURN, CAPACITY)
    assert found.slot.tolist() == [0, 4, 6, 8]
    assert found.used[:, 0].tolist() == [0.5, 0.5, 1] and found.waiting.tolist() == [1, 1, 0]
    assert found.utilisation.tolist() == [0.625]
    assert found.fragmentation == 0.5  # half is free for as long as job 3 waits


def test_over_allocation() -> None:
    assert most_allocated(TABLE, IN_TURN, CAPACITY).tolist() == [1]
    assert most_allocated(TABLE, schedule(0, 4, 3), CAPACITY).tolist() == [1.5]


def test_unfairness() -> None:
    assert unfairness(TABLE, IN_TURN, CAPACITY) == 1  # job 3 waits for six slots with nothing
    # Two jobs of tasks of a quarter; for 2 slots the first has one in service and one waiting: half of its half is missing.
    quarters = Jobs.of([0, 0, 0], [0.25, 0.25, 0.5], [2, 2, 2], job=np.array([0, 0, 1]))
    starts = Schedule(np.array([0, 2, 0]), np.zeros(3, np.int32), np.array([2, 4, 2]))
    assert unfairness(quarters, starts, CAPACITY) == pytest.approx(0.5)


def test_what_had_happened_by_a_slot() -> None:
    """Job 3 waits throughout; afterwards nobody is in service any more, and that does not count."""
    seen = cut(schedule(0, 4, -1), until=5)
    assert seen.end.tolist() == [4, 5, -1]
    found = occupancy(TABLE, seen, CAPACITY)
    assert found.slot.tolist() == [0, 4, 5] and found.waiting.tolist() == [1, 1] and found.fragmentation == 0.5


def test_unfairness_of_owners_that_come_and_go() -> None:
    """Three jobs, one of them in two waves: added up slot by slot, from scratch."""
    jobs = Jobs.of([0, 0, 1, 1, 5, 9], [0.3, 0.4, 0.5, 0.3, 0.2, 0.6], [3, 4, 2, 5, 3, 2], job=np.array([0, 1, 1, 2, 0, 0]))
    start = np.array([0, 0, 4, 3, 8, 11])
    plan = Schedule(start, np.zeros(6, np.int32), start + jobs.service)
    missing, time = 0.0, 0
    for slot in range(13):
        waits = (jobs.arrival <= slot) & (slot < start)
        serves = (start <= slot) & (slot < plan.end)
        assert jobs.job is not None
        owners = set(jobs.job[waits | serves].tolist())
        for owner in set(jobs.job[waits].tolist()):
            held = jobs.demand[serves & (jobs.job == owner), 0].sum() / UNIT
            missing, time = missing + max(1 - len(owners) * held, 0), time + 1
    assert time == 10
    assert unfairness(jobs, plan, CAPACITY) == pytest.approx(missing / time)
