"""Text tables as people have them: every reader is right or refuses in a line with the file; no task vanishes or comes twice."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import packenv
from packenv.errors import InputError
from packenv.inputs.text_files import standard_input
from packenv.jobs import Jobs
from packenv.workloads.servers import parse_servers
from packenv.workloads.traces import read_trace
from packenv.workloads.traces.trace import TWICE, Wanted
from packenv.workloads.workload import Workload
from tests.workloads.traces import samples
from tests.workloads.traces.samples import CASES, text

OF_BATSIM = {"submit_time_s": "submission_time", "duration_s": "execution_time", "cpu": "requested_number_of_resources"}
NANOSECONDS = {"time_unit": "ns", "servers": "1x4"}
READ: list[tuple[str, dict[str, Any], list[int], list[float], dict[str, int]]] = [
    # file, arguments, arrivals, amounts, what is left out
    ("sacct-name-quote.txt", {}, [0, 10, 20, 30], [4, 4, 4, 4], {}),
    ("tsv-name-quotes.tsv", {}, [0, 1, 2, 3], [1, 1, 1, 1], {}),
    ("sacct-exported-twice.txt", {}, [0, 10, 10], [4, 4, 4], {TWICE: 3}),
    ("sacct-requeue-duplicates.txt", {}, [0, 420], [8, 8], {}),
    ("sacct-array-pending.txt", {}, [0, 0], [4, 4], {"waiting": 98}),
    ("csv-german-thousands-mixed.csv", {"servers": "1x4096"}, [0, 1, 2], [1024, 512.5, 2048], {}),
    ("times-epoch-ns.csv", NANOSECONDS, [0, 1, 2], [1, 2, 3], {}),
    ("times-epoch-ns.parquet", NANOSECONDS, [0, 1, 2], [1, 2, 3], {}),
    ("batsim-out-jobs.csv", {"columns": OF_BATSIM, "resources": "cpu"}, [0, 1, 3], [2, 2, 4], {"duration missing or <= 0": 1}),
]
REFUSED = [
    ("csv-english-thousands-quoted.csv", "column memory: '1,024' may have thousands or decimals behind the comma"),
    ("sacct-name-pipe.txt", r"row 2: 9 values for 8 columns: a cell may hold the separator '|'"),
    ("sacct-submitline-newline.txt", "row 2: 1 values for 8 columns: a line may be cut short, or a cell may hold a line break"),
    ("sacct-default.txt", "sacct printed fixed widths, which cut fields short: print it again with --parsable2 (-P)"),
    ("sacct-two-headers.txt", "row 4: repeats the header: remove it"),
]


def setting(source: Any, **arguments: Any) -> tuple[Workload, Jobs]:
    usual: dict[str, Any] = {"servers": "1x8", "slot_seconds": 1}
    workload = packenv.workload(source, **usual | arguments)
    assert workload.jobs is not None
    return workload, workload.jobs


@pytest.mark.parametrize(("name", "arguments", "arrivals", "amounts", "left_out"), READ, ids=[row[0] for row in READ])
def test_what_is_read(
    name: str, arguments: dict[str, Any], arrivals: list[int], amounts: list[float], left_out: dict[str, int]
) -> None:
    workload, jobs = setting(str(CASES / name), **arguments)
    assert (jobs.arrival.tolist(), jobs.amounts[:, 0].tolist()) == (arrivals, amounts)
    assert {reason: count for reason, count in workload.left_out.items() if count} == left_out


@pytest.mark.parametrize(("name", "problem"), REFUSED, ids=[row[0] for row in REFUSED])
def test_what_is_refused(name: str, problem: str) -> None:
    with pytest.raises(InputError) as error:
        setting(str(CASES / name))
    assert f"{CASES / name}: {problem}" in str(error.value) and "\n" not in str(error.value)


def starts(workload: Workload, policy: str) -> list[int]:
    run = packenv.simulate(workload, policy, drain=True, schedule=True)
    assert run.schedule is not None
    return list(run.schedule.start.tolist())


def test_starts_on_servers_of_a_list() -> None:
    """Cores that Slurm keeps for the system run no job; the list's headings say which of its columns is which."""
    cores, _ = setting(str(CASES / "sacct-core-spec.txt"), servers=str(CASES / "scontrol-nodes-spec.txt"))
    assert starts(cores, "fifo-ff") == [0, 60]
    both, _ = setting(str(CASES / "tasks-60-cores.csv"), servers=str(CASES / "nodes-one-name-known.csv"), resources="cpu,memory")
    assert str(both.servers) == "1x64:128" and starts(both, "fifo-ff") == [0, 10]
    assert str(setting(str(CASES / "tasks.csv"), servers=str(CASES / "nodes-one-semicolon.csv"))[0].servers) == "1x32.5"


