"""Many runs side by side: every (policy, seed) in processes of their own, on the same jobs, with progress."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from packenv.simulation import Result, simulate
from packenv.workloads.workload import Workload

PATIENCE = 1.5  # seconds of silence before a line that says what is going on


@dataclass(frozen=True)
class Plan:
    """What is run: every policy with every seed."""

    workload: Workload
    policies: tuple[str, ...]
    seeds: tuple[int, ...]
    slots: int | None = None
    options: dict[str, Any] = field(default_factory=dict)  # of packenv.simulate

    @property
    def runs(self) -> list[tuple[str, int]]:
        return [(policy, seed) for policy in self.policies for seed in self.seeds]

    @property
    def length(self) -> int:
        """Slots per run, as far as they are known beforehand."""
        if self.slots is not None or self.workload.jobs is None:
            return self.slots or 1
        return int(self.workload.jobs.arrival[-1]) + 1


_plan: Plan
_reached: Any  # slots reached by each run, shared between processes


def _begin(plan: Plan, reached: Any) -> None:
    global _plan, _reached
    _plan, _reached = plan, reached


def _compile(policy: str) -> None:
    """Have the machine code of a policy made, or found on disk."""
    options = {key: value for key, value in _plan.options.items() if key not in ("schedule", "warmup")}
    simulate(_plan.workload, policy, slots=1, warmup=0, **options | {"drain": False})


def _run(n: int) -> Result:
    policy, seed = _plan.runs[n]

    def progress(slot: int) -> None:
        _reached[n] = min(slot, _plan.length)

    result = simulate(_plan.workload, policy, slots=_plan.slots, seed=seed, progress=progress, **_plan.options)
    _reached[n] = _plan.length
    return result


def run_all(plan: Plan, processes: int | None = None) -> list[Result]:
    """All results, in the order of `plan.runs`. Raises what a run raises; Ctrl-C ends all of them."""
    processes = min(processes or os.cpu_count() or 1, len(plan.runs))
    if processes == 1:
        _begin(plan, [0] * len(plan.runs))
        with _patience("compiling (once for this version of the sources)"):
            for policy in plan.policies:
                _compile(policy)
        with _watch(plan, _reached):
            return [_run(n) for n in range(len(plan.runs))]
    context = multiprocessing.get_context("spawn")
    reached = context.Array("q", len(plan.runs), lock=False)
    pool = ProcessPoolExecutor(processes, mp_context=context, initializer=_begin, initargs=(plan, reached))
    try:
        with _patience("compiling (once for this version of the sources)"):
            for compiled in [pool.submit(_compile, policy) for policy in plan.policies]:
                compiled.result()
        with _watch(plan, reached):
            futures: list[Future[Result]] = [pool.submit(_run, n) for n in range(len(plan.runs))]
            return [future.result() for future in futures]
    except BaseException:
        for process in list((pool._processes or {}).values()):
            process.terminate()
        raise
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


@contextlib.contextmanager
def _patience(what: str) -> Iterator[None]:
    """Say what is going on if it takes long."""
    timer = threading.Timer(PATIENCE, lambda: print(f"packenv: {what} …", file=sys.stderr, flush=True))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


@contextlib.contextmanager
def _watch(plan: Plan, reached: Any) -> Iterator[None]:
    """A progress bar on standard error for runs that take long."""
    console = Console(stderr=True)
    done = threading.Event()
    columns = TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:>3.0f} %"), TimeRemainingColumn()

    def show() -> None:
        if done.wait(PATIENCE):
            return
        with Progress(*columns, console=console, transient=True) as bar:
            task = bar.add_task(f"{len(plan.runs)} runs", total=plan.length * len(plan.runs))
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
