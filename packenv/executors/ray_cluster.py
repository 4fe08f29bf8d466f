"""A Ray cluster as an executor that repeats lost tasks."""

from __future__ import annotations

import io
import os
import pickle
import socket
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Executor, Future
from contextlib import suppress
from typing import Any, NamedTuple, ParamSpec, TypeVar
from urllib.parse import urlsplit

import ray
from ray import cloudpickle
from ray.exceptions import OutOfMemoryError, RayError, RaySystemError, RayTaskError

from packenv.errors import InputError
from packenv.executors import ray_task
from packenv.executors.shared import local_versions

P = ParamSpec("P")
T = TypeVar("T")

RETRIES = 20  # of a task whose worker or node died
OOM_RETRIES = 3
PATIENCE = 30.0  # seconds that a cluster may take to answer
LOOK = 2.0  # seconds between two looks at the nodes


class Reference(NamedTuple):
    """Bytes in the cluster's memory, copied to each node once."""

    reference: Any

    def get(self) -> bytes:
        data: bytes = ray.get(self.reference)
        return data


class RayExecutor(Executor):
    """The Ray cluster at ray://HOST:PORT, or a local one.

    For None, it is the cluster of this machine or of RAY_ADDRESS, or a new one of `processes`, ended with the executor.
    A call whose worker or node dies is repeated. Raises InputError if no cluster answers within PATIENCE seconds.
    """

    def __init__(self, address: str | None = None, processes: int | None = None) -> None:
        self.versions = local_versions()
        self.began = not ray.is_initialized()
        if self.began:
            _connect(address, processes)
        cloudpickle.register_pickle_by_value(ray_task)
        self.task = ray.remote(max_retries=RETRIES, retry_exceptions=False, num_cpus=1)(ray_task.work)
        self.pending: dict[Future[Any], Any] = {}
        self.looked, self.size, self.lock = -LOOK, (0, 1), threading.Lock()

    @property
    def nodes(self) -> int:
        """The number of nodes that are alive."""
        return self._look()[0]

    @property
    def workers(self) -> int:
        """The present number of calls that run together."""
        return self._look()[1]

    def _look(self) -> tuple[int, int]:
        with self.lock:
            if time.monotonic() - self.looked > LOOK:
                self.looked = time.monotonic()
                alive = [node for node in ray.nodes() if node["Alive"]]
                self.size = len(alive), max(1, int(sum(node["Resources"].get("CPU", 0) for node in alive)))
            return self.size

    def share(self, data: bytes) -> Reference:
        """Share bytes with calls, sent to each node once."""
        return Reference(ray.put(data))

    def submit(self, call: Callable[P, T], /, *args: P.args, **options: P.kwargs) -> Future[T]:
        """Submit a call; nodes must be able to import it."""
        data = io.BytesIO()
        dumper = _ReferencePickler(data, pickle.HIGHEST_PROTOCOL)
        dumper.references = []
        dumper.dump((call, args, options))
        try:
            reference = self.task.remote(self.versions, data.getvalue(), dumper.references)
        except (ConnectionError, RayError) as error:
            raise InputError(f"the Ray cluster is gone: {_line_of(error)}") from None
        future: Future[T] = Future()
        self.pending[future] = reference
        reference.future().add_done_callback(lambda done: self._end(future, done))
        return future

    def _end(self, future: Future[Any], done: Future[Any]) -> None:
        self.pending.pop(future, None)
        if future.set_running_or_notify_cancel():
            try:
                value = done.result()
                if isinstance(value, tuple) and len(value) == 2 and value[0] == ray_task.OTHER:
                    raise InputError(value[1])
                future.set_result(value)
            except BaseException as error:
                future.set_exception(_plain(error))

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        self.shutdown(wait=kind is None, cancel_futures=kind is not None)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Leave the cluster after all calls, and end our own."""
        if cancel_futures:
            for future, reference in [*self.pending.items()]:
                future.cancel()
                with suppress(RayError, ValueError):
                    ray.cancel(reference, force=True)
        elif wait:
            while self.pending:
                time.sleep(0.01)
        if self.began:
            self.began = False
            ray.shutdown()


class _ReferencePickler(pickle.Pickler):
    references: list[Any]

    def persistent_id(self, value: Any) -> int | None:
        if not isinstance(value, ray.ObjectRef):
            return None
        self.references.append(value)
        return len(self.references) - 1


def _connect(address: str | None, processes: int | None) -> None:
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    os.environ.setdefault("RAY_task_oom_retries", str(OOM_RETRIES))  # of a task that takes too much memory; Ray retries for ever
    if address is None and (named := os.environ.get("RAY_ADDRESS")):
        _check_answers(named)
    try:
        if address is not None:
            _join(address, quiet)
            return
        try:
            ray.init("auto", **quiet)
        except ConnectionError:
            if "RAY_ADDRESS" in os.environ:
                raise
            ray.init(num_cpus=processes or os.cpu_count(), include_dashboard=False, **quiet)
    except (ConnectionError, RuntimeError, OSError, ValueError) as error:
        raise InputError(f"Ray, {address or os.environ.get('RAY_ADDRESS', 'local')}: {_line_of(error)}") from None


def _check_answers(address: str) -> None:
    """Raise InputError if nothing listens, sooner than Ray."""
    parts = urlsplit(address if "://" in address else f"ray://{address}")
    if parts.hostname and parts.port:
        try:
            socket.create_connection((parts.hostname, parts.port), timeout=5).close()
        except OSError as error:
            raise InputError(f"no cluster answers at RAY_ADDRESS={address} ({_line_of(error)}): unset it, or start Ray") from None


def _join(address: str, options: dict[str, Any]) -> None:
    """Join the cluster at ray://HOST:PORT within PATIENCE seconds."""
    parts = urlsplit(address)
    try:
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
    if not host or not port:
        raise InputError(f"--on {address!r}: must be ray://HOST:PORT, such as ray://head:10001")
    ends, announced = time.monotonic() + PATIENCE, False
    while True:
        try:
            socket.create_connection((host, port), timeout=5).close()
            ray.init(address, **options)
            return
        except (ConnectionError, OSError) as error:
            if time.monotonic() > ends:
                raise InputError(f"no cluster answers at {address} within {PATIENCE:.0f} s ({_line_of(error)})") from None
            if not announced:
                print(f"packenv: waiting for a cluster at {address}, at most {PATIENCE:.0f} s …", file=sys.stderr, flush=True)
                announced = True
            time.sleep(0.5)


def _plain(error: BaseException) -> BaseException:
    if isinstance(error, OutOfMemoryError):
        return MemoryError(f"too little memory on a node: {_line_of(error)}")
    if isinstance(error, RayTaskError):
        return error.cause if isinstance(error.cause, Exception) else RuntimeError(str(error))
    if isinstance(error, RaySystemError) and "packenv" in str(error):
        return InputError(f"a node has no packenv {local_versions()[0]}: {_line_of(error)}")
    if isinstance(error, RayError):
        return RuntimeError(f"{type(error).__name__}: {_line_of(error)}")
    return error


def _line_of(error: BaseException) -> str:
    """Return an exception's text, or its traceback's last line."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    if any(line.startswith("Traceback ") for line in lines):
        return lines[-1]
    return lines[0] if lines else type(error).__name__
