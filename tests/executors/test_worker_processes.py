"""Worker processes end with the process that they work for, whatever ended it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import packenv

ROOT = Path(packenv.__file__).parents[1]
PATIENCE = 2.0  # seconds

PROGRAM = """
import ctypes, os, sys, time
from packenv.executors.local import LocalProcesses
from packenv.executors.local import WorkerProcesses

def announce():
    with open(sys.argv[1], "a") as file:
        file.write(f"{os.getpid()}\\n")

def sleeps():
    announce()
    time.sleep(600)

def computes():
    announce()
    while True:
        pass

def holds_the_lock():  # as compiled code does
    announce()
    ctypes.PyDLL(None).sleep(600)

def is_idle():
    announce()

if __name__ == "__main__":
    pool = LocalProcesses(4)
    for work in (sleeps, computes, holds_the_lock, is_idle):
        pool.submit(work)
    time.sleep(600)
"""


def alive(process: int) -> bool:
    """Whether it runs: one that has ended stays in the table until its new parent looks."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] not in ("Z", "X")
    except OSError:
        return False


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are looked at in /proc")
@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM])
def test_workers_end_with_their_parent(end: signal.Signals, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    told = tmp_path / "workers"
    parent = subprocess.Popen(
        [sys.executable, str(tmp_path / "program.py"), str(told)],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stderr=subprocess.DEVNULL,
    )
    workers: list[int] = []
    began = time.monotonic()
    while len(workers) < 4 and time.monotonic() - began < 120:
        time.sleep(0.1)
        workers = [int(line) for line in told.read_text().splitlines()] if told.exists() else []
    assert len(workers) == 4 and all(map(alive, workers))
    parent.send_signal(end)
    parent.wait()
    ended = time.monotonic()
    while any(map(alive, workers)) and time.monotonic() - ended < PATIENCE:
        time.sleep(0.05)
    left = [worker for worker in workers if alive(worker)]
    for worker in left:
        os.kill(worker, signal.SIGKILL)
    assert not left
