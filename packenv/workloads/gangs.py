"""Gangs of a table: their number, and which fit the servers.

The tasks of a gang start in the same slot, on one server or several, or not at all (`Jobs.gang`).
"""

from __future__ import annotations

from collections import Counter

import numpy as np
from numpy.typing import NDArray

from packenv.content.text import counted
from packenv.errors import ArgumentError, RowError
from packenv.jobs import FIRST, TASKS, Jobs, gang_spans
from packenv.workloads.demand import fitting
from packenv.workloads.servers import Servers

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

MOST_OF_A_GANG = 1024
"""Servers for a gang if their number is wanted."""

FEW_TASKS, MOST_LOOKS = 64, 100_000
"""Largest gang with a search over all placements, and the servers that this search looks at before it gives up."""

MANY = 2**40
"""More tasks than any server holds."""


def many_of_the_last(servers: Servers) -> Servers:
    """Return the servers with MOST_OF_A_GANG copies of the last one."""
    return servers.only(np.minimum(np.arange(len(servers) - 1 + MOST_OF_A_GANG), len(servers) - 1))


def gangs_of(gang: Ints) -> Ints:
    """Return FIRST and TASKS (g, 2) of gangs of several tasks."""
    spans = np.unique(gang_spans(gang), axis=0)
    return spans[spans[:, TASKS] > 1]


def gangs_fitting(jobs: Jobs, servers: Servers) -> Bools:
    """Mark tasks (n,) whose gang may fit on all empty servers.

    Tasks without a gang are marked. An unmarked gang is proved not to fit: equal tasks by their number, others by the sum of the
    room, and up to FEW_TASKS by a search over all ways to place them. A marked one may still not fit.
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
            known[shape] = _most_alike(jobs, servers, first) >= tasks if alike else _may_hold(jobs, servers, rows)
        fits[rows] = known[shape]
    return fits


def _most_alike(jobs: Jobs, servers: Servers, row: int) -> int:
    """Return the most tasks like this row on empty servers."""
    demand = jobs.demand[row]
    most = (servers.units[:, demand > 0] // demand[demand > 0]).min(axis=1, initial=MANY)
    if jobs.devices is not None and servers.devices is not None:
        number, share, kinds = jobs.devices[row].tolist()
        there, full, model = servers.devices.T
        if number:
            most = np.minimum(most, np.where(there >= number, there * (full // share if share else 1) // number, 0))
        most = np.where(_accepts(kinds, model), most, 0)
    return int(most.sum())


def _may_hold(jobs: Jobs, servers: Servers, rows: slice) -> bool:
    """Return whether these tasks may fit together.

    The devices of a server count as amounts, a weaker condition than their needs.
    """
    demand, room = jobs.demand[rows], servers.units
    able = np.ones((len(demand), len(room)), np.bool_)
    if jobs.devices is not None and servers.devices is not None:
        number, share, kinds = jobs.devices[rows].T
        there, full, model = servers.devices.T
        smallest, largest = int(full[there > 0].min(initial=MANY)), int(full.max())
        # Shares of devices, and tasks that cannot share one, as two more amounts.
        alone = np.where((share == 0) | (2 * share > largest), number, 0)  # of these no two share a device
        demand = np.column_stack([demand, number * np.where(share > 0, share, smallest), alone])
        room = np.column_stack([room, there * full, there])
        able = (number == 0)[:, None] | ((number[:, None] <= there) & (share[:, None] <= full))
        able &= np.array([_accepts(mask, model) for mask in kinds.tolist()])
    able &= (demand[:, None] <= room).all(axis=2)
    if not able.any(axis=1).all() or (demand.sum(axis=0) > room.sum(axis=0)).any():
        return False
    return len(demand) > FEW_TASKS or _Packing(demand, room, able).possible()


class _Packing:
    """Search for room for tasks on servers, by `able` (n, S)."""

    def __init__(self, demand: Ints, room: Ints, able: Bools) -> None:
        order = np.argsort(-(demand / np.maximum(room.max(axis=0), 1)).max(axis=1), kind="stable")  # the largest first
        self.demand: list[tuple[int, ...]] = [tuple(row) for row in demand[order].tolist()]
        kinds, of_server = np.unique(able[order].T, axis=0, return_inverse=True)
        self.able: list[list[bool]] = kinds.T.tolist()  # of each task, by kind of server
        self.servers = Counter((kind, *row) for kind, row in zip(of_server.ravel().tolist(), room.tolist(), strict=True))
        self.full: set[object] = set()  # of a task with servers on which it and those behind it have no room
        self.looks = 0

    def possible(self) -> bool:
        """Return whether all tasks fit, also True after MOST_LOOKS."""
        return self._place(0)

    def _place(self, task: int) -> bool:
        """Place this task and the following ones, tightest servers first."""
        if task == len(self.demand) or self.looks > MOST_LOOKS:
            return True
        self.looks += len(self.servers)
        here = (task, frozenset(self.servers.items()))
        if here in self.full:
            return False
        for server in sorted(self.servers):
            left = tuple(room - need for room, need in zip(server[1:], self.demand[task], strict=True))
            if not self.able[task][server[0]] or min(left) < 0:
                continue
            # Try this server, and take the task back if the others do not fit.
            self._move(server, (server[0], *left))
            if self._place(task + 1):
                return True
            self._move((server[0], *left), server)
        self.full.add(here)
        return False

    def _move(self, before: tuple[int, ...], after: tuple[int, ...]) -> None:
        """Count a server with other room than before."""
        self.servers[before] -= 1
        if not self.servers[before]:
            del self.servers[before]
        self.servers[after] += 1


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


def in_whole_gangs(jobs: Jobs, chosen: Bools) -> Bools:
    """Mark the tasks (n,) whose whole gang is in `kept`."""
    assert jobs.gang is not None
    first = gang_spans(jobs.gang)[:, FIRST]
    return np.asarray(~np.isin(first, first[~chosen]))


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
    """Count gangs: "12 gangs of 2 to 16 tasks, 5 on average (60 of 100 tasks)"."""
    sizes = gangs_of(gang)[:, TASKS]
    if not len(sizes):
        return "no gang of several tasks"
    span = f"{sizes.min():,}" if sizes.min() == sizes.max() else f"{sizes.min():,} to {sizes.max():,}"
    mean = "" if sizes.min() == sizes.max() else f", {sizes.mean():.3g} on average"
    return f"{counted(len(sizes), 'gang')} of {span} tasks{mean} ({sizes.sum():,} of {len(gang):,} tasks)"
