"""Standings on the terminal, a table for each workload and a column for each load, and as JSON."""

from __future__ import annotations

from typing import Any

from rich.box import SIMPLE_HEAD
from rich.table import Table

from packenv.cli.judge.tables import STATUS_COLOURS
from packenv.cli.leaderboard.cells import Group, bounds_of, cell, heading, judgment_of, supported
from packenv.cli.leaderboard.standings import Standing
from packenv.results.stability import STABLE, UNDECIDED, UNSTABLE
from packenv.runs.statistics import Interval, interval
from packenv.theory.queue_bound.queue_bound import SHOWN_AS, known_bound

VERDICT_COLOURS = {STABLE: "", UNSTABLE: "red", UNDECIDED: "yellow"}


def terminal_table(group: Group) -> Table:
    """A column for each load, and what is supported; means of unstable and undecided runs in colour."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("policy", no_wrap=True)
    for contest in group.contests:
        table.add_column(heading(contest), justify="right", no_wrap=True)
    judged = any(judgment_of(row) for row in group.rows.values())
    for name in ("supported", "≥ ½", "≥ ⅔") if judged else ():
        table.add_column(name, justify="right", no_wrap=True)
    for policy, row in group.rows.items():
        words = supported(row) if judged else ()
        coloured = [f"[{STATUS_COLOURS[word]}]{word}" if word in STATUS_COLOURS else word for word in words]
        table.add_row(policy, *map(_coloured, row), *coloured)
    if bounds := bounds_of(group):
        table.add_row(SHOWN_AS, *bounds, style="dim")
    return table


def _coloured(one: Standing | None) -> str:
    first, *others = cell(one)
    colour = VERDICT_COLOURS[one.verdict.kind] if one is not None and one.runs else ""
    return "\n".join(
        [f"[{colour}]{first}[/]" if colour else first, *(f"[dim]{line.replace('[', chr(92) + '[')}[/]" for line in others)]
    )


def record_of(one: Standing, reference: str) -> dict[str, Any]:
    """The JSON of a standing; intervals are [low, high]."""
    contest, judgment, utilisation = one.contest, one.judgment, [*zip(*(run.utilisation for run in one.runs), strict=True)]
    record: dict[str, Any] = {
        "workload": contest.workload.name,
        "servers": len(contest.workload.servers),
        "group": contest.group,
        "at": contest.at,
        "slots": contest.slots,
        "policy": one.policy,
        "refused": one.refused,
        "seeds": len(one.runs),
        "mean_queue": one.mean_queue.mean,
        "mean_queue_interval": _ends(one.mean_queue),
        "reference": reference,
        "ratio": one.ratio.mean,
        "ratio_interval": _ends(one.ratio),
        "mean_delay": interval(run.mean_delay for run in one.runs).mean,
        "utilisation": [interval(column).mean for column in utilisation],
        "verdict": str(one.verdict) if one.runs else None,
        "confidence": one.verdict.confidence if one.runs else None,
        "stopped": next((run.stopped for run in one.runs if run.stopped), None),
        "mean_queue_by_seed": [run.mean_queue for run in one.runs],
        "queue_bound": known_bound(contest.workload),
        "supported": None,
    }
    if judgment is not None:
        keys = ("low", "high", "claimed", "half", "two_thirds")
        record["supported"] = {key: getattr(judgment, key) for key in keys} | {"rho": list(judgment.rho)}
    return record


def _ends(found: Interval) -> list[float] | None:
    return None if found.low is None or found.high is None else [found.low, found.high]
