"""What an agent sees, written into the arrays of a Batch for row c.e. Amounts in units of capacity, times in slots."""

from __future__ import annotations

from packenv.cluster.by_demand import first_of_group, group_count
from packenv.cluster.machine import natural
from packenv.cluster.servers import fits, kind_of, room_of, server_count
from packenv.cluster.sorted_keys import WIDTH
from packenv.cluster.state import BY_SIZE, NEVER, NONE, Cluster
from packenv.cluster.waiting import ROW_BITS, demand_of, largest_of_type_fitting, largest_size_up_to, now, size_of
from packenv.compile import fused, inner
from packenv.envs.state import Batch
from packenv.envs.window import fill_window
from packenv.units import UNIT

SHARE = 1.0 / UNIT


@fused
def survey(b: Batch, kind: int) -> None:
    """Smallest and largest waiting size of each virtual queue of a kind of server, into `least` and `most`."""
    c = b.c
    if c.orders & BY_SIZE:
        survey_sizes(b, kind)
    else:
        survey_groups(b, kind)


@fused
def survey_sizes(b: Batch, kind: int) -> None:
    """Types are intervals: in size order their tasks follow each other, so where they begin and end is a matter of counting."""
    if b.c.sizes.used[b.c.e] == 1:
        survey_block(b, kind)
    else:
        survey_blocks(b, kind)


@fused
def survey_block(b: Batch, kind: int) -> None:
    """Few waiting tasks: the same steps for each type, so that there is nothing to guess."""
    c, e = b.c, b.c.e
    queue, least, most = c.types.queue[e, kind], b.least[kind], b.most[kind]
    keys, types, position = c.sizes.keys[e, c.sizes.block[e, 0].storage], c.types.count[e, kind], 0
    for n in range(types):
        j = natural(types - 1 - n)
        count = queue[j].count
        first, last = keys[natural(min(position, WIDTH - 1))], keys[natural(max(position + count - 1, 0))]
        least[j] = first >> ROW_BITS if count > 0 else NEVER
        most[j] = last >> ROW_BITS if count > 0 else 0
        position += count


@inner
def survey_blocks(b: Batch, kind: int) -> None:
    c, e = b.c, b.c.e
    queue, least, most = c.types.queue[e, kind], b.least[kind], b.most[kind]
    keys, block = c.sizes.keys[e], c.sizes.block[e]
    types = c.types.count[e, kind]
    k, before, position = 0, 0, 0  # the block at hand, keys in the blocks before it, keys of the types seen
    for n in range(types):
        j = types - 1 - n
        count = queue[j].count
        if count == 0:
            least[j] = NEVER
            most[j] = 0
        else:
            while position >= before + block[k].count:
                before += block[k].count
                k += 1
            least[j] = keys[block[k].storage, position - before] >> ROW_BITS
            position += count
            while position > before + block[k].count:
                before += block[k].count
                k += 1
            most[j] = keys[block[k].storage, position - 1 - before] >> ROW_BITS


@inner
def survey_groups(b: Batch, kind: int) -> None:
    """Several resources: from the groups of like tasks."""
    c = b.c
    for j in range(b.least.shape[1]):
        b.least[kind, j] = NEVER
        b.most[kind, j] = 0
    for n in range(group_count(c)):
        i = first_of_group(c, n)
        j = c.types.link[c.e, i, kind].type
        if j != NONE:
            b.least[kind, j] = min(b.least[kind, j], size_of(c, i))
            b.most[kind, j] = max(b.most[kind, j], size_of(c, i))


@fused
def largest_on(b: Batch, kind: int, j: int, server: int) -> int:
    """The task that starts when virtual queue j is served on this server: its largest that fits, earlier row first."""
    c = b.c
    if c.vectors:
        return largest_of_group(b, kind, j, server)
    return largest_of_type_fitting(c, kind, j, room_of(c, server))


@inner
def largest_of_group(b: Batch, kind: int, j: int, server: int) -> int:
    c = b.c
    best = NONE
    for n in range(group_count(c)):
        i = first_of_group(c, n)
        if c.types.link[c.e, i, kind].type == j and fits(c, i, server):
            if best == NONE or larger(c, i, best):
                best = i
    return best


@fused
def larger(c: Cluster, i: int, other: int) -> bool:
    a, b = c.task[c.e, i], c.task[c.e, other]
    return a.size > b.size or (a.size == b.size and a.row < b.row)


