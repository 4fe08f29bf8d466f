"""Groups with waiting tasks by job, demand and server."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from packenv.cluster.locality import RowsByPlace
from packenv.cluster.records import append, empty_lists, link_type, unlink
from packenv.cluster.whole_jobs.book import JobBook
from packenv.compiled.decorators import compiled
from packenv.compiled.frame import Frame
from packenv.results.job_times import numbered


class Members(Frame):
    """A set of numbers: the members are number[: count[0]]."""

    number: NDArray[np.int32]  # (N,)
    place: NDArray[np.int32]  # (N,) index of a member in `number`
    count: NDArray[np.int64]  # (1,)


def no_members(numbers: int) -> Members:
    return Members(number=np.zeros(numbers, np.int32), place=np.zeros(numbers, np.int32), count=np.zeros(1, np.int64))


@compiled
def add_member(members: Members, number: int) -> None:
    members.number[members.count[0]], members.place[number] = number, members.count[0]
    members.count[0] += 1


@compiled
def remove_member(members: Members, number: int) -> None:
    members.count[0] -= 1
    last = members.number[members.count[0]]
    members.number[members.place[number]], members.place[last] = last, members.place[number]


Ints = NDArray[np.int64]
Places = NDArray[np.int32]


class WaitingGroups(Frame):
    """G groups, and P pairs of group and data server."""

    # derived from the table, constant during a run
    kind: Places  # (G,) groups with the same demand vector are of one kind
    example: Places  # (kinds,) a group of each kind
    pairs: Places  # (P,) pairs sorted by job, then server, then group
    group: Places  # (P,) the group of each of these
    server: Places  # (P,) and the server; those of tasks that are at home everywhere come first in each job, as NONE
    pairs_of: Ints  # (jobs + 1,) those of job j are pairs_of[j] .. pairs_of[j + 1] - 1
    # changes during a run
    links: NDArray[np.void]  # (G,) link_type: the groups of each job with waiting tasks
    ends: NDArray[np.void]  # (jobs,) ends_type
    jobs: Members  # those with waiting tasks
    of_kind: Ints  # (kinds,) groups with waiting tasks
    kinds: Members  # kinds of which there are any


def waiting_groups(book: JobBook, homes: RowsByPlace) -> WaitingGroups:
    kind = numbered(book.demand)
    jobs, kinds = len(book.owner), int(kind.max()) + 1
    group = np.repeat(np.arange(len(kind)), np.diff(homes.pairs_of))
    order = np.lexsort([group, homes.pair["place"], book.job[group]])
    return WaitingGroups(
        kind=kind.astype(np.int32),
        example=np.unique(kind, return_index=True)[1].astype(np.int32),
        pairs=order.astype(np.int32),
        group=group[order].astype(np.int32),
        server=homes.pair["place"][order].astype(np.int32),
        pairs_of=np.searchsorted(book.job[group][order], np.arange(jobs + 1)).astype(np.int64),
        links=np.zeros(len(kind), link_type),
        ends=empty_lists(jobs),
        jobs=no_members(jobs),
        of_kind=np.zeros(kinds, np.int64),
        kinds=no_members(kinds),
    )


@compiled
def note_waiting(groups: WaitingGroups, book: JobBook, g: int) -> None:
    j, kind = book.job[g], groups.kind[g]
    if groups.ends[j].head < 0:
        add_member(groups.jobs, j)
    append(groups.links, groups.ends[j], g)
    if groups.of_kind[kind] == 0:
        add_member(groups.kinds, kind)
    groups.of_kind[kind] += 1


@compiled
def note_none_waits(groups: WaitingGroups, book: JobBook, g: int) -> None:
    j, kind = book.job[g], groups.kind[g]
    unlink(groups.links, groups.ends[j], g)
    if groups.ends[j].head < 0:
        remove_member(groups.jobs, j)
    groups.of_kind[kind] -= 1
    if groups.of_kind[kind] == 0:
        remove_member(groups.kinds, kind)


@compiled
def first_pair(groups: WaitingGroups, j: int, server: int) -> int:
    """Return job j's first pair with a server >= `server`."""
    low, high = groups.pairs_of[j], groups.pairs_of[j + 1]
    while low < high:
        middle = (low + high) >> 1
        if groups.server[middle] < server:
            low = middle + 1
        else:
            high = middle
    return low
