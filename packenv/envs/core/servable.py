"""Virtual queues that a server can serve, largest sizes first."""

from __future__ import annotations

from packenv.cluster.best_fit import free_share, precedes
from packenv.cluster.queue.by_demand import first_of_group, group_count
from packenv.cluster.queue.by_type import type_of
from packenv.cluster.queue.waiting import largest_fitting, largest_of_type_fitting, size_of, smallest_waiting
from packenv.cluster.servers import fits, kind_of, room_of, server_count
from packenv.cluster.state import NO_SIZE, NONE
from packenv.compiled.decorators import apart, fused
from packenv.envs.core.state import Batch
from packenv.policy import BY_SIZE


@fused
def survey(b: Batch, kind: int) -> None:
    """Update each virtual queue's extreme sizes, unless BY_SIZE does."""
    if not b.c.orders & BY_SIZE:
        survey_groups(b, kind)


@apart
def survey_groups(b: Batch, kind: int) -> None:
    c = b.c
    least, most = c.types.least[c.e, kind], c.types.most[c.e, kind]
    for j in range(least.shape[0]):
        least[j], most[j] = NO_SIZE, 0
    for n in range(group_count(c)):
        size = size_of(c, first_of_group(c, n))
        j = type_of(c, kind, size)
        if j != NONE:
            least[j], most[j] = min(least[j], size), max(most[j], size)


@fused
def largest_on(b: Batch, kind: int, j: int, server: int) -> int:
    """Return queue j's largest fitting task (ties: row) or NONE."""
    c = b.c
    if c.vectors:
        return largest_of_groups(b, kind, j, server)
    return largest_of_type_fitting(c, kind, j, room_of(c, server))


@apart
def largest_of_groups(b: Batch, kind: int, j: int, server: int) -> int:
    c = b.c
    best = NONE
    for n in range(group_count(c)):
        i = first_of_group(c, n)
        if type_of(c, kind, size_of(c, i)) == j and fits(c, i, server):
            if best == NONE or precedes(c, i, best):
                best = i
    return best


@apart
def largest_anywhere(b: Batch, kind: int, j: int, server: int) -> int:
    """Return the largest fitting size of type j, or 0."""
    c = b.c
    best = 0
    for s in range(server_count(c)):
        if (s == server or server == NONE) and kind_of(c, s) == kind:
            i = largest_of_groups(b, kind, j, s)
            if i != NONE:
                best = max(best, size_of(c, i))
    return best


@fused
def can_serve(b: Batch, kind: int, j: int, server: int) -> bool:
    """Return whether a task of queue j fits (needs `survey`)."""
    if b.c.vectors:
        return largest_of_groups(b, kind, j, server) != NONE
    return b.c.types.least[b.c.e, kind, j] <= room_of(b.c, server)


@apart
def served_by(b: Batch, server: int, n: int) -> int:
    """Return the server's n-th servable queue, or NONE."""
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
    """Return the number of servable queues (needs `survey`)."""
    count = 0
    if server != NONE:
        for j in range(b.c.types.count[b.c.e, kind]):
            count += can_serve(b, kind, j, server)
    return count


@fused
def chosen(b: Batch, server: int, j: int) -> int:
    """Return the task that queue j would start, or NONE."""
    c = b.c
    kind = kind_of(c, server)
    return largest_on(b, kind, j, server) if j < c.types.count[c.e, kind] else NONE


@apart
def forced(b: Batch, server: int) -> int:
    """Return the task of the only servable queue, or NONE."""
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
    """Return whether any task with a type fits the server."""
    c = b.c
    kind = kind_of(c, server)
    for n in range(group_count(c)):
        i = first_of_group(c, n)
        if type_of(c, kind, size_of(c, i)) != NONE and fits(c, i, server):
            return True
    return False


@apart
def tightest_of_all(b: Batch, above: float) -> int:
    """Return the next tightest server with a fitting task above `above`, or NONE."""
    c, best = b.c, NONE
    for server in range(server_count(c)):
        share = free_share(c, server)
        if share > above and (best == NONE or share < free_share(c, best)) and any_group_fits(b, server):
            best = server
    return best
