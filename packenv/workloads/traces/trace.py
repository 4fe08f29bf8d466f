"""`Trace`: recorded tasks, and their conversion to slots.

PAPERS §1.1, "Trace to slots".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from packenv.content.text import counted_by_reason
from packenv.errors import ArgumentError, InputError
from packenv.inputs.memory import Memory
from packenv.inputs.numbers import Exact, exact
from packenv.jobs import GPU, Jobs, Ragged, gather, passed_on
from packenv.options.shared import Estimates as Estimates
from packenv.units import LARGEST_AMOUNT, MOST, scale_for, to_units
from packenv.workloads.traces.links import LOST_LINKS
from packenv.workloads.traces.times import MISSING, SECOND, floor_divide

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Sizes = Literal["max", "all"]
ESTIMATES = get_args(Estimates)
"""Durations that policies see: the recorded request, or the duration without one; the duration itself; or the request, and the
longest one without one."""
Wanted = tuple[str, ...] | Literal["all"] | None
"""The resources to read: their names, all in the trace, or (None) the usual ones of its format."""

PER_TASK = 250  # bytes of memory until it is in a Jobs table

SLOT_SECONDS = "0.1"
"""The papers' slot of 100 ms."""

OTHER_PARTITIONS = "of other partitions"
TWICE = "repeated rows"
NOT_FINISHED = "not finished"
IN_SNAPSHOT = "in the initial snapshot"
NO_DURATION = "duration missing or <= 0"
NO_DEMAND = "all demands missing or 0"
TOO_LARGE = "a demand above the largest capacity of a server, 2^50"


class Conversion(NamedTuple):
    """Jobs table, dropped tasks by reason, and slot 0 in µs."""

    jobs: Jobs
    dropped: dict[str, int]
    t0: int


class Machines(NamedTuple):
    """Servers of a trace: arguments of `Servers`."""

    capacity: Floats  # (L, D)
    devices: Ints | None = None  # (L, 3)
    device_kinds: tuple[str, ...] = ()
    names: tuple[str, ...] = ()  # (L,)
    left_out: tuple[tuple[str, int], ...] = ()

    def only(self, there: Bools | np.bool_) -> Machines:
        """Return the machines marked in `there` (L,)."""
        rows = np.flatnonzero(there)
        names = tuple(self.names[row] for row in rows.tolist()) if self.names else ()
        devices = None if self.devices is None else self.devices[rows]
        return self._replace(capacity=self.capacity[rows], devices=devices, names=names)


OPTIONAL = ("job", "phase", "value", "tenant", "predecessors", "home", "estimate", "remote_overhead", "gang")
"""Optional columns of a Jobs table in a user's table."""


