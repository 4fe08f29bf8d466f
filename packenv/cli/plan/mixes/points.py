"""The mixes that were run, as points of cost and measure, and the best measure that each cost reached."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from packenv.planning.goals import Goal
from packenv.planning.mixes import MixPlan, MixTrial


class MixPoint(NamedTuple):
    """One mix that was run. `value`: of the goal, in slots where it is a time; without a goal 1 if it was stable, else 0."""

    cost: float
    value: float
    tried: MixTrial


def mix_points(plan: MixPlan, goals: Sequence[Goal], n: int) -> list[MixPoint]:
    """All mixes of the search that have a value of goal n (without goals: of stability), by cost."""
    found = []
    for tried in plan.tried:
        value = tried.trial.value(n) if goals else float(tried.trial.stable)
        if value is not None:
            found.append(MixPoint(float(tried.cost), float(value), tried))
    return found


def best_so_far(points: Sequence[MixPoint], goal: Goal | None) -> list[float]:
    """For each point, in order of cost, the best value among those that cost no more."""
    most = goal is None or goal.measure == "utilisation"
    found: list[float] = []
    for point in points:
        best = max if most else min
        found.append(best(found[-1], point.value) if found else point.value)
    return found
