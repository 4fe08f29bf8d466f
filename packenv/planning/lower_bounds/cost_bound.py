"""A lower bound on the cost of any mix, and necessary rows.

Every mix that meets the goals satisfies these linear rows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from scipy.optimize import LinearConstraint, milp

from packenv.errors import InputError
from packenv.planning.goals import Goal
from packenv.planning.kinds import Kinds
from packenv.planning.lower_bounds.cost_proof import CostProof
from packenv.planning.lower_bounds.device_columns import with_device_columns
from packenv.planning.lower_bounds.fewest_servers import wait_limits
from packenv.planning.lower_bounds.stream_cost import StreamCost, StreamCostProof
from packenv.planning.lower_bounds.table_cost import TableCost
from packenv.theory.capacity.linear_program import Floats
from packenv.workloads.demand import fits_on, largest_demands
from packenv.workloads.workload import Workload

CLOSE = 1e-9  # by which a row may be missed, for floats
MOST_CELLS = 2 * 10**7  # rows × mixes that are held against them


class CostRows(NamedTuple):
    """Σ_g supply_rg n_g >= need_r for every mix n that meets the goals.

    `room` marks the rows about room. The other rows require one machine that some task fits.
    """

    supply: Floats  # (rows, G)
    need: Floats  # (rows,)
    room: Floats  # (rows,) 1, or 0 for rows that ask for one machine that some task fits

    def admit(self, counts: Sequence[int]) -> bool:
        """Return whether the mix satisfies all rows."""
        return bool((self.supply @ np.array(counts) >= self.need * (1 - CLOSE)).all())


class CostBound(NamedTuple):
    """No mix costs less than `value`.

    proof        None if the bound only uses that each task must fit some machine
    of_integers  no mix of whole machines costs less: all cheaper ones violate a row
    """

    value: Fraction
    proof: CostProof | StreamCostProof | None
    rows: CostRows
    of_integers: Fraction


def least_cost(workload: Workload, goals: Sequence[Goal], kinds: Kinds, gap: float, seconds: float) -> CostBound:
    """Return the bound for a workload with one server of each kind.

    A stream uses the linear program of ρ* over kinds. A table uses the windows of `table_cost` for each goal on the wait.
    """
    # Rows of presence: each largest demand needs one machine that it fits.
    supply, need = [fits.astype(np.float64) for fits in _fitting(workload)], 1.0
    needs, rooms = [need] * len(supply), [0.0] * len(supply)
    value = max(min(price for price, fit in zip(kinds.cost, fits, strict=True) if fit) for fits in _fitting(workload))
    proof: CostProof | StreamCostProof | None = None
    searches: list[StreamCost | TableCost] = []
    if workload.jobs is None:
        searches.append(StreamCost(workload, kinds.cost))
    else:
        jobs, capacity = with_device_columns(workload.jobs, workload.servers)
        searches += [TableCost(jobs, capacity, kinds.cost, limit) for limit in wait_limits(workload, goals)]
    # Rows of room, and the best value that they prove.
    for search in searches:
        search.run(gap, seconds)
        if search.value > value:
            value, proof = search.value, search.best
        supply_rows, needed = search.necessary()
        supply += [*supply_rows]
        needs += needed.tolist()
        rooms += [1.0] * len(needed)
    rows = CostRows(np.array(supply), np.array(needs), np.array(rooms))
    return CostBound(value, proof, rows, max(value, whole_cost(rows, kinds)))


def rounded(rows: CostRows, kinds: Kinds, times: float) -> tuple[int, ...]:
    """Return the cheapest whole mix with `times` the needed room."""
    price = np.array([float(cost) for cost in kinds.cost])
    need = np.where((rows.room > 0) | (rows.room == 0).all(), times * rows.need, rows.need)
    solution = milp(price, constraints=LinearConstraint(rows.supply, lb=need), integrality=np.ones(len(price)))
    if solution.x is None:
        raise InputError("the cheapest mix of whole machines was not found: fewer kinds of machines")
    return tuple(math.floor(count + 0.5) for count in solution.x)


def whole_cost(rows: CostRows, kinds: Kinds) -> Fraction:
    """Return the least admitted cost, 0 for too many mixes."""
    # All numbers of the other kinds that cost no more than one such mix.
    upper = kinds.total(rounded(rows, kinds, 1.0))
    last = min(range(len(kinds)), key=lambda g: kinds.cost[g])
    rest = [g for g in range(len(kinds)) if g != last]
    ranges = [math.floor(upper / kinds.cost[g]) + 1 for g in rest]
    if math.prod(ranges) * len(rows.need) > MOST_CELLS:
        return Fraction(0)
    counts = np.indices(ranges).reshape(len(rest), math.prod(ranges))  # (G - 1, mixes)
    # The number of the cheapest kind that each needs in addition.
    missing = rows.need[:, None] * (1 - CLOSE) - rows.supply[:, rest] @ counts  # (rows, mixes)
    alone = rows.supply[:, last]
    needed = np.ceil(np.maximum(missing[alone > 0] / alone[alone > 0, None], 0).max(axis=0, initial=0)).astype(np.int64)
    admitted = (missing[alone == 0] <= 0).all(axis=0)
    # Costs as integers, so that the least one is exact.
    unit = math.lcm(*(price.denominator for price in kinds.cost))
    cost = [int(price * unit) for price in kinds.cost]
    total = np.array([cost[g] for g in rest], np.int64) @ counts + cost[last] * needed
    return Fraction(int(total[admitted].min()), unit) if admitted.any() else Fraction(0)


def _fitting(workload: Workload) -> list[Floats]:
    """Return the kinds (G,) that each largest demand fits."""
    jobs, servers = workload.jobs, workload.servers
    if jobs is not None and jobs.devices is not None:
        of_tasks = np.stack([fits_on(jobs, servers, kind) for kind in range(len(servers))], axis=1)
        return [*np.unique(of_tasks, axis=0)]
    fits = [(demand <= servers.units).all(axis=1) for demand in largest_demands(workload.demand_law)]
    return [np.array(fit) for fit in dict.fromkeys(tuple(kinds.tolist()) for kinds in fits)]