@dataclass(frozen=True)
class Trace:
    """Recorded tasks by submission, in µs or MISSING (-1). In slots if there is a `table`."""

    submit: Ints  # (n,) µs, sorted
    schedule: Ints  # (n,) µs or MISSING
    end: Ints  # (n,) µs or MISSING
    demand: Floats  # (n, D) in units of capacity; NaN where missing
    resources: tuple[str, ...]  # D names
    finished: Bools | None  # (n,) whether the task ran to its end within the trace; None: unknown
    in_snapshot: Bools  # (n,) whether it was there when the trace began, so that its submission is unknown
    job: Ints | None = None  # (n,) job that the task belongs to
    others: dict[str, NDArray[Any]] = field(default_factory=dict)  # additional columns (n,), by name
    requested: Ints | None = None  # (n,) µs that the user requested for the task: the estimate of its duration
    predecessors: Ragged | None = None  # earlier rows that must end first
    home: Ragged | None = None  # servers that hold the task's data
    blocks: Ints | None = None  # (n,) number of the block that it reads, if places of blocks are unknown; negative: none
    remote: Ints | None = None  # (n,) µs that the task takes longer away from its data
    source: str = ""  # the file or folder that it was read from
    rows: Ints | None = None  # (n,) the row of the task in the file, from 1; None if a task has several rows
    ids: Any = None  # (rows of the file,) the number or name of each, an array or an Arrow column, if the file has such
    printable: Mapping[str, str] = field(default_factory=dict)  # labels that the log lacks, and how to have them printed
    labels: dict[str, Any] = field(default_factory=dict)  # (rows of the file,) names of users etc., as `ids`
    time_unit: str = "s"  # of times in the file that are numbers, one of TIME_UNITS
    about: str = ""  # meaning of capacity 1, and omissions of the reader
    unfit: dict[str, Bools] = field(default_factory=dict)  # (n,) tasks that are not converted, by additional reasons
    dropped: dict[str, int] = field(default_factory=dict)  # number of tasks that the reader left out, by reason
    slot_seconds: str = SLOT_SECONDS  # the usual length of a slot for this format
    processors: float | None = None  # that capacity 1 of the first resource is, if tasks are parallel jobs of a machine
    machine: dict[str, float] = field(default_factory=dict)  # the same of each such resource: processors, and GiB of memory
    finished_only: bool = False  # whether only tasks that finished are usually converted (PAPERS §1.1); else all that ran
    longest_request: int = 0  # µs that may be requested at most; 0 if that is not known
    list_of_servers: str = ""  # the command that prints the servers that it ran on, if there is one
    servers: str | None = None  # the recorded servers, as a text for `parse_servers`
    partition: NDArray[np.str_] | None = None  # (n,) the name of the partition, or queue, of each task
    partitions: tuple[str, ...] = ()  # partitions whose tasks are converted and whose nodes are servers; () for all
    origin: datetime | None = None  # the date of time 0, if the file has dates; in UTC if they have offsets from it
    waits: bool = False  # whether waits are recorded: `schedule` is the start, `submit` the arrival
    notes: tuple[str, ...] = ()  # lines on the meaning of servers, for results
    uncounted: tuple[str, ...] = ()  # requested resources that are not read by default
    not_modelled: dict[str, Bools] = field(default_factory=dict)  # (n,) tasks that request things no server has, by name
    nodes: Ints | None = None  # (n,) on how many nodes each job ran, if some ran on several
    devices: Ints | None = None  # (n, 3) GPU needs of each task, as `Jobs.devices`; their sum is the resource "gpu"
    device_kinds: tuple[str, ...] = ()  # names of the bits of kinds
    devices_said: bool = True  # whether GPUs are devices in the trace; otherwise the user may choose it
    devices_per_unit: float = 1.0  # how many GPUs an amount of 1 of the resource "gpu" is
    device_shares: bool = False  # whether tasks ask for parts of a GPU, while a node's GPUs are one amount
    table: Jobs | None = None  # the same tasks, if the unit of times is the slot, of `slot_seconds`

    @staticmethod
    def in_slots(table: Jobs, resources: tuple[str, ...], source: str = "", **fields: Any) -> Trace:
        """Return a table as a trace whose unit is the slot. `fields`: others of Trace."""
        end, absent = table.arrival + table.service, np.zeros(len(table), np.bool_)
        others = {name: value for name in JOBS_COLUMNS if (value := getattr(table, name)) is not None}
        fields = {"devices_said": False, **fields, "job": table.job, "others": others, "source": source, "table": table}
        return Trace(table.arrival, table.arrival, end, table.amounts, resources, None, absent, **fields)

    def timed(self, slot_seconds: Exact | None = None) -> Trace:
        """Return the tasks in µs, those in slots without other columns, starting on arrival, for statistics."""
        if self.table is None:
            return self
        slot = SECOND * exact(self.slot_seconds if slot_seconds is None else slot_seconds, "slot_seconds")
        submit, duration = (floor_divide(slots, 1 / slot) for slots in (self.table.arrival, self.table.service))
        common = self.demand, self.resources, None, self.in_snapshot, self.job
        return Trace(submit, submit, submit + duration, *common, source=self.source)

    def __len__(self) -> int:
        return len(self.submit)

    @property
    def duration(self) -> Ints:
        """(n,) µs from the last start to a later end, MISSING otherwise."""
        has_duration = (self.schedule != MISSING) & (self.end != MISSING) & (self.end >= self.schedule)
        return np.where(has_duration, self.end - self.schedule, MISSING)

    @property
    def size(self) -> Floats:
        """(n,) the largest demand over the resources, 0 if all are missing."""
        return np.asarray(np.nan_to_num(self.demand).max(axis=1, initial=0.0), np.float64)

    def kept(self) -> tuple[Bools, dict[str, int]]:
        """Return which tasks (n,) a conversion keeps, and drops by first reason."""
        kept, dropped = self._kept
        return kept, dict(dropped)

    @cached_property
    def _kept(self) -> tuple[Bools, dict[str, int]]:
        unfinished = np.zeros(len(self), np.bool_) if self.finished is None else ~self.finished
        reasons = {
            **self.unfit,
            IN_SNAPSHOT: self.in_snapshot,
            NOT_FINISHED: unfinished & (self.finished_only | (self.duration == MISSING)),
            NO_DURATION: self.duration <= 0,
            NO_DEMAND: self.size <= 0,
        }
        if (too_large := self.size > LARGEST_AMOUNT).any():
            reasons[TOO_LARGE] = too_large
        kept = np.ones(len(self), np.bool_)
        dropped = dict(self.dropped)
        for reason, holds in reasons.items():
            dropped[reason] = dropped.get(reason, 0) + int((kept & holds).sum())
            kept &= ~holds
        kept.flags.writeable = False
        return kept, dropped

    def waits_in_slots(self, slot_seconds: Exact) -> Ints | None:
        """Return recorded waits (n,) of converted tasks in whole slots, or None."""
        if not self.waits:
            return None
        usable = self.kept()[0]
        waits = np.maximum(self.schedule[usable] - self.submit[usable], 0)
        return floor_divide(waits, exact(slot_seconds, "slot_seconds") * SECOND)

    def most_at_once(self) -> float:
        """Return the largest recorded simultaneous use of the first resource."""
        usable = self.kept()[0]
        amount, start, end = self.demand[usable, 0], self.schedule[usable], self.end[usable]
        order = np.argsort(np.concatenate([end, start]), kind="stable")  # ends free resources before starts take them
        return float(np.cumsum(np.concatenate([-amount, amount])[order]).max(initial=0.0))

    def of_partitions(self, names: Sequence[str]) -> Trace:
        """Return the trace with these partitions' tasks only, or raise InputError."""
        if self.partition is None:
            advice = self.printable.get("partition", "")
            raise ArgumentError(f"{self.source}: `partition` does not go with it: it has no partitions", advice)
        known = np.unique(self.partition).tolist()
        for name in names:
            if name not in known:
                raise InputError(f"{self.source}: there is no partition {name!r}; known: {', '.join(known)}")
        unfit = {OTHER_PARTITIONS: ~np.isin(self.partition, [*names]), **self.unfit}
        return replace(self, unfit=unfit, partitions=(*names,))

    def jobs_on_several_nodes(self) -> int:
        """Return how many converted jobs ran on several nodes."""
        return 0 if self.nodes is None else int((self.nodes[self.kept()[0]] > 1).sum())

    def on_nodes(self) -> Trace:
        """Return the trace with a gang for each job on several nodes.

        A gang has a task for each node, with equal parts of the job's amounts. Whole amounts are split into whole ones: the first
        tasks have one more. Jobs get numbers in a column `job`. A job that is left out stays one row.
        """
        if self.nodes is None:
            return self
        of_job = np.where(self.kept()[0], self.nodes, 1)
        Memory(self.source).reserve(PER_TASK * int(of_job.sum()))
        # A row for each node of a kept job, with its part of the amounts.
        row = np.repeat(np.arange(len(self)), of_job)
        part = np.arange(len(row)) - (np.cumsum(of_job) - of_job)[row]
        amount, nodes = np.nan_to_num(self.demand[row]), of_job[row][:, None].astype(np.float64)
        split = np.floor(amount / nodes) + (part[:, None] < amount % nodes)
        demand = np.where(amount % 1 == 0, split, amount / nodes)
        # Jobs on several nodes get a gang of their number.
        job = np.arange(len(self)) if self.job is None else self.job
        gang = self.others.get("gang", np.full(len(self), -1))
        gang = np.where(gang >= 0, gang, np.where(of_job > 1, gang.max(initial=-1) + 1 + np.arange(len(self)), -1))
        # Repeat all columns.
        fields = {name: value for name, value in vars(self).items() if name in self.__dataclass_fields__}
        of_nodes = {
            name: value[row] for name, value in fields.items() if isinstance(value, np.ndarray) and len(value) == len(self)
        }
        by_name = {name: {key: value[row] for key, value in fields[name].items()} for name in ("others", "unfit", "not_modelled")}
        others = by_name["others"] | {"gang": gang[row]}
        of_file = {"ids": self.ids, "nodes": None}
        return replace(self, **of_nodes | by_name | of_file | {"demand": demand, "job": job[row], "others": others})

    def only_finished(self, only: bool = True) -> Trace:
        """Return the trace without evicted, killed or failed tasks.

        If not `only`, those that ran count up to that moment. Raises ArgumentError for a trace without outcomes.
        """
        if only and self.finished is None:
            raise ends_unknown(self.source)
        return replace(self, finished_only=only)

    def without_estimate(self) -> int | None:
        """Count converted tasks without an estimate, None if none has one."""
        if self.requested is None or (self.requested <= 0).all():
            return 0 if "estimate" in self.others else None
        return int((self.requested[self.kept()[0]] <= 0).sum())

    def largest_demand(self) -> Floats:
        """Return the largest converted demand (D,), in units of capacity."""
        return np.asarray(np.nan_to_num(self.demand[self.kept()[0]]).max(axis=0, initial=0.0), np.float64)

    def models_devices(self, sizes: Sizes) -> bool:
        """Return whether these sizes keep GPUs separate, next to other resources."""
        return self.devices is not None and sizes == "all" and GPU in self.resources and len(self.resources) > 1

    def kept_rows(self) -> Ints | None:
        """Return the kept tasks' rows in the file, from 1, or None."""
        return None if self.rows is None else self.rows[self.kept()[0]]

    def kept_blocks(self) -> Ints | None:
        """Return the column `blocks` of the kept tasks, if there is one."""
        return None if self.blocks is None else self.blocks[self.kept()[0]]

    def where(self, row: int) -> str:
        """Return source, and row or job, of a converted task."""
        i = int(np.flatnonzero(self.kept()[0])[row])
        if self.rows is not None:
            return f"{self.source}: row {self.rows[i]}"
        return self.source if self.job is None or self.table is not None else f"{self.source}: job {self.job[i]}"

    def jobs(
        self,
        slot_seconds: Exact | None = None,
        speedup: Exact = 1,
        sizes: Sizes = "max",
        estimates: Estimates | None = None,
    ) -> Conversion:
        """Convert the tasks to a Jobs table.

        slot_seconds  length of a slot, by default the usual one of the format
        speedup       β: submissions come β times as fast, durations stay
        sizes         "max": one resource, the largest demand of the task; "all": all D resources
        estimates     durations that policies see, from ESTIMATES; by default "recorded", if any is

        The first two are exact decimals. A float counts as the decimal that it prints as. Raises InputError if no task is left,
        or a number is out of range.
        """
        if self.table is not None:
            return self._of_slots(self.table, exact(speedup, "speedup"), sizes, estimates)
        slot = exact(self.slot_seconds if slot_seconds is None else slot_seconds, "slot_seconds") * SECOND
        beta = exact(speedup, "speedup")
        usable, dropped = self.kept()
        if not usable.any():
            raise InputError(f"{self.source}: no task is left ({counted_by_reason(dropped) or 'the trace is empty'})")
        # Demands and services in units and slots.
        submit = self.submit[usable]
        demand = np.nan_to_num(self.demand[usable])
        demand = demand.max(axis=1, keepdims=True) if one_size(sizes) else demand
        scale = scale_for(demand.max(axis=0), MOST)
        extra: dict[str, Any] = {name: self.others[name][usable] for name in JOBS_COLUMNS if name in self.others}
        service = _slots(self.duration[usable], slot)
        # Estimates.
        recorded = None if self.requested is None else np.where(self.requested > 0, _slots(self.requested, slot), np.nan)[usable]
        recorded = extra.pop("estimate", recorded)
        longest = float(_slots(np.array([self.longest_request]), slot)[0]) if self.longest_request > 0 else None
        estimate = estimate_column(recorded, service, estimates, self.source, longest)
        # Links pass over dropped tasks.
        if self.predecessors is not None:
            dropped[LOST_LINKS] = int((~usable[gather(self.predecessors, np.flatnonzero(usable)).values]).sum())
            extra["predecessors"] = passed_on(self.predecessors, usable, self.job, self.others.get("phase"), self.source)
        if self.home is not None:
            extra["home"] = gather(self.home, np.flatnonzero(usable))
        if self.devices is not None and self.models_devices(sizes):
            extra |= {"devices": self.devices[usable], "device_kinds": self.device_kinds}
        if self.remote is not None:
            extra["remote_overhead"] = -floor_divide(-self.remote[usable], slot)
        t0 = int(submit[0])
        jobs = Jobs(
            arrival=floor_divide(submit - t0, beta * slot),
            demand=to_units(demand, scale or 0),
            service=service,
            job=None if self.job is None else self.job[usable],
            estimate=estimate,
            scale=scale,
            **extra,
        )
        return Conversion(jobs, dropped, t0)

    def _of_slots(self, table: Jobs, beta: Fraction, sizes: Sizes, estimates: Estimates | None) -> Conversion:
        """Return the table itself, with faster arrivals, its sizes and its estimates."""
        largest = one_size(sizes)
        demand = table.demand.max(axis=1, keepdims=True) if largest else table.demand
        extra = {name: getattr(table, name) for name in OPTIONAL}
        if not largest and table.resources > 1:
            extra |= {"devices": table.devices, "device_kinds": table.device_kinds}
        extra["estimate"] = estimate_column(table.estimate, table.service, estimates, self.source)
        scale = table.scale[:1] if largest else table.scale
        return Conversion(
            Jobs(floor_divide(table.arrival, beta), demand, table.service, **extra, scale=scale), dict(self.dropped), 0
        )


