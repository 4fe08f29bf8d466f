"""Policies compared at one number of servers: each goal's measure less that of the first policy, on the same tasks."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle, islice
from typing import NamedTuple

from packenv.planning.search import AskRuns, Plan, Search, Trial


class Compared(NamedTuple):
    """One policy at the common number of servers."""

    policy: str
    trial: Trial
    less_first: tuple[tuple[float | None, ...], ...]  # of each goal, seed by seed: its measure minus the first policy's

    @property
    def servers(self) -> int:
        return self.trial.servers


def common_number(plans: Sequence[Plan]) -> int:
    """The largest answer: with it every one of these policies should meet the goals."""
    return max(plan.servers for plan in plans)


def trial_at(search: Search, plan: Plan, servers: int, ask: AskRuns) -> Trial:
    """The plan's own trial with so many servers, or one that is made now, on the seeds of its answer."""
    if plan.servers == servers:
        return plan.at
    first = search.seeds if plan.fresh else 0
    return search.trial(servers, search.seeds_of(range(first, first + len(plan.at.values[0]))), ask)


def compared(policies: Sequence[str], trials: Sequence[Trial]) -> list[Compared]:
    """Pair the seeds of each trial with those of the first one.

    A policy without chance on a trace has one run, which stands for every seed of another; an answer that took more seeds than
    another is compared on those that both have.
    """
    first = trials[0]
    found = []
    for policy, trial in zip(policies, trials, strict=True):
        pairs = zip(trial.values, first.values, strict=True)
        found.append(Compared(policy, trial, tuple(_less(own, others) for own, others in pairs)))
    return found


def _less(own: Sequence[float | None], others: Sequence[float | None]) -> tuple[float | None, ...]:
    """Of the seeds that both have; one run stands for every seed."""
    count = max(len(own), len(others)) if 1 in (len(own), len(others)) else min(len(own), len(others))
    pairs = zip(islice(cycle(own), count), islice(cycle(others), count), strict=True)
    return tuple(None if a is None or b is None else a - b for a, b in pairs)
