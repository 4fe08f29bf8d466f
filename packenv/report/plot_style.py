"""What all pictures have in common: a colour and a marker for each policy, plain numbers, a light grid, units of time."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from packenv.errors import InputError

PICTURES = (".png", ".pdf", ".svg")
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")  # told apart by the colour-blind too
COLOURED = ("bf-js", "vqs", "vqs-bf", "fifo-ff")
"""Policies that have the same colour in every picture."""

MARKERS = {"bf-js": "o", "vqs": "s", "vqs-bf": "D", "fifo-ff": "^"}
GREY, INK, PAPER, LINE = "#555555", "#000000", "#ffffff", "#dde2e8"
VERDICT_MARKERS = (("stable", "o", GREY), ("undecided", "o", "white"), ("unstable", "x", GREY))
"""For legends: verdict, marker, colour of its face."""


def colours_for(policies: list[str]) -> list[str]:
    """A colour for each policy: those of COLOURED have their own, the others take what is left."""
    taken = [name for name in COLOURED if name in policies]
    free = [colour for n, colour in enumerate(COLOURS) if n >= len(COLOURED) or COLOURED[n] not in taken] or list(COLOURS)
    others = [name for name in policies if name not in COLOURED]
    return [COLOURS[COLOURED.index(name)] if name in COLOURED else free[others.index(name) % len(free)] for name in policies]


def plain_numbers(axis: Any) -> None:
    """Write the numbers of an axis as 10,000 rather than 1e4."""
    from matplotlib.ticker import FuncFormatter

    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))


def light_grid(axes: Any) -> None:
    """Draw a light grid, and no box."""
    axes.set_axisbelow(True)
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)


def check_picture(path: str | Path, what: str) -> None:
    """Raise InputError, which says `what` a picture is, unless the file's suffix is a picture's."""
    if Path(path).suffix.lower() not in PICTURES:
        raise InputError(f"{path}: {what} {', '.join(PICTURES)}")


class Clock(NamedTuple):
    """The unit in which times are shown: its length in slots, and its name."""

    slots: float
    unit: str


def clock_for(slots: float, slot_seconds: float | None) -> Clock:
    """A unit that gives numbers from about 2 to a few hundred, where the length of a slot is known; slots otherwise."""
    if slot_seconds is None:
        return Clock(1.0, "slots")
    for seconds, unit in ((86_400, "days"), (3600, "hours"), (60, "minutes")):
        if slots * slot_seconds >= 2 * seconds:
            return Clock(seconds / slot_seconds, unit)
    return Clock(1 / slot_seconds, "seconds")
