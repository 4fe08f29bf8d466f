"""Servers of a cluster: the capacity of each in each resource."""

from __future__ import annotations

import os
import re
from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from packenv.content.text import number
from packenv.errors import ArgumentError, InputError
from packenv.inputs.json_files import read_json
from packenv.inputs.numbers import excerpt, is_number, quantity_of, read_number, read_whole, with_points
from packenv.jobs import HOW_MANY, MILLI, MODEL, MOST_DEVICES, NO_MODEL, UNKNOWN, WHOLE
from packenv.units import LARGEST_AMOUNT, UNIT, scale_for, to_units

KIND = re.compile(r"(?:([0-9]+)x|(?=[^x,@]*:))([^x,@]+)(?:@(?:([0-9]+)\*)?([^,@*/]*)(?:/([0-9]+))?)?")
"""Kind of servers, such as 3x32:128, 3x96:384:8@A10, or 32:128 (one server)."""
MOST_SERVERS = 1_000_000
GI = 2**30
COUNTS = ("count", "number", "quantity", "servers", "nodes", "machines")  # headings of a column of counts
FORM_OF_LIST = "a list of servers has a row for each: its name, if it has one, and a capacity of each resource (node,cpu,memory)"
HEADINGS = {
    "cpu": r"cpu|(?<![a-z])v?cores?(?![a-z])|processors?",
    "memory": r"memory|(?<![a-z])(mem|ram|[kmgt]i?b)(?![a-z])",
    "gpu": r"gpu",
}
"""Common headings of resources, in lower case."""


