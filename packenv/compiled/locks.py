"""Locks between processes, on files.

The lock is the kernel's own (`flock`), which ends with the process that holds it, however that ends. Where there is none (not
on Windows, not on every network's file system, not in a folder that is read-only) nobody waits. This is not the package
filelock, which makes marker files where there is no `flock`: those outlive a killed process.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

HAS_LOCKS = fcntl is not None
LOOK = 0.05  # seconds between two looks whether the lock is free


class Lock:
    """A lock between processes on a file, which is made if need be and never removed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.descriptor: int | None = None  # of the file, while this process holds the lock

    def acquire(self, waits: Callable[[float], bool] = lambda seconds: False) -> bool:
        """Take the lock, or go on without one: if there are no locks here, or `waits(seconds so far)` says to wait no more.

        Whether no other process holds it, as far as can be known.
        """
        if fcntl is None or self.descriptor is not None:
            return True
        began = time.monotonic()
        with suppress(OSError):  # the folder is read-only or gone; the disk is full; the file system has no locks
            file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                while not _try_lock(file):
                    if not waits(time.monotonic() - began):
                        return False
                    time.sleep(LOOK)
                self.descriptor = file
            finally:
                if self.descriptor is None:
                    os.close(file)
        return True

    def release(self) -> None:
        """Let others have it."""
        if self.descriptor is not None:
            file, self.descriptor = self.descriptor, None
            with suppress(OSError):
                fcntl.flock(file, fcntl.LOCK_UN)  # not by closing alone: a forked process may have the file open too
            os.close(file)


def _try_lock(file: int) -> bool:
    """Whether the lock was free, and is now this process's. Raises OSError where there are no locks."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
