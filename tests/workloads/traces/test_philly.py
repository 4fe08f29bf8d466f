"""Microsoft's Philly jobs, worked by hand on a small log of the same form."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from packenv.errors import InputError
from packenv.units import UNIT
from packenv.workloads.traces import Trace, is_trace, read_trace


def job(submitted: str, *attempts: Any, status: str = "Pass", vc: str = "a") -> dict[str, Any]:
    return {
        "status": status,
        "vc": vc,
        "jobid": "application_1",
        "attempts": [*attempts],
        "submitted_time": submitted,
        "user": "u",
    }


def attempt(start: Any, end: Any, *gpus: int) -> dict[str, Any]:
    return {"start_time": start, "end_time": end, "detail": [{"ip": "m1", "gpus": [f"gpu{n}" for n in range(k)]} for k in gpus]}


LOG = [
    job(
        "2017-10-07 01:11:39",
        attempt("2017-10-07 01:12:09", "2017-10-07 01:13:23", 8),
        attempt("2017-10-07 02:00:00", "2017-10-07 02:01:40", 8, 2),
    ),
    job("2017-10-07 01:10:00", attempt("2017-10-07 01:10:30", "2017-10-07 01:11:00", 1), vc="b"),  # the first, if not in the file
    job("2017-10-07 01:20:00", attempt("2017-10-07 01:20:00", "2017-10-07 01:30:00", 4), status="Killed"),
    job("2017-10-07 01:20:00", attempt("2017-10-07 01:20:00", None, 4)),  # runs at the end of the trace
    job("2017-10-07 01:20:00", attempt(None, "2017-10-07 01:30:00", 4)),  # a fault of the log
    job("2017-10-07 01:20:00", attempt("2017-10-07 01:19:00", "2017-10-07 01:30:00", 4)),  # before it was submitted
    job("2017-10-07 01:20:00"),  # no attempt
    job("2017-10-07 01:20:00", attempt("2017-10-07 01:20:00", "2017-10-07 01:30:00")),  # no GPU
]


def log(path: Path, jobs: Any = LOG) -> Path:
    path.write_text(json.dumps(jobs, indent=4))
    return path


@pytest.mark.parametrize("name", ["cluster_job_log", "cluster_job_log.json"])
def test_jobs(tmp_path: Path, name: str) -> None:
    file = log(tmp_path / name)
    assert is_trace(file)
    trace = read_trace(file)
    assert isinstance(trace, Trace)
    assert trace.resources == ("gpu",) and "1 attempts before the last one" in trace.about
    jobs, dropped, t0 = trace.jobs(slot_seconds=10)
    assert t0 == 0
    assert jobs.arrival.tolist() == [0, 9, 9]
    assert jobs.service.tolist() == [3, 10, 10]
    assert jobs.demand[:, 0].tolist() == [UNIT // 8, UNIT, UNIT // 4]
    assert jobs.job is not None and jobs.job.tolist() == [0, 1, 1]
    assert jobs.tenant is not None and jobs.tenant.tolist() == [0, 1, 1]
    assert dropped == {
        "never started": 3,
        "no GPU recorded": 1,
        "in the initial snapshot": 0,
        "not finished": 2,
        "duration missing or <= 0": 0,
        "all demands missing or 0": 0,
    }
    assert len(trace.jobs(10, only_finished=False).jobs) == 4
    assert trace.where(1) == f"{file}: row 1"


@pytest.mark.parametrize(
    ("jobs", "problem"),
    [
        ([], "a list of jobs is expected, with at least one"),
        ({"jobs": LOG}, "a list of jobs is expected, with at least one"),
        ([*LOG, 7], "job 9: is no object with submitted_time, status and attempts"),
        ([{"jobid": "a"}], "job 1, submitted_time: is missing"),
        ([job("7 Oct 2017")], "job 1, submitted_time: '7 Oct 2017' is not a time such as 2017-10-07 01:12:09"),
        ([job("2017-10-07 01:60:00")], "job 1, submitted_time: '2017-10-07 01:60:00' is not a time such as 2017-10-07 01:12:09"),
        ([job("2017-10-07 01:10:00", status="Gone")], "job 1, status: 'Gone' is none of Pass, Killed, Failed"),
        ([job("2017-10-07 01:10:00", 5)], "job 1, attempts: a list of objects is expected"),
        ([job("2017-10-07 01:10:00", {"detail": [{"ip": "m1"}]})], "job 1, detail: a server has a list of gpus"),
        ([job("2017-10-07 01:10:00", {"end_time": 5})], "job 1, end_time: '5' is not a time such as 2017-10-07 01:12:09"),
    ],
)
def test_bad_logs(tmp_path: Path, jobs: Any, problem: str) -> None:
    from packenv.workloads.traces.formats.philly import read_job_log

    file = log(tmp_path / "cluster_job_log", jobs)
    with pytest.raises(InputError) as error:
        read_job_log(file)
    assert str(error.value) == f"{file}: {problem}"


def test_damaged_and_other_json(tmp_path: Path) -> None:
    file = log(tmp_path / "cluster_job_log")
    file.write_bytes(file.read_bytes()[:-40])
    with pytest.raises(InputError, match="cluster_job_log: not JSON"):
        read_trace(file)
    assert not is_trace(log(tmp_path / "other", [{"a": 1}]))