@dataclass(frozen=True, eq=False)
class Servers:
    """Capacities (L, D) of servers, in units of capacity.

    A list (L,) is one resource.

    devices       (L, 3) the devices of each server, such as GPUs: HOW_MANY, WHOLE (the capacity of each), MODEL (index into
                  `device_kinds`, or -1). Their sum is also a resource. None: resources are amounts alone
    device_kinds  names of the models
    names         (L,) names in the list of servers; () without names
    left_out      machines of that list that are no servers: reasons and counts

    Raises InputError unless every capacity is finite, at least 0 and at most LARGEST_AMOUNT, and every server has a
    positive capacity in some resource.
    """

    capacity: NDArray[np.float64]
    devices: NDArray[np.int64] | None = None
    device_kinds: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    left_out: tuple[tuple[str, int], ...] = ()

    def __post_init__(self) -> None:
        try:
            capacity = np.array(self.capacity, np.float64)
        except (TypeError, ValueError, OverflowError):
            raise InputError("servers: capacities must be numbers, equally many for each server") from None
        capacity = capacity[:, None] if capacity.ndim == 1 else capacity
        if capacity.ndim != 2 or 0 in capacity.shape:
            raise InputError(f"servers: capacities must have shape (servers, resources), not {capacity.shape}")
        _require(np.isfinite(capacity) & (capacity >= 0), capacity, "must be at least 0 and finite")
        _require(capacity <= LARGEST_AMOUNT, capacity, "must be at most 2^50")
        if (empty := ~(capacity > 0).any(axis=1)).any():
            raise InputError(f"server {int(np.argmax(empty))}: has no capacity at all")
        if self.names and len(self.names) != len(capacity):
            raise InputError(f"servers: {len(self.names)} names for {len(capacity)} servers")
        capacity.flags.writeable = False
        object.__setattr__(self, "capacity", capacity)
        if self.devices is not None:
            object.__setattr__(self, "devices", _checked(np.array(self.devices, np.int64), len(capacity), len(self.device_kinds)))

    def __len__(self) -> int:
        return len(self.capacity)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Servers) or self.device_kinds != other.device_kinds:
            return False
        if self.devices is None or other.devices is None:
            return self.devices is other.devices and np.array_equal(self.capacity, other.capacity)
        return np.array_equal(self.capacity, other.capacity) and np.array_equal(self.devices, other.devices)

    def __hash__(self) -> int:
        return hash((self.capacity.shape, self.capacity.tobytes()))

    def __str__(self) -> str:
        """Return the text for `parse_servers`: "3x1:0.5,2x2:1", with devices "2x96:384:8@8*A10"."""
        rows = (":".join(map(amount_text, row)) for row in self.capacity.tolist())
        kinds = [row + devices for row, devices in zip(rows, self._devices_as_text(), strict=True)]
        return ",".join(f"{sum(1 for _ in run)}x{kind}" for kind, run in groupby(kinds))

    def _devices_as_text(self) -> list[str]:
        """Return (L,) texts behind the capacities of each server."""
        if self.devices is None:
            return [""] * len(self)
        names = [*self.device_kinds, ""]  # NO_MODEL is the last
        return [
            f"@{'' if number == UNKNOWN else f'{number}*'}{names[model]}{'' if full == MILLI else f'/{full}'}"
            for number, full, model in self.devices.tolist()
        ]

    def __repr__(self) -> str:
        return f"parse_servers({str(self)!r})"

    @property
    def D(self) -> int:
        """Number of resources."""
        return int(self.capacity.shape[1])

    @cached_property
    def scale(self) -> tuple[int, ...]:
        """(D,) doublings of units until integers suffice, () for none."""
        return scale_for(self.capacity.max(axis=0))

    @cached_property
    def units(self) -> NDArray[np.int64]:
        """(L, D) capacities in integer units (packenv.units.UNIT), scaled."""
        return to_units(self.capacity, self.scale or 0)

    @property
    def size_unit(self) -> float:
        """Meaning of a scalar size of UNIT units.

        With one resource it is an amount in the user's unit, otherwise a share of the largest server.
        """
        if self.D > 1:
            return UNIT / int(self.units.max())
        return float(2 ** self.scale[0]) if self.scale else 1.0

    @property
    def largest(self) -> NDArray[np.int64]:
        """(D,) units: largest capacity in each resource, basis of scalar sizes."""
        return np.asarray(self.units.max(axis=0))

    @cached_property
    def kinds(self) -> NDArray[np.int64]:
        """(kinds, D) units: the distinct capacity vectors, in increasing order."""
        return np.asarray(np.unique(self.units, axis=0))

    @cached_property
    def examples(self) -> NDArray[np.int64]:
        """(kinds,) one server of each capacity vector, device kind and number."""
        rows = self.units if self.devices is None else np.column_stack([self.units, self.devices])
        return np.asarray(np.unique(rows, axis=0, return_index=True)[1])

    def only(self, servers: ArrayLike) -> Servers:
        """Return the servers with these indices, in order, perhaps repeated."""
        chosen = np.asarray(servers, np.int64)
        names = tuple(self.names[n] for n in chosen.tolist()) if self.names else ()
        devices = None if self.devices is None else self.devices[chosen]
        return replace(self, capacity=self.capacity[chosen], devices=devices, names=names)

    def and_kind(self, text: str) -> Servers:
        """Append one server of a kind such as `64:256`, or raise ArgumentError."""
        kind = parse_servers(text if KIND.fullmatch(text.strip()) else f"1x{text}", self.D)
        if len(kind) > 1:
            raise ArgumentError(f"`add` {text}: leave out the number, which is the answer: {str(kind).partition('x')[2]}")
        if kind.D != self.D:
            example = str(self.only([0])).partition("x")[2]
            raise ArgumentError(f"`add` {text}: of each resource a server has a capacity, such as {example}")
        # Merge the names of device kinds, and renumber the models.
        names = (*self.device_kinds, *kind.device_kinds)
        if self.devices is None and kind.devices is None:
            return Servers(np.concatenate([self.capacity, kind.capacity]), left_out=self.left_out)
        distinct = tuple(dict.fromkeys(names))
        index = np.array([*(distinct.index(name) for name in names), NO_MODEL])  # NO_MODEL is the last
        rows = []
        for servers, first in ((self, 0), (kind, len(self.device_kinds))):
            devices = (
                np.tile([UNKNOWN, MILLI, NO_MODEL], (len(servers), 1)) if servers.devices is None else servers.devices.copy()
            )
            devices[:, MODEL] = index[np.where(devices[:, MODEL] == NO_MODEL, NO_MODEL, devices[:, MODEL] + first)]
            rows.append(devices)
        return Servers(np.concatenate([self.capacity, kind.capacity]), np.concatenate(rows), distinct, left_out=self.left_out)

    def with_devices_of(self, resource: int, per_unit: float) -> Servers:
        """Add `per_unit` devices per unit of a resource, unless given.

        Raises InputError for fractions.
        """
        amount = self.capacity[:, resource] * per_unit
        number = np.rint(amount).astype(np.int64)
        devices = np.tile([UNKNOWN, MILLI, NO_MODEL], (len(self), 1)) if self.devices is None else self.devices.copy()
        unknown = devices[:, HOW_MANY] == UNKNOWN
        for server in np.flatnonzero(unknown & (np.abs(amount - number) > 1e-6))[:1].tolist():
            raise InputError(f"server {server}: {amount[server]:g} devices is not a whole number")
        devices[unknown, HOW_MANY] = number[unknown]
        return replace(self, devices=devices)


