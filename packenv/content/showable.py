"""`Showable`: the common interface of results and workloads."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from packenv.content.tables import Table, Tables, form
from packenv.errors import InputError

if TYPE_CHECKING:
    from packenv.content.page import Charts, Page
    from packenv.report.pictures import Picture


class Showable:
    """A result with a title, and optional content.

    Content is facts, tables with footnotes, records, charts and a page. `packenv.report.forms` makes every form: `repr`, HTML
    for notebooks, `table()`, `plot()`, `to_frame()`, `save()`, and all outputs of commands. A new form is a line there. A new
    result is a subclass of this.
    """

    @property
    def title(self) -> str:
        """Title, in a line."""
        raise NotImplementedError

    def facts(self) -> list[tuple[str, str]]:
        """Return the most important facts: names and texts, a few lines."""
        return []

    def tables(self) -> list[Table]:
        """Return the tables that a command prints."""
        return []

    def footnotes(self) -> list[str]:
        """Return lines below the tables: the meaning of marks, and the answer."""
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
        """Value that `--json` writes."""
        return self.records

    def charts(self, *args: Any, **options: Any) -> Charts:
        """Return the charts that `plot` draws. Raises InputError without any."""
        raise InputError(f"there is no picture of this: {self.title}")

    def page(self) -> Page:
        """Return the page that `--report` writes. Raises InputError without one."""
        raise InputError(f"there is no page of this: {self.title}")

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        raise NotImplementedError

    def table(self) -> Tables:
        """Return the tables that the command prints.

        `str` and notebooks show them, `markdown()` is for a page.
        """
        return Tables(self.tables(), self.footnotes())

    def markdown(self) -> str:
        """Return the tables in GitHub's Markdown, without the notes of `table()`."""
        return Tables(self.tables()).markdown()

    def plot(self, *args: Any, width: float | None = None, titled: bool = True, **options: Any) -> Picture:
        """Return a figure of matplotlib for notebooks and `savefig`.

        width   inches, such as 89 / 25.4 for 89 mm; by default that of a page
        titled  show the title

        Other arguments are those of `charts`: `help(result.charts)` shows them.
        """
        picture: Picture = form("picture")(self, args, options, width, titled)
        return picture

    def to_frame(self, library: str = "arrow") -> Any:
        """Return a row for each of `records`, as an Arrow table or a frame.

        `library`: "arrow", "pandas" or "polars". Nested fields have columns such as `utilisation.0`. Times are in slots.
        Raises InputError for a missing library.
        """
        return form("frame_of_rows")(self.records, library)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the result in the form of the ending, whole or not at all.

        JSON, CSV, Markdown, LaTeX (.tex), a page (.html), a picture (.png, .pdf, .svg). Raises InputError for other endings,
        and for missing forms.
        """
        form("save")(self, path)

    def __repr__(self) -> str:
        text: str = form("facts_text")(self.title, self.facts())
        return text

    def _repr_html_(self) -> str:
        text: str = form("html")(self)
        return text


class Answer(Showable):
    """A result made where it is needed, such as in a command.

    plain  a record, or one for each line of CSV. `rows` are these lines if they differ
    draw   makes its charts, if any. `write`: its page
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
