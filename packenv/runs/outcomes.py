"""Runs for judgments: in processes side by side, and kept in a log, so that what was done once is not done again."""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from types import TracebackType
from typing import Any

from packenv.api import simulate
from packenv.results.stability import Verdict
from packenv.runs.log import Kept, digest_of_policy, digest_of_workload, key_of_run
from packenv.theory.stability.judge import PlannedRun, RunOutcome, outcome_of


class Log(Kept[RunOutcome]):
    """Outcomes by what their runs depend on."""

    kind = "outcome"

    def encode(self, value: RunOutcome) -> Any:
        return [list(value.verdict), value.mean_queue]

    def decode(self, plain: Any) -> RunOutcome:
        verdict, mean_queue = plain
        return RunOutcome(Verdict(*verdict), mean_queue)


def key_of(run: PlannedRun) -> str:
    """A hash of everything that the outcome depends on, the sources included."""
    return key_of_run(digest_of_workload(run.workload), digest_of_policy(run.policy), run.slots, run.seed)


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

    def __call__(self, runs: Sequence[PlannedRun]) -> list[RunOutcome]:
        keys = [key_of(run) for run in runs]
        missing = [n for n, key in enumerate(keys) if key not in self.log.known]
        if missing:
            self._compile(runs[0])
        futures = {n: self.pool.submit(outcome_of, runs[n]) for n in missing}
        for n, future in futures.items():
            self.log.keep(keys[n], future.result())
        return [self.log.known[key] for key in keys]

    def _compile(self, run: PlannedRun) -> None:
        """Have one process make the machine code of a policy before all of them need it."""
        with self.lock:
            name = str(run.policy)
            if name not in self.compiled:
                self.compiled[name] = self.pool.submit(compile_policy, run)
        self.compiled[name].result()


def compile_policy(run: PlannedRun) -> None:
    """A run of one slot."""
    simulate(run.workload, run.policy, slots=1, warmup=0)


def record_of_verdict(verdict: Verdict) -> dict[str, Any]:
    """The verdict in JSON."""
    return {"kind": verdict.kind, "confidence": verdict.confidence, "drift": verdict.drift, "level": verdict.level}
