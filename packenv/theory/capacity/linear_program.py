"""The linear program for ρ*, by column generation (PAPERS §1.2).

    max ρ   s.t.   Σ_k w_k k_j >= ρ p_j for every type j,   Σ_{k of kind l} w_k <= n_l for every kind l of server,   w >= 0

w_k is the number of servers that hold configuration k, p_j the share of type j. The dual variables are prices y of the
types with Σ p_j y_j = 1. Any such prices bound ρ* by Σ_l n_l max_k <k, y>, the maximum over the configurations that fit a
server of kind l. A `Pricing` finds that maximum. It also finds configurations close to the maximum, which become new columns.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple, Protocol

import highspy
import numpy as np
from numpy.typing import NDArray


class QuietHighs(highspy.Highs):
    """A solver that prints nothing, not even the banner of version 1.16."""

    def enableCallbacks(self) -> None:  # called by the constructor, and prints the banner
        self.setOptionValue("output_flag", False)
        super().enableCallbacks()


Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

PRIMAL = 4  # the primal simplex stays feasible when columns are added: measured, 2.6 times as fast as HiGHS's own choice
DAMPING = 0.5  # weight of the best prices so far in the next ones (Wentges smoothing): the program's own prices oscillate


class ServerKinds(NamedTuple):
    """Servers of one resource: (G,) decreasing capacities and their numbers."""

    capacity: Ints  # units
    number: Ints


class ConfigurationColumns(NamedTuple):
    """Configurations: numbers of tasks of each type, and server kinds."""

    counts: Floats  # (m, n)
    kind: Ints  # (m,)


class Pricing(Protocol):
    """Finds the configurations of the largest worth at given prices."""

    def __call__(self, prices: Floats) -> tuple[Floats, ConfigurationColumns]:
        """(G,) largest worth, and near configurations with every type."""
        ...


Enough = Callable[[float, float], bool]
"""Whether to stop when the program has this value and the prices prove this bound."""


class SolvedProgram(NamedTuple):
    """Weights (m,) attaining `value`, prices (n,) proving `bound`."""

    value: float
    bound: float
    columns: ConfigurationColumns
    weights: Floats
    prices: Floats

    def in_use(self) -> ConfigurationColumns:
        """The columns of positive weight."""
        used = self.weights > 0
        return ConfigurationColumns(self.columns.counts[used], self.columns.kind[used])


def generate(
    program: ConfigurationProgram,
    pricing: Pricing,
    prices: Floats,
    enough: Enough,
    deadline: float,
    start: ConfigurationColumns | None = None,
) -> SolvedProgram:
    """Generate columns, beginning with `prices` (n,) and the columns `start`.

    Ends when `enough` says so, when no new column is found, or after `deadline` (in the time of time.monotonic).
    """
    shares, kinds = program.shares, program.kinds
    if start is not None:
        program.add(start)
    best, bound = prices, np.inf
    while True:
        worth, columns = pricing(prices)
        reached = float(kinds.number @ worth) / float(shares @ prices)
        if reached < bound:
            best, bound = prices, reached
        news = program.add(columns)
        value, duals = program.solve()
        if enough(value, bound) or (news == 0 and (prices == duals).all()) or time.monotonic() > deadline:
            return SolvedProgram(value, bound, program.columns(), program.weights(), best / (shares @ best))
        prices = duals if news == 0 else DAMPING * best / (shares @ best) + (1 - DAMPING) * duals / (shares @ duals)


class ConfigurationProgram:
    """The linear program over the columns so far.

    shares      (n,) p_j, the probabilities of the types
    increasing  types are in increasing order of size, and a task may take the place of one of the next type. Prices then
                increase with size, and far fewer columns are needed.
    """

    def __init__(self, shares: Floats, kinds: ServerKinds, increasing: bool = False) -> None:
        self.n, self.shares, self.kinds = len(shares), shares, kinds
        self.counts: list[Floats] = []
        self.kind: list[int] = []
        self.keys: set[bytes] = set()
        self.highs = QuietHighs()
        self.highs.setOptionValue("output_flag", False)
        self.highs.setOptionValue("threads", 1)
        self.highs.setOptionValue("simplex_strategy", PRIMAL)
        infinity, rows, empty = highspy.kHighsInf, self.n + len(kinds.number), np.zeros(0)
        low = np.concatenate([np.zeros(self.n), np.full(len(kinds.number), -infinity)])
        high = np.concatenate([np.full(self.n, infinity), kinds.number])
        self.highs.addRows(rows, low, high, 0, np.zeros(rows, np.int32), empty.astype(np.int32), empty)
        self.highs.addCol(-1.0, 0.0, infinity, self.n, np.arange(self.n, dtype=np.int32), -shares)  # ρ
        moves = self.n - 1 if increasing else 0
        self.first = 1 + moves  # columns before those of the configurations: ρ, and the moves to the next type
        if moves:
            places = np.arange(moves, dtype=np.int32)
            free, unbounded = np.zeros(moves), np.full(moves, infinity)
            rows_of = np.column_stack([places, places + 1]).ravel()
            self.highs.addCols(moves, free, free, unbounded, 2 * moves, 2 * places, rows_of, np.tile([1.0, -1.0], moves))

    def add(self, columns: ConfigurationColumns) -> int:
        """Add new columns, and return their number."""
        starts: list[int] = []
        indices: list[Ints] = []
        values: list[Floats] = []
        total = 0
        # Collect the new columns in sparse form.
        for counts, kind in zip(columns.counts, columns.kind.tolist(), strict=True):
            key = counts.tobytes() + bytes([kind % 256, kind // 256])
            if key not in self.keys:
                self.keys.add(key)
                self.counts.append(counts)
                self.kind.append(kind)
                types = np.flatnonzero(counts)
                starts.append(total)
                indices += [types, np.array([self.n + kind])]
                values += [counts[types], np.ones(1)]
                total += len(types) + 1
        # Add them to the solver in one call, as it keeps its basis.
        if starts:
            m = len(starts)
            bounds = np.zeros(m), np.full(m, highspy.kHighsInf)
            flat = np.concatenate(indices).astype(np.int32), np.concatenate(values)
            self.highs.addCols(m, np.zeros(m), *bounds, total, np.array(starts, np.int32), *flat)
        return len(starts)

    def solve(self) -> tuple[float, Floats]:
        """Solve the program: its value ρ and prices (n,)."""
        self.highs.run()
        return -self.highs.getInfo().objective_function_value, np.abs(np.array(self.highs.getSolution().row_dual)[: self.n])

    def columns(self) -> ConfigurationColumns:
        """All columns, in the order of `weights`."""
        return ConfigurationColumns(np.array(self.counts).reshape(-1, self.n), np.array(self.kind, np.int64))

    def weights(self) -> Floats:
        """(m,) how many servers hold each column."""
        return np.maximum(np.array(self.highs.getSolution().col_value)[self.first :], 0.0)