def test_components_of_a_job_start_together() -> None:
    workload, jobs = setting(str(CASES / "sacct-hetjob.txt"))
    assert starts(workload, "fifo-ff") == [0, 60, 60] and jobs.job is not None and jobs.job.tolist() == [0, 1, 1]
    assert starts(setting(str(CASES / "sacct-hetjob.txt"), gangs=False)[0], "fifo-ff") == [0, 10, 60]


def test_jobs_on_several_nodes_are_gangs_of_nodes() -> None:
    nodes = str(CASES / "sacct-large-jobs-nodes.txt")
    workload, jobs = setting(str(CASES / "sacct-large-jobs.txt"), servers=nodes)
    assert len(jobs) == 40 + 2 * 4 and jobs.gang is not None and workload.provenance.left_out_work == 0
    of_gangs = jobs.gang >= 0
    assert jobs.amounts[of_gangs, 0].tolist() == [64] * 8 and len(np.unique(np.asarray(jobs.job))) == 42
    assert any(
        note.startswith("2 jobs on several nodes: each is a gang of a task for each node") for note in workload.provenance.notes
    )
    one_by_one, table = setting(str(CASES / "sacct-large-jobs.txt"), servers=nodes, gangs=False)
    assert len(table) == 40 and one_by_one.left_out == {**one_by_one.left_out, "tasks that fit no server": 2}
    assert 0.95 < one_by_one.provenance.left_out_work < 1 and one_by_one.much_left_out
    assert one_by_one.label.startswith("sacct-large-jobs.txt without 4.76% of its tasks and 99.9% of its work, which fit nowhere")
    machine, table = setting(str(CASES / "sacct-large-jobs.txt"), servers="1x256")
    assert len(table) == 42 and any("2 jobs on several nodes: each is one task" in note for note in machine.provenance.notes)
    small, _ = setting(str(CASES / "sacct-partition-multinode.txt"), servers="1x64", partition="small")
    assert not any("several nodes" in note for note in small.provenance.notes)


def test_parts_of_a_job_are_whole_amounts(tmp_path: Path) -> None:
    day = "2026-03-02T10:00:0"
    lines = [f"1|{day}0|{day}1|00:01:00|3|cpu=100,mem=10G", f"2|{day}0|{day}1|00:01:00|1|cpu=4,mem=1G"]
    log = text(tmp_path / "jobs.txt", "JobID|Submit|Start|Elapsed|NNodes|AllocTRES", *lines)
    _, jobs = setting(str(log), servers="4x64:64", resources="cpu,memory")
    assert jobs.amounts.tolist() == [[34, 4], [33, 3], [33, 3], [4, 1]]


def test_what_is_not_modelled_is_counted() -> None:
    notes = setting(str(CASES / "sacct-tres-odd.txt"), servers="1x64")[0].provenance.notes
    assert "not modelled: license/matlab of 1 job and gres/shard of 1 job" in notes


def test_a_partition_on_the_whole_machine(tmp_path: Path) -> None:
    lines = [f"{n} {n} 0 100 4 -1 -1 4 100 -1 1 1 1 1 1 {n} -1 -1" for n in (1, 2)]
    log = text(tmp_path / "a.swf", "; MaxProcs: 8", *lines)
    whole = packenv.workload(log, partition="1")
    assert whole.provenance.notes[-1] == "jobs of partition 1 have the whole machine; with `servers` 0.5 it is half of that"
    assert "have the whole machine" not in " ".join(packenv.workload(log, partition="1", servers="1x0.5").provenance.notes)


