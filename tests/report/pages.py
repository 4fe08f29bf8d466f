"""Pages as the tests see them: their elements and texts; and a report made by hand, all of whose words are hostile."""

from __future__ import annotations

from dataclasses import replace
from html.parser import HTMLParser
from typing import NamedTuple

import numpy as np

from packenv.content.charts import (
    COLOURS,
    GREY,
    ChartRow,
    GridChart,
    Guide,
    Key,
    Line,
    LineChart,
    Mark,
    Point,
    RowChart,
    Square,
    counts_over_time,
    shares_in_bins,
)
from packenv.content.page import Figure, Section
from packenv.content.page import Page as Content
from packenv.content.tables import Column, Table, numbers

HOSTILE = """</script>$x^{$<script>alert(1)</script>"><img src=x onerror='alert(2)'>&amp;{{ 7 * 7 }}"""
EMPTY = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}


class Element(NamedTuple):
    tag: str
    attributes: dict[str, str]
    text: list[str]  # of itself and of what is inside, filled as the page is read

    @property
    def said(self) -> str:
        return "".join(self.text)


class Page(HTMLParser):
    """All elements in their order. Tags that do not match are an error."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[Element] = []
        self.open: list[Element] = []
        self.feed(html)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        made = Element(tag, {key: value or "" for key, value in attrs}, [])
        assert len(made.attributes) == len(attrs)
        self.elements.append(made)
        if tag not in EMPTY:
            self.open.append(made)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append(Element(tag, {key: value or "" for key, value in attrs}, []))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop().tag == tag

    def handle_data(self, data: str) -> None:
        for each in self.open:
            each.text.append(data)

    def all(self, *tags: str) -> list[Element]:
        return [each for each in self.elements if each.tag in tags]


def hostile_report() -> Content:
    """Every kind of chart and table, with HOSTILE wherever a text can come from outside."""
    points = [Point(1, 2.0, True), Point(2, 1.0, False)]
    lines = [
        Line(HOSTILE, COLOURS[0], [1, 2], [2.0, 1.0], points=points),
        Line(f"{HOSTILE} 2", COLOURS[1], [1, 2], [9.0, 0.0], True, [8.0, 0.0], [9.5, 0.5]),
    ]
    curves = LineChart(lines, HOSTILE, HOSTILE, 3.0, [Guide(1.5, HOSTILE)], [Guide(1, HOSTILE)], whole=True)
    entries = [
        ChartRow(HOSTILE),
        ChartRow(HOSTILE, COLOURS[0], 1.0, 2.0, [Mark(1.5), Mark(99.0, "D", False)], HOSTILE),
    ]
    rows = RowChart(entries, HOSTILE, (0.5, 4.0), [Guide(1.0, HOSTILE)], log=True, marks=[Key(GREY, HOSTILE, "o")])
    spread = shares_in_bins(np.geomspace(1, 1e4, 50), HOSTILE, HOSTILE)
    grid = GridChart([HOSTILE], [HOSTILE, "b"], [[Square(0.5, HOSTILE), Square(None, "")]])
    figures = [*(Figure(HOSTILE, HOSTILE, chart) for chart in (curves, rows, grid)), Figure(HOSTILE, HOSTILE, spread, small=True)]
    over = Figure("When", "Evenly.", counts_over_time(np.arange(50), "slots", "tasks"), small=True)
    rows: list[list[str]] = [[HOSTILE, *"12345678"], ["", *"12345678"]]
    table = Table(HOSTILE, [Column(HOSTILE), *numbers(*["a number"] * 8)], rows)
    sections = [Section(HOSTILE, [*figures, over], [HOSTILE], [table, replace(table, folded=True)])]
    return Content(HOSTILE, HOSTILE, [(HOSTILE, HOSTILE)], sections, [HOSTILE])
