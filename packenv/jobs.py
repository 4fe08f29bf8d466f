"""The Jobs table: one row per task, all randomness.

The simulator draws no random numbers (CONTRIBUTING, decision 1). It reads this table from a trace, from your arrays, or from a
random workload that draws it chunk by chunk.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from packenv.errors import InputError, RowError
from packenv.inputs.memory import Memory
from packenv.inputs.numbers import LARGEST_WHOLE
from packenv.units import LARGEST_AMOUNT, MOST, UNIT, scale_for, to_units

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

LARGEST_UNITS = 2**62  # what larger demands count as, which fit no server
GPU = "gpu"  # the resource that is the sum of a server's devices
MOST_KINDS = 62  # of devices, which are bits of a word
NUMBER, SHARE, KINDS = range(3)
"""Positions in a row of `Jobs.devices`: how many devices; how much of one (0: whole, free ones); kinds as bits (0: any)."""
HOW_MANY, WHOLE, MODEL = range(3)
"""Positions in a row of `Servers.devices`: how many devices, UNKNOWN: as many as there is of the resource that is their sum; the
capacity of each; which kind, or NO_MODEL."""
UNKNOWN, NO_MODEL = -1, -1
MILLI = 1000  # the capacity of a device, if nothing else is said
NO_GANG = -1
FIRST, TASKS = range(2)
"""Positions in a row of `gang_spans`: the first row of the gang, and how many tasks it has."""
MOST_DEVICES = 62  # of a server: they are bits of a word
PER_LINK = 100  # bytes of memory, at the most, for a link while those of left-out rows are passed on


class Ragged(NamedTuple):
    """Lists of integers; row i is values[offsets[i]:offsets[i + 1]]."""

    offsets: Ints  # (n + 1,)
    values: Ints

    def row(self, i: int) -> Ints:
        return self.values[self.offsets[i] : self.offsets[i + 1]]

    @staticmethod
    def of(lists: list[list[int]]) -> Ragged:
        """The lists, from one Python list for each row."""
        lengths = [len(row) for row in lists]
        flat = [value for row in lists for value in row]
        return Ragged(np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]).astype(np.int64), np.array(flat, dtype=np.int64))


@dataclass(frozen=True, repr=False)
class Jobs:
    """A finite table of tasks in order of arrival.

    A task is identified by its row number. A row waits for its predecessors and for earlier phases of its job.
    Raises InputError, naming the first bad row, unless arrivals are sorted and not negative, demands are >= 0 and one of each
    task is positive, services are >= 1, a job has one value, and each row waits only for earlier rows. The tasks of a gang stand
    in consecutive rows, arrive in one slot, and wait for no others.
    """

    arrival: Ints  # (n,) slot in which the task arrives
    demand: Ints  # (n, D) units of each resource (packenv.units.UNIT per unit of capacity)
    service: Ints  # (n,) slots in service, >= 1
    job: Ints | None = None  # (n,) number of the job that the task belongs to, >= 0
    phase: Ints | None = None  # (n,) phase of the task in its job, >= 0: eligible when all earlier phases have completed
    value: Floats | None = None  # (n,) value (service level) of the task's job, finite, the same in all its rows
    tenant: Ints | None = None  # (n,) number of the owner of the task, >= 0
    predecessors: Ragged | None = None  # rows that must complete first
    home: Ragged | None = None  # servers that hold the task's data
    remote_overhead: Ints | None = None  # (n,) extra slots when run away from home, >= 0
    estimate: Floats | None = None  # (n,) estimate of the service in slots, for policies that use one, > 0
    gang: Ints | None = None  # (n,) number of the gang, whose tasks start in the same slot or not at all; NO_GANG: none
    devices: Ints | None = None  # (n, 3) what it needs of devices, beside `demand`: NUMBER, SHARE, KINDS
    device_kinds: tuple[str, ...] = ()  # the names of the bits of KINDS
    scale: tuple[int, ...] = ()  # (D,) how often the unit of each resource is doubled (packenv.units); () for never

    @staticmethod
    def of(arrival: ArrayLike, size: ArrayLike, service: ArrayLike, **columns: Any) -> Jobs:
        """Build a table from sizes in units of capacity.

        size     (n,), or (n, D) for D resources
        columns  other columns, as arrays or lists. For predecessors and home: one list of rows, or servers, per task

        Raises InputError.
        """
        try:
            amount = np.asarray(size, dtype=np.float64)
        except (TypeError, ValueError):
            raise InputError("size must be a list of numbers, or of equally many numbers for each task") from None
        amount = amount[:, None] if amount.ndim == 1 else amount
        if amount.ndim != 2:
            raise InputError(f"size must have shape (tasks,) or (tasks, resources), not {amount.shape}")
        _require(np.isfinite(amount).all(axis=1), "demand is not a finite number")
        _require((amount >= 0).all(axis=1), "demand is negative")
        scale = scale_for(np.minimum(amount.max(axis=0, initial=0.0), LARGEST_AMOUNT), MOST)
        for name in ("job", "phase", "tenant", "remote_overhead", "gang", "value", "estimate"):
            if columns.get(name) is not None:
                columns[name] = _column(name, columns[name])
        for name in ("predecessors", "home"):
            if isinstance(columns.get(name), list):
                columns[name] = Ragged.of(columns[name])
        whole = (_column(name, column) for name, column in (("arrival", arrival), ("service", service)))
        return Jobs(next(whole), to_units(amount, scale or 0), next(whole), scale=scale, **columns)

    @property
    def amounts(self) -> Floats:
        """(n, D) demands in your unit, within integer units."""
        return np.ldexp(self.demand / UNIT, np.array(self.scale or 0))

    def scaled(self, scale: tuple[int, ...]) -> Jobs:
        """Return this table in the servers' units, doubled `scale` times."""
        if scale == self.scale:
            return self
        less = np.subtract(np.array(scale or 0), np.array(self.scale or 0))
        higher = np.minimum(self.demand, LARGEST_UNITS >> np.maximum(-less, 0)) << np.maximum(-less, 0)
        lower = np.maximum(self.demand >> np.maximum(less, 0), np.sign(self.demand))
        return replace(self, demand=np.where(less > 0, lower, higher), scale=scale)

    def with_kinds(self, names: tuple[str, ...]) -> Jobs:
        """Return this table with `names` first in KINDS."""
        kinds = names + tuple(name for name in self.device_kinds if name not in names)
        if self.devices is None or kinds == self.device_kinds:
            return self
        accepted = np.zeros(len(self), np.int64)
        for k, name in enumerate(self.device_kinds):
            accepted |= (self.devices[:, KINDS] >> k & 1) << kinds.index(name)
        return replace(self, devices=np.column_stack([self.devices[:, :KINDS], accepted]), device_kinds=kinds)

    def first(self, n: int) -> Jobs:
        """Return the first n rows, or raise InputError unless 1 <= n <= rows."""
        if not 1 <= n <= len(self):
            raise InputError(f"a table of {len(self)} rows has no first {n}")
        columns = {name: getattr(self, name) for name in COLUMNS}
        head: dict[str, Any] = {name: None if column is None else _head(column, n) for name, column in columns.items()}
        return Jobs(**head, device_kinds=self.device_kinds, scale=self.scale)

    def only(self, kept: Bools) -> Jobs:
        """Return the rows `kept` (n,). Successors of others wait for their predecessors."""
        columns = {name: getattr(self, name) for name in COLUMNS}
        chosen: dict[str, Any] = {name: column[kept] for name, column in columns.items() if isinstance(column, np.ndarray)}
        if self.home is not None:
            chosen["home"] = gather(self.home, np.flatnonzero(kept))
        if self.predecessors is not None:
            chosen["predecessors"] = passed_on(self.predecessors, kept, self.job, self.phase)
        return Jobs(**chosen, device_kinds=self.device_kinds, scale=self.scale)

    def __len__(self) -> int:
        return len(self.arrival)

    def __repr__(self) -> str:
        others = [name for name in COLUMNS if name not in ("arrival", "demand", "service") and getattr(self, name) is not None]
        if not len(self):
            return "Jobs(no task)"
        facts = [
            f"{len(self):,} tasks of {self.resources} resource{'' if self.resources == 1 else 's'}",
            f"arrivals in slots {self.arrival[0]:,} to {self.arrival[-1]:,}",
            f"services of {self.service.min():,} to {self.service.max():,} slots",
            *([f"also {', '.join(others)}"] if others else []),
        ]
        return f"Jobs({'; '.join(facts)})"

    @property
    def leads(self) -> Bools:
        """(n,) whether a row leads its gang, or has none: gangs wait once."""
        rows = np.arange(len(self))
        return np.ones(len(self), np.bool_) if self.gang is None else gang_spans(self.gang)[:, FIRST] == rows

    @property
    def resources(self) -> int:
        """D, the number of resources."""
        return int(self.demand.shape[1])

    def __post_init__(self) -> None:
        n = len(self.arrival)
        if self.demand.ndim != 2 or self.demand.shape[1] < 1:
            raise InputError(f"demand must have shape (tasks, resources), not {self.demand.shape}")
        for name in COLUMNS:
            column = getattr(self, name)
            if column is not None and _rows(column) != n:
                raise InputError(f"column {name} has {_rows(column)} rows, arrival has {n}")
        _require(self.arrival >= 0, "arrival is negative")
        _require(np.diff(self.arrival, prepend=0) >= 0, "arrives before the row above it")
        _require((self.demand >= 0).all(axis=1), "demand is negative")
        _require((self.demand > 0).any(axis=1), "all demands are 0")
        _require(self.service >= 1, "service is below 1 slot")
        _require(self.service <= LARGEST_WHOLE, "service is above 2^53")
        for name in ("job", "phase", "tenant", "remote_overhead"):
            column = getattr(self, name)
            if column is not None:
                _require(column >= 0, f"{name} is negative")
        if self.phase is not None:
            self._check_phases(self.phase)
        if self.value is not None:
            _require(np.isfinite(self.value), "value is not a finite number")
            if self.job is not None:
                self._check_values(self.job, self.value)
        if self.estimate is not None:
            _require(np.isfinite(self.estimate) & (self.estimate > 0), "estimate is not a positive number")
        if self.devices is not None:
            self._check_devices(self.devices)
        if self.predecessors is not None:
            self._check_ragged(self.predecessors, "predecessor", np.arange(n))
        if self.home is not None:
            self._check_ragged(self.home, "home server", None)
        if self.gang is not None:
            self._check_gangs(self.gang)

    def _check_gangs(self, gang: Ints) -> None:
        """Raise InputError unless gangs stand and arrive together, and wait for nothing."""
        _require(gang >= NO_GANG, "gang is negative")
        begins = np.flatnonzero(np.diff(gang, prepend=NO_GANG - 1))  # runs of equal numbers
        again = np.setdiff1d(begins[gang[begins] >= 0], first_rows(gang))
        if len(again):
            row = int(again[0])
            raise RowError(row, f"gang {gang[row]}: its other tasks do not stand in the rows just above")
        inside = (np.diff(gang, prepend=NO_GANG) == 0) & (gang >= 0)
        _require(~inside | (np.diff(self.arrival, prepend=0) == 0), "arrives later than the gang that it is in")
        if self.predecessors is not None:
            _require((gang < 0) | (np.diff(self.predecessors.offsets) == 0), "is in a gang, and waits for other tasks")
        if self.phase is not None:
            _require((gang < 0) | (self.phase == 0), "is in a gang, and in a later phase of its job")

    def _check_devices(self, devices: Ints) -> None:
        """Raise InputError for an impossible row of NUMBER, SHARE, KINDS."""
        if devices.shape != (len(self), 3):
            raise InputError(f"devices must have shape (tasks, 3), not {devices.shape}")
        if len(self.device_kinds) > MOST_KINDS:
            raise InputError(f"{len(self.device_kinds)} kinds of devices: at most {MOST_KINDS} are possible")
        number, share = devices[:, NUMBER], devices[:, SHARE]
        _require(number >= 0, "a negative number of devices")
        _require(share >= 0, "a negative share of a device")
        _require((share == 0) | (number == 1), "shares of several devices: a task has a share of one, or whole ones")
        _require(devices[:, KINDS] >> len(self.device_kinds) == 0, "a kind of device without a name")

    def _check_phases(self, phase: Ints) -> None:
        if self.job is None:
            raise InputError("column phase needs column job")
        order = np.argsort(self.job, kind="stable")
        down = (np.diff(self.job[order]) == 0) & (np.diff(phase[order]) < 0)
        if down.any():
            row = int(order[1:][down].min())
            earlier = int(order[:-1][down][np.argmin(order[1:][down])])
            behind = f"stands behind its phase {phase[earlier]} in row {earlier}"
            raise RowError(row, f"phase {phase[row]} of job {self.job[row]} {behind}")

    @staticmethod
    def _check_values(job: Ints, value: Floats) -> None:
        first = first_rows(job)
        if (value != value[first]).any():
            row = int(np.argmax(value != value[first]))
            raise RowError(row, f"value {value[row]:g} of job {job[row]} is {value[first[row]]:g} in row {first[row]}")

    def _check_ragged(self, ragged: Ragged, what: str, below: Ints | None) -> None:
        counts = np.diff(ragged.offsets)
        if ragged.offsets[0] != 0 or (counts < 0).any() or ragged.offsets[-1] != len(ragged.values):
            raise InputError(f"{what} offsets do not describe {len(ragged.values)} values")
        owner = np.repeat(np.arange(len(self)), counts)
        bad = ragged.values < 0 if below is None else (ragged.values < 0) | (ragged.values >= below[owner])
        if bad.any():
            i = int(np.argmax(bad))
            rule = "is negative" if below is None else "does not lie earlier in the table"
            raise RowError(int(owner[i]), f"{what} {ragged.values[i]} {rule}")


