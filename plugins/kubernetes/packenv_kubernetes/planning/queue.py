"""The queue of a cluster: goals, runs, and start times of pods."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from packenv import Result, Workload
from packenv.extend import (
    GOAL,
    AskRuns,
    BeginsBusy,
    Goal,
    InputError,
    Law,
    Run,
    Trial,
    begins_busy,
    fewest_of,
    is_met,
    mean_of,
    parse_goal,
    runs_of,
    seeds_for,
    share_of,
)
from packenv_kubernetes.cluster import Cluster
from packenv_kubernetes.durations import Durations, are_drawn
from packenv_kubernetes.started import ENDLESS, Started

Ints = NDArray[np.int64]

FIRST = 2
"""Seeds that can rule out a number of nodes in the search. All seeds that confirm the answer run."""

EXAMPLES = "mean wait <= 60s, p50, p95 or max wait <= 10min, makespan <= 1d"

LEVEL = 0.8

COVERED = {"law": (0.05, 0.54), "stretches": (0.21, 0.07), "owners": (0.50, 0.69)}
"""Shares of starts in two real traces, in recorded order, inside their intervals, by source of durations:
`python experiments/when_coverage.py --moments 12`, Hawk's form of Google's trace of 2011 and openb."""

START_TIMES: dict[str, Any] = {"schedule": True, "until_started": True}
"""Options of runs that record when pods start, and so when they end."""

NEVER = np.iinfo(np.int64).max
"""Slot of an event that does not happen: the start of a task, the end of a pod."""

LATER = NEVER - 1
"""Slot of a start after the end of a run, if it may still happen."""


class Times(NamedTuple):
    """The waits and ends of queued pods in one run."""

    wait: Ints  # (n,) slots from now to the start; NEVER if the pod cannot start
    end: Ints  # (n,) slots from now to the end; NEVER as above
    ends: NDArray[np.bool_]  # (n,) whether the pod ends by itself

    def only(self, rows: Ints | slice) -> Times:
        return Times(self.wait[rows], self.end[rows], self.ends[rows])

    def joined(self, other: Times) -> Times:
        """Return these pods, then the others."""
        wait, end = np.concatenate([self.wait, other.wait]), np.concatenate([self.end, other.end])
        return Times(wait, end, np.concatenate([self.ends, other.ends]))


@dataclass(frozen=True)
class QueueGoal(Goal):
    """An upper limit, in slots, on a measure of waiting pods."""

    pooled = None

    def of(self, times: Times) -> float | None:
        """Return the measure, None for never-starting pods, 0 for none."""
        slots = times.wait if self.measure == "wait" else times.end[times.ends]
        if len(slots) == 0:
            return 0.0
        if self.measure == "makespan":
            slot = slots.max()
        else:
            slot = slots.max() if self.statistic == "mean" else np.sort(slots)[place(self.statistic, len(slots)) - 1]
        if slot == NEVER:
            return None
        return float(slots.mean()) if self.statistic == "mean" else float(slot)


def place(statistic: str, pods: int) -> int:
    """Return the number of pods up to the quantile."""
    share = share_of(statistic)
    assert share is not None
    return math.ceil(share * pods)


def parse_queue_goals(texts: Sequence[str], slot_seconds: float) -> list[QueueGoal]:
    """Read goals, one of each measure. Raises InputError."""
    goals = [_parse(text, slot_seconds) for text in texts]
    if not goals:
        hint = f"give a --goal, such as {EXAMPLES}; `packenv kubernetes when` shows when pods start"
        raise InputError(f"a queue is served by any cluster in the end: {hint}")
    for n, goal in enumerate(goals):
        if goal.title in [other.title for other in goals[:n]]:
            raise InputError(f"goal {goal.text!r}: two goals for the {goal.title}; give one")
    return goals


def check_pods(goals: Sequence[QueueGoal], cluster: Cluster, ends: bool) -> None:
    """Raise InputError for goals unsuited to pods. `ends`: services have a law."""
    again = [cluster.running[n] for n in cluster.again]
    pods = [*cluster.waiting, *again]
    if not pods and cluster.unfit:
        raise InputError(cluster.nothing())
    for goal in goals if pods else ():
        fewest = fewest_of(goal.statistic)
        if len(pods) < fewest:
            raise InputError(f"goal {goal.text!r}: of {len(pods)} pods it is the largest; at least {fewest} would have to wait")
        if goal.measure == "makespan" and not (ends and any(not pod.endless for pod in pods)):
            why = "pods that wait are restarted whenever they end" if ends else "--service sets no durations"
            raise InputError(f"goal {goal.text!r}: no pod ends: {why}")


def _parse(text: str, slot_seconds: float) -> QueueGoal:
    match = GOAL.fullmatch(text)
    if match is None:
        raise InputError(f"goal {text!r}: cannot be read; goals of a cluster are {EXAMPLES}")
    statistic, measure = match[1] or "", match[2]
    if measure not in ("wait", "makespan"):
        what = f"{statistic} {measure}".strip()
        raise InputError(f"goal {text!r}: {what} is not measured in a cluster as it is; goals are {EXAMPLES}")
    goal = parse_goal(text, slot_seconds)
    return QueueGoal(goal.text, goal.statistic, goal.measure, goal.limit)


@dataclass(frozen=True)
class QueueRuns:
    """Settings of runs: policy, goals, and assumed times in service."""

    policy: str
    goals: Sequence[QueueGoal]
    service: tuple[Law, ...] | Durations
    slot_seconds: float
    ask: AskRuns
    preemption: bool = True

    def workload(self, cluster: Cluster) -> Workload:
        return cluster.workload(self.service or None, self.slot_seconds, self.preemption)

    def times(self, cluster: Cluster, seeds: Sequence[int], enough: Callable[[list[Times]], bool] | None = None) -> list[Times]:
        """Return times of waiting, then restarted pods, for each seed.

        enough  whether the first seeds suffice, called after two seeds and after each doubling
        """
        if not cluster.waiting and not cluster.again:
            nothing = np.zeros(0, np.int64)
            return [Times(nothing, nothing, nothing > 0) for _ in seeds]
        workload = self.workload(cluster)
        times: list[Times] = []
        needed = seeds_for(self.policy, workload, seeds)
        while len(times) < len(needed) and not (times and enough is not None and enough(times)):
            more = needed[len(times) : len(needed) if enough is None else max(2 * len(times), FIRST)]
            runs = [Run(workload, self.policy, seed, long_enough(workload, seed), START_TIMES) for seed in more]
            times += self.ask(runs, queue_times)
        return times if len(needed) == len(seeds) else times * len(seeds)

    def trial(self, cluster: Cluster, times: Sequence[Times]) -> Trial:
        """Return the goals' measures. None is met with stranded pods."""
        values = self.values(times)
        met = [not cluster.stranded and goal.met(mean_of(of_goal)) for goal, of_goal in zip(self.goals, values, strict=True)]
        decided: tuple[bool | None, ...] = tuple(met)
        if len(times) > 1 and not cluster.stranded:
            decided = tuple(is_met(goal, of_goal) for goal, of_goal in zip(self.goals, values, strict=True))
        return Trial(len(cluster.nodes), values, stable=True, queued=False, met=met, decided=decided)

    def values(self, times: Sequence[Times]) -> list[list[float | None]]:
        """Return the value of each goal with each seed."""
        return [[goal.of(of_run) for of_run in times] for goal in self.goals]


