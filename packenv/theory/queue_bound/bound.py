"""`QueueBound`: a proved bound on mean queues without known durations."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TypeAlias

from packenv.theory.capacity.bracket import law_and_kinds
from packenv.theory.capacity.one_resource.certificate import require
from packenv.theory.queue_bound.arrivals import setting_of
from packenv.theory.queue_bound.counted import Counted
from packenv.theory.queue_bound.pooled import Pooled
from packenv.workloads.workload import Workload

QueueProof: TypeAlias = Counted | Pooled
NAMES: dict[type[QueueProof], str] = {Counted: "counted", Pooled: "pooled"}
"""Names of the relaxations, by the kind of proof."""


@dataclass(frozen=True)
class Proved:
    """A mean queue above 0, and its proof."""

    value: float
    proof: QueueProof = field(repr=False)

    @property
    def relaxation(self) -> str:
        return NAMES[type(self.proof)]


@dataclass(frozen=True)
class QueueBound:
    """A lower bound `value` on the mean number of waiting tasks.

    It holds for every policy that does not know durations. A policy may know demands and the law of durations, and may even
    preempt. It may not know how long a task stays, or the coming arrivals.
    `proved`: the best of each relaxation that proves anything, the best one first. `proved_for`: the workload, in words.
    """

    proved: tuple[Proved, ...]
    seconds: float
    proved_for: str | None = field(default=None, compare=False)

    @property
    def value(self) -> float:
        """The best bound, or 0."""
        return self.proved[0].value if self.proved else 0.0

    @property
    def vacuous(self) -> bool:
        """Whether nothing better than 0 is known."""
        return not self.proved

    def verify(self, workload: Workload) -> None:
        """Check every proof exactly against the workload. May raise Refuted."""
        setting, (law, kinds) = setting_of(workload), law_and_kinds(workload)
        values = [proved.value for proved in self.proved]
        require(values == sorted(values, reverse=True), "the best bound does not come first")
        for proved in self.proved:
            holds = 0 < Fraction(proved.value) <= proved.proof.value(setting, law, kinds)
            require(holds, f"the {proved.relaxation} proof does not bound the mean queue by {proved.value}")
