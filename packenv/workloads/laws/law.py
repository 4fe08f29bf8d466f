"""Base classes of laws, and checks of their parameters."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from packenv.errors import InputError
from packenv.inputs.numbers import excerpt
from packenv.units import UNIT
from packenv.workloads.laws.encoding import CONSTANT, LINEAR, STEPS, UNIFORM, Builder, cumulate

Floats = NDArray[np.float64]

CERTAIN = 1e-9
"""Tolerance of the sum of probabilities, 1."""


LEAST_TAIL = 1e-12
"""A probability below this is rounding."""


class Law(ABC):
    """Distribution of a size, a service or tasks, X ≥ 0."""

    @abstractmethod
    def mean(self) -> float:
        """Return E[X]."""

    @abstractmethod
    def cdf(self, x: ArrayLike) -> Floats:
        """Return P(X ≤ x), right-continuous, for any shape."""

    @abstractmethod
    def support(self) -> tuple[float, float]:
        """Return the infimum and supremum of X, which may be inf."""

    @abstractmethod
    def encode(self, builder: Builder) -> int:
        """Add the law to a workload's tables, and return its node's number."""

    def atoms(self) -> tuple[Floats, Floats] | None:
        """Return increasing values and probabilities, None for infinitely many values."""
        return None

    def cdf_units(self, units: ArrayLike) -> Floats:
        """Return P(X in integer units ≤ `units`), rounded like `packenv.units.to_units`."""
        k = np.asarray(units, np.float64)
        below = self.cdf(np.nextafter((k + 1.0 - 1e-3) / UNIT, 0.0))
        return np.where(k < 1, np.where(k < 0, 0.0, self.cdf(0.0)), below)

    def mean_slots(self) -> float:
        """Return E[max(1, ⌈X⌉)], the mean number of slots or tasks.

        It is 1 + Σ P(X > k) over k ≥ 1, term by term up to 2^16, then by quadrature over octaves.
        """
        if math.isinf(self.mean()):
            return math.inf
        total = 1.0 + float(np.sum(1.0 - self.cdf(np.arange(1.0, 2.0**16))))
        nodes, weights = np.polynomial.legendre.leggauss(32)
        # Octaves beyond, by Gauss and Legendre.
        low = 2.0**16 - 0.5
        while low < min(self.support()[1], 2.0**53):
            total += float(weights @ (1.0 - self.cdf(low * (1.5 + 0.5 * nodes)))) * low / 2
            low *= 2.0
        return total

    def mean_square(self) -> float:
        """Return E[X²] by quadrature over octaves, perhaps infinite."""
        nodes, weights = np.polynomial.legendre.leggauss(32)
        starts = 2.0 ** np.arange(-10, 54)
        x = starts[:, None] * (1.5 + 0.5 * nodes)
        beyond = 1.0 - self.cdf(x)
        octaves = (x * np.where(beyond > LEAST_TAIL, beyond, 0.0)) @ weights * starts
        seen = octaves[beyond[:, -1] > LEAST_TAIL]
        if math.isinf(self.support()[1]) and len(seen) > 1 and seen[-1] > seen[-2]:
            return math.inf
        return float(octaves.sum()) + starts[0] ** 2


class AtomicLaw(Law):
    """Law with finitely many values, defined by `atoms`."""

    @abstractmethod
    def atoms(self) -> tuple[Floats, Floats]: ...

    def mean(self) -> float:
        values, weights = self.atoms()
        return float(values @ weights)

    def mean_slots(self) -> float:
        values, weights = self.atoms()
        return float(np.maximum(np.ceil(values), 1.0) @ weights)

    def mean_square(self) -> float:
        values, weights = self.atoms()
        return float(values**2 @ weights)

    def cdf(self, x: ArrayLike) -> Floats:
        values, weights = self.atoms()
        below = np.concatenate([[0.0], cumulate(weights)])
        return np.asarray(below[np.searchsorted(values, np.asarray(x, np.float64), side="right")])

    def support(self) -> tuple[float, float]:
        values, weights = self.atoms()
        possible = values[weights > 0]
        return float(possible[0]), float(possible[-1])

    def encode(self, builder: Builder) -> int:
        values, weights = self.atoms()
        if len(values) == 1:
            return builder.node(CONSTANT, values[0])
        return builder.tabled(STEPS, cumulate(weights), values)


class LinearLaw(Law):
    """Law whose distribution function is linear between its `knots`."""

    @abstractmethod
    def knots(self) -> tuple[Floats, Floats]:
        """Return non-decreasing values, and the distribution function from 0 to 1."""

    def mean(self) -> float:
        values, below = self.knots()
        return float(np.diff(below) @ (values[1:] + values[:-1]) / 2)

    def mean_slots(self) -> float:
        values, below = self.knots()
        whole = np.floor(values)
        area = whole * (whole + 1) / 2 + (values - whole) * (whole + 1)  # ∫ ⌈x⌉ dx from 0
        width = np.diff(values)
        mean_ceiling = np.where(width > 0, np.diff(area) / np.where(width > 0, width, 1.0), np.maximum(np.ceil(values[1:]), 1.0))
        return float(np.diff(below) @ mean_ceiling)

    def cdf(self, x: ArrayLike) -> Floats:
        values, below = self.knots()
        return np.asarray(np.interp(np.asarray(x, np.float64), values, below))

    def support(self) -> tuple[float, float]:
        values, below = self.knots()
        return float(values[below <= 0.0][-1]), float(values[below >= 1.0][0])

    def encode(self, builder: Builder) -> int:
        values, below = self.knots()
        if len(values) == 2:
            return builder.node(UNIFORM, values[0], values[1] - values[0], values[1])
        return builder.tabled(LINEAR, below, values)


def positive(name: str, value: float) -> float:
    """Return the value as a finite float above 0, else raise InputError."""
    number = _number(name, value)
    if not (math.isfinite(number) and number > 0):
        raise InputError(f"{name} must be positive and finite, not {value}")
    return number


def not_negative(name: str, value: float) -> float:
    """Return the value as a finite float ≥ 0, else raise InputError."""
    number = _number(name, value)
    if not (math.isfinite(number) and number >= 0):
        raise InputError(f"{name} must be at least 0 and finite, not {value}")
    return number


def upper_end(name: str, value: float, above: float) -> float:
    """Return the value as a float above `above`, else raise InputError."""
    number = _number(name, value)
    if not number > above:
        raise InputError(f"{name} must be above {above:g}, not {value}")
    return number


def not_negatives(name: str, values: ArrayLike) -> tuple[float, ...]:
    """Return at least one finite value ≥ 0, else raise InputError."""
    array = _numbers(name, values)
    if array.ndim != 1 or len(array) == 0:
        raise InputError(f"{name} must be a list of at least one number, not an array of shape {array.shape}")
    bad = ~(np.isfinite(array) & (array >= 0))
    if bad.any():
        i = int(np.argmax(bad))
        raise InputError(f"{name}: number {i} must be at least 0 and finite, not {array[i]}")
    return tuple(array.tolist())


def probabilities(name: str, weights: ArrayLike | None, count: int) -> tuple[float, ...]:
    """Return `count` weights ≥ 0 of sum 1, or raise InputError."""
    if weights is None:
        return (1.0 / count,) * count
    checked = not_negatives(f"{name}: weights", weights)
    if len(checked) != count:
        raise InputError(f"{name}: {len(checked)} weights for {count}")
    if abs(math.fsum(checked) - 1.0) > CERTAIN:
        raise InputError(f"{name}: weights sum to {math.fsum(checked):.12g}, not 1 (fractions such as 1/3 are exact)")
    return checked


def set_fields(law: object, **values: object) -> None:
    """Set fields of a frozen dataclass while it is being made."""
    for name, value in values.items():
        object.__setattr__(law, name, value)


def ordered(values: Sequence[float], weights: Sequence[float]) -> tuple[Floats, Floats]:
    """Return distinct increasing values, and the sum of their weights."""
    distinct, place = np.unique(np.asarray(values, np.float64), return_inverse=True)
    return distinct, np.bincount(place, weights=np.asarray(weights, np.float64)).astype(np.float64)


def _number(name: str, value: float) -> float:
    try:
        if isinstance(value, str):
            raise TypeError
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{name} must be a number, not {excerpt(repr(value), quoted=False)}") from None


def _numbers(name: str, values: ArrayLike) -> Floats:
    try:
        return np.asarray(np.asarray(values) + 0, np.float64)  # + 0: texts are no numbers
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{name} must be numbers") from None
