"""Data locality: racks of servers, and a network of varying speed."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from packenv.errors import InputError, RowError
from packenv.inputs.numbers import read_number
from packenv.jobs import Jobs
from packenv.units import to_units

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

NODE, RACK, ANY = 0, 1, 2
"""Distance of a task from its data: on a server with them, in the rack of one, or elsewhere."""


@dataclass(frozen=True)
class Network:
    """Cost of running a task away from its data.

    racks      the number of consecutive servers in a rack (0: there are no racks), or the rack of each server
    same_rack  the share for a server in the rack of one of the task's home servers; it is 0 at home, and 1 elsewhere
    factor     steps (seconds, factor) in order of time, each valid until the next one; 1 before the first step
    reading    (D,) additional units of capacity that a task away from its data takes on its own server while in service, such as
               network in; empty: none
    serving    (D,) units of capacity that it takes meanwhile on the server that it reads from, such as disk and network out
               (Grandl et al., SIGCOMM 2014; packenv.cluster.locality chooses that server)

    A task stays round(remote_overhead · factor · share) slots longer than its service, with the factor of its start slot. A task
    without home servers is at home everywhere. Raises InputError for values out of range.
    """

    racks: int | tuple[int, ...] = 0
    same_rack: float = 0.5
    factor: tuple[tuple[float, float], ...] = ()
    reading: tuple[float, ...] = ()
    serving: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.racks, int):
            object.__setattr__(self, "racks", tuple(int(rack) for rack in self.racks))
        object.__setattr__(self, "factor", tuple((float(seconds), float(factor)) for seconds, factor in self.factor))
        for name in ("reading", "serving"):
            amounts = tuple(float(amount) for amount in getattr(self, name))
            object.__setattr__(self, name, amounts)
            if not all(0 <= amount < math.inf for amount in amounts):
                raise InputError(f"network: {name} must be amounts >= 0, not {':'.join(f'{amount:g}' for amount in amounts)}")
        least = self.racks if isinstance(self.racks, int) else min(self.racks, default=0)
        if least < 0:
            raise InputError(f"network: racks must not be negative, not {least}")
        if not 0 <= self.same_rack <= 1:
            raise InputError(f"network: same_rack must lie between 0 and 1, not {self.same_rack}")
        for seconds, factor in self.factor:
            if not (0 <= seconds < math.inf and 0 <= factor < math.inf):
                raise InputError(f"network: needs times and factors >= 0, not {seconds:g}:{factor:g}")
        for (early, _), (late, _) in pairwise(self.factor):
            if early >= late:
                raise InputError(f"network: {late:g} s does not come after {early:g} s")

    @property
    def has_racks(self) -> bool:
        """Whether some servers share a rack."""
        return self.racks != 0

    @property
    def takes_resources(self) -> bool:
        """Whether reading over the network takes resources."""
        return any(self.reading) or any(self.serving)

    def units(self, resources: int) -> tuple[Ints, Ints]:
        """Return (D,) units of `reading` and `serving`, for D > 1 only."""
        units = []
        for name in ("reading", "serving"):
            amounts = getattr(self, name) or (0.0,) * resources
            if len(amounts) != resources or resources < 2:
                needed = f"{resources} amounts, one for each resource" if resources > 1 else "several resources"
                raise InputError(f"network: {name} needs {needed}")
            units.append(to_units(np.array(amounts)))
        return units[0], units[1]

    def rack_of(self, servers: int) -> Ints:
        """Return the rack of each server, by default its own.

        Raises InputError if the racks were given for another number of servers.
        """
        if isinstance(self.racks, int):
            return np.arange(servers) // max(self.racks, 1)
        if len(self.racks) != servers:
            raise InputError(f"network: racks of {len(self.racks)} servers, and there are {servers}")
        return np.array(self.racks, np.int64)

    def steps(self, slot_seconds: float) -> tuple[Ints, Floats]:
        """Return the slots of changes, from 0, and the factors."""
        steps = [(0.0, 1.0), *self.factor]
        slots = [math.ceil(round(seconds / slot_seconds, 6)) for seconds, _ in steps]
        return np.array(slots, np.int64), np.array([factor for _, factor in steps])


def check_homes(jobs: Jobs, servers: int) -> None:
    """Raise InputError for the first task with an unknown home server."""
    if jobs.home is not None and (bad := jobs.home.values >= servers).any():
        value = int(np.argmax(bad))
        row = int(np.searchsorted(jobs.home.offsets, value, side="right")) - 1
        raise RowError(row, f"home server {jobs.home.values[value]} does not exist, there are {servers}")


def check_reads(jobs: Jobs, network: Network, capacity: Ints) -> None:
    """Raise InputError unless every reading task fits a home server.

    Elsewhere there may never be room to read. `capacity` (L, D) is in units.
    """
    network.units(jobs.resources)
    if jobs.home is None:
        raise InputError("network: reading and serving need a table with a column home, the servers that hold the data")
    row = np.repeat(np.arange(len(jobs)), np.diff(jobs.home.offsets))
    fits = (jobs.demand[row] <= capacity[jobs.home.values]).all(axis=1)
    stuck = (np.diff(jobs.home.offsets) > 0) & (np.bincount(row, fits, len(jobs)) == 0)
    if stuck.any():
        raise RowError(int(np.argmax(stuck)), "fits on none of its home servers")


class Locality(NamedTuple):
    """Data locality of each row for compiled code, possibly empty."""

    home_of: Ints  # (n + 1,) row i has home servers home[home_of[i] : home_of[i + 1]]; (1,) if no row has any
    home: NDArray[np.int32]
    overhead: Ints  # (n,) slots away from home, at factor 1
    rack: NDArray[np.int32]  # (L,)
    since: Ints  # (steps,) slot at which each factor begins
    factor: Floats  # (steps,)
    same_rack: Floats  # (1,)
    reading: Ints  # (D,) units that a remote read takes on the reader; (0,) if remote reads take nothing
    serving: Ints  # (D,) units that it takes on the server from which it reads


NOWHERE = Locality(
    home_of=np.zeros(1, np.int64),
    home=np.zeros(0, np.int32),
    overhead=np.zeros(0, np.int64),
    rack=np.zeros(0, np.int32),
    since=np.zeros(1, np.int64),
    factor=np.ones(1),
    same_rack=np.ones(1),
    reading=np.zeros(0, np.int64),
    serving=np.zeros(0, np.int64),
)
"""For tables without home servers, and for random tasks."""


def locality(jobs: Jobs, network: Network, servers: int, slot_seconds: float) -> Locality:
    """Return the arrays of a table whose home servers exist (`check_homes`)."""
    if jobs.home is None:
        return NOWHERE
    since, factor = network.steps(slot_seconds)
    nothing = np.zeros(0, np.int64)
    reading, serving = network.units(jobs.resources) if network.takes_resources else (nothing, nothing)
    return Locality(
        home_of=jobs.home.offsets.astype(np.int64),
        home=jobs.home.values.astype(np.int32),
        overhead=np.zeros(len(jobs), np.int64) if jobs.remote_overhead is None else np.ascontiguousarray(jobs.remote_overhead),
        rack=network.rack_of(servers).astype(np.int32),
        since=since,
        factor=factor,
        same_rack=np.array([float(network.same_rack)]),
        reading=reading,
        serving=serving,
    )


def parse_network(racks: int | None, steps: str | None, reading: str | None = None, serving: str | None = None) -> Network | None:
    """Return the network of command-line options, None without any.

    `racks` is servers per rack, `steps` are seconds:factor, such as `0:1,600:4`. `reading` and `serving` are amounts of each
    resource, such as `0:0.1`. Raises InputError.
    """
    if all(option is None for option in (racks, steps, reading, serving)):
        return None
    return Network(
        racks=racks or 0,
        factor=tuple(_steps(steps.split(","))) if steps else (),
        reading=_amounts("reading", reading),
        serving=_amounts("serving", serving),
    )


def _amounts(name: str, text: str | None) -> tuple[float, ...]:
    try:
        return tuple(float(amount) for amount in text.split(":")) if text else ()
    except ValueError:
        raise InputError(f"network: {name} is an amount of each resource, such as 0:0.1, not {text!r}") from None


def _steps(parts: Iterable[str]) -> Iterable[tuple[float, float]]:
    for part in parts:
        seconds, _, factor = part.partition(":")
        try:
            yield read_number(seconds), read_number(factor)
        except InputError:
            raise InputError(f"network: steps are seconds:factor, such as 0:1,600:4, not {part!r}") from None
