"""The user's own files: both forms, and one line that names file, row and column for whatever is wrong."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc_csv
import pyarrow.parquet as pq
import pytest

from packenv.cli.options.workload import WorkloadOptions, workload_from
from packenv.errors import InputError
from packenv.units import UNIT
from packenv.workloads.traces import Trace, is_trace, read_trace
from tests.workloads.traces.samples import CASES, text


def test_slots(tmp_path: Path) -> None:
    file = text(
        tmp_path / "a.csv",
        "arrival,size,service,job,value",
        "0,0.5,3,4,1.5",
        "",
        "2.0,0.25,1,4,1.5",
        "2,1e-9,7,9007199254740993,-1",
    )
    trace = read_trace(file)
    assert trace.table is not None
    jobs, dropped, t0 = trace.jobs()
    assert (dropped, t0) == ({}, 0)
    assert jobs.arrival.tolist() == [0, 2, 2]
    assert jobs.demand.tolist() == [[UNIT // 2], [UNIT // 4], [1]]
    assert jobs.service.tolist() == [3, 1, 7]
    assert jobs.job is not None
    assert jobs.job.tolist() == [4, 4, 9007199254740993]
    assert jobs.value is not None
    assert jobs.value.tolist() == [1.5, 1.5, -1.0]
    assert trace.jobs(speedup="1.5").jobs.arrival.tolist() == [0, 1, 1]


def test_several_sizes(tmp_path: Path) -> None:
    lines = ["size_10,size_2,service,arrival,size", "0,0.25,1,0,0.75", "0.5,0.25,1,0,0"]
    trace = read_trace(text(tmp_path / "a.csv", *lines))
    assert trace.table is not None
    assert trace.resources == ("size", "size_2", "size_10")
    assert trace.jobs(sizes="all").jobs.demand.tolist() == [[3 * UNIT // 4, UNIT // 4, 0], [0, UNIT // 4, UNIT // 2]]
    assert trace.jobs().jobs.demand.tolist() == [[3 * UNIT // 4], [UNIT // 2]]


def test_named_resources_in_slots(tmp_path: Path) -> None:
    file = text(tmp_path / "a.csv", "arrival,cpu,gpu,service,host", "0,0.5,0,1,n1")
    with pytest.raises(InputError, match=r"row 1, column host: 'n1' is not a number"):
        read_trace(file)
    trace = read_trace(file, ("gpu", "cpu"))
    assert trace.table is not None
    assert trace.table.demand.tolist() == [[0, UNIT // 2]]


def test_seconds_are_sorted_stably_and_losses_counted(tmp_path: Path) -> None:
    file = text(
        tmp_path / "a.csv",
        "submit_time_s,duration_s,cpu,mem,job",
        "10.25,0.31,0.5,0.25,1",
        "10,0.1,0.25,,2",
        "10.25,0.1,0.125,0.25,3",
        "9,,0.5,0.5,4",
        "9.5,0,0.5,0.5,5",
        "9.6,1,,0,6",
    )
    trace = read_trace(file)
    assert isinstance(trace, Trace)
    jobs, dropped, t0 = trace.jobs(slot_seconds="0.1", sizes="all")
    assert t0 == 10_000_000
    assert jobs.arrival.tolist() == [0, 2, 2]
    assert jobs.job is not None
    assert jobs.job.tolist() == [2, 1, 3]
    assert jobs.service.tolist() == [1, 4, 1]
    assert jobs.demand.tolist() == [[UNIT // 4, 0], [UNIT // 2, UNIT // 4], [UNIT // 8, UNIT // 4]]
    assert {reason: count for reason, count in dropped.items() if count} == {
        "duration missing or <= 0": 2,
        "all demands missing or 0": 1,
    }


def test_utf16(tmp_path: Path) -> None:
    for file in (CASES / "tasks-utf16.csv", tmp_path / "a.csv.gz", tmp_path / "b.csv"):
        if file.suffix == ".gz":
            file.write_bytes(gzip.compress((CASES / "tasks-utf16.csv").read_bytes()))
        elif not file.exists():
            file.write_bytes(b"\xfe\xff" + (CASES / "tasks-utf16.csv").read_text(encoding="utf-16").encode("utf-16-be"))
        jobs = read_trace(file).jobs(slot_seconds=1).jobs
        assert (jobs.arrival.tolist(), jobs.service.tolist()) == ([0, 5], [10, 10])
    (tmp_path / "cut.csv").write_bytes((CASES / "tasks-utf16.csv").read_bytes()[:-1])
    with pytest.raises(InputError, match=r"cut.csv: cannot be read"):
        read_trace(tmp_path / "cut.csv")


def test_parts_of_a_gpu_are_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole = ["arrival,service,gpu", "0,1,0.5", "0,1,0.125"]
    for rows, shares in ((whole, False), ([*whole, "0,1,0.3"], True)):
        trace = read_trace(text(tmp_path / "a.csv", *rows))
        assert trace.table is not None and trace.device_shares == shares
    pods = str(CASES / "gpu-shares-pods.csv")
    workload_from(WorkloadOptions(pods, servers=str(CASES / "gpu-shares-nodes.csv"), resources="all", devices=False))
    assert "gpu-shares-pods.csv: tasks need parts of a GPU, and a node's GPUs count as one amount" in capsys.readouterr().err
    assert not read_trace(pods, ("cpu", "memory")).device_shares


GOOD = {
    "slots": ["arrival,size,service", "0,0.5,1", "4,0.5,1"],
    "seconds": ["submit_time_s,duration_s,cpu", "0,1,0.5", "1,1,0.5"],
}

BAD = [
    ("slots", "x,0.5,1", "row 3, column arrival: 'x' is not a number"),
    ("slots", ",0.5,1", "row 3, column arrival: is empty"),
    ("slots", "nan,0.5,1", "row 3, column arrival: nan is not a finite number"),
    ("slots", "-1,0.5,1", "row 3, column arrival: -1 is negative"),
    ("slots", "4.5,0.5,1", "row 3, column arrival: 4.5 is not a whole number"),
    ("slots", "3,0.5,1", "row 3, column arrival: 3 is before the row above"),
    ("slots", "1e16,0.5,1", "row 3, column arrival: 1e16 is not a whole number"),
    ("slots", "9007199254740993,0.5,1", "row 3, column arrival: 9007199254740993 is too large"),
    ("slots", "5,half,1", "row 3, column size: 'half' is not a number, nor an amount such as 500m, 8Gi or 8GB"),
    ("slots", "5,,1", "row 3, column size: is empty"),
    ("slots", "5,NaN,1", "row 3, column size: NaN is not a finite number"),
    ("slots", "5,inf,1", "row 3, column size: inf is not a finite number"),
    ("slots", "5,-0.1,1", "row 3, column size: -0.1 is negative"),
    ("slots", "5,0,1", "row 3, column size: is 0"),
    ("slots", "5,1e300,1", "row 3, column size: 1e300 exceeds the largest capacity, 2^50"),
    ("slots", "5,0.5,0", "row 3, column service: 0 is below 1 slot"),
    ("slots", "5,0.5,1.5", "row 3, column service: 1.5 is not a whole number"),
    ("slots", "5,0.5", "row 3: 2 values for 3 columns: a line may be cut short, or a cell may hold a line break"),
    ("slots", "5,0.5,1,9", "row 3: 4 values for 3 columns: a cell may hold the separator ','"),
    ("seconds", ",1,0.5", "row 3, column submit_time_s: is empty"),
    ("seconds", "-2,1,0.5", "row 3, column submit_time_s: -2 is negative"),
    ("seconds", "1e12,1,0.5", "row 3, column submit_time_s: 1e12 is too large for a time in s; as one in ms: `time_unit` ms"),
    ("seconds", "2,-2,0.5", "row 3, column duration_s: -2 is negative"),
    ("seconds", "2,nan,0.5", "row 3, column duration_s: nan is not a finite number"),
    ("seconds", "2,long,0.5", "row 3, column duration_s: 'long' is not a number, nor a duration such as 00:15:04 or PT15M"),
    ("seconds", "2,1,nan", "row 3, column cpu: nan is not a finite number"),
    ("seconds", "2,1,-0.5", "row 3, column cpu: -0.5 is negative"),
]


@pytest.mark.parametrize(("form", "line", "problem"), BAD, ids=[f"{form}: {line}" for form, line, _ in BAD])
@pytest.mark.parametrize("ending", [".csv", ".csv.gz"])
def test_a_bad_row_is_named(tmp_path: Path, form: str, line: str, problem: str, ending: str) -> None:
    file = tmp_path / f"trace{ending}"
    content = "\n".join([*GOOD[form], line]).encode()
    file.write_bytes(gzip.compress(content) if ending.endswith("gz") else content)
    with pytest.raises(InputError) as error:
        read_trace(file).jobs()
    assert str(error.value) == f"{file}: {problem}"


@pytest.mark.parametrize(
    ("header", "problem"),
    [
        ("arrival,size", "column service is missing; needs arrival, size, service"),
        ("size,service", "column arrival is missing; needs arrival"),
        ("submit_time_s,cpu", "column duration_s is missing; needs"),
        ("arrival,service", "column size is missing; needs"),
        (
            "a,b",
            "columns a, b; needs arrival, size, service (in slots), or submit_time_s, duration_s (or start_time_s, "
            "end_time_s) and a column per resource (in seconds), or under other names with `columns` "
            "submit_time_s=NAME,duration_s=NAME",
        ),
        ("arrival,service,size,sixe", "column sixe is not known; known: arrival, service, job, phase, value"),
        ("arrival,service,size,size", "column size occurs more than once"),
    ],
)
def test_missing_columns(tmp_path: Path, header: str, problem: str) -> None:
    file = text(tmp_path / "a.csv", header, ",".join("1" for _ in header.split(",")))
    with pytest.raises(InputError) as error:
        read_trace(file)
    assert str(error.value).startswith(f"{file}: {problem}")


@pytest.mark.parametrize(
    ("header", "columns"),
    [
        ("Job,Submitted,Run Time,Cores", "'submit_time_s=Submitted,duration_s=Run Time,cpu=Cores'"),
        ("user,arrived,run,TimeLimit", "submit_time_s=arrived,duration_s=run,estimate_s=TimeLimit,tenant=user"),
        ("Job,Started,End,Cores", "start_time_s=Started,end_time_s=End,cpu=Cores"),
        ("Job,Submitted,Started,End", "submit_time_s=Submitted,start_time_s=Started,end_time_s=End"),
        ("arrived_ms,run_ms,cpu,ram", "submit_time_s=arrived_ms,duration_s=run_ms,cpu=cpu,memory=ram `time_unit` ms"),
        ("arrived_ms,run_s,cpu,memory", "submit_time_s=arrived_ms,duration_s=run_s"),
        ("submit_time_s,runtime,cores,cpu_max", "duration_s=runtime"),
    ],
)
def test_names_of_others_are_recognised(tmp_path: Path, header: str, columns: str) -> None:
    """In the line that says what to write, not in silence."""
    with pytest.raises(InputError) as error:
        read_trace(text(tmp_path / "a.csv", header, "1,2,3,4"))
    assert str(error.value).endswith(f"with `columns` {columns}")


def test_further_columns_are_named_if_they_can_be_read(tmp_path: Path) -> None:
    file = text(tmp_path / "a.csv", "user,arrived,run,time_limit", "ann,2,3,UNLIMITED", "bob,3,3,1-00:00:00")
    with pytest.raises(InputError) as error:
        read_trace(file)
    assert str(error.value).endswith("with `columns` submit_time_s=arrived,duration_s=run,tenant=user")


@pytest.mark.parametrize(
    ("given", "columns"),
    [
        ({"submit_time_s": "Created"}, "'submit_time_s=Created,duration_s=Run Time,cpu=Cores'"),
        ({"duration_s": "Length", "cpu": "RAM"}, "submit_time_s=Submitted,duration_s=Length,cpu=RAM"),
    ],
)
def test_columns_that_are_given_stay(tmp_path: Path, given: dict[str, str], columns: str) -> None:
    names = "Submitted,Run Time,Length,Cores,RAM" if "cpu" in given else "Created,Run Time,Cores"
    file = text(tmp_path / "a.csv", names)
    with pytest.raises(InputError) as error:
        read_trace(file, None, given)
    assert str(error.value).endswith(f"with `columns` {columns}")


def test_texts_and_priorities_are_no_resources(tmp_path: Path) -> None:
    file = text(tmp_path / "a.csv", "submit_time_s,duration_s,Dept,cores,queue,prio,JobName,gib", "1,2,a,4,b,5,c,8Gi")
    with pytest.raises(InputError, match=r"'queue' is not a resource: .*\(`resources` cores,gib\)"):
        read_trace(file)


@pytest.mark.parametrize(
    ("column", "value", "problem"),
    [
        ("job", "-1", "-1 is negative"),
        ("tenant", "1.5", "1.5 is not a whole number"),
        ("value", "", "is empty"),
        ("estimate", "0", "0 is not above 0"),
        ("remote_overhead", "-3", "-3 is negative"),
    ],
)
def test_optional_columns_are_checked(tmp_path: Path, column: str, value: str, problem: str) -> None:
    file = text(tmp_path / "a.csv", f"arrival,size,service,{column}", "0,0.5,1,1", f"0,0.5,1,{value}")
    with pytest.raises(InputError) as error:
        read_trace(file)
    assert str(error.value) == f"{file}: row 2, column {column}: {problem}"


def test_lengths_of_time_have_the_unit_of_their_table(tmp_path: Path) -> None:
    """Requests and overheads in seconds are converted with the durations; in another unit than the table's they are refused."""
    header = "submit_time_s,duration_s,cpu,home"
    file = text(tmp_path / "a.csv", f"{header},estimate_s,remote_overhead_s", "0,10,1,0,60,6.05")
    jobs = read_trace(file).jobs(slot_seconds="0.1").jobs
    assert jobs.estimate is not None and jobs.remote_overhead is not None
    assert (jobs.service.tolist(), jobs.estimate.tolist(), jobs.remote_overhead.tolist()) == ([100], [600], [61])
    for name, form, cells, units in (
        ("estimate", header, "0,10,1,0,60", ("slots", "seconds")),
        ("remote_overhead", header, "0,10,1,0,60", ("slots", "seconds")),
        ("estimate_s", "arrival,service,cpu", "0,10,1,60", ("seconds", "slots")),
    ):
        text(file, f"{form},{name}", cells)
        right = name.removesuffix("_s") if name.endswith("_s") else f"{name}_s"
        problem = f"column {name}: {name} counts {units[0]}, and this table has its times in {units[1]}: rename it {right}, or "
        with pytest.raises(InputError) as error:
            read_trace(file)
        assert str(error.value) == f"{file}: {problem}`columns` {right}={name}"