def long_enough(workload: Workload, seed: int) -> int:
    """Return sufficient slots for all pods one after the other."""
    started = workload.draw
    assert isinstance(started, Started)
    service, left = started(seed).service, started.in_service(seed).remaining
    slots = int(service[service < ENDLESS].sum()) + int(left[left < ENDLESS].max(initial=0)) + 1
    return min(slots, ENDLESS - 1)


def queue_times(workload: Workload, result: Result) -> Times:
    """Extract waits and ends from a run."""
    schedule, started = result.schedule, workload.draw
    assert schedule is not None and isinstance(started, Started)
    start, end = started.times(result.seed, schedule.start, schedule.end)
    never = start < 0
    endless = np.concatenate([started.endless, started.running_endless[[*started.again]]])
    wait, end = np.where(never, NEVER, start), np.where(never, NEVER, end)
    return Times(wait, end, ~endless if started.services else np.zeros_like(never))


def covered(services: Any) -> tuple[float, float] | None:
    """Return the (low, high) coverage of intervals, None without draws."""
    if not are_drawn(services):
        return None
    if isinstance(services, tuple):
        return COVERED["law" if len(services) == 1 else "stretches"]
    return COVERED["owners"]


def trust_lines(services: Any) -> list[str]:
    """Return a line on intervals' promised and measured coverage."""
    if (shares := covered(services)) is None:
        return []
    low, high = shares
    promise = f"the intervals hold {LEVEL:.0%} of starts if durations are drawn independently, as is assumed here"
    return [f"{promise}; of what two real traces recorded, in order, they held {low:.0%} and {high:.0%}"]


