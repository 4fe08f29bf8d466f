"""Common to all plans of the command: the answer, and how policies are refused."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

from packenv.cli.tables import text_console
from packenv.planning.search import NoneMeets
from packenv.report.page import Report
from packenv.report.tables import Table


@dataclass(frozen=True)
class Answer:
    """The tables, sentences and records that a command prints and writes."""

    tables: list[Table]
    text: str
    records: list[dict[str, Any]]
    draw: Callable[[str], None] | None  # None: there is no picture
    report: Callable[[], Report]


def print_refused(refused: Sequence[object], plans: Collection[Any]) -> None:
    """Say which policies do not meet the goals. Raises NoneMeets if none does."""
    for problem in refused:
        text_console().print(str(problem), style="yellow", highlight=False)
    if not plans:
        raise NoneMeets("none of the policies meets the goals with any number of servers")
