"""Many judgments at once, their runs made by one runner and kept in one log."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

from rich.console import Console
from rich.progress import Progress, TextColumn, TimeElapsedColumn

from packenv.runs.judge_runs import JudgeRuns
from packenv.runs.log import RunLog
from packenv.runs.runner import RunOptions, RunsFailed
from packenv.theory.stability.judge import MOST_TASKS, Judgment, judge
from packenv.workloads.workload import Workload


def judge_all(
    cases: list[tuple[Workload, str]], seeds: int, width: float, made: RunOptions, log: str | None, tasks: int = MOST_TASKS
) -> list[Judgment | None]:
    """All judgments side by side, in the order of the cases (workload, policy); progress on standard error.

    None where runs failed, which is said.
    """
    console = Console(stderr=True)
    columns = TextColumn("{task.description}"), TimeElapsedColumn()
    stop = threading.Event()
    kept = RunLog(log)
    with made.runner() as runner, Progress(*columns, console=console, transient=True) as shown:
        run = JudgeRuns(runner, kept)

        def one(workload: Workload, name: str) -> Judgment | None:
            what = f"{name} on {workload.name}"
            bar = shown.add_task(f"{what}: ρ*")

            def say(low: float, high: float, load: float, slots: int) -> None:
                if stop.is_set():
                    raise KeyboardInterrupt
                shown.update(bar, description=f"{what}: in [{low:g}, {high:g}], at {load:g}, {slots:.1e} slots{runner.where()}")

            try:
                return judge(workload, name, seeds=seeds, width=width, tasks=tasks, run=run, progress=say)
            except RunsFailed:  # each has been reported
                return None
            finally:
                shown.remove_task(bar)

        with ThreadPoolExecutor(len(cases)) as threads:
            try:
                return list(threads.map(lambda case: one(*case), cases))
            except BaseException:
                stop.set()
                raise
