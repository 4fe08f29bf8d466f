"""Laws as flat tables, one type for the compiled sampler.

A law becomes a node: a kind, up to three numbers, and rows of one shared table. `Builder` collects the nodes and rows, and
`packenv.workloads.sampling` draws from them. Nothing is compiled here.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from packenv.units import to_units

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Kinds of node, with what a, b, c and the rows (cumulative weight, value) mean.
CONSTANT = 0  # a: the value
UNIFORM = 1  # a: low, b: width, c: high
EXPONENTIAL = 2  # a: mean, b: mass below c, c: high
PARETO = 3  # a: low, b: mass below c, c: high; table value of the one row: -1 / shape
LOGNORMAL = 4  # a: mean of the logarithm, b: its standard deviation
GEOMETRIC = 5  # a: mean of the exponential variable whose floor, plus 1, is geometric
STEPS = 6  # rows: atoms in increasing order
LINEAR = 7  # rows: knots of a piecewise-linear distribution function, from weight 0 to weight 1
MIXTURE = 8  # rows: child nodes
CONDITIONAL = 9  # rows: one child node for each demand vector

# Arrival processes.
POISSON, BERNOULLI, PERIODIC, MODULATED = 0, 1, 2, 3

NONE = -1

node_type = np.dtype([("kind", "i8"), ("a", "f8"), ("b", "f8"), ("c", "f8"), ("first", "i8"), ("count", "i8")], align=True)

plan_type = np.dtype(
    [
        ("service", "i8"),  # node
        ("vectors", "i8"),  # node that chooses the demand vector, NONE if resources have laws of their own
        ("arrivals", "i8"),  # kind of arrival process
        ("batch", "i8"),  # node of the number of tasks in a job, NONE if it is always 1
        ("alike", "i8"),  # 1 if the tasks of a job share its demand vector
        ("profile", "i8"),  # node of the place of an arrival in the period, in periods
        ("period", "f8"),  # slots
        ("cyclic", "i8"),  # 1 if modulating phases follow each other in order
    ],
    align=True,
)


class Laws(NamedTuple):
    """Tables of a workload, for drawing its rows (CONTRIBUTING, decision 1)."""

    node: NDArray[np.void]  # (nodes,) node_type
    table: Floats  # (rows, 2) cumulative weight, value
    vector: Ints  # (V, D) units: the demand vectors of a joint law
    size: Ints  # (D,) node of each resource's demand
    phase: Floats  # (phases, 3) relative arrival rate, mean sojourn in slots, cumulative share of time
    plan: NDArray[np.void]  # (1,) plan_type


def cumulate(weights: ArrayLike) -> Floats:
    """Return running sums of weights, exactly 1 at the end."""
    sums = np.cumsum(np.asarray(weights, np.float64))
    sums[sums >= sums[-1]] = 1.0
    return np.minimum(sums, 1.0)


class Builder:
    """Collector of nodes and rows, filled by laws."""

    def __init__(self) -> None:
        self._nodes: list[tuple[int, float, float, float, int, int]] = []
        self._rows: list[Floats] = []
        self._length = 0
        self._size: list[int] = []
        self._vector: Ints | None = None
        self._phase: Floats = np.zeros((0, 3))
        self.plan = np.zeros(1, plan_type)
        for name in ("service", "vectors", "batch", "profile"):
            self.plan[name] = NONE

    def node(self, kind: int, a: float = 0.0, b: float = 0.0, c: float = 0.0) -> int:
        """Add a node without rows, and return its number."""
        self._nodes.append((kind, a, b, c, 0, 0))
        return len(self._nodes) - 1

    def tabled(self, kind: int, weight: ArrayLike, value: ArrayLike, a: float = 0.0, b: float = 0.0, c: float = 0.0) -> int:
        """Add a node with rows (cumulative weight, value); return its number."""
        rows = np.column_stack([np.asarray(weight, np.float64), np.asarray(value, np.float64)])
        self._nodes.append((kind, a, b, c, self._length, len(rows)))
        self._rows.append(rows)
        self._length += len(rows)
        return len(self._nodes) - 1

    def sizes(self, nodes: list[int]) -> None:
        """Set one independent node per resource."""
        self._size = nodes

    def vectors(self, choice: int, vectors: Floats) -> None:
        """Set demand vectors (V, D) in units of capacity, and their law."""
        self.plan["vectors"] = choice
        self._vector = to_units(vectors)

    def phases(self, rates: ArrayLike, sojourns: ArrayLike) -> None:
        """Set modulating phases, visited equally often, with rates of mean 1."""
        rate, sojourn = np.asarray(rates, np.float64), np.asarray(sojourns, np.float64)
        share = sojourn / sojourn.sum()
        self._phase = np.column_stack([rate / (rate @ share), sojourn, cumulate(share)])

    def laws(self) -> Laws:
        """Return the tables of everything collected so far."""
        resources = len(self._size) if self._vector is None else self._vector.shape[1]
        return Laws(
            node=np.array(self._nodes, node_type),
            table=np.concatenate([np.zeros((0, 2)), *self._rows]),
            vector=np.zeros((0, resources), np.int64) if self._vector is None else np.ascontiguousarray(self._vector),
            size=np.array(self._size, np.int64),
            phase=np.ascontiguousarray(self._phase),
            plan=self.plan.copy(),
        )
