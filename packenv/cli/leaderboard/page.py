"""The tables of a leaderboard in Markdown, between two marks of a page."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from packenv.cli.leaderboard.cells import cell, judgment_of, legend, length_of, lines, supported
from packenv.cli.leaderboard.scores import Group
from packenv.errors import InputError
from packenv.files import atomic_path
from packenv.runs.text import NONE

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
