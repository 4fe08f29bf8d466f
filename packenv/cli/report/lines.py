"""Lines over time, or over a number of servers, each with its name at its end."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from packenv.cli.report.drawing import AS_GIVEN, MUTED, PAGE, Key, Rule, Spec, quantity, room_for

MOST_WHOLE = 8  # numbers at an axis that counts, each of which is written
APART = 0.075
"""Least distance of two names, as a share of the height."""


class Point(NamedTuple):
    """A mark on a line: filled or hollow, and what it says to a pointer."""

    x: float
    y: float
    filled: bool
    text: str


class Line(NamedTuple):
    """A curve; `low` and `high` bound a band around it."""

    label: str
    colour: str
    x: Sequence[float]
    y: Sequence[float]
    dashed: bool = False
    low: Sequence[float] | None = None
    high: Sequence[float] | None = None
    points: Sequence[Point] = ()


@dataclass(frozen=True)
class LineChart:
    """Curves over one axis. Above `top`, the end of the other axis, they leave the picture.

    across, up  rules at values of the vertical and of the horizontal axis
    steps       each value holds until the next one
    whole       the horizontal axis counts
    """

    direct: ClassVar[bool] = True

    lines: Sequence[Line]
    x_title: str
    y_title: str
    top: float
    across: Sequence[Rule] = ()
    up: Sequence[Rule] = ()
    steps: bool = False
    whole: bool = False
    tall: int = 300  # pixels

    def keys(self) -> list[Key]:
        return [Key(line.colour, line.label) for line in self.lines]

    def spec(self, narrow: bool) -> Spec:
        first, last = self._ends()
        ticks: dict[str, Any] = {"tickCount": 4 if narrow else 8}
        if self.whole:
            few = last - first <= MOST_WHOLE  # otherwise Vega finds round ones
            ticks = {"values": [*range(math.ceil(first), math.floor(last) + 1)]} if few else ticks | {"format": ",d"}
        x = quantity("x", (first, last), self.x_title, **ticks)
        y = quantity("y", (0.0, self.top), self.y_title, tickCount=5)
        layers = [*self._bands(x, y), *self._curves(x, y), *self._rules(x, y), *self._points(x, y)]
        labels = [] if narrow else self._labels(last)
        if labels:
            text = {"type": "text", "align": "left", "baseline": "middle", "dx": 8}
            said = {"x": x, "y": y, "text": {"field": "text"}, "fill": {"field": "colour", **AS_GIVEN}}
            layers.append({"data": {"values": labels}, "mark": text, "encoding": said})
        return Spec({"layer": layers}, 260 if narrow else self.tall, right=12 + room_for(each["text"] for each in labels))

    def _ends(self) -> tuple[float, float]:
        every = [*(x for line in self.lines for x in line.x), *(rule.at for rule in self.up)]
        first, last = min(every, default=0.0), max(every, default=1.0)
        return (first - 0.5, last + 0.5) if first == last else (first, last)

    def _bands(self, x: dict[str, Any], y: dict[str, Any]) -> list[dict[str, Any]]:
        rows = []
        for line in self.lines:
            if line.low is not None and line.high is not None:
                ends = zip(line.x, line.low, line.high, strict=True)
                rows += [{"x": at, "y": low, "high": high, "colour": line.colour, "line": line.label} for at, low, high in ends]
        if not rows:
            return []
        encoding = {"x": x, "y": y, "y2": {"field": "high"}, "fill": {"field": "colour", **AS_GIVEN}, "detail": {"field": "line"}}
        return [{"data": {"values": rows}, "mark": {"type": "area", "clip": True, "opacity": 0.16}, "encoding": encoding}]

    def _curves(self, x: dict[str, Any], y: dict[str, Any]) -> list[dict[str, Any]]:
        rows = []
        for line in self.lines:
            rest = {"colour": line.colour, "line": line.label, "dashed": line.dashed}
            rows += [{"x": at, "y": value, **rest} for at, value in zip(line.x, line.y, strict=True)]
        mark = {"type": "line", "clip": True, "strokeWidth": 2, "strokeJoin": "round"}
        mark |= {"interpolate": "step-after"} if self.steps else {}
        dash = {"condition": {"test": "datum.dashed", "value": [6, 4]}, "value": [1, 0]}
        encoding = {"x": x, "y": y, "stroke": {"field": "colour", **AS_GIVEN}, "detail": {"field": "line"}, "strokeDash": dash}
        return [{"data": {"values": rows}, "mark": mark, "encoding": encoding}]

    def _points(self, x: dict[str, Any], y: dict[str, Any]) -> list[dict[str, Any]]:
        rows = [
            {"x": point.x, "y": point.y, "text": point.text, "colour": line.colour, "face": line.colour if point.filled else PAGE}
            for line in self.lines
            for point in line.points
            if point.y <= self.top
        ]
        if not rows:
            return []
        encoding = {"x": x, "y": y, "stroke": {"field": "colour", **AS_GIVEN}, "fill": {"field": "face", **AS_GIVEN}}
        mark = {"type": "point", "aria": True, "size": 70, "strokeWidth": 2, "opacity": 1}
        return [{"data": {"values": rows}, "mark": mark, "encoding": encoding | {"description": {"field": "text"}}}]

    def _rules(self, x: dict[str, Any], y: dict[str, Any]) -> list[dict[str, Any]]:
        layers: list[dict[str, Any]] = []
        first, last = self._ends()
        stroke = {"type": "rule", "stroke": MUTED, "strokeDash": [2, 3], "strokeWidth": 1.5}
        for rule in self.across:
            text = {"type": "text", "align": "left", "baseline": "bottom", "dx": 6, "dy": -4, "fill": MUTED}
            here = {"values": [{"x": first, "y": rule.at, "text": rule.label}]}
            layers.append({"data": here, "mark": stroke, "encoding": {"y": y}})
            layers.append({"data": here, "mark": text, "encoding": {"x": x, "y": y, "text": {"field": "text"}}})
        for n, rule in enumerate(self.up):
            late = rule.at - first > 0.6 * (last - first)
            side = {"align": "right", "dx": -6} if late else {"align": "left", "dx": 6}
            text = {"type": "text", "baseline": "top", "fill": MUTED, **side}
            here = {"values": [{"x": rule.at, "y": self.top * (1 - n * APART), "text": rule.label}]}
            layers.append({"data": here, "mark": stroke, "encoding": {"x": x}})
            layers.append({"data": here, "mark": text, "encoding": {"x": x, "y": y, "text": {"field": "text"}}})
        return layers

    def _labels(self, last: float) -> list[dict[str, Any]]:
        """Names at the right, at the height of the lines' ends and apart from each other."""
        placed: list[dict[str, Any]] = []
        height = -self.top
        for line in sorted(self.lines, key=lambda line: min(line.y[-1], self.top) if len(line.y) else 0.0):
            height = max(height + APART * self.top, min(line.y[-1], self.top) if len(line.y) else 0.0)
            placed.append({"x": last, "y": height, "text": line.label, "colour": line.colour})
        above = height - self.top  # those that were pushed out at the top are moved down, and push others
        for n, each in enumerate(reversed(placed)):
            each["y"] = min(each["y"], self.top * (1 - n * APART)) if above > 0 else each["y"]
        return placed
