"""Runs a command as a user does, and watches it: its memory, its silence, how it ends, and what it leaves behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
GB = 10**9
MOST_MEMORY = 2 * GB
LONGEST_SILENCE = 10.0  # seconds
LEAVES_WITHIN = 2.0  # seconds, for what a killed command has started
MARK = "PACKENV_CAMPAIGN"
"""A variable in the environment of a command by which the processes that it starts are found."""
TRACEBACK = "Traceback (most recent call last)"
STATUSES = (0, 2, 130)


class Ended(NamedTuple):
    """How a command ended: its status, what it said, the most memory that it took with all its processes, and the rest."""

    status: int
    said: str
    memory: int
    silence: float  # the longest time without a word on standard error, standard output or a terminal
    left: list[int]  # processes that were still there LEAVES_WITHIN seconds after its end
    seconds: float


def environment(folder: Path, **more: str) -> dict[str, str]:
    """Variables for a command whose current folder is `folder`: reading may take 1 GB, plots need no screen."""
    cache = os.environ.get("PACKENV_CACHE") or str(Path.home() / ".cache" / "packenv")
    own = {"PACKENV_CACHE": cache, "PACKENV_MEMORY": "1", "MPLBACKEND": "agg", "PYTHONPATH": str(ROOT), "TERM": "xterm"}
    return {**os.environ, **own, **more, "PWD": str(folder)}


def run(
    words: Sequence[str],
    folder: Path,
    seconds: float,
    kill: tuple[float, signal.Signals] | None = None,
    **variables: str,
) -> Ended:
    """Run `packenv WORDS` in `folder` for at most so many seconds; `kill`: after how long it gets which signal."""
    mark = uuid.uuid4().hex
    begun = last = time.monotonic()
    length, silence, memory = 0, 0.0, 0
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "packenv.cli.main", *words],
            cwd=folder,
            env=environment(folder, **variables, **{MARK: mark}),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        while process.poll() is None:
            time.sleep(0.02)
            now = time.monotonic()
            memory = max(memory, sum(map(_memory, _marked(mark))))
            if (grown := os.fstat(output.fileno()).st_size) != length:
                length, last = grown, now
            silence = max(silence, now - last)
            if kill is not None and now - begun > kill[0]:
                process.send_signal(kill[1])
                kill = (float("inf"), kill[1])
            if now - begun > seconds:
                process.kill()
        ended = time.monotonic()
        left = _marked(mark)
        while left and time.monotonic() < ended + LEAVES_WITHIN:
            time.sleep(0.05)
            left = _marked(mark)
        for one in left:
            os.kill(one, signal.SIGKILL)
        output.seek(0)
        said = output.read().decode(errors="replace")
    return Ended(process.returncode, said, memory, silence, left, ended - begun)


def problems(ended: Ended, killed: bool = False) -> list[str]:
    """What is wrong with the way in which a command ended; `killed`: a signal ended it."""
    found = []
    if TRACEBACK in ended.said or "Error in sys.excepthook" in ended.said:
        found.append("a traceback: " + ended.said.strip().splitlines()[-1][:200])
    if not killed and ended.status not in STATUSES:
        found.append(f"exit status {ended.status} after {ended.seconds:.0f} s")
    if not killed and ended.status == 2 and "packenv: " not in ended.said:
        found.append("exit status 2 without a line that says why")
    if ended.memory > MOST_MEMORY:
        found.append(f"{ended.memory / GB:.1f} GB of memory")
    if ended.silence > LONGEST_SILENCE:
        found.append(f"silent for {ended.silence:.0f} s")
    if ended.left:
        found.append(f"{len(ended.left)} processes left")
    return found


def _marked(mark: str) -> list[int]:
    """Processes whose environment has the mark."""
    wanted, found = f"{MARK}={mark}".encode(), []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                ours = wanted in (entry / "environ").read_bytes().split(b"\0")
                if ours and (entry / "stat").read_text().rpartition(") ")[2][0] != "Z":
                    found.append(int(entry.name))
            except OSError:
                continue
    return found


def _memory(process: int) -> int:
    """Bytes that a process has in memory of its own and shares with no file."""
    try:
        pages = Path(f"/proc/{process}/statm").read_text().split()
    except OSError:
        return 0
    return (int(pages[1]) - int(pages[2])) * os.sysconf("SC_PAGE_SIZE")
