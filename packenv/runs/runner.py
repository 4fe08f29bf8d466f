"""The one place where runs are made: many side by side, on any `concurrent.futures` executor, results as they come."""

from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from contextlib import nullcontext
from types import TracebackType
from typing import Any

from packenv.results.result import Result
from packenv.runs.executors import LocalProcesses, ThisProcess, local_executor, report_share
from packenv.runs.progress import COMPILING, announce_if_slow, progress_bar
from packenv.runs.run import Batch, BatchHere, Extract, Run, compile_policy, make, whole_result

IN_FLIGHT = 256  # runs that are handed to an executor at once: memory does not grow with their number


class Runner:
    """Makes runs in `processes` processes of this machine (None: one per core), or on an executor of the caller's.

    An executor of the caller's stays open. Any number of threads may ask for runs at the same time.
    """

    def __init__(self, processes: int | None = None, executor: Executor | None = None, most: int | None = None) -> None:
        self.own = None if executor is not None else local_executor(processes, most)
        self.executor: Executor = executor or self.own  # type: ignore[assignment]
        self.in_flight = 1 if isinstance(self.executor, ThisProcess) else IN_FLIGHT
        self.compiled: dict[str, Future[None]] = {}
        self.lock = threading.Lock()
        self.batches = itertools.count()

    def __enter__(self) -> Runner:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Waits for all runs; after an exception ends them at once."""
        if kind is not None and isinstance(self.own, LocalProcesses):
            self.own.stop()
        if self.own is not None:
            self.own.shutdown(wait=kind is None, cancel_futures=True)

    def each(self, runs: Sequence[Run], extract: Extract = whole_result, name: str | None = None) -> Iterator[tuple[int, Any]]:
        """(number of the run, what `extract` takes of it) as soon as each has ended, in any order.

        Raises what a run raises. With a `name` (what is run) the progress of all runs is shown on a terminal.
        """
        with announce_if_slow(COMPILING) if name is not None else nullcontext():
            self._compile(runs)
        if name is None:
            yield from self._ended(runs, extract)
            return
        ended = 0
        shares = self.own.shares if self.own is not None else ()
        label = f"{name}: {len(runs)} runs" if name else f"{len(runs)} runs"
        with progress_bar(label, len(runs), lambda: min(ended + sum(shares), len(runs))):
            for pair in self._ended(runs, extract):
                ended += 1
                yield pair

    def all(self, runs: Sequence[Run], extract: Extract = whole_result, name: str | None = None) -> list[Any]:
        """As `each`, in the order of the runs."""
        found = dict(self.each(runs, extract, name))
        return [found[n] for n in range(len(runs))]

    def _ended(self, runs: Sequence[Run], extract: Extract) -> Iterator[tuple[int, Any]]:
        batch: Batch | BatchHere = BatchHere(runs, extract)
        if not isinstance(self.executor, ThisProcess):
            batch = Batch.of(f"{os.getpid()}-{id(self)}-{next(self.batches)}", runs, extract)
        under_way: dict[Future[Any], int] = {}
        try:
            for n in range(len(runs)):
                under_way[self.executor.submit(make_one, batch, n)] = n
                if len(under_way) >= self.in_flight:
                    yield from _take_ended(under_way)
            while under_way:
                yield from _take_ended(under_way)
        finally:
            for future in under_way:
                future.cancel()

    def _compile(self, runs: Sequence[Run]) -> None:
        """Have one process compile each policy before all of them need it; the others find the machine code on disk."""
        firsts = {str(run.policy): run for run in reversed(runs)}
        with self.lock:
            for name in dict.fromkeys(str(run.policy) for run in runs):
                if name not in self.compiled:
                    self.compiled[name] = self.executor.submit(compile_policy, firsts[name])
        for name in firsts:
            self.compiled[name].result()


def make_one(batch: Batch | BatchHere, n: int) -> Any:
    """In the executor's process: run number n of the batch."""
    runs, extract = batch.contents()
    report_share(0.0)
    found = make(runs[n], extract, report_share)
    report_share(0.0)
    return found


def _take_ended(under_way: dict[Future[Any], int]) -> Iterator[tuple[int, Any]]:
    """Wait until some have ended, and take them out."""
    ended, _ = wait(under_way, return_when=FIRST_COMPLETED)
    for future in ended:
        yield under_way.pop(future), future.result()


def run_all(runs: Sequence[Run], processes: int | None = None, name: str = "", executor: Executor | None = None) -> list[Result]:
    """All results, in the order of the runs. Raises what a run raises; Ctrl-C ends all of them. `name`: what is run."""
    return extract_all(runs, whole_result, processes, name, executor)


def extract_all(
    runs: Sequence[Run], extract: Extract, processes: int | None = None, name: str = "", executor: Executor | None = None
) -> list[Any]:
    """As `run_all`, but of each run only what `extract` takes of it where it was made: schedules are large."""
    with Runner(processes, executor, most=len(runs)) as runner:
        return runner.all(runs, extract, name)
