"""A trace in wall-clock time, and its conversion to slots (PAPERS §1.1, "Trace to slots")."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from packenv.errors import InputError
from packenv.jobs import Jobs, Ragged
from packenv.units import LARGEST_CAPACITY, to_units
from packenv.workloads.traces.columns import Columns
from packenv.workloads.traces.links import LOST_LINKS, renumbered, take

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Exact = str | int | float | Decimal | Fraction
Sizes = Literal["max", "all"]
Wanted = tuple[str, ...] | Literal["all"] | None
"""Names of resources, all that the trace has, or (None) those that are usual for its form."""

MISSING = -1
SECOND = 1_000_000
"""Traces count time in microseconds."""
SLOT_SECONDS = "0.1"
"""The papers' slot of 100 ms."""

LATEST = 2.0**53  # slots, or microseconds: beyond it a float no longer tells neighbours apart

NOT_FINISHED = "not finished"
IN_SNAPSHOT = "in the initial snapshot"
NO_DURATION = "duration missing or <= 0"
NO_DEMAND = "all demands missing or 0"


class Conversion(NamedTuple):
    """Jobs made from a trace: the table, how much was dropped for each reason, and the µs at which slot 0 begins."""

    jobs: Jobs
    dropped: dict[str, int]
    t0: int


@dataclass(frozen=True)
class Trace:
    """Tasks as recorded, in order of submission; times in whole microseconds, MISSING (-1) where unknown."""

    submit: Ints  # (n,) µs, sorted
    schedule: Ints  # (n,) µs or MISSING
    end: Ints  # (n,) µs or MISSING
    demand: Floats  # (n, D) in units of capacity; NaN where missing
    resources: tuple[str, ...]  # D names
    finished: Bools  # (n,) the task ran to its end within the trace
    in_snapshot: Bools  # (n,) it was there when the trace began, so its submission is unknown
    job: Ints | None = None  # (n,) job that the task belongs to
    others: dict[str, NDArray[Any]] = field(default_factory=dict)  # further columns (n,), by name
    requested: Ints | None = None  # (n,) µs that the user expected the task to take at most: a scheduler's estimate
    predecessors: Ragged | None = None  # rows that must end first, all of them above
    home: Ragged | None = None  # servers that hold the task's data
    blocks: Ints | None = None  # (n,) or the number of the block that it reads, negative for none: nobody knows where that lies
    remote: Ints | None = None  # (n,) µs that it takes longer away from its data
    source: str = ""  # where it was read from
    rows: Ints | None = None  # (n,) the row of data there, from 1, that says the task; None where several rows say one
    about: str = ""  # what a capacity of 1 is, and what the reader leaves out
    unfit: dict[str, Bools] = field(default_factory=dict)  # (n,) what else keeps a task from being converted, by reason
    dropped: dict[str, int] = field(default_factory=dict)  # what the reader could not make a task of, by reason
    slot_seconds: str = SLOT_SECONDS  # the usual length of a slot for this form

    def __len__(self) -> int:
        return len(self.submit)

    @property
    def duration(self) -> Ints:
        """(n,) µs from the last start to the end; MISSING unless both are known and the end is not before the start."""
        known = (self.schedule != MISSING) & (self.end != MISSING) & (self.end >= self.schedule)
        return np.where(known, self.end - self.schedule, MISSING)

    @property
    def size(self) -> Floats:
        """(n,) the largest demand of each task, 0 if all are missing."""
        return np.asarray(np.nan_to_num(self.demand).max(axis=1, initial=0.0), np.float64)

    def kept(self, only_finished: bool = True) -> tuple[Bools, dict[str, int]]:
        """Which tasks (n,) a conversion keeps, and how many it drops by reason: each by the first one that holds."""
        reasons = {
            **self.unfit,
            IN_SNAPSHOT: self.in_snapshot,
            NOT_FINISHED: ~self.finished & only_finished,
            NO_DURATION: self.duration <= 0,
            NO_DEMAND: self.size <= 0,
        }
        kept = np.ones(len(self), np.bool_)
        dropped = dict(self.dropped)
        for reason, holds in reasons.items():
            dropped[reason] = dropped.get(reason, 0) + int((kept & holds).sum())
            kept &= ~holds
        return kept, dropped

    def kept_blocks(self, only_finished: bool = True) -> Ints | None:
        """The column `blocks` of the tasks that a conversion keeps."""
        return None if self.blocks is None else self.blocks[self.kept(only_finished)[0]]

    def where(self, row: int, only_finished: bool = True) -> str:
        """Which row of the source, or else which job, row `row` of the Jobs of a conversion comes from."""
        i = int(np.flatnonzero(self.kept(only_finished)[0])[row])
        if self.rows is not None:
            return f"{self.source}: row {self.rows[i]}"
        return self.source if self.job is None else f"{self.source}: job {self.job[i]}"

    def jobs(
        self, slot_seconds: Exact | None = None, speedup: Exact = 1, sizes: Sizes = "max", only_finished: bool = True
    ) -> Conversion:
        """The tasks as Jobs in slots of `slot_seconds`, submitted `speedup` (β) times as fast and served as long as before.

        Both are exact decimals (a float counts as the decimal that it prints as); without `slot_seconds`, the trace's usual
        ones. `sizes="max"`: one resource, the task's largest demand; "all": D of them. Tasks that did not finish have an end
        too (evicted, failed, killed): `only_finished=False` keeps them. Raises InputError if no task is left or a number is
        out of range.
        """
        slot = exact(self.slot_seconds if slot_seconds is None else slot_seconds, "slot_seconds") * SECOND
        beta = exact(speedup, "speedup")
        kept, dropped = self.kept(only_finished)
        if not kept.any():
            reasons = ", ".join(f"{count} {reason}" for reason, count in dropped.items() if count)
            raise InputError(f"{self.source}: no task is left ({reasons or 'the trace is empty'})")
        submit = self.submit[kept]
        amount = np.nan_to_num(self.demand[kept])
        if amount.max() > LARGEST_CAPACITY:
            raise InputError(f"{self.source}: a demand of {amount.max():g} exceeds the largest capacity, {LARGEST_CAPACITY}")
        units = to_units(amount)
        extra: dict[str, Any] = {name: self.others[name][kept] for name in JOBS_COLUMNS if name in self.others}
        if self.requested is not None:
            extra["estimate"] = _slots(self.requested[kept], slot).astype(np.float64)
        if self.predecessors is not None:
            extra["predecessors"], dropped[LOST_LINKS] = renumbered(self.predecessors, np.flatnonzero(kept))
        if self.home is not None:
            extra["home"] = take(self.home, np.flatnonzero(kept))
        if self.remote is not None:
            extra["remote_overhead"] = -floor_divide(-self.remote[kept], slot)
        t0 = int(submit[0])
        jobs = Jobs(
            arrival=floor_divide(submit - t0, beta * slot),
            demand=units.max(axis=1, keepdims=True) if one_size(sizes) else units,
            service=_slots(self.duration[kept], slot),
            job=None if self.job is None else self.job[kept],
            **extra,
        )
        return Conversion(jobs, dropped, t0)


