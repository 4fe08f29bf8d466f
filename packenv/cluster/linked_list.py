"""Doubly linked lists over the entries of an array.

An entry is in at most one list. `links` (n,) are records with the fields `next` and `prev`. `ends` is a record for each list
with the fields `head` and `tail`, and maybe others. NONE (-1) stands for no entry: an empty list has it at both ends.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from packenv.cluster.records import NONE
from packenv.compiled.decorators import compiled

link_type = np.dtype([("next", "i4"), ("prev", "i4")], align=True)
ends_type = np.dtype([("head", "i4"), ("tail", "i4")], align=True)


def empty_lists(count: int) -> NDArray[np.void]:
    """Return the ends of empty lists, (count,) ends_type."""
    return np.full(count, np.array((NONE, NONE), ends_type))


@compiled
def append(links: NDArray[np.void], ends: Any, i: int) -> None:
    insert_behind(links, ends, ends.tail, i)


@compiled
def insert_in_order(links: NDArray[np.void], ends: Any, i: int) -> None:
    """Insert entry i in ascending order, searching from the end."""
    before = ends.tail
    while before != NONE and before > i:
        before = links[before].prev
    insert_behind(links, ends, before, i)


@compiled
def insert_behind(links: NDArray[np.void], ends: Any, before: int, i: int) -> None:
    """Insert entry i behind `before`, in front for NONE."""
    after = ends.head if before == NONE else links[before].next
    connect(links, ends, before, i)
    connect(links, ends, i, after)


@compiled
def unlink(links: NDArray[np.void], ends: Any, i: int) -> None:
    """Remove entry i, whose own links keep their values."""
    connect(links, ends, links[i].prev, links[i].next)


@compiled
def connect(links: NDArray[np.void], ends: Any, before: int, after: int) -> None:
    """Link two neighbours, of which one may be NONE."""
    if before == NONE:
        ends.head = after
    else:
        links[before].next = after
    if after == NONE:
        ends.tail = before
    else:
        links[after].prev = before
