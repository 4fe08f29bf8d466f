"""Small instances on which greedy packing does badly: a few sizes, with exact ρ* and their locked configurations.

A server is locked if every task that leaves it is replaced by one of the same size: its free room is too small for the
smallest size, and together with the room of a leaving task it is too small for any larger size. Policies that place the
largest task first stay in a locked configuration as long as tasks of each size wait, however much room is wasted. A linear
program finds the mix of sizes of which locked servers serve the smallest share of ρ*.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from packenv.errors import InputError
from packenv.theory.capacity.configuration_bounds import served_by
from packenv.theory.configurations import maximal_configurations
from packenv.workloads.laws.law import Law
from packenv.workloads.laws.sizes import Discrete
from packenv.workloads.workload import Workload

Ints = NDArray[np.int64]

MOST_CONFIGURATIONS = 5_000
MOST_SERVERS = 12


@dataclass(frozen=True)
class Instance:
    """Tasks of a few integer `sizes`, decreasing, with relative frequencies `weights`, on servers of an integer `capacity`."""

    sizes: tuple[int, ...]
    capacity: int
    weights: tuple[int, ...]
    servers: int
    service: Law

    def shares(self) -> NDArray[np.float64]:
        """(n,) probabilities of the sizes."""
        return np.array(self.weights) / sum(self.weights)

    def configurations(self) -> Ints:
        """(m, n) the maximal configurations. Raises InputError if they are too many."""
        return np.asarray(maximal_configurations(self.sizes, self.capacity, MOST_CONFIGURATIONS), np.int64)

    def rho(self) -> float:
        """ρ* (tasks in service), from all configurations."""
        return served_by(self.configurations(), self.shares(), self.servers)

    def workload(self, load: float, name: str = "instance") -> Workload:
        """The workload with this `load`, a share of ρ*."""
        rho = self.rho()
        sizes = Discrete([size / self.capacity for size in self.sizes], self.shares().tolist())
        workload = Workload(sizes=sizes, service=self.service, servers=self.servers, load=load, name=name)
        return workload.knowing(rho, rho)


def locked(sizes: tuple[int, ...], capacity: int) -> Ints:
    """(m, n) the configurations of decreasing sizes (n) in which a server is locked; none if there are too many to list."""
    most = [capacity // size for size in sizes]
    if np.prod([count + 1 for count in most]) > 20 * MOST_CONFIGURATIONS:
        return np.zeros((0, len(sizes)), np.int64)
    counts = np.indices([count + 1 for count in most]).reshape(len(sizes), -1).T
    left = capacity - counts @ np.array(sizes)
    larger = np.array([capacity + 1, *sizes[:-1]])  # the next larger size; none for the largest
    step = np.where(counts > 0, larger - np.array(sizes), capacity + 1).min(axis=1)
    return np.asarray(counts[(left >= 0) & (left < min(sizes[-1], capacity)) & (left < step) & (counts.sum(axis=1) > 0)])


def worst_lock(sizes: tuple[int, ...], capacity: int, service: Law) -> tuple[float, Instance] | None:
    """The mix of sizes of which locked servers serve the smallest share of ρ*, with that share; None if no lock wastes room.

    min g  s.t.  Σ_k a_k k <= Σ_c w_c c,  Σ a = 1,  Σ w = g:
    one server in the locked configurations k, in shares a, holds what g servers in configurations c can hold.
    """
    from scipy.optimize import linprog

    try:
        every = np.asarray(maximal_configurations(sizes, capacity, MOST_CONFIGURATIONS), np.int64)
    except InputError:
        return None
    stuck = locked(sizes, capacity)
    if len(stuck) == 0 or (stuck @ np.array(sizes) == capacity).all():
        return None
    cost = np.concatenate([np.zeros(len(stuck)), np.ones(len(every))])
    cover = np.hstack([stuck.T, -every.T])
    equality = np.concatenate([np.ones(len(stuck)), np.zeros(len(every))])[None]
    solution = linprog(cost, cover, np.zeros(len(sizes)), equality, [1.0])
    parts = [Fraction(share).limit_denominator(MOST_SERVERS) for share in solution.x[: len(stuck)].tolist()]
    servers = int(np.lcm.reduce([part.denominator for part in parts]))
    weights = np.array([int(part * servers) for part in parts]) @ stuck
    kept = np.flatnonzero(weights)
    if sum(parts) != 1 or servers > MOST_SERVERS or len(kept) == 0:
        return None
    chosen = tuple(sizes[i] for i in kept), capacity, tuple(weights[kept].tolist()), servers, service
    return float(solution.fun), Instance(*chosen)