@fused
def write_queue(b: Batch) -> None:
    """(K, D + 2): demand of the K oldest waiting tasks, their age, and 1 where there is one. Needs BY_QUEUE."""
    c, e = b.c, b.c.e
    seen, window = b.queue[e], b.window[e]
    resources, slot, n = b.queue.shape[2] - 2, now(c), fill_window(b)
    for k in range(n):
        if resources == 1:
            seen[k, 0] = window[k].size * SHARE
        else:
            for r in range(resources):
                seen[k, r] = demand_of(c, window[k].place, r) * SHARE
        seen[k, resources] = slot - window[k].since
        seen[k, resources + 1] = 1.0
    for k in range(n, seen.shape[0]):
        for r in range(resources + 2):
            seen[k, r] = 0.0


@fused
def write_virtual_queues(b: Batch, kind: int, row: int, room: int, server: int) -> None:
    """From `row` on: count and largest that fits in `room`; in full also the size waiting, and the age of the head.

    Needs `survey`. Where vectors are packed, "fits" is asked of `server`, or of any server if that is NONE.
    """
    c, e = b.c, b.c.e
    full = b.virtual_queues.shape[2] > 2
    queues, least, most, seen = c.types.queue[e, kind], b.least[kind], b.most[kind], b.virtual_queues[e]
    slot = now(c)
    for j in range(b.least.shape[1]):
        count, out = queues[j].count, seen[natural(row + j)]
        largest = most[j] if count > 0 else 0
        if c.vectors:
            largest = largest_anywhere(b, kind, j, server) if count > 0 else 0
        elif largest > room:
            largest = largest_size_up_to(c, room) if least[j] <= room else 0
        out[0] = count
        out[1] = largest * SHARE
        if full:
            out[2] = queues[j].size * SHARE
            out[3] = slot - queues[j].since if count > 0 else 0


@inner
def largest_anywhere(b: Batch, kind: int, j: int, server: int) -> int:
    """Size of the largest task of type j that fits on a server, or on any of its kind."""
    c = b.c
    best = 0
    for s in range(server_count(c)):
        if (s == server or server == NONE) and kind_of(c, s) == kind:
            i = largest_of_group(b, kind, j, s)
            if i != NONE:
                best = max(best, size_of(c, i))
    return best


@fused
def write_servers(b: Batch, at_hand: int) -> None:
    """(L, …): free amount of each resource; in full also the jobs by type; then, if there is room, 1 for the one at hand."""
    c, e = b.c, b.c.e
    seen, record, jobs = b.servers[e], c.server[e], c.types.in_service[e]
    types, width, resources = b.least.shape[1], b.servers.shape[2], c.capacity.shape[1]
    full = width >= resources + types
    told = resources + types if full else resources  # columns so far
    for server in range(seen.shape[0]):
        if c.free.shape[1] == 0:
            seen[server, 0] = record[server].room * SHARE
        else:
            for r in range(resources):
                seen[server, r] = c.free[e, server, r] * SHARE
        if full:
            for j in range(types):
                seen[server, natural(resources + j)] = jobs[server, j]
        if width > told:
            seen[server, told] = 1.0 if server == at_hand else 0.0


@fused
def write_server(b: Batch, server: int) -> None:
    """The server at hand: free amounts; in full also jobs by type, and mean and standard deviation of their ages."""
    c, e = b.c, b.c.e
    out = b.server[e]
    if server == NONE:
        for k in range(b.server.shape[1]):
            out[k] = 0.0
        return
    if c.free.shape[1] == 0:
        out[0] = c.server[e, server].room * SHARE
    else:
        for r in range(c.free.shape[2]):
            out[r] = c.free[e, server, r] * SHARE
    resources, types = c.capacity.shape[1], b.least.shape[1]
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


@fused
def write_cluster(b: Batch) -> None:
    """(D + 2J + 1,): free share of each resource, and the share of servers by the type of their room (the last: none)."""
    c, e = b.c, b.c.e
    resources = c.capacity.shape[1]
    for r in range(resources):
        total = float(b.total[r])
        b.cluster[e, r] = 1.0 - c.used[e, r] / total if total > 0.0 else 0.0
    for k in range(b.rooms.shape[1]):
        b.cluster[e, resources + k] = b.rooms[e, k] / float(server_count(c))