class StartInterval(NamedTuple):
    """Slots until a start, in [low, high] with chance LEVEL, LATER or NEVER."""

    low: int
    median: int
    high: int
    started: float  # share of the draws in which it starts in the run


def waiting_times(workload: Workload, policy: Any, slots: int, draws: int, ask: AskRuns) -> Ints:
    """Return each task's starting slot, LATER or NEVER by draw, (draws, tasks)."""
    seeds = seeds_for(policy, workload, range(draws))
    times = np.array(ask(runs_of(workload, [policy], seeds, slots, START_TIMES), starts), np.int64)
    return times if len(seeds) == draws else np.repeat(times, draws, axis=0)


def starts(workload: Workload, result: Result) -> Ints:
    """Extract the slot of each start, (tasks,)."""
    assert result.schedule is not None and isinstance(workload.draw, BeginsBusy)
    start, _ = workload.draw.times(result.seed, result.schedule.start, result.schedule.end)
    if (start >= 0).all():
        return start
    whole = isinstance(workload.draw, Started) and result.slots >= long_enough(workload, result.seed)
    return np.where(start < 0, NEVER if whole else LATER, start)


def intervals(times: Ints, level: float = LEVEL) -> list[StartInterval]:
    """Return an interval for each task, from `times` (draws, tasks).

    It holds the start of another draw with at least the chance `level`: of n ordered draws, another falls into each of the n +
    1 gaps with equal chance. Raises InputError for too few draws.
    """
    n = len(times)
    outside = int((n + 1) * (1 - level) / 2 + 1e-9)
    if outside < 1:
        raise InputError(f"{n} draws are too few for {level:.0%} intervals: at least {int(np.ceil(2 / (1 - level) - 1e-9)) - 1}")
    ordered = np.sort(times, axis=0)
    low, median, high = ordered[outside - 1], ordered[n // 2], ordered[n - outside]
    share = (times < LATER).mean(axis=0)
    columns = (column.tolist() for column in (low, median, high, share))
    return [StartInterval(*row) for row in zip(*columns, strict=True)]


def when(workload: Workload, policies: Sequence[Any], slots: int, draws: int, ask: AskRuns) -> list[list[StartInterval]]:
    """Return each waiting task's interval by policy. Empty servers: InputError."""
    if not begins_busy(workload):
        raise InputError(f"{workload.name} does not begin with tasks in service: --when is for a cluster as kubectl prints it")
    intervals(np.zeros((draws, 1), np.int64))
    return [intervals(waiting_times(workload, policy, slots, draws, ask)) for policy in policies]
