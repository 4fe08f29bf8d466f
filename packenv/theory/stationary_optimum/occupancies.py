"""A small workload as a Markov decision process (PAPERS §6).

It has types, servers, arrivals, departures, and the possible contents of all servers. An occupancy is the number of jobs of each
type on each server. The order of servers of equal capacity does not matter. Only ascending configurations count.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import combinations_with_replacement, islice, product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from packenv.cluster.servers import server_kinds
from packenv.errors import InputError
from packenv.theory.capacity.max_workload import resolved, supportable
from packenv.theory.rounded_types import distinct_sizes
from packenv.workloads.laws.arrivals import Bernoulli, Poisson
from packenv.workloads.laws.services import Geometric
from packenv.workloads.workload import Workload

MOST_TYPES = 8


@dataclass(frozen=True, eq=False)
class SmallInstance:
    """Types of jobs, with independent arrivals and geometric service."""

    sizes: NDArray[np.int64]  # (n,) units, descending
    shares: NDArray[np.float64]  # (n,) probability of each size
    capacity: NDArray[np.int64]  # (L,) units
    mean_service: float  # slots
    rate: float  # jobs per slot
    poisson: bool  # a Poisson number of arrivals in a slot; else at most one

    @property
    def departure(self) -> float:
        """The probability that a job leaves in a slot."""
        return 1.0 / self.mean_service


def small_instance(workload: Workload) -> SmallInstance:
    """Return the instance. Raises InputError as in `small_types`, or if unstable."""
    instance = small_types(workload)
    setting = resolved(workload)
    offered, most = setting.rate * setting.mean_service, supportable(setting).upper
    if offered >= most:
        raise InputError(f"{workload.name}: no policy is stable: {offered:.4g} jobs in service are offered, and ρ* is {most:.4g}")
    return replace(instance, rate=setting.rate)


def small_types(workload: Workload) -> SmallInstance:
    """The instance of a workload, without its rate (0). Raises InputError."""
    where = f"{workload.name}: the optimal policy is found for"
    if workload.jobs is not None:
        raise InputError(f"{where} random workloads, not for a table of jobs")
    if workload.D > 1:
        raise InputError(f"{where} one resource, not {workload.D}")
    if not isinstance(workload.service, Geometric):
        raise InputError(f"{where} geometric service, not {workload.service!r}")
    if not isinstance(workload.arrivals, (Bernoulli, Poisson)):
        raise InputError(f"{where} Bernoulli or Poisson arrivals, not {type(workload.arrivals).__name__}")
    finite = distinct_sizes(workload.demand_law, workload.servers)
    if finite is None:
        raise InputError(f"{where} discrete sizes, not {workload.sizes!r}")
    sizes, below = finite
    if len(sizes) > MOST_TYPES:
        raise InputError(f"{where} at most {MOST_TYPES} sizes, not {len(sizes)}")
    return SmallInstance(
        sizes=sizes[::-1].copy(),
        shares=np.diff(below, prepend=0.0)[::-1].copy(),
        capacity=workload.servers.units[:, 0].copy(),
        mean_service=workload.mean_service,
        rate=0.0,
        poisson=isinstance(workload.arrivals, Poisson),
    )


Ints = NDArray[np.int64]

MOST_MIXES = 2_000
"""Occupancies, for which there is a dense matrix of completions; and configurations of a server."""
MOST_ORDERED = 200_000  # occupancies, orders of equal servers counted apart
MOST_CODES = np.iinfo(np.uint8).max  # of starts, beside 0


class TypeStart(NamedTuple):
    """A job's start at a position, and the next occupancy."""

    type: int
    position: int
    following: int

    def code(self, servers: int) -> int:
        """Return this start's number in tables (0: no start)."""
        return 1 + self.type * servers + self.position


@dataclass(frozen=True, eq=False)
class Occupancies:
    """All S occupancies (first: empty), with positions by kind."""

    servers: Ints  # (L,) server at each position, before servers of one kind are ordered
    kind: Ints  # (L,) kind of the server at each position
    counts: list[Ints]  # for each kind (m, n): all its configurations, jobs of each type
    configurations: Ints  # (S, L) row in `counts` of its kind, ascending among servers of one kind
    index: Ints  # (product of m over the positions,) occupancy of configurations in any order, first position slowest
    starts: list[list[TypeStart]]  # for each occupancy
    jobs: Ints  # (S,) jobs in service

    def completions(self, departure: float) -> NDArray[np.float64]:
        """(S, S) probabilities of the next slot's occupancies after departures."""
        alone = [thinned(counts, departure) for counts in self.counts]
        chances = np.empty((len(self.configurations), len(self.configurations)))
        for row, configurations in enumerate(self.configurations):
            joint = np.ones(1)
            for kind, configuration in zip(self.kind, configurations, strict=True):
                joint = np.multiply.outer(joint, alone[kind][configuration]).ravel()
            chances[row] = np.bincount(self.index, joint, len(chances))
        return chances


