"""ServerFill: one server at a time, among those with room and fitting work. An action names the virtual queue to serve."""

from __future__ import annotations

from packenv.cluster.best_fit import free_share
from packenv.cluster.by_demand import first_of_group, group_count
from packenv.cluster.servers import first_server, fits, kind_of, room_of, server_count, tightest_server
from packenv.cluster.slots import GROW
from packenv.cluster.state import NONE, look_at
from packenv.cluster.waiting import smallest_size, waiting
from packenv.compile import compiled, inlined, outlined
from packenv.envs.observation import largest_on, survey, write_cluster, write_queue, write_server, write_virtual_queues
from packenv.envs.prefetch import ask_for
from packenv.envs.state import DECIDING, FRESH, WAITING, Batch
from packenv.envs.steps import begin_episode, begin_step, call_back, end_step, next_slot, pass_over, put

TIGHTEST, BY_INDEX = 0, 1
"""Which server is asked first: the one with the least room, or the first."""


@compiled
def step_server_fill(b: Batch) -> int:
    """Rows first .. last - 1: act, go to the next decision, observe. Returns the row whose pool must grow, or NONE."""
    for e in range(b.first, b.last):
        look_at(b.c, e)
        if e + 1 < b.last:
            ask_for(b, e + 1)
        turn = b.turn[e]
        if turn.phase == FRESH:
            begin_episode(b)
        elif turn.phase == DECIDING:
            begin_step(b)
            act(b)
        while turn.phase == WAITING:
            if next_slot(b) == GROW:
                return e
            if turn.phase == DECIDING:
                call_back(b)
                turn.server = next_server(b)
                turn.phase = WAITING if turn.server == NONE else DECIDING
        end_step(b)
        observe(b)
    return NONE


@inlined
def act(b: Batch) -> None:
    turn, action = b.turn[b.c.e], b.action[b.c.e]
    server = turn.server
    i = NONE
    if action < b.mask.shape[1] - 1:
        i = chosen(b, server, action)
        turn.invalid = i == NONE
    if i == NONE:
        pass_over(b, server)
    else:
        put(b, i, server)
    if i == NONE or not something_fits(b, server):
        turn.server = next_server(b)
        turn.phase = WAITING if turn.server == NONE else DECIDING


@inlined
def chosen(b: Batch, server: int, j: int) -> int:
    c = b.c
    kind = kind_of(c, server)
    return largest_on(b, kind, j, server) if j < c.types.count[c.e, kind] else NONE


@inlined
def something_fits(b: Batch, server: int) -> bool:
    c = b.c
    if c.vectors:
        return any_group_fits(b, server)
    return waiting(c) > 0 and smallest_size(c) <= room_of(c, server)


@outlined
def any_group_fits(b: Batch, server: int) -> bool:
    """Whether something that is in a virtual queue of this server's kind fits in every resource."""
    c = b.c
    kind = kind_of(c, server)
    for n in range(group_count(c)):
        i = first_of_group(c, n)
        if c.types.link[c.e, i, kind].type != NONE and fits(c, i, server):
            return True
    return False


@inlined
def next_server(b: Batch) -> int:
    """The server to ask: open, and with room for something that waits. NONE if there is none."""
    c = b.c
    if waiting(c) == 0:
        return NONE
    if c.vectors:
        return next_of_all(b)
    if b.form == BY_INDEX:
        return first_server(c, smallest_size(c), 0)
    return tightest_server(c, smallest_size(c))


@outlined
def next_of_all(b: Batch) -> int:
    """Several resources: a look at every server."""
    c = b.c
    best = NONE
    for server in range(server_count(c)):
        if any_group_fits(b, server):
            if b.form == BY_INDEX:
                return server
            if best == NONE or free_share(c, server) < free_share(c, best):
                best = server
    return best


@inlined
def observe(b: Batch) -> None:
    c, e, server = b.c, b.c.e, b.turn[b.c.e].server
    kind, room = 0, 0
    if server != NONE:
        kind, room = kind_of(c, server), room_of(c, server)
    survey(b, kind)
    write_virtual_queues(b, kind, 0, room, server)
    if b.queue.shape[1] > 0:
        write_queue(b)
    write_server(b, server)
    if b.cluster.shape[1] > 0:
        write_cluster(b)
    types = b.least.shape[1]
    for j in range(types):
        b.mask[e, j] = b.virtual_queues[e, j, 1] > 0.0
    b.mask[e, types] = 1
