"""A lower bound on the cost of machines for a random workload.

It is the linear program of ρ* over kinds of machines:

    min Σ c_g n_g   s.t.   ρ*(n) >= load,   n >= 0,   load = rate · mean service

ρ* is concave in the numbers n of machines. Each proof of its upper bound is a plane above it. Let tasks on a machine of kind g
have a total price of at most W_g, and let E be the mean price of a task. Then load · E <= Σ n_g W_g for every n that supports
the load. Planes are added at the program's n until its value is close to the load supported by the lower bound on ρ*(n).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.optimize import linprog

from packenv.planning.lower_bounds.table_cost import PARTS
from packenv.theory.capacity.bracket import law_and_kinds
from packenv.theory.capacity.linear_program import Floats, Ints, ServerKinds
from packenv.theory.capacity.max_workload import stream_bracket
from packenv.theory.capacity.one_resource.certificate import Bounded, require
from packenv.theory.capacity.several_resources.certificate import Priced, Scalarised
from packenv.theory.capacity.several_resources.demand_law import VectorKinds
from packenv.workloads.servers import Servers
from packenv.workloads.workload import Workload

ROUNDS = 12


@dataclass(frozen=True)
class Plane:
    """A proof of the upper bound on ρ*, counted `times` times."""

    proof: Bounded | Scalarised | Priced
    times: int


@dataclass(frozen=True)
class StreamCostProof:
    """Planes above ρ* that prove a least cost."""

    planes: tuple[Plane, ...]

    def value(self, workload: Workload, cost: Sequence[Fraction]) -> Fraction:
        """Return a cost below which no mix supports the workload.

        The workload has one server of each kind. For each plane load <= Σ n_g a_g, a_g the bound on ρ* of one machine of kind
        g. With weights
        Σ times · load <= Σ n_g Σ times · a_g, and Σ n_g c_g >= Σ times · load · min_g c_g / Σ times · a_g.
        """
        supply = [Fraction(0)] * len(cost)
        for plane in self.planes:
            require(plane.times > 0, "a plane that does not count")
            for kind, most in enumerate(each_kind(plane.proof, workload)):
                supply[kind] += plane.times * most
        load = Fraction(workload.rate) * Fraction(workload.mean_service) * sum(plane.times for plane in self.planes)
        return load * min(price / most for price, most in zip(cost, supply, strict=True) if most > 0)


def each_kind(proof: Bounded | Scalarised | Priced, workload: Workload) -> list[Fraction]:
    """Return the proof's bound for one machine of each kind, (G,)."""
    law, _ = law_and_kinds(workload)
    units = workload.servers.units
    single = np.ones(1, np.int64)
    alone: list[Any] = [ServerKinds(row, single) if workload.D == 1 else VectorKinds(row[None], single) for row in units]
    return [proof.value(law, kinds) for kinds in alone]


class StreamCost:
    """Planes and the best proof; the workload has one of each kind."""

    def __init__(self, workload: Workload, cost: Sequence[Fraction]) -> None:
        self.workload, self.cost = workload, cost
        self.load = workload.rate * workload.mean_service
        self.proofs: list[Bounded | Scalarised | Priced] = []
        self.supply: list[list[float]] = []  # (planes, G)
        self.machines = np.ones(len(cost))  # (G,) of the program
        self.best: StreamCostProof | None = None
        self.value = Fraction(0)

    def run(self, gap: float, seconds: float) -> None:
        """Add planes until the program's machines support the load to within the gap."""
        for _ in range(ROUNDS):
            counts = np.maximum(np.round(self.machines / self.machines.max() * PARTS), 1).astype(np.int64)
            bracket = stream_bracket(self._on(counts), gap, seconds / ROUNDS)
            self.proofs.append(bracket.bounded)
            self.supply.append([float(most) for most in each_kind(bracket.bounded, self.workload)])
            supported = bracket.lower * float(self.machines.max()) / PARTS
            if self.best is not None and supported >= self.load * (1 - 2 * gap):
                return
            self._solve()

    def necessary(self) -> tuple[Floats, Floats]:
        """Return rows (rows, G) and needs (rows,) of every mix that supports the load."""
        return np.array(self.supply), np.full(len(self.supply), self.load)

    def _on(self, counts: Ints) -> Workload:
        servers = Servers(np.repeat(self.workload.servers.capacity, counts, axis=0))
        return self.workload.with_(servers=servers, rate=self.workload.rate)

    def _solve(self) -> None:
        """Solve the program over the planes so far, and store a better proof."""
        price = np.array([float(cost) for cost in self.cost])
        solution = linprog(price, A_ub=-np.array(self.supply), b_ub=np.full(len(self.supply), -self.load), method="highs")
        self.machines = np.maximum(solution.x, 0.0)
        # The dual weights of the planes, as whole numbers, are the proof.
        weights = -solution.ineqlin.marginals
        counts = np.round(weights / weights.max() * 2**20).astype(np.int64).tolist()
        planes = [Plane(proof, times) for proof, times in zip(self.proofs, counts, strict=True) if times > 0]
        proof = StreamCostProof(tuple(planes))
        value = proof.value(self.workload, self.cost)
        if value > self.value:
            self.best, self.value = proof, value
