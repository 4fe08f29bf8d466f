"""Microsoft's Philly jobs, worked by hand on a small log of the same form."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from packenv.cli.main import main
from packenv.errors import InputError
from packenv.units import UNIT
from packenv.workloads.servers import parse_servers
from packenv.workloads.traces import Trace, initial_capacities, is_trace, read_trace
from packenv.workloads.traces.machines import NO_GPU, TWICE, UNKNOWN_GPUS, read_machine_list


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
    jobs, dropped, t0 = trace.only_finished().jobs(slot_seconds=10)
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
    assert trace.jobs(10).jobs.arrival.tolist() == [0, 9, 9, 60]  # the last one was killed, but ran
    assert trace.where(1) == f"{file}: row 1"


@pytest.mark.parametrize(
    ("jobs", "problem"),
    [
        ([], "a list of jobs is expected, with at least one"),
        ({"jobs": LOG}, "a list of jobs is expected, with at least one"),
        ([*LOG, 7], "job 9: is not an object with submitted_time, status and attempts"),
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


HEAD = "machineId,number of GPUs,single GPU mem\n"
MACHINES = HEAD + "m0,8,24GB\nm1, 2, 12GB\nm2,0,0GB\nm3,,24GB\nm1,8,24GB\nm4,8,24GB\n\n"


def test_machines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Three of six lines are machines with GPUs. They are the servers of the log beside them, and of --servers."""
    jobs, list_ = log(tmp_path / "cluster_job_log"), tmp_path / "cluster_machine_list"
    list_.write_text(MACHINES)
    capacity, names, left_out = read_machine_list(list_)
    assert capacity.tolist() == [[1.0], [0.25], [1.0]] and names == ("m0", "m1", "m4")
    assert left_out == {NO_GPU: 1, UNKNOWN_GPUS: 1, TWICE: 1}
    assert parse_servers(str(list_)).capacity.tolist() == initial_capacities(list_).tolist() == capacity.tolist()
    out = tmp_path / "out.json"
    stream = ["--sizes", "uniform:0.1:0.2", "--slots", "100", "--servers", str(list_)]
    for words in ([str(jobs)], [str(jobs), "--servers", str(list_)], stream):
        main(["evaluate", "-p", "fifo-ff", "--slot-seconds", "10", "--json", str(out), *words])
        assert json.loads(out.read_text())[0]["servers"] == 3
        said = " ".join(capsys.readouterr().out.split())
        assert "1 machine without a GPU, 1 machine with an unknown number of GPUs, 1 machine listed before" in said
    main(["evaluate", str(jobs), "-p", "fifo-ff", "--slot-seconds", "10", "--json", str(out), "--servers", "5"])
    assert json.loads(out.read_text())[0]["servers"] == 5 and "machines" not in capsys.readouterr().out
    with pytest.raises(InputError, match="machines, not tasks: they go with --servers"):
        read_trace(list_)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("m5,8", "line 2: 3 columns are expected, not 2"),
        ("m5,eight,24GB", "line 2, number of GPUs: 'eight' is not a whole number"),
        ("m5,-8,24GB", "line 2, number of GPUs: '-8' is not a whole number"),
        (",8,24GB", "line 2, machineId: is empty"),
        ("m5,0,24GB", "no machine with a known number of GPUs"),
    ],
)
def test_machines_that_are_none(tmp_path: Path, line: str, problem: str) -> None:
    list_ = tmp_path / "machines"
    list_.write_text(HEAD + line + "\n")
    with pytest.raises(InputError, match=problem):
        read_machine_list(list_)


def test_another_list_is_not_taken(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    jobs = log(tmp_path / "cluster_job_log")
    (tmp_path / "cluster_machine_list").write_text("machineId,GPUs\nm0,8\n")
    with pytest.raises(SystemExit):
        main(["evaluate", str(jobs), "-p", "fifo-ff", "--slot-seconds", "10"])
    assert "a trace needs --servers" in capsys.readouterr().err
