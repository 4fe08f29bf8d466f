"""Waiting rows of each group by the places where their data lie: the first that is at home on a server is found at once.

A group is any set of rows that a scheduler takes to be alike. A place is a home server of a row, or the rack of one. A pair is
a group and a place of any of its rows; it has a list of entries, in row order. A waiting row has an entry for each of its places.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from packenv.cluster.linked_list import insert_in_order, unlink
from packenv.cluster.records import NONE
from packenv.compiled.decorators import compiled
from packenv.compiled.frame import Frame
from packenv.jobs import Ragged
from packenv.workloads.network import Network

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
    known = network or Network()
    rack = known.rack_of(servers)
    groups = int(group.max()) + 1
    none = rows_by_place(np.zeros(1, np.int64), np.zeros(0, np.int64), group[:0], groups)
    if home is None:
        return RowsByHome(servers=none, racks=none, rack=rack.astype(np.int32))
    at_home, places = _anywhere_where_empty(*home)
    in_rack = rack[home.values]
    return RowsByHome(
        servers=rows_by_place(at_home, places, group, groups),
        racks=rows_by_place(home.offsets, in_rack, group, groups) if known.has_racks else none,
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
