"""The scripts of `baselines/`, with few slots and jobs: they run, and agents do what the simulator does."""

from __future__ import annotations

import csv
import importlib
import shutil
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "baselines"
SMALL: dict[str, dict[str, int]] = {
    "random_requirements": {"slots": 2_000, "played_slots": 300},
    "tetris": {"jobs": 10, "played_jobs": 3},
    "price": {"seeds": 1},
    "eagle": {"jobs": 60, "played_tasks": 12},
    "delay": {"jobs": 10, "played_jobs": 3},
}
LONG = ("tetris", "delay")


@pytest.fixture
def scripts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(FOLDER)


@pytest.mark.slow  # whole scripts
@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.minutes) if name in LONG else name for name in SMALL])
def test_a_script_prints_its_table_and_its_agents_follow_the_simulator(
    name: str, scripts: None, capsys: pytest.CaptureFixture[str]
) -> None:
    script: Any = importlib.import_module(name)
    assert Path(script.__file__).parent == FOLDER
    assert all(script.main(**SMALL[name]))
    printed = capsys.readouterr().out
    assert all(policy in printed for policy in script.POLICIES)
    assert script.EXPLAINED in printed


def test_the_comparison_can_fail(scripts: None) -> None:
    import packenv

    playing: Any = importlib.import_module("playing")
    workload = packenv.workload("paper/fig4b", intensity=0.9)
    run = packenv.simulate(workload, "bf-s", slots=300, schedule=True)
    assert not playing.same_schedule(run, playing.play("Placement", workload, "vqs", 300, 0, rule="head"))


@pytest.mark.slow  # a whole script
def test_the_table_is_written(scripts: None, tmp_path: Path) -> None:
    table: Any = importlib.import_module("table")
    shutil.copy(FOLDER / "README.md", tmp_path)
    (tmp_path / "README.md").write_text(f"before {table.BEGIN} old {table.END} after")
    table.main(tmp_path, slots=2_000, jobs=60, seeds=1)
    written = (tmp_path / "README.md").read_text()
    assert written.startswith("before ") and written.endswith(" after") and " old " not in written
    with (tmp_path / "results" / "baselines.csv").open() as file:
        records = list(csv.DictReader(file))
    assert {f"`{record['name']}`" for record in records} == {
        line.split(" | ")[0][2:] for line in written.split("\n") if "`" in line
    }
    assert all(float(record["seed 0"]) >= 0 for record in records)


def test_the_table_of_the_readme_is_that_of_the_results() -> None:
    """Written by one command, and never by hand: the names in one are the names in the other."""
    with (FOLDER / "results" / "baselines.csv").open() as file:
        names = [record["name"] for record in csv.DictReader(file)]
    shown = [
        line.split("`")[1] for line in (FOLDER / "README.md").read_text().split("<!-- table -->")[1].splitlines() if "`" in line
    ]
    assert shown == names