# Quotation marks, separators and marks of Unicode: the same table in every dialect.
ROWS = [["0", "10", "1,5", "a"], ["1", "10", "2", "b"], ["2", "20", "1", "c"]]
NAMES = ["submit_time_s", "duration_s", "cpu", "tenant"]
MARKS: dict[str, Callable[[str], str]] = {
    "none": lambda cell: cell, "stray": lambda cell: f'"{cell}' if cell in "ab" else cell,
    "behind": lambda cell: f'{cell}"' if cell in "ab" else cell,
    "inside": lambda cell: f'{cell}"{cell}' if cell in "ab" else cell,
    "one": lambda cell: f'"{cell}' if cell == "b" else cell, "pair": lambda cell: {"a": '"a', "c": 'c"'}.get(cell, cell),
    "all": lambda cell: f'"{cell}"', "doubled": lambda cell: f'"{cell}""{cell}"' if cell in "abc" else cell,
    "newline": lambda cell: '"a\na"' if cell == "a" else cell,
}  # fmt: skip


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("marks", MARKS)
@pytest.mark.parametrize("separator", [",", ";", "|", "\t"])
def test_no_row_vanishes_between_marks(tmp_path: Path, separator: str, marks: str, end: str, encoding: str) -> None:
    comma = separator == ","
    rows = [[MARKS[marks](cell.replace(",", ".") if comma else cell) for cell in row] for row in ROWS]
    lines = [separator.join(row) for row in [NAMES, *rows]]
    file = tmp_path / ("a.tsv" if separator == "\t" else "a.csv")
    file.write_text(end.join(lines) + end, encoding=encoding, newline="")
    try:
        _, jobs = setting(str(file), resources="cpu")
    except InputError as refused:
        assert str(refused).startswith(f"{file}: ") and "\n" not in str(refused) and marks not in ("none", "all")
        return
    assert (jobs.service.tolist(), jobs.amounts[:, 0].tolist()) == ([10, 10, 20], [1.5, 2, 1])


@pytest.mark.parametrize("columns", [2, 3, 4])
def test_a_cell_of_several_lines_is_read_if_it_cannot_be_rows(tmp_path: Path, columns: int) -> None:
    """A description with line breaks is a cell; rows between two stray marks are refused."""
    header, rows = ["arrival", "service", "size", "name"], ['0,1,1,"first\nline, and more"', "1,1,1,b,c", '2,1,1,"x, y"']
    file = text(tmp_path / "a.csv", ",".join(header), rows[0], rows[2])
    read = packenv.workload(str(file), servers=1, resources="size").jobs
    assert read is not None and read.arrival.tolist() == [0, 2]
    stray = ['0,1,1,"a', "1,1,1,b", '2,1,1,c"', '3,1,1,"x, y"'][: columns + 1]
    file = text(tmp_path / "b.csv", ",".join(header), *stray, '4,1,1,"x, y"')
    with pytest.raises(InputError, match=r"b.csv: row .*: (a quotation mark opens a cell|.* values for 4 columns)"):
        packenv.workload(str(file), servers=1, resources="size")


# Decimal commas, thousands, and capitals in tables and in lists of servers.
NUMBERS: list[tuple[list[str], list[float] | None]] = [
    (["1,5", "2,25"], [1.5, 2.25]), (["1.5", "2.25"], [1.5, 2.25]), (["1.024", "512,5"], [1024, 512.5]),
    (["1.024,5", "2"], [1024.5, 2]), (["1,024", "2,048"], None), (["1.5", "2,5"], None), (["1.024", "0,5", "1.5"], None),
    (["1.024.000", "0,5"], [1_024_000, 0.5]), (["1,5k", "2k"], [1500, 2000]),
]  # fmt: skip


@pytest.mark.parametrize(("cells", "amounts"), NUMBERS)
@pytest.mark.parametrize("separator", [";", "\t", "|"])
def test_numbers_of_tables_and_lists(tmp_path: Path, separator: str, cells: list[str], amounts: list[float] | None) -> None:
    table = text(tmp_path / "a.csv", separator.join(NAMES[:3]), *(separator.join(["0", "1", cell]) for cell in cells))
    servers = text(tmp_path / "b.csv", separator.join(["Node", "CPU"]), *(f"n{n}{separator}{c}" for n, c in enumerate(cells)))
    readers: list[Callable[[], Any]] = [
        lambda: setting(str(table), servers="1x4000000")[1].amounts[:, 0].tolist(),
        lambda: parse_servers(str(servers), 1, ("cpu",)).capacity[:, 0].tolist(),
    ]
    for read in readers:
        if amounts is None:
            with pytest.raises(InputError, match=r"thousands or decimals|decimal point"):
                read()
        else:
            assert read() == amounts


