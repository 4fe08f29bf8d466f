"""Standings on the terminal: a table for each workload, a column for each load, or measure of whole jobs; and as JSON."""

from __future__ import annotations

from typing import Any

from rich.text import Text

from packenv.cli.judge import STATUS_COLOURS
from packenv.cli.leaderboard.cells import cell, judgment_of, lines, supported
from packenv.cli.leaderboard.scores import Group, Score
from packenv.cli.leaderboard.standings import Standing, reference_of
from packenv.report.tables import Column, Table, numbers
from packenv.results.stability import STABLE, UNDECIDED, UNSTABLE
from packenv.runs.measures import Measure
from packenv.runs.statistics import Interval, interval
from packenv.theory.queue_bound.queue_bound import known_bound

VERDICT_COLOURS = {STABLE: "", UNSTABLE: "red", UNDECIDED: "yellow"}


def terminal_table(group: Group) -> Table:
    """A column for each load or measure, and what is supported; means of unstable and undecided runs in colour."""
    judged = any(judgment_of(row) for row in group.rows.values())
    heads = [*(column.heading for column in group.columns), *(("supported", "≥ ½", "≥ ⅔") if judged else ())]
    table = Table("", [Column("policy"), *numbers(*heads)], edge=False)
    for policy, row in group.rows.items():
        words = supported(row) if judged else ()
        coloured = [Text(word, STATUS_COLOURS.get(word, "")) for word in words]
        table.add(policy, *map(_coloured, group.scores(policy)), *coloured)
    name, bounds = group.bounds()
    if bounds:
        table.add(name, *("\n".join(lines(*each)) for each in bounds), *([""] * 3 if judged else ()), style="dim")
    return table


def _coloured(score: Score | None) -> Text:
    first, *others = cell(score)
    colour = "" if score is None else VERDICT_COLOURS[score.kind]
    return Text.assemble((first, colour), *((f"\n{line}", "dim") for line in others))


def record_of(one: Standing, reference: str | None) -> dict[str, Any]:
    """The JSON of a standing; intervals are [low, high]."""
    contest = one.contest
    record: dict[str, Any] = {
        "workload": contest.workload.name,
        "servers": len(contest.workload.servers),
        "group": contest.group,
        "at": contest.at,
        "slots": contest.slots,
        "policy": one.policy,
        "refused": one.refused,
        "seeds": len(one.runs),
    }
    return record | (_of_jobs(one) if contest.of_jobs else _of_queue(one, reference))


def _of_queue(one: Standing, reference: str | None) -> dict[str, Any]:
    judgment, utilisation = one.judgment, [*zip(*(run.values["utilisation"] for run in one.runs), strict=True)]
    queue, *others = one.contest.measures
    record: dict[str, Any] = {
        "mean_queue": one.mean(queue).mean,
        "mean_queue_interval": _ends(one.mean(queue)),
        "reference": one.references.get(queue, reference_of(one.contest, reference)),
        "ratio": one.ratio(queue).mean,
        "ratio_interval": _ends(one.ratio(queue)),
        "mean_delay": interval(run.values["mean_delay"] for run in one.runs).mean,
        "utilisation": [interval(column).mean for column in utilisation],
        "verdict": str(one.verdict) if one.runs else None,
        "confidence": one.verdict.confidence if one.runs else None,
        "stopped": next((run.stopped for run in one.runs if run.stopped), None),
        "mean_queue_by_seed": one.values(queue),
        "queue_bound": known_bound(one.contest.workload),
        **{measure.key: _by(one, measure) for measure in others},
        "supported": None,
    }
    if judgment is not None:
        keys = ("low", "high", "claimed", "half", "two_thirds")
        record["supported"] = {key: getattr(judgment, key) for key in keys} | {"rho": list(judgment.rho)}
    return record


def _of_jobs(one: Standing) -> dict[str, Any]:
    """All times in slots."""
    record: dict[str, Any] = {"slot_seconds": one.contest.slot_seconds}
    record |= {measure.key: _by(one, measure) for measure in one.contest.measures}
    stopped = next((run.stopped for run in one.runs if run.stopped), None)
    return record | {"completion_bound": interval(one.bounds).mean, "stopped": stopped}


def _by(one: Standing, measure: Measure) -> dict[str, Any]:
    mean, ratio = one.mean(measure), one.ratio(measure)
    return {
        "mean": mean.mean,
        "interval": _ends(mean),
        "reference": one.references.get(measure),
        "ratio": ratio.mean,
        "ratio_interval": _ends(ratio),
        "by_seed": one.values(measure),
    }


def _ends(found: Interval) -> list[float] | None:
    return None if found.low is None or found.high is None else [found.low, found.high]
