"""Processes that work for this one: they end when it does, whatever ended it, and import nothing from the current folder."""

from __future__ import annotations

import multiprocessing
import os
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager, suppress
from multiprocessing.connection import wait
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

SPAWN = multiprocessing.get_context("spawn")
MOST = 61 if sys.platform == "win32" else 2**16  # as many as Windows can wait for
SAFE_PATH = "PYTHONSAFEPATH"
_changing = threading.RLock()  # threads that start processes at the same time would put back each other's value


@contextmanager
def safe_path() -> Iterator[None]:
    """Processes that begin in this block do not look for Python's own modules in the current folder."""
    with _changing:
        before = os.environ.get(SAFE_PATH)
        os.environ[SAFE_PATH] = "1"
        try:
            yield
        finally:
            if before is None:
                os.environ.pop(SAFE_PATH, None)
            else:
                os.environ[SAFE_PATH] = before


class WorkerProcesses(ProcessPoolExecutor):
    """An executor of so many fresh processes, each of which first calls `begin` with `values`."""

    def __init__(self, processes: int, begin: Callable[..., None] | None = None, values: tuple[Any, ...] = ()) -> None:
        with safe_path():
            super().__init__(min(processes, MOST), mp_context=SPAWN, initializer=_start, initargs=(begin, values))

    def submit(self, call: Callable[P, T], /, *args: P.args, **options: P.kwargs) -> Future[T]:
        """As of every executor. The call starts processes if there are too few yet."""
        with safe_path():
            return super().submit(call, *args, **options)


def _start(begin: Callable[..., None] | None, values: tuple[Any, ...]) -> None:
    """In a new process: watch the process that it works for, and begin."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    with suppress(ImportError, AttributeError, OSError):  # not on every system
        _end_by_signal(parent.sentinel)
    threading.Thread(target=_end_with, args=(parent.sentinel,), daemon=True).start()
    if begin is not None:
        begin(*values)


def _end_with(sentinel: int) -> None:
    """End this process as soon as the other end of the pipe `sentinel` is closed, which its parent's death does."""
    wait([sentinel])
    os._exit(1)


def _end_by_signal(sentinel: int) -> None:
    """Have the kernel do the same by a signal: compiled code may keep every thread of Python waiting for many seconds."""
    import fcntl
    import signal

    signal.signal(signal.SIGIO, signal.SIG_DFL)  # which ends the process
    fcntl.fcntl(sentinel, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(sentinel, fcntl.F_SETFL, fcntl.fcntl(sentinel, fcntl.F_GETFL) | os.O_ASYNC)
