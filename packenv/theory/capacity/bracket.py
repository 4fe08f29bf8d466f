"""ρ*, the maximum supportable workload, between two numbers that are proved (PAPERS §1.2)."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from packenv.theory.capacity.certificate import Attained, Bounded, Refuted
from packenv.theory.capacity.columns import Kinds
from packenv.theory.capacity.size_law import SizeLaw, size_law
from packenv.theory.capacity.vectors.certificate import Boxes, Priced, Scalarised
from packenv.theory.capacity.vectors.law import vector_kinds_of, vector_law
from packenv.workloads.workload import Workload

AttainedProof: TypeAlias = Attained | Boxes
BoundedProof: TypeAlias = Bounded | Scalarised | Priced


@dataclass(frozen=True)
class Bracket:
    """lower <= ρ* <= upper, in jobs in service on the whole cluster, with the proof of either end.

    `reached`: whether (upper - lower) / upper came down to the gap that was asked for in the time allowed.
    `history`: the brackets on the way, each inside the one before.
    """

    lower: float
    upper: float
    area_bound: float  # capacity / mean size, for the integer sizes that are simulated
    attained: AttainedProof = field(repr=False)
    bounded: BoundedProof = field(repr=False)
    reached: bool
    seconds: float
    history: tuple[tuple[float, float], ...] = field(repr=False)

    @property
    def gap(self) -> float:
        """(upper - lower) / upper."""
        return (self.upper - self.lower) / self.upper

    def verify(self, workload: Workload) -> None:
        """Check both proofs against the workload, in exact arithmetic. Raises Refuted if one does not hold."""
        law, kinds = law_and_kinds(workload)
        if isinstance(self.attained, Attained) != (workload.D == 1) or isinstance(self.bounded, Bounded) != (workload.D == 1):
            raise Refuted(f"certificate: it is not for {workload.D} resources")
        if not 0 <= self.lower <= self.upper < math.inf:
            raise Refuted(f"certificate: [{self.lower}, {self.upper}] is no interval")
        if self.attained.value(law, kinds) < Fraction(self.lower):
            raise Refuted(f"certificate: the configurations do not attain {self.lower}")
        if self.bounded.value(law, kinds) > Fraction(self.upper):
            raise Refuted(f"certificate: the prices do not bound ρ* by {self.upper}")
        if min(rounded_up(proof.value(law, kinds)) for proof in areas(law, kinds)) != self.area_bound:
            raise Refuted(f"certificate: the area bound is not {self.area_bound}")


def law_and_kinds(workload: Workload) -> tuple[Any, Any]:
    """The law of sizes, or of demand vectors, and the kinds of servers."""
    if workload.D == 1:
        return size_law(workload), kinds_of(workload)
    return vector_law(workload), vector_kinds_of(workload)


def areas(law: Any, kinds: Any) -> list[Any]:
    """The area bound of each resource that is needed at all: a size is worth itself."""
    if isinstance(law, SizeLaw):
        largest = int(law.high[-1])
        return [Bounded((largest,), (largest,), (True,))]
    found = []
    for weights in np.eye(kinds.capacity.shape[1], dtype=np.int64):
        one = law.scalar(weights)
        if one.high[-1] > 0:
            found += [Scalarised(tuple(weights.tolist()), bounded) for bounded in areas(one, None)]
    return found


def rounded_down(value: Fraction) -> float:
    """The largest float that is not above."""
    near = float(value)
    return near if Fraction(near) <= value else math.nextafter(near, -math.inf)


def rounded_up(value: Fraction) -> float:
    """The smallest float that is not below."""
    near = float(value)
    return near if Fraction(near) >= value else math.nextafter(near, math.inf)


def kinds_of(workload: Workload) -> Kinds:
    """The distinct capacities of a cluster with one resource, decreasing, and how many servers have each."""
    capacity, count = np.unique(workload.servers.units[:, 0], return_counts=True)
    return Kinds(capacity[::-1].copy(), count[::-1].copy())