class WithKind(NamedTuple):
    """A trace's servers, None for its own, and a kind to add."""

    servers: Any
    kind: str


def as_servers(
    servers: int | str | ArrayLike | Servers,
    resources: int = 1,
    names: tuple[str, ...] | None = None,
    partitions: Collection[str] = (),
) -> Servers:
    """Return servers from a number, text or capacities (L, D).

    A number of servers have capacity 1 in each of `resources`. `names` and `partitions` are those of `parse_servers`. Raises
    InputError.
    """
    if isinstance(servers, Servers):
        return servers
    if isinstance(servers, str):
        return parse_servers(servers, resources, names, partitions)
    if servers is None or isinstance(servers, (bool, float)):
        raise InputError(f"servers must be a number of servers, capacities or a text such as 3x1,2x0.5, not {servers!r}")
    if isinstance(servers, (int, np.integer)):
        if servers < 1:
            raise InputError(f"servers: at least 1 is needed, not {servers}")
        _check_count(int(servers))
        return Servers(np.ones((int(servers), resources)))
    return Servers(servers)  # type: ignore[arg-type]


def parse_servers(
    text: str, resources: int = 1, names: tuple[str, ...] | None = None, partitions: Collection[str] = ()
) -> Servers:
    """Return servers from a text, or from a file.

    `5` is five servers of capacity 1, `3x1,2x0.5` two kinds, `3x1:0.5` three with two resources, `1:0.5` one server. Capacities
    may be Kubernetes quantities: `3x32:128Gi`. The kind of devices may follow: `3x96:384:8@A10`.

    A file is JSON (a list with one number or one list per server), CSV (one row per server, with or without a header), or the
    machines of a published trace (packenv.workloads.traces.machines). `names` are the resources to take from machines,
    `partitions` those of Slurm nodes, if the list names them, () for all. Raises InputError.
    """
    text = text.strip()
    kinds = [KIND.fullmatch(part.strip()) for part in text.split(",")]
    is_path = os.path.exists(text)  # noqa: PTH110  # pathlib's raises OSError for a text that is longer than a path may be
    try:
        if text.isdigit():
            return as_servers(read_whole(text), resources)
        if all(kinds) and not is_path:
            counts = [read_whole(kind[1] or "1") for kind in kinds if kind]
            _check_count(sum(counts))
            return _of_kinds([kind for kind in kinds if kind], counts)
        if is_path:
            return Servers(*_read(Path(text), names, partitions))
    except InputError as problem:
        message = str(problem).removeprefix("servers: ")
        raise InputError(message if text in message else f"servers {text!r}: {message}") from None
    raise InputError(f"servers {text!r}: neither a file nor of the form 5, 3x1,2x0.5 or 3x1:0.5")


def _of_kinds(kinds: list[re.Match[str]], counts: list[int]) -> Servers:
    for kind, count in zip(kinds, counts, strict=True):
        if count < 1:
            raise InputError(f"{kind[0]!r} has no server")
    capacity: Any = [row for kind, count in zip(kinds, counts, strict=True) for row in [_amounts(kind)] * count]
    if all(kind[4] is None for kind in kinds):
        return Servers(capacity)
    names = [*dict.fromkeys(kind[4].strip() for kind in kinds if (kind[4] or "").strip())]
    devices = [
        [
            UNKNOWN if kind[3] is None else read_whole(kind[3]),
            MILLI if kind[5] is None else read_whole(kind[5]),
            names.index(kind[4].strip()) if (kind[4] or "").strip() else NO_MODEL,
        ]
        for kind in kinds
    ]
    return Servers(capacity, np.repeat(devices, counts, axis=0), tuple(names))


def _amounts(kind: re.Match[str]) -> list[float]:
    return [_amount(part) for part in kind[2].split(":")]


def amount_text(amount: float) -> str:
    """Format an amount for `--servers`, whole GiB as Gi."""
    return f"{amount / GI:.0f}Gi" if amount >= GI and amount % GI == 0 else f"{amount:.17g}"


def in_gib(amount: float) -> str:
    """Format bytes, at least a GiB, in GiB for people."""
    return f"{number(amount / GI)}Gi"


def _checked(devices: NDArray[np.int64], servers: int, kinds: int) -> NDArray[np.int64]:
    if devices.shape != (servers, 3):
        raise InputError(f"servers: devices must have shape (servers, 3), not {devices.shape}")
    for rule, good in (
        (f"at most {MOST_DEVICES} devices", (devices[:, HOW_MANY] >= UNKNOWN) & (devices[:, HOW_MANY] <= MOST_DEVICES)),
        ("devices of a capacity of at least 1", devices[:, WHOLE] >= 1),
        ("devices of a kind with a name", (devices[:, MODEL] >= NO_MODEL) & (devices[:, MODEL] < kinds)),
    ):
        if not good.all():
            server = int(np.argmin(good))
            raise InputError(f"server {server}: a server has {rule}, not {devices[server].tolist()}")
    devices.flags.writeable = False
    return devices


