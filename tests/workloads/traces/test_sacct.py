"""What sacct, scontrol and sinfo print, by hand: each oddity of the fields once."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import packenv
from packenv.cli.trace import trace as trace_command
from packenv.errors import InputError
from packenv.workloads.fitting.profile import describe
from packenv.workloads.laws import Constant, Fixed
from packenv.workloads.traces import Trace, is_trace, read_trace
from packenv.workloads.traces.formats.sacct import amount_of, memory_of
from tests.workloads.traces.samples import CASES, text

HEADER = "JobID|User|Partition|Submit|Eligible|Start|End|Elapsed|Timelimit|ReqTRES|AllocTRES|NNodes|State|"
DAY = "2026-03-01T"


def row(number: str, user: str, times: str, elapsed: str, limit: str, asked: str, had: str, state: str) -> str:
    """A line as `--parsable` ends it; `times`: hours and minutes, submission to end."""
    cells = [DAY + cell if cell[:1].isdigit() else cell for cell in times.split()]
    return "|".join([number, user, "gpu" if "gres" in asked else "cpu", *cells, elapsed, limit, asked, had, "1", state, ""])


SMALL, GPU = "billing=4,cpu=4,mem=16G,node=1", "cpu=2,gres/gpu:a100=1,gres/gpu=1,mem=500M,node=1"
LOG = [
    HEADER,
    row("123", "ann", "12:00:00 12:00:00 12:00:05 12:00:15", "00:00:10", "1-00:00:00", SMALL, SMALL, "COMPLETED"),
    row("123.batch", "", "12:00:05 12:00:05 12:00:05 12:00:15", "00:00:10", "", "", SMALL, "COMPLETED"),
    row("124_1", "bob", "12:00:03 12:01:00 12:01:00 12:11:00", "10:00", "UNLIMITED", GPU, GPU, "TIMEOUT"),  # held for a while
    row("125", "bob", "12:00:04 Unknown Unknown 12:03:00", "00:00:00", "01:00:00", GPU, "", "CANCELLED by 1000"),
    row("126", "ann", "12:00:06 12:00:06 12:00:06 Unknown", "5-00:00:00", "01:00:00", SMALL, SMALL, "RUNNING"),
    row("127_[3-9%2]", "ann", "12:00:07 12:00:07 None Unknown", "00:00:00", "01:00:00", SMALL, "", "PENDING"),
    row(
        "128",
        "ann",
        "12:00:08 12:00:08 12:00:09 12:01:09",
        "00:01:00",
        "00:01:00",
        SMALL,
        "cpu=8,mem=1T,node=2",
        "CANCELLED by 7",
    ),
]


def test_jobs(tmp_path: Path) -> None:
    file = text(tmp_path / "jobs.txt", *LOG)
    assert is_trace(file)
    trace = read_trace(file, "all")
    assert isinstance(trace, Trace) and trace.resources == ("cpu", "memory", "gpu")  # else each job had a node of its own
    assert trace.jobs_on_several_nodes() == 1
    trace = read_trace(file, ("cpu", "memory", "gpu", "node"))
    assert isinstance(trace, Trace)
    jobs, dropped, _ = trace.jobs(sizes="all")
    assert (jobs.arrival.tolist(), jobs.service.tolist()) == ([0, 8, 60], [10, 60, 600])
    assert jobs.amounts.tolist() == [[4, 16, 0, 1], [8, 1024, 0, 2], [2, 500 / 1024, 1, 1]]
    assert jobs.estimate is not None and jobs.estimate.tolist() == [86_400, 60, 600]
    assert jobs.tenant is not None and jobs.tenant.tolist() == [0, 0, 1]
    left_out = {"steps of jobs": 1, "cancelled before the start": 1, "waiting": 7, "still running": 1}
    assert {reason: count for reason, count in dropped.items() if count} == left_out
    assert trace.where(1) == f"{file}: row 7" and trace.waits
    assert len(trace.only_finished().jobs().jobs) == 1
    needed = (
        "a trace needs `servers`: the file that scontrol show node > nodes.txt writes, or one machine, for example `servers` 1x12"
    )
    with pytest.raises(InputError, match=f"{needed}, one machine of the cpu with the most that its jobs used together"):
        packenv.workload(str(file))
    of_gpus = packenv.workload(str(file), servers="1x8", partition="gpu")
    assert of_gpus.jobs is not None and of_gpus.jobs.service.tolist() == [600]
    assert of_gpus.left_out["of other partitions"] == 4 and of_gpus.slot_seconds == 1
    with pytest.raises(InputError, match="there is no partition 'gp'; known: cpu, gpu"):
        packenv.workload(str(file), servers="1x8", partition="gp")


@pytest.mark.parametrize(
    ("name", "service", "left_out"),
    [
        ("sacct-elapsed", [93_784, 10], {}),
        ("sacct-elapsedraw-steps", [93_784, 10], {"steps of jobs": 1}),
        ("sacct-pipe", [10], {"waiting": 1}),
    ],
)
def test_cases(name: str, service: list[int], left_out: dict[str, int]) -> None:
    workload = packenv.workload(str(CASES / f"{name}.csv"), servers="1x8")
    assert workload.jobs is not None and workload.jobs.service.tolist() == service
    assert workload.jobs.amounts.tolist() == [[4]] * len(service)
    assert {reason: count for reason, count in workload.left_out.items() if count} == left_out


STARTED, ENDED, RUNNING, WAITING, CANCELLED = "12:01:00", "12:02:00", "still running", "waiting", "cancelled before the start"


@pytest.mark.parametrize("fields", ["Start|End|State", "Start|End|State|Elapsed"])
@pytest.mark.parametrize(
    ("state", "start", "end", "reason"),
    [
        ("RUNNING", STARTED, "Unknown", RUNNING),
        ("RUNNING", "Unknown", "Unknown", RUNNING),
        ("RUNNING", "", "", RUNNING),
        ("SUSPENDED", STARTED, "None", RUNNING),
        ("COMPLETING", STARTED, "Unknown", RUNNING),
        ("CONFIGURING", STARTED, "Unknown", RUNNING),
        ("RESIZING", STARTED, "Unknown", RUNNING),
        ("RESIZING", STARTED, ENDED, None),  # each size of such a job has a row of its own
        ("PENDING", "Unknown", "Unknown", WAITING),
        ("PENDING", "None", "", WAITING),
        ("REQUEUE_HOLD", "Unknown", "Unknown", WAITING),
        ("REQUEUED", "Unknown", "Unknown", WAITING),
        ("REQUEUED", STARTED, ENDED, None),  # the attempt before
        ("CANCELLED by 123", "None", ENDED, CANCELLED),
        ("CANCELLED by 123", ENDED, ENDED, CANCELLED),
        ("CANCELLED by 123", STARTED, ENDED, None),
        ("CANCELLED+", STARTED, ENDED, None),
        ("OUT_OF_ME+", STARTED, ENDED, None),
        ("DEADLINE", "None", ENDED, CANCELLED),
        ("REVOKED", "Unknown", ENDED, CANCELLED),
        *((state, STARTED, ENDED, None) for state in ("FAILED", "TIMEOUT", "NODE_FAIL", "PREEMPTED", "BOOT_FAIL")),
        ("", STARTED, "Unknown", RUNNING),
        ("", "Unknown", "Unknown", WAITING),
        ("", "Unknown", ENDED, CANCELLED),
    ],
)
def test_what_became_of_a_job(tmp_path: Path, fields: str, state: str, start: str, end: str, reason: str | None) -> None:
    """With and without Elapsed, which sacct counts up to now for a job that runs; no state is a log without that field."""

    def job(number: int, state: str, start: str, end: str, elapsed: str) -> str:
        values = {"Start": f"{DAY}{start}" if start[:1].isdigit() else start, "State": state, "Elapsed": elapsed}
        values["End"] = f"{DAY}{end}" if end[:1].isdigit() else end
        return "|".join([str(number), f"{DAY}12:00:00", "2", *(values[name] for name in names)])

    names = [name for name in fields.split("|") if state or name != "State"]
    elapsed = "00:00:00" if start != STARTED else "00:01:00" if end == ENDED else "01:00:00"
    rows = [job(1, "COMPLETED", STARTED, ENDED, "00:01:00"), job(2, state, start, end, elapsed)]
    trace = read_trace(text(tmp_path / "jobs.txt", "|".join(["JobID", "Submit", "NCPUS", *names]), *rows))
    assert isinstance(trace, Trace)
    jobs, dropped, _ = trace.jobs()
    assert {reason: count for reason, count in dropped.items() if count} == ({reason: 1} if reason else {})
    assert jobs.service.tolist() == [60] * (1 if reason else 2)


@pytest.mark.parametrize("first", ["Eligible", "Start"])
def test_jobs_that_have_not_arrived(tmp_path: Path, first: str) -> None:
    """Where a log does not say when jobs were submitted, one that is held or waits has no arrival."""
    times = {"COMPLETED": f"{DAY}12:00:00|{DAY}12:01:00", "PENDING": "Unknown|Unknown", "CANCELLED by 7": f"None|{DAY}12:01:00"}
    rows = [f"{n}|2|{state}|{at}" for n, (state, at) in enumerate(times.items())]
    if first == "Eligible":
        rows = [f"{row}|{at.partition('|')[0]}" for row, at in zip(rows, times.values(), strict=True)]
    header = "JobID|NCPUS|State|Start|End" + "|Eligible" * (first == "Eligible")
    trace = read_trace(text(tmp_path / "jobs.txt", header, *reversed(rows)))
    assert isinstance(trace, Trace)
    jobs, dropped, _ = trace.jobs()
    assert jobs.service.tolist() == [60] and dropped[WAITING] == dropped[CANCELLED] == 1
    assert trace.where(0).endswith("row 3")


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        (["JobID|Submit|Elapsed|NCPUS", f"1.batch|{DAY}12:00:00|00:00:10|3"], "only steps of jobs, no job"),
        (["JobID|Submit|Elapsed|State", f"1|{DAY}12:00:00|00:00:10|COMPLETED"], "field AllocTRES is missing"),
        (["JobID|Submit|State|NCPUS", f"1|{DAY}12:00:00|COMPLETED|3"], "field Elapsed is missing"),
        (["JobID|Elapsed|State|NCPUS", "1|00:00:10|COMPLETED|3"], "field Submit is missing"),
        (
            ["JobID|Submit|Elapsed|NCPUS", "1.0|Unknown|1|3", f"2|{DAY}12:00:00|soon|3"],
            "row 2, column Elapsed: 'soon' is no time",
        ),
        (["JobID|Submit|Elapsed|NCPUS", "1.0|Unknown|1|3", "2|Unknown|00:00:10|3"], "row 2, column Submit: is empty"),
        (
            ["JobID|Submit|Elapsed|AllocTRES", f"2|{DAY}12:00:00|00:00:10|cpu"],
            "row 1, column AllocTRES: 'cpu' is no list such as",
        ),
        (["JobID|Submit|Elapsed|NCPUS"], "the file is empty"),
    ],
)
def test_bad_accounting_is_one_line(tmp_path: Path, lines: list[str], problem: str) -> None:
    file = text(tmp_path / "jobs.txt", *lines)
    with pytest.raises(InputError) as error:
        read_trace(file)
    assert str(error.value).startswith(f"{file}: {problem}")


def test_it_is_a_log_of_parallel_jobs(tmp_path: Path) -> None:
    """A capacity of 1 is a core, so orders that count processors know n; with memory the size may be that of another resource."""
    file = text(tmp_path / "jobs.txt", *LOG)
    workload = packenv.workload(file, servers="1x16")
    assert workload.processors == 1
    assert packenv.simulate(workload, "easy:order=f1", drain=True).completed == 3
    assert packenv.workload(file, servers="1x2000", resources="max:cpu,memory").processors is None


def test_amounts() -> None:
    assert [memory_of(amount) for amount in ("16G", "4000M", "512", "1T", "2Gc", "1048576Kn", "much")] == [
        16, 3.90625, 0.5, 1024, 2, 1, None,
    ]  # fmt: skip
    assert [amount_of("cpu=4,gres/gpu:a100=2,gres/gpu:t4=1", name) for name in ("cpu", "gpu", "memory")] == [4, 3, 0]


def test_memory_per_core_or_node(tmp_path: Path) -> None:
    lines = [
        "JobID|Submit|Elapsed|NCPUS|NNodes|ReqMem",
        *(f"{n}|{DAY}12:00:00|00:00:10|8|2|4G{per}" for n, per in enumerate(["", "c", "n"])),
    ]
    trace = read_trace(text(tmp_path / "jobs.txt", *lines), ("memory",))
    assert isinstance(trace, Trace) and trace.demand[:, 0].tolist() == [4, 32, 8]


NODES: dict[str, list[str]] = {
    "scontrol": [
        "NodeName=n1 Arch=x86_64 CoresPerSocket=16", "   CPUAlloc=0 CPUEfctv=32 CPUTot=32 CPULoad=0.01",
        "   Gres=gpu:a100:4(S:0-1)",
        "   RealMemory=65536 AllocMem=0 FreeMem=1", "   CfgTRES=cpu=32,mem=65536M,billing=32,gres/gpu=4", "",
        "NodeName=n2 Arch=x86_64 CPUTot=64 Gres=(null) RealMemory=2048",
    ],
    "sinfo": ["NODELIST CPUS MEMORY GRES", "n1 32 65536 gpu:a100:4", "n1 32 65536 gpu:a100:4", "n2 64 2048 (null)"],
}  # fmt: skip


@pytest.mark.parametrize("printed", NODES)
def test_nodes_as_servers(tmp_path: Path, printed: str) -> None:
    log, nodes = text(tmp_path / "jobs.txt", *LOG), str(text(tmp_path / "nodes.txt", *NODES[printed]))
    options: list[tuple[dict[str, Any], list[list[float]]]] = [
        ({"resources": "cpu,memory,gpu"}, [[32, 64, 4], [64, 2, 0]]),
        ({}, [[32], [64]]),
    ]
    for arguments, capacity in options:
        workload = packenv.workload(str(log), servers=nodes, **arguments)
        assert workload.servers.capacity.tolist() == capacity
    with pytest.raises(InputError, match="machines, not tasks"):
        read_trace(nodes)


@pytest.mark.parametrize(("servers", "remedy"), [("5x32:128", "cpu,memory"), ("5x32:128:4", "cpu,memory,gpu")])
def test_servers_of_several_capacities_name_resources(tmp_path: Path, servers: str, remedy: str) -> None:
    log = str(text(tmp_path / "jobs.txt", *LOG))
    with pytest.raises(InputError, match=f"`servers` {servers}: tasks have one size; use `resources` {remedy} for"):
        packenv.workload(log, servers=servers)
    workload = packenv.workload(log, servers=servers, resources=remedy)
    assert workload.resources == tuple(remedy.split(","))


def test_a_large_log_is_read_in_seconds(tmp_path: Path) -> None:
    rows = []
    for n in range(100_000):
        submit, elapsed = f"{DAY}{n // 3600 % 24:02}:{n // 60 % 60:02}:{n % 60:02}", f"{n % 50}-00:0{n % 10}:1{n % 9}"
        rows.append(f"{n}|ann|cpu|{submit}|{elapsed}|cpu={n % 64 + 1},node=1|COMPLETED")
    file = text(tmp_path / "jobs.txt", "JobID|User|Partition|Submit|Elapsed|AllocTRES|State", *rows)
    began = time.process_time()
    assert len(read_trace(file).jobs().jobs) == 100_000
    assert time.process_time() - began < 5


def test_recorded_waits_stand_beside_simulated_ones(tmp_path: Path) -> None:
    log = text(tmp_path / "jobs.txt", *LOG)  # three jobs, which waited 5, 1 and 0 s
    comparison = packenv.evaluate(str(log), ["fifo-ff"], servers="1x8", drain=True)
    table = next(table for table in comparison.table().tables if "recorded and simulated" in table.title)
    assert [[str(cell) for cell in row] for row in table.rows] == [
        ["as recorded", "2", "1", "5", "5", "–", "–"],
        ["fifo-ff", "4", "2", "10", "10", "–", "0%"],  # the job of 8 cores waits for the first one, and the last one for it
    ]
    assert comparison.rows[0]["recorded"] == {"mean_delay": 2.0, "delay_p50": 1.0, "delay_p95": 5.0, "delay_p99": 5.0}
    assert not comparison.remarks
    empty = packenv.evaluate(str(log), ["fifo-ff"], servers="1x1000", drain=True)
    assert empty.remarks == [  # 4 · 10 + 8 · 60 + 2 · 600 core seconds of 660 · 1,000
        "nothing waits, and at most 0.26% of the servers is busy: too many, or too large (1x1000 is 1 server)"
    ]
    faster = packenv.workload(str(log), servers="1x8", speedup=2)
    assert (
        faster.provenance.recorded_waits is None
        and faster.provenance.notes[-1] == "recorded waits are not shown: with `speedup` tasks come at other times than they did"
    )


@pytest.mark.parametrize("printed", NODES)
def test_nodes_that_take_no_jobs_are_no_servers(tmp_path: Path, printed: str) -> None:
    """Those in maintenance come back by themselves; the others are named."""
    states = {"n3": "MAINT", "n4": "IDLE+DRAIN", "n5": "down*", "n6": "IDLE*", "n7": "PLANNED"}
    if printed == "sinfo":
        lines = ["NODELIST CPUS MEMORY GRES STATE", *(f"{name} 32 2048 (null) {state}" for name, state in states.items())]
    else:
        lines = [f"NodeName={name} CPUTot=32 RealMemory=2048\n   State={state} Reason=x" for name, state in states.items()]
    nodes, log = text(tmp_path / "nodes.txt", *lines), text(tmp_path / "jobs.txt", *LOG)
    workload = packenv.workload(str(log), servers=str(nodes), resources="cpu")
    assert workload.servers.capacity.tolist() == [[32], [32]]
    out = {"nodes that take no jobs: n4 (IDLE+DRAIN), n5 (down*), n6 (IDLE*)": 3}
    assert workload.left_out.items() >= out.items()
    stream = packenv.Workload(sizes=Constant(1), service=Fixed(9), rate=0.1, servers=str(nodes), resources=["cpu"])
    assert stream.left_out == stream.with_(rate=0.2).left_out == out
    text(nodes, *(line for line in lines if "MAINT" not in line and "PLANNED" not in line))
    with pytest.raises(InputError, match="no node takes jobs: n4"):
        packenv.workload(str(log), servers=str(nodes), resources="cpu")


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        (
            ["PARTITION AVAIL  TIMELIMIT  NODES  STATE NODELIST", "cpu*  up  2-00:00:00  3  mix n[1-3]"],
            "sinfo prints no capacities of",
        ),
        (
            ["NODELIST   NODES PARTITION STATE", "n1             1 cpu*      idle"],
            "sinfo prints no capacities of single nodes here",
        ),
        (["NODELIST CPUS MEMORY", "n[1-3] 32 2048"], "'n[1-3]' stands for several nodes, and each needs a line"),
    ],
)
def test_nodes_as_sinfo_prints_them_for_people(tmp_path: Path, lines: list[str], problem: str) -> None:
    log, nodes = str(text(tmp_path / "jobs.txt", *LOG)), str(text(tmp_path / "nodes.txt", *lines))
    with pytest.raises(InputError) as error:
        packenv.workload(log, servers=nodes)
    assert f"{nodes}: {problem}" in str(error.value) and 'scontrol show node does, or sinfo -N -o "%N %c' in str(error.value)


@pytest.mark.parametrize("printed", NODES)
def test_nodes_of_a_partition(tmp_path: Path, printed: str) -> None:
    """A node of several partitions belongs to each; what its list does not say leaves all nodes there."""
    lines = ["NODELIST CPUS MEMORY GRES PARTITION", "n1 32 2048 (null) cpu*", "n2 16 2048 gpu:2 cpu*", "n2 16 2048 gpu:2 gpu"]
    if printed == "scontrol":
        shown = [("n1", 32, "", "cpu"), ("n2", 16, " Gres=gpu:2", "cpu,gpu")]
        lines = [f"NodeName={name} CPUTot={cpus} RealMemory=2048{gpus}\n   Partitions={of}" for name, cpus, gpus, of in shown]
    nodes, log = str(text(tmp_path / "nodes.txt", *lines)), str(text(tmp_path / "jobs.txt", *LOG))
    of_gpus = packenv.workload(log, servers=nodes, partition="gpu", resources="cpu,gpu")
    assert of_gpus.servers.capacity.tolist() == [[16, 2]] and of_gpus.left_out["nodes of other partitions"] == 1
    of_cpus = packenv.workload(log, servers=nodes, partition=["cpu"])
    assert of_cpus.servers.capacity.tolist() == [[32], [16]] and "nodes of other partitions" not in of_cpus.left_out
    assert (
        of_cpus.provenance.notes[-1]
        == "memory and gpu of jobs and nodes are not counted; with `resources` cpu,memory,gpu all count"
    )
    assert of_gpus.servers.names == ("n2",) and of_cpus.servers.names == ("n1", "n2")
    assert of_gpus.with_(servers=nodes) == packenv.workload(of_gpus, servers=nodes) == of_gpus  # as `compare NODES NODES LOG`
    assert "nodes of other partitions" not in of_gpus.with_(servers="2x16:2").left_out
    unsaid = str(text(tmp_path / "unsaid.txt", *NODES[printed]))
    assert len(packenv.workload(log, servers=unsaid, partition="gpu", resources="cpu,gpu").servers) == 2


def test_shares_are_of_the_nodes_of_the_partition(tmp_path: Path) -> None:
    """n1 has 32 cores, n2, of another partition, 4, and n3, which is drained, 4."""
    shown = [("n1", "cpu", "IDLE"), ("n2", "gpu", "IDLE"), ("n3", "gpu", "IDLE+DRAIN")]
    cores = {"cpu": 32, "gpu": 4}
    lines = [f"NodeName={name} CPUTot={cores[of]} RealMemory=2048\n   State={state} Partitions={of}" for name, of, state in shown]
    jobs = [
        row(f"{n}", "ann", f"12:00:0{n} 12:00:0{n} 12:00:0{n} 12:10:0{n}", "00:10:00", "", amounts, amounts, "COMPLETED")
        for n, amounts in enumerate([SMALL, GPU, SMALL, GPU])
    ]
    log, nodes = text(tmp_path / "jobs.txt", HEADER, *jobs), str(text(tmp_path / "nodes.txt", *lines))
    for partition, capacity in ((None, 36), ("gpu", 4), ("cpu", 32)):
        statistics = describe(read_trace(log, partition=partition), servers=nodes)
        busy, of = statistics["servers"], statistics["kept_tasks"]["offered_load"]["cpu"]
        assert busy["share"]["cpu"] == pytest.approx(of / capacity, rel=1e-5)
        elsewhere = {} if partition is None else {"nodes of other partitions": 2 if partition == "cpu" else 1}
        drained = {} if partition == "cpu" else {"nodes that take no jobs: n3 (IDLE+DRAIN)": 1}
        assert busy["left_out"] == drained | elsewhere
        pooled = "jobs of the partitions cpu and gpu go on all nodes; with `partition` cpu only its jobs and nodes count"
        assert (pooled in statistics["notes"]) == (partition is None)


def test_jobs_on_several_nodes_are_read_alike_everywhere(tmp_path: Path) -> None:
    """Gangs of nodes for descriptions and runs; jobs that are left out count once, whatever their nodes."""
    names = "JobID|Submit|Start|End|AllocTRES|NNodes|State"
    ran = [f"{n}|{DAY}12:0{n}:00|{DAY}12:0{n}:00|{DAY}12:30:00|cpu=8|{1 + n % 2}|COMPLETED" for n in range(6)]
    never = [f"7|{DAY}12:07:00|None|Unknown|cpu=8|3|PENDING", f"8|{DAY}12:08:00|{DAY}12:08:00|Unknown|cpu=8|2|RUNNING"]
    never += [f"9|{DAY}12:09:00|None|{DAY}12:10:00|cpu=8|4|CANCELLED"]
    file = str(text(tmp_path / "jobs.txt", names, *ran, *never))
    workload = packenv.workload(file, servers="4x8")
    trace = read_trace(file)
    assert isinstance(trace, Trace) and workload.jobs is not None
    described, alone = describe(trace, servers="4x8"), describe(trace)
    assert (described["kept"], alone["kept"]) == (len(workload.jobs), 6) == (9, 6)
    assert described["gangs"].startswith("3 gangs of 2 tasks") and described["kept_tasks"]["cpu"]["max"] == 8
    left_out = {"cancelled before the start": 1, "waiting": 1, "still running": 1}
    assert described["dropped"] == {reason: n for reason, n in workload.left_out.items() if n} == left_out
    assert set(described["notes"]) >= {note for note in workload.provenance.notes if "several nodes" in note}
    with pytest.raises(InputError, match="use `resources` cpu,"):
        describe(read_trace(CASES / "sacct-pipe.csv"), servers="4x8:32")  # type: ignore[arg-type]


def test_work_of_a_resource_without_servers_is_no_share(tmp_path: Path) -> None:
    names = "JobID|Submit|Start|End|AllocTRES|State"
    rows = [f"{n}|{DAY}12:00:00|{DAY}12:00:00|{DAY}12:30:00|cpu=2,mem=1G|COMPLETED" for n in range(3)]
    rows += [f"4|{DAY}12:00:00|{DAY}12:00:00|{DAY}12:30:00|cpu=2,mem=1G,gres/gpu=2|COMPLETED"]
    file = str(text(tmp_path / "jobs.txt", names, *rows))
    workload = packenv.workload(file, servers="1x8:8:0", resources="cpu,memory,gpu")
    assert workload.label == "jobs.txt without 25% of its tasks and 25% of its work, which fit nowhere"


def test_missing_fields_name_the_option_of_sacct(tmp_path: Path) -> None:
    file = str(text(tmp_path / "jobs.txt", "JobID|Submit|Start|End|NCPUS", f"1|{DAY}12:00:00|{DAY}12:00:00|{DAY}12:30:00|2"))
    with pytest.raises(InputError, match="no field user; add User to sacct's --format"):
        packenv.evaluate(file, ["fifo-ff"], servers="1x8", by="user")
    with pytest.raises(InputError, match="no partitions; add Partition to sacct's --format"):
        packenv.workload(file, servers="1x8", partition="cpu")


def test_everything_in_a_log_is_counted_once(tmp_path: Path) -> None:
    """An array that waits, 3 to 9, is seven jobs; 10, 12, 14 and 20 are four. A job that failed at once lasted 0 s."""
    at = "2026-05-01T00:"
    lines = [
        "JobID|Submit|Start|End|AllocCPUS|State",
        f"1|{at}00:00|{at}00:00|{at}10:00|4|COMPLETED",
        f"1.batch|{at}00:00|{at}00:00|{at}10:00|4|COMPLETED",
        f"2|{at}02:00|{at}10:00|{at}10:00|4|FAILED",
        f"6_[3-9%2]|{at}03:00|Unknown|Unknown|4|PENDING",
        f"7_[10-14:2,20]|{at}03:00|Unknown|Unknown|4|PENDING",
    ]
    found = describe(read_trace(text(tmp_path / "log.txt", *lines)))
    assert found["dropped"] == {"steps of jobs": 1, "waiting": 11, "duration missing or <= 0": 1}
    assert (found["rows"], found["kept"], found["no_tasks"]) == (13, 1, {"steps of jobs": 1})
    printed = CliRunner().invoke(trace_command, ["describe", str(tmp_path / "log.txt")]).output
    assert "log.txt: 13 tasks, 1 can be simulated; left out: 11 waiting, 1 duration missing or <= 0\n" in printed
    assert "not counted as tasks: 1 step of jobs\n" in printed


@pytest.mark.parametrize(
    ("resources", "problem"),
    [
        ("all", "packenv reads a node's GPUs in this format as one amount"),
        ("cpu", "no GPUs of its tasks are counted; `resources` all counts them, if there are any"),
        ("gpu", "gpu is its only resource; `resources` all counts others too"),
    ],
)
def test_devices_of_slurm_are_refused_with_the_reason(tmp_path: Path, resources: str, problem: str) -> None:
    file = text(tmp_path / "jobs.txt", *LOG)
    servers = "9x64:2048:8" if resources == "all" else "9x64"
    with pytest.raises(InputError, match=f"`devices` does not go with {file}: {problem}"):
        packenv.workload(file, servers=servers, resources=resources, devices=True)
