"""`packenv.simulate_many` and `packenv.judge`: many runs from Python, on whatever executor."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

from packenv.api import at_a_rate
from packenv.errors import InputError
from packenv.executors.local import ThisProcess
from packenv.policy import name_of
from packenv.results.result import Result
from packenv.runs.log import RunLog
from packenv.runs.run import Run, runs_of
from packenv.runs.runner import Runner
from packenv.theory.stability import judge as stability
from packenv.workloads.find import workload as find_workload


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
    names = [policy if isinstance(policy, str) else name_of(policy) for policy in chosen]
    if len(set(names)) < len(names):
        raise InputError(f"two policies have the same name: {', '.join(names)}")
    wanted = [*range(seeds)] if isinstance(seeds, int) else [*seeds]
    with Runner(executor=executor or ThisProcess(), fail_fast=True) as runner:
        results = runner.all(runs_of(workload, chosen, wanted, slots, options))
    return {name: results[n * len(wanted) : (n + 1) * len(wanted)] for n, name in enumerate(names)}


def judge(
    workload: Any,
    policy: str | Any,
    *,
    seeds: int = stability.SEEDS,
    width: float = stability.WIDTH,
    tasks: int = stability.MOST_TASKS,
    executor: Executor | None = None,
    log: str | Path | None = None,
    progress: stability.Progress | None = None,
) -> stability.Judgment:
    """Find the fraction of ρ* that `policy` supports on a workload, whose own load does not matter.

    seeds     runs at each load
    width     of the interval of the judgment, which is wider if loads remain undecided after the longest runs
    tasks     that arrive in each of the longest runs; in the first ones, a 64th of them. A queue that settles at a high level
              only, such as that of `msr` near ρ*, grows until then: it needs more, as a shorter first run would call it unstable
    executor  where the runs take place, as of `packenv.simulate_many`
    log       a file in which each finished run is kept; a second call makes only the runs that it lacks
    progress  called for every set of runs with the ends of the interval so far, the load that is tried, and the slots

    A Jobs table is judged by one run at each load, with its arrivals spread out or drawn together; its runs have the tasks
    that it has, see `Judgment.needed`. Raises InputError for a width outside (0, 1), no seed, or fewer tasks than by default, and
    what a run raises.
    """
    workload = find_workload(workload)
    if executor is None and log is None:
        return stability.judge(workload, policy, seeds=seeds, width=width, tasks=tasks, progress=progress)
    with Runner(executor=executor or ThisProcess(), fail_fast=True) as runner:
        run = JudgeRuns(runner, RunLog(log))
        return stability.judge(workload, policy, seeds=seeds, width=width, tasks=tasks, run=run, progress=progress)


class JudgeRuns:
    """What `judge` and `worst_case` take as `run`. Judgments in several threads may ask at the same time."""

    def __init__(self, runner: Runner, log: RunLog) -> None:
        self.runner, self.log = runner, log

    def __call__(self, runs: Sequence[stability.PlannedRun]) -> list[stability.RunOutcome]:
        found = self.log.complete([*map(run_of, runs)], self.runner)
        return [stability.RunOutcome(one.verdict, one.values["mean_queue"] or 0.0) for one in found]


def run_of(run: stability.PlannedRun) -> Run:
    """A judge's runs begin with an empty cluster, and all their slots are measured."""
    return Run(run.workload, run.policy, run.seed, run.slots, {"warmup": 0})
