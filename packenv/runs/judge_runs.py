"""Makes the runs of `packenv.theory.stability.judge` with a `Runner`, and keeps them in a log."""

from __future__ import annotations

from collections.abc import Sequence

from packenv.runs.log import RunLog
from packenv.runs.run import Run
from packenv.runs.runner import Runner
from packenv.theory.stability import judge


class JudgeRuns:
    """What `judge` and `worst_case` take as `run`. Judgments in several threads may ask at the same time."""

    def __init__(self, runner: Runner, log: RunLog) -> None:
        self.runner, self.log = runner, log

    def __call__(self, runs: Sequence[judge.PlannedRun]) -> list[judge.RunOutcome]:
        found = self.log.complete([*map(run_of, runs)], self.runner)
        return [judge.RunOutcome(one.verdict, one.values["mean_queue"] or 0.0) for one in found]


def run_of(run: judge.PlannedRun) -> Run:
    """A judge's runs begin with an empty cluster, and all their slots are measured."""
    return Run(run.workload, run.policy, run.seed, run.slots, {"warmup": 0})
