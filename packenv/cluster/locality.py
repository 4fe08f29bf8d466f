"""Where the data of tasks lie (packenv.Network): how far away, how much longer a task runs there, and what reading takes.

A task away from its data takes `reading` on its own server, in addition to its demand, and `serving` on the server from which
it reads, until it completes. It reads from one of the nearest of its home servers: those in its rack, if there are any. Of
those with room it is the one with most room: the largest share of its capacity free, in the resource of `serving` of which
least is free; ties go to the lower index.

Waiting rows of each group are kept by the places where their data lie: the first that is at home on a server is found at once.
A group is any set of rows that a scheduler takes to be alike. A place is a home server of a row, or the rack of one. A pair is
a group and a place of any of its rows; it has a list of entries, in row order. A waiting row has an entry for each of its places.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from packenv.cluster.linked_list import insert_in_order, unlink
from packenv.cluster.state import NONE, Cluster
from packenv.compiled.decorators import apart, compiled
from packenv.compiled.frame import Frame
from packenv.jobs import Ragged
from packenv.workloads.network import ANY, NODE, RACK, Network


@compiled
def has_homes(c: Cluster) -> bool:
    """Whether any row of the table has home servers."""
    return c.source.locality.home_of.shape[0] > 1


@compiled
def level_of(c: Cluster, row: int, server: int) -> int:
    """Distance of a server from the data of a row: NODE, RACK or ANY; NODE everywhere for a row without home servers."""
    if not has_homes(c) or row < 0:
        return NODE
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
    charge_read(c, i, server, source, 1)
    for r in range(c.free.shape[2]):
        if c.free[c.e, server, r] < 0:
            raise ValueError("a task started on a server without room for what it reads over the network")
    return source


@apart
def end_read(c: Cluster, i: int, server: int) -> int:
    """Give back what task i, which completes on a server, took to read; returns the server from which it read, or NONE."""
    source = c.reads[c.e, i]
    if source != NONE:
        charge_read(c, i, server, source, -1)
    return source


@compiled
def charge_read(c: Cluster, i: int, server: int, source: int, sign: int) -> None:
    """Take (sign = 1) or give back (-1) the room of task i's read on both servers."""
    c.reads[c.e, i] = source if sign > 0 else NONE
    for r in range(c.free.shape[2]):
        reading, serving = sign * c.source.locality.reading[r], sign * c.source.locality.serving[r]
        c.free[c.e, server, r] -= reading
        c.free[c.e, source, r] -= serving
        c.used[c.e, r] += reading + serving


Ints = NDArray[np.int64]
Places = NDArray[np.int32]

ANYWHERE = NONE  # the place of rows without home servers, which are at home on every server

pair_type = np.dtype([("place", "i4"), ("head", "i4"), ("tail", "i4")], align=True)
entry_type = np.dtype([("row", "i4"), ("pair", "i4"), ("next", "i4"), ("prev", "i4")], align=True)


class RowsByPlace(Frame):
    """n rows in G groups, P pairs, H entries; all arrays but the two first are empty without places."""

    entries_of: Ints  # (n + 1,) the entries of row i are entries_of[i] .. entries_of[i + 1] - 1, all in row order; or (1,)
    pairs_of: Ints  # (G + 1,) the pairs of group g are pairs_of[g] .. pairs_of[g + 1] - 1, sorted by place
    # changes during a run
    pair: NDArray[np.void]  # (P,) pair_type
    entry: NDArray[np.void]  # (H,) entry_type


class RowsByHome(Frame):
    """The waiting rows of a table by home server and by rack, on L servers."""

    servers: RowsByPlace  # empty if no row of the table has home servers
    racks: RowsByPlace  # empty if, besides, no servers share a rack
    rack: Places  # (L,) rack of each server


def rows_by_home(home: Ragged | None, group: Ints | Places, network: Network | None, servers: int) -> RowsByHome:
    """The state before slot 0, with no row waiting. `home` has the home servers of n rows, `group` (n,) their groups."""
    network = network or Network()
    rack = network.rack_of(servers)
    groups = int(group.max()) + 1
    none = rows_by_place(np.zeros(1, np.int64), np.zeros(0, np.int64), group[:0], groups)
    if home is None:
        return RowsByHome(servers=none, racks=none, rack=rack.astype(np.int32))
    at_home, places = _anywhere_where_empty(*home)
    in_rack = rack[home.values]
    return RowsByHome(
        servers=rows_by_place(at_home, places, group, groups),
        racks=rows_by_place(home.offsets, in_rack, group, groups) if network.has_racks else none,
        rack=rack.astype(np.int32),
    )


