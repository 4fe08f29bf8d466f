"""ρ_K, the maximum supportable workload for rounded sizes.

Every size counts as the largest of its type. The types are cells of sizes (PAPERS §6): every size itself if the sizes are few,
else cells whose ends are multiples of one step. Then sums of ends fill a server exactly. They are cut where that costs the linear
program least. ρ_K <= ρ*, and ρ_K → ρ* as the cells get finer.
"""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction

import numpy as np

from packenv.cluster.servers import scalar_capacity
from packenv.errors import InputError
from packenv.jobs import Jobs
from packenv.theory.capacity.linear_program import ConfigurationProgram, Ints, ServerKinds, generate
from packenv.theory.capacity.max_workload import LOAD_GAP, max_workload, supportable
from packenv.theory.capacity.one_resource.certificate import Attained
from packenv.theory.capacity.one_resource.knapsack import MOST_STEPS, Knapsack, PointPricing
from packenv.theory.capacity.one_resource.packing import quantiles
from packenv.theory.capacity.one_resource.search import OneResourceSearch, attained_proofs, within
from packenv.theory.capacity.one_resource.size_law import SizeLaw, SizePartition, atomic, cells_of, demand_atoms, size_law
from packenv.theory.capacity.several_resources.demand_law import Atoms, VectorKinds, VectorLaw, vector_kinds_of, vector_law
from packenv.theory.rounded_boxes import RoundedProgram, boxes_of, solve_boxes
from packenv.theory.rounded_types import equal_widths
from packenv.workloads.demand import scalar_size
from packenv.workloads.laws.joint import Conditional, Joint
from packenv.workloads.workload import Workload

FEW, MOST = 32, 256  # types: first try and last, if the user does not say how many
MOST_NAMED = 1024  # types that a user may ask for
COARSE, COARSEST = 3 * 2**10, 48  # steps of a server, if the types must be multiples of one step
GAP = 0.0001  # of the linear program
SECONDS = 20.0
MANY_STEPS = 2_000_000  # of a knapsack: beyond, a list of good configurations is found sooner
GAP_OF_BOXES, SECONDS_FOR_BOXES = 0.001, 5.0  # the best configurations of boxes are found by integer programs


def rounded_program(
    workload: Workload, types: int, eps: float, most_steps: int = MOST_STEPS, grid: bool = False
) -> RoundedProgram:
    """Return the program with at most `types` types.

    types       0: enough for ρ_K >= (1 - eps) ρ*, at most 256
    grid        the types are `types` cells of equal width of the scalar size, up to the capacity of the largest server
    most_steps  limit on types times reachable sums of their sizes, for one resource

    Sizes of one resource that can be listed, but have too many sums, get a list of configurations. Raises InputError for too many
    sums, and with `grid` for several resources whose laws are independent.
    """
    service = workload.service if isinstance(workload.service, Conditional) else None
    law = (workload.sizes, service) if workload.jobs is None else id(workload.jobs)  # the cache keeps the table alive
    return _programs(_Hashed((law, workload.servers), workload), types, eps, most_steps, grid)


class _Hashed:
    """A workload compared by its law and servers."""

    def __init__(self, key: object, workload: Workload) -> None:
        self.key, self.workload = key, workload

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Hashed) and self.key == other.key


@functools.lru_cache(maxsize=64)
def _programs(hashed: _Hashed, types: int, eps: float, most_steps: int, grid: bool) -> RoundedProgram:
    workload = hashed.workload
    if workload.D > 1 and not grid:
        return _boxes(workload, types, eps)
    law = scalar_law(workload)
    capacity, number = np.unique(scalar_capacity(workload.servers.units), return_counts=True)
    kinds = ServerKinds(capacity[::-1].copy(), number[::-1].copy())
    if not types and _has_many_sums(law, kinds, most_steps):
        # solved as for boxes
        atoms, servers = Atoms(law.low[:, None], law.mass), VectorKinds(kinds.capacity[:, None], kinds.number)
        boxes = _enough_boxes(atoms, servers, eps, _largest(workload, law, kinds))
        return replace(boxes, sizes=boxes.sizes[:, 0], least=boxes.least[:, 0], capacity=kinds.capacity)
    if grid:
        return _solve_grid(law, kinds, equal_widths(int(kinds.capacity[0]), types), most_steps)
    if types or (law.exact and len(law.low) <= FEW):
        return _solve_first(law, kinds, types or FEW, most_steps)
    count, largest = FEW, _largest(workload, law, kinds)
    program = _solve_first(law, kinds, count, most_steps)
    while program.rho < (1 - eps) * largest and count < MOST:
        count *= 2
        program = _solve_first(law, kinds, count, most_steps)
    return program


def _has_many_sums(law: SizeLaw, kinds: ServerKinds, most_steps: int) -> bool:
    """Return whether known sizes have too many sums."""
    try:
        Knapsack(law.low, int(kinds.capacity[0]), min(most_steps, MANY_STEPS)) if law.exact else None
    except OverflowError:
        return True
    return False


def _boxes(workload: Workload, types: int, eps: float) -> RoundedProgram:
    """Return the program of `types` boxes, or enough for (1 - eps) ρ*."""
    law, kinds = vector_law(workload), vector_kinds_of(workload)
    if types or (isinstance(law, Atoms) and len(law.vectors) <= FEW):
        return _solve_boxes(law, kinds, types or FEW)
    bracket = supportable(workload) if workload.jobs is None else max_workload(workload, LOAD_GAP, SECONDS)
    return _enough_boxes(law, kinds, eps, bracket.lower)


