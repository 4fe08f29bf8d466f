"""`Bracket`: a lower and an upper bound on ρ*, the maximum supportable workload, with a proof of each (PAPERS §1.2)."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, TypeAlias

from packenv.theory.capacity.best_proofs import rounded_down, rounded_up
from packenv.theory.capacity.one_resource.certificate import Attained, Bounded, Refuted, area_proof
from packenv.theory.capacity.one_resource.size_law import kinds_of, size_law
from packenv.theory.capacity.several_resources.certificate import Boxes, Priced, Scalarised, area_proofs
from packenv.theory.capacity.several_resources.demand_law import vector_kinds_of, vector_law
from packenv.workloads.workload import Workload

AttainedProof: TypeAlias = Attained | Boxes
BoundedProof: TypeAlias = Bounded | Scalarised | Priced


@dataclass(frozen=True)
class Bracket:
    """lower <= ρ* <= upper, in tasks in service on the whole cluster, with the proof of each bound.

    `reached`: whether (upper - lower) / upper came down to the requested gap within the time allowed.
    `history`: the bounds found on the way, each pair at least as tight as the one before.
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
        attained, bounded = self.attained.value(law, kinds), self.bounded.value(law, kinds)
        if attained < Fraction(self.lower):
            raise Refuted(f"certificate: the configurations do not attain {self.lower}")
        if bounded > Fraction(self.upper):
            raise Refuted(f"certificate: the prices do not bound ρ* by {self.upper}")
        if self.reached and (self.lower, self.upper) != (rounded_down(attained), rounded_up(bounded)):
            raise Refuted("certificate: it says that the gap was reached, but its bounds are wider than its proofs")
        if area_bound(law, kinds) != self.area_bound:
            raise Refuted(f"certificate: the area bound is not {self.area_bound}")


def law_and_kinds(workload: Workload) -> tuple[Any, Any]:
    """The law of sizes (one resource) or of demand vectors (several), and the kinds of servers."""
    if workload.D == 1:
        return size_law(workload), kinds_of(workload)
    return vector_law(workload), vector_kinds_of(workload)


def area_bound(law: Any, kinds: Any) -> float:
    """The area bound on ρ*: the least capacity / mean demand of any resource."""
    proofs = area_proofs(law, kinds) if kinds.capacity.ndim > 1 else [area_proof(law)]
    return min(rounded_up(proof.value(law, kinds)) for proof in proofs)
