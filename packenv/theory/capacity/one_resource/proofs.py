"""Proofs in integers and fractions, from linear programs."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from packenv.theory.capacity.linear_program import ConfigurationColumns, Floats, Ints, ServerKinds, SolvedProgram
from packenv.theory.capacity.one_resource.certificate import LARGEST_PRICE, Attained, Bounded, ServerConfiguration

FINE = 2**60  # parts of a server, if weights are taken as they are
SIMPLE = 1000  # weights and prices are also tried as fractions with denominators up to this, which are often the exact ones


def attained_proofs(solved: SolvedProgram, edges: Ints, kinds: ServerKinds) -> list[Attained]:
    """Return lower-bound proofs, from exact weights and from simple fractions."""
    choices = weighted(solved.columns, solved.weights, kinds.number)
    return [Attained(tuple(edges.tolist()), configurations, parts) for configurations, parts in choices]


def weighted(columns: ConfigurationColumns, weights: Floats, number: Ints) -> list[tuple[tuple[ServerConfiguration, ...], int]]:
    """Return configurations with parts of servers, twice.

    Weights are taken exactly, and as simple fractions. They are scaled down where they exceed the servers `number` (G,).
    """
    used = np.flatnonzero(weights > 1e-12)
    contents = [tuple((int(j), int(columns.counts[n, j])) for j in np.flatnonzero(columns.counts[n])) for n in used]
    kind = columns.kind[used].tolist()
    exactly = [Fraction(weight) for weight in weights[used].tolist()]
    simple = [weight.limit_denominator(SIMPLE) for weight in exactly]
    choices = []
    for servers, parts in ((exactly, FINE), (simple, math.lcm(*(weight.denominator for weight in simple)))):
        counts = [int(weight * parts) for weight in servers]
        total = [sum(count for count, k in zip(counts, kind, strict=True) if k == g) for g in range(len(number))]
        most = [count * parts for count in number.tolist()]
        kept = [count * most[k] // max(total[k], most[k]) for count, k in zip(counts, kind, strict=True)]
        choices.append((tuple(ServerConfiguration(*row) for row in zip(kind, contents, kept, strict=True)), parts))
    return choices


def bounded_proofs(solved: SolvedProgram, points: Ints, split: NDArray[np.bool_]) -> list[Bounded]:
    """Return upper-bound proofs, from exact prices and from simple fractions."""
    relative = solved.prices / solved.prices.max()
    choices = [np.floor(relative * LARGEST_PRICE).astype(np.int64).tolist()]
    simple = [Fraction(price).limit_denominator(SIMPLE) for price in relative.tolist()]
    scale = math.lcm(*(price.denominator for price in simple))
    if scale <= LARGEST_PRICE:
        choices.append([int(price * scale) for price in simple])
    return [Bounded(tuple(points.tolist()), tuple(prices), tuple(split.tolist())) for prices in choices]
