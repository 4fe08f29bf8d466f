"""ρ* the slow, obvious way: every configuration that fits, and one linear program over all of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product

import numpy as np
from scipy.optimize import linprog

from packenv import Workload
from packenv.theory.capacity.linear_program import ServerKinds
from packenv.theory.capacity.one_resource.size_law import SizeLaw
from packenv.units import UNIT
from packenv.workloads.laws import Discrete, Fixed
from packenv.workloads.laws.law import Law


def configurations(sizes: Sequence[int], capacity: int) -> Iterator[tuple[int, ...]]:
    """All that fit, the empty one too."""
    if not sizes:
        yield ()
        return
    for count in range(capacity // sizes[0] + 1):
        for rest in configurations(sizes[1:], capacity - count * sizes[0]):
            yield (count, *rest)


def vector_configurations(sizes: Sequence[Sequence[int]], capacity: Sequence[int]) -> list[tuple[int, ...]]:
    """The same for demand vectors (n, D)."""
    most = [min(room // amount for amount, room in zip(size, capacity, strict=True) if amount) for size in sizes]
    counts = np.array(list(product(*(range(n + 1) for n in most))))
    return [tuple(row) for row in counts[(counts @ np.array(sizes) <= np.array(capacity)).all(axis=1)].tolist()]


def best(shares: Sequence[float], kinds: Sequence[tuple[int, Sequence[tuple[int, ...]]]]) -> float:
    """max ρ for servers given as (how many, the configurations that fit)."""
    held = np.array([one for _, fitting in kinds for one in fitting], float)
    kind = np.array([g for g, (_, fitting) in enumerate(kinds) for _ in fitting])
    cover = np.column_stack([np.array(shares), -held.T])
    use = np.column_stack([np.zeros(len(kinds)), [kind == g for g in range(len(kinds))]])
    objective = np.append(-1.0, np.zeros(len(held)))
    limits = np.append(np.zeros(len(shares)), [count for count, _ in kinds])
    return float(-linprog(objective, A_ub=np.vstack([cover, use]), b_ub=limits, method="highs").fun)


def max_workload_of(sizes: Sequence[int], shares: Sequence[float], servers: Sequence[tuple[int, int]]) -> float:
    """ρ* of sizes in units and servers as (how many, units)."""
    return best(shares, [(count, list(configurations(sizes, capacity))) for count, capacity in servers])


def units_law(sizes: Sequence[int], weights: Sequence[float]) -> Discrete:
    """A law with these sizes in units."""
    return Discrete([size / UNIT for size in sizes], (np.array(weights) / np.sum(weights)).tolist())


def setting(sizes: Law, servers: object = 1) -> Workload:
    """A workload of which only sizes and servers matter."""
    return Workload(sizes=sizes, service=Fixed(1), servers=servers, rate=0.01)  # type: ignore[arg-type]


def law_of(sizes: Sequence[int], mass: Sequence[float], exact: bool = True) -> SizeLaw:
    where = np.array(sizes, np.int64)
    return SizeLaw(where, where, np.array(mass, np.float64), exact)


def kinds(*servers: tuple[int, int]) -> ServerKinds:
    """From (how many, units), decreasing in units."""
    return ServerKinds(np.array([units for _, units in servers]), np.array([count for count, _ in servers]))


def exactly(law: SizeLaw) -> list[Fraction]:
    """Its probabilities."""
    masses = [Fraction(mass) for mass in law.mass.tolist()]
    return [mass / sum(masses) for mass in masses]