def _amount(text: str) -> float:
    """Read a capacity: a number, or a quantity such as 128Gi."""
    quantity = quantity_of(text.strip())
    if quantity is None and not is_number(text):
        raise InputError(f"{excerpt(text)} is not a number, nor an amount such as 500m, 8Gi or 8GB")
    return read_number(text) if is_number(text) else float(quantity or 0)


def _read(file: Path, names: tuple[str, ...] | None, partitions: Collection[str]) -> tuple[Any, ...]:
    if file.suffix.lower() == ".json":
        rows = read_json(file)
        if isinstance(rows, dict) and "items" in rows:
            raise InputError("is a list of kubectl: give it to packenv.Scheduler.of, which reads nodes and pods")
        rows = rows.get("capacity") if isinstance(rows, dict) else rows
        if not isinstance(rows, list):
            raise InputError("expected a list with one row per server")
        return (rows,)
    from packenv.workloads.traces.machines import is_machines, machines  # loads pyarrow

    if is_machines(file):
        return machines(file, names, partitions)
    if not file.is_file():
        raise InputError("a folder without machine_events")
    from packenv.workloads.traces.columns import reading_table
    from packenv.workloads.traces.delimited import rows_of

    with reading_table(file):
        table = rows_of(file)
    # A header has no amounts; the first column may hold names.
    header = table.pop(0) if table and not any(map(_is_amount, table[0])) else []
    _check_count(len(table))
    labels = [row[0] for row in table]
    named = bool(table) and not any(map(_is_amount, labels))
    counts = [cell for cell in header[int(named) :] if cell.lower() in COUNTS and cell not in (names or ())]
    if counts:
        raise InputError(f"column {counts[0]!r}: a list has a row for each server, not one for several; {FORM_OF_LIST}")
    # Choose and read the columns of amounts.
    columns = [*range(int(named), len(table[0]))] if table else []
    if header and names is not None:
        columns = _of_resources(header, names, columns)
    cells = [_capacities([row[column] for row in table], 1 + bool(header)) for column in columns]
    distinct = tuple(labels) if named and len({*labels}) == len(labels) else ()
    return [*zip(*cells, strict=True)], None, (), distinct


def _of_resources(header: list[str], names: tuple[str, ...], amounts: list[int]) -> list[int]:
    """Find each resource's column, by name or words like cores."""
    headings, known = [heading.lower() for heading in header], []
    for name in names:
        pattern = HEADINGS.get(name, re.escape(name))
        alike = [n for n in amounts if re.search(pattern, headings[n])]
        known.append([headings.index(name.lower())] if name.lower() in headings else alike)
    if all(len(columns) == 1 for columns in known) and len({columns[0] for columns in known}) == len(names):
        return [column for (column,) in known]
    if len(names) == len(amounts) == 1 or (not any(known) and not {*names} & {*HEADINGS} and len(names) == len(amounts)):
        return amounts
    unknown = next(name for name, columns in zip(names, known, strict=True) if len(columns) != 1)
    several = "no column" if not known[names.index(unknown)] else "several columns"
    raise InputError(f"{several} of {', '.join(header)} for {unknown}: name the columns as in the tasks, {', '.join(names)}")


def _capacities(cells: list[str], line: int) -> list[float]:
    """Read a column of amounts, whose first cell stands in `line`."""
    points = with_points(cells)
    capacities = []
    for at, cell in enumerate(cells, line):
        try:
            capacities.append(_amount(points.get(cell, cell)))
        except InputError as problem:
            raise InputError(f"line {at}: {problem}; {FORM_OF_LIST}") from None
    return capacities


def _is_amount(text: str) -> bool:
    point = text.replace(",", ".")
    return is_number(point) or quantity_of(point.strip()) is not None


def _check_count(servers: int) -> None:
    if servers > MOST_SERVERS:
        raise InputError(f"servers: {servers:,} are too many; a cluster has at most {MOST_SERVERS:,}")


def _require(good: NDArray[np.bool_], capacity: NDArray[np.float64], rule: str) -> None:
    if not good.all():
        server, resource = (int(i) for i in np.argwhere(~good)[0])
        raise InputError(f"server {server}: capacity {capacity[server, resource]:g} {rule}")
