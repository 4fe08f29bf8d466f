"""The real Google window, where PACKENV_TRACES says it is; and the workload that ships as google2011-like."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import numpy as np
import pytest

import packenv.workloads
from packenv.jobs import Jobs
from packenv.units import to_units
from packenv.workloads.fitting.profile import describe, expected_load, goodness
from packenv.workloads.traces import Trace, initial_capacities, read_trace, write_jobs
from packenv.workloads.workload import Workload

LIKE = Path(packenv.workloads.__file__).parent / "named" / "google2011_like.json"
FOLDER = Path(os.environ.get("PACKENV_TRACES", ""))
real = pytest.mark.skipif("PACKENV_TRACES" not in os.environ, reason="PACKENV_TRACES is not set: the real traces are not here")


@pytest.fixture(scope="module")
def window() -> Trace:
    trace = read_trace(FOLDER / "google2011_tasks.parquet")
    assert isinstance(trace, Trace)
    return trace


@pytest.fixture(scope="module")
def native() -> Trace:
    trace = read_trace(FOLDER / "raw" / "google2011")
    assert isinstance(trace, Trace)
    return trace


@pytest.fixture(scope="module")
def like() -> Workload:
    return Workload.from_dict(json.loads(LIKE.read_text())["workload"])


@real
def test_counts(window: Trace) -> None:
    assert len(window) == 208_329
    assert window.in_snapshot.sum() == 144_339
    assert (~window.in_snapshot).sum() == 63_990
    jobs, dropped, t0 = window.jobs()
    assert (len(jobs), t0) == (50_230, 604_046_280)
    assert dropped == {
        "repeated rows": 0,
        "in the initial snapshot": 144_339,
        "not finished": 13_738,
        "duration missing or <= 0": 22,
        "all demands missing or 0": 0,
    }


@real
def test_native_events_fold_to_the_parquet_file(window: Trace, native: Trace) -> None:
    for name in ("submit", "schedule", "end", "demand", "finished", "in_snapshot", "job"):
        assert np.array_equal(getattr(window, name), getattr(native, name), equal_nan=name == "demand"), name
    for name, column in window.others.items():
        assert np.array_equal(column, native.others[name]), name


@real
@pytest.mark.parametrize("options", [{}, {"sizes": "all"}, {"speedup": "1.6"}, {"slot_seconds": "1.7"}])
def test_native_jobs_are_the_parquet_file_s(window: Trace, native: Trace, options: dict[str, object]) -> None:
    pair = [trace.only_finished("speedup" not in options) for trace in (window, native)]
    ours, theirs = (trace.jobs(**options) for trace in pair)  # type: ignore[arg-type]
    assert ours.t0 == theirs.t0
    assert same(ours.jobs, theirs.jobs)


@real
def test_facts(window: Trace) -> None:
    found = describe(window)
    submitted, kept = found["submitted_tasks"], found["kept_tasks"]
    assert submitted["tasks_per_s"] == pytest.approx(6.39, abs=0.005)
    assert submitted["jobs"] == 1_972
    assert submitted["interarrival_cv"] == pytest.approx(10.7, abs=0.05)
    assert submitted["size"]["mean"] == pytest.approx(0.0355, abs=5e-5)
    assert [submitted["tasks_per_job"][p] for p in ("p50", "p90", "p99")] == pytest.approx([1, 20, 1_050], rel=0.02)
    assert found["distinct"]["submitted"]["size"] == 164
    assert found["distinct"]["rows"]["size"] == 545
    quantiles = [kept["duration_s"][p] for p in ("p5", "p25", "p50", "p75", "p90", "p95", "p99")]
    assert quantiles == pytest.approx([115, 192, 363, 617, 1_629, 2_636, 4_768], abs=0.6)
    assert kept["offered_load"]["size"] == pytest.approx(131, abs=0.5)


@real
def test_machines() -> None:
    capacity = initial_capacities(FOLDER / "raw" / "google2011")
    assert np.array_equal(capacity, initial_capacities(FOLDER / "google2011_machine_events.parquet"))
    assert capacity.shape == (12_477, 2)
    kinds, count = np.unique(capacity.round(2), axis=0, return_counts=True)
    common = {tuple(kind): int(n) for kind, n in zip(kinds.tolist(), count, strict=True) if n > 700}
    assert common == {(0.5, 0.5): 6_672, (0.5, 0.25): 3_835, (0.5, 0.75): 992, (1.0, 1.0): 788}


@real
def test_google_with_disk(window: Trace) -> None:
    whole = read_trace(FOLDER / "google2011_tasks.parquet", "all")
    assert isinstance(whole, Trace) and whole.resources == ("cpu", "memory", "disk")
    assert np.array_equal(whole.demand[:, :2], window.demand, equal_nan=True)
    native = read_trace(FOLDER / "raw" / "google2011", "all")
    assert isinstance(native, Trace)
    assert np.array_equal(whole.demand, native.demand, equal_nan=True)


@real
def test_alibaba_2023() -> None:
    for pods, nodes in (
        ("alibaba2023_openb_pods.parquet", "alibaba2023_openb_nodes.parquet"),
        ("raw/openb_pod_list_default.csv", "raw/openb_node_list_all_node.csv"),
    ):
        trace = read_trace(FOLDER / pods)
        jobs, dropped, _ = trace.jobs(slot_seconds=1, sizes="all")
        assert (len(trace), len(jobs), jobs.resources) == (8_152, 7_255, 3)
        assert {reason: count for reason, count in dropped.items() if count} == {"never scheduled": 897}
        capacity = initial_capacities(FOLDER / nodes)
        assert capacity.shape == (1_523, 3)
        assert capacity.max(axis=0).tolist() == [1, 1, 1]
        assert jobs.service.max() == 12_537_496


@real
def test_alibaba_2025() -> None:
    trace = read_trace(FOLDER / "alibaba2025_dlrm_instances.parquet")
    assert isinstance(trace, Trace)
    assert len(trace) == 23_871
    assert ((trace.duration >= 0) & ~trace.in_snapshot).sum() == 12_390
    jobs, dropped, _ = trace.jobs(slot_seconds=1, sizes="all")
    assert (len(jobs), jobs.resources, len(np.unique(trace.demand, axis=0))) == (12_374, 5, 134)
    assert {reason: count for reason, count in dropped.items() if count} == {
        "in the initial snapshot": 7_280,
        "not finished": 4_201,
        "duration missing or <= 0": 16,
    }


@real
@pytest.mark.parametrize(
    ("name", "rows", "kept", "largest"),
    [("LLNL-Atlas-2006-2.1-cln_head.swf", 2_968, 2_451, 8_696 / 9_216), ("wagap-2013_head.swf", 400, 400, 1.0)],
)
def test_standard_workload_format(name: str, rows: int, kept: int, largest: float) -> None:
    trace = read_trace(FOLDER / "raw" / name)
    assert isinstance(trace, Trace)
    jobs, dropped, _ = trace.jobs(slot_seconds=1)
    assert (len(trace), len(jobs), sum(dropped.values())) == (rows, kept, rows - kept)
    assert jobs.demand.max() == int(to_units(largest))
    assert jobs.tenant is not None
    longest = trace.jobs(slot_seconds=1, estimates="longest")[0].estimate  # in place of a request that is not recorded
    assert jobs.estimate is not None and longest is not None
    assert longest.min() >= 60 and np.all((jobs.estimate == longest) | (jobs.estimate == jobs.service))


@real
def test_job_lines() -> None:
    """The sample of PAPERS §4, times divided by 60: 77 of 5,001 jobs are long, the work is that of some 60 workers."""
    trace = read_trace(FOLDER / "raw" / "google2011_hawk_jobs.tr")
    jobs, dropped, _ = trace.jobs()
    assert (len(jobs), sum(dropped.values())) == (10_291, 0)
    assert jobs.job is not None and jobs.estimate is not None
    first = np.unique(jobs.job, return_index=True)[1]
    assert len(first) == 5_001
    assert (jobs.estimate[first] * 0.0005 > 18.83).sum() == 77
    assert jobs.service.sum() / jobs.arrival[-1] == pytest.approx(59.67, abs=0.01)
    mean = np.bincount(jobs.job, jobs.service) / np.bincount(jobs.job)
    assert np.abs(jobs.estimate[first] - mean).max() <= 1  # slot, of rounding up
    table = read_trace(FOLDER / "google2011_hawk_jobs.parquet").jobs().jobs
    for name in ("arrival", "service", "job", "estimate"):
        assert np.array_equal(getattr(table, name), getattr(jobs, name)), name
    assert len(read_trace(FOLDER / "raw" / "eagle_YH10.tr").jobs().jobs) == 183


@real
def test_reading_is_fast() -> None:
    for name, limit in (("google2011_tasks.parquet", 1.0), ("raw/google2011", 3.0)):
        seconds = []
        for _ in range(3):
            begin = time.process_time()
            read_trace(FOLDER / name).jobs()
            seconds.append(time.process_time() - begin)
        assert min(seconds) < limit, name


@real
@pytest.mark.parametrize("name", ["window.parquet", "window.csv"])
def test_round_trip(window: Trace, tmp_path: Path, name: str) -> None:
    jobs = window.jobs(speedup="1.3", sizes="all").jobs
    write_jobs(jobs, tmp_path / name)
    assert same(read_trace(tmp_path / name).jobs(sizes="all").jobs, jobs)


@pytest.mark.slow
@real
def test_like_matches_the_window(window: Trace, like: Workload) -> None:
    for seed in (0, 1):
        match = goodness(like, window, seed=seed)
        assert max(match["ks"].values()) < 0.05
        for here, there in match["offered_load"].values():
            assert there == pytest.approx(here, rel=0.15)
        for seconds, bound in (("1", 0.1), ("10", 0.15), ("60", 0.15), ("600", 0.35)):
            here, there = match["dispersion"][seconds]
            assert there == pytest.approx(here, rel=bound)
        here, there = match["interarrival_cv"]
        assert there == pytest.approx(here, rel=0.2)
    offered = describe(window)["kept_tasks"]["offered_load"]
    assert expected_load(like) == pytest.approx(offered, rel=0.01)


def test_like_as_it_ships(like: Workload) -> None:
    whole = json.loads(LIKE.read_text())
    assert LIKE.stat().st_size < 60_000
    assert (like.name, like.slot_seconds, like.resources, len(like.servers)) == ("google2011-like", 0.1, ("cpu", "memory"), 160)
    assert like.rate == pytest.approx(0.5039, abs=1e-4)
    for name, load in expected_load(like).items():
        assert load == pytest.approx(whole["statistics"]["kept_tasks"]["offered_load"][name], rel=0.01)
        assert load == whole["match"]["expected_load"][name]
    assert len(whole["workload"]["sizes"]["vectors"]) <= 60


def same(a: Jobs, b: Jobs) -> bool:
    return all(np.array_equal(getattr(a, name), getattr(b, name)) for name in ("arrival", "demand", "service", "job"))
