"""`packenv.simulate_many` and `packenv.judge`: many runs on any executor."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from pathlib import Path
from typing import Any, overload

from packenv.api import at_a_rate
from packenv.errors import InputError
from packenv.executors.local import ThisProcess
from packenv.options.fields import takes
from packenv.options.verbs import JudgeOptions
from packenv.policy import distinct_names, policies_in
from packenv.results.result import Result
from packenv.runs.log import RunLog
from packenv.runs.progress import progress_lines
from packenv.runs.run import Run, chosen_seeds, runs_of
from packenv.runs.runner import Runner, RunOptions, RunsFailed
from packenv.theory.stability import judge as stability
from packenv.theory.stability.judgment import Judgment, Judgments
from packenv.workloads.find import workload as find_workload
from packenv.workloads.workload import Workload


def simulate_many(
    workload: Any,
    policies: Iterable[str | Any],
    seeds: int | Iterable[int] = 8,
    slots: int | None = None,
    *,
    executor: Executor | None = None,
    **options: Any,
) -> dict[str, list[Result]]:
    """Run every policy with every seed, and return results by policy name.

    All policies have the same jobs.
    workload  a Workload, or an argument of `packenv.workload`
    seeds     their number, or the seeds
    executor  where the runs are made: `packenv.executor()` for processes of this machine, `packenv.executor("ray")`, or any
              executor of `concurrent.futures`, dask or mpi4py. None: this process, one run after the other
    options   of `packenv.simulate`
    Raises errors of runs, and InputError for two policies with the same name.
    """
    workload, chosen = at_a_rate(workload), policies_in(policies)
    distinct = distinct_names(chosen)
    names = [policy if isinstance(policy, str) else name for policy, name in zip(chosen, distinct, strict=True)]
    all_seeds = chosen_seeds(seeds)
    with Runner(executor=executor or ThisProcess(), fail_fast=True) as runner:
        results = runner.all(runs_of(workload, chosen, all_seeds, slots, options))
    return {name: results[n * len(all_seeds) : (n + 1) * len(all_seeds)] for n, name in enumerate(names)}


@overload
def judge(workload: list[Any], policy: Any, **options: Any) -> Judgments: ...
@overload
def judge(workload: Any, policy: list[Any], **options: Any) -> Judgments: ...
@overload
def judge(workload: Any, policy: Any, **options: Any) -> Judgment: ...
@takes(JudgeOptions)
def judge(
    workload: Any,
    policy: Any,
    *,
    options: JudgeOptions,
    executor: Executor | None = None,
    log: str | Path | None = None,
    progress: stability.Progress | None = None,
) -> Judgment | Judgments:
    """Find the fraction of ρ* that `policy` supports on a workload.

    The workload's own load does not matter.
    workload  a Workload, or an argument of `packenv.workload`, or a list of these
    policy    a name ("vqs:J=4", "agent:runs/NAME/agent") or an object, or a list of these. Lists give `Judgments`
    options   fields of JudgeOptions
    executor  where the runs are made (`packenv.simulate_many`)
    log       file that stores finished runs. A second call makes only the missing runs
    progress  called for every set of runs with the ends of the interval so far, the load tried, and the slots
    The interval is wider than `width` if loads remain undecided after the longest runs. Queues that settle at a high level,
    such as `msr` near ρ*, need more `tasks`, as shorter runs would call them unstable. A Jobs table is judged by one run at
    each load, with its arrivals spread out or moved together. Its runs have the tasks of the table (`Judgment.needed`). Raises
    InputError for a width outside (0, 1), no seed, or fewer tasks than by default, and errors of runs.
    """
    several = isinstance(workload, list) or isinstance(policy, list)
    workloads = [find_workload(item) for item in (workload if isinstance(workload, list) else [workload])]
    cases = [(item, name) for item in workloads for name in (policy if isinstance(policy, list) else [policy])]
    if not cases:
        raise InputError("no workload or no policy to judge: name one of each")
    settings: dict[str, Any] = {"options": options, "progress": progress}
    if executor is not None or log is not None:
        with Runner(executor=executor or ThisProcess(), fail_fast=True) as runner:
            settings["run"] = JudgeRuns(runner, RunLog(log))
            judgments = tuple(stability.judge(*case, **settings) for case in cases)
    else:
        judgments = tuple(stability.judge(*case, **settings) for case in cases)
    return Judgments(judgments) if several else judgments[0]


def judge_all(
    cases: Sequence[tuple[Workload, str]], options: RunOptions, log: RunLog, judging: JudgeOptions
) -> list[Judgment | None]:
    """Return all judgments in the order of the cases, made in parallel.

    None if runs failed, after a message. Shows progress on standard error.
    """
    stop = threading.Event()
    with options.runner() as runner, progress_lines() as lines:
        run = JudgeRuns(runner, log)

        def judgment(case: tuple[Workload, str]) -> Judgment | None:
            workload, policy = case
            title = f"{policy} on {workload.name}"
            line = lines.add_task(f"{title}: ρ*")

            def show(low: float, high: float, load: float, slots: int) -> None:
                if stop.is_set():
                    raise KeyboardInterrupt
                lines.update(line, description=f"{title}: in [{low:g}, {high:g}], at {load:g}, {slots:.1e} slots{runner.where()}")

            try:
                return stability.judge(workload, policy, options=judging, run=run, progress=show)
            except RunsFailed:  # each has been reported
                return None
            finally:
                lines.remove_task(line)

        with ThreadPoolExecutor(1 if isinstance(runner.executor, ThisProcess) else len(cases)) as threads:
            try:
                return list(threads.map(judgment, cases))
            except BaseException:
                stop.set()
                raise


class JudgeRuns:
    """The `run` argument of `judge`, safe for several threads."""

    def __init__(self, runner: Runner, log: RunLog) -> None:
        self.runner, self.log = runner, log

    def __call__(self, runs: Sequence[stability.PlannedRun]) -> list[stability.RunOutcome]:
        measured = self.log.complete([*map(run_of, runs)], self.runner)
        return [stability.RunOutcome(run.verdict, run.values["mean_queue"] or 0.0) for run in measured]


def run_of(run: stability.PlannedRun) -> Run:
    """Return a judge's run: an empty cluster at first, no warm-up."""
    return Run(run.workload, run.policy, run.seed, run.slots, {"warmup": 0})
