"""The Standard Workload Format, worked by hand."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from packenv.cli.options.workload import WorkloadOptions, workload_from, workload_told
from packenv.errors import InputError
from packenv.units import UNIT
from packenv.workloads.traces import Trace, is_trace, read_trace
from tests.workloads.traces.samples import CASES, SWF, text


def read(path: Path, resources: tuple[str, ...] | None = None) -> Trace:
    trace = read_trace(path, resources)
    assert isinstance(trace, Trace)
    return trace


@pytest.mark.parametrize("name", ["a.swf", "a.swf.gz", "log.txt"])
def test_jobs(tmp_path: Path, name: str) -> None:
    content = "\n".join(SWF).encode()
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    assert is_trace(tmp_path / name)
    trace = read(tmp_path / name)
    assert (len(trace), trace.resources) == (8, ("cpu",))
    jobs, dropped, t0 = trace.jobs(slot_seconds=10)
    assert t0 == 0
    assert jobs.arrival.tolist() == [0, 1, 2]
    assert jobs.service.tolist() == [10, 5, 7]
    assert jobs.demand.tolist() == [[UNIT // 2], [UNIT // 8], [UNIT // 4]]
    assert jobs.tenant is not None and jobs.tenant.tolist() == [3, 4, 0]
    assert jobs.estimate is not None and jobs.estimate.tolist() == [360, 6, 720]  # the last from MaxRuntime
    assert dropped == {
        "part of a job that has a line of its own": 1,
        "in the initial snapshot": 0,
        "not finished": 2,
        "duration missing or <= 0": 1,
        "all demands missing or 0": 1,
    }
    assert trace.about == "capacity 1: 64 processors; preceding jobs, named 1 times, are not followed"
    assert len(trace.jobs(only_finished=False).jobs) == 5


def test_memory_per_processor_or_job(tmp_path: Path) -> None:
    both = read(text(tmp_path / "a.swf", *SWF), ("memory", "cpu"))
    assert both.demand[:3].tolist() == [[0.5, 0.5], [0.0625, 0.125], [1.0, 0.25]]  # 32, 4 and 64 MB in all
    assert "0.0625 GiB memory, the largest job's, read as KB per processor" in both.about
    amounts = [f"{n} {n} 0 9 {n} 1 1024 {n} 99 {n * 8 * 2**30} 1 7 1 1 -1 1 1 1 {{12,13}} q_1d 1:ppn=4" for n in (4, 2, 1)]
    in_bytes = read(text(tmp_path / "b.swf", *amounts), ("cpu", "memory"))
    assert in_bytes.demand.tolist() == [[0.25, 0.25], [0.5, 0.5], [1.0, 1.0]]
    assert "4 processors, 32 GiB memory, the largest job's, read as bytes per job" in in_bytes.about


def test_unknown_columns_are_left_out(tmp_path: Path) -> None:
    lines = ["; MaxNodes: 8", "; MaxProcs: -1", "; MaxRuntime: -1", "1 5 -1 9 2 -1 -1 -1 -1 -1 1 -1 -1 -1 -1 -1 -1 -1"]
    trace = read(text(tmp_path / "a.swf", *lines))
    jobs = trace.jobs().jobs
    assert (jobs.estimate, jobs.tenant) == (None, None)
    assert jobs.demand.tolist() == [[UNIT // 4]]
    with pytest.raises(InputError, match="no resource memory; known: cpu"):
        read(tmp_path / "a.swf", ("memory",))


GOOD = "1 0 5 100 32 -1 -1 32 3600 1024 1 3 1 -1 1 -1 -1 -1"


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("1 0 5 100 32 -1 -1 32 3600 1024 1 3 1 -1 1 -1 -1", "line 4: 17 numbers, not 18"),
        (GOOD.replace("100", "long"), "line 4: run time 'long' is not a number"),
        (GOOD.replace("100", "nan"), "line 4: run time 'nan' is not a number"),
        (GOOD.replace("1 0 5", "1 -3 5"), "line 4: submit time -3 is negative"),
        (GOOD.replace("3600", "1e12"), "line 4: requested time 1e12 is too large"),
        (GOOD.replace("100", "1e12"), "line 4: run time 1e12 is too large"),
    ],
)
@pytest.mark.parametrize("name", ["a.swf", "a.swf.gz"])
def test_a_bad_line_is_named(tmp_path: Path, line: str, problem: str, name: str) -> None:
    content = "\n".join(["; Version: 2.2", GOOD, "", line, GOOD]).encode()
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    with pytest.raises(InputError) as error:
        read_trace(tmp_path / name)
    assert str(error.value) == f"{tmp_path / name}: {problem}"


def test_jobs_that_fit_no_server_are_left_out_and_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = CASES / "odd.swf"
    options = WorkloadOptions(str(file), servers="1", slot_seconds="1")
    workload, dropped = workload_from(options)
    assert workload.jobs is not None
    assert (workload.jobs.arrival.tolist(), workload.jobs.service.tolist()) == ([30, 60], [101, 50])
    assert {reason: count for reason, count in dropped.items() if count} == {
        "not finished": 2,
        "duration missing or <= 0": 1,
        "all demands missing or 0": 1,
        "tasks that fit no server": 1,
    }
    workload_told(options)
    assert "odd.swf: dropped rows: 2 not finished, " in capsys.readouterr().err
    with pytest.raises(InputError, match=r"fits in no server; the largest has 0"):
        workload_from(WorkloadOptions(str(file), servers="1x0.01", slot_seconds="1"))
    # the order through such a task stays
    rows = ["0,9,0.5,a,", "0,9,1.5,b,a", "0,9,0.5,c,b"]
    table = text(tmp_path / "a.csv", "arrival,service,cpu,id,predecessors", *rows)
    jobs = workload_from(WorkloadOptions(str(table), servers="1"))[0].jobs
    assert jobs is not None and jobs.predecessors is not None and jobs.predecessors.row(1).tolist() == [0]


def test_damaged_and_empty_files(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"a.swf: the file is empty"):
        read_trace(text(tmp_path / "a.swf", "; Version: 2.2"))
    whole = gzip.compress("\n".join(f"{n} {GOOD[2:]}" for n in range(9_999)).encode())
    flipped = bytearray(whole)
    flipped[len(whole) // 2] ^= 0x55
    for content in (whole[:-9], bytes(flipped)):
        (tmp_path / "b.swf.gz").write_bytes(content)
        with pytest.raises(InputError, match=r"b.swf.gz: (cannot be read, it is damaged|line \d+: )"):
            read_trace(tmp_path / "b.swf.gz")
