"""The virtual queues that a server can serve: those with a task that fits, counted from the largest sizes."""

from __future__ import annotations

from packenv.cluster.best_fit import free_share
from packenv.cluster.queue.by_demand import first_of_group, group_count
from packenv.cluster.queue.by_type import type_of
from packenv.cluster.queue.waiting import largest_fitting, size_of, smallest_waiting
from packenv.cluster.servers import fits, kind_of, room_of, server_count
from packenv.cluster.state import NONE
from packenv.compiled.decorators import apart, fused
from packenv.envs.core.largest_fitting import largest_of_groups, largest_on, survey
from packenv.envs.core.state import Batch


@fused
def can_serve(b: Batch, kind: int, j: int, server: int) -> bool:
    """Whether some task of virtual queue j fits on the server. Needs `survey`."""
    if b.c.vectors:
        return largest_of_groups(b, kind, j, server) != NONE
    return b.c.types.least[b.c.e, kind, j] <= room_of(b.c, server)


@apart
def served_by(b: Batch, server: int, n: int) -> int:
    """The n-th virtual queue that can be served on the server, of the largest sizes first; NONE if there are not so many."""
    kind = kind_of(b.c, server)
    survey(b, kind)
    for j in range(b.c.types.count[b.c.e, kind]):
        if can_serve(b, kind, j, server):
            if n == 0:
                return j
            n -= 1
    return NONE


@apart
def servable(b: Batch, kind: int, server: int) -> int:
    """How many virtual queues can be served on the server. Needs `survey`."""
    found = 0
    if server != NONE:
        for j in range(b.c.types.count[b.c.e, kind]):
            found += can_serve(b, kind, j, server)
    return found


@fused
def chosen(b: Batch, server: int, j: int) -> int:
    """The task that starts when virtual queue j is served on the server; NONE if there is none."""
    c = b.c
    kind = kind_of(c, server)
    return largest_on(b, kind, j, server) if j < c.types.count[c.e, kind] else NONE


@apart
def forced(b: Batch, server: int) -> int:
    """The task that starts where there is no choice: the largest of the only virtual queue that the server can serve, or NONE."""
    c = b.c
    if server == NONE:
        return NONE
    kind = kind_of(c, server)
    if not c.vectors:
        largest, smallest = largest_fitting(c, room_of(c, server)), smallest_waiting(c)
        alike = type_of(c, kind, size_of(c, largest)) == type_of(c, kind, size_of(c, smallest))
        return largest if alike else NONE
    only = NONE
    for j in range(c.types.count[c.e, kind]):
        if can_serve(b, kind, j, server):
            if only != NONE:
                return NONE
            only = j
    return chosen(b, server, only)


@apart
def any_group_fits(b: Batch, server: int) -> bool:
    """Several resources: whether some waiting task of a type that this kind of server has fits on the server."""
    c = b.c
    kind = kind_of(c, server)
    for n in range(group_count(c)):
        i = first_of_group(c, n)
        if type_of(c, kind, size_of(c, i)) != NONE and fits(c, i, server):
            return True
    return False


@apart
def tightest_of_all(b: Batch, above: float) -> int:
    """Several resources: the server on which some waiting task fits with the least free share above `above`; NONE if none."""
    c, best = b.c, NONE
    for server in range(server_count(c)):
        share = free_share(c, server)
        if share > above and (best == NONE or share < free_share(c, best)) and any_group_fits(b, server):
            best = server
    return best