def gang_spans(gang: Ints) -> Ints:
    """(n, 2) FIRST and TASKS of gangs, or itself and 1."""
    rows = np.arange(len(gang))
    number = np.where(gang >= 0, gang, gang.max(initial=0) + 1 + rows)
    begins = np.flatnonzero(np.diff(number, prepend=-1))
    tasks = np.diff(begins, append=len(gang))
    return np.column_stack([np.repeat(begins, tasks), np.repeat(tasks, tasks)])


COLUMNS = tuple(field.name for field in fields(Jobs) if field.name not in ("scale", "device_kinds"))


def _column(name: str, values: Any) -> NDArray[Any]:
    """Return a column as an array, or raise InputError."""
    try:
        column = np.asarray(values)
        with np.errstate(invalid="ignore"):  # of what is refused below
            numbers = column.astype(np.float64 if name in ("value", "estimate") else np.int64, copy=False)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"column {name} must be a list of numbers") from None
    if numbers.ndim != 1:
        raise InputError(f"column {name} must have shape (tasks,), not {numbers.shape}")
    if column.dtype.kind == "f":
        _require((numbers.dtype.kind == "f") | ~(np.abs(column) > LARGEST_WHOLE), f"{name} is above 2^53")
        _require((numbers == column) | ~np.isfinite(column) & (numbers.dtype.kind == "f"), f"{name} is not a whole number")
    return numbers


