"""`packenv trace` through Click's runner."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import packenv
from packenv.cli.trace import trace
from packenv.errors import InputError
from packenv.report.workload_charts import requests
from packenv.workloads.traces import read_trace
from packenv.workloads.workload import load_workload
from tests.workloads.traces.samples import INSTANCES, JOB_LINES, PODS, SPOT_JOBS, SWF, WORKFLOW, native_folder, text


def run(*arguments: object) -> str:
    result = CliRunner().invoke(trace, [str(argument) for argument in arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


@pytest.fixture
def busy(tmp_path: Path) -> Path:
    random = np.random.default_rng(0)
    rows = zip(
        np.sort(random.uniform(0, 3600, 400)), random.exponential(60, 400) + 1, random.choice([0.1, 0.2], 400), strict=True
    )
    return text(tmp_path / "busy.csv", "submit_time_s,duration_s,cpu", *(f"{a:.3f},{d:.3f},{c}" for a, d, c in rows))


def test_convert(tmp_path: Path) -> None:
    out, report = tmp_path / "out.parquet", tmp_path / "report.json"
    output = run(
        "convert", native_folder(tmp_path / "google"), out, "--speedup", "1.3", "--resources", "cpu,memory", "--json", report
    )
    assert "3 tasks written to" in output
    assert "2 in the initial snapshot" in output
    assert read_trace(out).jobs().jobs.arrival.tolist() == [0, 0, 3]
    found = json.loads(report.read_text())
    assert (found["tasks"], found["resources"], found["last_arrival"], found["t0_us"]) == (3, 2, 3, 1_000_000)
    assert pq.read_schema(out).names == ["arrival", "cpu", "memory", "service", "job"]
    assert "4 tasks written" in run("convert", tmp_path / "google", out, "--all-tasks")


SLURM = [
    "JobID|Submit|Start|End|AllocTRES|NNodes|State",
    "1|2026-05-01T00:00:00|2026-05-01T00:00:00|2026-05-01T01:00:00|cpu=6|1|COMPLETED",
    "2|2026-05-01T00:00:00|2026-05-01T00:00:00|2026-05-01T01:00:00|cpu=6|1|COMPLETED",
    "3|2026-05-01T00:01:00|2026-05-01T00:01:00|2026-05-01T00:11:00|cpu=4|2|COMPLETED",  # two cores on each of two nodes
    "4+0|2026-05-01T00:02:00|2026-05-01T01:00:00|2026-05-01T01:10:00|cpu=8|1|COMPLETED",
    "4+1|2026-05-01T00:02:00|2026-05-01T01:00:00|2026-05-01T01:10:00|cpu=8|1|COMPLETED",
]
WORKERS = ["submit_time_s,duration_s,cpu,workers", "3,10,2,2", "0,10,3,1", "0,10,5,3"]
IN_JOBS = ["arrival,service,size,job,gang", "0,3,.5,x,a", "0,3,.5,x,a", "0,3,.5,y,", "1,2,.5,y,"]


def test_a_converted_slurm_log_waits_as_the_log(tmp_path: Path) -> None:
    """By hand: jobs 1 and 2 leave two cores on each node, where job 3 starts at once; job 4 needs both nodes, from 1 h on."""
    file, out = text(tmp_path / "log.txt", *SLURM), tmp_path / "out.csv"
    assert "1 job on several nodes: each is a gang of a task for each node" in run("convert", file, out, "--resources", "cpu")
    for source in (file, out):
        compared = packenv.evaluate(
            source, policies=["fifo-ff"], servers="2x8", slot_seconds=1, drain=True, resources="cpu", schedule=True
        )
        schedule = compared.all_runs[0].schedule
        assert schedule is not None and schedule.start.tolist() == [0, 0, 60, 60, 3600, 3600]
        assert compared.rows[0]["mean_delay"] == 58 * 60 / 4
    assert "each is one task" in run("convert", file, out, "--resources", "cpu", "--one-by-one")
    alone = read_trace(out).jobs().jobs
    assert alone.gang is None and alone.amounts[:, 0].tolist() == [6, 6, 4, 8, 8]
    run("convert", text(tmp_path / "jobs.csv", "arrival,service,size,job", "0,1,.5,x", "0,1,.5,x", "1,1,.5,x"), out, "--gangs")
    together = read_trace(out).jobs().jobs.gang
    assert together is not None and together[0] == together[1] != together[2]


@pytest.mark.parametrize(
    ("lines", "name", "servers"),
    [
        (SLURM, "log.txt", "2x8"),
        (WORKERS, "workers.csv", "3x8"),
        (IN_JOBS, "jobs.csv", "2"),
        (SPOT_JOBS, "spot.csv", "4x128:8"),
        (SWF, "log.swf", "2x1"),
        (JOB_LINES, "jobs.tr", "2"),
        (WORKFLOW, "flow.csv", "4"),
    ],
)
def test_a_converted_trace_is_the_same_workload(tmp_path: Path, lines: list[str], name: str, servers: str) -> None:
    """Tasks, jobs, gangs and links of every form; single GPUs are lost, with a line."""
    file, out = text(tmp_path / name, *lines), tmp_path / "out.parquet"
    output = run("convert", file, out)
    before = packenv.workload(file, servers=servers, devices=None if name != "spot.csv" else False)
    after = packenv.workload(out, servers=servers, slot_seconds=before.slot_seconds)
    assert before.jobs is not None and after.jobs is not None
    for column in ("arrival", "amounts", "service", "estimate"):
        assert np.array_equal(getattr(after.jobs, column), getattr(before.jobs, column)), column
    for column in ("job", "gang"):
        ours, theirs = getattr(before.jobs, column), getattr(after.jobs, column)
        assert (ours is None) == (theirs is None), column
        if ours is not None:  # the same tasks together, whatever the numbers
            alike = (ours[:, None] == ours) & (ours >= 0)
            assert np.array_equal((theirs[:, None] == theirs) & (theirs >= 0), alike), column
    assert ("single GPUs and their kinds are lost" in output) == (name == "spot.csv")


@pytest.mark.parametrize(
    ("lines", "name", "resources", "first"),
    [
        (PODS, "pods.csv", "all", "4 tasks, 3 can be simulated; left out: 1 never scheduled"),
        (INSTANCES, "dlrm.csv", "cpu,disk", "6 tasks, 2 in the initial snapshot, 4 submitted, 2 can be simulated"),
        (SWF, "log.swf", "max", "8 tasks, 5 can be simulated; left out: "),
        (JOB_LINES, "jobs.tr", "max", "8 tasks, 7 can be simulated; left out: "),
        (WORKFLOW, "flow.csv", "max:cpu", "4 tasks, all 4 can be simulated"),
    ],
)
def test_every_form(tmp_path: Path, lines: list[str], name: str, resources: str, first: str) -> None:
    file = text(tmp_path / name, *lines)
    output = " ".join(run("describe", file, "--resources", resources).split())
    assert first in output
    assert ("capacity 1: " in output) == (lines is not WORKFLOW)
    kept = int(first.split(" can be")[0].split()[-1])
    for out in ("out.parquet", "out.csv.gz"):
        assert f"{kept} tasks written" in run("convert", file, tmp_path / out, "--resources", resources, "--slot-seconds", 1)
        jobs = read_trace(tmp_path / out).jobs(sizes="all").jobs
        assert (len(jobs), jobs.resources) == (kept, {"all": 3, "cpu,disk": 2}.get(resources, 1))
    assert (jobs.predecessors is not None) == (jobs.phase is not None) == (jobs.home is not None) == (lines is WORKFLOW)


def test_describe_and_figure(tmp_path: Path) -> None:
    folder = native_folder(tmp_path / "google")
    output = run("describe", folder, "--json", tmp_path / "d.json", "--plot", tmp_path / "f.png")
    counts = "9 tasks, 2 in the initial snapshot, 7 submitted, 3 can be simulated"
    for part in (counts, "Distinct demands", "Offered load", "Correlation"):
        assert part in output
    assert json.loads((tmp_path / "d.json").read_text())["kept"] == 3
    assert (tmp_path / "f.png").read_bytes().startswith(b"\x89PNG")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["d.json", "f.png", "google"]


def test_describe_of_slots(tmp_path: Path) -> None:
    file = text(tmp_path / "a.csv", "arrival,size,service", "0,0.5,10", "20,0.25,10")
    assert "2 tasks, all 2 can be simulated" in run("describe", file, "--slot-seconds", "0.5")


def test_figure_levels() -> None:
    level, tasks = requests(np.array([0.5, 0.25, np.nan, 0.5]))
    assert (level.tolist(), tasks.tolist()) == ([0.25, 0.5], [1, 2])


def test_profile(tmp_path: Path, busy: Path) -> None:
    out, report = tmp_path / "workload.json", tmp_path / "profile.json"
    output = run("profile", busy, "--servers", 9, "--out", out, "--json", report, "--about", "made up")
    assert "Kolmogorov-Smirnov distance" in output
    workload = load_workload(out)
    assert (workload.name, len(workload.servers), workload.slot_seconds) == ("busy-like", 9, 0.1)
    assert load_workload(report) == workload
    assert json.loads(report.read_text())["about"].startswith("made up The workload is made of statistics only.")


def test_profile_of_jobs_on_several_nodes(tmp_path: Path) -> None:
    """Job 3 counts as two tasks of two cores."""
    file, report = text(tmp_path / "log.txt", *SLURM), tmp_path / "profile.json"
    output = run("profile", file, "--servers", "2x8", "--resources", "cpu", "--json", report)
    assert "1 job on several nodes" in output and "gangs are not kept" in output
    kept = json.loads(report.read_text())["statistics"]
    assert kept["kept"] == 6 and kept["kept_tasks"]["cpu"]["min"] == 2
    result = CliRunner().invoke(trace, ["profile", str(file), "--servers", "2x1", "--resources", "cpu"])
    assert str(result.exception).startswith(f"{file}: a demand of ")


@pytest.mark.parametrize("command", ["convert", "describe", "profile"])
def test_help(command: str) -> None:
    assert "--json FILE" in run(command, "--help")


def test_bad_input_is_one_line(tmp_path: Path) -> None:
    file = text(tmp_path / "a.csv", "arrival,size,service", "0,0.5,ten")
    for arguments in (["describe", file], ["convert", file, tmp_path / "b.csv"], ["profile", file]):
        with pytest.raises(InputError) as error:
            run(*arguments)
        assert str(error.value) == f"{file}: row 1, column service: 'ten' is not a number"
    assert not (tmp_path / "b.csv").exists()
    good = text(tmp_path / "good.csv", "arrival,size,service", "0,0.5,10", "1,0.5,10")
    with pytest.raises(InputError, match=r"a plot is one of .png, .pdf, .svg"):
        run("describe", good, "--plot", tmp_path / "a.txt")
