"""How a worked case is written down: amounts in twelfths of a unit server, starts as row: (slot, server)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from packenv.units import UNIT
from tests.reference.table import Initial, Network, Task, Vector

TWELFTH = UNIT // 12
Amount = int | tuple[int, ...]


def twelfths(amount: Amount) -> Vector:
    parts = (amount,) if isinstance(amount, int) else amount
    return tuple(part * TWELFTH for part in parts)


def rows(*described: tuple[Any, ...]) -> list[Task]:
    """(arrival, twelfths, service) or (arrival, twelfths, service, predecessors) per row."""
    return [Task(row, d[0], twelfths(d[1]), d[2], d[3] if len(d) > 3 else ()) for row, d in enumerate(described)]


def phased(*jobs: tuple[float, list[list[tuple[Amount, int]]]]) -> list[Task]:
    """Per job its value and its phases, each a list of tasks (twelfths, service); all there in slot 0."""
    tasks: list[Task] = []
    for job, (value, phases) in enumerate(jobs):
        for phase, members in enumerate(phases):
            for amount, service in members:
                tasks.append(Task(len(tasks), 0, twelfths(amount), service, job=job, phase=phase, value=value))
    return tasks


def unit_rows(*described: tuple[int, int, int]) -> list[Task]:
    """(arrival, units, service) per row: sizes that are no twelfths."""
    return [Task(row, arrival, (units,), service) for row, (arrival, units, service) in enumerate(described)]


def servers(*amounts: Amount) -> list[Vector]:
    return [twelfths(amount) for amount in amounts]


def there(server: int, amount: Amount, remaining: int) -> Initial:
    """In service since before slot 0."""
    return Initial(twelfths(amount), server, remaining)


@dataclass(frozen=True)
class WorkedCase:
    """Tasks, servers and a policy, with every start worked out by hand. Rows not in `expected` never start."""

    name: str
    tasks: list[Task]
    capacities: list[Vector]
    policy: str
    options: dict[str, Any]
    expected: dict[int, tuple[int, int]]  # row -> (start slot, server)
    initial: list[Initial] = field(default_factory=list)
    slots: int | None = None  # None: drain
    network: Network | None = None


def same(
    name: str,
    tasks: list[Task],
    capacities: list[Vector],
    policies: tuple[str, ...],
    options: dict[str, Any],
    expected: dict[int, tuple[int, int]],
    **more: Any,
) -> list[WorkedCase]:
    """The same case for several policies that must agree on it."""
    return [WorkedCase(f"{name}: {policy}", tasks, capacities, policy, options, expected, **more) for policy in policies]
