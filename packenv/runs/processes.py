"""Many runs side by side, in processes of their own, with progress."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from typing import Any, TypeVar

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from packenv.api import simulate
from packenv.policy import find_policy
from packenv.results.result import Result
from packenv.workloads.workload import Workload

PATIENCE = 1.5  # seconds of silence before a line that says what is going on


@dataclass(frozen=True)
class Run:
    """One policy on one workload, or on what a function makes where the run takes place (a table too large to send)."""

    workload: Workload | Callable[[], Workload]
    policy: str
    seed: int = 0
    slots: int | None = None
    options: dict[str, Any] = field(default_factory=dict)  # of packenv.simulate

    def made(self) -> Workload:
        """The workload. The last one made is kept: runs that share a function, one after the other, share its result."""
        global _last_made
        if isinstance(self.workload, Workload):
            return self.workload
        if _last_made is None or _last_made[0] is not self.workload:
            _last_made = None  # frees the memory first
            _last_made = self.workload, self.workload()
        return _last_made[1]


_last_made: tuple[Callable[[], Workload], Workload] | None = None


@dataclass(frozen=True)
class Plan:
    """Every policy with every seed, on one workload."""

    workload: Workload
    policies: tuple[str, ...]
    seeds: tuple[int, ...]
    slots: int | None = None
    options: dict[str, Any] = field(default_factory=dict)  # of packenv.simulate

    @property
    def runs(self) -> list[Run]:
        return [Run(self.workload, policy, seed, self.slots, self.options) for policy in self.policies for seed in self.seeds]


Outcome = TypeVar("Outcome")
Reduce = Callable[[Workload, Result], Any]

_runs: Sequence[Run]
_reached: Any  # share of each run that is done, shared between processes
_reduce: Reduce


def _begin(runs: Sequence[Run], reached: Any, reduce: Reduce) -> None:
    global _runs, _reached, _reduce
    _runs, _reached, _reduce = runs, reached, reduce


def _compile(n: int) -> None:
    """Have the machine code of run n's policy made, or found on disk."""
    run = _runs[n]
    options = {key: value for key, value in run.options.items() if key not in ("schedule", "warmup")}
    policy = find_policy(run.policy)
    simulate(run.made(), getattr(policy, "rehearsal", policy), slots=1, warmup=0, **options | {"drain": False})


def _run(n: int) -> Any:
    run = _runs[n]
    workload = run.made()
    length = run.slots or (1 if workload.jobs is None else int(workload.jobs.arrival[-1]) + 1)

    def progress(slot: int) -> None:
        _reached[n] = min(slot / length, 1.0)

    result = simulate(workload, run.policy, slots=run.slots, seed=run.seed, progress=progress, **run.options)
    _reached[n] = 1.0
    return _reduce(workload, result)


def _whole(workload: Workload, result: Result) -> Result:
    return result


def run_all(
    plan: Plan | Sequence[Run],
    processes: int | None = None,
    name: str = "",
    done: Callable[[int, Result], None] = lambda n, result: None,
) -> list[Result]:
    """All results, in the order of the runs. Raises what a run raises; Ctrl-C ends all of them. `name`: what is run.

    `done` hears of every run as soon as it has ended.
    """
    return _all(plan.runs if isinstance(plan, Plan) else plan, _whole, processes, name, done)


def outcomes_of(
    runs: Sequence[Run], reduce: Callable[[Workload, Result], Outcome], processes: int | None = None, name: str = ""
) -> list[Outcome]:
    """As `run_all`, but of each run only what `reduce` makes of it where it takes place: schedules are large."""
    return _all(runs, reduce, processes, name, lambda n, outcome: None)


def _all(runs: Sequence[Run], reduce: Reduce, processes: int | None, name: str, done: Callable[[int, Any], None]) -> list[Any]:
    processes = min(processes or os.cpu_count() or 1, len(runs))
    label = f"{name}: {len(runs)} runs" if name else f"{len(runs)} runs"
    policies = [run.policy for run in runs]
    firsts = [policies.index(policy) for policy in dict.fromkeys(policies)]
    if processes == 1:
        _begin(runs, [0.0] * len(runs), reduce)
        with patience("compiling (once for this version of the sources)"):
            for n in firsts:
                _compile(n)
        with _watch(label, _reached):
            return [_told(n, _run(n), done) for n in range(len(runs))]
    context = multiprocessing.get_context("spawn")
    reached = context.Array("d", len(runs), lock=False)
    pool = ProcessPoolExecutor(processes, mp_context=context, initializer=_begin, initargs=(runs, reached, reduce))
    try:
        with patience("compiling (once for this version of the sources)"):
            for compiled in [pool.submit(_compile, n) for n in firsts]:
                compiled.result()
        with _watch(label, reached):
            futures: dict[Future[Any], int] = {pool.submit(_run, n): n for n in range(len(runs))}
            for future in as_completed(futures):
                done(futures[future], future.result())
            return [future.result() for future in futures]
    except BaseException:
        for process in list((pool._processes or {}).values()):
            process.terminate()
        raise
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _told(n: int, result: Any, done: Callable[[int, Any], None]) -> Any:
    done(n, result)
    return result


@contextlib.contextmanager
def patience(what: str) -> Iterator[None]:
    """Say what is going on if it takes long."""
    timer = threading.Timer(PATIENCE, lambda: print(f"packenv: {what} …", file=sys.stderr, flush=True))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


@contextlib.contextmanager
def _watch(label: str, reached: Any) -> Iterator[None]:
    """A progress bar on standard error for runs that take long."""
    console = Console(stderr=True)
    done = threading.Event()
    columns = TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:>3.0f} %"), TimeRemainingColumn()

    def show() -> None:
        if done.wait(PATIENCE):
            return
        with Progress(*columns, console=console, transient=True) as bar:
            task = bar.add_task(label, total=len(reached))
            while not done.wait(0.2):
                bar.update(task, completed=sum(reached))

    watcher = threading.Thread(target=show, daemon=True)
    if console.is_terminal:
        watcher.start()
    try:
        yield
    finally:
        done.set()
        if watcher.is_alive():
            watcher.join(timeout=1)
            time.sleep(0)