def first_rows(job: Ints) -> Ints:
    """(n,) for each row the first row of its job."""
    _, first, inverse = np.unique(job, return_index=True, return_inverse=True)
    return np.asarray(first[inverse], np.int64)


def gather(lists: Ragged, rows: Ints) -> Ragged:
    """The lists of `rows`, in that order."""
    counts = np.diff(lists.offsets)[rows]
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    within = np.arange(offsets[-1]) - np.repeat(offsets[:-1], counts)
    return Ragged(offsets, lists.values[np.repeat(lists.offsets[rows], counts) + within])


def passed_on(links: Ragged, kept: Bools, job: Ints | None = None, phase: Ints | None = None, source: str = "jobs") -> Ragged:
    """Return the links among the rows `kept` (n,), renumbered.

    A row that is left out (such as a milestone of 0 s) passes its predecessors on to its successors. With `job` and `phase`,
    these include the neighbouring phases of its job. Raises InputError, naming `source`, for too many links.
    """
    n = len(kept)
    owner, before = np.repeat(np.arange(n), np.diff(links.offsets)), links.values
    if job is not None and phase is not None and not (kept[before] & kept[owner]).all():
        pairs = _through_phases(job, phase, ~kept)
        owner, before = np.concatenate([owner, pairs[0]]), np.concatenate([before, pairs[1]])
    while (lost := ~kept[before]).any():  # twice as far back each time
        order = np.argsort(owner, kind="stable")
        lists = Ragged(np.searchsorted(owner[order], np.arange(n + 1)), before[order])
        Memory(source).reserve(PER_LINK * int(np.diff(lists.offsets)[before[lost]].sum()))
        through = gather(lists, before[lost])
        owner = np.concatenate([owner[~lost], np.repeat(owner[lost], np.diff(through.offsets))])
        owner, before = np.divmod(np.unique(owner * n + np.concatenate([before[~lost], through.values])), n)
    place = np.cumsum(kept) - 1
    counts = np.bincount(owner, minlength=n)[kept]
    return Ragged(np.concatenate([[0], np.cumsum(counts)]).astype(np.int64), place[before[kept[owner]]])


