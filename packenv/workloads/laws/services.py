"""Laws of service times, in slots.

A draw is rounded up to whole slots, at least 1. `mean_slots` is the mean after rounding.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from packenv.errors import InputError
from packenv.workloads.laws.encoding import CONSTANT, GEOMETRIC, LOGNORMAL, Builder
from packenv.workloads.laws.law import AtomicLaw, Floats, Law, not_negatives, positive, probabilities, set_fields
from packenv.workloads.laws.sizes import Exponential, Mixture


@dataclass(frozen=True)
class Geometric(Law):
    """Geometric on 1, 2, … with mean `slots` ≥ 1."""

    slots: float

    def __post_init__(self) -> None:
        if not positive("geometric: mean", self.slots) >= 1:
            raise InputError(f"geometric: mean must be at least 1 slot, not {self.slots}")
        set_fields(self, slots=float(self.slots))

    def mean(self) -> float:
        return self.slots

    def mean_slots(self) -> float:
        return self.slots

    def cdf(self, x: ArrayLike) -> Floats:
        slots = np.maximum(np.floor(np.asarray(x, np.float64)), 0.0)
        if self.slots == 1:
            return np.where(slots >= 1, 1.0, 0.0)
        return np.asarray(-np.expm1(slots * math.log1p(-1.0 / self.slots)))

    def support(self) -> tuple[float, float]:
        return 1.0, math.inf if self.slots > 1 else 1.0

    def encode(self, builder: Builder) -> int:
        if self.slots == 1:
            return builder.node(CONSTANT, 1.0)
        return builder.node(GEOMETRIC, -1.0 / math.log1p(-1.0 / self.slots))


@dataclass(frozen=True)
class Fixed(AtomicLaw):
    """Always the same whole number of slots, at least 1."""

    slots: int

    def __post_init__(self) -> None:
        slots = positive("fixed: slots", self.slots)
        if slots != int(slots):
            raise InputError(f"fixed: slots must be a whole number, not {self.slots}")
        set_fields(self, slots=int(slots))

    def atoms(self) -> tuple[Floats, Floats]:
        return np.array([float(self.slots)]), np.ones(1)


@dataclass(frozen=True)
class LogNormal(Law):
    """Log-normal with mean `slots` and `cv`, standard deviation / mean."""

    slots: float
    cv: float

    def __post_init__(self) -> None:
        set_fields(self, slots=positive("lognormal: mean", self.slots), cv=positive("lognormal: cv", self.cv))

    @property
    def _sigma(self) -> float:
        return math.sqrt(math.log1p(self.cv**2))

    @property
    def _mu(self) -> float:
        return math.log(self.slots) - self._sigma**2 / 2

    def mean(self) -> float:
        return self.slots

    def cdf(self, x: ArrayLike) -> Floats:
        from scipy.special import ndtr

        value = np.asarray(x, np.float64)
        logarithm = np.log(np.where(value > 0, value, 1.0))
        return np.where(value > 0, ndtr((logarithm - self._mu) / self._sigma), 0.0)

    def support(self) -> tuple[float, float]:
        return 0.0, math.inf

    def encode(self, builder: Builder) -> int:
        return builder.node(LOGNORMAL, self._mu, self._sigma)


@dataclass(frozen=True)
class HyperExponential(Law):
    """Exponential with mean means[k] slots, with probability weights[k]."""

    means: Sequence[float]
    weights: Sequence[float] | None = None

    def __post_init__(self) -> None:
        means = not_negatives("hyperexponential: means", self.means)
        for mean in means:
            positive("hyperexponential: mean", mean)
        set_fields(self, means=means, weights=probabilities("hyperexponential", self.weights, len(means)))

    def _mixture(self) -> Mixture:
        return Mixture([Exponential(mean, math.inf) for mean in self.means], self.weights)

    def mean(self) -> float:
        return self._mixture().mean()

    def mean_slots(self) -> float:
        return self._mixture().mean_slots()

    def cdf(self, x: ArrayLike) -> Floats:
        return self._mixture().cdf(x)

    def support(self) -> tuple[float, float]:
        return 0.0, math.inf

    def encode(self, builder: Builder) -> int:
        return self._mixture().encode(builder)
