"""Times of a trace: whole microseconds from numbers, durations and dates."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from packenv.errors import ArgumentError, InputError
from packenv.inputs.numbers import read_duration
from packenv.workloads.traces.columns import Columns

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

MISSING = -1
UNKNOWN = -1.0
"""Unknown time in logs, such as of rejected jobs."""
SECOND = 1_000_000
"""Traces count time in microseconds."""

TIME_UNITS = {
    "s": Fraction(SECOND), "ms": Fraction(1000), "us": Fraction(1), "ns": Fraction(1, 1000),
    "min": Fraction(60 * SECOND), "h": Fraction(3600 * SECOND),
}  # fmt: skip
"""Microseconds of each unit that times in a table may have."""
THIS_CENTURY = (946_684_800, 4_102_444_800)  # seconds since 1970
EMPTY, LAST_DATE = -(2**63), 2**62  # µs since 1970
LATEST = 2.0**53  # slots or microseconds: the largest number up to which floats hold every integer


def microseconds(columns: Columns, name: str, missing: int | None, unit: str | None = None, form: str = "a number") -> Ints:
    """Return a column of durations or of numeric times (n,) in µs.

    Texts may be 00:15:04, 1-02:03:04, PT15M or 2h. Empty cells, and -1, become `missing`, or are an error if that is None. `unit`
    is the user's unit of numbers, one of TIME_UNITS. `form` describes other valid texts. Raises InputError.
    """
    lengths = columns.lengths(name, missing)
    if lengths is not None:
        columns.require((lengths >= 0) | (lengths == missing), name, "{} is negative")
        return lengths
    per_second = Fraction(SECOND) / TIME_UNITS[unit or "s"]

    def written(text: str) -> Fraction | None:
        seconds = read_duration(text)
        return None if seconds is None else seconds * per_second

    counts = columns.numbers(
        name, None if missing is None else np.nan, written, f"{form}, nor a duration such as 00:15:04 or PT15M"
    )
    if missing is not None:
        counts = np.where(counts == UNKNOWN, np.nan, counts)
    columns.require(~(counts < 0), name, "{} is negative")
    times = counts * float(TIME_UNITS[unit or "s"])
    if (late := times >= LATEST).any():
        row = int(np.argmax(late))
        problem = str(columns.error(row, name, f"{columns.table[name][row]} is too large"))
        other = None if unit is None else _looks_like(counts, unit)
        if other is None:
            raise InputError(problem)
        advice = f"; as one in {other}: `time_unit` {other}"
        raise ArgumentError(f"{problem} for a time in {unit}", advice, {"time_unit": other})
    return np.where(np.isnan(times), missing or 0, np.rint(np.nan_to_num(times))).astype(np.int64)


def times(columns: Columns, names: Sequence[str], unit: str | None = None) -> list[Ints]:
    """Return columns of times (n,) in µs.

    Dates count from the earliest of the first column, whose cells must not be empty. Empty cells of the others become MISSING.
    Raises InputError, also for a mix of dates and other times.
    """
    # All columns hold dates of one kind, or none does.
    dates = [columns.instants(name, EMPTY if n else None) for n, name in enumerate(names)]
    if not any(dates):
        form = "a number, a date such as 2026-04-03 or 2026-04-03 12:00:00"
        return [microseconds(columns, name, MISSING if n else None, unit, form) for n, name in enumerate(names)]
    kinds = ["no dates" if column is None else f"dates {'with' if column[1] else 'without'} an offset" for column in dates]
    for name, kind in zip(names, kinds, strict=True):
        if kind != kinds[0]:
            others = f"column {columns.shown(names[0])} holds {kinds[0]}, column {columns.shown(name)} {kind}"
            raise InputError(f"{columns.path}: {others}")
    # Count from the earliest date of the first column.
    instants = [column[0] for column in dates if column is not None]
    origin = int(instants[0].min(initial=LAST_DATE))
    for name, column in zip(names, instants, strict=True):
        columns.require((column >= origin) | (column == EMPTY), name, "{} is before the first submission")
    return [np.where(column == EMPTY, MISSING, column - origin) for column in instants]


def origin_of(columns: Columns, name: str) -> datetime | None:
    """Return the date of time 0 in column `name`, or None."""
    dates = columns.instants(name)
    if dates is None or not len(dates[0]):
        return None
    return datetime.fromtimestamp(int(dates[0].min()) / SECOND, UTC).replace(tzinfo=UTC if dates[1] else None)


def _looks_like(counts: Floats, unit: str) -> str | None:
    """Return the unit that makes too large times dates of this century."""
    largest = float(np.nanmax(counts))
    for other in ("ms", "us", "ns"):
        if THIS_CENTURY[0] <= largest * float(TIME_UNITS[other]) / SECOND < THIS_CENTURY[1] and other != unit:
            return other
    return None


def floor_divide(numbers: Ints, by: Fraction) -> Ints:
    """Return ⌊number / by⌋ (n,), exactly.

    64-bit integers are used if they are large enough, else Python's integers. Raises InputError if a result is too large.
    """
    p, q = by.numerator, by.denominator
    largest = int(np.abs(numbers).max(initial=0))
    if max(largest * q, p) < 2**63:
        return np.asarray(numbers * q // p, np.int64)
    if largest * q // p >= 2**62:
        raise InputError("a time is too many slots away; use longer slots")
    return np.array([int(number) * q // p for number in numbers], np.int64)
