"""`packenv.executor`, and executors of this machine."""

from __future__ import annotations

import functools
import multiprocessing
import os
import pickle
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from contextlib import contextmanager, nullcontext, suppress
from multiprocessing.connection import wait
from numbers import Integral
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from packenv.errors import InputError, check_count, library_needed
from packenv.options.shared import PROCESSES as PROCESSES
from packenv.options.shared import RAY as RAY

P = ParamSpec("P")
T = TypeVar("T")

SPAWN = multiprocessing.get_context("spawn")
MOST = 61 if sys.platform == "win32" else 2**16  # as many as Windows can wait for
SAFE_PATH = "PYTHONSAFEPATH"
NEEDED = "other processes need what this script defines: "
GUARD_IT, WRITE_IT = "put its code below if __name__ == '__main__':", "Python reads it from {}: write it to a file"
NO_CHILDREN = "a worker of multiprocessing.Pool starts no processes: pass no `executor` there, or use concurrent.futures outside"
_changing = threading.RLock()  # threads that start processes at the same time would put back each other's value


@contextmanager
def safe_path() -> Iterator[None]:
    """Let new processes import nothing from the current folder.

    An unguarded script is hidden from them, or each would run it and start more processes.
    """
    with _changing, nullcontext() if is_guarded() else _without_script():
        before = os.environ.get(SAFE_PATH)
        os.environ[SAFE_PATH] = "1"
        try:
            yield
        finally:
            if before is None:
                os.environ.pop(SAFE_PATH, None)
            else:
                os.environ[SAFE_PATH] = before


def is_guarded() -> bool:
    """Return whether other processes can import the running script safely."""
    file = getattr(sys.modules["__main__"], "__file__", None)
    return file is None or (Path(file).exists() and _has_guard(str(file)))


@functools.cache
def _has_guard(script: str) -> bool:
    try:
        return "__main__" in Path(script).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):  # no script in Python
        return True


@contextmanager
def _without_script() -> Iterator[None]:
    main = sys.modules["__main__"]
    hidden: dict[str, Any] = {name: vars(main).pop(name) for name in ("__file__", "__spec__") if name in vars(main)}
    main.__spec__ = None
    try:
        yield
    finally:
        vars(main).update(hidden)


class WorkerProcesses(ProcessPoolExecutor):
    """Fresh processes that first call `begin`, and end with this one."""

    def __init__(self, processes: int, begin: Callable[..., None] | None = None, values: tuple[Any, ...] = ()) -> None:
        if multiprocessing.current_process().daemon:
            raise InputError(NO_CHILDREN)
        with safe_path():
            super().__init__(min(processes, MOST), mp_context=SPAWN, initializer=_start, initargs=(begin, values))
        # A process that still starts reads `values` after an executor that nobody holds is gone. The queue outlives them all:
        # the thread that ends them has it, and a semaphore among the values goes with its last holder.
        started: Any = self
        started._call_queue.values = values

    def submit(self, call: Callable[P, T], /, *args: P.args, **options: P.kwargs) -> Future[T]:
        """Submit a call, starting processes if needed (InputError without a guard)."""
        script = getattr(sys.modules["__main__"], "__file__", None)
        if (script is None or not is_guarded()) and b"__main__" in pickle.dumps((call, args, options)):
            raise InputError(NEEDED + (GUARD_IT if script and Path(script).exists() else WRITE_IT.format(script or "no file")))
        with safe_path():
            return super().submit(call, *args, **options)


def _start(begin: Callable[..., None] | None, values: tuple[Any, ...]) -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    with suppress(ImportError, AttributeError, OSError):  # not on every system
        _end_by_signal(parent.sentinel)
    threading.Thread(target=_end_with, args=(parent.sentinel,), daemon=True).start()
    if begin is not None:
        begin(*values)


def _end_with(sentinel: int) -> None:
    """End this process when its parent closes the pipe `sentinel`."""
    wait([sentinel])
    os._exit(1)


