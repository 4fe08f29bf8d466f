"""Best fit by server and by task (PAPERS §1.5).

One resource: the largest task that fits, or the server with the least room. Several resources: the pair with the highest
score Σ_r (d_r / C_r) · (occupied_r / C_r).
"""

from __future__ import annotations

from packenv.cluster.in_service import place
from packenv.cluster.locality import reads_take_room
from packenv.cluster.queue.by_demand import demand_of, first_of_group, group_count
from packenv.cluster.queue.waiting import in_gang, largest_fitting, size_of, smallest_size, waiting
from packenv.cluster.servers import first_server, fits, free_of, room_of, tightest_server
from packenv.cluster.state import NONE, Cluster
from packenv.compiled.decorators import apart, compiled
from packenv.policy import BY_DEMAND


@compiled
def score(c: Cluster, i: int, server: int) -> float:
    """Return Σ_r (demand / capacity) · (occupied / capacity)."""
    total = 0.0
    for r in range(c.capacity.shape[1]):
        capacity = float(c.capacity[server, r])
        if capacity > 0:
            total += (demand_of(c, i, r) / capacity) * ((capacity - free_of(c, server, r)) / capacity)
    return total


@compiled
def free_share(c: Cluster, server: int) -> float:
    """Return the sum over resources of the server's free shares."""
    total = 0.0
    for r in range(c.capacity.shape[1]):
        if c.capacity[server, r] > 0:
            total += free_of(c, server, r) / float(c.capacity[server, r])
    return total


@apart
def best_aligned_task(c: Cluster, server: int) -> int:
    """Return the highest-scoring task (ties: size, earlier row) or NONE."""
    best, best_score = NONE, -1.0
    for n in range(group_count(c)):
        i = first_of_group(c, n)
        if fits(c, i, server):
            value = score(c, i, server)
            if value > best_score or (value == best_score and precedes(c, i, best)):
                best, best_score = i, value
    return best


@compiled
def precedes(c: Cluster, i: int, other: int) -> bool:
    """Return whether i wins a tie: larger size, earlier row."""
    a, b = c.task[c.e, i], c.task[c.e, other]
    return a.size > b.size or (a.size == b.size and a.row < b.row)


@apart
def best_aligned_server(c: Cluster, i: int) -> int:
    """Return the highest-scoring server (ties: least free, index) or NONE."""
    best, best_score = NONE, -1.0
    for server in range(c.server.shape[1]):
        if fits(c, i, server):
            value = score(c, i, server)
            if value > best_score or (value == best_score and free_share(c, server) < free_share(c, best)):
                best, best_score = server, value
    return best


@compiled
def best_task(c: Cluster, server: int) -> int:
    """Return BF-S's task or NONE.

    Needs BY_SIZE, or BY_DEMAND for vectors.
    """
    if c.orders & BY_DEMAND:
        return best_aligned_task(c, server)
    return largest_fitting(c, room_of(c, server))


@compiled
def best_server(c: Cluster, i: int) -> int:
    """Return BF-J's server or NONE.

    Needs BY_ROOM, or BY_DEMAND for vectors.
    """
    if c.orders & BY_DEMAND:
        return best_aligned_server(c, i)
    return tightest_server(c, size_of(c, i))


@compiled
def may_fit(c: Cluster, i: int) -> bool:
    """Return whether to search the servers for a new task.

    Call it only if no older task fits: then a task behind an equal waiting one does not fit either. A large initial queue has few
    different demands. With 10,000 tasks and 5,000 servers this halves the time.
    """
    return not c.orders & BY_DEMAND or reads_take_room(c) or in_gang(c, i) or c.groups.group[c.e, c.groups.of[c.e, i]].head == i


@compiled
def next_with_room(c: Cluster, start: int) -> int:
    """Return the first server >= start for the smallest task.

    NONE if no open server has room for a waiting task. Needs BY_INDEX and BY_SIZE.
    """
    smallest = smallest_size(c) if waiting(c) > 0 else NONE
    return first_server(c, smallest, start) if smallest != NONE else NONE


@compiled
def fill(c: Cluster, server: int) -> int:
    """Start BF-S's tasks on a server, and return their number."""
    started = 0
    i = best_task(c, server)
    while i != NONE:
        place(c, i, server)
        started += 1
        i = best_task(c, server)
    return started
