"""The log of finished runs: what was run once is not run again."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Sequence
from pathlib import Path

from packenv.errors import InputError
from packenv.results.result import Result
from packenv.runs.keys import keys_of
from packenv.runs.measured import Measured, measured
from packenv.runs.run import Run
from packenv.runs.runner import Runner
from packenv.workloads.workload import Workload

KIND = "measured"


class RunLog:
    """Measured runs by the key of all that they depend on (`keys.keys_of`), one JSON line each, written as they end.

    Without a path they are kept in memory. A last line that was cut short, by a kill, is dropped; lines of another kind
    are skipped. Raises InputError for a line that is neither.
    """

    def __init__(self, path: str | Path | None) -> None:
        self.path = None if path is None else Path(path)
        self.known: dict[str, Measured] = {}
        self.lock = threading.Lock()
        if self.path is not None and self.path.exists():
            self._read(self.path)

    def _read(self, path: Path) -> None:
        text = path.read_bytes()
        whole = text.rfind(b"\n") + 1
        if whole != len(text):
            os.truncate(path, whole)
        for number, line in enumerate(text[:whole].splitlines(), 1):
            try:
                entry = json.loads(line)
                if KIND in entry or len(entry) != 2:
                    self.known[entry["run"]] = Measured.from_plain(entry[KIND])
            except (ValueError, KeyError, TypeError):
                raise InputError(f"{path}, line {number}: not a run's outcome") from None

    def keep(self, key: str, value: Measured) -> None:
        """Add a run."""
        with self.lock:
            self.known[key] = value
            if self.path is not None:
                with self.path.open("a", encoding="utf-8") as file:
                    file.write(json.dumps({"run": key, KIND: value.plain()}) + "\n")

    def complete(self, runs: Sequence[Run], runner: Runner, name: str | None = None) -> list[Measured]:
        """All runs, in order: those from the log, and the others made now and kept as each ends."""
        keys = keys_of(runs)
        missing = {key: run for key, run in zip(keys, runs, strict=True) if key not in self.known}
        wanted = [*missing]
        if missing:
            for n, value in runner.each([*missing.values()], measured_of, name):
                self.keep(wanted[n], value)
        return [self.known[key] for key in keys]


def measured_of(workload: Workload, result: Result) -> Measured:
    """The `Extract` of what a log keeps."""
    return measured(result)