JOBS_COLUMNS = ("phase", "value", "tenant", "estimate", "remote_overhead")
"""Columns of a trace, besides `job`, that its Jobs take over as they are."""


def wanted_of(wanted: Wanted, known: tuple[str, ...], usual: tuple[str, ...], source: Path) -> tuple[str, ...]:
    """The names of the resources to read. Raises InputError for one that the trace does not have."""
    names = usual if wanted is None else known if wanted == "all" else wanted
    for name in names:
        if name not in known:
            raise InputError(f"{source}: no resource {name}; known: {', '.join(known)}")
    return names


def microseconds(columns: Columns, name: str, missing: int | None) -> Ints:
    """A column of seconds (n,) in µs; empty cells are an error, or become `missing`. Raises InputError."""
    seconds = columns.numbers(name, None if missing is None else np.nan)
    columns.require(~(seconds < 0), name, "{} is negative")
    columns.require(~(seconds * SECOND >= LATEST), name, "{} is too large")
    return np.where(np.isnan(seconds), missing or 0, np.rint(np.nan_to_num(seconds) * SECOND)).astype(np.int64)


def _slots(lasts: Ints, slot: Fraction) -> Ints:
    """(n,) µs as whole slots, rounded up."""
    return np.maximum(-floor_divide(-lasts, slot), 1)


def one_size(sizes: Sizes) -> bool:
    """Whether tasks have one size, the largest demand. Raises InputError for an unknown choice."""
    if sizes not in ("max", "all"):
        raise InputError(f"sizes is max or all, not {sizes!r}")
    return sizes == "max"


def exact(number: Exact, name: str) -> Fraction:
    """A positive decimal, exactly; a float is the decimal that it prints as. Raises InputError."""
    try:
        fraction = number if isinstance(number, Fraction) else Fraction(Decimal(str(number)))
    except (InvalidOperation, ValueError, OverflowError):
        raise InputError(f"{name} {number!r} is not a decimal number") from None
    if fraction <= 0:
        raise InputError(f"{name} must be above 0, not {number}")
    return fraction


def floor_divide(numbers: Ints, by: Fraction) -> Ints:
    """⌊number / by⌋ (n,) in integer arithmetic: exact wherever `by` has few decimals, else in Python's integers."""
    p, q = by.numerator, by.denominator
    largest = int(np.abs(numbers).max(initial=0))
    if max(largest * q, p) < 2**63:
        return np.asarray(numbers * q // p, np.int64)
    if largest * q // p >= 2**62:
        raise InputError("a time is too many slots away; use longer slots")
    return np.array([int(number) * q // p for number in numbers], np.int64)