def estimate_column(
    recorded: Floats | None, service: Ints, estimates: Estimates | None, source: str, longest: float | None = None
) -> Floats | None:
    """Return `estimate` (n,) from `recorded` ones, NaN if missing, or None.

    None is for nothing recorded or wanted. `longest` is the longest possible request. Raises InputError.
    """
    if estimates is not None and estimates not in ESTIMATES:
        raise ArgumentError(f"`estimates` must be one of {', '.join(ESTIMATES)}, not {estimates!r}")
    if estimates == "exact":
        return service.astype(np.float64)
    if recorded is None and estimates is None:
        return None
    durations = np.full(len(service), np.nan) if recorded is None else recorded
    unknown = np.isnan(durations)
    if estimates == "longest":
        if longest is None and unknown.all():
            raise ArgumentError(f"{source}: neither estimates nor limits are recorded: `estimates` exact uses true durations")
        return np.where(unknown, float(np.nanmax(durations)) if longest is None else longest, durations)
    return np.where(unknown, service, durations)


JOBS_COLUMNS = ("phase", "value", "tenant", "estimate", "remote_overhead", "gang")
"""Columns in `Trace.others` that the Jobs table takes over unchanged."""


def resource_names(choice: Wanted, available: tuple[str, ...], usual: tuple[str, ...], source: Path) -> tuple[str, ...]:
    """Return the resources to read, or raise InputError for an unknown one."""
    names = usual if choice is None else available if choice == "all" else choice
    for name in names:
        if name not in available:
            raise InputError(f"{source}: no resource {name}; known: {', '.join(available)}")
    return names


def one_size(sizes: Sizes) -> bool:
    """Return whether `sizes` is "max", or raise InputError unless "all"."""
    if sizes not in ("max", "all"):
        raise InputError(f"sizes must be max or all, not {sizes!r}")
    return sizes == "max"


def ends_unknown(source: str) -> ArgumentError:
    """Return the error for `finished_only` on a trace without outcomes."""
    return ArgumentError(f"`finished_only` does not go with {source}, which has no outcomes: remove unfinished rows")


def waits_of(known: Bools) -> tuple[bool, tuple[str, ...]]:
    """Return whether all waits are `known` (n,), and a line."""
    missing = len(known) - int(known.sum())
    some = 0 < missing < len(known)
    line = f"recorded waits are not shown: {missing:,} of the {len(known):,} tasks that ran have none"
    return bool(len(known)) and not missing, (line,) if some else ()


def _slots(lasts: Ints, slot: Fraction) -> Ints:
    """Convert µs (n,) to whole slots, rounded up, at least 1."""
    return np.maximum(-floor_divide(-lasts, slot), 1)