def test_a_job_has_one_tenant(tmp_path: Path) -> None:
    file = text(tmp_path / "a.csv", "submit_time_s,duration_s,cpu,job,tenant", "0,10,1,z,x", "1,10,1,alpha,x", "2,10,1,alpha,y")
    with pytest.raises(InputError) as error:
        read_trace(file)
    assert str(error.value) == f"{file}: row 3, column tenant: y; job alpha has x in row 2, and a job has one tenant"


def test_one_bad_row_in_a_million(tmp_path: Path) -> None:
    n = 1_000_000
    size = np.full(n, 0.5)
    table = pa.table({"arrival": np.arange(n), "size": size, "service": np.ones(n, np.int64)})
    pc_csv.write_csv(table, tmp_path / "good.csv")
    lines = (tmp_path / "good.csv").read_bytes().split(b"\n")
    lines[765_432] = b"765431,0.5x,1"
    (tmp_path / "bad.csv").write_bytes(b"\n".join(lines))
    with pytest.raises(InputError, match=r"bad.csv: row 765432, column size: '0.5x' is not a number"):
        read_trace(tmp_path / "bad.csv")
    size[765_431] = np.nan
    pq.write_table(table.set_column(1, "size", pa.array(size)), tmp_path / "bad.parquet")
    with pytest.raises(InputError, match=r"bad.parquet: row 765432, column size: nan is not a finite number"):
        read_trace(tmp_path / "bad.parquet")


