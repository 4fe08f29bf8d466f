"""ρ*, the maximum supportable workload, between two numbers that are proved (PAPERS §1.2)."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from packenv.theory.certificate import Attained, Bounded, Refuted
from packenv.theory.columns import Kinds
from packenv.theory.size_law import SizeLaw, size_law
from packenv.workloads.workload import Workload


@dataclass(frozen=True)
class Bracket:
    """lower <= ρ* <= upper, in jobs in service on the whole cluster, with the proof of either end.

    `reached`: whether (upper - lower) / upper came down to the gap that was asked for in the time allowed.
    `history`: the brackets on the way, each inside the one before.
    """

    lower: float
    upper: float
    area_bound: float  # capacity / mean size, for the integer sizes that are simulated
    attained: Attained = field(repr=False)
    bounded: Bounded = field(repr=False)
    reached: bool
    seconds: float
    history: tuple[tuple[float, float], ...] = field(repr=False)

    @property
    def gap(self) -> float:
        """(upper - lower) / upper."""
        return (self.upper - self.lower) / self.upper

    def verify(self, workload: Workload) -> None:
        """Check both proofs against the workload, in exact arithmetic. Raises Refuted if one does not hold."""
        law, kinds = size_law(workload), kinds_of(workload)
        if not 0 <= self.lower <= self.upper < math.inf:
            raise Refuted(f"certificate: [{self.lower}, {self.upper}] is no interval")
        if self.attained.value(law, kinds) < Fraction(self.lower):
            raise Refuted(f"certificate: the configurations do not attain {self.lower}")
        if self.bounded.value(law, kinds) > Fraction(self.upper):
            raise Refuted(f"certificate: the prices do not bound ρ* by {self.upper}")
        if rounded_up(by_area(law).value(law, kinds)) != self.area_bound:
            raise Refuted(f"certificate: the area bound is not {self.area_bound}")


def by_area(law: SizeLaw) -> Bounded:
    """The area bound: a size is worth itself."""
    largest = int(law.high[-1])
    return Bounded((largest,), (largest,), (True,))


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
