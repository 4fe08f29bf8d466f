"""The sizes of a virtual queue that decisions and observations ask for: its smallest and largest, and its largest that fits."""

from __future__ import annotations

from packenv.cluster.best_fit import precedes
from packenv.cluster.queue.by_demand import first_of_group, group_count
from packenv.cluster.queue.by_type import type_of
from packenv.cluster.queue.waiting import largest_of_type_fitting, size_of
from packenv.cluster.servers import fits, kind_of, room_of, server_count
from packenv.cluster.state import NO_SIZE, NONE
from packenv.compiled.decorators import apart, fused
from packenv.envs.core.state import Batch
from packenv.policy import BY_SIZE


@fused
def survey(b: Batch, kind: int) -> None:
    """Bring the smallest and largest size of each virtual queue up to date; with BY_SIZE they always are."""
    if not b.c.orders & BY_SIZE:
        survey_groups(b, kind)


@apart
def survey_groups(b: Batch, kind: int) -> None:
    """Several resources: go through the groups of tasks with equal demands."""
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
    """The largest task of virtual queue j that fits on the server, the earlier row first; NONE if there is none."""
    c = b.c
    if c.vectors:
        return largest_of_groups(b, kind, j, server)
    return largest_of_type_fitting(c, kind, j, room_of(c, server))


@apart
def largest_of_groups(b: Batch, kind: int, j: int, server: int) -> int:
    """Several resources: the largest task of type j that fits on the server; NONE if there is none."""
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
    """Size of the largest task of type j that fits on a server, or on any of its kind."""
    c = b.c
    best = 0
    for s in range(server_count(c)):
        if (s == server or server == NONE) and kind_of(c, s) == kind:
            i = largest_of_groups(b, kind, j, s)
            if i != NONE:
                best = max(best, size_of(c, i))
    return best
