"""The server with the least waiting time, as a central scheduler believes it (PAPERS §4, LWL).

W(w) = (Σ estimates of the tasks placed on w that have not started + Σ max(1, start + estimate − now) over those in service)
/ slots of w: what is in service takes a slot more at least, or tasks would wait behind those that outlive their estimates
while servers are idle. While k of its tasks are within their estimates, W falls by k a slot; so servers of the same number of
slots and the same k are in one tree, by what W is but for the time, and stay in order as time passes. When a task outlives its
estimate, what the tree says of its server becomes too little: so the server is found, and moved, before it is taken for the
least.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from packenv.cluster import NONE
from packenv.compiled.decorators import inner
from packenv.compiled.frame import Frame

Ints = NDArray[np.int64]

ABSENT = 2**62


class LeastWaiting(Frame):
    """Of servers 0 .. L - 1. Tree number first[s] + k is of those with s slots and k tasks within their estimates."""

    key: Ints  # (trees, 2 M) Σ estimates waiting + Σ expected ends, least below each node; leaf M + server, ABSENT
    fall: Ints  # (trees,) k of each tree,
    of_slots: Ints  # (trees,) and its servers' slots
    first: Ints  # (L,) the tree of each server with k = 0
    within: Ints  # (L,) k
    end: Ints  # (L, S) expected ends of these tasks, in no order


def least_waiting(slots: Ints, tasks: int) -> LeastWaiting:
    """Nothing placed; `slots` (L,) is how many tasks each server runs at once, of `tasks` in all."""
    servers = len(slots)
    kinds, kind = np.unique(slots, return_inverse=True)
    most = np.minimum(kinds, tasks)
    first = np.append(0, np.cumsum(most + 1))
    leaves = 1 << max(servers - 1, 1).bit_length()
    key = np.full((int(first[-1]), 2 * leaves), ABSENT, np.int64)
    key[first[kind], leaves + np.arange(servers)] = 0
    for node in range(leaves - 1, 0, -1):
        key[:, node] = np.minimum(key[:, 2 * node], key[:, 2 * node + 1])
    return LeastWaiting(
        key=key,
        fall=np.concatenate([np.arange(k + 1) for k in most]).astype(np.int64),
        of_slots=np.repeat(kinds, most + 1).astype(np.int64),
        first=first[kind].astype(np.int64),
        within=np.zeros(servers, np.int64),
        end=np.zeros((servers, int(most[-1])), np.int64),
    )


@inner
def least_loaded(waiting: LeastWaiting, now: int) -> int:
    """The server with the least W, the lower index of equals."""
    while True:
        best, work, slots = NONE, ABSENT, 1
        for tree in range(waiting.key.shape[0]):
            if waiting.key[tree, 1] == ABSENT:
                continue
            its_work, its_slots = waiting.key[tree, 1] - waiting.fall[tree] * now, waiting.of_slots[tree]
            if best != NONE and its_work * slots > work * its_slots:
                continue
            server = first_least(waiting, tree)
            if best == NONE or its_work * slots < work * its_slots or server < best:
                best, work, slots = server, its_work, its_slots
        if not outlived(waiting, best, now):
            return best


@inner
def first_least(waiting: LeastWaiting, tree: int) -> int:
    """The first server with the least key of a tree."""
    key = waiting.key
    node = 1
    while 2 * node < key.shape[1]:
        node *= 2
        if key[tree, node] != key[tree, node >> 1]:
            node += 1
    return node - key.shape[1] // 2


@inner
def outlived(waiting: LeastWaiting, server: int, now: int) -> bool:
    """Move a server with tasks that have outlived their estimates to the tree where it belongs; whether it has any."""
    ends, k = waiting.end, 0
    for n in range(waiting.within[server]):
        k += ends[server, n] > now
    if k == waiting.within[server]:
        return False
    work, k = take_out(waiting, server), 0
    for n in range(waiting.within[server]):
        if ends[server, n] > now:
            ends[server, k] = ends[server, n]
            k += 1
        else:
            work -= ends[server, n] - 1
    waiting.within[server] = k
    put_in(waiting, server, work)
    return True


@inner
def note_placed(waiting: LeastWaiting, server: int, estimate: int) -> None:
    """A task was sent to a server."""
    put_in(waiting, server, take_out(waiting, server) + estimate)


@inner
def note_started(waiting: LeastWaiting, server: int, estimate: int, now: int) -> None:
    """It starts there now."""
    work = take_out(waiting, server)
    waiting.end[server, waiting.within[server]] = now + estimate
    waiting.within[server] += 1
    put_in(waiting, server, work + now)


@inner
def note_completed(waiting: LeastWaiting, server: int, expected_end: int) -> None:
    """It completed; it may have outlived its estimate before, noticed or not."""
    work, ends = take_out(waiting, server), waiting.end
    for n in range(waiting.within[server]):
        if ends[server, n] == expected_end:
            work -= expected_end
            waiting.within[server] -= 1
            ends[server, n] = ends[server, waiting.within[server]]
            break
    else:
        work -= 1  # noticed: believed to take one slot more
    put_in(waiting, server, work)


@inner
def take_out(waiting: LeastWaiting, server: int) -> int:
    """Take a server out of its tree; returns its key."""
    tree = waiting.first[server] + waiting.within[server]
    key = waiting.key[tree, waiting.key.shape[1] // 2 + server]
    set_key(waiting, tree, server, ABSENT)
    return key


@inner
def put_in(waiting: LeastWaiting, server: int, key: int) -> None:
    set_key(waiting, waiting.first[server] + waiting.within[server], server, key)


@inner
def set_key(waiting: LeastWaiting, tree: int, server: int, key: int) -> None:
    keys = waiting.key
    node = keys.shape[1] // 2 + server
    keys[tree, node] = key
    while node > 1:
        node >>= 1
        least = min(keys[tree, 2 * node], keys[tree, 2 * node + 1])
        if keys[tree, node] == least:
            return
        keys[tree, node] = least
