"""Goals for the pods that wait in a cluster as it is: `p95 wait <= 10min`, `max wait <= 1h`, `makespan <= 1d`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from packenv.errors import InputError
from packenv.inputs.numbers import read_number
from packenv.planning.goals import GOAL, STATISTICS, UNITS, Goal, fewest_of, known_statistic, share_of
from packenv.workloads.kubernetes.cluster import Cluster

Ints = NDArray[np.int64]

QUEUE_SEEDS = 16
"""Draws of the times in service: few runs say little of waits, and each is short."""

EXAMPLES = "mean wait <= 60s, p50, p95 or max wait <= 10min, makespan <= 1d"


class Times(NamedTuple):
    """What became of the pods that wait, in one run."""

    wait: Ints  # (n,) slots from now to the start; NEVER if the pod cannot start
    end: Ints  # (n,) slots from now to the end; NEVER as above
    ends: NDArray[np.bool_]  # (n,) whether the pod ends by itself

    def joined(self, other: Times) -> Times:
        """These pods, and those of `other` behind them."""
        wait, end = np.concatenate([self.wait, other.wait]), np.concatenate([self.end, other.end])
        return Times(wait, end, np.concatenate([self.ends, other.ends]))


NEVER = np.iinfo(np.int64).max


@dataclass(frozen=True)
class QueueGoal(Goal):
    """A measure of the waiting pods and its upper limit, in slots: of each run, and the mean over the runs."""

    pooled = None

    def of(self, times: Times) -> float | None:
        """The measure; None where a pod that counts never starts. Of no pods it is 0."""
        own = times.wait if self.measure == "wait" else times.end[times.ends]
        if len(own) == 0:
            return 0.0
        if self.measure == "makespan":
            found = own.max()
        else:
            found = own.max() if self.statistic == "mean" else np.sort(own)[place(self.statistic, len(own)) - 1]
        if found == NEVER:
            return None
        return float(own.mean()) if self.statistic == "mean" else float(found)


def place(statistic: str, pods: int) -> int:
    """How many of the pods do not wait longer than the quantile."""
    share = share_of(statistic)
    assert share is not None
    return math.ceil(share * pods)


def parse_queue_goals(texts: Sequence[str], slot_seconds: float) -> list[QueueGoal]:
    """Read goals. Raises InputError for one that cannot be read, for none, and for two of one measure."""
    goals = [_parse(text, slot_seconds) for text in texts]
    if not goals:
        raise InputError(f"a queue is served by any cluster in the end: give a --goal, such as {EXAMPLES}")
    for n, goal in enumerate(goals):
        if goal.title in [other.title for other in goals[:n]]:
            raise InputError(f"goal {goal.text!r}: there is a goal for the {goal.title} already")
    return goals


def check_pods(goals: Sequence[QueueGoal], cluster: Cluster, ends: bool) -> None:
    """Raise InputError for goals that say nothing of these pods; of none at all every goal holds.

    `ends`: whether there is a law of services.
    """
    again = [cluster.running[n] for n in cluster.again]
    pods = [*cluster.waiting, *again]
    if not pods and cluster.unfit:
        raise InputError(cluster.nothing())
    for goal in goals if pods else ():
        fewest = fewest_of(goal.statistic)
        if len(pods) < fewest:
            raise InputError(f"goal {goal.text!r}: of {len(pods)} pods it is the largest; at least {fewest} would have to wait")
        if goal.measure == "makespan" and not (ends and any(not pod.endless for pod in pods)):
            why = "pods that wait are restarted whenever they end" if ends else "--service does not say how long pods last"
            raise InputError(f"goal {goal.text!r}: no pod ends: {why}")


def _parse(text: str, slot_seconds: float) -> QueueGoal:
    found = GOAL.fullmatch(text)
    if found is None:
        raise InputError(f"goal {text!r}: cannot be read; goals of a cluster are {EXAMPLES}")
    statistic, measure, sign, amount, unit = (part or "" for part in found.groups())
    if measure not in ("wait", "makespan"):
        what = f"{statistic} {measure}".strip()
        raise InputError(f"goal {text!r}: {what} is not measured in a cluster as it is; goals are {EXAMPLES}")
    statistic = known_statistic(text, statistic, measure, STATISTICS[measure])
    if sign != "<=":
        raise InputError(f"goal {text!r}: {measure} <= is meant, or nothing is to be planned")
    try:
        limit = read_number(amount)
    except ValueError:
        raise InputError(f"goal {text!r}: {amount!r} is not a number") from None
    if unit not in ("", "slots", *UNITS):
        raise InputError(f"goal {text!r}: {unit!r} is not a unit of time; those are {', '.join(UNITS)} and slots")
    if limit < 0:
        raise InputError(f"goal {text!r}: the limit is below 0")
    slots = limit if unit in ("", "slots") else limit * UNITS[unit] / slot_seconds
    return QueueGoal(" ".join(text.split()), statistic, measure, slots)
