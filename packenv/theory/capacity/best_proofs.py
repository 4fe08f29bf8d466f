"""The best proof so far of each bound."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any, Protocol

Progress = Callable[[float, float], None]
"""Is told the lower and the upper end whenever one of them improves."""


class Proof(Protocol):
    """A certificate of one end."""

    def value(self, law: Any, kinds: Any) -> Fraction:
        """The workload (tasks in service) that it proves."""
        ...


class BestProofs:
    """A base for searches: improving proofs, reported to `progress`.

    law       law of sizes, or of demand vectors
    kinds     kinds of servers
    gap       the search may stop when (upper - lower) / upper is at most this,
    seconds   or after this time
    """

    def __init__(self, law: Any, kinds: Any, gap: float, seconds: float, progress: Progress) -> None:
        self.law, self.kinds, self.gap, self.progress = law, kinds, gap, progress
        self.began = time.monotonic()
        self.deadline = self.began + seconds
        self.lower, self.upper = 0.0, math.inf
        self.attained: Any = None  # proof of the lower end
        self.bounded: Any = None  # proof of the upper end
        self.history: list[tuple[float, float]] = []
        self.useless = math.inf  # the search also stops once its lower end is this large

    def offer_attained(self, proofs: Iterable[Proof]) -> None:
        """Keep the proofs that raise the lower end."""
        for proof in proofs:
            value = rounded_down(proof.value(self.law, self.kinds))
            if value > self.lower:
                self.lower, self.attained = value, proof
                self._record()

    def offer_bounded(self, proofs: Iterable[Proof]) -> None:
        """Keep the proofs that lower the upper end."""
        for proof in proofs:
            value = rounded_up(proof.value(self.law, self.kinds))
            if value < self.upper:
                self.upper, self.bounded = value, proof
                self._record()

    def _record(self) -> None:
        if self.lower > 0:
            self.history.append((self.lower, self.upper))
            self.progress(self.lower, self.upper)

    @property
    def reached(self) -> bool:
        return self.upper - self.lower <= self.gap * self.upper

    @property
    def should_stop(self) -> bool:
        return self.reached or self.lower >= self.useless or time.monotonic() > self.deadline


def rounded_down(value: Fraction) -> float:
    """The largest float that is not above `value`."""
    near = float(value)
    return near if Fraction(near) <= value else math.nextafter(near, -math.inf)


def rounded_up(value: Fraction) -> float:
    """The smallest float that is not below `value`."""
    near = float(value)
    return near if Fraction(near) >= value else math.nextafter(near, math.inf)
