"""The one place where runs are made: many side by side, on any `concurrent.futures` executor, results as they come."""

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
from packenv.errors import InputError, MisuseError
from packenv.executors.choose import PROCESSES, executor
from packenv.executors.local import LocalProcesses, ThisProcess, local_executor, usable_cores
from packenv.executors.pieces import Outcome, Pieces
from packenv.executors.shipped_modules import ShippedModules, modules_to_ship
from packenv.policy import find_policy, takes_text
from packenv.results.result import Result
from packenv.runs.keys import modules_of
from packenv.runs.progress import PREPARING, announce_if_slow, progress_bar
from packenv.runs.run import Extract, Run, compile_policy, kind_of, make, whole_result


class RunsFailed(InputError):
    """Runs that failed, each of which has been reported; the others have been made."""


class Runner:
    """Makes runs in `processes` processes of this machine (None: one per core), or on an executor of the caller's.

    An executor of the caller's stays open. Any number of threads may ask for runs at the same time. A run that fails, for
    want of memory or by a fault of its policy, is reported on standard error, and does not stop the others, unless
    `fail_fast`: then what it raised is raised. Bad input ends all runs.
    """

    def __init__(
        self, processes: int | None = None, executor: Executor | None = None, most: int | None = None, fail_fast: bool = False
    ) -> None:
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
        """Waits for all runs; after an exception ends them at once."""
        if self.local_pool is not None:
            self.local_pool.__exit__(kind, error, trace)

    def each(self, runs: Sequence[Run], extract: Extract = whole_result, name: str | None = None) -> Iterator[tuple[int, Any]]:
        """(number of the run, what `extract` takes of it) as soon as each has ended, in any order.

        With a `name` (what is run) the progress of all runs is shown on a terminal. Raises RunsFailed in the end if some have.
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
        """As `each`, in the order of the runs."""
        values = dict(self.each(runs, extract, name))
        return [values[n] for n in range(len(runs))]

    def where(self) -> str:
        """How many nodes there are, if that is known, and what they have to do: for a progress bar."""
        nodes = getattr(self.executor, "nodes", None)
        return "" if nodes is None else f", {counted(nodes, 'node')}, {counted(self.pieces.under_way, 'piece')} under way"

    def _report(self, run: Run, outcome: Outcome) -> None:
        """Say which run has failed and why. Raises what it raised if it is bad input, or nothing may fail."""
        error = outcome.error
        assert error is not None
        if self.fail_fast or (isinstance(error, InputError) and not isinstance(error, MisuseError)):
            raise error
        reason = str(error) if isinstance(error, InputError) else f"{type(error).__name__}: {error}"
        line = " ".join(f"{run.title()}: {reason}".split())
        hint = "the other runs go on (--fail-fast ends them)"
        print(f"packenv: {line}; {hint}", file=sys.stderr, flush=True)

    def _prepare(self, runs: Sequence[Run], extract: Extract) -> ShippedModules | None:
        """On this machine, have one process compile each policy before all of them need it: the others find the machine code on
        disk. For other machines, collect the modules that they may lack: of users, and of packenv's experiments."""
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
    """The name of the module in which a function, or the type of an object that is called, is defined."""
    while isinstance(call, partial):
        call = call.func
    return str(call.__module__)


def for_other_machines(run: Run) -> Run:
    """The run with its policy itself in place of a name that stands for a file of this machine."""
    if isinstance(run.policy, str) and takes_text(run.policy):
        return replace(run, policy=find_policy(run.policy))
    return run


class RunOptions:
    """Where a command's runs are made, and whether the first that fails ends them all; to be used in a `with` block.

    processes  of this machine, or of a Ray cluster that is begun
    on         as of `packenv.executor`; the executor is made when it is first needed, and ends with the block
    executor   in place of these: the caller's own, which stays open
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
        """A runner, for at most `most` runs at the same time."""
        if self.executor is None and self.on != PROCESSES:
            self.executor = self.opened = executor(self.on, self.processes)
        return Runner(self.processes, self.executor, most, self.fail_fast)


def run_most(runs: Sequence[Run], options: RunOptions, name: str = "") -> tuple[list[Result | None], RunsFailed | None]:
    """All results, in the order of the runs, with None for runs that failed; and what to raise for these in the end."""
    results: list[Result | None] = [None] * len(runs)
    with options.runner(most=len(runs)) as runner:
        try:
            for n, result in runner.each(runs, name=name):
                results[n] = result
        except RunsFailed as failure:
            return results, failure
    return results, None


def run_all(runs: Sequence[Run], options: RunOptions | None = None, name: str = "") -> list[Result]:
    """All results, in the order of the runs. Raises what a run raises; Ctrl-C ends all of them. `name`: what is run."""
    return extract_all(runs, whole_result, options, name)


def extract_all(runs: Sequence[Run], extract: Extract, options: RunOptions | None = None, name: str = "") -> list[Any]:
    """Only what `extract` takes of each run where it was made, else as `run_all`: schedules are large."""
    with (options or RunOptions()).runner(most=len(runs)) as runner:
        return runner.all(runs, extract, name)