def _through_phases(job: Ints, phase: Ints, lost: Bools) -> tuple[Ints, Ints]:
    """Return links from and to `lost` rows through phases."""
    order = np.lexsort((phase, job))
    stage = np.zeros(len(job), np.int64)  # of each row; stages that follow each other in a job have numbers that do
    new = np.diff(job[order], prepend=-1).astype(bool)
    stage[order] = np.cumsum(new | np.diff(phase[order], prepend=-1).astype(bool)) + np.cumsum(new)  # a number apart: other jobs
    by_stage = np.argsort(stage, kind="stable")
    pairs = []
    for row in np.flatnonzero(lost).tolist():
        low, middle, high, end = np.searchsorted(stage[by_stage], stage[row] + np.arange(-1, 3))
        earlier, later = by_stage[low:middle], by_stage[high:end]
        pairs += [(np.full(len(earlier), row), earlier), (later, np.full(len(later), row))]
    return np.concatenate([pair[0] for pair in pairs]), np.concatenate([pair[1] for pair in pairs])


def _head(column: Any, n: int) -> Any:
    if isinstance(column, Ragged):
        return Ragged(column.offsets[: n + 1], column.values[: column.offsets[n]])
    return column[:n]


def _rows(column: NDArray[Any] | Ragged) -> int:
    return len(column.offsets) - 1 if isinstance(column, Ragged) else len(column)


def _require(good: Any, problem: str) -> None:
    if not np.all(good):
        raise RowError(int(np.argmin(good)), problem)
