"""What pictures and texts show of a cluster, as plain numbers; and the text."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from packenv.cluster.copy_tasks import tasks_of
from packenv.cluster.queue.by_type import types_of
from packenv.cluster.state import NONE, TASK
from packenv.envs.episodes.core import Core
from packenv.units import UNIT

COLOURS = 16
"""Of jobs, where an environment has no types of tasks: job n has colour n modulo COLOURS."""


class Job(NamedTuple):
    """A task in service: its type, or which colour of COLOURS its job has, and its demand (D,) in units of capacity."""

    type: int
    demand: NDArray[np.float64]


class ClusterView(NamedTuple):
    """A cluster in a slot. Sizes in units of capacity."""

    slot: int
    waiting: int
    capacity: NDArray[np.float64]  # (L, D)
    jobs: list[list[Job]]  # of each server, by row
    queues: NDArray[np.int64]  # (2J,) tasks in each virtual queue of the first kind of server; or of jobs, by colour
    queued: str  # what `queues` are
    decided: int  # the server that the decision is about, NONE if it is about all


def view_of(core: Core, row: int) -> ClusterView:
    """What row `row` of an environment looks like now."""
    c = core.batch.c
    task = c.task[row]
    jobs: list[list[Job]] = [[] for _ in range(core.sizes.servers)]
    typed = c.types.bound.shape[2] > 0
    served = np.flatnonzero((task["kind"] == TASK) & (task["server"] != NONE))
    for i in served[np.argsort(task["row"][served], kind="stable")]:
        server = int(task["server"][i])
        kind = int(c.server["kind"][row, server])
        demand = c.demand[row, i] if c.demand.shape[1] else task["size"][i : i + 1]
        # larger than all types of the kind: shown as the largest
        j = max(int(types_of(c, row, kind, task["size"][i])), 0) if typed else int(task["job"][i]) % COLOURS
        jobs[server].append(Job(j, demand / UNIT))
    head = c.head[row]
    return ClusterView(
        slot=int(head["now"]),
        waiting=int(head["waiting"]),
        capacity=core.setting.capacity / UNIT,
        jobs=jobs,
        queues=c.types.queue["count"][row, 0].copy() if typed else queues_of_jobs(core, row),
        queued="virtual queues" if typed else f"jobs, modulo {COLOURS}",
        decided=int(core.batch.turn["server"][row]),
    )


def queues_of_jobs(core: Core, row: int) -> NDArray[np.int64]:
    """(COLOURS,) waiting tasks of the jobs of each colour."""
    waiting, _ = tasks_of(core.batch.c, row)
    return np.bincount(core.batch.c.task["job"][row, waiting] % COLOURS, minlength=COLOURS)


def text_of(view: ClusterView) -> str:
    """The cluster as text: a line per server (at most 20), and the virtual queues, or jobs."""
    lines = [f"slot {view.slot}: {view.waiting} waiting"]
    width = 40
    for server, jobs in enumerate(view.jobs[:20]):
        capacity = view.capacity[server].max()
        bar = ""
        for job in jobs:
            bar += "0123456789abcdefghijklmnopqrstuv"[job.type] * max(1, round(width * float(job.demand.max() / capacity)))
        lines.append(f"{'>' if server == view.decided else ' '}{server:3d} |{bar[:width]:<{width}}| {len(jobs)} jobs")
    if len(view.jobs) > 20:
        lines.append(f"     … {len(view.jobs) - 20} more servers")
    lines.append(f"{view.queued}: " + " ".join(f"{j}:{count}" for j, count in enumerate(view.queues.tolist())))
    return "\n".join(lines)