def _enough_boxes(law: VectorLaw, kinds: VectorKinds, eps: float, largest: float) -> RoundedProgram:
    """Return the program with ρ_K >= (1 - eps) `largest`."""
    count = FEW
    program = _solve_boxes(law, kinds, count)
    while program.rho < (1 - eps) * largest and count < MOST:
        count *= 2
        program = _solve_boxes(law, kinds, count)
    return program


def _solve_boxes(law: VectorLaw, kinds: VectorKinds, most: int) -> RoundedProgram:
    return solve_boxes(law, kinds, boxes_of(law, kinds, most), GAP_OF_BOXES, SECONDS_FOR_BOXES)


def _largest(workload: Workload, law: SizeLaw, kinds: ServerKinds) -> float:
    """Return a lower bound on ρ* of the scalar sizes."""
    if workload.D == 1 and workload.jobs is None:
        return supportable(workload).lower
    search = OneResourceSearch(law, kinds, LOAD_GAP, SECONDS, lambda lower, upper: None)
    search.run()
    return search.lower


def scalar_law(workload: Workload) -> SizeLaw:
    """Return the scalar sizes' law. Raises InputError for independent laws of resources."""
    if workload.D == 1:
        return size_law(workload)
    if not isinstance(workload.demand_law, (Jobs, Joint)):
        raise InputError(
            f"workload {workload.name}: types of several resources need a joint law of demands, not independent ones"
        )
    vectors, weights = demand_atoms(workload)
    return atomic(scalar_size(vectors, workload.servers), weights)


def _solve_grid(law: SizeLaw, kinds: ServerKinds, sizes: Ints, most_steps: int) -> RoundedProgram:
    """Solve the program of cells, some empty, ending at `sizes` (T,), descending."""
    try:
        Knapsack(sizes[::-1], int(kinds.capacity[0]), most_steps)
    except OverflowError:
        raise InputError(f"grid={len(sizes)} has too many sums of sizes on a server; give fewer, best a power of two") from None
    program = _solve(law, kinds, _inhabited(law, sizes[::-1]))
    place = np.searchsorted(-sizes, -program.sizes)
    counts, least = np.zeros((len(program.counts), len(sizes)), np.int64), np.append(sizes[1:], 0) + 1
    counts[:, place], least[place] = program.counts, program.least
    return replace(program, sizes=sizes, least=least, counts=counts)


def _solve_first(law: SizeLaw, kinds: ServerKinds, types: int, most_steps: int) -> RoundedProgram:
    """Solve for the first cut of <= `types` types with few sums."""
    for edges in _cuts(law, kinds, types, most_steps):
        if len(edges) <= types:
            with suppress(OverflowError):
                Knapsack(edges, int(kinds.capacity[0]), most_steps)
                return _solve(law, kinds, edges)
    raise InputError(f"{types} types have too many sums of sizes on a server; give fewer")


def _cuts(law: SizeLaw, kinds: ServerKinds, types: int, most_steps: int) -> Iterator[Ints]:
    """Yield ways to cut the sizes, best first, by increasing largest sizes."""
    if law.exact:
        yield np.unique(quantiles(law, types)) if len(law.low) > types else law.low
    partition = SizePartition(law, kinds)
    partition.split([(lambda sizes: sizes / 1.0, 1.0)], types)
    yield _inhabited(law, partition.edges())
    steps = COARSE
    while steps * types > most_steps and steps > COARSEST:
        steps //= 2
    step = -(-int(kinds.capacity[0]) // steps)
    yield _inhabited(law, np.unique(np.minimum(-(-quantiles(law, types) // step) * step, kinds.capacity[0])))


def _inhabited(law: SizeLaw, edges: Ints) -> Ints:
    return edges[np.bincount(cells_of(law.high, edges), minlength=len(edges)) > 0]


def _solve(law: SizeLaw, kinds: ServerKinds, edges: Ints) -> RoundedProgram:
    """Solve the program for increasing `edges` (T,)."""
    cells = cells_of(law.high, edges)
    shares = np.bincount(cells, law.mass, len(edges)) / law.mass.sum()
    # Solve the program with the cells' upper ends as sizes.
    program = ConfigurationProgram(shares, kinds)
    pricing = PointPricing(edges, kinds.capacity, np.zeros(len(edges), np.bool_))
    solved = generate(program, pricing, edges.astype(np.float64), within(GAP), time.monotonic() + SECONDS)
    # Take the proof that supports most if each type has its own places.
    best = max(attained_proofs(solved, edges, kinds), key=lambda proof: _every_type(proof, law, cells))
    counts = np.zeros((len(best.configurations), len(edges)), np.int64)
    for row, configuration in enumerate(best.configurations):
        for j, count in configuration.held:
            counts[row, j] = count
    kind = np.array([configuration.kind for configuration in best.configurations], np.int64)
    parts = np.array([configuration.servers / best.parts for configuration in best.configurations])
    rho = float(_every_type(best, law, cells))
    return RoundedProgram(
        sizes=edges[::-1].copy(),
        least=np.maximum(law.low[np.searchsorted(cells, np.arange(len(edges)))], 1)[::-1].copy(),
        capacity=kinds.capacity,
        counts=counts[:, ::-1].copy(),
        kind=kind,
        share=parts / kinds.number[kind],
        rho=math.nextafter(rho, 0.0),
    )


def _every_type(proof: Attained, law: SizeLaw, cells: Ints) -> Fraction:
    """Return the workload if no task takes a larger one's place."""
    places = [0] * len(proof.edges)
    for configuration in proof.configurations:
        for j, count in configuration.held:
            places[j] += count * configuration.servers
    shares, total = law.shares(cells, len(proof.edges))
    return min(Fraction(place * total, share * proof.parts) for place, share in zip(places, shares, strict=True) if share)
