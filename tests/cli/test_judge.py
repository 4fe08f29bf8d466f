"""`packenv judge`: what it writes, going on after a kill, and bad input."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import packenv
from packenv.cli.main import main
from packenv.errors import InputError
from packenv.runs.keys import keys_of
from packenv.runs.log import RunLog
from packenv.runs.many import run_of
from packenv.theory.stability.judge import PlannedRun

ROOT = Path(packenv.__file__).parents[1]
QUICK = ("paper/fig3a", "-p", "bf-js", "-p", "vqs", "--seeds", "2", "--width", "0.2", "--processes", "1")


def judged(folder: Path, *more: str, name: str = "judged.json") -> list[dict[str, object]]:
    main(["judge", *QUICK, "--json", str(folder / name), *more])
    return json.loads((folder / name).read_text())


def test_records_table_and_plot(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    best_fit, vqs = judged(tmp_path, "--plot", str(tmp_path / "judged.png"))
    assert (best_fit["policy"], vqs["policy"]) == ("bf-js", "vqs")
    assert best_fit["low"] > vqs["high"] - 0.01
    assert (best_fit["half"], best_fit["two_thirds"], vqs["half"]) == ("held", "not claimed", "held")
    assert vqs["rho"] == [2.0, 2.0]
    assert vqs["evidence"][0].keys() == {"load", "verdict", "slots", "seeds", "mean_queue"}
    assert vqs["evidence"][0]["verdict"].keys() == {"kind", "confidence", "drift", "level"}
    assert (tmp_path / "judged.png").read_bytes().startswith(b"\x89PNG")
    out = capsys.readouterr().out
    assert "not claimed" in out
    assert "vqs: at least 0.667 on" in out and "bf-js: at least" not in out  # the bound of the program over K_RED
    assert best_fit["proved"] is None and vqs["proved"] == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("--width", "89mm"), "'89mm' is not a number; a picture's width is --plot-width"),
        (("--width", "3.5"), "--plot-width is for pictures"),
        (("--plot-width", "89mm"), "a width and --no-title need a picture: give --plot too\n"),
        (
            ("--tasks", "200000"),
            "--tasks must be at least 2,560,000, the length of the longest runs, not 200,000; for a quick",
        ),
    ],
)
def test_refused(words: tuple[str, ...], problem: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["judge", "paper/fig3a", "-p", "bf-js", "--processes", "1", *words])
    assert problem in capsys.readouterr().err


@pytest.mark.slow
def test_goes_on_after_a_kill(tmp_path: Path) -> None:
    """Killed in the middle, with its last line cut short: started again, it says the same and runs nothing twice."""
    log = tmp_path / "log.jsonl"
    command = [sys.executable, "-m", "packenv.cli.main", "judge", *QUICK, "--log", str(log)]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and (not log.exists() or log.read_text().count("\n") < 3):
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    done = log.read_text().count("\n")
    assert done >= 3
    with log.open("a") as file:
        file.write('{"run": "cut sh')
    resumed = judged(tmp_path, "--log", str(log), name="resumed.json")
    lines = log.read_text().splitlines()
    assert len({json.loads(line)["run"] for line in lines}) == len(lines) > done
    assert resumed == judged(tmp_path, name="at-once.json")


def test_the_key_names_all_that_matters() -> None:
    run = PlannedRun(packenv.resolved(packenv.workload("paper/fig3a", load=0.5)), "vqs", 1000, 0)
    other = [
        run._replace(seed=1),
        run._replace(slots=1001),
        run._replace(policy="vqs-bf"),
        run._replace(workload=packenv.resolved(packenv.workload("paper/fig3a", load=0.6))),
        run._replace(workload=packenv.resolved(packenv.workload("paper/fig3b", load=0.5))),
    ]
    assert len(set(keys_of([*map(run_of, [run, *other])]))) == 6
    assert keys_of([run_of(run)]) == keys_of([run_of(run._replace())])


def test_a_damaged_log_is_named(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text("nonsense\n")
    with pytest.raises(InputError, match=r"log\.jsonl, line 1"):
        RunLog(path)


@pytest.mark.parametrize(
    "arguments, message",
    [
        (("judge", "paper/fig3a", "-p", "vqz"), "unknown policy 'vqz'"),
        (("judge", "paper/fig9"), "unknown workload 'paper/fig9'"),
        (("judge", "paper/fig3a", "--width", "0"), "--width of the interval must lie between 0 and 1, not 0"),
        (("judge", "paper/fig3a", "--plot", "x.txt"), "a plot is one of"),
        (("judge", "paper/fig3a", "--log", "/no/such/folder/log"), "its folder does not exist"),
    ],
)
def test_bad_input(arguments: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(list(arguments))
    assert left.value.code == 2
    error = capsys.readouterr().err.strip()
    assert message in error
    assert "\n" not in error
