"""What there is to show of a cluster: plain numbers, for pictures and for text."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from packenv.cluster.queue.by_type import types_of
from packenv.cluster.state import NONE, TASK
from packenv.envs.core.episodes import Core
from packenv.units import UNIT


class Job(NamedTuple):
    """A job in service: its type, and its demand (D,) in units of capacity."""

    type: int
    demand: NDArray[np.float64]


class Scene(NamedTuple):
    """A cluster in a slot. Sizes in units of capacity."""

    slot: int
    waiting: int
    capacity: NDArray[np.float64]  # (L, D)
    jobs: list[list[Job]]  # of each server, by row
    queues: NDArray[np.int64]  # (2J,) tasks in each virtual queue of the first kind of server
    at_hand: int  # the server that is asked, NONE if none is


def scene_of(core: Core, row: int) -> Scene:
    """What row `row` of an environment looks like now."""
    c = core.batch.c
    task = c.task[row]
    jobs: list[list[Job]] = [[] for _ in range(core.sizes.servers)]
    served = np.flatnonzero((task["kind"] == TASK) & (task["server"] != NONE))
    for i in served[np.argsort(task["row"][served], kind="stable")]:
        server = int(task["server"][i])
        kind = int(c.server["kind"][row, server])
        demand = c.demand[row, i] if c.demand.shape[1] else task["size"][i : i + 1]
        j = int(types_of(c, row, kind, task["size"][i]))
        jobs[server].append(Job(max(j, 0), demand / UNIT))  # larger than all types of the kind: as the largest
    head = c.head[row]
    return Scene(
        slot=int(head["now"]),
        waiting=int(head["waiting"]),
        capacity=core.setting.capacity / UNIT,
        jobs=jobs,
        queues=c.types.queue["count"][row, 0].copy(),
        at_hand=int(core.batch.turn["server"][row]) if core.kind != "Placement" else NONE,
    )


def text_of(scene: Scene) -> str:
    """The cluster as text: a line per server (at most 20), and the virtual queues."""
    lines = [f"slot {scene.slot}: {scene.waiting} waiting"]
    width = 40
    for server, jobs in enumerate(scene.jobs[:20]):
        capacity = scene.capacity[server].max()
        bar = ""
        for job in jobs:
            bar += "0123456789abcdefghijklmnopqrstuv"[job.type] * max(1, round(width * float(job.demand.max() / capacity)))
        lines.append(f"{'>' if server == scene.at_hand else ' '}{server:3d} |{bar[:width]:<{width}}| {len(jobs)} jobs")
    if len(scene.jobs) > 20:
        lines.append(f"     … {len(scene.jobs) - 20} more servers")
    lines.append("virtual queues: " + " ".join(f"{j}:{count}" for j, count in enumerate(scene.queues.tolist())))
    return "\n".join(lines)
