"""`QueueBound`: a lower bound on the mean queue of every policy, with the proof of it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TypeAlias

from packenv.theory.capacity.bracket import law_and_kinds
from packenv.theory.capacity.one_resource.certificate import Refuted
from packenv.theory.queue_bound.arrivals import setting_of
from packenv.theory.queue_bound.counted import Counted
from packenv.theory.queue_bound.pooled import Pooled
from packenv.workloads.workload import Workload

QueueProof: TypeAlias = Counted | Pooled
NAMES: dict[type[QueueProof], str] = {Counted: "counted", Pooled: "pooled"}
"""What each kind of proof is called."""


@dataclass(frozen=True)
class QueueBound:
    """The mean number of waiting tasks, over all slots, is at least `value` under every policy that does not preempt.

    `relaxation`: which proof it is, "counted" or "pooled"; "none" for a bound of 0, which needs no proof.
    `found`: by relaxation, the best that was found, at least 0.
    """

    value: float
    relaxation: str
    proof: QueueProof | None = field(repr=False)
    found: dict[str, float]
    seconds: float

    @property
    def void(self) -> bool:
        """Whether nothing better than 0 is known."""
        return self.value == 0

    def verify(self, workload: Workload) -> None:
        """Check the proof against the workload, in exact arithmetic. Raises Refuted if it does not hold."""
        setting = setting_of(workload)
        if not 0 <= self.value < math.inf:
            raise Refuted(f"certificate: {self.value} is no mean queue")
        if self.relaxation != ("none" if self.proof is None else NAMES[type(self.proof)]):
            raise Refuted(f"certificate: its proof is not {self.relaxation}")
        if self.found.get(self.relaxation, 0.0) != self.value or any(value > self.value for value in self.found.values()):
            raise Refuted("certificate: the bound is not the best of those found")
        proved = Fraction(0) if self.proof is None else self.proof.value(setting, *law_and_kinds(workload))
        if proved < Fraction(self.value):
            raise Refuted(f"certificate: its proof does not bound the mean queue by {self.value}")
