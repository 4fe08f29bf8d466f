"""A schedule, replayed from the Jobs table alone: everything that is wrong with it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tests.reference.instances import Instance
from tests.reference.model import Scale
from tests.reference.table import before


def end_of(instance: Instance, row: int, start: Sequence[int], server: Sequence[int]) -> int:
    """The slot in which a row that started leaves: later away from its data."""
    task = instance.tasks[row]
    return start[row] + task.service + instance.network.overhead(task, server[row], start[row])


def eligible_slots(instance: Instance, start: Sequence[int], server: Sequence[int]) -> list[int | None]:
    """When each row could start at the earliest, given when and where its predecessors did; None if never."""
    found: list[int | None] = []
    for task in instance.tasks:
        first = before(task, instance.tasks)
        over = [end_of(instance, p, start, server) for p in first if start[p] >= 0]
        found.append(None if len(over) < len(first) else max([task.arrival, *over]))
    return found


def violations(
    instance: Instance, start: Sequence[int], server: Sequence[int], end: int, *, conserving: str | None = None
) -> list[str]:
    """Of slots 0 .. end - 1. `conserving`: "vectors" or "scalar", if no waiting task may fit anywhere by that measure."""
    found = []
    eligible = eligible_slots(instance, start, server)
    capacity = np.array(instance.capacities)
    scale = Scale(tuple(int(most) for most in capacity.max(axis=0)))
    scalar_capacity = np.array([scale.capacity(c) for c in instance.capacities])
    stays = []  # (first slot, slot after the last, server, demand)
    for row, task in enumerate(instance.tasks):
        earliest = eligible[row]
        if start[row] < 0:
            if server[row] >= 0:
                found.append(f"row {row} has a server but no start")
            if instance.slots is None:
                found.append(f"row {row} is lost")
            continue
        if not 0 <= server[row] < len(capacity):
            found.append(f"row {row} has no server")
            continue
        if earliest is None or start[row] < earliest:
            found.append(f"row {row} starts before it is eligible")
        if start[row] >= end:
            found.append(f"row {row} starts after the end")
        stays.append((start[row], end_of(instance, row, start, server), server[row], task.demand))
    stays += [(0, job.remaining, job.server, job.demand) for job in instance.initial]
    moments = sorted({slot for stay in stays for slot in stay[:2]} | {slot for slot in eligible if slot is not None})
    for slot in (slot for slot in moments if slot < end):
        used, scalar_used = np.zeros_like(capacity), np.zeros_like(scalar_capacity)
        for first, last, where, demand in stays:
            if first <= slot < last:
                used[where] += demand
                scalar_used[where] += scale.size(demand)
        if (used > capacity).any():
            found.append(f"slot {slot}: server {int(np.argmax((used > capacity).any(axis=1)))} is above its capacity")
        if conserving is None:
            continue
        for row, task in enumerate(instance.tasks):
            since = eligible[row]
            if since is not None and since <= slot and (start[row] < 0 or start[row] > slot):
                fits = (used + np.array(task.demand) <= capacity).all(axis=1)
                if conserving == "scalar":
                    fits = scalar_used + scale.size(task.demand) <= scalar_capacity
                if fits.any():
                    found.append(f"slot {slot}: row {row} waits and fits on server {int(np.argmax(fits))}")
    return found
