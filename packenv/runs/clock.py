"""The unit in which people are shown a time."""

from __future__ import annotations

from typing import NamedTuple


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
