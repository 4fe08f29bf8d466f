"""Doubly linked lists over the entries 0 .. n - 1 of an array; an entry is in at most one list.

`links` is an array (n,) of records with the fields `next` and `prev`; `ends` is a record with the fields `head` and
`tail`, one for each list, and may have more. NONE (-1) stands for no entry: an empty list has it at both ends.
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
    """(count,) ends_type, the ends of `count` empty lists."""
    return np.full(count, np.array((NONE, NONE), ends_type))


@compiled
def append(links: NDArray[np.void], ends: Any, i: int) -> None:
    """Put entry i behind the last one."""
    insert_behind(links, ends, ends.tail, i)


@compiled
def insert_in_order(links: NDArray[np.void], ends: Any, i: int) -> None:
    """Put entry i into a list in ascending order. Searches from the end, where new entries nearly always go."""
    before = ends.tail
    while before != NONE and before > i:
        before = links[before].prev
    insert_behind(links, ends, before, i)


@compiled
def insert_behind(links: NDArray[np.void], ends: Any, before: int, i: int) -> None:
    """Put entry i behind entry `before`; at the front if `before` is NONE."""
    after = ends.head if before == NONE else links[before].next
    connect(links, ends, before, i)
    connect(links, ends, i, after)


@compiled
def unlink(links: NDArray[np.void], ends: Any, i: int) -> None:
    """Take entry i out of the list that it is in. Its own `next` and `prev` stay as they are."""
    connect(links, ends, links[i].prev, links[i].next)


@compiled
def connect(links: NDArray[np.void], ends: Any, before: int, after: int) -> None:
    """Make entry `after` follow entry `before`; NONE for one of them makes the other an end of the list."""
    if before == NONE:
        ends.head = after
    else:
        links[before].next = after
    if after == NONE:
        ends.tail = before
    else:
        links[after].prev = before
