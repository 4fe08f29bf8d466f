"""`packenv.simulate_many` and `packenv.judge`: many runs from Python, on whatever executor."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from pathlib import Path
from typing import Any, overload

from packenv.api import at_a_rate
from packenv.executors.local import ThisProcess
from packenv.options.fields import takes
from packenv.options.verbs import JudgeOptions
from packenv.policy import distinct_names
from packenv.results.result import Result
from packenv.runs.log import RunLog
from packenv.runs.progress import progress_lines
from packenv.runs.run import Run, runs_of
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
    """The results of every policy with every seed, the same jobs for each policy, by the policy's name.

    workload  a Workload, or what `packenv.workload` takes
    seeds     how many, or which ones
    executor  where the runs take place: `packenv.executor()` for processes of this machine, `packenv.executor("ray")`, or any
              executor of `concurrent.futures`, dask or mpi4py; None: in this process, one after the other
    options   of `packenv.simulate`

    Raises what a run raises, and InputError for two policies of one name.
    """
    workload, chosen = at_a_rate(workload), [*policies]
    shown = distinct_names(chosen)
    names = [policy if isinstance(policy, str) else name for policy, name in zip(chosen, shown, strict=True)]
    all_seeds = [*range(seeds)] if isinstance(seeds, int) else [*seeds]
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
    """Find the fraction of ρ* that `policy` supports on a workload, whose own load does not matter.

    workload  a Workload, or what `packenv.workload` takes; a list of these: each of them
    policy    a name ("vqs:J=4", "agent:runs/NAME/agent") or an object; a list: each of them. Lists give `Judgments`
    options   fields of JudgeOptions
    executor  where the runs take place, as of `packenv.simulate_many`
    log       a file in which each finished run is kept; a second call makes only the runs that it lacks
    progress  called for every set of runs with the ends of the interval so far, the load that is tried, and the slots

    The interval is wider than `width` if loads remain undecided after the longest runs. A queue that settles at a high level
    only, such as that of `msr` near ρ*, grows until then: it needs more `tasks`, as a shorter run would call it unstable.
    A Jobs table is judged by one run at each load, with its arrivals spread out or drawn together; its runs have the tasks
    that it has, see `Judgment.needed`. Raises InputError for a width outside (0, 1), no seed, or fewer tasks than by default, and
    what a run raises.
    """
    several = isinstance(workload, list) or isinstance(policy, list)
    workloads = [find_workload(item) for item in (workload if isinstance(workload, list) else [workload])]
    cases = [(item, name) for item in workloads for name in (policy if isinstance(policy, list) else [policy])]
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
    """All judgments side by side, in the order of the cases (workload, policy); progress on standard error.

    None where runs failed, which is said.
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
    """What `judge` takes as `run`. Judgments in several threads may ask at the same time."""

    def __init__(self, runner: Runner, log: RunLog) -> None:
        self.runner, self.log = runner, log

    def __call__(self, runs: Sequence[stability.PlannedRun]) -> list[stability.RunOutcome]:
        measured = self.log.complete([*map(run_of, runs)], self.runner)
        return [stability.RunOutcome(run.verdict, run.values["mean_queue"] or 0.0) for run in measured]


def run_of(run: stability.PlannedRun) -> Run:
    """A judge's runs begin with an empty cluster, and all their slots are measured."""
    return Run(run.workload, run.policy, run.seed, run.slots, {"warmup": 0})
