"""Orders of a queue (PAPERS §8) as their formulas say, exact where they are rational. The smallest goes first."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from packenv.units import UNIT
from tests.reference.gangs import gang_of, leads
from tests.reference.model import World
from tests.reference.table import Task

PROCESSORS = 12  # of capacity 1

Formula = Callable[[int, Fraction, Fraction, int], float | Fraction]


def lg(amount: Fraction | int) -> float:
    return math.log10(amount if amount > 0 else 0.1)


def unicef(s: int, e: Fraction, n: Fraction, w: int) -> float:
    return -float(w / e) / (math.log2(n) if n > 1 else 1e-15)


FORMULAS: dict[str, Formula] = {
    "fcfs": lambda s, e, n, w: 0,  # they are in queue order
    "sjf": lambda s, e, n, w: e,
    "ljf": lambda s, e, n, w: -e,
    "saf": lambda s, e, n, w: e * n,
    "smallest": lambda s, e, n, w: n,
    "f1": lambda s, e, n, w: lg(e) * float(n) + 870 * lg(s),
    "f2": lambda s, e, n, w: math.sqrt(e) * float(n) + 25_600 * lg(s),
    "f3": lambda s, e, n, w: float(e) * float(n) + 6_860_000 * lg(s),
    "f4": lambda s, e, n, w: float(e) * math.sqrt(n) + 530_000 * lg(s),
    "wfp3": lambda s, e, n, w: -n * (w / e) ** 3,
    "unicef": unicef,
    "expansion": lambda s, e, n, w: -(w + e) / e,
}
"""Of s, the arrival; e, the estimate; n, processors; w, the wait so far."""


def in_order(world: World, tasks: list[Task], formula: Formula) -> list[Task]:
    """The waiting tasks, of gangs the first, as an order has them now; of equal ones the one that waits longer first."""

    def number(task: Task) -> float | Fraction:
        gang = gang_of(world, task)
        estimate = max(Fraction(other.service if other.estimate is None else other.estimate) for other in gang)
        processors = sum(Fraction(other.demand[0] * PROCESSORS, UNIT) for other in gang)
        return formula(task.arrival, estimate, processors, world.slot - world.outcome.eligible[task.row])

    return sorted([task for task in tasks if leads(world, task)], key=number)