def test_thousands_beside_columns_with_decimal_commas(tmp_path: Path) -> None:
    file = text(tmp_path / "a.csv", "submit_time_s;duration_s;cpu;memory", "0;10;0,5;1.024", "1;10;1;2.048")
    with pytest.raises(InputError, match=r"column memory: '1.024' may have thousands .* as column cpu has decimal commas"):
        setting(str(file), servers="1x8:4096", resources="cpu,memory")
    points = text(tmp_path / "b.csv", "submit_time_s;duration_s;cpu", "0;1.024;1", "1;2.048;1")
    assert setting(str(points), slot_seconds="0.001")[1].service.tolist() == [1024, 2048]


@pytest.mark.parametrize(
    "header", ["node,memory,cores", "Node,Memory,CPU", "NAME,RAM (GB),vCores", "n,GiB,CPUs", "node,MEM,Cores"]
)
def test_headings_of_servers(tmp_path: Path, header: str) -> None:
    file = text(tmp_path / "a.csv", header, "n1,128,64", "n2,256,32")
    assert parse_servers(str(file), 2, ("cpu", "memory")).capacity.tolist() == [[64, 128], [32, 256]]


@pytest.mark.parametrize("header", ["node,speicher,kerne", "node,memory,speicher", "node,cpu,cores", "node,memory"])
def test_headings_that_nobody_knows(tmp_path: Path, header: str) -> None:
    file = text(tmp_path / "a.csv", header, ",".join(["n1", "128", "64"][: header.count(",") + 1]))
    with pytest.raises(InputError, match=r"column.* name the columns as in the tasks, cpu, memory"):
        parse_servers(str(file), 2, ("cpu", "memory"))


# The same row twice, in every form whose rows have names.
def of_lines(lines: list[str], header: int, ending: str) -> Callable[[Path, int], Path]:
    return lambda folder, times: text(folder / f"a{ending}", *lines[:header], *lines[header:] * times)


def of_philly(folder: Path, times: int) -> Path:
    detail = [{"ip": "m1", "gpus": ["gpu0", "gpu1"]}]
    attempt = {"start_time": "2017-10-07 01:12:09", "end_time": "2017-10-07 01:14:09", "detail": detail}
    job = {
        "status": "Pass",
        "vc": "v",
        "jobid": "a1",
        "attempts": [attempt],
        "submitted_time": "2017-10-07 01:11:09",
        "user": "u",
    }
    other = job | {"jobid": "a2"}
    return text(folder / "cluster_job_log", json.dumps([job, other] * times))


SACCT = (CASES / "sacct-hetjob.txt").read_text().splitlines()
TASKS = ["task_id,submit_time_s,duration_s,cpu", "a,0,10,1", "b,0,10,1", "c,5,10,2"]
JOBS = [*(line.replace("task_id", "job_id") for line in TASKS)]
SLOTS = ["id,arrival,service,size", "a,0,10,1", "b,0,10,1", "c,5,10,1"]
BATCH = ["M1,1,j_1,1,Terminated,86400,86500,100,10", "R2_1,1,j_1,1,Terminated,86500,86600,100,10"]
NAMED: dict[str, Callable[[Path, int], Path]] = {
    "sacct": of_lines(SACCT, 1, ".txt"), "table": of_lines(TASKS, 1, ".csv"), "jobs": of_lines(JOBS, 1, ".csv"),
    "slots": of_lines(SLOTS, 1, ".csv"), "swf": of_lines(samples.SWF, 5, ".swf"), "openb": of_lines(samples.PODS, 1, ".csv"),
    "dlrm": of_lines(samples.INSTANCES, 1, ".csv"), "spot": of_lines(samples.SPOT_JOBS, 1, ".csv"),
    "alibaba2018": of_lines(BATCH, 0, ".csv"), "philly": of_philly,
}  # fmt: skip


