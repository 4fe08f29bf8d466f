"""A page as a value: question, answer, and sections."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from packenv.content.charts import Chart
from packenv.content.tables import Table
from packenv.errors import InputError, nearest


class Figure(NamedTuple):
    """A chart. `finding` describes the result in a sentence, also for screen readers."""

    heading: str
    finding: str
    chart: Chart
    small: bool = False  # two and more of them stand side by side


class Charts(NamedTuple):
    """A picture: charts below each other, small ones side by side.

    A single chart may have panels.
    """

    title: str
    figures: Sequence[Figure]


class Image(NamedTuple):
    """A picture of pixels, from a file or of a large schedule."""

    heading: str
    finding: str
    png: bytes | Charts


class Section(NamedTuple):
    """A heading with figures, notes and tables, in this order.

    Small figures stand side by side.
    """

    heading: str
    figures: Sequence[Figure | Image] = ()
    notes: Sequence[str] = ()
    tables: Sequence[Table] = ()


@dataclass(frozen=True)
class Page:
    """A page: question, answer, the question in detail (`facts`), sections.

    notes      below the answer
    workloads  those run. Caveats of their traces follow the notes, and profiles of tables of jobs end the page
    """

    title: str
    answer: str
    facts: Sequence[tuple[str, str]]
    sections: Sequence[Section]
    notes: Sequence[str] = ()
    workloads: Sequence[Any] = ()


def check_kind(kind: str, kinds: Sequence[str], noun: str) -> str:
    """Return `kind`. Raises InputError unless it is one of `kinds`."""
    if kind not in kinds:
        raise InputError(f"unknown {noun} {kind!r}{nearest(kind, [*kinds])}")
    return kind
