"""Owners with waiting tasks, sorted by their share, least first.

Owners are tenants, or jobs.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from packenv.cluster import NONE, Cluster, new_count, new_task, row_of
from packenv.cluster.whole_jobs.book import JobBook, note_end, note_new, start
from packenv.compiled.decorators import compiled
from packenv.compiled.frame import Frame
from packenv.errors import InputError
from packenv.policy import Setting

Ints = NDArray[np.int64]
Places = NDArray[np.int32]


class Shares(Frame):
    """Tasks of every job in G groups, and owners by (share, number)."""

    book: JobBook
    counts: Ints  # (G,) what a task of each group adds to its owner's share; (0,): a share is that of the dominant resource
    counted: Ints  # (owners,) Σ counts of the tasks in service
    checked: int  # number of resources that are checked, the first ones
    total: Ints  # (D,) capacity of the whole cluster, units
    share: NDArray[np.float64]  # (owners,) share of each owner when it was last sorted
    order: Places  # (owners,) order[:ranked] are the owners with waiting tasks, least share first
    rank: Places  # (owners,) index of an owner in `order`; NONE if it has no waiting tasks
    ranked: Ints  # (1,) number of owners with waiting tasks
    groups: Places  # (G,) groups of owner o, sorted by first row: groups[groups_of[o] : groups_of[o + 1]]
    groups_of: Ints  # (owners + 1,)


def shares(setting: Setting, book: JobBook, checked: int = 0, counts: Ints | None = None) -> Shares:
    """Return the state before slot 0. Checks all resources if `checked` = 0."""
    resources = setting.capacity.shape[1]
    if not 0 <= checked <= resources:
        raise InputError(f"fair sharing: checked must lie between 0 (all) and the {resources} resources, not {checked}")
    owner = book.owner[book.job]
    owners = len(book.queued)
    return Shares(
        book=book,
        counts=np.zeros(0, np.int64) if counts is None else counts,
        counted=np.zeros(owners, np.int64),
        checked=checked or resources,
        total=setting.capacity.sum(axis=0),
        share=np.zeros(owners),
        order=np.zeros(owners, np.int32),
        rank=np.full(owners, NONE, np.int32),
        ranked=np.zeros(1, np.int64),
        groups=np.argsort(owner, kind="stable").astype(np.int32),
        groups_of=np.searchsorted(np.sort(owner), np.arange(owners + 1)).astype(np.int64),
    )


@compiled
def owner_of(shares: Shares, g: int) -> int:
    return shares.book.owner[shares.book.job[g]]


@compiled
def share_of(shares: Shares, owner: int) -> float:
    """Return an owner's tasks in service, or their largest checked fraction."""
    if len(shares.counts) > 0:
        return float(shares.counted[owner])
    most = 0.0
    for r in range(shares.checked):
        if shares.total[r] > 0:
            most = max(most, shares.book.used[owner, r] / shares.total[r])
    return most


@compiled
def less_served(shares: Shares, owner: int, other: int) -> bool:
    mine, its = shares.share[owner], shares.share[other]
    return mine < its or (mine == its and owner < other)


@compiled
def rerank(shares: Shares, owner: int) -> None:
    """Move a changed owner with waiting tasks to its new rank."""
    shares.share[owner] = share_of(shares, owner)
    order, rank = shares.order, shares.rank
    # An owner that begins to wait enters at the end of the ranks.
    if rank[owner] == NONE:
        if shares.book.queued[owner] == 0:
            return
        rank[owner] = shares.ranked[0]
        shares.ranked[0] += 1
    k = rank[owner]
    last = shares.ranked[0] - 1
    gone = shares.book.queued[owner] == 0
    # Towards the end: past owners that have less; one with nothing left to wait for goes all the way.
    while k < last and (gone or less_served(shares, order[k + 1], owner)):
        order[k] = order[k + 1]
        rank[order[k]] = k
        k += 1
    # Or towards the front: past owners that have more.
    while not gone and k > 0 and less_served(shares, owner, order[k - 1]):
        order[k] = order[k - 1]
        rank[order[k]] = k
        k -= 1
    order[k], rank[owner] = owner, k
    if gone:
        rank[owner] = NONE
        shares.ranked[0] -= 1


@compiled
def add_new(c: Cluster, shares: Shares) -> None:
    """Add the slot's new eligible tasks, and rank their owners."""
    note_new(c, shares.book)
    for n in range(new_count(c)):
        i = new_task(c, n)
        if i != NONE:
            owner = owner_of(shares, shares.book.group[row_of(c, i)])
            if shares.rank[owner] == NONE:
                rerank(shares, owner)


@compiled
def launch(c: Cluster, shares: Shares, row: int, server: int) -> None:
    """Start a waiting row, and re-rank its owner."""
    start(c, shares.book, row, server)
    recount(shares, shares.book.group[row], 1)


@compiled
def settle(c: Cluster, shares: Shares, i: int) -> None:
    """Count the completion of task i, and re-rank its owner."""
    note_end(c, shares.book, i)
    row = row_of(c, i)
    if row >= 0:
        recount(shares, shares.book.group[row], -1)


@compiled
def recount(shares: Shares, g: int, sign: int) -> None:
    """Re-rank the owner of group g's started (1) or completed (-1) task."""
    owner = owner_of(shares, g)
    if len(shares.counts) > 0:
        shares.counted[owner] += sign * shares.counts[g]
    rerank(shares, owner)
