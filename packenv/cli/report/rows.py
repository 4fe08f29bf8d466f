"""A row for each of several things that are compared: its name, an interval or a bar, and the numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from packenv.cli.report.drawing import AS_GIVEN, LONGEST, MUTED, PAGE, Key, Rule, Spec, quantity, room_for

HEIGHT, TALL = 30, 46  # pixels of a row on a desk's screen; on a phone's, where the name stands above

TICK = "M0,-1.2L0,1.2"


class Mark(NamedTuple):
    """A value in a row; `shape`: one of Vega's, or TICK."""

    value: float
    shape: str = "circle"
    filled: bool = True
    text: str = ""


class Entry(NamedTuple):
    """A row: an interval from `low` to `high` with marks on it; a heading, where it has neither interval nor marks."""

    label: str
    colour: str = MUTED
    low: float | None = None
    high: float | None = None
    marks: Sequence[Mark] = ()
    text: str = ""  # at the right


@dataclass(frozen=True)
class RowChart:
    """Rows from top to bottom over one axis, whose ends are `ends`. What lies beyond is drawn at the end, as a triangle.

    bars  solid from the left end of the axis to `low`, pale from there to `high`
    """

    direct: ClassVar[bool] = False

    entries: Sequence[Entry]
    x_title: str
    ends: tuple[float, float]
    rules: Sequence[Rule] = ()
    log: bool = False
    bars: bool = False
    marks: Sequence[Key] = ()  # what the shapes mean

    def keys(self) -> list[Key]:
        return [*self.marks]

    @property
    def note(self) -> str:
        """What is said of marks that are drawn at the end of the axis, if there are any."""
        beyond = any(self._within(mark.value) != mark.value for entry in self.entries for mark in entry.marks)
        return " Triangles lie beyond the axis." if beyond else ""

    def spec(self, narrow: bool) -> Spec:
        x = quantity("x", self.ends, self.x_title, self.log, tickCount=4 if narrow else 8)
        y: dict[str, Any] = {"field": "row", "type": "quantitative", "axis": None}
        y["scale"] = {"domain": [len(self.entries) - 0.5, -0.6], "nice": False, "zero": False}
        rows = [self._row(n, each) for n, each in enumerate(self.entries)]
        spans = [row for row in rows if row["x"] is not None]
        layers = [] if self.bars else [*self._rules(x, y)]
        if self.bars:
            layers += [_bar(spans, x, y, self.ends[0]), *self._rules(x, y)]
        elif spans:
            rule = {"type": "rule", "strokeWidth": 3, "strokeCap": "round", "opacity": 0.55}
            across = {"x": x, "x2": {"field": "high"}, "y": y, "stroke": {"field": "colour", **AS_GIVEN}}
            layers.append(_layer(spans, rule, across))
        layers += [*self._marks(x, y), *_texts(rows, y, narrow)]
        names, numbers = (room_for(getattr(each, key) for each in self.entries) for key in ("label", "text"))
        left, right = (8.0, 8.0) if narrow else (14 + names, 14 + numbers)
        return Spec({"layer": layers}, 56 + (TALL if narrow else HEIGHT) * len(self.entries), left, right)

    def _row(self, n: int, entry: Entry) -> dict[str, Any]:
        ends = [None if end is None else self._within(end) for end in (entry.low, entry.high)]
        is_heading = entry.low is None and not entry.marks and not entry.text
        return {"row": n, "x": ends[0], "high": ends[1], "heading": is_heading} | {
            key: getattr(entry, key) for key in ("label", "colour", "text")
        }

    def _within(self, value: float) -> float:
        return min(max(value, self.ends[0]), self.ends[1])

    def _marks(self, x: dict[str, Any], y: dict[str, Any]) -> list[dict[str, Any]]:
        rows = []
        for n, entry in enumerate(self.entries):
            for mark in entry.marks:
                at = self._within(mark.value)
                shape = mark.shape if at == mark.value else "triangle-right" if at == self.ends[1] else "triangle-left"
                face = entry.colour if mark.filled else PAGE
                text = mark.text or f"{entry.label}: {mark.value:,.4g}"
                rows.append({"row": n, "x": at, "shape": shape, "face": face, "colour": entry.colour, "text": text})
        if not rows:
            return []
        encoding = {"x": x, "y": y, "shape": {"field": "shape", **AS_GIVEN}, "description": {"field": "text"}}
        encoding |= {"stroke": {"field": "colour", **AS_GIVEN}, "fill": {"field": "face", **AS_GIVEN}}
        return [_layer(rows, {"type": "point", "aria": True, "size": 80, "strokeWidth": 2, "opacity": 1}, encoding)]

    def _rules(self, x: dict[str, Any], y: dict[str, Any]) -> list[dict[str, Any]]:
        here = [{"x": rule.at, "row": -0.6, "text": rule.label} for rule in self.rules]
        if not here:
            return []
        stroke = {"type": "rule", "stroke": MUTED, "strokeDash": [2, 3], "strokeWidth": 1.5}
        text = {"type": "text", "baseline": "bottom", "dy": -2, "fill": MUTED}
        return [_layer(here, stroke, {"x": x}), _layer(here, text, {"x": x, "y": y, "text": {"field": "text"}})]


def _layer(rows: list[dict[str, Any]], mark: dict[str, Any], encoding: dict[str, Any]) -> dict[str, Any]:
    return {"data": {"values": rows}, "mark": mark, "encoding": encoding}


def _bar(rows: list[dict[str, Any]], x: dict[str, Any], y: dict[str, Any], start: float) -> dict[str, Any]:
    parts = []
    for row in rows:
        parts.append({**row, "x": start, "high": row["x"], "pale": 1.0})
        parts.append({**row, "pale": 0.3})
    opacity = {"field": "pale", "type": "quantitative", "scale": None, "legend": None}
    encoding = {"x": x, "x2": {"field": "high"}, "y": y, "stroke": {"field": "colour", **AS_GIVEN}, "opacity": opacity}
    return _layer(parts, {"type": "rule", "strokeWidth": 12}, encoding)


def _texts(rows: list[dict[str, Any]], y: dict[str, Any], narrow: bool) -> list[dict[str, Any]]:
    """Names at the left, numbers at the right; on a phone's screen both above the row. Headings are bold."""
    names, headings = ([row for row in rows if row["heading"] == wanted] for wanted in (False, True))
    text: dict[str, Any] = {"type": "text", "baseline": "middle"}
    if narrow:
        text |= {"dy": -16, "limit": LONGEST / 2}
    name = text | ({"align": "left"} if narrow else {"align": "right", "dx": -10})
    numbers = text | ({"align": "right"} if narrow else {"align": "left", "dx": 10})
    at_left, at_right = {"x": {"value": 0}, "y": y}, {"x": {"value": "width"}, "y": y}
    return [
        _layer(names, name, at_left | {"text": {"field": "label"}}),
        _layer(headings, {**name, "dy": 0, "fontWeight": 600}, at_left | {"text": {"field": "label"}}),
        _layer(names, {**numbers, "fill": MUTED}, at_right | {"text": {"field": "text"}}),
    ]
