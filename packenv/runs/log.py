"""The log of finished runs, so that none is repeated."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from packenv.errors import InputError
from packenv.results.result import Result
from packenv.runs.keys import keys_of
from packenv.runs.measured import Measured, measured
from packenv.runs.run import Extract, Run
from packenv.runs.runner import Runner
from packenv.workloads.workload import Workload

BEGINNING = b'{"run": "'  # of every line


class RunLog:
    """Measured runs by key (`keys.keys_of`), as JSON lines.

    Lines are written when runs end. Without a path the runs stay in memory. Lines of another kind, such as judgments, are
    skipped. Any number of processes may share a log. An incomplete last line, from a killed process, is removed with a
    message. A file that is not a log stays unchanged: InputError. If the disk is full, a message appears once, and later runs
    stay in memory.
    Derive from it for other values of runs: `kind`, `extract`, `read`, and `keys` if these depend on more.
    """

    kind = "measured"

    def __init__(self, path: str | Path | None) -> None:
        self.path = None if path is None else Path(path)
        self.values: dict[str, Any] = {}
        self.lock = threading.Lock()
        if self.path is not None and self.path.exists():
            if not self.path.is_file():
                raise InputError(f"{self.path}: a log of runs is a regular file")
            try:
                self._read(self.path)
            except OSError as error:
                raise InputError(f"{self.path}: cannot be read and written ({error.strerror})") from None

    def _read(self, path: Path) -> None:
        with _locked(path) as log:
            data = _all_of(log)
            complete = data.rfind(b"\n") + 1
            for number, line in enumerate(data[:complete].splitlines(), 1):
                self._read_line(line, f"{path}, line {number}")
            rest = data[complete:]
            if not rest.startswith(BEGINNING[: len(rest)]):
                raise InputError(f"{path}, last line: not a run's outcome")
            if rest:  # the file is locked, so no process is writing this line
                os.truncate(log, complete)
                print(f"packenv: {path}: a last line of {len(rest)} bytes was cut short, and removed", file=sys.stderr)

    def _read_line(self, line: bytes, where: str) -> None:
        try:
            entry = json.loads(line)
            key = entry["run"]
            if not isinstance(key, str) or len(entry) != 2:
                raise ValueError(line)
            if self.kind in entry:
                self.values[key] = self.read(entry[self.kind])
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise InputError(f"{where}: not a run's outcome") from None

    @property
    def extract(self) -> Extract:
        """Function that extracts a value from a run.

        The value has a method `plain` for `read`.
        """
        return measured_of

    def read(self, plain: Any) -> Any:
        """Read the output of `plain`. Raises ValueError, KeyError or TypeError."""
        return Measured.from_plain(plain)

    def keys(self, runs: Sequence[Run]) -> list[str]:
        return keys_of(runs)

    def keep(self, key: str, value: Any) -> None:
        """Add a run."""
        with self.lock:
            self.values[key] = value
            if self.path is not None:
                try:
                    _append(self.path, (json.dumps({"run": key, self.kind: value.plain()}) + "\n").encode())
                except OSError as error:
                    why = f"cannot be written ({error.strerror}): further runs are not stored there"
                    print(f"packenv: {self.path}: {why}", file=sys.stderr)
                    self.path = None

    def complete(self, runs: Sequence[Run], runner: Runner, name: str | None = None) -> list[Any]:
        """Return all runs in order: from the log, or made now and stored."""
        keys = self.keys(runs)
        missing = {key: run for key, run in zip(keys, runs, strict=True) if key not in self.values}
        keys_missing = [*missing]
        if missing:
            for n, value in runner.each([*missing.values()], self.extract, name):
                self.keep(keys_missing[n], value)
        return [self.values[key] for key in keys]


def measured_of(workload: Workload, result: Result) -> Measured:
    """Extract the measures for a log."""
    return measured(result, workload)


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[int]:
    """Open the file, created if missing, under an exclusive lock."""
    log = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666)  # O_BINARY: Windows
    try:
        with contextlib.suppress(ImportError, OSError):  # where files cannot be locked, two processes must not share a log
            import fcntl

            fcntl.flock(log, fcntl.LOCK_EX)
        yield log
    finally:
        os.close(log)


def _append(path: Path, line: bytes) -> None:
    """Write a whole line or nothing, after removing an incomplete last line."""
    with _locked(path) as log:
        end = os.fstat(log).st_size
        if end and _last_byte(log, end) != b"\n":
            end = _all_of(log).rfind(b"\n") + 1
            os.truncate(log, end)
        try:
            written = 0
            while written < len(line):
                written += os.write(log, line[written:])
        except OSError:
            os.truncate(log, end)
            raise


def _last_byte(log: int, end: int) -> bytes:
    os.lseek(log, end - 1, os.SEEK_SET)
    return os.read(log, 1)


def _all_of(log: int) -> bytes:
    with open(log, "rb", closefd=False) as file:
        file.seek(0)
        return file.read()