@pytest.mark.parametrize("form", NAMED)
def test_the_same_row_twice_is_one(tmp_path: Path, form: str) -> None:
    resources: Wanted = ("cpu",) if form in ("table", "jobs") else "all"
    once, again = (read_trace(NAMED[form](tmp_path, times), resources) for times in (1, 2))
    (single, _, _), (double, dropped, _) = once.jobs(), again.jobs()
    assert len(single) == len(double) and (single.arrival == double.arrival).all() and (single.demand == double.demand).all()
    rows = once.kept_rows()
    assert rows is not None and dropped[TWICE] >= len(np.unique(rows))


def test_rows_that_are_alike_are_tasks(tmp_path: Path) -> None:
    """Where no column says which task a row is, or it differs in any other."""
    alike = text(tmp_path / "a.csv", "submit_time_s,duration_s,cpu", *["0,10,1"] * 3)
    attempts = text(tmp_path / "b.csv", "task_id,submit_time_s,duration_s,cpu,attempt", "a,0,10,1,1", "a,0,10,1,2")
    of_job = text(tmp_path / "c.csv", "job_id,submit_time_s,duration_s,cpu", *["7,0,10,1"] * 4)
    columns = {"job": "job_id", "submit_time_s": "submit_time_s"}
    assert len(setting(str(alike))[1]) == 3
    assert len(setting(str(attempts), resources="cpu")[1]) == 2
    assert len(setting(str(of_job), columns=columns, resources="cpu")[1]) == 4


# Frames and Parquet.
def test_periods_are_dates(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    dates = pandas.to_datetime(["2026-01-01 00:05", "2026-01-01 01:10", "2026-01-01 02:20"])
    for length, arrivals in (("h", [0, 3600, 7200]), ("min", [0, 3900, 8100]), ("D", [0, 0, 0])):
        frame = pandas.DataFrame({"submit_time_s": dates.to_period(length), "duration_s": 600, "cpu": 1})
        frame.to_parquet(tmp_path / "a.parquet")
        for source in (frame, str(tmp_path / "a.parquet")):
            assert setting(source)[1].arrival.tolist() == arrivals
    frame = pandas.DataFrame({"submit_time_s": dates.to_period("W"), "duration_s": 600, "cpu": 1})
    with pytest.raises(InputError, match="table: column submit_time_s holds Periods of 'W': turn them into dates"):
        setting(frame)


def test_two_columns_of_one_name() -> None:
    names = ["submit_time_s", "duration_s", "cpu", "cpu"]
    with pytest.raises(InputError, match="table: column cpu occurs more than once"):
        setting(pa.Table.from_arrays([pa.array([0, 1])] * 4, names=names))


@pytest.mark.parametrize(
    ("second", "problem"),
    [
        ({"arrival": [1], "service": [1], "size": [1.0], "gpu": [1]}, "column gpu is not in 1.parquet"),
        ({"arrival": [1], "service": [1]}, "column size of 1.parquet is missing"),
        ({"arrival": [1], "service": [1], "size": ["much"]}, "column size holds string, and double in 1.parquet"),
        ({"arrival": [1], "size": [2], "service": [1]}, None),
    ],
)
def test_parts_of_a_table(tmp_path: Path, second: dict[str, Any], problem: str | None) -> None:
    pq.write_table(pa.table({"arrival": [0], "service": [1], "size": [1.0]}), tmp_path / "1.parquet")
    pq.write_table(pa.table(second), tmp_path / "2.parquet")
    if problem is None:
        assert setting(str(tmp_path), servers="1x8")[1].amounts[:, 0].tolist() == [1, 2]
        return
    with pytest.raises(InputError) as error:
        setting(str(tmp_path))
    assert str(error.value).startswith(f"{tmp_path / '2.parquet'}: {problem}")


@pytest.mark.parametrize(
    "name", ["tasks.csv", "table-tab.tsv", "times-epoch-ns.parquet", "sacct-hetjob.txt", "swf-maxprocs-plain.swf"]
)
def test_standard_input(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    standard_input.cache_clear()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO((CASES / name).read_bytes())))
    arguments: dict[str, Any] = {"time_unit": "ns"} if "ns" in name else {}
    assert len(packenv.workload("-", servers="1x8", **arguments).jobs or ()) >= 2
    standard_input.cache_clear()


def test_nothing_on_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    standard_input.cache_clear()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO()))
    with pytest.raises(InputError, match="-: standard input is empty"):
        packenv.workload("-", servers=1)
