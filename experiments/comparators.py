"""What every study of whole jobs shows beside its paper's policies: packing alone, others of the literature, a lower bound."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from packenv.content.text import number
from packenv.runs.statistics import interval, ratio
from packenv.theory.completion.bound import completion_bound
from packenv.workloads.workload import Workload

PACKING = "tetris:m=0,f=0"
BESIDE = (PACKING, "tetris", "drf", "price", "bf-js", "fifo:blocking=false")
"""Packing by Tetris' alignment alone, Tetris as published, DRF, the price scheduler, BF-J/S, and FIFO that backfills."""

BOUND = "lower bound"
MARK, LEGEND = " †", "† not in the paper"
NAMES = {PACKING: "packing alone (tetris:m=0,f=0)"}
Values = Mapping[str, Sequence[float | None]]
"""By policy, one for each seed."""


def added(policies: Sequence[str]) -> tuple[str, ...]:
    """Those of BESIDE that are not among a study's own."""
    return tuple(policy for policy in BESIDE if policy not in policies)


def completion_bounds(workload: Workload, seeds: int) -> list[float]:
    """Slots, by seed: no policy that keeps within the servers' capacities has a mean completion time below them."""
    return [completion_bound(workload.at(seed)).mean for seed in range(seeds)]


def notes_of(study: str, makespans: Values, completions: Values, bounds: Sequence[float], of_paper: str, unit: str) -> list[str]:
    """Whether packing alone has the shortest makespan, and how far completion times are from the bound. Times in `unit`."""
    return [note_on_packing(study, makespans, of_paper, unit), note_on_bound(study, completions, bounds, unit)]


def note_on_packing(study: str, makespans: Values, of_paper: str, unit: str) -> str:
    """The shortest makespan, and those of packing alone and of the paper's policy beside it."""
    means = {policy: mean for policy, values in makespans.items() if (mean := interval(values).mean) is not None}
    if len(set(means.values())) == 1:
        return f"{study}: makespan: every policy takes {number(next(iter(means.values())))} {unit}, packing alone too"
    best = min(means, key=lambda policy: (means[policy], policy != PACKING))
    others = [policy for policy in (PACKING, of_paper) if policy != best]
    if best == PACKING:
        others.append(min((policy for policy in means if policy not in (best, of_paper)), key=lambda policy: means[policy]))
    comparisons = [f"{_name(p)} {means[p]:,.1f}, {ratio(makespans[p], makespans[best])} times as long" for p in others]
    return f"{study}: {_name(best)} has the shortest makespan, {means[best]:,.1f} {unit}; {'; '.join(comparisons)}"


def note_on_bound(study: str, completions: Values, bounds: Sequence[float], unit: str) -> str:
    """The shortest mean completion time, and packing alone's, over the lower bound."""
    means = {policy: mean for policy, values in completions.items() if (mean := interval(values).mean) is not None}
    best = min(means, key=lambda policy: means[policy])
    shown = dict.fromkeys([best, *([PACKING] if PACKING in means else [])])
    comparisons = [f"{_name(p)} {means[p]:,.1f}, {ratio(completions[p], bounds)} times that" for p in shown]
    least = number(interval(bounds).mean)
    return f"{study}: no mean completion time is below {least} {unit}, even if all is known beforehand; {'; '.join(comparisons)}"


def _name(policy: str) -> str:
    return NAMES.get(policy, policy)
