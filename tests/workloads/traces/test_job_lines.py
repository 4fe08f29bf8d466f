"""Jobs a line each with the durations of their tasks, worked by hand."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from packenv.cli.options.workload import WorkloadOptions, workload_from
from packenv.errors import InputError
from packenv.units import UNIT
from packenv.workloads.traces import Trace, is_trace, read_trace
from tests.workloads.traces.samples import JOB_LINES, text


def as_lines(folder: Path, lines: list[str], name: str = "jobs.tr") -> Path:
    content = "\n".join(lines).encode()
    (folder / name).write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    return folder / name


def as_parquet(folder: Path, lines: list[str], kind: pa.DataType | None = None) -> Path:
    """The same jobs; numbers in single precision as in the file at hand."""
    jobs = [[float(word) for word in line.split()] for line in lines if line]
    columns = {
        "submit_time_s": [job[0] for job in jobs],
        "num_tasks": [int(job[1]) for job in jobs],
        "mean_task_duration_s": pa.array([job[2] for job in jobs], pa.float32()),
        "task_duration_s": pa.array([job[3:] for job in jobs], kind or pa.large_list(pa.float32())),
    }
    pq.write_table(pa.table(columns), folder / "jobs.parquet")
    return folder / "jobs.parquet"


@pytest.mark.parametrize("name", ["jobs.tr", "jobs.tr.gz", "jobs.parquet"])
def test_jobs(tmp_path: Path, name: str) -> None:
    file = as_parquet(tmp_path, JOB_LINES) if name.endswith("parquet") else as_lines(tmp_path, JOB_LINES, name)
    assert is_trace(file)
    trace = read_trace(file)
    assert isinstance(trace, Trace)
    assert (len(trace), trace.resources) == (8, ("slot",))
    jobs, dropped, t0 = trace.jobs()  # slots of 0.5 ms
    assert t0 == 500_000
    assert jobs.arrival.tolist() == [0, 0, 0, 1500, 1500, 7000, 7000]
    assert jobs.service.tolist() == [2000, 4000, 6000, 1, 12_000, 60_000, 62_000]
    assert jobs.job is not None and jobs.job.tolist() == [0, 0, 0, 1, 2, 3, 3]
    assert jobs.estimate is not None and jobs.estimate.tolist() == [4000, 4000, 4000, 1, 14_000, 61_000, 61_000]
    assert jobs.demand.tolist() == [[UNIT]] * 7
    assert {reason: count for reason, count in dropped.items() if count} == {"duration missing or <= 0": 1}
    assert trace.jobs(slot_seconds=1).jobs.service.tolist() == [1, 2, 3, 1, 6, 30, 31]


def test_as_a_workload(tmp_path: Path) -> None:
    file = as_lines(tmp_path, JOB_LINES)
    for given, expected in ((None, 0.0005), ("0.25", 0.25)):
        found, dropped = workload_from(WorkloadOptions(str(file), servers="4x2", slot_seconds=given))
        assert (found.slot_seconds, len(found.servers), dropped["duration missing or <= 0"]) == (expected, 4, 1)
    with pytest.raises(InputError, match=r"no resource cpu; known: slot"):
        read_trace(file, ("cpu",))
    with pytest.raises(InputError, match=r"nowhere.tr: no such file"):
        workload_from(WorkloadOptions("nowhere.tr", servers="4"))


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("5 2 1 0.5 x1", "duration 2 'x1' is not a number"),
        ("five 2 1 0.5 1.5", "arrival 'five' is not a number"),
        ("5 2 1 0.5 nan", "duration 2 nan is not a finite number"),
        ("5 2 inf 0.5 1.5", "mean inf is not a finite number"),
        ("-5 2 1 0.5 1.5", "arrival -5 is negative"),
        ("5 2 1 0.5 -1.5", "duration 2 -1.5 is negative"),
        ("5 2 1 0.5 1e12", "duration 2 1e+12 is too large"),
        ("5 3 1 0.5 1.5", "2 durations for n_tasks 3"),
        ("5 2 0.5 1.5", "1 durations for n_tasks 2"),  # the mean is missing
        ("5 1.5 1 0.5", "1 durations for n_tasks 1.5"),
        ("5 0 1", "3 numbers; a job has arrival, n_tasks, mean and a duration for each task"),
        ("5", "1 numbers; a job has arrival, n_tasks, mean and a duration for each task"),
        ("5 2 0 0.5 1.5", "mean 0 is not above 0"),
    ],
)
@pytest.mark.parametrize("name", ["jobs.tr", "jobs.tr.gz"])
def test_a_bad_line_is_named(tmp_path: Path, line: str, problem: str, name: str) -> None:
    file = as_lines(tmp_path, [*JOB_LINES, line, "9 1 1 1"], name)
    with pytest.raises(InputError) as error:
        read_trace(file)
    assert str(error.value) == f"{file}: line 6: {problem}"


def test_damaged_and_empty_files(tmp_path: Path) -> None:
    for lines in ([], ["", "  "]):
        with pytest.raises(InputError, match=r"jobs.tr: the file is empty"):
            read_trace(as_lines(tmp_path, lines))
    whole = gzip.compress("\n".join(f"{n} 1 {n + 1} {n + 1}" for n in range(9_999)).encode())
    for name, content in (("a.tr.gz", whole[:-9]), ("c.tr", b"5 1 1 \xff")):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(InputError, match=rf"{name}: cannot be read, it is damaged"):
            read_trace(tmp_path / name)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("5 2 1 0.5 -1.5", "column task_duration_s: a duration is missing, negative or too large"),
        ("5 2 1 0.5 nan", "column task_duration_s: a duration is missing, negative or too large"),
        ("5 3 1 0.5 1.5", "column num_tasks: 3 is not the number of durations, or 0"),
        ("5 0 1", "column num_tasks: 0 is not the number of durations, or 0"),
        ("-5 1 1 1", "column submit_time_s: -5.0 is negative"),
        ("5 1 0 1", "column mean_task_duration_s: 0.0 is not above 0"),
    ],
)
def test_a_bad_row_is_named(tmp_path: Path, line: str, problem: str) -> None:
    file = as_parquet(tmp_path, [*JOB_LINES, line, "9 1 1 1"])
    with pytest.raises(InputError) as error:
        read_trace(file)
    assert str(error.value) == f"{file}: row 5, {problem}"


@pytest.mark.parametrize("kind", [pa.list_(pa.string()), pa.string()])
def test_durations_of_another_type(tmp_path: Path, kind: pa.DataType) -> None:
    lists: Any = [["1"]] if pa.types.is_list(kind) else ["1"]
    columns = {"submit_time_s": [0.0], "num_tasks": [1], "mean_task_duration_s": [1.0], "task_duration_s": pa.array(lists, kind)}
    pq.write_table(pa.table(columns), tmp_path / "jobs.parquet")
    with pytest.raises(InputError, match=r"column task_duration_s holds .*string.*, not lists of seconds"):
        read_trace(tmp_path / "jobs.parquet")


def test_an_empty_table(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"jobs.parquet: the file is empty"):
        read_trace(as_parquet(tmp_path, []))


def test_the_name_says_the_form(tmp_path: Path) -> None:
    other = text(tmp_path / "log.txt", *JOB_LINES)
    with pytest.raises(InputError, match=r"log.txt: not a trace by its name \(.*\.tr, \.tr\.gz"):
        read_trace(other)
