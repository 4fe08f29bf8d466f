"""The servers of a cluster: the capacity of each in each resource."""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from packenv.errors import InputError
from packenv.inputs.json_files import read_json
from packenv.inputs.memory import Memory
from packenv.inputs.numbers import is_number, quantity_of, read_number, read_whole, shown
from packenv.inputs.text_files import lines_of, reading
from packenv.units import LARGEST_AMOUNT, scale_for, to_units

KIND = re.compile(r"([0-9]+)x([^x,]+)|([^x,:]+:[^x,]+)")  # 3x32:128, or 32:128, which is one
MOST_SERVERS = 1_000_000
PER_SERVER = 500  # bytes of memory for a capacity in a file


@dataclass(frozen=True, eq=False)
class Servers:
    """Capacities (L, D) of L servers in D resources, in units of capacity; a list (L,) is one resource.

    Raises InputError unless every capacity is finite, at least 0 and at most LARGEST_AMOUNT, and every server has a
    positive capacity in some resource.
    """

    capacity: NDArray[np.float64]

    def __post_init__(self) -> None:
        try:
            capacity = np.array(self.capacity, np.float64)
        except (TypeError, ValueError, OverflowError):
            raise InputError("servers: capacities must be numbers, as many for each server") from None
        capacity = capacity[:, None] if capacity.ndim == 1 else capacity
        if capacity.ndim != 2 or 0 in capacity.shape:
            raise InputError(f"servers: capacities must have shape (servers, resources), not {capacity.shape}")
        _require(np.isfinite(capacity) & (capacity >= 0), capacity, "must be at least 0 and finite")
        _require(capacity <= LARGEST_AMOUNT, capacity, "must be at most 2^50")
        if (empty := ~(capacity > 0).any(axis=1)).any():
            raise InputError(f"server {int(np.argmax(empty))}: has no capacity at all")
        capacity.flags.writeable = False
        object.__setattr__(self, "capacity", capacity)

    def __len__(self) -> int:
        return len(self.capacity)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Servers) and np.array_equal(self.capacity, other.capacity)

    def __hash__(self) -> int:
        return hash((self.capacity.shape, self.capacity.tobytes()))

    def __str__(self) -> str:
        """The text that `parse_servers` reads, such as "3x1:0.5,2x2:1"."""
        runs = ((row, sum(1 for _ in run)) for row, run in groupby(self.capacity.tolist()))
        return ",".join(f"{count}x{':'.join(str(amount).removesuffix('.0') for amount in row)}" for row, count in runs)

    def __repr__(self) -> str:
        return f"parse_servers({str(self)!r})"

    @property
    def D(self) -> int:
        """Number of resources."""
        return int(self.capacity.shape[1])

    @cached_property
    def scale(self) -> tuple[int, ...]:
        """(D,) how often the unit of each resource is doubled, so that integers hold the largest server; () for never."""
        return scale_for(self.capacity.max(axis=0))

    @cached_property
    def units(self) -> NDArray[np.int64]:
        """(L, D) capacities in integer units (packenv.units.UNIT), scaled."""
        return to_units(self.capacity, self.scale or 0)

    @property
    def size_unit(self) -> float:
        """The amount, in the user's unit, that a scalar size of UNIT units stands for: 1, unless resources are scaled."""
        if not self.scale:
            return 1.0
        return float(self.capacity.max() / np.ldexp(self.capacity, -np.array(self.scale)).max())

    @property
    def largest(self) -> NDArray[np.int64]:
        """(D,) units: the largest capacity in each resource, which scalar sizes are relative to."""
        return np.asarray(self.units.max(axis=0))

    @cached_property
    def kinds(self) -> NDArray[np.int64]:
        """(kinds, D) units: the distinct capacity vectors, in increasing order."""
        return np.asarray(np.unique(self.units, axis=0))


