"""Kinds of machines with their costs, and mixes of them."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from packenv.errors import InputError
from packenv.inputs.numbers import exact
from packenv.jobs import Ints, Jobs
from packenv.units import to_units
from packenv.workloads.demand import Sizes, fits_on, largest_demands, per_resource
from packenv.workloads.gangs import MOST_OF_A_GANG, many_of_the_last
from packenv.workloads.laws.joint import Joint
from packenv.workloads.servers import MOST_SERVERS, Servers
from packenv.workloads.workload import Workload

MOST_KINDS = 64
FORM = "CAPACITY=COST, such as 1=0.50,2=0.95 or, of two resources, 1:0.5=0.95"


@dataclass(frozen=True)
class Kinds:
    """Kinds of machines: capacities as given, and costs.

    texts  (G,) capacities
    cost   (G,) of one machine
    """

    texts: tuple[str, ...]
    cost: tuple[Fraction, ...]

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def one_of_each(self) -> str:
        """One server of each kind, as text for `parse_servers`."""
        return ",".join(f"1x{text}" for text in self.texts)

    def total(self, counts: tuple[int, ...]) -> Fraction:
        return sum((n * price for n, price in zip(counts, self.cost, strict=True)), Fraction(0))

    def as_servers(self, counts: tuple[int, ...]) -> str:
        """Return a mix as the text of `--servers`: `3x1,2x0.5`."""
        return ",".join(f"{n}x{text}" for n, text in zip(counts, self.texts, strict=True) if n) or "none"


def parse_kinds(text: str) -> Kinds:
    """Read kinds of machines from CAPACITY=COST,… Raises InputError."""
    texts: list[str] = []
    costs: list[Fraction] = []
    for part in text.split(","):
        capacity, equals, cost = (piece.strip() for piece in part.partition("="))
        if not (capacity and equals and cost):
            raise InputError(f"--types {part.strip()!r}: not of the form {FORM}")
        if capacity in texts:
            raise InputError(f"--types: {capacity} is given twice")
        texts.append(capacity)
        costs.append(exact(cost, f"the cost of {capacity}"))
    if len(texts) > MOST_KINDS:
        raise InputError(f"--types: {len(texts)} types of servers are too many; at most {MOST_KINDS}")
    return Kinds(tuple(texts), tuple(costs))


def check_kinds(kinds: Kinds, workload: Workload) -> None:
    """Raise InputError for gangs, and for kinds without a fitting task."""
    if workload.has_gangs:
        raise InputError(
            "mixes of kinds of machines are not planned for gangs; --one-by-one (gangs=False) lets their tasks start alone"
        )
    for text, fit in zip(kinds.texts, fits_somewhere(workload), strict=True):
        if not fit:
            raise InputError(f"--types {text}: no task of {workload.name} fits such a machine")


def fits_somewhere(workload: Workload) -> list[bool]:
    """Return for each server whether some task can fit it."""
    smallest = _smallest_demands(workload.demand_law)
    if workload.jobs is not None and workload.has_devices:
        return [bool(fits_on(workload.jobs, workload.servers, server).any()) for server in range(len(workload.servers))]
    return [bool((smallest <= capacity).all(axis=1).any()) for capacity in workload.servers.units]


def _smallest_demands(sizes: Sizes | Jobs) -> Ints:
    """Return demands, (m, D) units, one of which fits wherever any task does."""
    if isinstance(sizes, (Jobs, Joint)):
        return largest_demands(sizes)  # all of them
    return to_units([law.support()[0] for law in per_resource(sizes)])[None]


def one_for_each_task(kinds: Kinds, workload: Workload) -> tuple[int, ...] | None:
    """Return a mix with a machine for each task of the table.

    Each is of the cheapest kind that the task fits. None for streams and for too many machines. The workload has one server of
    each kind.
    """
    jobs = workload.jobs
    if jobs is None or len(jobs) > MOST_SERVERS:
        return None
    kind_of = np.zeros(len(jobs), np.int64)
    for kind in sorted(range(len(kinds)), key=lambda g: -kinds.cost[g]):
        kind_of[fits_on(jobs, workload.servers, kind)] = kind
    return tuple(np.bincount(kind_of, minlength=len(kinds)).tolist())


def on_servers(workload: Workload, servers: Servers) -> Workload:
    """Return the same work on other servers."""
    return workload.with_(servers=servers, **({} if workload.jobs is not None else {"rate": workload.rate}))


def with_mix(workload: Workload, counts: tuple[int, ...]) -> Workload:
    """Return the same work on `counts` machines of each kind."""
    if sum(counts) > MOST_SERVERS:
        raise InputError(f"{sum(counts):,} machines are too many; a cluster has at most {MOST_SERVERS:,}")
    return on_servers(workload, workload.servers.only(np.repeat(np.arange(len(counts)), counts)))


def with_kind(workload: Workload, kind: str) -> Workload:
    """Return the work with servers like `64:256` behind. Raises InputError."""
    servers = workload.servers.and_kind(kind)
    return on_servers(workload, many_of_the_last(servers) if _has_gangs(workload) else servers)


def servers_there(workload: Workload) -> int:
    """Return the number of servers in front of the added kind."""
    return len(workload.servers) - (MOST_OF_A_GANG if _has_gangs(workload) else 1)


def _has_gangs(workload: Workload) -> bool:
    return workload.jobs is not None and workload.jobs.gang is not None


def money(cost: Fraction) -> str:
    """Format a cost with up to four decimals, without trailing zeros."""
    return f"{float(cost):,.4f}".rstrip("0").rstrip(".")
