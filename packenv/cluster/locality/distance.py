"""How far a task is from its data on a server, and how much longer it runs there (packenv.Network)."""

from __future__ import annotations

import numpy as np

from packenv.cluster.state import Cluster
from packenv.compiled.decorators import apart, compiled
from packenv.workloads.network import ANY, NODE, RACK


@compiled
def has_homes(c: Cluster) -> bool:
    """Whether any row of the table has home servers."""
    return c.source.locality.home_of.shape[0] > 1


@compiled
def level_of(c: Cluster, row: int, server: int) -> int:
    """Distance of a server from the data of a row: NODE, RACK or ANY; NODE everywhere for a row without home servers."""
    places = c.source.locality
    begin, end = places.home_of[row], places.home_of[row + 1]
    level = NODE if begin == end else ANY
    for n in range(begin, end):
        if places.home[n] == server:
            return NODE
        if places.rack[places.home[n]] == places.rack[server]:
            level = RACK
    return level


@apart
def remote_slots(c: Cluster, row: int, server: int) -> int:
    """Slots by which the row would run longer than its service if it started on this server now."""
    if not has_homes(c):
        return 0
    level = level_of(c, row, server)
    if level == NODE:
        return 0
    places = c.source.locality
    slots = places.overhead[row] * factor_now(c)
    return int(np.rint(slots * places.same_rack[0] if level == RACK else slots))


@compiled
def factor_now(c: Cluster) -> float:
    """The factor that multiplies remote overheads in this slot."""
    places = c.source.locality
    step = 0
    while step + 1 < places.since.shape[0] and places.since[step + 1] <= c.head[c.e].now:
        step += 1
    return places.factor[step]
