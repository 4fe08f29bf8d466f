"""Standings by workload, and what the cells of their tables say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from packenv.cli.leaderboard.contests import Contest
from packenv.cli.leaderboard.standings import Standing
from packenv.results.stability import STABLE, UNDECIDED, UNSTABLE
from packenv.runs.text import NONE, NOT_KNOWN, estimate
from packenv.theory.queue_bound.queue_bound import known_bound
from packenv.theory.stability.judge import Judgment

MARKS = {STABLE: "", UNSTABLE: " ↑", UNDECIDED: " ?"}


class Group(NamedTuple):
    """A workload: its contests, and by policy the standings in them, None where a policy does not compete."""

    name: str
    contests: list[Contest]
    rows: dict[str, list[Standing | None]]


def groups_of(standings: Sequence[Standing]) -> list[Group]:
    """The standings by workload, in the order in which they come."""
    groups = []
    for name in dict.fromkeys(one.contest.group for one in standings):
        own = [one for one in standings if one.contest.group == name]
        contests = list({id(one.contest): one.contest for one in own}.values())
        by_place = {(id(one.contest), one.policy): one for one in own}
        policies = dict.fromkeys(one.policy for one in own)
        groups.append(Group(name, contests, {p: [by_place.get((id(c), p)) for c in contests] for p in policies}))
    return groups


def heading(contest: Contest) -> str:
    return contest.at or "mean queue"


def length_of(group: Group) -> str:
    """`16 seeds of 1,000,000 slots`, each length once."""
    runs = [one.runs for row in group.rows.values() for one in row if one is not None and one.runs]
    lengths = sorted({contest.slots or 0 for contest in group.contests})
    seeds = max(map(len, runs), default=0)
    of = " and ".join(f"{slots:,} slots" if slots else "its own length" for slots in lengths)
    return f"{seeds} seeds of {of}" if seeds > 1 else of


def cell(one: Standing | None) -> list[str]:
    """Mean queue, and under it the ratio to the reference."""
    if one is None or not one.runs:
        return [NONE]
    mean = one.mean_queue
    half = None if mean.mean is None or mean.high is None else mean.high - mean.mean
    shown = estimate(mean.mean, half) + MARKS[one.verdict.kind]
    return [shown] if one.ratio.mean is None else [shown, str(one.ratio)]


def judgment_of(row: Sequence[Standing | None]) -> Judgment | None:
    """The judgment of a policy on the workload, whatever the load; None without one."""
    return next((one.judgment for one in row if one is not None and one.judgment is not None), None)


def supported(row: Sequence[Standing | None]) -> tuple[str, str, str]:
    """Supported fraction of ρ*, and what became of ½ and ⅔."""
    judgment = judgment_of(row)
    if judgment is None:
        return NONE, NONE, NONE
    return f"{judgment.low:.3f} – {judgment.high:.3f}", judgment.half, judgment.two_thirds


def bounds_of(group: Group) -> list[str]:
    """What no policy's mean queue comes below unless it knows durations, by contest; empty if nothing is known of any."""
    found = [known_bound(contest.workload) for contest in group.contests]
    return [estimate(value, None) if value > 0 else NONE for value in found] if any(found) else []


def legend(groups: Sequence[Group], reference: str) -> str:
    """What the numbers of the tables are, and those marks that occur."""
    found = [one for group in groups for row in group.rows.values() for one in row if one is not None]
    several = any(len(one.runs) > 1 for one in found)
    said = [f"Mean queue{' ± 95 % over the seeds' if several else ''}"]
    if any(one.ratio.mean is not None for one in found):
        said.append(f"below it the ratio to {reference} on the same jobs{', [95 % interval]' if several else ''}")
    kinds = {one.verdict.kind for one in found if one.runs}
    if UNSTABLE in kinds:
        said.append("↑ unstable: the mean says how long the run was")
    if "undecided" in kinds:
        said.append("? not known to be stable")
    if any(NOT_KNOWN in cell(one)[0] for one in found):
        said.append(f"{NOT_KNOWN}: the interval is as wide as the mean or wider")
    return "; ".join(said) + "."
