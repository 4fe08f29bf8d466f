"""One run, measured by the parent from a checked schedule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from packenv import Jobs, Result, max_workload, queue_bound, simulate
from packenv.extend import UNIT, MisuseError, Verdict, completion_bound, eligible_slots, problem_of, problem_of_places
from packenv_score.process import CandidateFault, Sandboxed, process_of
from packenv_score.suite import Case

WAITING_LIMIT = 200_000
CLASSES = 5
"""Of sizes, in what is said of who waits."""


class SizeClass(NamedTuple):
    """A run's size class: mean number waiting, mean wait (slots)."""

    low: float  # shares of the largest server
    high: float
    queue: float
    wait: float


@dataclass(frozen=True)
class Play:
    """A run to make. `bounded`: also bound this seed's table."""

    number: int
    case: Case
    policy: Any
    seed: int
    slots: int | None
    bounded: bool = False


@dataclass(frozen=True)
class Played:
    """The measures of a run, or the candidate's `fault`."""

    number: int
    seed: int
    value: float = float("nan")  # mean queue in tasks; of a table mean completion of jobs in slots
    fault: str | None = None
    verdict: Verdict | None = None
    stopped: str | None = None
    oldest: int = 0  # longest wait of a task still waiting at the end, in slots
    longest: int = 0  # longest wait of a task that started
    bound: float | None = None
    utilisation: float = 0.0
    classes: tuple[SizeClass, ...] = ()
    slots: int = 0
    decisions: int = 0
    seconds: float = 0.0  # in the candidate's process
    unconfined: tuple[str, ...] = field(default=())


@dataclass(frozen=True)
class Carry:
    """A run with BACKLOG tasks always waiting, for ρ*."""

    number: int
    case: Case
    policy: Any
    seed: int
    slots: int


BACKLOG = 200


def carried(item: Carry) -> float | None:
    """Return the carried share of ρ*, None after a MisuseError."""
    try:
        result = simulate(item.case.workload, item.policy, slots=item.slots, seed=item.seed, backlog=BACKLOG)
    except MisuseError:
        return None
    rho = max_workload(item.case.workload, gap=0.005, seconds=2.0).lower
    return result.started / result.slots * item.case.workload.mean_service / rho


def bound_of(case: Case) -> float:
    """Return the mean-queue bound for policies without known durations."""
    return queue_bound(case.workload).value


def play(item: Play) -> Played:
    """Simulate, replay the schedule from the table alone, and measure."""
    case, table = item.case, item.case.slots is None
    unconfined: tuple[str, ...] = ()
    try:
        if isinstance(item.policy, Sandboxed):
            unconfined = tuple(process_of(item.policy).unconfined)
        result = simulate(
            case.workload, item.policy, slots=item.slots, seed=item.seed, drain=table, schedule=True, waiting_limit=WAITING_LIMIT,
            warmup=0 if table else None,
        )  # fmt: skip
    except MemoryError:
        return Played(item.number, item.seed, fault="it takes more memory than there is")
    except CandidateFault as error:
        return Played(item.number, item.seed, fault=str(error), unconfined=unconfined)
    except MisuseError as error:
        cause = error.__cause__
        fault = str(cause) if isinstance(cause, CandidateFault) else str(error).partition(": ")[2] or str(error)
        return Played(item.number, item.seed, fault=fault, unconfined=unconfined)
    assert result.schedule is not None
    # Trust only a schedule that holds on the original jobs.
    rows = len(result.schedule.start)
    jobs = case.workload.played_jobs(item.seed, rows) if rows else None
    problem = None if jobs is None else _fault(case, result, jobs)
    if problem is not None:
        return Played(item.number, item.seed, fault=problem)
    child = process_of(item.policy) if isinstance(item.policy, Sandboxed) else None
    waits = (0, 0, ()) if jobs is None else _waits(case, result, jobs)
    return Played(
        item.number,
        item.seed,
        value=_value(result, table),
        verdict=None if table else result.verdict,
        stopped=result.stopped,
        oldest=waits[0],
        longest=waits[1],
        classes=waits[2],
        bound=completion_bound(case.workload.at(item.seed)).mean if table and item.bounded else None,
        utilisation=max((share or 0.0 for share in result.utilisation), default=0.0),
        slots=result.slots,
        decisions=result.started,
        seconds=child.waited if child is not None else result.seconds,
        unconfined=unconfined,
    )


def _value(result: Result, table: bool) -> float:
    if not table:
        return float(result.mean_queue or 0.0)
    if result.jobs is not None:
        return float(result.jobs.mean or 0.0)
    return float(result.mean_response or 0.0)


def _fault(case: Case, result: Result, jobs: Jobs) -> str | None:
    """Check the schedule against the table. Return the problem."""
    schedule = result.schedule
    assert schedule is not None
    problem = problem_of(jobs, case.workload.servers.units, schedule.start, schedule.server, result.slots + 1, schedule.end)
    problem = problem or problem_of_places(case.workload, jobs, schedule)
    if problem is not None:
        return f"its schedule does not hold: {problem}"
    never = np.flatnonzero(schedule.start < 0)
    drained = case.slots is None and result.stopped is None
    if (drained and (result.waiting or result.started < result.arrived)) or 0 < len(schedule.start) == len(never):
        size = jobs.demand[never].max() / UNIT
        return f"it never starts {len(never):,} of {len(schedule.start):,} tasks, the largest of size {size:.3g}"
    return None


def _waits(case: Case, result: Result, jobs: Jobs) -> tuple[int, int, tuple[SizeClass, ...]]:
    """Return the longest waits (waiting, started) and waits by size."""
    schedule = result.schedule
    assert schedule is not None
    eligible = eligible_slots(jobs, schedule)
    there = (eligible >= 0) & (eligible < result.slots)
    until = np.where(schedule.start >= 0, schedule.start, result.slots)
    wait = np.where(there, until - eligible, 0)
    scale = case.workload.servers.units.max(axis=0)
    size = (jobs.demand / np.maximum(scale, 1)).max(axis=1)
    oldest = int(wait[there & (schedule.start < 0)].max(initial=0))
    longest = int(wait[schedule.start >= 0].max(initial=0))
    classes = tuple(_classes(size[there], wait[there], result.slots))
    return oldest, longest, classes


def _classes(size: NDArray[np.float64], wait: NDArray[np.int64], slots: int) -> Sequence[SizeClass]:
    if len(size) == 0:
        return []
    edges = np.unique(np.quantile(size, np.linspace(0, 1, CLASSES + 1)))
    of = np.clip(np.searchsorted(edges, size, side="left") - 1, 0, max(len(edges) - 2, 0))
    return [
        SizeClass(
            float(size[of == k].min()),
            float(size[of == k].max()),
            float(wait[of == k].sum() / slots),
            float(wait[of == k].mean()),
        )
        for k in range(max(len(edges) - 1, 1))
        if (of == k).any()
    ]