def rows_by_place(offsets: Ints, places: Ints, group: Ints | Places, groups: int) -> RowsByPlace:
    """No row waits. The places of row i, of group group[i], are places[offsets[i] : offsets[i + 1]]."""
    row = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    pairs, pair_of_entry = distinct(np.column_stack([group[row], places]))
    pair, entry = np.zeros(len(pairs), pair_type), np.zeros(len(row), entry_type)
    pair["place"], pair["head"], pair["tail"] = pairs[:, 1], NONE, NONE
    entry["row"], entry["pair"], entry["next"], entry["prev"] = row, pair_of_entry, NONE, NONE
    pairs_of = np.searchsorted(pairs[:, 0], np.arange(groups + 1)).astype(np.int64)
    return RowsByPlace(entries_of=np.asarray(offsets, np.int64).copy(), pairs_of=pairs_of, pair=pair, entry=entry)


def distinct(keys: Ints) -> tuple[Ints, Ints]:
    """The distinct rows of an (n, k) array, sorted, and (n,) the index of each row among them."""
    order = np.lexsort(keys.T[::-1])
    changes = (np.diff(keys[order], axis=0) != 0).any(axis=1)
    first = np.append(np.ones(min(len(keys), 1), np.bool_), changes)
    number = np.empty(len(keys), np.int64)
    number[order] = np.cumsum(first) - 1
    return keys[order[first]], number


def _anywhere_where_empty(offsets: Ints, values: Ints) -> tuple[Ints, Ints]:
    """The same lists of integers, as (offsets, values), with ANYWHERE alone in place of each empty one."""
    lengths = np.diff(offsets)
    filled = np.insert(values, offsets[:-1][lengths == 0], ANYWHERE)
    return np.concatenate([[0], np.cumsum(np.maximum(lengths, 1))]).astype(np.int64), filled


@compiled
def enter(rows: RowsByHome, row: int) -> None:
    """A row waits from now on."""
    enter_places(rows.servers, row)
    enter_places(rows.racks, row)


@compiled
def leave(rows: RowsByHome, row: int) -> None:
    """A waiting row starts."""
    leave_places(rows.servers, row)
    leave_places(rows.racks, row)


@compiled
def enter_places(rows: RowsByPlace, row: int) -> None:
    if rows.entries_of.shape[0] > 1:
        for n in range(rows.entries_of[row], rows.entries_of[row + 1]):
            insert_in_order(rows.entry, rows.pair[rows.entry[n].pair], n)


@compiled
def leave_places(rows: RowsByPlace, row: int) -> None:
    if rows.entries_of.shape[0] > 1:
        for n in range(rows.entries_of[row], rows.entries_of[row + 1]):
            unlink(rows.entry, rows.pair[rows.entry[n].pair], n)


@compiled
def nearest_row(rows: RowsByHome, ends: Any, g: int, server: int) -> int:
    """The waiting row of group g whose data are nearest to a server; of those equally near the first.

    That is one at home there, otherwise one with data in the rack, otherwise any. `ends` has the ends of the list of the
    group's waiting rows, of which there must be one.
    """
    if rows.servers.entries_of.shape[0] == 1:
        return ends.head
    row = first_at_home(rows, g, server)
    if row == NONE and rows.racks.entries_of.shape[0] > 1:
        row = first_in(rows.racks, g, rows.rack[server])
    return ends.head if row == NONE else row


@compiled
def first_at_home(rows: RowsByHome, g: int, server: int) -> int:
    """First waiting row of the group that is at home on a server, or NONE. The table must have home servers."""
    servers = rows.servers
    row = first_in(servers, g, server)
    first = servers.pair[servers.pairs_of[g]]  # of ANYWHERE, if any of the group's rows are at home everywhere
    return earlier(row, servers.entry[first.head].row) if first.place == ANYWHERE and first.head != NONE else row


@compiled
def first_in(rows: RowsByPlace, g: int, place: int) -> int:
    """First waiting row of the group with data in a place, or NONE."""
    entry = first_entry(rows, g, place)
    return NONE if entry == NONE else rows.entry[entry].row


@compiled
def first_entry(rows: RowsByPlace, g: int, place: int) -> int:
    """First entry of the pair of a group and a place, or NONE."""
    low, high = rows.pairs_of[g], rows.pairs_of[g + 1]
    while low < high:
        middle = (low + high) >> 1
        if rows.pair[middle].place < place:
            low = middle + 1
        else:
            high = middle
    return rows.pair[low].head if low < rows.pairs_of[g + 1] and rows.pair[low].place == place else NONE


@compiled
def earlier(row: int, other: int) -> int:
    """The earlier of two rows, of which the first may be NONE."""
    return other if row == NONE else min(row, other)