def _end_by_signal(sentinel: int) -> None:
    """End by signal, as compiled code may block threads."""
    import fcntl
    import signal

    signal.signal(signal.SIGIO, signal.SIG_DFL)  # which ends the process
    fcntl.fcntl(sentinel, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(sentinel, fcntl.F_SETFL, fcntl.fcntl(sentinel, fcntl.F_GETFL) | os.O_ASYNC)


_progress: Any = None  # by process: the share of its present run that is done
_worker = 0


def report_share(share: float) -> None:
    """Report a run's progress, from 0 to 1."""
    if _progress is not None:
        _progress[_worker] = share


def _attach(shares: Any, place: int = 0) -> None:
    """Set the place for `report_share` in this process; None: nowhere."""
    global _progress, _worker
    _progress, _worker = shares, place


def _begin(shares: Any, started: Any) -> None:
    """Take a place among the shares, perhaps a dead process's."""
    with started.get_lock():
        place = started.value % len(shares)
        started.value += 1
    _attach(shares, place)


class ThisProcess(Executor):
    """An executor that does each call immediately, in turn."""

    workers = 1

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.shares: Sequence[float] = [0.0]

    def submit(self, call: Callable[P, T], /, *args: P.args, **options: P.kwargs) -> Future[T]:
        """Return the finished call, with all exceptions but Ctrl-C."""
        future: Future[T] = Future()
        with self.lock:
            _attach(self.shares)
            try:
                future.set_result(call(*args, **options))
            except Exception as error:
                future.set_exception(error)
            finally:
                _attach(None)
        return future


class LocalProcesses(WorkerProcesses):
    """Processes of this machine that report their progress."""

    def __init__(self, processes: int) -> None:
        with safe_path():  # making the first of these begins a process that counts them
            self.shares: Sequence[float] = SPAWN.Array("d", processes, lock=False)
            started = SPAWN.Value("i", 0)
        super().__init__(processes, _begin, (self.shares, started))
        self.workers = processes
        self.files: tempfile.TemporaryDirectory[str] | None = None

    def folder(self) -> str:
        """Return a folder for shared files, removed on shutdown."""
        if self.files is None:
            self.files = tempfile.TemporaryDirectory(prefix="packenv-", ignore_cleanup_errors=True)
        return self.files.name

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        super().shutdown(wait, cancel_futures=cancel_futures)
        if self.files is not None:
            self.files.cleanup()

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        """Wait for all runs, or kill them after an exception."""
        if kind is not None:
            for process in list((self._processes or {}).values()):
                process.terminate()
        self.shutdown(wait=kind is None, cancel_futures=True)


def usable_cores() -> int:
    """Count the cores that the system lets this process use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def local_executor(processes: int | None, most: int | None = None) -> ThisProcess | LocalProcesses:
    """Return `processes` (None: cores) processes, at most `most`, or this."""
    if processes is not None:
        check_count("processes", processes)
    count = usable_cores() if processes is None else processes
    count = count if most is None else min(count, most)
    return ThisProcess() if count <= 1 else LocalProcesses(count)


def executor(on: str | int = PROCESSES, processes: int | None = None) -> Executor:
    """Make an executor, for a `with` block, from its name.

    on         processes: of this machine, or their number; ray: the running Ray cluster, or a new one on this machine;
               ray://HOST:PORT: the cluster there
    processes  of this machine, or of a new cluster; None: one per core

    For `packenv.judge`, `packenv.simulate_many` and others. Raises InputError for any other name, without Ray or an answer.
    """
    if isinstance(on, Integral) and not isinstance(on, bool):
        if processes is not None:
            raise InputError(f"executor: {on} processes or processes={processes}: give one of them")
        return local_executor(int(on))
    if on == PROCESSES:
        return local_executor(processes)
    if on != RAY and not str(on).startswith("ray://"):
        raise InputError(f"no executor {on!r}: processes, ray or ray://HOST:PORT")
    try:
        import ray  # noqa: F401
    except ImportError as error:
        raise InputError(library_needed(f"executor {on!r}", "ray", error)) from None
    from packenv.executors.ray_cluster import RayExecutor

    return RayExecutor(None if on == RAY else str(on), processes)
