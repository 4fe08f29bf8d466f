"""Groups of like waiting tasks by merit: the highest starts first, on the first server with room of the best kind.

What the policies of seed 002 share (PAPERS §3). Merits of no more than 10⁻⁹ of the largest apart are equal: then the earlier
job goes first, in a job the earlier phase, in a phase the earlier row; of servers the lower index.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from packenv.cluster import NONE, Cluster
from packenv.compiled.decorators import inner
from packenv.compiled.frame import Frame
from packenv.policies.job_book import JobBook, group_fits, start

ALIKE = 1e-9


class Ranking(Frame):
    """G groups of the book, and K kinds of servers, numbered; each kind has its servers in index order."""

    merit: NDArray[np.float64]  # (G, K)
    possible: NDArray[np.bool_]  # (G, K) whether an empty server of the kind can hold a task of the group
    room: NDArray[np.int32]  # (G, K) place in `server` of the kind's first with room for one now; the kind's end if none
    server: NDArray[np.int32]  # (L,)
    of_kind: NDArray[np.int64]  # (K + 1,) the servers of kind k are server[of_kind[k] : of_kind[k + 1]]


def ranking(book: JobBook, capacity: NDArray[np.int64], kind: NDArray[np.int64]) -> Ranking:
    """For servers of (L, D) units, and the kind of each; no group has merit yet."""
    kinds, first = np.unique(kind, return_index=True)
    shape = len(book.demand), len(kinds)
    possible = np.ones(shape, np.bool_)
    if len(kinds) > 1:
        np.all(book.demand[:, None] <= capacity[first], axis=2, out=possible)
    return Ranking(
        merit=np.zeros(shape),
        possible=possible,
        room=np.zeros(shape, np.int32),
        server=np.argsort(kind, kind="stable").astype(np.int32),
        of_kind=np.searchsorted(np.sort(kind), np.append(kinds, kinds[-1] + 1)).astype(np.int64),
    )


@inner
def look_for_room(c: Cluster, book: JobBook, r: Ranking) -> None:
    """Find where the waiting groups have room; to be called before the first task of a slot is placed."""
    for n in range(book.count[0]):
        for k in range(r.merit.shape[1]):
            r.room[book.active[n], k] = r.of_kind[k]
            move_on(c, book, r, book.active[n], k)


@inner
def move_on(c: Cluster, book: JobBook, r: Ranking, g: int, k: int) -> None:
    """Go from the server of kind k where group g had room to the next one where it has."""
    while has_room(r, g, k) and not group_fits(c, book, g, r.server[r.room[g, k]]):
        r.room[g, k] += 1


@inner
def has_room(r: Ranking, g: int, k: int) -> bool:
    return r.room[g, k] < r.of_kind[k + 1]


@inner
def best_group(book: JobBook, r: Ranking, blocking: bool) -> int:
    """The group with the most merit on any kind of server, of those with room or (`blocking`) of all; NONE if there is none."""
    best, largest = -np.inf, 0.0
    for n in range(book.count[0]):
        g = book.active[n]
        for k in range(r.merit.shape[1]):
            if r.possible[g, k] if blocking else has_room(r, g, k):
                best, largest = max(best, r.merit[g, k]), max(largest, abs(r.merit[g, k]))
    chosen = NONE
    for n in range(book.count[0]):
        g = book.active[n]
        for k in range(r.merit.shape[1]):
            if (r.possible[g, k] if blocking else has_room(r, g, k)) and r.merit[g, k] >= best - ALIKE * largest:
                if chosen == NONE or goes_first(book, g, chosen):
                    chosen = g
    return chosen


@inner
def goes_first(book: JobBook, g: int, other: int) -> bool:
    """Whether group g is the earlier one of two with the same merit."""
    if book.job[g] != book.job[other]:
        return book.job[g] < book.job[other]
    if book.phase[g] != book.phase[other]:
        return book.phase[g] < book.phase[other]
    return book.first[g] < book.first[other]


@inner
def best_kind(r: Ranking, g: int) -> int:
    """The kind of server with room on which group g has the most merit; NONE if it has room nowhere."""
    best, largest = -np.inf, 0.0
    for k in range(r.merit.shape[1]):
        if has_room(r, g, k):
            best, largest = max(best, r.merit[g, k]), max(largest, abs(r.merit[g, k]))
    chosen = NONE
    for k in range(r.merit.shape[1]):
        if has_room(r, g, k) and r.merit[g, k] >= best - ALIKE * largest:
            if chosen == NONE or r.server[r.room[g, k]] < r.server[r.room[g, chosen]]:
                chosen = k
    return chosen


@inner
def start_first(c: Cluster, book: JobBook, r: Ranking, g: int, k: int) -> None:
    """Start the first task of group g on its server of kind k, and move on those that no longer have room there."""
    place = r.room[g, k]
    start(c, book, book.first[g], r.server[place])
    for n in range(book.count[0]):
        if r.room[book.active[n], k] == place:
            move_on(c, book, r, book.active[n], k)
