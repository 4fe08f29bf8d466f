"""Choosing the group of identical waiting tasks with the highest merit, and the server on which it starts.

Shared by the policies of Zhang and Yao (PAPERS §3). The merit of a group may differ from one kind of server to another; the group
starts on the first server with room of the kind on which its merit is highest. Merits that differ by at most 10⁻⁹ of the
largest absolute merit are equal; ties go to the earlier job, then phase, then row, and to the server of lower index.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from packenv.cluster import NONE, Cluster
from packenv.cluster.whole_jobs.book import JobBook, group_fits, start
from packenv.compiled.decorators import compiled
from packenv.compiled.frame import Frame

Floats = NDArray[np.float64]
ALIKE = 1e-9


class Ranking(Frame):
    """Merits of G groups on K kinds of servers, and where each group has room (L servers)."""

    merit: Floats  # (G, K) valid for groups with waiting tasks
    possible: NDArray[np.bool_]  # (G, K) whether an empty server of the kind can hold a task of the group
    room: NDArray[np.int32]  # (G, K) index in `server` of the first of the kind with room now; of_kind[k + 1] if none
    server: NDArray[np.int32]  # (L,) servers sorted by kind, then by index
    of_kind: NDArray[np.int64]  # (K + 1,) the servers of kind k are server[of_kind[k] : of_kind[k + 1]]


def ranking(book: JobBook, capacity: NDArray[np.int64], kind: NDArray[np.int64]) -> Ranking:
    """The ranking before slot 0, all merits 0. `capacity` (L, D) units and `kind` (L,) of the servers."""
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


@compiled
def look_for_room(c: Cluster, book: JobBook, r: Ranking) -> None:
    """Find the first server with room for every waiting group and kind. Call it before the first start of a slot."""
    for n in range(book.count[0]):
        for k in range(r.merit.shape[1]):
            r.room[book.active[n], k] = r.of_kind[k]
            move_on(c, book, r, book.active[n], k)


@compiled
def move_on(c: Cluster, book: JobBook, r: Ranking, g: int, k: int) -> None:
    """Move `room` of group g and kind k forward to the next server that has room. Within a slot room only shrinks."""
    while has_room(r, g, k) and not group_fits(c, book, g, r.server[r.room[g, k]]):
        r.room[g, k] += 1


@compiled
def has_room(r: Ranking, g: int, k: int) -> bool:
    return r.room[g, k] < r.of_kind[k + 1]


@compiled
def best_group(book: JobBook, r: Ranking, blocking: bool) -> int:
    """The group with the highest merit on any kind of server, among those with room or (`blocking`) all; NONE if none."""
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


@compiled
def goes_first(book: JobBook, g: int, other: int) -> bool:
    """Whether group g comes before another group of the same merit: by job, then phase, then row."""
    if book.job[g] != book.job[other]:
        return book.job[g] < book.job[other]
    if book.phase[g] != book.phase[other]:
        return book.phase[g] < book.phase[other]
    return book.ends[g].head < book.ends[other].head


@compiled
def best_kind(r: Ranking, g: int) -> int:
    """The kind of server, among those with room, on which group g has the highest merit; NONE if no server has room."""
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


@compiled
def start_first(c: Cluster, book: JobBook, r: Ranking, g: int, k: int) -> None:
    """Start the first task of group g on its server of kind k; update the groups that may no longer have room there."""
    place = r.room[g, k]
    start(c, book, book.ends[g].head, r.server[place])
    for n in range(book.count[0]):
        if r.room[book.active[n], k] == place:
            move_on(c, book, r, book.active[n], k)
