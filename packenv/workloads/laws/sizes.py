"""Laws of sizes, also for services and numbers of tasks.

Parameters are in units of capacity, or in slots.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from packenv.errors import InputError
from packenv.workloads.laws.encoding import EXPONENTIAL, MIXTURE, PARETO, Builder, cumulate
from packenv.workloads.laws.law import (
    AtomicLaw,
    Floats,
    Law,
    LinearLaw,
    not_negative,
    not_negatives,
    ordered,
    positive,
    probabilities,
    set_fields,
    upper_end,
)


@dataclass(frozen=True)
class Uniform(LinearLaw):
    """Uniform on [low, high], with 0 ≤ low < high."""

    low: float
    high: float

    def __post_init__(self) -> None:
        low = not_negative("uniform: low", self.low)
        if not positive("uniform: high", self.high) > low:
            raise InputError(f"uniform: high {self.high} must be above low {self.low}")
        set_fields(self, low=low, high=float(self.high))

    def knots(self) -> tuple[Floats, Floats]:
        return np.array([self.low, self.high]), np.array([0.0, 1.0])


@dataclass(frozen=True)
class Histogram(LinearLaw):
    """Uniform within bins: increasing `edges` (n + 1,), probabilities `weights` (n,)."""

    edges: Sequence[float]
    weights: Sequence[float] | None = None

    def __post_init__(self) -> None:
        edges = not_negatives("histogram: edges", self.edges)
        if len(edges) < 2 or min(np.diff(edges)) <= 0:
            raise InputError("histogram: edges must be at least two increasing numbers")
        set_fields(self, edges=edges, weights=probabilities("histogram", self.weights, len(edges) - 1))

    def knots(self) -> tuple[Floats, Floats]:
        assert self.weights is not None
        return np.array(self.edges), np.concatenate([[0.0], cumulate(self.weights)])


@dataclass(frozen=True)
class Beta(LinearLaw):
    """Beta(a, b) on [low, high], approximated by 4,096 uniform cells.

    Cells are finest at both ends. The distribution function differs from the beta law's by at most 10⁻⁵. a and b are at least
    0.05.
    """

    a: float
    b: float
    low: float = 0.0
    high: float = 1.0

    def __post_init__(self) -> None:
        for name in ("a", "b"):
            if not positive(f"beta: {name}", getattr(self, name)) >= 0.05:
                raise InputError(f"beta: {name} must be at least 0.05, not {getattr(self, name)}")
        low = not_negative("beta: low", self.low)
        if not positive("beta: high", self.high) > low:
            raise InputError(f"beta: high {self.high} must be above low {self.low}")
        set_fields(self, a=float(self.a), b=float(self.b), low=low, high=float(self.high))

    def knots(self) -> tuple[Floats, Floats]:
        return self._knots

    @cached_property
    def _knots(self) -> tuple[Floats, Floats]:
        from scipy.special import betaincinv

        below = np.sin(np.linspace(0.0, np.pi / 2, 4097)) ** 2
        return self.low + (self.high - self.low) * betaincinv(self.a, self.b, below), below


@dataclass(frozen=True)
class Constant(AtomicLaw):
    """Always the same positive value."""

    value: float

    def __post_init__(self) -> None:
        set_fields(self, value=positive("constant", self.value))

    def atoms(self) -> tuple[Floats, Floats]:
        return np.array([self.value]), np.ones(1)


@dataclass(frozen=True)
class Discrete(AtomicLaw):
    """One of `values` (n,), with probabilities `weights` (n,), equal by default."""

    values: Sequence[float]
    weights: Sequence[float] | None = None

    def __post_init__(self) -> None:
        values = not_negatives("discrete: values", self.values)
        set_fields(self, values=values, weights=probabilities("discrete", self.weights, len(values)))

    def atoms(self) -> tuple[Floats, Floats]:
        return self._atoms

    @cached_property
    def _atoms(self) -> tuple[Floats, Floats]:
        assert self.weights is not None
        return ordered(self.values, self.weights)


def Empirical(values: ArrayLike) -> Discrete:
    """Return the law of a sample (n,), with equal probabilities."""
    sample = not_negatives("empirical: values", values)
    return Discrete(*(column.tolist() for column in ordered(sample, [1.0 / len(sample)] * len(sample))))


@dataclass(frozen=True)
class Exponential(Law):
    """Exponential with mean `scale`, conditioned on (0, high], perhaps inf."""

    scale: float
    high: float = 1.0

    def __post_init__(self) -> None:
        set_fields(self, scale=positive("exponential: mean", self.scale), high=upper_end("exponential: high", self.high, 0.0))

    @property
    def _mass(self) -> float:
        return -math.expm1(-self.high / self.scale)

    def mean(self) -> float:
        if math.isinf(self.high):
            return self.scale
        return self.scale - self.high * math.exp(-self.high / self.scale) / self._mass

    def cdf(self, x: ArrayLike) -> Floats:
        inside = np.clip(np.asarray(x, np.float64), 0.0, self.high)
        return np.asarray(-np.expm1(-inside / self.scale) / self._mass)

    def support(self) -> tuple[float, float]:
        return 0.0, self.high

    def encode(self, builder: Builder) -> int:
        return builder.node(EXPONENTIAL, self.scale, self._mass, self.high)


@dataclass(frozen=True)
class Pareto(Law):
    """Pareto with density ∝ x^(−shape−1) on [low, high], perhaps inf."""

    shape: float
    low: float
    high: float = 1.0

    def __post_init__(self) -> None:
        low = positive("pareto: low", self.low)
        if self.high == 1 <= low:
            raise InputError(f"pareto: high is 1 unless given, and must be above low {low:g}; high inf has no upper end")
        set_fields(self, shape=positive("pareto: shape", self.shape), low=low, high=upper_end("pareto: high", self.high, low))

    @property
    def _mass(self) -> float:
        return -math.expm1(self.shape * math.log(self.low / self.high)) if math.isfinite(self.high) else 1.0

    def mean(self) -> float:
        shape, low, high = self.shape, self.low, self.high
        if math.isinf(high):
            return shape * low / (shape - 1) if shape > 1 else math.inf
        if shape == 1:
            return low * math.log(high / low) / self._mass
        tail = math.expm1((shape - 1) * math.log(low / high))
        return -shape * low / (shape - 1) * tail / self._mass

    def cdf(self, x: ArrayLike) -> Floats:
        inside = np.clip(np.asarray(x, np.float64), self.low, self.high)
        return np.asarray((1.0 - (self.low / inside) ** self.shape) / self._mass)

    def support(self) -> tuple[float, float]:
        return self.low, self.high

    def encode(self, builder: Builder) -> int:
        return builder.tabled(PARETO, [1.0], [-1.0 / self.shape], self.low, self._mass, self.high)


@dataclass(frozen=True)
class Mixture(Law):
    """A draw from laws[k], with probability weights[k]."""

    laws: Sequence[Law]
    weights: Sequence[float] | None = None

    def __post_init__(self) -> None:
        laws = tuple(self.laws)
        if not laws or not all(isinstance(law, Law) for law in laws):
            raise InputError("mixture: laws must be a list of at least one law")
        set_fields(self, laws=laws, weights=probabilities("mixture", self.weights, len(laws)))

    def _parts(self) -> list[tuple[Law, float]]:
        assert self.weights is not None
        return [(law, weight) for law, weight in zip(self.laws, self.weights, strict=True) if weight > 0]

    def mean(self) -> float:
        return math.fsum(weight * law.mean() for law, weight in self._parts())

    def mean_slots(self) -> float:
        return math.fsum(weight * law.mean_slots() for law, weight in self._parts())

    def cdf(self, x: ArrayLike) -> Floats:
        return np.asarray(sum(weight * law.cdf(x) for law, weight in self._parts()))

    def support(self) -> tuple[float, float]:
        ends = [law.support() for law, _ in self._parts()]
        return min(low for low, _ in ends), max(high for _, high in ends)

    def atoms(self) -> tuple[Floats, Floats] | None:
        parts = [(law.atoms(), weight) for law, weight in self._parts()]
        values: list[float] = []
        weights: list[float] = []
        for part, weight in parts:
            if part is None:
                return None
            values.extend(part[0])
            weights.extend(part[1] * weight)
        return ordered(values, weights)

    def encode(self, builder: Builder) -> int:
        parts = self._parts()
        children = [law.encode(builder) for law, _ in parts]
        return builder.tabled(MIXTURE, cumulate([weight for _, weight in parts]), children)
