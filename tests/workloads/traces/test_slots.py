"""From microseconds to slots, worked by hand (PAPERS §1.1)."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from packenv.errors import InputError
from packenv.inputs.numbers import exact
from packenv.units import UNIT
from packenv.workloads.traces import Trace
from packenv.workloads.traces.times import floor_divide


def trace(submit: list[int], duration: list[int], demand: list[list[float]], **columns: object) -> Trace:
    start = np.array(submit)
    settings = {
        "finished": np.ones(len(submit), bool),
        "in_snapshot": np.zeros(len(submit), bool),
        "resources": tuple("abc"[: len(demand[0])]),
        "schedule": start + 50_000,  # waiting before the start does not count
        "end": start + 50_000 + np.array(duration),
        "source": "hand-made",
    }
    return Trace(submit=start, demand=np.array(demand), **{**settings, **columns})  # type: ignore[arg-type]


def test_slot_edges() -> None:
    made = trace([1_000_000, 1_099_999, 1_100_000, 1_100_001], [1, 100_000, 100_001, 299_999], [[0.5]] * 4)
    jobs, dropped, t0 = made.jobs()
    assert t0 == 1_000_000
    assert jobs.arrival.tolist() == [0, 0, 1, 1]
    assert jobs.service.tolist() == [1, 1, 2, 3]
    assert not any(dropped.values())


def test_speedup_moves_arrivals_only_and_is_exact() -> None:
    # 1.3 · 0.1 s = 130,000 µs; in floating point 390000 / (1.3 · 1e5) is 2.9999999999999996
    made = trace([0, 129_999, 130_000, 389_999, 390_000], [1_000_000] * 5, [[0.5]] * 5)
    for beta in ("1.3", 1.3, Fraction(13, 10)):
        jobs = made.jobs(speedup=beta).jobs
        assert jobs.arrival.tolist() == [0, 0, 1, 2, 3]
        assert jobs.service.tolist() == [10] * 5


def test_slots_that_are_no_whole_number_of_microseconds() -> None:
    made = trace([0, 1, 2, 3, 4], [1, 2, 3, 4, 5], [[0.5]] * 5)
    jobs = made.jobs(slot_seconds="0.0000015").jobs  # 1.5 µs
    assert jobs.arrival.tolist() == [0, 0, 1, 2, 2]
    assert jobs.service.tolist() == [1, 2, 2, 3, 4]


def test_sizes_one_or_all() -> None:
    made = trace([0, 0, 0], [1, 1, 1], [[0.25, 0.5], [0.75, np.nan], [0.0, 1e-9]], job=np.array([4, 4, 2]))
    jobs = made.jobs().jobs
    assert jobs.demand.tolist() == [[UNIT // 2], [3 * UNIT // 4], [1]]
    assert jobs.job is not None
    assert jobs.job.tolist() == [4, 4, 2]
    both = made.jobs(sizes="all").jobs
    assert both.demand.tolist() == [[UNIT // 4, UNIT // 2], [3 * UNIT // 4, 0], [0, 1]]


def test_every_reason_is_counted_once() -> None:
    made = trace(
        [0, 1, 2, 3, 4, 5],
        [1, 1, 0, -5, 1, 1],
        [[0.5], [0.5], [0.5], [0.5], [0.0], [np.nan]],
        finished=np.array([False, False, True, True, True, True]),
        in_snapshot=np.array([True, False, False, False, False, False]),
    )
    kept, dropped = made.only_finished().kept()
    assert not kept.any()
    assert dropped == {
        "in the initial snapshot": 1,
        "not finished": 1,
        "duration missing or <= 0": 2,
        "all demands missing or 0": 2,
    }
    with pytest.raises(InputError, match=r"hand-made: no task is left \(1 in the initial snapshot, 1 not finished, 2 duration"):
        made.only_finished().jobs()
    jobs, dropped, t0 = made.jobs()
    assert (len(jobs), t0, dropped["not finished"]) == (1, 1, 0)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"slot_seconds": "0"}, "slot_seconds must be above 0, not 0"),
        ({"slot_seconds": "abc"}, "slot_seconds 'abc' is not a decimal number"),
        ({"speedup": -1}, "speedup must be above 0, not -1"),
        ({"speedup": "nan"}, "speedup 'nan' is not a decimal number"),
        ({"speedup": "inf"}, "speedup 'inf' is not a decimal number"),
        ({"sizes": "min"}, "sizes must be max or all, not 'min'"),
    ],
)
def test_bad_options(options: dict[str, object], problem: str) -> None:
    with pytest.raises(InputError) as error:
        trace([0], [1], [[0.5]]).jobs(**options)  # type: ignore[arg-type]
    assert str(error.value) == problem


def test_demand_over_every_capacity() -> None:
    jobs, dropped, _ = trace([0, 1], [1, 2], [[2.0**51], [2.0**50]]).jobs()
    assert len(jobs) == 1 and dropped["a demand above the largest capacity of a server, 2^50"] == 1
    assert jobs.amounts.tolist() == [[2.0**50]]


def test_integer_division_beyond_64_bits() -> None:
    many_decimals = exact("0.1000000000000001", "h") * 1_000_000
    numbers = np.array([0, 100_000, 100_001, 2_500_000_000_000], np.int64)
    assert floor_divide(numbers, many_decimals).tolist() == [0, 0, 1, 24_999_999]
    assert floor_divide(-numbers, many_decimals).tolist() == [0, -1, -2, -25_000_000]
    with pytest.raises(InputError, match="too many slots away"):
        floor_divide(numbers, Fraction(1, 10**12))
