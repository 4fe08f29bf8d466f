"""`packenv evaluate --by-size`: delays by size class, in its table and its records."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from packenv.runs.size_classes import delay_by_size
from packenv.simulation import simulate
from packenv.units import UNIT
from packenv.workloads.find import workload
from tests.cli.evaluating import evaluate


def test_two_sizes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The same numbers as from a table of the run's own tasks, with a class for each size."""
    out = tmp_path / "out.json"
    evaluate(
        "paper/fig3a",
        "--intensity",
        0.6,
        "-p",
        "bf-js",
        "-p",
        "easy",
        "--seeds",
        2,
        "--slots",
        20_000,
        "--by-size",
        "--json",
        out,
    )
    assert "p99.9" in capsys.readouterr().out
    runs, summaries = json.loads(out.read_text())[:4], json.loads(out.read_text())[4:]
    for run in runs:
        own = workload("paper/fig3a", intensity=0.6).tabulated(run["seed"], 20_000)
        again = simulate(own, run["policy"], slots=20_000, seed=run["seed"], warmup=2_000, schedule=True)
        assert own.jobs is not None and again.schedule is not None
        size = own.jobs.demand[:, 0]
        expected = {
            f"{each.up_to / UNIT:.4g}": {
                "tasks": each.tasks,
                "mean_delay": each.mean_delay,
                "delay_p999": each.delay_p999,
                "max_delay": each.max_delay,
            }
            for each in delay_by_size(own.jobs, again.schedule, size, 2_000)
        }
        assert run["by_size"] == expected and [*expected] == ["0.4", "0.6"]
    largest = [run["by_size"]["0.6"]["max_delay"] for run in runs[:2]]
    assert summaries[0]["by_size"]["0.6"]["max_delay"] == pytest.approx(sum(largest) / 2)
    assert summaries[0]["by_size"]["0.6"]["interval"]["max_delay"] > 0


def test_classes_of_the_first_run_are_those_of_all(tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    evaluate(
        "paper/fig4b", "--intensity", 0.5, "-p", "bf-js", "-p", "vqs", "--seeds", 3, "--slots", 5_000, "--by-size", "--json", out
    )
    classes = [tuple(record["by_size"]) for record in json.loads(out.read_text())]
    assert len(set(classes)) == 1 and len(classes[0]) == 4


@pytest.mark.parametrize("unit", [1, 1000, 2**30])
def test_a_size_of_several_resources_is_a_share_of_the_largest_server(unit: int, tmp_path: Path) -> None:
    """Whatever the unit of memory is. The first task, of 1 and 1/8 of the server, makes 1/4 and 1/8, and 1/8 and 1/2 wait."""
    rows = [(32, 16), (8, 16), (4, 64)]
    table = [f"0,{cores},{memory * unit},10" for cores, memory in rows]
    (tmp_path / "jobs.csv").write_text("\n".join(["submit_time_s,cpu,memory,duration_s", *table]))
    words = ("--servers", f"1x32:{128 * unit}", "--resources", "all", "--slot-seconds", 1, "-p", "fifo-ff", "--by-size")
    evaluate(tmp_path / "jobs.csv", *words, "--drain", "--json", tmp_path / "out.json")
    run = json.loads((tmp_path / "out.json").read_text())[0]
    assert [*run["by_size"]] == ["0.25", "0.5", "1"]
    assert run["mean_waiting_size"] == 10 * (1 / 4 + 1 / 2) / 20
    assert run["verdict"] is run["confidence"] is None  # its work ends


def test_no_arrivals_of_their_own(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        evaluate("paper/fig4b", "--backlog", 10, "--by-size")
    assert ended.value.code == 2
    assert "--by-size needs arrival times, and --backlog has none" in capsys.readouterr().err
