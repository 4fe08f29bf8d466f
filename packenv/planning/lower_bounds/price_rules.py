"""Rules that give demands prices: area, and those that prove the upper bound on ρ* of the tasks in a window."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from packenv.jobs import Ints
from packenv.planning.lower_bounds.combination import Combined
from packenv.planning.lower_bounds.cost_proof import PricedWindow, Rule, TableTasks, WaitLimit, most_of
from packenv.planning.lower_bounds.windows import sure_overlap
from packenv.theory.capacity.linear_program import ServerKinds
from packenv.theory.capacity.one_resource.certificate import Bounded, Refuted
from packenv.theory.capacity.one_resource.search import OneResourceSearch
from packenv.theory.capacity.one_resource.size_law import atomic
from packenv.theory.capacity.several_resources.certificate import Priced, Scalarised
from packenv.theory.capacity.several_resources.demand_law import Atoms, VectorKinds
from packenv.theory.capacity.several_resources.search import SeveralResourcesSearch

PARTS = 1000  # of a machine, in which the machines of a program are counted
FINEST = 2**20  # the largest price: products with slots stay within 64 bits


def areas(vectors: Ints, capacity: Ints) -> list[Rule]:
    """Each resource's own amounts as prices, of those that some task needs and some machine has."""
    found: list[Rule] = []
    for weights in np.eye(capacity.shape[1], dtype=np.int64):
        largest = int((vectors @ weights).max())
        if largest > 0 and (capacity @ weights).max() > 0:
            found.append(Scalarised(tuple(weights.tolist()), Bounded((largest,), (largest,), (True,))))
    return found


def rules_for(
    tasks: TableTasks,
    limit: WaitLimit,
    capacity: Ints,
    combined: Combined | None,
    rows: Sequence[PricedWindow],
    most: int,
    gap: float,
    seconds: float,
) -> Iterator[Rule]:
    """New rules for the windows of the largest weight: proofs of ρ* of the tasks kept in them, on the program's machines."""
    if combined is None or combined.machines.sum() <= 0:
        return
    known = {(row.rule) for row in rows}
    number = np.maximum(np.round(combined.machines * PARTS), 1).astype(np.int64)
    order = np.argsort(-combined.weights, kind="stable")[:most]
    seen = {(rows[n].start, rows[n].end): None for n in order.tolist() if combined.weights[n] > 0}
    for start, end in seen:
        overlap = sure_overlap(tasks.jobs, limit.each, start, end)
        mass = overlap * (combined.kept if len(combined.kept) == len(overlap) else 1.0)
        weight = np.bincount(tasks.place, mass, len(tasks.vectors)).astype(np.float64)
        for rule in _proved(tasks.vectors[weight > 0], weight[weight > 0], capacity, number, gap, seconds):
            if rule not in known:
                known.add(rule)
                yield rule


def _proved(vectors: Ints, weight: Any, capacity: Ints, number: Ints, gap: float, seconds: float) -> Iterator[Rule]:
    if len(vectors) == 0:
        return
    rule = as_rule(upper_proof(vectors, weight, capacity, number, gap, seconds))
    try:
        most_of(rule, capacity)
    except Refuted:  # too many configurations on a kind of machine
        return
    yield rule


def upper_proof(vectors: Ints, weight: Any, capacity: Ints, number: Ints, gap: float, seconds: float) -> Any:
    """The proof of the upper bound on ρ* of these demands (m, D) in service, on so many machines (G,)."""

    def quiet(lower: float, upper: float) -> None:
        pass

    distinct, place = np.unique(capacity, axis=0, return_inverse=True)
    counts = np.bincount(place.ravel(), number).astype(np.int64)
    if vectors.shape[1] == 1:
        one = OneResourceSearch(
            atomic(vectors[:, 0], weight), ServerKinds(distinct[::-1, 0].copy(), counts[::-1].copy()), gap, seconds, quiet
        )
        one.run()
        return one.bounded
    several = SeveralResourcesSearch(Atoms(vectors, weight), VectorKinds(distinct, counts), gap, seconds, quiet)
    several.only_bound()
    return several.bounded


def as_rule(proof: Any) -> Rule:
    """A proof of the upper bound on ρ*, with prices that are not too fine."""
    if isinstance(proof, Priced):
        scale = max(1, -(-max(proof.prices) // FINEST))
        return Priced(proof.vectors, tuple(price // scale for price in proof.prices))
    weights, bounded = (proof.weights, proof.bounded) if isinstance(proof, Scalarised) else ((1,), proof)
    scale = max(1, -(-max(bounded.prices) // FINEST))
    return Scalarised(weights, Bounded(bounded.points, tuple(price // scale for price in bounded.prices), bounded.split))
