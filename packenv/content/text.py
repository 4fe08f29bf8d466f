"""Numbers, times and lists as text, with sensible digits and units."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

NONE = "–"
INTERVAL_REACHES_ZERO = "± as large as the mean, or larger: its 95 % interval reaches 0"
"""Note for a mean with `is_wide`: even its order of magnitude is unknown."""

MOST_DECIMALS = 6

PLURAL = re.compile(r"((?:[a-z]+ )*)(event|instance|link|machine|milestone|node|object|pod|row|step|task)s( that [a-z]+)?")
"""Start of a reason that counts things: a noun, perhaps with a verb."""
SINGULAR = {"are": "is", "have": "has", "were": "was"}
"""Verbs for one thing; others take an s."""


def number(value: float | None, digits: int = 3) -> str:
    """Format as `1,234`, `12.3`, or a dash for None.

    No digit before the point is left out.
    """
    if value is None:
        return NONE
    return f"{value:,.0f}" if abs(value) >= min(1000, 10**digits) - 0.5 else f"{value:.{digits}g}"


def about(value: float) -> str:
    """Format with two digits: `270,000`, `0.57`."""
    return f"{float(f'{value:.2g}'):,.10g}"


def is_wide(mean: float | None, half: float | None) -> bool:
    """Return whether the 95 % interval of a mean reaches 0."""
    return mean is not None and half is not None and half >= abs(mean) and half > 1e-6 * abs(mean)


def estimate(mean: float | None, half: float | None) -> str:
    """Format as `25,920 ± 610`: mean and half-width of a 95 % interval.

    The half-width has two digits, the mean ends at the same place. Two digits of both if `is_wide`. Three digits without an
    interval.
    """
    if mean is None or half is None:
        return number(mean)
    if half <= 1e-6 * abs(mean):
        return number(mean)
    if is_wide(mean, half):
        return f"{about(mean)} ± {about(half)}"
    decimals = 1 - math.floor(math.log10(float(f"{half:.2g}")))
    if decimals > MOST_DECIMALS:
        return f"{mean:.3g} ± {half:.2g}"
    places = max(decimals, 0)
    return f"{round(mean, decimals):,.{places}f} ± {round(half, decimals):,.{places}f}"


def listed(names: Sequence[str]) -> str:
    """Join as `a`, `a and b`, `a, b and c`."""
    *front, last = names
    return f"{', '.join(front)} and {last}" if front else last


def sentences(rows: Iterable[Mapping[str, str]], facts: Mapping[str, Any]) -> str:
    """Write facts by templates: of each row the first whose conditions hold.

    rows   templates by condition: names of facts that must be known, separated by blanks. An empty template writes nothing
    facts  by name. None, False, 0 and empty texts are not known
    """
    chosen = (next((text for names, text in row.items() if all(facts.get(name) for name in names.split())), "") for row in rows)
    return " ".join(text.format_map(facts) for text in chosen if text)


def do_not_go(names: Sequence[str], what: str) -> str:
    """Return `--a does not go with a trace`, or a plural of it."""
    return f"{listed(names)} {'does' if len(names) == 1 else 'do'} not go with {what}"


def counted(n: int, noun: str) -> str:
    """Return `1 server`, `2 servers`."""
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def counted_by_reason(by_reason: Mapping[str, int]) -> str:
    """Return `3 tasks that fit no server, 1 node that takes no jobs`.

    Reasons are plurals. Counts of 0 are left out.
    """
    parts = [f"{n:,} {_of_one(reason) if n == 1 else reason}" for reason, n in by_reason.items() if n]
    return ", ".join(parts)


def left_out_lines(by_reason: Mapping[str, int]) -> list[str]:
    """Return `left out: 3 tasks that fit no server`, if any."""
    left_out = counted_by_reason(by_reason)
    return [f"left out: {left_out}"] if left_out else []


def _of_one(reason: str) -> str:
    """Return a reason in the singular: `pod that fits on no node`."""
    if (match := PLURAL.match(reason)) is None:
        return reason
    verb = (match[3] or "").removeprefix(" that ")
    clause = f" that {SINGULAR.get(verb, verb + 's')}" if verb else ""
    return f"{match[1]}{match[2]}{clause}{reason[match.end() :]}"


class Clock(NamedTuple):
    """A unit of times: its length in slots, and its name."""

    slots: float
    unit: str


def clock_for(slots: float, slot_seconds: float | None) -> Clock:
    """Return a unit that gives numbers from about 2 to a few hundred.

    Slots if their length is unknown.
    """
    if slot_seconds is None:
        return Clock(1.0, "slots")
    for seconds, unit in ((86_400, "days"), (3600, "hours"), (60, "minutes")):
        if slots * slot_seconds >= 2 * seconds:
            return Clock(seconds / slot_seconds, unit)
    return Clock(1 / slot_seconds, "seconds")


LONG = 3600.0  # seconds: a table with such a time shows its times in minutes, hours and days


def lasting(seconds: float | None) -> str:
    """Format as `12.3 s`, `7 min 5 s`, `2 h 5 min`, `3 d 4 h`, or a dash."""
    if seconds is None:
        return NONE
    if abs(seconds) < 59.5:
        return f"{number(seconds)} s"
    if seconds < 3599.5:
        return _two(*divmod(round(seconds), 60), "min", "s")
    if seconds < 86_370:
        return _two(*divmod(round(seconds / 60), 60), "h", "min")
    return _two(*divmod(round(seconds / 3600), 24), "d", "h")


def _two(large_count: int, rest: int, large: str, small: str) -> str:
    return f"{large_count} {large}{f' {rest} {small}' if rest else ''}"


def lasting_estimate(mean: float | None, half: float | None) -> str:
    """Format a mean and its half-width with `lasting`."""
    return lasting(mean) if mean is None or half is None or half <= 1e-6 * abs(mean) else f"{lasting(mean)} ± {lasting(half)}"
