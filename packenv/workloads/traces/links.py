"""Columns of lists (predecessors and home servers), and the order of rows.

In CSV the items of a list are separated by spaces or semicolons. In Parquet a cell is such a text, or a list. An empty cell is an
empty list.
"""

from __future__ import annotations

import heapq

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from packenv.errors import InputError
from packenv.inputs.numbers import LARGEST_WHOLE, read_whole
from packenv.jobs import Ragged, gather
from packenv.workloads.traces.columns import Columns, reading_table

Ints = NDArray[np.int64]

LOST_LINKS = "links to a dropped task (passed on to its predecessors)"


def read_links(columns: Columns) -> Ragged:
    """Return each row's predecessors, as row numbers from 0.

    The cells hold row numbers, or values of column `id` if it exists. Raises InputError for a row that does not exist or is its
    own predecessor, and for repeated ids.
    """
    offsets, cells = _cells(columns, "predecessors")
    owner = np.repeat(np.arange(len(columns)), np.diff(offsets))
    if "id" in columns:
        row = pc.index_in(cells, value_set=_ids(columns)).fill_null(-1).to_numpy()
    else:
        row = _numbers(columns, "predecessors", cells, owner)
    for bad, problem in (
        ((row < 0) | (row >= len(columns)), "{} is not a task of this file"),
        (row == owner, "{} is the task itself"),
    ):
        if bad.any():
            first = int(np.argmax(bad))
            raise columns.error(int(owner[first]), "predecessors", problem.format(cells[first]))
    return Ragged(offsets, row.astype(np.int64))


def read_home(columns: Columns) -> Ragged:
    """Return the servers that hold each row's data, from 0."""
    offsets, cells = _cells(columns, "home")
    owner = np.repeat(np.arange(len(columns)), np.diff(offsets))
    server = _numbers(columns, "home", cells, owner)
    if (server < 0).any():
        first = int(np.argmax(server < 0))
        raise columns.error(int(owner[first]), "home", f"{cells[first]} is negative")
    return Ragged(offsets, server)


def order_of(time: Ints, links: Ragged | None, columns: Columns) -> Ints:
    """Return rows (n,) in order of time, predecessors before successors.

    Rows of equal time otherwise keep their order. Raises InputError, naming rows, if predecessors form a circle or come later
    than a row that waits for them.
    """
    order = np.argsort(time, kind="stable")
    if links is None:
        return order
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    owner = np.repeat(np.arange(len(time)), np.diff(links.offsets))
    if (place[links.values] < place[owner]).all():
        return order
    sorted_rows = _topological(place, owner, links.values)
    if len(sorted_rows) < len(order):
        # Raise InputError for a circle, found by following rows in `stuck`.
        stuck = np.setdiff1d(order, sorted_rows)
        is_stuck = set(stuck.tolist())
        path = [int(stuck[0])]
        while path[-1] not in path[:-1]:
            before = links.values[links.offsets[path[-1]] : links.offsets[path[-1] + 1]].tolist()
            path.append(next(row for row in before if row in is_stuck))
        circle = path[path.index(path[-1]) :]
        names = " after ".join(_name(columns, row) for row in circle)
        raise columns.error(circle[0], "predecessors", f"they go in a circle: {names}")
    late = time[links.values] > time[owner]
    if late.any():
        first = int(np.argmax(late))
        raise columns.error(int(owner[first]), "predecessors", f"{_name(columns, int(links.values[first]))} comes later")
    return np.array(sorted_rows, np.int64)


def reordered(links: Ragged, rows: Ints) -> Ragged:
    """Return the links in the order `rows`, renumbered 0, 1, …"""
    place = np.empty_like(rows)
    place[rows] = np.arange(len(rows))
    lists = gather(links, rows)
    return Ragged(lists.offsets, place[lists.values])


