"""`Showable`: what results and workloads offer to be shown, and what everybody can ask of them."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from packenv.content.forms import form
from packenv.content.page import Charts, Page
from packenv.content.tables import Table, Tables
from packenv.errors import InputError

if TYPE_CHECKING:
    from packenv.report.pictures import Picture


class Showable:
    """A result says what it has: a title, and as far as it has them facts, tables with footnotes, records, charts and a page.

    Every form of these is made in one place, `packenv.report.forms`: `repr`, HTML for notebooks, `table()`, `plot()`,
    `to_frame()`, `save()`, and all outputs of the commands. A new form is a line there, whatever the result; a new result is a
    subclass of this, whatever the form.
    """

    @property
    def title(self) -> str:
        """What it is, in a line."""
        raise NotImplementedError

    def facts(self) -> list[tuple[str, str]]:
        """What people read of it first: names and texts, a few lines."""
        return []

    def tables(self) -> list[Table]:
        """What a command prints."""
        return []

    def footnotes(self) -> list[str]:
        """Lines below the tables: what their marks mean, and the answer in words."""
        return []

    @property
    def records(self) -> list[dict[str, Any]]:
        """Records of plain values: the rows of a frame."""
        return [self.to_dict()]

    @property
    def rows(self) -> list[dict[str, Any]]:
        """A record for each line of CSV."""
        return self.records

    @property
    def plain(self) -> Any:
        """What `--json` writes."""
        return self.records

    def charts(self, *args: Any, **options: Any) -> Charts:
        """What `plot` draws. Raises InputError where there is no picture."""
        raise InputError(f"there is no picture of this: {self.title}")

    def page(self) -> Page:
        """What `--report` writes. Raises InputError where there is no page."""
        raise InputError(f"there is no page of this: {self.title}")

    def to_dict(self) -> dict[str, Any]:
        """All in plain values, ready for JSON."""
        raise NotImplementedError

    def table(self) -> Tables:
        """What the command prints: `str` and notebooks show it, `markdown()` gives it for a page."""
        return Tables(self.tables(), self.footnotes())

    def markdown(self) -> str:
        """The tables in GitHub's Markdown; `table().markdown()` has the notes too."""
        return Tables(self.tables()).markdown()

    def plot(self, *args: Any, **options: Any) -> Picture:
        """A figure of matplotlib, which a notebook shows and `savefig` writes; arguments as of `charts`."""
        picture: Picture = form("picture")(self, *args, **options)
        return picture

    def to_frame(self, library: str = "arrow") -> Any:
        """A row for each of `records`, as an Arrow table or a frame of "pandas" or "polars"; `utilisation.0` and the like for
        what is inside of fields, times in slots. Raises InputError for a library that is not installed.
        """
        return form("frame_of_rows")(self.records, library)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it in the form that the ending says, whole or not at all: JSON, CSV, Markdown, LaTeX (.tex), a page (.html), a
        picture (.png, .pdf, .svg). Raises InputError for another ending, and for a form that it does not have.
        """
        form("save")(self, path)

    def __repr__(self) -> str:
        text: str = form("facts_text")(self.title, self.facts())
        return text

    def _repr_html_(self) -> str:
        text: str = form("html")(self)
        return text


class Answer(Showable):
    """A result that is put together where it is asked for, such as a command's: its tables, notes and plain values.

    plain  a record, or one for each line of CSV; `rows` are these lines where they differ
    draw   makes its charts, if there are any; `write` its page
    """

    def __init__(
        self,
        tables: Sequence[Table],
        notes: Sequence[str],
        plain: Any,
        rows: Sequence[dict[str, Any]] | None = None,
        draw: Callable[..., Charts] | None = None,
        write: Callable[[], Page] | None = None,
    ) -> None:
        self._tables, self._notes, self._plain, self._rows = tables, notes, plain, rows
        self._draw, self._write = draw, write

    @property
    def title(self) -> str:
        return self._tables[0].title if self._tables else ""

    def tables(self) -> list[Table]:
        return [*self._tables]

    def footnotes(self) -> list[str]:
        return [*self._notes]

    @property
    def records(self) -> list[dict[str, Any]]:
        return self._plain if isinstance(self._plain, list) else [self._plain]

    @property
    def rows(self) -> list[dict[str, Any]]:
        return self.records if self._rows is None else [*self._rows]

    @property
    def plain(self) -> Any:
        return self._plain

    def charts(self, *args: Any, **options: Any) -> Charts:
        return super().charts() if self._draw is None else self._draw(*args, **options)

    def page(self) -> Page:
        return super().page() if self._write is None else self._write()
