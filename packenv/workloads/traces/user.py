"""A user's own trace, Parquet or CSV (also .csv.gz), in one of two forms.

In slots: `arrival`, `service`, and the demands: `size`, or `size_0, size_1, …`, or a column per resource.
In seconds: `submit_time_s`, `duration_s`, and a column per resource. Demands are in units of capacity.
Both may have `job`, `value`, `tenant`, `estimate` and `remote_overhead` (the last two in slots). Every other column is a
resource; where there are further columns, name the resources.

Bad input is one InputError that names file, row and column. Row N is the N-th row of data, from 1: a header and blank
lines do not count. In seconds an empty duration or demand means that it is unknown; anywhere else it is an error.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from packenv.errors import InputError
from packenv.jobs import Jobs
from packenv.units import LARGEST_CAPACITY, UNIT, to_units
from packenv.workloads.traces.columns import Columns, decimals
from packenv.workloads.traces.table import SECOND, Conversion, Exact, Sizes, Trace, exact, floor_divide, one_size

SLOT_FORM = ("arrival", "service")
SECONDS_FORM = ("submit_time_s", "duration_s")
OPTIONAL = ("job", "value", "tenant", "estimate", "remote_overhead")
LATEST = 2.0**53  # slots, or microseconds: beyond it a float no longer tells neighbours apart
FORMS = "needs arrival, size, service (in slots), or submit_time_s, duration_s and a column per resource (in seconds)"


@dataclass(frozen=True)
class SlotTrace:
    """A trace that is in slots already; it converts like a Trace, but has no clock to choose slots by."""

    table: Jobs
    resources: tuple[str, ...]  # D names
    source: str = ""
    dropped: dict[str, int] = field(default_factory=dict)  # nothing is: a row that cannot be a task is an error

    def __len__(self) -> int:
        return len(self.table)

    def jobs(
        self, slot_seconds: Exact = "0.1", speedup: Exact = 1, sizes: Sizes = "max", only_finished: bool = True
    ) -> Conversion:
        """As Trace.jobs: arrivals divided by `speedup`, one size or all of them. `slot_seconds` changes nothing."""
        whole, beta = self.table, exact(speedup, "speedup")
        demand = whole.demand.max(axis=1, keepdims=True) if one_size(sizes) else whole.demand
        extra = {name: getattr(whole, name) for name in OPTIONAL}
        return Conversion(Jobs(floor_divide(whole.arrival, beta), demand, whole.service, **extra), {}, 0)

    def timed(self, slot_seconds: Exact = "0.1") -> Trace:
        """The same tasks on a clock, for statistics: started on arrival, in slots of `slot_seconds`."""
        slot = SECOND * exact(slot_seconds, "slot_seconds")
        submit, duration = (floor_divide(slots, 1 / slot) for slots in (self.table.arrival, self.table.service))
        n = len(self)
        return Trace(
            submit=submit,
            schedule=submit,
            end=submit + duration,
            demand=self.table.demand / UNIT,
            resources=self.resources,
            finished=np.ones(n, np.bool_),
            in_snapshot=np.zeros(n, np.bool_),
            job=self.table.job,
            source=self.source,
        )


def read_user(path: Path, names: list[str], resources: tuple[str, ...] | None = None) -> Trace | SlotTrace:
    """The file in whichever form its columns say; `resources` are the demand columns, by default all that are left."""
    for form in (SLOT_FORM, SECONDS_FORM):
        if set(form) <= set(names):
            demands = _demand_columns(path, names, form, resources)
            columns = Columns.read(path, [*form, *OPTIONAL, *demands])
            if not len(columns):
                raise InputError(f"{path}: the file is empty")
            return _in_slots(columns, demands) if form is SLOT_FORM else _in_seconds(columns, demands)
    known = [name for name in (*SLOT_FORM, *SECONDS_FORM) if name in names]
    missing = {"arrival": "service", "service": "arrival", "submit_time_s": "duration_s", "duration_s": "submit_time_s"}
    what = f"column {missing[known[0]]} is missing" if known else f"columns {', '.join(names) or 'none'}"
    raise InputError(f"{path}: {what}; {FORMS}")


def _demand_columns(path: Path, names: list[str], form: tuple[str, ...], resources: tuple[str, ...] | None) -> tuple[str, ...]:
    if resources is None:
        left = [name for name in names if name not in (*form, *OPTIONAL)]
        sizes = [name for name in left if name == "size" or name.startswith("size_")]
        other = [name for name in left if name not in sizes]
        if sizes and other:
            raise InputError(f"{path}: column {other[0]} is not known; known: {', '.join((*form, *OPTIONAL))}, size, size_0, …")
        resources = tuple(sorted(sizes, key=_place) if sizes else left)
    absent = [name for name in resources if name not in names]
    if absent or not resources:
        raise InputError(f"{path}: column {absent[0] if absent else 'size'} is missing; {FORMS}")
    return resources


def _place(name: str) -> tuple[int, str]:
    """`size`, then `size_0`, `size_1`, … in order of their numbers."""
    number = name.removeprefix("size_")
    return (int(number) if number.isdecimal() else -1, name)


def _in_slots(columns: Columns, demands: tuple[str, ...]) -> SlotTrace:
    arrival = _times(columns, "arrival")
    columns.require(np.diff(arrival, prepend=0) >= 0, "arrival", "{} is before the row above")
    amount = _amounts(columns, demands, empty=False)
    some = np.asarray((amount > 0).any(axis=1), np.bool_)
    columns.require(some, ", ".join(demands), "is 0" if len(demands) == 1 else "are all 0")
    service = columns.whole("service")
    columns.require(service >= 1, "service", "{} is below 1 slot")
    columns.require(service < LATEST, "service", "{} is too large")
    jobs = Jobs(arrival, to_units(amount), service, **_optional(columns))
    return SlotTrace(jobs, demands, str(columns.path))


def _in_seconds(columns: Columns, demands: tuple[str, ...]) -> Trace:
    seconds = columns.numbers("submit_time_s")
    columns.require(seconds >= 0, "submit_time_s", "{} is negative")
    columns.require(seconds * SECOND < LATEST, "submit_time_s", "{} is too large")
    lasts = columns.numbers("duration_s", np.nan)
    columns.require(~(lasts < 0), "duration_s", "{} is negative")
    columns.require(~(lasts * SECOND >= LATEST), "duration_s", "{} is too large")
    amount = _amounts(columns, demands, empty=True)
    extra = _optional(columns)
    submit = np.rint(seconds * SECOND).astype(np.int64)
    order = np.argsort(submit, kind="stable")
    submit, known = submit[order], ~np.isnan(lasts[order])
    duration = np.rint(np.nan_to_num(lasts[order]) * SECOND).astype(np.int64)
    extra = {name: column[order] for name, column in extra.items()}
    return Trace(
        submit=submit,
        schedule=submit,
        end=np.where(known, submit + duration, -1),
        demand=amount[order],
        resources=demands,
        finished=np.ones(len(submit), np.bool_),
        in_snapshot=np.zeros(len(submit), np.bool_),
        job=extra.pop("job", None),
        others=extra,
        source=str(columns.path),
    )


def _times(columns: Columns, name: str) -> NDArray[np.int64]:
    slots = columns.whole(name)
    columns.require(slots >= 0, name, "{} is negative")
    columns.require(slots < LATEST, name, "{} is too large")
    return slots


def _amounts(columns: Columns, names: tuple[str, ...], empty: bool) -> NDArray[np.float64]:
    """Demands (n, D); NaN where empty, if that is allowed."""
    amount = np.empty((len(columns), len(names)))
    for r, name in enumerate(names):
        amount[:, r] = decimals(columns, name)
        if not empty:
            columns.require(~np.isnan(amount[:, r]), name, "is empty")
        columns.require(~(amount[:, r] > LARGEST_CAPACITY), name, f"{{}} exceeds the largest capacity, {LARGEST_CAPACITY}")
    return amount


def _optional(columns: Columns) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in ("job", "tenant", "remote_overhead"):
        if name in columns:
            found[name] = columns.whole(name)
            columns.require(found[name] >= 0, name, "{} is negative")
    for name in ("value", "estimate"):
        if name in columns:
            found[name] = columns.numbers(name)
    if "estimate" in columns:
        columns.require(found["estimate"] > 0, "estimate", "{} is not above 0")
    return found
