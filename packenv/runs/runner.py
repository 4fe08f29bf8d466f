"""The place where runs are made, in parallel, on any executor."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor, Future
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from types import TracebackType
from typing import Any

from packenv.content.text import counted
from packenv.errors import ArgumentError, InputError, MisuseError
from packenv.executors.local import PROCESSES, LocalProcesses, ThisProcess, executor, local_executor, usable_cores
from packenv.executors.pieces import Outcome, Pieces
from packenv.executors.shared import ShippedModules, modules_to_ship
from packenv.policy import find_policy, takes_text
from packenv.results.result import Result
from packenv.runs.keys import modules_of
from packenv.runs.progress import PREPARING, announce_if_slow, progress_bar
from packenv.runs.run import Extract, Run, compile_policy, kind_of, make, whole_result


class RunsFailed(InputError):
    """Failed runs, each already reported. The others were made."""


class Runner:
    """Makes runs in `processes` processes, or on your executor.

    None: one process per core of this machine. Your executor stays open. Any number of threads may request runs. A run that
    fails, from lack of memory or a bug of its policy, is reported on standard error, and others continue. With `fail_fast` its
    error is raised. Bad input ends all runs.
    """

    def __init__(
        self, processes: int | None = None, executor: Executor | None = None, most: int | None = None, fail_fast: bool = False
    ) -> None:
        if executor is not None and not hasattr(executor, "submit"):
            raise ArgumentError(f"`executor` is made by `packenv.executor()`, or has a method `submit`, not {executor!r}")
        self.local_pool = None if executor is not None else local_executor(processes, most)
        self.executor: Executor = executor or self.local_pool  # type: ignore[assignment]
        self.local = isinstance(self.executor, (ThisProcess, LocalProcesses))
        self.pieces = Pieces(self.executor)
        self.fail_fast = fail_fast
        self.compiled: dict[str, Future[None]] = {}
        self.lock = threading.Lock()

    def __enter__(self) -> Runner:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Wait for all runs, or end them immediately after an exception."""
        if self.local_pool is not None:
            self.local_pool.__exit__(kind, error, trace)

    def each(self, runs: Sequence[Run], extract: Extract = whole_result, name: str | None = None) -> Iterator[tuple[int, Any]]:
        """Yield (number of the run, extracted value) as runs end, in any order.

        With a `name` the progress is shown on a terminal. Raises RunsFailed at the end if some failed.
        """
        with announce_if_slow(PREPARING) if name is not None else nullcontext():
            modules = self._prepare(runs, extract)
        failed = ended = 0

        def label() -> str:
            return f"{name}: {len(runs)} runs{self.where()}" if name else f"{len(runs)} runs{self.where()}"

        def progress() -> float:
            return min(ended + sum(getattr(self.executor, "shares", ())), len(runs))

        sent = runs if self.local else [*map(for_other_machines, runs)]
        with nullcontext() if name is None else progress_bar(label, len(runs), progress):
            for outcome in self.pieces.each(partial(make, extract=extract), sent, kind_of, modules):
                ended += 1
                if outcome.error is not None:
                    failed += 1
                    if len(runs) == 1:  # nothing else goes on
                        raise outcome.error
                    self._report(runs[outcome.number], outcome)
                else:
                    yield outcome.number, outcome.value
        if failed:
            raise RunsFailed(f"{failed} of {counted(len(runs), 'run')} failed (above)")

    def all(self, runs: Sequence[Run], extract: Extract = whole_result, name: str | None = None) -> list[Any]:
        """Return the values of `each` in the order of the runs."""
        values = dict(self.each(runs, extract, name))
        return [values[n] for n in range(len(runs))]

    def where(self) -> str:
        """Return the number of nodes, if known, and their load, for a progress bar."""
        nodes = getattr(self.executor, "nodes", None)
        return "" if nodes is None else f", {counted(nodes, 'node')}, {counted(self.pieces.under_way, 'piece')} under way"

    def _report(self, run: Run, outcome: Outcome) -> None:
        """Report a failed run, or raise its error.

        Errors are raised for bad input, and with `fail_fast`.
        """
        error = outcome.error
        assert error is not None
        if self.fail_fast or (isinstance(error, InputError) and not isinstance(error, MisuseError)):
            raise error
        reason = str(error) if isinstance(error, InputError) else f"{type(error).__name__}: {error}"
        line = " ".join(f"{run.title()}: {reason}".split())
        hint = "the other runs go on (--fail-fast ends them)"
        print(f"packenv: {line}; {hint}", file=sys.stderr, flush=True)

    def _prepare(self, runs: Sequence[Run], extract: Extract) -> ShippedModules | None:
        """Compile each policy once, or collect modules for other machines.

        On this machine other processes load the machine code from disk. Other machines may lack modules of users, and of
        packenv's experiments.
        """
        if not self.local:
            policies = {id(run.policy): run.policy for run in runs}
            calls: list[Any] = [extract, *(run.workload for run in runs if callable(run.workload))]
            names = {name for policy in policies.values() for name in modules_of(policy)}
            return modules_to_ship(names | {*map(module_of_call, calls)} - {"__main__"})
        firsts = {str(run.policy): run for run in reversed(runs)}
        with self.lock:
            new = [name for name in dict.fromkeys(str(run.policy) for run in runs) if name not in self.compiled]
            for name in new:
                self.compiled[name] = self.executor.submit(compile_policy, firsts[name], usable_cores() - len(new))
        raised = [error for error in (self.compiled[name].exception() for name in firsts) if error is not None]
        for error in raised:  # a policy's own fault is that of its runs, as long as there are others
            if self.fail_fast or len(raised) == len(firsts) or not isinstance(error, MisuseError):
                raise error
        return None