def occupancies(instance: SmallInstance) -> Occupancies:
    """List occupancies. Raises InputError above MOST_MIXES, or for too many servers."""
    kinds, capacity = server_kinds(instance.capacity)
    if (codes := len(instance.sizes) * len(kinds)) > MOST_CODES:
        raise InputError(f"sizes times servers are {codes:,}; the optimal policy is found for at most {MOST_CODES}")
    # Servers kind by kind, and the fillings of each kind.
    servers = np.argsort(kinds, kind="stable")
    kind = kinds[servers]
    counts = [feasible(instance.sizes, int(units)) for units in capacity]
    # Count the mixes before listing them: with equal servers alike, and apart.
    ordered = math.prod(len(counts[k]) for k in kind)
    alike = [int((kind == k).sum()) for k in range(len(counts))]
    mixes = math.prod(math.comb(len(fillings) + n - 1, n) for fillings, n in zip(counts, alike, strict=True))
    for count, limit, what in ((mixes, MOST_MIXES, ""), (ordered, MOST_ORDERED, ", equal servers as different ones")):
        if count > limit:
            raise InputError(f"servers can hold {count:,} mixes of jobs{what}; the optimal policy is found for at most {limit:,}")
    # List every mix once, with ascending fillings on equal servers.
    blocks = [combinations_with_replacement(range(len(fillings)), n) for fillings, n in zip(counts, alike, strict=True)]
    every = [sum(parts, ()) for parts in product(*blocks)]
    number = {configurations: n for n, configurations in enumerate(every)}

    def in_order(configurations: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(configuration for _, configuration in sorted(zip(kind.tolist(), configurations, strict=True)))

    # Map mixes in any order of servers to their numbers.
    index = [number[in_order(mix)] for mix in product(*(range(len(counts[k])) for k in kind))]
    # List the starts from each mix, one for each following mix.
    larger = [_with_one_more(fillings) for fillings in counts]
    starts: list[list[TypeStart]] = []
    for mix in every:
        leads_to: dict[tuple[int, int], TypeStart] = {}
        for j, (position, configuration) in product(range(len(instance.sizes)), enumerate(mix)):
            grown = larger[kind[position]].get((configuration, j))
            if grown is not None:
                following = number[in_order((*mix[:position], grown, *mix[position + 1 :]))]
                leads_to.setdefault((j, following), TypeStart(j, position, following))
        starts.append([*leads_to.values()])
    rows = np.array(every, np.int64)
    total = [fillings.sum(axis=1) for fillings in counts]
    jobs = sum(total[k][rows[:, position]] for position, k in enumerate(kind))
    return Occupancies(servers, kind, counts, rows, np.array(index, np.int64), starts, np.asarray(jobs, np.int64))


def feasible(sizes: Ints, capacity: int) -> Ints:
    """(m, n) numbers of jobs that fit, in lexicographic order."""
    rows: list[tuple[int, ...]] = [()]
    for j, size in enumerate(sizes.tolist()):
        more = ((*row, k) for row in rows for k in range((capacity - int(np.dot(row, sizes[:j]))) // size + 1))
        rows = [*islice(more, MOST_MIXES + 1)]
        if len(rows) > MOST_MIXES:
            raise InputError(f"a server can hold more than {MOST_MIXES:,} mixes of jobs, too many for the optimal policy")
    return np.array(rows, np.int64)


def _with_one_more(counts: Ints) -> dict[tuple[int, int], int]:
    """Map (configuration, type) to the one with another job."""
    number = {tuple(row): n for n, row in enumerate(counts.tolist())}
    larger = {}
    for row, n in number.items():
        for j in range(len(row)):
            grown = (*row[:j], row[j] + 1, *row[j + 1 :])
            if grown in number:
                larger[n, j] = number[grown]
    return larger


def thinned(counts: Ints, departure: float) -> NDArray[np.float64]:
    """(m, m) probabilities between configurations in a slot."""
    from scipy.stats import binom

    before, after = counts[:, None], counts[None, :]
    return np.asarray(binom.pmf(after, before, 1 - departure).prod(axis=2))