def as_servers(servers: int | str | ArrayLike | Servers, resources: int = 1, names: tuple[str, ...] | None = None) -> Servers:
    """Servers from their number (of capacity 1 in each of `resources`), a text (`parse_servers`), or capacities (L,) or (L, D).

    `names`: the resources to read from a file of machines. Raises InputError.
    """
    if isinstance(servers, Servers):
        return servers
    if isinstance(servers, str):
        return parse_servers(servers, resources, names)
    if servers is None or isinstance(servers, (bool, float)):
        raise InputError(f"servers must be a number of servers, capacities or a text such as 3x1,2x0.5, not {servers!r}")
    if isinstance(servers, (int, np.integer)):
        if servers < 1:
            raise InputError(f"servers: at least 1 is needed, not {servers}")
        _check_count(int(servers))
        return Servers(np.ones((int(servers), resources)))
    return Servers(servers)  # type: ignore[arg-type]


def parse_servers(text: str, resources: int = 1, names: tuple[str, ...] | None = None) -> Servers:
    """Servers from `5` (of capacity 1), `3x1,2x0.5`, `3x1:0.5` (3 of capacity 1 and 0.5 in two resources), `1:0.5` (one), a file.

    Capacities may be quantities of Kubernetes, too: `3x32:128Gi`.

    A file is JSON (a list with one number or one list per server), CSV (one row per server, with or without a header), or
    the machines of a published trace (packenv.workloads.traces.machines), of which the resources `names` are taken.
    Raises InputError.
    """
    text = text.strip()
    kinds = [KIND.fullmatch(part.strip()) for part in text.split(",")]
    try:
        if text.isdigit():
            return as_servers(read_whole(text), resources)
        if all(kinds) and not Path(text).exists():
            counts = [read_whole(kind[1] or "1") for kind in kinds if kind]
            _check_count(sum(counts))
            return Servers([row for kind, count in zip(kinds, counts, strict=True) if kind for row in _rows(kind, count)])  # type: ignore[arg-type]
        if text and Path(text).exists():
            return Servers(_read(Path(text), names))
    except InputError as problem:
        message = str(problem).removeprefix("servers: ")
        raise InputError(message if text in message else f"servers {text!r}: {message}") from None
    raise InputError(f"servers {text!r}: neither a file nor of the form 5, 3x1,2x0.5 or 3x1:0.5")


def _rows(kind: re.Match[str], count: int) -> list[list[float]]:
    if count < 1:
        raise InputError(f"{kind[0]!r} has no server")
    return [[_amount(part) for part in (kind[2] or kind[3]).split(":")]] * count


def _amount(text: str) -> float:
    """A capacity: a number, or a quantity such as 128Gi. Raises InputError."""
    quantity = quantity_of(text.strip())
    if quantity is None and not is_number(text):
        raise InputError(f"{shown(text)} is not a number, nor an amount such as 500m, 8Gi or 8GB")
    return read_number(text) if is_number(text) else float(quantity or 0)


def _read(file: Path, names: tuple[str, ...] | None) -> Any:
    if file.suffix.lower() == ".json":
        rows = read_json(file)
        rows = rows.get("capacity") if isinstance(rows, dict) else rows
        if not isinstance(rows, list):
            raise InputError("expected a list with one row per server")
        return rows
    from packenv.workloads.traces.machines import initial_capacities, is_machines  # loads pyarrow

    if is_machines(file):
        return initial_capacities(file, names)
    if not file.is_file():
        raise InputError("a folder without machine_events")
    memory = Memory(file)
    table = []
    with reading(file):
        for row in csv.reader(lines_of(file)):
            memory.take(PER_SERVER * len(row))
            table += [row] if row else []
    if table and not is_number(table[0][0]):
        table = table[1:]
    _check_count(len(table))
    return [[_amount(cell) for cell in row] for row in table]


def _check_count(servers: int) -> None:
    if servers > MOST_SERVERS:
        raise InputError(f"servers: {servers:,} are too many; a cluster has at most {MOST_SERVERS:,}")


def _require(good: NDArray[np.bool_], capacity: NDArray[np.float64], rule: str) -> None:
    if not good.all():
        server, resource = (int(i) for i in np.argwhere(~good)[0])
        raise InputError(f"server {server}: capacity {capacity[server, resource]:g} {rule}")
