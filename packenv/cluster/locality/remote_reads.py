"""What reading over the network takes (packenv.Network, `reading` and `serving`): room on the reader and on a source.

A task away from its data takes `reading` on its own server, in addition to its demand, and `serving` on the server from which
it reads, until it completes. It reads from one of the nearest of its home servers: those in its rack, if there are any. Of
those with room it is the one with most room: the largest share of its capacity free, in the resource of `serving` of which
least is free; ties go to the lower index.
"""

from __future__ import annotations

from packenv.cluster.locality.distance import has_homes, level_of
from packenv.cluster.state import NONE, Cluster
from packenv.compiled.decorators import apart, compiled
from packenv.workloads.network import NODE, RACK


@compiled
def reads_take_room(c: Cluster) -> bool:
    """Whether reading over the network takes resources in this cluster."""
    return c.reads.shape[1] > 0


@compiled
def can_read(c: Cluster, row: int, server: int) -> bool:
    """Whether there is room for what the row would read over the network if it started on this server.

    That is room for `reading` on the server beyond the row's demand, whose room the caller has checked, and for `serving` on
    a server with the data. At home nothing is read over the network.
    """
    if not reads_take_room(c) or row < 0 or level_of(c, row, server) == NODE:
        return True
    return room_beside(c, row, server) and source_of(c, row, server) != NONE


@apart
def room_beside(c: Cluster, row: int, server: int) -> bool:
    """Whether the server has room for a row's demand and for `reading` together."""
    k = row - c.source.stream[c.s].first_row
    for r in range(c.free.shape[2]):
        if c.source.demand[c.s, k, r] + c.source.locality.reading[r] > c.free[c.e, server, r]:
            return False
    return True


@apart
def source_of(c: Cluster, row: int, server: int) -> int:
    """The server from which a row on `server`, away from its data, would read now; NONE if none has room to serve it."""
    places = c.source.locality
    in_rack = level_of(c, row, server) == RACK
    best, most = NONE, -1.0
    for n in range(places.home_of[row], places.home_of[row + 1]):
        home = places.home[n]
        if not in_rack or places.rack[home] == places.rack[server]:
            share = share_free(c, home)
            if share > most or (share == most and home < best):
                best, most = home, share
    return best


@compiled
def share_free(c: Cluster, home: int) -> float:
    """The least share of its capacity that a server has free in a resource of `serving`; -1 if it has no room to serve."""
    least = 1.0
    for r in range(c.free.shape[2]):
        serving = c.source.locality.serving[r]
        if serving > 0:
            if serving > c.free[c.e, home, r]:
                return -1.0
            least = min(least, c.free[c.e, home, r] / c.capacity[home, r])
    return least


@apart
def begin_read(c: Cluster, i: int, server: int) -> int:
    """Take the room for what task i, which starts on a server now, reads over the network.

    Returns the server from which it reads, NONE at home. The task's own demand has been taken already. Raises ValueError
    without room.
    """
    row = c.task[c.e, i].row
    c.reads[c.e, i] = NONE
    if row < 0 or not has_homes(c) or level_of(c, row, server) == NODE:
        return NONE
    source = source_of(c, row, server)
    if source == NONE:
        raise ValueError("a task started away from its data, and no server with them has room to serve it")
    take(c, i, server, source, 1)
    for r in range(c.free.shape[2]):
        if c.free[c.e, server, r] < 0:
            raise ValueError("a task started on a server without room for what it reads over the network")
    return source


@apart
def end_read(c: Cluster, i: int, server: int) -> int:
    """Give back what task i, which completes on a server, took to read; returns the server from which it read, or NONE."""
    source = c.reads[c.e, i]
    if source != NONE:
        take(c, i, server, source, -1)
    return source


@compiled
def take(c: Cluster, i: int, server: int, source: int, sign: int) -> None:
    """Take (sign = 1) or give back (-1) the room of task i's read on both servers."""
    c.reads[c.e, i] = source if sign > 0 else NONE
    for r in range(c.free.shape[2]):
        reading, serving = sign * c.source.locality.reading[r], sign * c.source.locality.serving[r]
        c.free[c.e, server, r] -= reading
        c.free[c.e, source, r] -= serving
        c.used[c.e, r] += reading + serving