def test_parquet_types(tmp_path: Path) -> None:
    file = tmp_path / "a.parquet"
    good = {"arrival": pa.array([0, 1], pa.int32()), "size": pa.array([0.1, 0.2], pa.float32()), "service": pa.array([1.0, 2.0])}
    pq.write_table(pa.table(good), file)
    assert read_trace(file).jobs().jobs.demand.tolist() == [[314572], [629145]]
    pq.write_table(pa.table({**good, "size": pa.array(["0.5", "big"])}), file)
    with pytest.raises(InputError, match=r"a.parquet: row 2, column size: 'big' is not a number"):
        read_trace(file)
    pq.write_table(pa.table({**good, "size": pa.array([True, False])}), file)
    with pytest.raises(InputError, match=r"a.parquet: column size holds bool, not numbers"):
        read_trace(file)
    pq.write_table(pa.table({**good, "service": pa.array([[1], [2]])}), file)
    with pytest.raises(InputError, match=r"a.parquet: column service holds list<.*>, not numbers"):
        read_trace(file)


def test_damaged_and_empty_files(tmp_path: Path) -> None:
    whole = gzip.compress("\n".join(["arrival,size,service", *(f"{i},0.5,{i % 97 + 1}" for i in range(20_000))]).encode())
    flipped = bytearray(whole)
    flipped[len(whole) // 2] ^= 0x55
    pq.write_table(pa.table({"arrival": [0], "size": [0.5], "service": [1]}), tmp_path / "whole.parquet")
    parquet = (tmp_path / "whole.parquet").read_bytes()
    for name, content, problem in [
        ("cut.csv.gz", whole[: len(whole) // 2], "cannot be read, it is damaged"),
        ("tail.csv.gz", whole[:-6], "cannot be read, it is damaged"),
        ("flipped.csv.gz", bytes(flipped), "cannot be read, it is damaged"),
        ("cut.parquet", parquet[:-40], "cannot be read, it is damaged"),
        ("text.parquet", b"arrival,size,service\n0,0.5,1\n", "cannot be read, it is damaged"),
        ("empty.parquet", b"", "cannot be read, it is damaged"),
        ("empty.csv", b"", "the file is empty"),
        ("empty.csv.gz", gzip.compress(b""), "the file is empty"),
        ("header.csv", b"arrival,size,service\n", "the file is empty"),
        ("latin.csv", "arrival,size,service\n0,0.5,1\n\xe9,0.5,1\n".encode("latin-1"), "cannot be read"),
    ]:
        file = tmp_path / name
        file.write_bytes(content)
        with pytest.raises(InputError) as error:
            read_trace(file)
        assert str(error.value).startswith(f"{file}: {problem}"), str(error.value)
        assert "\n" not in str(error.value)
    with pytest.raises(InputError, match=r"none.csv: no such file"):
        read_trace(tmp_path / "none.csv")
    other = text(tmp_path / "trace.txt", "arrival,size,service")
    with pytest.raises(InputError, match="not a trace by its name"):
        read_trace(other)
    assert not is_trace(other)
    assert not is_trace(tmp_path / "none.csv")
    assert is_trace(tmp_path / "empty.csv")


def test_how_tasks_ended_is_not_guessed(tmp_path: Path) -> None:
    """Neither form of a user's table says it, so that `finished_only` would change nothing; False asks for nothing."""
    for name, lines in (("s.csv", ("submit_time_s,duration_s,cpu", "0,5,1")), ("a.csv", ("arrival,size,service", "0,0.5,3"))):
        trace = read_trace(text(tmp_path / name, *lines))
        assert len(trace.only_finished(False).jobs(slot_seconds=1).jobs) == 1
        with pytest.raises(InputError, match=rf"`finished_only` does not go with \S*{name}, which has no outcomes"):
            trace.only_finished()


def test_a_column_that_is_named_in_vain(tmp_path: Path) -> None:
    file = text(tmp_path / "s.csv", "submit_time_s,duration_s,cpu,State", "0,5,1,OK")
    with pytest.raises(InputError, match=r"'state' is neither a known column nor one of `resources` cpu; known: arrival"):
        read_trace(file, ("cpu",), {"state": "State"})


def test_a_decimal_comma_before_a_unit(tmp_path: Path) -> None:
    file = text(tmp_path / "s.csv", "submit_time_s;duration_s;memory", "0;5;1,5 GB", "1;2,5 h;4 GB")
    trace = read_trace(file)
    assert isinstance(trace, Trace)
    assert trace.demand[:, 0].tolist() == [1.5e9, 4e9] and trace.duration.tolist() == [5_000_000, 9_000_000_000]
    with pytest.raises(InputError, match="'1,500 MB' may have thousands or decimals behind the comma"):
        read_trace(text(tmp_path / "t.csv", "submit_time_s;duration_s;memory", "0;5;1,500 MB"))
