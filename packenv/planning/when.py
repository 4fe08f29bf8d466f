"""When waiting tasks would start: intervals from runs with many draws of the times that are not known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from packenv.errors import InputError
from packenv.planning.search import AskRuns
from packenv.results.result import Result
from packenv.runs.run import runs_of
from packenv.workloads.in_service import BeginsBusy, begins_busy
from packenv.workloads.workload import Workload

Ints = NDArray[np.int64]

LEVEL = 0.8
DRAWS = 199
"""With these the interval is from the 20th of the ordered draws to the 180th: 160 of 200 places that a further one may take."""

NEVER = np.iinfo(np.int64).max
"""Start of a task that has not started by the end of the run."""


class Interval(NamedTuple):
    """Slots until a task starts: between `low` and `high` with the chance `LEVEL`; NEVER if not in the run."""

    low: int
    median: int
    high: int
    started: float  # share of the draws in which it starts in the run


def waiting_times(workload: Workload, policy: Any, slots: int, draws: int, ask: AskRuns) -> Ints:
    """(draws, tasks) the slot in which each task starts in each draw, NEVER if it does not within `slots`."""
    runs = runs_of(workload, [policy], range(draws), slots, {"schedule": True})
    return np.array(ask(runs, starts), np.int64)


def starts(workload: Workload, result: Result) -> Ints:
    """The `Extract` of these runs: (tasks,) the slot of each start."""
    assert result.schedule is not None and isinstance(workload.draw, BeginsBusy)
    start, _ = workload.draw.times(result.seed, result.schedule.start, result.schedule.end)
    return np.where(start < 0, NEVER, start)


def intervals(times: Ints, level: float = LEVEL) -> list[Interval]:
    """For each task an interval that holds the start of one more draw with at least the chance `level`.

    `times` is (draws, tasks). Of n ordered draws, one more falls into each of the n + 1 gaps with the same chance. Raises
    InputError if there are too few draws for the level.
    """
    n = len(times)
    outside = int((n + 1) * (1 - level) / 2 + 1e-9)
    if outside < 1:
        raise InputError(f"{n} draws are too few for {level:.0%} intervals: at least {int(np.ceil(2 / (1 - level) - 1e-9)) - 1}")
    ordered = np.sort(times, axis=0)
    low, median, high = ordered[outside - 1], ordered[n // 2], ordered[n - outside]
    share = (times < NEVER).mean(axis=0)
    columns = (column.tolist() for column in (low, median, high, share))
    return [Interval(*own) for own in zip(*columns, strict=True)]


def when(workload: Workload, policies: Sequence[Any], slots: int, draws: int, ask: AskRuns) -> list[list[Interval]]:
    """The intervals of each waiting task, for each policy. Raises InputError for a workload that begins with empty servers."""
    if not begins_busy(workload):
        raise InputError(f"{workload.name} does not begin with tasks in service: --when is for a cluster as kubectl prints it")
    intervals(np.zeros((draws, 1), np.int64))
    return [intervals(waiting_times(workload, policy, slots, draws, ask)) for policy in policies]
