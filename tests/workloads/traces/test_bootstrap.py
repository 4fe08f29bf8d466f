"""The block bootstrap of a trace."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from packenv.errors import InputError
from packenv.workloads.fitting.statistics import dispersion
from packenv.workloads.traces.bootstrap import block_bootstrap
from packenv.workloads.traces.times import SECOND
from packenv.workloads.traces.trace import Trace


def bursty(n: int = 2000) -> Trace:
    """Bursts of fifty tasks of one size; every tenth task did not finish."""
    random = np.random.default_rng(1)
    submit = np.cumsum(np.where(np.arange(n) % 50 == 0, random.integers(10**6, 10**8, n), random.integers(0, 10**4, n)))
    size = random.choice([0.1, 0.2, 0.4], n // 50).repeat(50)
    return Trace(
        submit=submit,
        schedule=submit + 7,
        end=submit + 7 + random.integers(1, 10**8, n),
        demand=np.stack([size, size / 2], axis=1),
        resources=("cpu", "memory"),
        finished=np.arange(n) % 10 != 9,
        in_snapshot=np.zeros(n, np.bool_),
        job=np.arange(n) // 50,
        others={"tag": np.arange(n, dtype=np.float64)},
        source="bursty",
    )


def test_number_span_and_order() -> None:
    made = block_bootstrap(bursty(), 12_345, 600.0, seed=4, block=100)
    assert len(made) == 12_345
    assert (made.submit[0], made.submit[-1]) == (0, 600 * SECOND)
    assert (np.diff(made.submit) >= 0).all()
    assert made.kept()[0].all()
    jobs = made.jobs(slot_seconds="0.1").jobs
    assert len(jobs) == 12_345 and jobs.arrival[-1] == 6000


def test_a_function_of_the_seed() -> None:
    trace = bursty()
    a, b, c = (block_bootstrap(trace, 3000, 60.0, seed, block=100) for seed in (4, 4, 5))
    for key in ("submit", "end", "demand", "job"):
        assert (getattr(a, key) == getattr(b, key)).all()
    assert (a.others["tag"] != c.others["tag"]).any()
    longer = block_bootstrap(trace, 6000, 60.0, 4, block=100)
    assert (longer.others["tag"][:3000] == a.others["tag"]).all()  # block b depends on seed and b only


def test_blocks_are_stretches_of_the_trace() -> None:
    trace = bursty()
    kept = np.flatnonzero(trace.kept()[0])
    made = block_bootstrap(trace, 1000, 60.0, seed=0, block=100)
    place = np.searchsorted(kept, made.others["tag"].astype(np.int64))
    assert (kept[place] == made.others["tag"]).all()  # only tasks that are kept
    steps = (np.diff(place) % len(kept)).reshape(-1)
    assert (np.delete(steps, np.arange(99, 999, 100)) == 1).all()
    assert len(set(place[::100].tolist())) > 5
    assert (made.duration == trace.duration[kept[place]]).all()
    gaps, recorded = np.diff(made.submit)[:99], np.diff(trace.submit[kept])[(place[:99]) % (len(kept) - 1)]
    inside = place[:99] < len(kept) - 1
    factor = gaps[inside].sum() / recorded[inside].sum()
    assert np.abs(gaps[inside] - factor * recorded[inside]).max() <= 2  # µs


def test_distributions_are_the_traces() -> None:
    trace = bursty()
    kept = trace.kept()[0]
    made = block_bootstrap(trace, 400_000, 3600.0, seed=2, block=100)
    for size in (0.1, 0.2, 0.4):
        assert (made.demand[:, 0] == size).mean() == pytest.approx((trace.demand[kept, 0] == size).mean(), abs=0.02)
    assert made.duration.mean() == pytest.approx(trace.duration[kept].mean(), rel=0.02)
    assert set(np.unique(made.demand)) == set(np.unique(trace.demand))


def test_bursts_stay() -> None:
    trace = bursty()
    spread = float(trace.submit[-1] - trace.submit[0]) / SECOND
    made = block_bootstrap(trace, int(trace.kept()[0].sum()) * 20, 20 * spread, seed=2, block=200)
    before = dispersion(trace.submit[trace.kept()[0]] / SECOND, 10)
    after = dispersion(made.submit / SECOND, 10)
    assert before is not None and after is not None and after == pytest.approx(before, rel=0.2)


def test_neighbours_stay_alike() -> None:
    """A burst's tasks have one size: as neighbours they still do, unless they are drawn one by one."""
    blocks, single = (block_bootstrap(bursty(), 20_000, 60.0, seed=2, block=block).demand[:, 0] for block in (200, 1))
    assert (blocks[1:] == blocks[:-1]).mean() > 0.95
    assert (single[1:] == single[:-1]).mean() < 0.6


def test_jobs_of_different_blocks_differ() -> None:
    made = block_bootstrap(bursty(), 4000, 60.0, seed=0, block=90)
    assert made.job is not None
    for job in np.unique(made.job):
        rows = np.flatnonzero(made.job == job)
        assert len({int(row) // 90 for row in rows}) == 1


def test_bad_input() -> None:
    trace = bursty()
    for changes in ({"tasks": 1}, {"seconds": 0.0}, {"block": 0}, {"seed": -1}):
        with pytest.raises(InputError, match="bootstrap: cannot make"):
            block_bootstrap(trace, **{"tasks": 10, "seconds": 1.0, "seed": 0, **changes})  # type: ignore[arg-type]
    nothing = replace(trace, end=trace.schedule)  # no task has a duration
    at_once = replace(trace, submit=np.zeros(len(trace), np.int64))
    for few in (nothing, at_once):
        with pytest.raises(InputError, match="bursty: too few tasks"):
            block_bootstrap(few, 10, 1.0, 0)
