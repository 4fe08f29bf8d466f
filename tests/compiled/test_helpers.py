"""Helper processes: they compile what is needed, they end with the process that started them, and they are not always there."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from packenv.compiled import helpers
from packenv.compiled.helpers import MOST, PROCESSES, most_helpers
from tests.compiled.test_cache import ROOT

fcntl = pytest.importorskip("fcntl", reason="there are no such locks here, and so no helpers")

# No guard: a helper must not run this file again. `cores` stands for a machine with two.
SCRIPT = """
import os, sys
print("begun", flush=True)
os.sched_getaffinity = lambda process: {0, 1}
import packenv
from packenv.compiled import helpers
offer = helpers.offer
def then():
    offer()
    print(*[helper.pid for helper in helpers._helpers], flush=True)
import packenv.compiled.decorators
packenv.compiled.decorators.offer = then
packenv.simulate(packenv.workload("paper/fig4b"), "bf-js", 20_000)
print("compiled", len([*helpers.base().rglob("*.nbc")]))
"""


@pytest.fixture(autouse=True)
def one_core(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (PROCESSES, "PYTEST_XDIST_WORKER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(8)), raising=False)


def test_how_many(monkeypatch: pytest.MonkeyPatch) -> None:
    assert most_helpers() == MOST
    monkeypatch.setenv(PROCESSES, "2")
    assert most_helpers() == 2
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {3}, raising=False)
    assert most_helpers() == 0
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0, 1}, raising=False)
    assert most_helpers() == 1
    monkeypatch.setenv(PROCESSES, "0")
    assert most_helpers() == 0


def test_none_in_a_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(multiprocessing, "parent_process", lambda: "somebody")
    assert most_helpers() == 0
    monkeypatch.setattr(helpers, "_allowed", 1)
    assert most_helpers() == 1
    monkeypatch.setenv("PYTEST_XDIST_WORKER", "gw0")
    assert most_helpers() == 0


def start(folder: Path) -> subprocess.Popen[str]:
    (folder / "script.py").write_text(SCRIPT)
    environment = os.environ | {"PACKENV_CACHE": str(folder / "cache"), "PYTHONPATH": str(ROOT), "PACKENV_QUIET": ""}
    pipes: Any = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen([sys.executable, "script.py"], cwd=folder, env=environment, **pipes)


def is_running(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.slow  # it begins to compile a policy with an empty cache: what is tested happens only then
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="says whether a process runs by /proc")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT, pytest.param(None, marks=pytest.mark.minutes)])
def test_they_help_and_end(tmp_path: Path, how: signal.Signals | None) -> None:
    process = start(tmp_path)
    assert process.stdout is not None
    assert process.stdout.readline() == "begun\n"
    (helper,) = map(int, process.stdout.readline().split())
    assert is_running(helper)
    if how is None:
        out, err = process.communicate(timeout=120)
        *_, last = out.splitlines()
        assert "begun" not in out and last.startswith("compiled")
        assert err == "packenv: compiling 1 of 18 functions, once for this version …\n"
    else:
        time.sleep(1)  # the helper compiles, or is about to
        process.send_signal(how)
        process.communicate(timeout=60)
    until = time.monotonic() + 5
    while is_running(helper) and time.monotonic() < until:
        time.sleep(0.05)
    assert not is_running(helper)
