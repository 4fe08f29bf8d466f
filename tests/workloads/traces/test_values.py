"""Values and tables as people write them: separators, decimal commas, durations, quantities, dates, names, parts."""

from __future__ import annotations

import gzip
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import packenv
from packenv.cli.main import main
from packenv.errors import InputError
from packenv.inputs.numbers import read_duration
from packenv.jobs import Jobs
from packenv.planning.goals import parse_goal
from packenv.planning.lower_bounds.fewest_servers import fewest_servers
from packenv.units import LARGEST_CAPACITY, UNIT, scale_for, to_units
from packenv.workloads.fitting.profile import in_larger_units
from packenv.workloads.laws import Fixed, Uniform
from packenv.workloads.servers import parse_servers
from packenv.workloads.traces import Trace, read_trace, write_jobs
from tests.workloads.traces.samples import CASES, text


def case(name: str, **arguments: Any) -> Jobs:
    jobs = packenv.workload(str(CASES / name), **{"servers": 2, "slot_seconds": 1} | arguments).jobs
    assert jobs is not None
    return jobs


@pytest.mark.parametrize(
    "name",
    ["durations-hms.csv", "ids-text.csv", "tenant-text.csv", "csv-bom.csv", "csv-crlf.csv", "csv-semicolon-decimal-comma.csv",
     "table-tab.tsv"],
)  # fmt: skip
def test_tables_in_other_dialects(name: str) -> None:
    jobs = case(name)
    assert (jobs.arrival.tolist(), jobs.service.tolist()) == ([0, 0, 3], [10, 10, 5])
    assert jobs.demand[:, 0].tolist() == to_units([0.5, 0.6, 0.5]).tolist()
    assert jobs.job is None or jobs.job.tolist() == [0, 0, 1]
    assert jobs.tenant is None or jobs.tenant.tolist() == [0, 1, 0]


def test_times() -> None:
    columns = {"submit_time_s": "Submitted", "duration_s": "End", "cpu": "Cores"}
    with pytest.raises(InputError, match="column End holds dates, not durations; with `columns` start_time_s=…,end_time_s=…"):
        case("times-end-as-duration.csv", columns=columns)
    with pytest.raises(InputError, match="column start_time_s is missing"):
        case("times-end-as-duration.csv", columns={"submit_time_s": "Submitted", "end_time_s": "End", "cpu": "Cores"})
    for both in ({}, {"submit_time_s": "Submitted"}):
        columns = {**both, "start_time_s": "Submitted", "end_time_s": "End", "cpu": "Cores"}
        jobs = case("times-end-as-duration.csv", columns=columns, servers="2x4")
        assert (jobs.arrival.tolist(), jobs.service.tolist()) == ([0, 5, 7], [10, 10, 10])
    assert case("times-seven-digits.csv", slot_seconds="0.001").arrival.tolist() == [0, 1111]
    with pytest.raises(InputError, match=r"1772366400000 is too large for a time in s; as one in ms: `time_unit` ms"):
        case("times-epoch-ms.csv")
    assert case("times-epoch-ms.csv", time_unit="ms", slot_seconds="0.001").arrival.tolist() == [0, 1000]
    calls = {"submit_time_s": "TIMESTAMP", "duration_s": "GeneratedTokens", "tokens": "ContextTokens"}
    assert case("azure-llm.csv", columns=calls, servers="1x8192", slot_seconds="0.001").arrival.tolist() == [0, 52]
    with pytest.raises(
        InputError, match=r"alibaba2017-batch_task.csv: columns 10496, 11280, 2, 6, 1, Terminated, 50, 0.0040; needs"
    ):
        case("alibaba2017-batch_task.csv")


