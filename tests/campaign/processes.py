"""Runs a command as a user does, on a terminal, and watches it: memory, silence, how it ends, what it leaves behind."""

from __future__ import annotations

import functools
import os
import pty
import signal
import threading
import time
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from tests.campaign.prepared import Prepared

ROOT = Path(__file__).resolve().parents[2]
GB = 10**9
MOST_MEMORY = 2 * GB
LONGEST_SILENCE = 10.0  # seconds of processor time of one process, so that a busy machine makes no failures
LEAVES_WITHIN = 2.0  # seconds, for what a killed command has started
MARK = "PACKENV_CAMPAIGN"
"""A variable in the environment of a command by which the processes that it starts are found."""
TRACEBACK = "Traceback (most recent call last)"
STATUSES = (0, 2, 130)
TICK = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")


class Ended(NamedTuple):
    """How a command ended."""

    status: int
    said: str
    memory: int  # bytes: the most that it took, with all its processes
    silence: float  # the most processor time of one of its processes without a word on the terminal
    left: list[int]  # processes that were still there LEAVES_WITHIN seconds after its end
    seconds: float
    late: bool  # whether it was ended because its time was over


class Terminal:
    """A terminal on which a command writes; what it wrote is kept."""

    def __init__(self) -> None:
        self.inside, self.outside = pty.openpty()
        self.said = bytearray()
        self.thread = threading.Thread(target=self._read, daemon=True)
        self.thread.start()

    def _read(self) -> None:
        try:
            while data := os.read(self.inside, 65536):
                self.said += data
        except OSError:  # the last process has closed it
            return

    def text(self) -> str:
        """Everything that was written; call it when the command has ended."""
        os.close(self.outside)
        self.thread.join(5)
        os.close(self.inside)
        return self.said.decode(errors="replace")


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
    largest_file: int | None = None,
    **variables: str,
) -> Ended:
    """Run `packenv WORDS` in `folder` for at most so many seconds.

    kill          after how long it gets which signal
    largest_file  bytes after which writing fails, as on a full disk
    """
    mark, begun, terminal = uuid.uuid4().hex, time.monotonic(), Terminal()
    length, silence, memory, late = 0, 0.0, 0, False
    before: dict[int, float] = {}
    process = _server().start(
        words, folder, environment(folder, **variables, **{MARK: mark}), os.ttyname(terminal.outside), largest_file
    )
    while process.poll() is None:
        time.sleep(0.1)
        now, tree = time.monotonic() - begun, _tree(process.pid)
        memory = max(memory, sum(map(_memory, tree)))
        used = {one: processor_time(one) for one in tree}
        if len(terminal.said) != length:
            length, before = len(terminal.said), used
        silence = max([silence, *(time_ - before.get(one, 0.0) for one, time_ in used.items())])
        if kill is not None and now > kill[0]:
            process.send_signal(kill[1])
            kill = None
        if now > seconds and not late:
            late = True
            process.send_signal(signal.SIGINT)
        if now > seconds + 30:
            process.kill()
    ended = time.monotonic()
    while (left := _marked(mark)) and time.monotonic() < ended + LEAVES_WITHIN:
        time.sleep(0.1)
    for one in left:
        os.kill(one, signal.SIGKILL)
    return Ended(process.returncode, terminal.text(), memory, silence, left, ended - begun, late)


@functools.cache
def _server() -> Prepared:
    return Prepared({**environment(ROOT), "OPENBLAS_NUM_THREADS": "1"})  # no threads, which a copy would lack


def problems(ended: Ended, killed: bool = False, answers: Sequence[int] = ()) -> list[str]:
    """What is wrong with how a command ended; `killed`: by a signal; `answers`: statuses that are its answers."""
    found = []
    if TRACEBACK in ended.said or "Error in sys.excepthook" in ended.said:
        found.append("a traceback: " + ended.said.strip().splitlines()[-1][:200])
    if not killed and not ended.late and ended.status not in (*STATUSES, *answers):
        found.append(f"exit status {ended.status}")
    if not killed and ended.status == 2 and "packenv: " not in ended.said:
        found.append("exit status 2 without a line that says why")
    if ended.memory > MOST_MEMORY:
        found.append(f"more than {MOST_MEMORY / GB:g} GB of memory")
    if ended.silence > LONGEST_SILENCE:
        found.append(f"silent for more than {LONGEST_SILENCE:g} s of processor time")
    if ended.left:
        found.append("processes left")
    return found


def _tree(root: int) -> list[int]:
    """A process and all that it started, and these started."""
    found = [root]
    for one in found:
        try:
            for task in Path(f"/proc/{one}/task").iterdir():
                found += map(int, (task / "children").read_text().split())
        except OSError:
            continue
    return found


def _marked(mark: str) -> list[int]:
    """Running processes whose environment has the mark."""
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
    return (int(pages[1]) - int(pages[2])) * PAGE


def processor_time(process: int) -> float:
    """Seconds of processor time that a process has used."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(") ")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / TICK
