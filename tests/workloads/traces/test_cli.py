"""`packenv trace` through Click's runner."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from packenv.cli.trace import trace
from packenv.errors import InputError
from packenv.report.workload_charts import requests
from packenv.workloads.traces import read_trace
from packenv.workloads.workload import load_workload
from tests.workloads.traces.samples import INSTANCES, JOB_LINES, PODS, SWF, WORKFLOW, native_folder, text


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