def levels(links: Ragged) -> Ints:
    """Return each row's longest path (n,), -1 behind circles."""
    n = len(links.offsets) - 1
    waits = np.diff(links.offsets)
    # Successors of each row.
    by_predecessor = np.argsort(links.values, kind="stable")
    successors = Ragged(
        np.searchsorted(links.values[by_predecessor], np.arange(n + 1)), np.repeat(np.arange(n), waits)[by_predecessor]
    )
    level, depth = np.full(n, -1), 0
    # Remove rows without waiting predecessors, level by level.
    free = np.flatnonzero(waits == 0)
    while len(free):
        level[free] = depth
        after = gather(successors, free).values
        np.subtract.at(waits, after, 1)
        free = np.unique(after[waits[after] == 0])
        depth += 1
    return level


def falls(job: Ints, phase: Ints) -> NDArray[np.bool_]:
    """Mark tasks (n,) with a lower phase than their job's previous task."""
    order = np.argsort(job, kind="stable")
    down = np.zeros(len(job), np.bool_)
    down[order[1:]] = (job[order[1:]] == job[order[:-1]]) & (phase[order[1:]] < phase[order[:-1]])
    return down


def _cells(columns: Columns, name: str) -> tuple[Ints, pa.Array]:
    column = columns.column(name).combine_chunks()
    items = column.type.value_type if _is_list(column.type) else column.type
    if pa.types.is_nested(items):
        raise InputError(f"{columns.path}: column {name} holds {column.type}, not lists of numbers or texts")
    with reading_table(columns.path):
        if items is column.type:
            column = pc.split_pattern_regex(column.cast(pa.string()), r"[;\s]+")
        column = pc.if_else(pc.is_null(column), pa.scalar([], column.type), column)
        lengths = np.asarray(pc.list_value_length(column), np.int64)
        cells = pc.list_flatten(column).cast(pa.string()).fill_null("null")
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64), cells


def _is_list(type_: pa.DataType) -> bool:
    return pa.types.is_list(type_) or pa.types.is_large_list(type_) or pa.types.is_fixed_size_list(type_)


def _ids(columns: Columns) -> pa.Array:
    column = columns.column("id")
    if pa.types.is_nested(column.type):
        raise InputError(f"{columns.path}: column id holds {column.type}, not numbers or texts")
    with reading_table(columns.path):
        ids = column.cast(pa.string()).combine_chunks()
    columns.require(np.asarray(pc.is_valid(ids)), "id", "is empty")
    first = np.asarray(pc.index_in(ids, value_set=ids))
    columns.require(first == np.arange(len(ids)), "id", "{} occurs more than once")
    return ids


def _numbers(columns: Columns, name: str, cells: pa.Array, owner: Ints) -> Ints:
    try:
        return np.asarray(cells.cast(pa.int64()), np.int64)
    except pa.ArrowException:
        return np.array([_integer(columns, name, cell, int(row)) for cell, row in zip(cells.to_pylist(), owner, strict=True)])


def _integer(columns: Columns, name: str, text: str, row: int) -> int:
    try:
        return read_whole(text, -LARGEST_WHOLE)
    except InputError as problem:
        raise columns.error(row, name, str(problem)) from None


def _topological(place: Ints, owner: Ints, before: Ints) -> list[int]:
    """Return rows by place, each after its predecessors, without circles."""
    waits = np.bincount(owner, minlength=len(place)).tolist()
    by_predecessor = np.argsort(before, kind="stable")
    successors = owner[by_predecessor]
    first = np.searchsorted(before[by_predecessor], np.arange(len(place) + 1))
    row_at = np.argsort(place)
    # Take the earliest row without waiting predecessors.
    free = [int(place[row]) for row in range(len(place)) if not waits[row]]
    heapq.heapify(free)
    done = []
    while free:
        row = int(row_at[heapq.heappop(free)])
        done.append(row)
        for successor in successors[first[row] : first[row + 1]].tolist():
            waits[successor] -= 1
            if not waits[successor]:
                heapq.heappush(free, int(place[successor]))
    return done


def _name(columns: Columns, row: int) -> str:
    return str(columns.table["id"][row]) if "id" in columns else str(row)
