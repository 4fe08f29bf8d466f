"""The line that counts the functions being compiled."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from packenv.compiled import announcement as rules
from packenv.compiled.announcement import MANY, Announcement, count_one


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(rules.QUIET, raising=False)
    for name, seconds in {"PATIENCE": 0.04, "TICK": 0.01, "PAUSE": 0.05, "FORGET": 0.2}.items():
        monkeypatch.setattr(rules, name, seconds)


def compile_some(one: Announcement, folder: Path, functions: int, seconds: float) -> None:
    for number in range(functions):
        one.begin(number, folder)
        count_one(folder)
        time.sleep(seconds)
        one.end(number)


def test_one_line_for_all(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, other = Announcement(), Announcement()
    for each in (one, other):
        each.expect(tmp_path, MANY)
        compile_some(each, tmp_path, 1, 0.15)
    assert capsys.readouterr().err == f"packenv: compiling 1 of {MANY} functions, once for this version …\n"


def test_what_is_quick_is_not_said(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules, "PATIENCE", 10.0)
    compile_some(Announcement(), tmp_path, 1, 0.01)
    time.sleep(0.1)
    assert capsys.readouterr().err == ""


def test_what_is_not_expected_is_said_if_it_is_slow(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    compile_some(Announcement(), tmp_path, 1, 0.3)
    assert capsys.readouterr().err == "packenv: compiling 1 function, once for this version …\n"


def test_quiet(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(rules.QUIET, "1")
    compile_some(Announcement(), tmp_path, 1, 0.2)
    assert capsys.readouterr().err == ""


def test_a_terminal_sees_it_count_and_go(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rules, "_on_terminal", lambda: True)
    one = Announcement()
    one.expect(tmp_path, MANY)
    compile_some(one, tmp_path, 3, 0.3)
    watcher: Any = one.watcher
    watcher.join(10)
    *lines, blank, end = capsys.readouterr().err.split("\r")
    assert "\n" not in "".join(lines) and blank.strip() == "" and end == ""
    assert [f"{number} of {MANY}" in lines[-1] for number in (2, 3)] == [False, True] and f"1 of {MANY}" in lines[1]


def test_standard_error_may_be_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr", None)
    one = Announcement()
    compile_some(one, tmp_path, 1, 0.1)
    assert one.watcher is not None
    one.watcher.join(10)
    assert not one.watcher.is_alive()
