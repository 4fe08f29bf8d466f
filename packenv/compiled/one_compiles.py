"""Of processes that need the same machine code at the same time one compiles; the others wait, and load what it has kept.

The lock is the kernel's own on a file beside the machine code (`flock`), which ends with the process that holds it, however
that ends. Where there is none (not on Windows, not on every network's file system, not in a folder that is read-only) each
process compiles for itself, as it does when another one has compiled the same function for LONGEST seconds.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

LONGEST = 300.0  # seconds that one function may take another process
LOOK = 0.05  # seconds between two looks whether the lock is free
PATIENCE = 3.0  # seconds of waiting, in all, before the first word
MARK = "compiling"  # a file beside the machine code, as old as the last time that a process began to compile
AGAIN = 10.0  # seconds from one line to the next, of all processes with the same cache


class Lock:
    """A lock between processes on a file, which is made if need be and never removed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.held: int | None = None  # the file's descriptor while this process holds the lock

    def take(self, waits: Callable[[float], bool]) -> None:
        """Take the lock, or go on without one: if there are no locks here, or `waits(seconds so far)` says to wait no more."""
        if fcntl is None or self.held is not None:
            return
        began = time.monotonic()
        with suppress(OSError):  # the folder is read-only or gone; the disk is full; the file system has no locks
            file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                while not _taken(file):
                    if not waits(time.monotonic() - began):
                        return
                    time.sleep(LOOK)
                self.held = file
            finally:
                if self.held is None:
                    os.close(file)

    def give_back(self) -> None:
        """Let others have it."""
        if self.held is not None:
            file, self.held = self.held, None
            with suppress(OSError):
                fcntl.flock(file, fcntl.LOCK_UN)  # not by closing alone: a forked process may have the file open too
            os.close(file)


def _taken(file: int) -> bool:
    """Whether the lock was free, and is now this process's. Raises OSError where there are no locks."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


class Waiting:
    """How long this process has waited for others, and whether it is time to say so."""

    def __init__(self) -> None:
        self.before = 0.0  # seconds, over all functions so far

    def says(self, folder: Path) -> Callable[[float], bool]:
        """For `Lock.take`: whether to wait on after these seconds. Says now and then that this process waits."""
        before = self.before

        def waits(seconds: float) -> bool:
            self.before = before + seconds
            if self.before >= PATIENCE and _nobody_has_said(folder / "waiting"):
                line = f"another process compiles (once for this version of the sources); waiting, {self.before:.0f} s so far …"
                print(f"packenv: {line}", file=sys.stderr, flush=True)
            return seconds < LONGEST

        return waits


def _nobody_has_said(mark: Path) -> bool:
    """Whether no process has said that it waits in the last AGAIN seconds; from now on, one has. `mark` is as old as the word."""
    lock = Lock(mark)
    lock.take(lambda seconds: False)
    if lock.held is None:
        return False
    try:
        last = os.fstat(lock.held)
        if last.st_size > 0 and abs(time.time() - last.st_mtime) < AGAIN:
            return False
        os.pwrite(lock.held, b"\n", 0)
        return True
    except OSError:
        return False
    finally:
        lock.give_back()


_waiting = Waiting()


def has_compiled(base: Path, since: float) -> bool:
    """Whether this or another process has begun to compile a function after `since` (seconds, as `time.time` has them)."""
    with suppress(OSError):
        return (base / MARK).stat().st_mtime >= since
    return False


def one_compiles(dispatcher: Any, lock: Path, base: Path) -> None:
    """Make Numba's dispatcher take the lock before it compiles, and look again at what is kept once it has it.

    What is kept already is loaded without the lock. `base` is the folder of all machine code. The two methods that are replaced
    are Numba's own: where a version of it has them no more, each process compiles for itself.
    """
    kept: Any = getattr(dispatcher, "_cache", None)
    if not (hasattr(dispatcher, "compile") and hasattr(kept, "load_overload")):
        return
    turn = Lock(lock)
    compile_now, load = dispatcher.compile, kept.load_overload

    def load_or_take(signature: Any, target: Any) -> Any:
        overload = load(signature, target)
        if overload is None:
            turn.take(_waiting.says(base))
            overload = load(signature, target)  # another process may have compiled it since
        if overload is None:
            with suppress(OSError):
                (base / MARK).touch()
        return overload

    def compile_in_turn(signature: Any) -> Any:
        try:
            return compile_now(signature)
        finally:
            turn.give_back()

    kept.load_overload = load_or_take
    dispatcher.compile = compile_in_turn
