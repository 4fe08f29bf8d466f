"""The best proofs so far of either end of a bracket."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from typing import Any

from packenv.theory.capacity.bracket import AttainedProof, BoundedProof, Bracket, areas, rounded_down, rounded_up

Progress = Callable[[float, float], None]


class Ends:
    """Keeps a proof that is better than the last one of its end, and tells `progress`."""

    def __init__(self, law: Any, kinds: Any, gap: float, seconds: float, progress: Progress) -> None:
        self.law, self.kinds, self.gap, self.progress = law, kinds, gap, progress
        self.began = time.monotonic()
        self.deadline = self.began + seconds
        self.lower, self.upper = 0.0, math.inf
        self.attained: Any = None
        self.bounded: Any = None
        self.history: list[tuple[float, float]] = []
        self.useless = math.inf  # a lower end from which on there is no point in going on

    def offer_attained(self, proofs: Iterable[AttainedProof]) -> None:
        for proof in proofs:
            value = rounded_down(proof.value(self.law, self.kinds))
            if value > self.lower:
                self.lower, self.attained = value, proof
                self._record()

    def offer_bounded(self, proofs: Iterable[BoundedProof]) -> None:
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
    def done(self) -> bool:
        return self.reached or self.lower >= self.useless or time.monotonic() > self.deadline

    def bracket(self) -> Bracket:
        seconds = time.monotonic() - self.began
        area_bound = min(rounded_up(proof.value(self.law, self.kinds)) for proof in areas(self.law, self.kinds))
        ends = (self.lower, self.upper, area_bound, self.attained, self.bounded)
        return Bracket(*ends, self.reached, seconds, tuple(self.history))
