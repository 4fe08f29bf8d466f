"""Charts as SVG, drawn by Vega-Lite beforehand: a page needs no script, and takes its colours from the page's style sheet."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, ClassVar, NamedTuple, Protocol

from markupsafe import Markup

from packenv.runs.plot_style import COLOURS, colours_for

WIDE, NARROW = 840, 350  # pixels: of a desk's screen, and of a phone's
LETTER = 7.2  # pixels that a letter of a label takes at most, on average
LONGEST = 240.0  # pixels of a text in a chart; longer ones end in dots there
VEGA_LITE = "5.20"
INK, MUTED, PAGE, LINE = "var(--ink)", "var(--muted)", "var(--page)", "var(--line)"
AS_GIVEN = {"scale": None, "legend": None, "type": "nominal"}
"""Of a channel whose field holds colours."""

CONFIG = {
    "aria": False,
    "font": "system-ui, sans-serif",
    "numberFormat": ",~r",
    "view": {"stroke": None},
    "text": {"fontSize": 12, "fill": INK, "limit": LONGEST},
    "axis": {
        **{"labelColor": MUTED, "titleColor": MUTED, "gridColor": LINE, "domainColor": MUTED, "tickColor": MUTED},
        **{"labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": "normal", "titlePadding": 8, "titleLimit": LONGEST},
    },
    "axisX": {"grid": False},
    "axisY": {
        **{
            "domain": False,
            "ticks": False,
            "titleAngle": 0,
            "titleAlign": "left",
            "titleAnchor": "end",
            "titleX": 0,
            "labelPadding": 8,
        },
        **{"titleY": -10, "titleBaseline": "bottom"},
    },
}
POINT = re.compile(r'<path aria-label="([^"]*)" role="graphics-symbol" aria-roledescription="[^"]*"([^>]*)/>')
CLIP = re.compile(r'(<clipPath id="|<[^<>]* clip-path="url\(#)clip(\d+)')
OPENING = re.compile(r"<svg [^>]*?(viewBox=\"[^\"]*\")>")


class Key(NamedTuple):
    """An entry of a legend: what a colour, or a mark, stands for."""

    colour: str
    label: str
    mark: str = "■"


class Rule(NamedTuple):
    """A line across a chart at a value of one axis, and what is said beside it."""

    at: float
    label: str


class Spec(NamedTuple):
    """A chart in Vega-Lite, without its size."""

    content: dict[str, Any]
    height: int  # pixels
    left: float = 4  # pixels beside the chart, for text that stands there
    right: float = 4


class Chart(Protocol):
    """What can be drawn: for a desk's screen, and for a phone's. `direct`: on the former names stand where they belong."""

    direct: ClassVar[bool]

    def spec(self, narrow: bool) -> Spec: ...

    def keys(self) -> list[Key]: ...


def colours_of(policies: list[str]) -> list[str]:
    """As in all pictures, but as names of the page's style sheet, which has them for light and for dark."""
    return [f"var(--c{COLOURS.index(colour)})" for colour in colours_for(policies)]


def svg_of(chart: Chart, narrow: bool, name: str) -> Markup:
    """The chart as an `svg` element, whose surroundings say what it shows; its points tell their values to a pointer.

    Vega escapes the texts, and counts the shapes that clip others on from chart to chart: `name`, which no other chart of the
    page has, stands for them.
    """
    import vl_convert

    content, height, left, right = chart.spec(narrow)
    size = {"width": NARROW if narrow else WIDE, "height": height, "autosize": {"type": "fit", "contains": "padding"}}
    room = {"padding": {"left": left, "right": right, "top": 6, "bottom": 4}, "background": None, "config": CONFIG}
    drawn = vl_convert.vegalite_to_svg({**size, **room, **content}, vl_version=VEGA_LITE)
    drawn = POINT.sub(r"<path\2><title>\1</title></path>", drawn)
    numbers: dict[str, int] = {}
    drawn = CLIP.sub(lambda found: f"{found[1]}{name}-{numbers.setdefault(found[2], len(numbers) + 1)}", drawn)
    return Markup(OPENING.sub(rf'<svg aria-hidden="true" width="{size["width"]}" \1>', drawn, count=1))


def room_for(texts: Iterable[str]) -> float:
    """Pixels that the longest of the texts takes."""
    return min(LETTER * max(map(len, texts), default=0), LONGEST)


def quantity(field: str, domain: tuple[float, float], title: str | None = None, log: bool = False, **axis: Any) -> dict[str, Any]:
    """The encoding of a number along an axis whose ends are given."""
    scale = {"type": "log" if log else "linear", "domain": list(domain), "nice": False, "zero": False}
    return {"field": field, "type": "quantitative", "scale": scale, "title": title, "axis": {"title": title, **axis}}
