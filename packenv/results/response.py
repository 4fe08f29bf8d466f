"""Response times and bounded slowdowns of a run."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from packenv.jobs import FIRST, Jobs, gang_spans
from packenv.results.delays import rank
from packenv.results.job_times import eligible_slots
from packenv.results.schedule import Schedule

SLOWDOWN_BOUND = 10.0
"""Seconds: a job that runs for less counts as if it ran so long (Feitelson and Rudolph, JSSPP 1998; PAPERS §8)."""


class ResponseTimes(NamedTuple):
    """Response and slowdown of started tasks, eligible after the warm-up.

    All fields but the last are keys of measures.
    """

    mean_response: float  # slots from eligible to end
    response_p95: float
    max_response: float
    mean_slowdown: float
    slowdown_p95: float
    max_slowdown: float
    slowdown_bound: float  # slots that a task counts as if it ran at least


def bounded_slowdown(wait: NDArray[np.int64], run: NDArray[np.int64], bound: float) -> NDArray[np.float64]:
    """(n,) max(1, (wait + run) / max(run, bound)), bound > 0."""
    return np.maximum(1.0, (wait + run) / np.maximum(run, bound))


def response_times(jobs: Jobs, schedule: Schedule, warmup: int, bound: float) -> ResponseTimes | None:
    """Return arrived rows' response times, or None. `bound` in slots."""
    rows = len(schedule.start)
    if rows == 0:
        return None
    # Count tasks that started and became eligible after the warm-up.
    waits_for_others = jobs.predecessors is not None or jobs.phase is not None
    eligible = eligible_slots(jobs.first(rows), schedule) if waits_for_others else jobs.arrival[:rows]
    counted, end = (schedule.start >= 0) & (eligible >= warmup), schedule.end
    if jobs.gang is not None:  # a gang counts once, until its last task ends
        first = gang_spans(jobs.gang)[:rows, FIRST]
        end = np.zeros(rows, np.int64)
        np.maximum.at(end, first, schedule.end)
        counted &= first == np.arange(rows)
    if not counted.any():
        return None
    wait, run = (schedule.start - eligible)[counted], (end - schedule.start)[counted]
    response, slowdown = wait + run, bounded_slowdown(wait, run, bound)
    at = rank(0.95, len(run)) - 1
    return ResponseTimes(
        mean_response=float(response.mean()),
        response_p95=float(np.partition(response, at)[at]),
        max_response=float(response.max()),
        mean_slowdown=float(slowdown.mean()),
        slowdown_p95=float(np.partition(slowdown, at)[at]),
        max_slowdown=float(slowdown.max()),
        slowdown_bound=float(bound),
    )
