"""How help is laid out."""

from __future__ import annotations

from collections.abc import Iterable

import click

UNBROKEN = "\u2011"
"""A hyphen at which no line ends."""


class HelpFormatter(click.HelpFormatter):
    """Lines end between words: `bf-js` stays whole, and can be copied."""

    def write_text(self, text: str) -> None:
        super().write_text(text.replace("-", UNBROKEN))

    def write_dl(self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2) -> None:
        super().write_dl([(name, about.replace("-", UNBROKEN)) for name, about in rows], col_max, col_spacing)

    def getvalue(self) -> str:
        return super().getvalue().replace(UNBROKEN, "-")


class Context(click.Context):
    """Click's, with help as above."""

    formatter_class = HelpFormatter
