"""A page as a value: the question, the answer, and the sections with figures, notes and tables behind it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from packenv.content.charts import Chart
from packenv.content.tables import Table
from packenv.errors import InputError, nearest


class Figure(NamedTuple):
    """A chart. `finding` says in a sentence what is to be seen; it is also what those hear who see nothing."""

    heading: str
    finding: str
    chart: Chart
    small: bool = False  # two and more of them stand side by side


class Charts(NamedTuple):
    """A picture as a value: charts below each other, small ones side by side; or one that has panels of its own."""

    title: str
    figures: Sequence[Figure]


class Image(NamedTuple):
    """A picture of pixels: a file's, or that of a schedule, which has too many tasks for a drawing of a page."""

    heading: str
    finding: str
    png: bytes | Charts


class Section(NamedTuple):
    """A heading and what follows it: figures, small ones side by side, then notes, then tables."""

    heading: str
    figures: Sequence[Figure | Image] = ()
    notes: Sequence[str] = ()
    tables: Sequence[Table] = ()


@dataclass(frozen=True)
class Page:
    """The content of a page: the question, the answer, the question in detail (`facts`), and the sections.

    notes      below the answer
    workloads  those that were run: what of their traces is left out stands below the notes, and the page ends with profiles of
               tables of jobs
    """

    title: str
    answer: str
    facts: Sequence[tuple[str, str]]
    sections: Sequence[Section]
    notes: Sequence[str] = ()
    workloads: Sequence[Any] = ()


def check_kind(kind: str, kinds: Sequence[str], noun: str) -> str:
    """`kind`. Raises InputError unless it is one of `kinds`, of which there are `noun`."""
    if kind not in kinds:
        raise InputError(f"unknown {noun} {kind!r}{nearest(kind, [*kinds])}")
    return kind
