"""Colours and markers of all charts, the same for a policy everywhere."""

from __future__ import annotations

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")  # distinct for the colour-blind too
COLOURED = ("bf-js", "vqs", "vqs-bf", "fifo-ff")
"""Policies that have the same colour in every picture."""

MARKERS = {"bf-js": "o", "vqs": "s", "vqs-bf": "D", "fifo-ff": "^"}
GREY, INK, PAPER, LINE = "#555555", "#000000", "#ffffff", "#dde2e8"
VERDICT_MARKERS = (("stable", "o", GREY), ("undecided", "o", "white"), ("unstable", "x", GREY))
"""For legends: verdict, marker, colour of its face."""


def colours_for(policies: list[str]) -> list[str]:
    """Return a colour for each policy: fixed for COLOURED, free ones otherwise."""
    taken = [name for name in COLOURED if name in policies]
    free = [colour for n, colour in enumerate(COLOURS) if n >= len(COLOURED) or COLOURED[n] not in taken] or list(COLOURS)
    others = [name for name in policies if name not in COLOURED]
    return [COLOURS[COLOURED.index(name)] if name in COLOURED else free[others.index(name) % len(free)] for name in policies]
