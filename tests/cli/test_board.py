"""`--tensorboard`: what TensorBoard reads back, names of runs, and no TensorBoard at all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import packenv
from packenv.cli.main import main
from packenv.runs import tensorboard as board
from packenv.runs.measured import measured
from packenv.runs.tensorboard import plain_name, write_tensorboard

pytest.importorskip("tensorboard")


def read(folder: Path) -> Any:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    found = EventAccumulator(str(folder), size_guidance={"scalars": 0})
    found.Reload()
    return found


def test_evaluate_writes_means_over_the_seeds(tmp_path: Path) -> None:
    folder = tmp_path / "runs"
    words = (
        "paper/fig4b",
        "--intensity",
        "0.8",
        "--slots",
        "40000",
        "--seeds",
        "2",
        "--processes",
        "1",
        "-p",
        "bf-js",
        "-p",
        "vqs:J=4",
    )
    main(["evaluate", *words, "--tensorboard", str(folder)])
    place = folder / "fig4b at 0.8"
    assert {path.name for path in place.iterdir()} == {"bf-js", "vqs J=4"}
    found = read(place / "bf-js")
    assert set(found.Tags()["scalars"]) == {
        *("cluster/mean queue", "cluster/waiting size", "cluster/delay", "cluster/utilisation"),
        *("result/mean queue", "result/delay 95 %"),
    }
    workload = packenv.workload("paper/fig4b", intensity=0.8)
    results = [packenv.simulate(workload, "bf-js", 40_000, seed) for seed in (0, 1)]
    queue = found.Scalars("cluster/mean queue")
    steps = [event.step for event in queue]
    assert 50 <= len(steps) <= 200 and steps == [steps[0] * (n + 1) for n in range(len(steps))] and steps[-1] <= 40_000
    together = steps[0] // results[0].trajectory.bin_slots
    for path, tag in (("queue", "mean queue"), ("waiting_size", "waiting size")):
        means = np.mean([getattr(result.trajectory, path) for result in results], axis=0)
        expected = means[: len(steps) * together].reshape(-1, together).mean(axis=1)
        assert [event.value for event in found.Scalars(f"cluster/{tag}")] == pytest.approx(expected, rel=1e-4)
    (whole,) = found.Scalars("result/mean queue")
    assert whole.step == 40_000 and whole.value == pytest.approx(np.mean([result.mean_queue for result in results]))  # type: ignore[arg-type]


def test_leaderboard_writes_a_run_for_each_contest_and_policy(tmp_path: Path) -> None:
    words = ("-w", "paper/fig3a@rate=0.014", "-w", "paper/fig4b@0.9,servers=10", "-p", "bf-js", "--slots", "5000", "--seeds", "2")
    main(["leaderboard", *words, "--no-judge", "--processes", "1", "--tensorboard", str(tmp_path)])
    files = sorted(path.relative_to(tmp_path) for path in tmp_path.rglob("events*"))
    assert [str(file.parent) for file in files] == ["fig3a at rate 0.014/bf-js", "fig4b, 10 servers at 0.9/bf-js"]


def test_a_name_that_is_taken_gets_a_number(tmp_path: Path) -> None:
    run = measured(packenv.simulate(packenv.workload("paper/fig3a"), "bf-js", 3000))
    (tmp_path / "PPO_1").mkdir()  # another's runs are left alone
    places = [write_tensorboard(str(tmp_path), "paper/fig3a at 0.7", "bf-js", [run]).name for _ in range(3)]
    assert places == ["bf-js", "bf-js-2", "bf-js-3"]
    assert all(len([*path.iterdir()]) == 1 for path in (tmp_path / "fig3a at 0.7").iterdir())


def test_a_run_that_measured_nothing(tmp_path: Path) -> None:
    result = packenv.simulate(packenv.workload("paper/fig4b", intensity=2), "fifo-ff", 100_000, waiting_limit=20)
    found = read(write_tensorboard(str(tmp_path), "over", "fifo-ff", [measured(result)]))
    assert "result/mean queue" not in found.Tags()["scalars"] and found.Scalars("cluster/mean queue")


@pytest.mark.parametrize(
    "name, folder",
    [
        ("agent:fig4b", "agent fig4b"),
        ("agent:../runs/a.b", "agent ..-runs-a.b"),
        ("vqs:J=4,stall", "vqs J=4,stall"),
        ("..", "run"),
    ],
)
def test_names_of_folders(name: str, folder: str) -> None:
    assert plain_name(name) == folder


@pytest.mark.parametrize("command", ["evaluate", "leaderboard"])
def test_no_tensorboard(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(board, "tensorboard_is_installed", lambda: False)
    with pytest.raises(SystemExit) as left:
        main([command, "--tensorboard", str(tmp_path / "runs")])
    assert left.value.code == 2
    error = capsys.readouterr().err
    assert "pip install tensorboard" in error and error.count("\n") == 1
    assert not (tmp_path / "runs").exists()