def module_of_call(call: Any) -> str:
    """Return the module of a function, or of a callable object's type."""
    while isinstance(call, partial):
        call = call.func
    return str(call.__module__)


def for_other_machines(run: Run) -> Run:
    """Return the run with its policy in place of a file name of this machine."""
    if isinstance(run.policy, str) and takes_text(run.policy):
        return replace(run, policy=find_policy(run.policy))
    return run


class RunOptions:
    """Where runs are made, and whether the first failure ends all.

    Use it in a `with` block.
    processes  of this machine, or of a new Ray cluster
    on         see `packenv.executor`. The executor is made when first needed, and ends with the block
    executor   your executor instead, which stays open
    """

    def __init__(
        self, processes: int | None = None, on: str = PROCESSES, fail_fast: bool = False, executor: Executor | None = None
    ) -> None:
        self.processes, self.on, self.fail_fast, self.executor = processes, on, fail_fast, executor
        self.opened: Executor | None = None

    def __enter__(self) -> RunOptions:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self.opened is not None:
            self.opened.__exit__(kind, error, trace)
            self.executor = self.opened = None

    def runner(self, most: int | None = None) -> Runner:
        """Return a runner for at most `most` parallel runs."""
        if self.executor is None and self.on != PROCESSES:
            self.executor = self.opened = executor(self.on, self.processes)
        return Runner(self.processes, self.executor, most, self.fail_fast)


def run_most(runs: Sequence[Run], options: RunOptions, name: str = "") -> tuple[list[Result | None], RunsFailed | None]:
    """Return all results in order, None for failed runs, and their error."""
    results: list[Result | None] = [None] * len(runs)
    with options.runner(most=len(runs)) as runner:
        try:
            for n, result in runner.each(runs, name=name):
                results[n] = result
        except RunsFailed as failure:
            return results, failure
    return results, None


def run_all(runs: Sequence[Run], options: RunOptions | None = None, name: str = "") -> list[Result]:
    """Return all results in order. Raises errors of runs.

    Ctrl-C ends all runs. `name`: of the runs.
    """
    return extract_all(runs, whole_result, options, name)


def extract_all(runs: Sequence[Run], extract: Extract, options: RunOptions | None = None, name: str = "") -> list[Any]:
    """Return only the extracted values of each run (`run_all`)."""
    with (options or RunOptions()).runner(most=len(runs)) as runner:
        return runner.all(runs, extract, name)
