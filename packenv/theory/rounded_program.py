"""ρ_K, the maximum supportable workload if every size counts as the largest of its type, and configurations that attain it.

The types are cells of sizes (PAPERS §6): every size itself if the sizes are few, else cells whose ends are multiples of one
step, so that sums of ends fill a server exactly, cut where that costs the linear program least. ρ_K <= ρ*, and ρ_K → ρ* as
the cells get finer.
"""

from __future__ import annotations

import functools
import math
import time
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from packenv.cluster.virtual_queues.kinds import scalar_capacity
from packenv.errors import InputError
from packenv.jobs import Jobs
from packenv.theory.capacity.bracket import Bracket
from packenv.theory.capacity.linear_program import ConfigurationProgram, Floats, Ints, ServerKinds, generate
from packenv.theory.capacity.load import supportable
from packenv.theory.capacity.max_workload import max_workload
from packenv.theory.capacity.one_resource.certificate import Attained
from packenv.theory.capacity.one_resource.pricing import PointPricing
from packenv.theory.capacity.one_resource.proofs import attained_proofs
from packenv.theory.capacity.one_resource.search import within
from packenv.theory.capacity.one_resource.size_law import SizeLaw, atomic, cells_of, demand_atoms, size_law
from packenv.theory.capacity.one_resource.size_partition import SizePartition
from packenv.workloads.demand import scalar_size
from packenv.workloads.laws.joint import Conditional, Joint
from packenv.workloads.workload import Workload

FEW, MOST = 32, 256  # types: first try and last, if the user does not say how many
MOST_NAMED = 1024  # types that a user may ask for
GAP = 0.0001  # of the linear program
SECONDS = 20.0


@dataclass(frozen=True, eq=False)
class RoundedProgram:
    """Types, and configurations that hold ρ_K tasks in service, each type its share, if every task has its type's size."""

    sizes: Ints  # (T,) units, descending: what a task of each type counts as
    capacity: Ints  # (G,) units of each kind of server, decreasing
    held: Ints  # (m, T) how many tasks of each type a configuration holds
    kind: Ints  # (m,) kind of server that it is for
    share: Floats  # (m,) share of the time of these servers; sums to at most 1 for each kind
    rho: float  # ρ_K is at least this, in exact arithmetic
    largest: tuple[float, float]  # bounds on ρ*


def rounded_program(workload: Workload, types: int, eps: float) -> RoundedProgram:
    """The program with `types` types, or (0) with as many as make ρ_K >= (1 - eps) ρ*, at most 256.

    Raises InputError for several resources whose laws are independent.
    """
    service = workload.service if isinstance(workload.service, Conditional) else None
    law = workload.jobs if workload.jobs is not None else (workload.sizes, service)
    return _programs(_Hashed((law, workload.servers), workload), types, eps)


class _Hashed:
    """A workload that is the same as another one if its law and servers are."""

    def __init__(self, key: object, workload: Workload) -> None:
        self.key, self.workload = key, workload

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Hashed) and self.key == other.key


@functools.lru_cache(maxsize=64)
def _programs(hashed: _Hashed, types: int, eps: float) -> RoundedProgram:
    workload = hashed.workload
    law, kinds = scalar_law(workload), scalar_kinds(workload)
    bracket = supportable(workload) if workload.jobs is None else max_workload(workload)
    if law.exact and len(law.low) <= (types or MOST):
        try:
            return _solve(law, kinds, law.low, bracket)
        except OverflowError:  # too many sums of the sizes
            pass
    if types:
        return _solve(law, kinds, _cut(law, kinds, types), bracket)
    count = FEW
    found = _solve(law, kinds, _cut(law, kinds, count), bracket)
    while found.rho < (1 - eps) * bracket.lower and count < MOST:
        count *= 2
        found = _solve(law, kinds, _cut(law, kinds, count), bracket)
    return found


def scalar_law(workload: Workload) -> SizeLaw:
    """The law of scalar sizes. Raises InputError for several resources whose laws are independent."""
    if workload.D == 1:
        return size_law(workload)
    if not isinstance(workload.demand_law, (Jobs, Joint)):
        raise InputError(
            f"workload {workload.name}: types of several resources need a joint law of demands, not independent ones"
        )
    vectors, weights = demand_atoms(workload)
    return atomic(scalar_size(vectors, workload.servers), weights)


def scalar_kinds(workload: Workload) -> ServerKinds:
    """The distinct scalar capacities, decreasing, and how many servers have each."""
    capacity, count = np.unique(scalar_capacity(workload.servers.units), return_counts=True)
    return ServerKinds(capacity[::-1].copy(), count[::-1].copy())


def _cut(law: SizeLaw, kinds: ServerKinds, types: int) -> Ints:
    """(at most `types`,) units, increasing: the largest sizes of cells that sizes occur in."""
    partition = SizePartition(law, kinds)
    partition.split([(lambda sizes: sizes / 1.0, 1.0)], max(1, types - len(partition.odd)))
    edges = partition.edges()
    if len(edges) > types:  # a size that many tasks have is a cell of its own
        partition = SizePartition(law, kinds)
        partition.split([(lambda sizes: sizes / 1.0, 1.0)], max(1, 2 * types - len(edges)))
        edges = partition.edges()
    return edges[np.bincount(cells_of(law.high, edges), minlength=len(edges)) > 0]


def _solve(law: SizeLaw, kinds: ServerKinds, edges: Ints, bracket: Bracket) -> RoundedProgram:
    """Solve the linear program whose types are the cells that end at `edges` (T,), increasing."""
    cells = cells_of(law.high, edges)
    shares = np.bincount(cells, law.mass, len(edges)) / law.mass.sum()
    program = ConfigurationProgram(shares, kinds)
    pricing = PointPricing(edges, kinds.capacity, np.zeros(len(edges), np.bool_))
    solved = generate(program, pricing, edges.astype(np.float64), within(GAP), time.monotonic() + SECONDS)
    best = max(attained_proofs(solved, edges, kinds), key=lambda proof: _every_type(proof, law, cells))
    held = np.zeros((len(best.configurations), len(edges)), np.int64)
    for row, configuration in enumerate(best.configurations):
        for j, count in configuration.held:
            held[row, j] = count
    kind = np.array([configuration.kind for configuration in best.configurations], np.int64)
    parts = np.array([configuration.servers / best.parts for configuration in best.configurations])
    rho = float(_every_type(best, law, cells))
    return RoundedProgram(
        sizes=edges[::-1].copy(),
        capacity=kinds.capacity,
        held=held[:, ::-1].copy(),
        kind=kind,
        share=parts / kinds.number[kind],
        rho=math.nextafter(rho, 0.0),
        largest=(bracket.lower, bracket.upper),
    )


def _every_type(proof: Attained, law: SizeLaw, cells: Ints) -> Fraction:
    """The workload of which the configurations hold every type's own share: no task takes the place of a larger one."""
    places = [0] * len(proof.edges)
    for configuration in proof.configurations:
        for j, count in configuration.held:
            places[j] += count * configuration.servers
    shares, whole = law.shares(cells, len(proof.edges))
    return min(Fraction(place * whole, share * proof.parts) for place, share in zip(places, shares, strict=True) if share)
