"""Locks between processes, on files.

The lock is the kernel's own (`flock`), and ends with its process. Without it (on Windows, on some network file systems, in a
read-only folder) nobody waits. The package filelock would make marker files there, and those outlive a killed process.
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
    """A lock between processes on a lasting file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.descriptor: int | None = None  # of the file, while this process holds the lock

    def acquire(self, waits: Callable[[float], bool] = lambda seconds: False) -> bool:
        """Take the lock, or return False. `waits(seconds)` decides to wait."""
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
        """Release the lock."""
        if self.descriptor is not None:
            file, self.descriptor = self.descriptor, None
            with suppress(OSError):
                fcntl.flock(file, fcntl.LOCK_UN)  # not by closing alone: a forked process may have the file open too
            os.close(file)


def _try_lock(file: int) -> bool:
    """Take a free lock. Raises OSError where there are none."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
