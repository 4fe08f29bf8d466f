"""ρ_K and its configurations if types are boxes of demand vectors: column generation over configurations of boxes."""

from __future__ import annotations

import time
from functools import partial

import numpy as np

from packenv.errors import InputError
from packenv.theory.capacity.best_proofs import rounded_down
from packenv.theory.capacity.linear_program import (
    ConfigurationColumns,
    ConfigurationProgram,
    Floats,
    Ints,
    ServerKinds,
    generate,
)
from packenv.theory.capacity.one_resource.proofs import weighted
from packenv.theory.capacity.one_resource.search import within
from packenv.theory.capacity.several_resources.certificate import Boxes, maximal_fillings
from packenv.theory.capacity.several_resources.demand_law import VectorKinds, VectorLaw
from packenv.theory.capacity.several_resources.packing import columns_of, packing, valuable
from packenv.theory.capacity.several_resources.pricing import IntegerPricing
from packenv.theory.rounded_boxes import least_of, volumes
from packenv.theory.rounded_configurations import RoundedProgram

MOST_ENUMERATED = 5000  # configurations of a kind of server that the program takes all at once
LISTED = 1000  # configurations to choose from on each kind of server


def solve_boxes(law: VectorLaw, kinds: VectorKinds, boxes: Ints, gap: float, seconds: float) -> RoundedProgram:
    """Solve the program whose types are `boxes` (T, D), descending by volume: a demand is of the last one that holds it."""
    shares = law.shares(boxes[::-1])
    assert shares is not None  # the boxes hold all demands
    some = np.array([share > 0 for share in shares[0][::-1]])
    boxes = boxes[some]
    share = np.array([share / shares[1] for share in shares[0][::-1]])[some]
    program = ConfigurationProgram(share, ServerKinds(np.arange(len(kinds.number)), kinds.number))
    prices = _prices(program, boxes, kinds, gap, time.monotonic() + seconds)
    columns, weights = program.columns(), program.weights()
    ascending = tuple(map(tuple, boxes[::-1].tolist()))
    turned = ConfigurationColumns(columns.held[:, ::-1], columns.kind)
    proofs = [Boxes(ascending, held, parts) for held, parts in weighted(turned, weights, kinds.number)]
    best = max(proofs, key=lambda proof: proof.value(law, kinds))
    kind = np.array([one.kind for one in best.configurations], np.int64)
    held = np.zeros((len(kind), len(boxes)), np.int64)
    for row, one in enumerate(best.configurations):
        for j, count in one.held:
            held[row, len(boxes) - 1 - j] = count
    parts = np.array([one.servers / best.parts for one in best.configurations])
    return RoundedProgram(
        sizes=boxes,
        least=least_of(law, boxes),
        capacity=kinds.capacity,
        held=held,
        kind=kind,
        share=parts / kinds.number[kind],
        rho=rounded_down(best.value(law, kinds)),
        listed=_listed(columns, weights, prices),
    )


def _prices(program: ConfigurationProgram, boxes: Ints, kinds: VectorKinds, gap: float, deadline: float) -> Floats:
    """Solve the program, with all configurations if they can be enumerated, else with those that column generation finds.

    Returns the prices of the types. Raises InputError for a box that fits no server.
    """
    try:
        held = [maximal_fillings(boxes, capacity, MOST_ENUMERATED) for capacity in kinds.capacity]
    except OverflowError:
        _begin_with_packings(program, boxes, kinds)
        prices = volumes(boxes, kinds.capacity)
        for pricing in (partial(valuable, boxes, kinds), IntegerPricing(boxes, kinds)):
            prices = generate(program, pricing, prices, within(gap), deadline).prices
        return prices
    kind = np.repeat(np.arange(len(held)), [len(found) for found in held])
    program.add(ConfigurationColumns(np.concatenate([np.array(found, np.float64) for found in held]), kind))
    return program.solve()[1]


def _begin_with_packings(program: ConfigurationProgram, boxes: Ints, kinds: VectorKinds) -> None:
    """Give the program the configurations of greedy packings: by each resource, and by all of them together.

    Raises InputError for a box that fits no server.
    """
    if not all((box <= kinds.capacity).all(axis=1).any() for box in boxes):
        raise InputError(f"{len(boxes)} types: the box of one fits no server, though each of its demands does; give more types")
    scale = 1 / np.maximum(kinds.number @ kinds.capacity, 1)
    for scales in (scale, *np.diag(scale)):
        program.add(columns_of(packing(boxes, program.shares, kinds, scales)))


def _listed(columns: ConfigurationColumns, weights: Floats, prices: Floats) -> ConfigurationColumns:
    """The configurations in use, and of each kind of server those of the largest worth, in descending lexicographic order."""
    worth = np.where(weights > 0, np.inf, columns.held @ prices)
    of_kind = [np.flatnonzero(columns.kind == kind) for kind in np.unique(columns.kind)]
    kept = [rows[np.argsort(-worth[rows], kind="stable")[:LISTED]] for rows in of_kind]
    rows = np.concatenate(kept)
    order = np.lexsort([*-columns.held[rows].T[::-1], columns.kind[rows]])
    return ConfigurationColumns(columns.held[rows][order], columns.kind[rows][order])
