"""Runs for judgments: in processes side by side, and kept in a log, so that what was done once is not done again."""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import threading
from collections.abc import Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Any

from packenv.compile import SOURCE_KEY
from packenv.errors import InputError
from packenv.jobs import Jobs
from packenv.simulation import simulate
from packenv.theory.judge import Outcome, Run, outcome_of
from packenv.theory.stability import Verdict
from packenv.workloads.workload import Workload


class Log:
    """Outcomes by what their runs depend on, one JSON line each; a last line that was cut short is dropped."""

    def __init__(self, path: str | Path | None) -> None:
        self.path = None if path is None else Path(path)
        self.known: dict[str, Outcome] = {}
        self.lock = threading.Lock()
        if self.path is not None and self.path.exists():
            self._read(self.path)

    def _read(self, path: Path) -> None:
        text = path.read_text()
        whole = text[: text.rfind("\n") + 1]
        if whole != text:
            path.write_text(whole)
        for number, line in enumerate(whole.splitlines(), 1):
            try:
                entry = json.loads(line)
                self.known[entry["run"]] = Outcome(Verdict(*entry["verdict"]), entry["mean_queue"])
            except (ValueError, KeyError, TypeError):
                raise InputError(f"{path}, line {number}: not a run's outcome") from None

    def keep(self, key: str, outcome: Outcome) -> None:
        with self.lock:
            self.known[key] = outcome
            if self.path is not None:
                with self.path.open("a") as file:
                    file.write(
                        json.dumps({"run": key, "verdict": list(outcome.verdict), "mean_queue": outcome.mean_queue}) + "\n"
                    )


def key_of(run: Run) -> str:
    """A hash of everything that the outcome depends on, the sources included."""
    jobs = run.workload.jobs
    workload = _of_table(jobs, run.workload) if jobs is not None else run.workload.to_dict() | {"rho": run.workload.rho}
    text = json.dumps([SOURCE_KEY, workload, str(run.policy), run.slots, run.seed], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def _of_table(jobs: Jobs, workload: Workload) -> list[str]:
    digest = hashlib.sha256()
    for column in (jobs.arrival, jobs.demand, jobs.service):
        digest.update(column.tobytes())
    return [digest.hexdigest(), str(workload.servers)]


class Outcomes:
    """Makes runs in `processes` processes; judgments in several threads may ask at the same time."""

    def __init__(self, log: Log, processes: int | None = None) -> None:
        self.log = log
        context = multiprocessing.get_context("spawn")
        self.pool = ProcessPoolExecutor(processes or os.cpu_count() or 1, mp_context=context)
        self.compiled: dict[str, Future[None]] = {}
        self.lock = threading.Lock()

    def __enter__(self) -> Outcomes:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if kind is not None:
            for process in list((self.pool._processes or {}).values()):
                process.terminate()
        self.pool.shutdown(wait=kind is None, cancel_futures=True)

    def __call__(self, runs: Sequence[Run]) -> list[Outcome]:
        keys = [key_of(run) for run in runs]
        missing = [n for n, key in enumerate(keys) if key not in self.log.known]
        if missing:
            self._compile(runs[0])
        futures = {n: self.pool.submit(outcome_of, runs[n]) for n in missing}
        for n, future in futures.items():
            self.log.keep(keys[n], future.result())
        return [self.log.known[key] for key in keys]

    def _compile(self, run: Run) -> None:
        """Have one process make the machine code of a policy before all of them need it."""
        with self.lock:
            name = str(run.policy)
            if name not in self.compiled:
                self.compiled[name] = self.pool.submit(compile_policy, run)
        self.compiled[name].result()


def compile_policy(run: Run) -> None:
    """A run of one slot."""
    simulate(run.workload, run.policy, slots=1, warmup=0)


def record_of_verdict(verdict: Verdict) -> dict[str, Any]:
    """The verdict in JSON."""
    return {"kind": verdict.kind, "confidence": verdict.confidence, "drift": verdict.drift, "level": verdict.level}
