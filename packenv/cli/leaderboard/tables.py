"""Standings as tables: on the terminal, in Markdown between two marks of a page, and as JSON."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.text import Text

from packenv.cli.judge import STATUS_COLOURS
from packenv.cli.leaderboard.scores import Group, Score, cell, judgment_of, legend, length_of, lines, supported
from packenv.cli.leaderboard.standings import Standing, reference_of
from packenv.errors import InputError
from packenv.files import atomic_path
from packenv.report.tables import Column, Table, numbers
from packenv.results.stability import STABLE, UNDECIDED, UNSTABLE
from packenv.runs.measures import Measure
from packenv.runs.statistics import Interval, interval
from packenv.runs.text import NONE
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


BEGIN, END = "<!-- leaderboard -->", "<!-- /leaderboard -->"
JUDGED = ("supported share of ρ*", "≥ ½", "≥ ⅔")


def markdown(groups: Sequence[Group], reference: str | None) -> str:
    """The same tables for a page, and what their marks mean."""
    parts = []
    for group in groups:
        judged = any(judgment_of(row) for row in group.rows.values())
        titles = (column.heading for column in group.columns)
        heads = [f"{_in_code(group)}, {length_of(group)}", *titles, *(JUDGED if judged else ())]
        rows = [heads, ["---", *["--:"] * (len(heads) - 1)]]
        for policy, row in group.rows.items():
            said = ("<br>".join(cell(score)) for score in group.scores(policy))
            rows.append([f"`{policy}`", *said, *(supported(row) if judged else ())])
        name, bounds = group.bounds()
        if bounds:
            said = ("<br>".join(lines(*each)) for each in bounds)
            rows.append([name, *said, *([NONE] * len(JUDGED) if judged else ())])
        parts.append("\n".join(f"| {' | '.join(line)} |" for line in rows))
    return "\n\n".join([*parts, legend(groups, reference)])


def _in_code(group: Group) -> str:
    """`paper/fig4b`, and outside of the quotes how many servers."""
    name = group.contests[0].workload.name
    return f"`{name}`{group.name.removeprefix(name)}"


def check_page(path: str | None) -> None:
    """Raise InputError if there is such a file without the two marks between which tables are to stand."""
    if path is not None:
        _parts(path)


def write_page(path: str, text: str) -> None:
    """Replace what stands between the marks of a page, which is made if it is not there."""
    before, after = _parts(path)
    with atomic_path(path) as temporary:
        temporary.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}", encoding="utf-8")


def _parts(path: str) -> tuple[str, str]:
    try:
        page = Path(path).read_text(encoding="utf-8") if Path(path).exists() else f"{BEGIN}\n{END}\n"
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read as a page ({getattr(error, 'strerror', None) or 'not UTF-8'})") from None
    found = re.search(rf"^{re.escape(BEGIN)}$.*?^{re.escape(END)}$", page, re.MULTILINE | re.DOTALL)  # lines of their own
    if found is None:
        raise InputError(f"{path}: has no lines {BEGIN} and {END} for the tables to stand between")
    return page[: found.start()], page[found.end() :]
