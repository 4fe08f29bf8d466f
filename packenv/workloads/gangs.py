"""Gangs of a table: their number, and which fit the servers.

The tasks of a gang start in the same slot, on one server or several, or not at all (`Jobs.gang`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from packenv.errors import ArgumentError, RowError
from packenv.jobs import FIRST, HOW_MANY, MODEL, TASKS, WHOLE, Jobs, gang_spans
from packenv.workloads.demand import fitting
from packenv.workloads.servers import Servers

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

MOST_OF_A_GANG = 1024
"""Servers for a gang if their number is wanted."""


def many_of_the_last(servers: Servers) -> Servers:
    """Return the servers with MOST_OF_A_GANG copies of the last one."""
    return servers.only(np.minimum(np.arange(len(servers) - 1 + MOST_OF_A_GANG), len(servers) - 1))


def gangs_of(gang: Ints) -> Ints:
    """Return FIRST and TASKS (g, 2) of gangs of several tasks."""
    spans = np.unique(gang_spans(gang), axis=0)
    return spans[spans[:, TASKS] > 1]


def gangs_fitting(jobs: Jobs, servers: Servers) -> Bools:
    """Mark the tasks (n,) whose gang fits on all empty servers together.

    Tasks without a gang are marked. The tasks of a gang come in row order, each where it first fits.
    """
    fits = np.ones(len(jobs), np.bool_)
    needs = jobs.demand if jobs.devices is None else np.column_stack([jobs.demand, jobs.devices])
    known: dict[bytes, bool] = {}
    for first, tasks in [] if jobs.gang is None else gangs_of(jobs.gang).tolist():
        rows = slice(first, first + tasks)
        # Equal gangs are tried once.
        shape = needs[rows].tobytes()
        if shape not in known:
            alike = (needs[rows] == needs[first]).all()
            known[shape] = _most_alike(jobs, servers, first) >= tasks if alike else _fits_one_by_one(jobs, servers, rows)
        fits[rows] = known[shape]
    return fits


def _most_alike(jobs: Jobs, servers: Servers, row: int) -> int:
    """Return how many tasks like this row the empty servers hold."""
    demand = jobs.demand[row]
    most = (servers.units[:, demand > 0] // demand[demand > 0]).min(axis=1)
    if jobs.devices is not None and servers.devices is not None:
        number, share, kinds = jobs.devices[row].tolist()
        there, whole, model = servers.devices.T
        if share:
            most = np.minimum(most, there * (whole // share))
        elif number:
            most = np.minimum(most, there // number)
        most = np.where(_accepts(kinds, model), most, 0)
    return int(most.sum())


def _fits_one_by_one(jobs: Jobs, servers: Servers, rows: slice) -> bool:
    # Free amounts of each server, and of each of its devices (-1: no device).
    free = servers.units.copy()
    needs = np.zeros((len(jobs), 3), np.int64) if jobs.devices is None else jobs.devices
    owned = np.zeros((len(servers), 3), np.int64) if servers.devices is None else servers.devices
    left = np.where(np.arange(owned[:, HOW_MANY].max(initial=0)) < owned[:, HOW_MANY, None], owned[:, WHOLE, None], -1)
    for demand, (number, share, kinds) in zip(jobs.demand[rows], needs[rows].tolist(), strict=True):
        # Find the first server with enough free amounts and devices.
        part = np.full(len(servers), share) if share else owned[:, WHOLE]
        holds = left >= part[:, None]
        able = (free >= demand).all(axis=1) & (holds.sum(axis=1) >= number)
        able &= _accepts(kinds, owned[:, MODEL])
        if not able.any():
            return False
        server = int(np.argmax(able))
        # Take the amounts, and the devices with the least room.
        free[server] -= demand
        tightest = np.argsort(np.where(holds[server], left[server] if share else 0, np.iinfo(np.int64).max), kind="stable")
        left[server, tightest[:number]] -= part[server]
    return True


def _accepts(kinds: int, model: Ints) -> Bools:
    return np.asarray((kinds == 0) | ((model >= 0) & (kinds >> np.maximum(model, 0) & 1 == 1)))


def check_gangs(jobs: Jobs, servers: Servers) -> None:
    """Raise RowError, naming its first task, if a gang fits nowhere."""
    if jobs.gang is None or (fits := gangs_fitting(jobs, servers)).all():
        return
    row = int(np.argmin(fits))
    raise RowError(row, too_large_gang(jobs, servers, row))


def too_large_gang(jobs: Jobs, servers: Servers, row: int) -> str:
    """Return the message for a gang too large for all servers."""
    assert jobs.gang is not None
    tasks = int(gang_spans(jobs.gang)[row, TASKS])
    return f"its gang of {tasks:,} tasks has no room on all {len(servers):,} servers together, even if they are empty"


def in_whole_gangs(jobs: Jobs, kept: Bools) -> Bools:
    """Mark the tasks (n,) whose whole gang is in `kept`."""
    assert jobs.gang is not None
    first = gang_spans(jobs.gang)[:, FIRST]
    return np.asarray(~np.isin(first, first[~kept]))


def which_fit(jobs: Jobs, servers: Servers) -> Bools:
    """Mark the tasks (n,) that fit a server, with their whole gang."""
    alone = fitting(jobs, servers)
    return alone if jobs.gang is None else in_whole_gangs(jobs, alone) & gangs_fitting(jobs, servers)


def jobs_that_come_together(jobs: Jobs, source: str) -> Ints:
    """Return gangs (n,): consecutive rows of a job with the same arrival."""
    if jobs.job is None:
        raise ArgumentError(f"`gangs` does not go with {source}: its tasks belong to no jobs")
    return np.cumsum((np.diff(jobs.job, prepend=-1) != 0) | (np.diff(jobs.arrival, prepend=-1) != 0)).astype(np.int64) - 1


def gangs_in_words(gang: Ints) -> str:
    """Count gangs: "12 of 2 to 16 tasks, 5 on average: 60 of 100 tasks"."""
    sizes = gangs_of(gang)[:, TASKS]
    if not len(sizes):
        return "none of several tasks"
    span = f"{sizes.min():,}" if sizes.min() == sizes.max() else f"{sizes.min():,} to {sizes.max():,}"
    mean = "" if sizes.min() == sizes.max() else f", {sizes.mean():.3g} on average"
    return f"{len(sizes):,} of {span} tasks{mean}: {sizes.sum():,} of {len(gang):,} tasks"
