"""Locality of data (packenv.Network): distances, longer runs, and reading.

Until it completes, a task away from its data takes `reading` on its own server in addition to its demand, and `serving` on the
server it reads from. This is one of the nearest home servers: those in its rack, if there are any. Among the servers with room
it is the one with the largest free share, in the resource of `serving` with the least. Ties go to the lower index.

The waiting rows of each group are indexed by place: a home server of a row, or the rack of one. A group is any set of rows
that a scheduler treats as equal. A pair is a group and a place of any of its rows, with a list of entries in row order. A
waiting row has an entry for each of its places.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from packenv.cluster.records import insert_in_order, unlink
from packenv.cluster.state import NONE, Cluster
from packenv.compiled.decorators import apart, compiled
from packenv.compiled.frame import Frame
from packenv.jobs import Ragged
from packenv.workloads.network import ANY, NODE, RACK, Network


@compiled
def has_homes(c: Cluster) -> bool:
    return c.source.locality.home_of.shape[0] > 1


@compiled
def level_of(c: Cluster, row: int, server: int) -> int:
    """Return a row's distance from its data: NODE (also without homes), RACK or ANY."""
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
    """Return the additional slots that a remote row takes now."""
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
    """Return the factor that multiplies remote overheads now."""
    places = c.source.locality
    step = 0
    while step + 1 < places.since.shape[0] and places.since[step + 1] <= c.head[c.e].now:
        step += 1
    return places.factor[step]


@compiled
def reads_take_room(c: Cluster) -> bool:
    """Return whether remote reads take resources in this cluster."""
    return c.reads.shape[1] > 0


@compiled
def can_read(c: Cluster, row: int, server: int) -> bool:
    """Return whether there is room for a row's remote read.

    The server needs room for `reading` beyond the row's demand (check the demand first), and a server with the data room for
    `serving`. A row at home reads nothing over the network.
    """
    if not reads_take_room(c) or row < 0 or level_of(c, row, server) == NODE:
        return True
    return room_beside(c, row, server) and source_of(c, row, server) != NONE


@apart
def room_beside(c: Cluster, row: int, server: int) -> bool:
    k = row - c.source.stream[c.s].first_row
    for r in range(c.free.shape[2]):
        if c.source.demand[c.s, k, r] + c.source.locality.reading[r] > c.free[c.e, server, r]:
            return False
    return True


@apart
def source_of(c: Cluster, row: int, server: int) -> int:
    """Return the server a remote row would read, or NONE."""
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
    """Return the least free share for `serving`, -1 without room."""
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
    """Take task i's read room after its demand. Return the source or NONE."""
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
    """Free a read's room, and return its source or NONE."""
    source = c.reads[c.e, i]
    if source != NONE:
        charge_read(c, i, server, source, -1)
    return source


@compiled
def charge_read(c: Cluster, i: int, server: int, source: int, sign: int) -> None:
    """Take (sign = 1) or free (-1) a read's room."""
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
    """n rows, G groups, P pairs and H entries by place."""

    entries_of: Ints  # (n + 1,) the entries of row i are entries_of[i] .. entries_of[i + 1] - 1, all in row order; or (1,)
    pairs_of: Ints  # (G + 1,) the pairs of group g are pairs_of[g] .. pairs_of[g + 1] - 1, sorted by place
    # changes during a run
    pair: NDArray[np.void]  # (P,) pair_type
    entry: NDArray[np.void]  # (H,) entry_type


class RowsByHome(Frame):
    """The waiting rows by home server and rack."""

    servers: RowsByPlace  # empty if no row of the table has home servers
    racks: RowsByPlace  # empty if, besides, no servers share a rack
    rack: Places  # (L,) rack of each server


def rows_by_home(home: Ragged | None, group: Ints | Places, network: Network | None, servers: int) -> RowsByHome:
    """Return the index before slot 0, for groups (n,)."""
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
    """Return an index of places[offsets[i] : offsets[i + 1]] by place."""
    row = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    pairs, pair_of_entry = distinct(np.column_stack([group[row], places]))
    pair, entry = np.zeros(len(pairs), pair_type), np.zeros(len(row), entry_type)
    pair["place"], pair["head"], pair["tail"] = pairs[:, 1], NONE, NONE
    entry["row"], entry["pair"], entry["next"], entry["prev"] = row, pair_of_entry, NONE, NONE
    pairs_of = np.searchsorted(pairs[:, 0], np.arange(groups + 1)).astype(np.int64)
    return RowsByPlace(entries_of=np.asarray(offsets, np.int64).copy(), pairs_of=pairs_of, pair=pair, entry=entry)


def distinct(keys: Ints) -> tuple[Ints, Ints]:
    """Return the sorted distinct rows, and each row's index, (n,)."""
    order = np.lexsort(keys.T[::-1])
    changes = (np.diff(keys[order], axis=0) != 0).any(axis=1)
    first = np.append(np.ones(min(len(keys), 1), np.bool_), changes)
    number = np.empty(len(keys), np.int64)
    number[order] = np.cumsum(first) - 1
    return keys[order[first]], number


def _anywhere_where_empty(offsets: Ints, values: Ints) -> tuple[Ints, Ints]:
    """Replace each empty list by ANYWHERE, in (offsets, values)."""
    lengths = np.diff(offsets)
    filled = np.insert(values, offsets[:-1][lengths == 0], ANYWHERE)
    return np.concatenate([[0], np.cumsum(np.maximum(lengths, 1))]).astype(np.int64), filled


@compiled
def enter(rows: RowsByHome, row: int) -> None:
    enter_places(rows.servers, row)
    enter_places(rows.racks, row)


@compiled
def leave(rows: RowsByHome, row: int) -> None:
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
    """Return the group's waiting row with the nearest data.

    Order: at home on the server, then data in its rack, then any. Ties: the first row. `ends` has the ends of the list of the
    group's waiting rows, which must not be empty.
    """
    if rows.servers.entries_of.shape[0] == 1:
        return ends.head
    row = first_at_home(rows, g, server)
    if row == NONE and rows.racks.entries_of.shape[0] > 1:
        row = first_in(rows.racks, g, rows.rack[server])
    return ends.head if row == NONE else row


@compiled
def first_at_home(rows: RowsByHome, g: int, server: int) -> int:
    """Return the group's first row at home, or NONE."""
    servers = rows.servers
    row = first_in(servers, g, server)
    first = servers.pair[servers.pairs_of[g]]  # of ANYWHERE, if any of the group's rows are at home everywhere
    return earlier(row, servers.entry[first.head].row) if first.place == ANYWHERE and first.head != NONE else row


@compiled
def first_in(rows: RowsByPlace, g: int, place: int) -> int:
    entry = first_entry(rows, g, place)
    return NONE if entry == NONE else rows.entry[entry].row


@compiled
def first_entry(rows: RowsByPlace, g: int, place: int) -> int:
    """Return a pair's first entry, or NONE."""
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
    return other if row == NONE else min(row, other)
