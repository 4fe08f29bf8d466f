"""The Standard Workload Format, worked by hand."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

import packenv
from packenv.cli.main import main
from packenv.cli.options.workload import WorkloadOptions, workload_from, workload_with_notes
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
    assert jobs.arrival.tolist() == [0, 1, 2, 3, 4]
    assert jobs.service.tolist() == [10, 5, 7, 4, 4]  # the last two failed and were cancelled, but ran
    assert jobs.demand.tolist() == [[UNIT // 2], [UNIT // 8], [UNIT // 4], [UNIT // 8], [UNIT // 8]]
    assert jobs.tenant is not None and jobs.tenant.tolist() == [3, 4, 0, 4, 4]
    assert jobs.estimate is not None and jobs.estimate.tolist() == [360, 6, 7, 6, 6]  # the third has none: its run time
    longest, exact = (trace.jobs(slot_seconds=10, estimates=which).jobs.estimate for which in ("longest", "exact"))
    assert longest is not None and longest.tolist() == [360, 6, 720, 6, 6]  # of MaxRuntime
    assert exact is not None and exact.tolist() == [10, 5, 7, 4, 4]
    assert dropped == {
        "repeated rows": 0,
        "part of a job that has a line of its own": 1,
        "in the initial snapshot": 0,
        "not finished": 0,
        "duration missing or <= 0": 1,
        "all demands missing or 0": 1,
    }
    assert trace.about == "capacity 1: 64 processors (header MaxProcs); preceding jobs, named 1 times, are not followed"
    finished = trace.only_finished().jobs()
    assert (len(finished.jobs), finished.dropped["not finished"]) == (3, 2)
    assert (trace.servers, trace.slot_seconds) == ("1", "1")


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
    assert (workload.jobs.arrival.tolist(), workload.jobs.service.tolist()) == ([0, 5, 30], [101, 50, 50])
    assert (workload.name, workload.provenance.left_out_share) == ("odd.swf", 0.25)
    assert workload.provenance.estimates == "estimated durations (the true one for 1 of 4 tasks, which have none)"
    assert {reason: count for reason, count in dropped.items() if count} == {
        "duration missing or <= 0": 2,
        "all demands missing or 0": 1,
        "tasks that fit no server": 1,
    }
    workload_with_notes(options)
    assert "odd.swf: left out: 2 duration missing or <= 0, " in capsys.readouterr().err
    with pytest.raises(InputError, match=r"row 1: a demand of 1.1719 fits in no server; the largest has 0.01, .* 4 of 4 tasks: "):
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


SMALL = "{} 0 0 100 4 -1 -1 4 100 -1 1 1 1 1 1 1 -1 -1"


@pytest.mark.parametrize(
    ("header", "machine"),
    [
        (" ; MaxProcs: 8", "8 processors, header MaxProcs"),
        ("; maxprocs: 8", "8 processors, header MaxProcs"),
        (";MAXPROCS :8 (two nodes)", "8 processors, header MaxProcs"),
        ("; MaxNodes: 8 nodes\n; MaxProcs: Unknown", "8 processors, header MaxNodes"),
        ("; MaxNodes: 4\n; MaxProcs: -1", "4 processors, header MaxNodes"),
        ("; Version: 2", "4 processors, the largest job's, for the header has neither MaxProcs nor MaxNodes"),
    ],
)
def test_the_machine_is_the_header_s(tmp_path: Path, header: str, machine: str) -> None:
    for lines in ([header, SMALL.format(1), SMALL.format(2)], [SMALL.format(1), header, SMALL.format(2)]):
        workload = packenv.workload(str(text(tmp_path / "a.swf", *lines)))
        assert workload.provenance.notes == (f"a server of capacity 1 is the machine: {machine}",)
        assert (str(workload.servers), workload.slot_seconds) == ("1x1", 1.0)
        assert workload.jobs is not None and int(workload.jobs.demand[0, 0]) == 4 * UNIT // int(machine.split()[0])


MEMORY = "{} 0 0 100 {} -1 -1 {} 100 1048576 1 1 1 1 1 1 -1 -1"  # 1 GiB a processor


def test_the_memory_of_the_machine_is_said(tmp_path: Path) -> None:
    file = str(text(tmp_path / "a.swf", "; MaxProcs: 64", MEMORY.format(1, 32, 32), MEMORY.format(2, 16, 16)))
    memory = "; 32 GiB memory, the largest job's, read as KB per processor"
    for resources, said in (("cpu,memory", memory), ("all", memory), (None, "")):
        workload = packenv.workload(file, resources=resources)
        assert workload.provenance.notes == (f"a server of capacity 1 is the machine: 64 processors, header MaxProcs{said}",)


def test_servers_larger_than_the_machine(tmp_path: Path) -> None:
    """Capacities are shares of the machine: numbers of processors are refused, with the shares that they are."""
    jobs = [MEMORY.format(1, 32, 32), *(MEMORY.format(n, 8, 8) for n in range(2, 6))]
    file = str(text(tmp_path / "a.swf", "; MaxProcs: 64", *jobs))
    both = {"resources": "cpu,memory"}
    twice = packenv.workload(file, servers="1x2:1", **both)
    assert twice.provenance.notes[1:] == ("the largest server is 2 such machines: 128 processors",)
    assert len(packenv.workload(file, servers=20).provenance.notes) == 1  # machines, and none is larger than the log's
    for servers, machines, shares in (
        ("3x32:32", "96", "servers of 32 processors are `servers` 3x0.5:1"),
        ("1x64:64Gi", "64", "servers of 64 processors are `servers` 1x1:2"),
        ("2x32:32,1x64:64", "128", "servers of 64 processors are `servers` 2x0.5:1,1x1:2"),
    ):
        with pytest.raises(InputError) as refused:
            packenv.workload(file, servers=servers, **both)
        machine = "shares of the log's machine, 64 processors and 32 GiB memory"
        assert (
            str(refused.value) == f"`servers` {servers}: capacities are {machine}; these are {machines} such machines: {shares}"
        )
        assert len(packenv.workload(file, servers=shares.split()[-1], **both).jobs or ()) == 5
    with pytest.raises(InputError, match=r"64 processors; these are 100 such machines$"):
        packenv.workload(file, servers="1x100")
    with pytest.raises(SystemExit) as ended:
        main(["evaluate", file, "--servers", "3x32:32", "--resources", "cpu,memory"])
    assert ended.value.code == 2


@pytest.mark.parametrize("number", ["8k", "1,024", "8.5", "1 024", "8 k"])
def test_a_number_of_the_header_that_goes_on_is_refused(tmp_path: Path, number: str) -> None:
    with pytest.raises(InputError, match=r"a.swf: line 1: MaxProcs .* is not a whole number"):
        read(text(tmp_path / "a.swf", f"; MaxProcs: {number}", SMALL.format(1)))


@pytest.mark.parametrize("name", ["swf-header-indented", "swf-header-lower", "swf-maxprocs-plain", "swf-failed-but-ran"])
def test_cases(name: str) -> None:
    workload = packenv.workload(str(CASES / f"{name}.swf"))
    assert workload.jobs is not None
    together = workload.jobs.demand.sum() <= UNIT
    assert together == (name != "swf-failed-but-ran") and len(workload.jobs) == (2 if "header" in name else 3)


def test_columns_are_of_tables_of_one_s_own(tmp_path: Path) -> None:
    file = text(tmp_path / "a.swf", *SWF)
    for name, value in (("columns", {"cpu": "processors"}), ("time_unit", "ms")):
        with pytest.raises(InputError, match=rf"a.swf: `{name}` does not go with a trace whose format sets it"):
            packenv.workload(str(file), **{name: value})


def test_no_estimates_are_made_up(tmp_path: Path) -> None:
    line = SMALL.format(1).replace("4 100 -1 1", "4 -1 -1 1")
    log = str(text(tmp_path / "a.swf", line, "2" + line[1:]))
    for estimates, words, values in (
        (None, None, None),
        ("recorded", "estimated durations (the true one for 2 of 2 tasks, which have none)", [100, 100]),
        ("exact", "true durations", [100, 100]),
    ):
        workload = packenv.workload(log, estimates=estimates)
        assert workload.jobs is not None and workload.provenance.estimates == words
        assert (None if workload.jobs.estimate is None else workload.jobs.estimate.tolist()) == values
    with pytest.raises(InputError, match=r"neither estimates nor limits are recorded: `estimates` exact"):
        packenv.workload(log, estimates="longest")
