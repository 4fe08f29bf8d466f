"""Unfairness of a run to jobs or tenants (PAPERS §2)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from packenv.compiled.decorators import compiled
from packenv.jobs import Jobs
from packenv.results.job_times import NONE, eligible_slots, owner_numbers
from packenv.results.schedule_table import Schedule

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


def unfairness(jobs: Jobs, schedule: Schedule, capacity: Ints) -> float:
    """Return the mean missing share of owners with waiting tasks.

    0 is fair, 1 is no share. Owners are tenants, or jobs. The mean is over these owners and slots. `capacity` (L, D) in units.
    """
    missing, time = missing_shares(jobs, schedule, capacity)
    return missing / time if time else 0.0


def missing_shares(jobs: Jobs, schedule: Schedule, capacity: Ints) -> tuple[float, float]:
    """Sum and count the shares that waiting owners lack.

    Both are over owners and slots. In a slot, each of n owners with eligible tasks (waiting or in service) should have 1/n of its
    dominant resource. The lacking part of 1/n counts as a share between 0 and 1. `capacity` (L, D) in units.
    """
    owner = owner_numbers(jobs)
    rows = np.arange(len(jobs))
    eligible = eligible_slots(jobs, schedule)
    ready, started = rows[eligible >= 0], rows[schedule.start >= 0]
    slot = np.concatenate([eligible[ready], schedule.start[started], schedule.end[started]])
    row = np.concatenate([ready, started, started])
    kinds = np.repeat([0, 1, 2], [len(ready), len(started), len(started)])  # becomes eligible, starts, leaves
    waits, holds = np.array([1, -1, 0])[kinds], np.array([0, 1, -1])[kinds]
    total = capacity.sum(axis=0)
    share = jobs.demand / np.where(total > 0, total, 1)
    count, order = int(owner.max()) + 1, np.argsort(slot, kind="stable")
    row = row[order]
    events = slot[order], owner[row], waits[order], holds[order], share[row]
    state = np.zeros(count, np.int64), np.zeros(count, np.int64), np.zeros((count, jobs.resources))
    return _missing_shares(*events, *state, np.zeros(count, np.int64), np.full(count, NONE, np.int64))


@compiled
def _missing_shares(
    slot: Ints,  # (events,) ascending
    owner: Ints,  # (events,)
    waits: Ints,  # (events,) change of the number of waiting tasks,
    holds: Ints,  # (events,) and of tasks in service,
    share: Floats,  # (events, D) share of the cluster that the task takes
    waiting: Ints,  # (owners,) zeros
    running: Ints,  # (owners,) zeros
    held: Floats,  # (owners, D) zeros
    queued: Ints,  # (owners,) scratch: the owners with waiting tasks, in any order,
    position: Ints,  # (owners,) and where each of them is in it, NONE if it is not
) -> tuple[float, float]:
    """Sum missing shares, and owners, over slots."""
    n, present, count, missing, time = 0, 0, 0, 0.0, 0.0
    while n < len(slot):
        now = slot[n]
        # All changes of a slot: who waits, who runs, what each owner holds.
        while n < len(slot) and slot[n] == now:
            o = owner[n]
            present -= waiting[o] + running[o] > 0
            waiting[o] += waits[n]
            running[o] += holds[n]
            present += waiting[o] + running[o] > 0
            for r in range(held.shape[1]):
                held[o, r] += holds[n] * share[n, r]
            if waiting[o] > 0 and position[o] == NONE:
                queued[count], position[o] = o, count
                count += 1
            elif waiting[o] == 0 and position[o] != NONE:
                count -= 1
                queued[position[o]] = queued[count]
                position[queued[count]], position[o] = position[o], NONE
            n += 1
        # Until the next change, owners that wait lack what is missing to their equal share of the dominant resource.
        slots = slot[n] - now if n < len(slot) else 0
        for k in range(count):
            most = 0.0
            for r in range(held.shape[1]):
                most = max(most, held[queued[k], r])
            missing += max(1 - present * most, 0.0) * slots
        time += float(count * slots)
    return missing, time