@pytest.mark.parametrize(
    ("rows", "problem"),
    [
        (("2026-03-01,2026-03-02,0.5", "2026-03-02,soon,1"), "row 2, column end_time_s: 'soon' is not a date"),
        (
            ("2026-03-01T10:00,2026-03-01T10:00Z,1",),
            "column start_time_s holds dates without an offset, column end_time_s dates with",
        ),
        (("2026-03-01T10:00,9,1",), "column start_time_s holds dates without an offset, column end_time_s no dates"),
        (("2026-03-01T10:00,2026-03-01T09:00,1",), "row 1, column end_time_s: 2026-03-01T09:00 is before the first submission"),
        (("5,4,1",), "row 1, column end_time_s: 4 is before the start"),
    ],
)
def test_times_that_do_not_go_together(tmp_path: Path, rows: tuple[str, ...], problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        read_trace(text(tmp_path / "a.csv", "start_time_s,end_time_s,cpu", *rows))


@pytest.mark.parametrize(
    ("written", "seconds"),
    [
        ("10m", 600), ("2 h 5 min", 7500),
        ("00:15:04", 904), ("1-02:03:04", 93_784), ("1 day, 2:03:04", 93_784), ("0 days 00:00:10.5", Fraction(21, 2)),
        ("PT15M", 900), ("P1DT2H", 93_600), ("PT0,5S", Fraction(1, 2)), ("2h 30m", 9000), ("15min", 900),
        ("250 ms", Fraction(1, 4)),
        ("15:04", None), ("00:61:00", None), ("P1M", None), ("PT", None), ("15 parsecs", None), ("", None),
    ],
)  # fmt: skip
def test_durations(written: str, seconds: Any) -> None:
    assert read_duration(written) == seconds


def test_quantities_and_commas(tmp_path: Path) -> None:
    file = text(tmp_path / "a.csv", "submit_time_s,duration_s,cpu,memory", "0,1,500m,512Mi", "0,1,2,2G", "0,1,1.5,1024")
    trace = read_trace(file)
    assert isinstance(trace, Trace)
    assert trace.demand.tolist() == [[0.5, 2.0**29], [2, 2e9], [1.5, 1024]]
    jobs = packenv.workload(str(file), servers="1x4:8Gi", resources="cpu,memory").jobs
    assert jobs is not None and jobs.amounts[0].tolist() == [0.5, 2.0**29]
    commas = text(tmp_path / "b.csv", "submit_time_s;duration_s;memory", "0;1,5;1,024", "0;1;2,048")
    with pytest.raises(
        InputError, match="column memory: '1,024' may have thousands or decimals behind the comma: write it without"
    ):
        read_trace(commas)
    quoted = text(tmp_path / "c.csv", "submit_time_s,duration_s,memory", '0,1,"1,024"', '0,1,"0,5"')
    assert read_trace(quoted).jobs(sizes="all").jobs.demand[:, 0].tolist() == to_units([1.024, 0.5]).tolist()
    with pytest.raises(InputError, match="row 1, column job: is empty"):
        read_trace(text(tmp_path / "d.csv", "submit_time_s,duration_s,cpu,job", "0,1,1,", "0,1,1,b"))


def test_a_unit_that_is_missing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = str(text(tmp_path / "a.csv", "submit_time_s,duration_s,ram", "0,1,8GiB", "0,1,128", "0,1,4 GB", "0,1,64"))
    note = "column ram: 4 GB counts as 4,000,000,000, and 128 in row 2 as 128: is its unit missing?"
    assert read_trace(file).notes == (note,)
    main(["trace", "describe", file])
    assert note in capsys.readouterr().out
    alike = ("0,1,8Gi", "0,1,8589934592"), ("0,1,500m", "0,1,2"), ("0,1,", "0,1,8GB")
    for n, rows in enumerate(alike):
        assert read_trace(text(tmp_path / f"{n}.csv", "submit_time_s,duration_s,ram", *rows)).notes == ()


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ("03/04/2026,1,1", "'03/04/2026' is not a number, a date such as 2026-04-03 or 2026-04-03 12:00:00, nor a duration such"),
        ("0,1,8 gigs", "'8 gigs' is not a number, nor an amount such as 500m, 8Gi or 8GB"),
    ],
)
def test_the_form_that_is_read_is_named(tmp_path: Path, row: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        read_trace(text(tmp_path / "a.csv", "submit_time_s,duration_s,ram", row))
    assert parse_servers("2x4:8GB").capacity.tolist() == parse_servers("2x4:8G").capacity.tolist() == [[4, 8e9]] * 2
    with pytest.raises(InputError, match="servers '1x8gigs': '8gigs' is not a number, nor an amount such as 500m, 8Gi or 8GB"):
        parse_servers("1x8gigs")


def test_gzip_by_content_and_parts(tmp_path: Path) -> None:
    lines = ["arrival,size,service", "0,0.5,3", "2,0.25,1"]
    (tmp_path / "a.csv").write_bytes(gzip.compress("\n".join(lines).encode()))
    text(tmp_path / "b.csv.gz", *lines)
    parts = tmp_path / "parts"
    parts.mkdir()
    for n, (arrival, size) in enumerate([(0, 0.5), (2, 0.25)]):
        pq.write_table(pa.table({"arrival": [arrival], "size": [size], "service": [3 - 2 * n]}), parts / f"part-{n}.parquet")
    (parts / "_SUCCESS").touch()
    for source in (tmp_path / "a.csv", tmp_path / "b.csv.gz", parts):
        trace = read_trace(source)
        assert trace.table is not None
        assert trace.table.demand[:, 0].tolist() == [UNIT // 2, UNIT // 4] and trace.table.service.tolist() == [3, 1]
    pq.write_table(pa.table({"arrival": [3], "service": [1]}), parts / "part-2.parquet")
    with pytest.raises(InputError, match=r"part-2.parquet: column size of part-0.parquet is missing"):
        read_trace(parts)


def test_amounts_in_any_unit() -> None:
    assert scale_for([1, LARGEST_CAPACITY]) == ()
    assert scale_for([LARGEST_CAPACITY + 0.5, 4 * LARGEST_CAPACITY, 2**50]) == (1, 2, 41)
    jobs = case("memory-gb-1tb-node.csv", servers="2x128:1024", resources="cpu,memory")
    assert (jobs.scale, jobs.demand.tolist()) == ((0, 1), [[32 * UNIT, 384 * UNIT], [32 * UNIT, 150 * UNIT]])
    jobs = case("memory-mb.csv", servers="2x32:131072", resources="cpu,memory")
    assert jobs.amounts.tolist() == [[4, 16384], [4, 8192]]


def test_scaled_tables_are_played_exactly(tmp_path: Path) -> None:
    """4,097 nodes as one machine, and bytes: the schedule is that of the same table in small units."""
    nodes, rng = 4_097, np.random.default_rng(1)
    demand = np.append(rng.integers(1, nodes, 60), [nodes - 1, 1, 1])
    arrival, service = np.sort(rng.integers(0, 300, len(demand))), rng.integers(1, 90, len(demand))
    # memory never binds: on one machine all starts are those of nodes alone
    both = np.stack([demand, demand * 2.0**30], axis=1)
    table = Jobs.of(arrival, both, service)
    run = packenv.simulate(packenv.Workload(jobs=table, servers=[[nodes, nodes * 2.0**30]]), "fifo-ff", drain=True, schedule=True)
    free, busy, start, now = nodes, [], [], 0
    for job in range(len(demand)):
        now = max(now, int(arrival[job]))
        while True:
            free += sum(width for end, width in busy if end <= now)
            busy = [(end, width) for end, width in busy if end > now]
            if demand[job] <= free:
                break
            now = min(end for end, _ in busy)
        free -= int(demand[job])
        busy.append((now + int(service[job]), int(demand[job])))
        start.append(now)
    assert run.schedule is not None and run.schedule.start.tolist() == start
    write_jobs(table, tmp_path / "a.parquet", ("nodes", "memory"))
    again = read_trace(tmp_path / "a.parquet")
    assert again.table is not None and again.table.amounts.tolist() == both.tolist()


def test_a_table_of_which_most_is_gone(tmp_path: Path) -> None:
    rows = [f"{n},10,{4 if n % 2 else 2},{64 if n % 2 else 8},7" for n in range(40)]
    file = str(text(tmp_path / "a.csv", "submit_time_s,duration_s,cpu,memory,priority", *rows))
    with pytest.raises(
        InputError, match=r"column 'priority' is not a resource: leave it out, or name the resources \(`resources` cpu,memory\)"
    ):
        packenv.workload(file, servers=8)
    problem = r"row 1: a demand of 2, 8 fits in no server; .* with 40 of 40 tasks: .*`servers` 8x24:384 `resources` cpu,memory"
    for arguments in ({"servers": 8}, {"servers": "8x1:1"}, {"servers": 8, "slot_seconds": 1}):
        with pytest.raises(InputError, match=problem):
            packenv.workload(file, resources="cpu,memory", **arguments)
    assert len(packenv.workload(file, servers="8x4:64", resources="cpu,memory").jobs or ()) == 40
    half = packenv.workload(file, servers="8x3:64", resources="cpu,memory")
    assert (
        half.label == "a.csv without 50% of its tasks and 88.9% of its work, which fit nowhere"
        and half.left_out["tasks that fit no server"] == 20
    )
    assert (
        half.record == {"workload": "a.csv", "left_out_share": 0.5, "left_out_work": 64 / 72}
        and half.title == f"Workload {half.label}"
    )
    with pytest.raises(InputError, match=r"`servers` 8x4:64: tasks have one size; use `resources` cpu,memory for several"):
        packenv.workload(file, servers="8x4:64", resources="max:cpu,memory")


def test_a_profile_counts_in_larger_units(tmp_path: Path) -> None:
    rows = [f"{n},10,{n % 4 + 1},{512 * (n + 1)}" for n in range(61)]
    trace = read_trace(text(tmp_path / "a.csv", "submit_time_s,duration_s,cpu,memory", *rows))
    larger, servers = in_larger_units(trace, "2x32:131072")  # type: ignore[arg-type]
    assert larger.resources == ("cpu", "memory/256") and str(servers) == "2x32:512"
    assert larger.demand[:2].tolist() == [[1, 2], [2, 4]]
    with pytest.raises(InputError, match="capacities above 682 do not go with random sizes: count in a larger unit"):
        packenv.Workload(sizes=Uniform(1, 9), service=Fixed(1), servers="1x1024", rate=0.1)


def test_jobs_of_lists() -> None:
    jobs = Jobs.of([0, 0, 1], [0.5, 0.5, 0.2], [1, 2, 3], job=[0, 0, 1], value=[1, 1, 2.5], predecessors=[[], [0], []])
    assert jobs.job is not None and jobs.value is not None and jobs.predecessors is not None
    assert (jobs.job.tolist(), jobs.value.tolist(), jobs.predecessors.row(1).tolist()) == ([0, 0, 1], [1, 1, 2.5], [0])
    for column, problem in (
        ({"job": [0, 0.5, 1]}, "row 1: job is not a whole number"),
        ({"tenant": ["ann", "bob", "ann"]}, "column tenant must be a list of numbers"),
        ({"phase": [[0], [0], [0]]}, r"column phase must have shape \(tasks,\), not \(3, 1\)"),
        ({"job": [0, 1]}, "column job has 2 rows, arrival has 3"),
    ):
        with pytest.raises(InputError, match=problem):
            Jobs.of([0, 0, 1], [0.5, 0.5, 0.2], [1, 2, 3], **column)


def test_waits_of_a_table_of_ones_own(tmp_path: Path) -> None:
    """A submission, a start and an end say how long tasks waited: in slots, and not at all where one is not known."""
    head, rows = "submit_time_s,start_time_s,end_time_s,cpu", ("0,5,10,1", "1,1,4,1", "2,12,20,1")
    whole = packenv.workload(str(text(tmp_path / "a.csv", head, *rows)), servers="1x1", slot_seconds=0.5)
    assert whole.provenance.recorded_waits is not None and whole.provenance.recorded_waits.tolist() == [10, 0, 20]
    odd = packenv.workload(str(text(tmp_path / "b.csv", head, *rows, "9,8,30,1")), servers="1x1")
    assert odd.provenance.recorded_waits is None
    assert odd.provenance.notes == ("recorded waits are not shown: 1 of the 4 tasks that ran have none",)
    two = packenv.workload(
        str(tmp_path / "a.csv"), servers="1x1", columns={"submit_time_s": "start_time_s", "start_time_s": "start_time_s"}
    )
    assert two.provenance.recorded_waits is None and not two.provenance.notes


def test_amounts_of_gpus_beside_their_kinds(tmp_path: Path) -> None:
    """500m is half a GPU with kinds, as without."""
    (table := tmp_path / "jobs.csv").write_text(
        "submit_time_s,duration_s,cpu,gpu,gpu_kinds\n0,100,500m,500m,A10\n5,100,1,0.5,\n9,1,1,2,\n"
    )
    workload = packenv.workload(str(table), servers="1x8:2@A10", slot_seconds=1)
    assert workload.jobs is not None and workload.jobs.devices is not None
    assert workload.jobs.devices[:, :2].tolist() == [[1, 500], [1, 500], [2, 0]]


def test_amounts_and_servers_in_other_units(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Bytes beside GiB are said, with the servers that are meant, whichever of the two is in bytes."""
    header, gi = "submit_time_s,duration_s,cpu,memory", 2**30
    in_bytes = str(text(tmp_path / "bytes.csv", header, f"0,10,4,{64 * gi}", f"0,10,2,{8 * gi}"))
    with pytest.raises(InputError) as error:
        packenv.workload(in_bytes, servers="6x32:128")
    problem = "a task needs up to 64Gi, and a server has 128: `servers` 6x32:128Gi?"
    assert "a demand of 4, 64Gi fits in no server" in str(error.value) and str(error.value).endswith(problem)
    in_gib = str(text(tmp_path / "gib.csv", header, "0,10,4,64", "0,10,2,8"))
    notes = packenv.workload(in_gib, servers="6x32:128Gi").provenance.notes
    assert [note.partition(", as ")[2] for note in notes] == [
        "a task needs up to 64, and a server has 128Gi: `servers` 6x32:128?"
    ]
    assert not packenv.workload(in_gib, servers="1x131072:524288").provenance.notes  # a cluster as one machine
    main(["trace", "describe", in_bytes, "--servers", "6x32:128"])
    out = capsys.readouterr().out
    assert "servers 6x32:128Gi?" in out and "36Gi" in out and "1,073,741,824" not in out


@pytest.mark.parametrize("unit", ["", "Gi", "G"])
def test_a_plan_in_any_unit(tmp_path: Path, unit: str) -> None:
    """The bound weighs cores and memory together, whatever the numbers of memory are."""
    memory = (2, 4, 8, 16, 64)
    rows = [f"{20 * n},{30 + 97 * n % 870},{2 ** (n * n % 7 % 4)},{memory[n % 5]}{unit}" for n in range(600)]
    file = str(text(tmp_path / "a.csv", "submit_time_s,duration_s,cpu,memory", *rows))
    table = packenv.workload(file, servers=f"1x64:256{unit}", slot_seconds=1)
    assert fewest_servers(table, [parse_goal("p95 wait <= 60s", 1.0)], 0.001, 1.0) == 2
