"""Standings as tables, on the terminal and in Markdown, and as JSON: a table for each workload, a column for each load."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rich.box import SIMPLE_HEAD
from rich.table import Table

from packenv.cli.contests import Contest
from packenv.cli.judge import COLOURS
from packenv.cli.standings import Standing
from packenv.errors import InputError
from packenv.files import atomic_path
from packenv.results.stability import STABLE, UNSTABLE
from packenv.runs.measures import Interval, interval, number

BEGIN, END = "<!-- leaderboard -->", "<!-- /leaderboard -->"
MARKS = {STABLE: "", UNSTABLE: " ↑", "undecided": " ?"}
MARK_COLOURS = {STABLE: "", UNSTABLE: "red", "undecided": "yellow"}
COLUMNS = 4  # loads side by side on a terminal
NONE = "–"


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


def terminal_tables(group: Group) -> Iterator[Table]:
    """As many loads side by side as a terminal has room for; means of unstable and undecided runs in colour."""
    for first in range(0, len(group.contests), COLUMNS):
        part = slice(first, first + COLUMNS)
        table = Table(box=SIMPLE_HEAD, pad_edge=False)
        table.add_column("policy", no_wrap=True)
        for contest in group.contests[part]:
            table.add_column(heading(contest), justify="right", no_wrap=True)
        judged = first == 0 and any(judgment_of(row) for row in group.rows.values())
        for name in ("supported", "≥ ½", "≥ ⅔") if judged else ():
            table.add_column(name, justify="right", no_wrap=True)
        for policy, row in group.rows.items():
            coloured = [f"[{COLOURS[word]}]{word}" if word in COLOURS else word for word in supported(row)] if judged else []
            table.add_row(policy, *(_coloured(one) for one in row[part]), *coloured)
        yield table


def _coloured(one: Standing | None) -> str:
    first, *others = cell(one)
    colour = MARK_COLOURS[one.verdict.kind] if one is not None and one.runs else ""
    return "\n".join(
        [f"[{colour}]{first}[/]" if colour else first, *(f"[dim]{line.replace('[', chr(92) + '[')}[/]" for line in others)]
    )


def markdown(groups: Sequence[Group], reference: str) -> str:
    """The same tables for a page, and what their marks mean."""
    parts = []
    for group in groups:
        judged = any(judgment_of(row) for row in group.rows.values())
        heads = [f"{_in_code(group)}, {length_of(group)}", *map(heading, group.contests), *(JUDGED if judged else ())]
        lines = [heads, ["---", *["--:"] * (len(heads) - 1)]]
        for policy, row in group.rows.items():
            lines.append([f"`{policy}`", *("<br>".join(cell(one)) for one in row), *(supported(row) if judged else ())])
        parts.append("\n".join(f"| {' | '.join(line)} |" for line in lines))
    return "\n\n".join([*parts, legend(groups, reference)])


def _in_code(group: Group) -> str:
    """`paper/fig4b`, and outside of the quotes how many servers."""
    name = group.contests[0].workload.name
    return f"`{name}`{group.name.removeprefix(name)}"


JUDGED = ("supported share of ρ*", "≥ ½", "≥ ⅔")


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
    return "; ".join(said) + "."


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
    shown = number(mean.mean)
    if mean.mean is not None and mean.high is not None:
        shown += f" ± {_rounded(mean.high - mean.mean)}"
    shown += MARKS[one.verdict.kind]
    return [shown] if one.ratio.mean is None else [shown, str(one.ratio)]


def _rounded(half: float) -> str:
    """Two digits."""
    return f"{float(f'{half:.2g}'):,.10g}"


def judgment_of(row: Sequence[Standing | None]) -> Any:
    return next((one.judgment for one in row if one is not None and one.judgment is not None), None)


def supported(row: Sequence[Standing | None]) -> tuple[str, str, str]:
    """Supported fraction of ρ*, and what became of ½ and ⅔."""
    judgment = judgment_of(row)
    if judgment is None:
        return NONE, NONE, NONE
    return f"{judgment.low:.3f} – {judgment.high:.3f}", judgment.half, judgment.two_thirds


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
        "supported": None,
    }
    if judgment is not None:
        keys = ("low", "high", "claimed", "half", "two_thirds")
        record["supported"] = {key: getattr(judgment, key) for key in keys} | {"rho": list(judgment.rho)}
    return record


def _ends(found: Interval) -> list[float] | None:
    return None if found.low is None or found.high is None else [found.low, found.high]


def check_page(path: str | None) -> None:
    """Raise InputError unless the file has the two marks between which tables are to stand."""
    if path is not None:
        _parts(path)


def write_page(path: str, text: str) -> None:
    """Replace what stands between the marks of a page."""
    before, after = _parts(path)
    with atomic_path(path) as temporary:
        temporary.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}", encoding="utf-8")


def _parts(path: str) -> tuple[str, str]:
    try:
        page = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read as a page ({getattr(error, 'strerror', None) or 'not UTF-8'})") from None
    found = re.search(rf"^{re.escape(BEGIN)}$.*?^{re.escape(END)}$", page, re.MULTILINE | re.DOTALL)  # lines of their own
    if found is None:
        raise InputError(f"{path}: has no lines {BEGIN} and {END} for the tables to stand between")
    return page[: found.start()], page[found.end() :]
