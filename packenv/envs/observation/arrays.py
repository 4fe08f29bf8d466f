"""Arrays of "full" and "compact": capacity units, and slots."""

from __future__ import annotations

from packenv.cluster.queue.by_demand import demand_of
from packenv.cluster.queue.by_type import type_of
from packenv.cluster.queue.waiting import largest_size_up_to, now
from packenv.cluster.servers import server_count
from packenv.cluster.state import NONE
from packenv.compiled.decorators import apart, fused
from packenv.compiled.intrinsics import natural
from packenv.envs.core.between_decisions import fill_window
from packenv.envs.core.servable import largest_anywhere
from packenv.envs.core.state import Batch
from packenv.units import UNIT

SHARE = 1.0 / UNIT


@apart
def write_queue(b: Batch) -> None:
    """Write the K oldest tasks, (K, D + 2) (needs BY_QUEUE)."""
    c, e = b.c, b.c.e
    out, window = b.queue[e], b.window[e]
    resources, slot, n = b.queue.shape[2] - 2, now(c), fill_window(b)
    for k in range(n):
        if resources == 1:
            out[k, 0] = window[k].size * SHARE
        else:
            for r in range(resources):
                out[k, r] = demand_of(c, window[k].place, r) * SHARE
        out[k, resources] = slot - window[k].since
        out[k, resources + 1] = 1.0
    for k in range(n, out.shape[0]):
        for r in range(resources + 2):
            out[k, r] = 0.0


@apart
def write_virtual_queues(b: Batch, kind: int, row: int, room: int, server: int) -> None:
    """Write the virtual queues from `row` on (needs `survey`).

    Tasks, and the largest that fits in `room`; in "full" also the size waiting and the age of the head. With several resources a
    task must fit on `server`, or on any server for NONE.
    """
    c, e = b.c, b.c.e
    queues, out = c.types.queue[e, kind], b.virtual_queues[e]
    for j in range(queues.shape[0]):
        out[natural(row + j), 0] = queues[j].count
    if b.virtual_queues.shape[2] > 2:
        slot = now(c)
        for j in range(queues.shape[0]):
            out[natural(row + j), 2] = queues[j].size * SHARE
            out[natural(row + j), 3] = slot - queues[j].since if queues[j].count > 0 else 0
    if c.vectors:
        for j in range(queues.shape[0]):
            largest = largest_anywhere(b, kind, j, server) if queues[j].count > 0 else 0
            out[natural(row + j), 1] = largest * SHARE
    else:
        write_largest(b, kind, row, room)


@fused
def write_largest(b: Batch, kind: int, row: int, room: int) -> None:
    """Write each queue's largest task that fits in `room`."""
    c, e = b.c, b.c.e
    least, most, out = c.types.least[e, kind], c.types.most[e, kind], b.virtual_queues[e]
    for j in range(most.shape[0]):
        out[natural(row + j), 1] = (most[j] if most[j] <= room else 0) * SHARE
    j = type_of(c, kind, room)
    if j != NONE and least[j] <= room < most[j]:
        out[row + j, 1] = largest_size_up_to(c, room) * SHARE


@apart
def write_servers(b: Batch, decided: int) -> None:
    """Write free amounts, (L, …), jobs ("full"), and the chosen server."""
    c, e = b.c, b.c.e
    out, record, jobs = b.servers[e], c.server[e], c.types.in_service[e]
    types, width, resources = jobs.shape[1], out.shape[1], c.capacity.shape[1]
    servers = natural(out.shape[0])
    # what is free
    if c.free.shape[1] == 0:
        for server in range(servers):
            out[server, 0] = record[server].room * SHARE
    else:
        for server in range(servers):
            for r in range(resources):
                out[server, r] = c.free[e, server, r] * SHARE
    # jobs by type, where there is a column for them
    column = resources
    if width >= resources + types:
        column += types
        for server in range(servers):
            for j in range(types):
                out[server, natural(resources + j)] = jobs[server, j]
    # the server that the decision is about
    if width > column:
        for server in range(servers):
            out[server, column] = 1.0 if server == decided else 0.0


@apart
def write_server(b: Batch, server: int) -> None:
    """Write free amounts, jobs and ages of the chosen server."""
    c, e = b.c, b.c.e
    out = b.server[e]
    # no server: zeros
    if server == NONE:
        for k in range(b.server.shape[1]):
            out[k] = 0.0
        return
    # what is free
    if c.free.shape[1] == 0:
        out[0] = c.server[e, server].room * SHARE
    else:
        for r in range(c.free.shape[2]):
            out[r] = c.free[e, server, r] * SHARE
    # jobs by type, and the ages of jobs from Σ start and Σ start²
    resources, types = c.capacity.shape[1], c.types.in_service.shape[2]
    if b.server.shape[1] > resources:
        for j in range(types):
            out[resources + j] = c.types.in_service[e, server, j]
        jobs, mean, spread = c.server[e, server].jobs, 0.0, 0.0
        if jobs > 0:
            start = b.ages[e, server, 0] / jobs
            mean = now(c) - start
            spread = max(b.ages[e, server, 1] / jobs - start * start, 0.0) ** 0.5
        out[resources + types] = mean
        out[resources + types + 1] = spread


@apart
def write_cluster(b: Batch) -> None:
    """Write free shares and servers by room, (D + 2J + 1,)."""
    c, e = b.c, b.c.e
    resources = c.capacity.shape[1]
    for r in range(resources):
        total = float(b.total[r])
        b.cluster[e, r] = 1.0 - c.used[e, r] / total if total > 0.0 else 0.0
    for k in range(b.rooms.shape[1]):
        b.cluster[e, resources + k] = b.rooms[e, k] / float(server_count(c))
