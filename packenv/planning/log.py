"""The log of a plan's finished runs: a plan that was interrupted goes on with the runs that it lacks."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from packenv.planning.goals import Goal
from packenv.planning.search import AskRuns, Seen, seen
from packenv.runs.keys import keys_of
from packenv.runs.log import RunLog
from packenv.runs.run import Extract, Run
from packenv.runs.runner import Runner


class PlanLog(RunLog):
    """As RunLog, of what the goals ask of each run. Their limits do not matter: plans for other limits share runs."""

    kind = "planned"

    def __init__(self, path: str | Path | None, goals: Sequence[Goal]) -> None:
        self.goals = tuple(goals)
        super().__init__(path)

    @property
    def extract(self) -> Extract:
        return partial(seen, goals=self.goals)

    def read(self, plain: Any) -> Seen:
        return Seen.from_plain(plain)

    def keys(self, runs: Sequence[Run]) -> list[str]:
        titles = ",".join(goal.title for goal in self.goals)
        return [f"{key} {titles}".rstrip() for key in keys_of(runs, seen.__module__)]


def asking(runner: Runner, log: PlanLog | None) -> AskRuns:
    """Makes the runs of a plan, those that the log lacks; all of them without a log."""

    def ask(runs: Sequence[Run], extract: Extract) -> list[Any]:
        return runner.all(runs, extract) if log is None else log.complete(runs, runner)

    return ask
