"""Laws with dependent demands, or services that depend on demands."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from packenv.errors import InputError
from packenv.workloads.laws.encoding import CONDITIONAL, STEPS, Builder, Floats, cumulate
from packenv.workloads.laws.law import Law, not_negatives, probabilities, set_fields


@dataclass(frozen=True)
class Joint:
    """Demand `vectors` (m, D), in units of capacity, with `weights` (m,)."""

    vectors: Sequence[Sequence[float]]
    weights: Sequence[float] | None = None

    def __post_init__(self) -> None:
        vectors = tuple(not_negatives(f"joint: vector {k}", vector) for k, vector in enumerate(self.vectors))
        if not vectors:
            raise InputError("joint: vectors must be a list of at least one demand vector")
        for k, vector in enumerate(vectors):
            if len(vector) != len(vectors[0]):
                raise InputError(f"joint: vector {k} has {len(vector)} resources, vector 0 has {len(vectors[0])}")
            if max(vector) == 0:
                raise InputError(f"joint: vector {k} is all 0")
        set_fields(self, vectors=vectors, weights=probabilities("joint", self.weights, len(vectors)))

    @property
    def D(self) -> int:
        """Number of resources."""
        return len(self.vectors[0])

    def atoms(self) -> tuple[Floats, Floats]:
        """Return vectors (m, D) and their probabilities (m,), in given order."""
        return np.array(self.vectors, np.float64), np.array(self.weights, np.float64)

    def mean(self) -> Floats:
        """Return the (D,) mean demand."""
        vectors, weights = self.atoms()
        return np.asarray(weights @ vectors)

    def encode(self, builder: Builder) -> None:
        """Add the vectors and their weights to the tables of a workload."""
        vectors, weights = self.atoms()
        builder.vectors(builder.tabled(STEPS, cumulate(weights), np.arange(len(weights))), vectors)


@dataclass(frozen=True)
class Conditional:
    """Services by demand: laws[k] for vector k of a Joint."""

    laws: Sequence[Law]

    def __post_init__(self) -> None:
        laws = tuple(self.laws)
        if not laws or not all(isinstance(law, Law) for law in laws):
            raise InputError("conditional: laws must be a list of laws, one for each demand vector")
        set_fields(self, laws=laws)

    def means(self) -> Floats:
        """Return (m,) mean services in slots, one per demand vector."""
        return np.array([law.mean_slots() for law in self.laws])

    def support(self) -> tuple[float, float]:
        """Return the infimum and supremum over all laws, in slots."""
        ends = [law.support() for law in self.laws]
        return min(low for low, _ in ends), max((high for _, high in ends), default=math.inf)

    def encode(self, builder: Builder) -> int:
        """Add all laws to a workload's tables, and return the node's number."""
        children = [law.encode(builder) for law in self.laws]
        return builder.tabled(CONDITIONAL, np.ones(len(children)), children)
