"""What is said while something takes long, where standard error is no terminal."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from packenv.compiled.announcement import MARK
from packenv.runs import progress


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("PACKENV_QUIET", raising=False)
    monkeypatch.setattr(progress, "PATIENCE", 0.05)
    monkeypatch.setattr(progress, "AGAIN", 0.1)
    monkeypatch.setattr(progress, "base", lambda: tmp_path)  # what other tests compile meanwhile is not seen


def said(capfd: pytest.CaptureFixture[str], lines: int) -> list[str]:
    """The lines on standard error, once there are so many."""
    text, deadline = "", time.monotonic() + 30
    while text.count("\n") < lines and time.monotonic() < deadline:
        time.sleep(0.01)
        text += capfd.readouterr().err
    return text.splitlines()


def test_it_is_said_again_and_again(capfd: pytest.CaptureFixture[str]) -> None:
    with progress.announce_if_slow("compiling"):
        lines = said(capfd, 4)
    assert lines[0] == "packenv: compiling …"
    assert len(lines) >= 4 and all("s so far" in line for line in lines[2:])


def test_nothing_is_said_once_something_is_compiled(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    with progress.announce_if_slow("preparing"):
        before = said(capfd, 1)
        (tmp_path / MARK).touch()
        capfd.readouterr()
        time.sleep(0.3)
    assert before[0] == "packenv: preparing …"
    assert capfd.readouterr().err == ""


def test_what_is_quick_is_not_announced(capfd: pytest.CaptureFixture[str]) -> None:
    with progress.announce_if_slow("compiling"), progress.progress_bar(lambda: "runs", 4, lambda: 2):
        pass
    assert capfd.readouterr().err == ""


def test_a_bar_is_lines_where_there_is_no_terminal(capfd: pytest.CaptureFixture[str]) -> None:
    done = iter(range(1, 100))
    with progress.progress_bar(lambda: "4 runs", 4, lambda: min(next(done), 4)):
        lines = said(capfd, 2)
    assert lines[:2] == ["packenv: 4 runs: 25 %", "packenv: 4 runs: 50 %"]


def test_nothing_is_said_after_the_end(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(KeyError), progress.announce_if_slow("compiling"):
        raise KeyError
    time.sleep(0.2)
    assert capfd.readouterr().err == ""


def test_quiet(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PACKENV_QUIET", "1")
    with progress.announce_if_slow("compiling"), progress.progress_bar(lambda: "runs", 2, lambda: 1.0):
        time.sleep(0.3)
    assert capfd.readouterr().err == ""
