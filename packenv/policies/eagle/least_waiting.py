"""The server with the least estimated waiting time (PAPERS §4, LWL).

W(w) = (Σ estimates of the tasks placed on w that have not started + Σ max(1, start + estimate − now) over those in service)
/ slots of w. A task in service counts at least one slot. Otherwise tasks would go to servers whose tasks have exceeded their
estimates, while other servers are idle.

While k tasks of a server are within their estimates, the numerator falls by k a slot. Servers with equal slots and equal k
share a tree, keyed by the numerator plus k · now. This key does not change with time. When a task exceeds its estimate, the
key of its server becomes too small, so the server can only come up too early. `outlived` then moves it to the right tree, and
the search is repeated.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from packenv.cluster import NONE
from packenv.compiled.decorators import compiled
from packenv.compiled.frame import Frame

Ints = NDArray[np.int64]

ABSENT = 2**62


class LeastWaiting(Frame):
    """Trees of servers: w with k tasks within estimates is in first[w] + k."""

    key: Ints  # (trees, 2 M) numerator + k · now at leaf M + server, ABSENT if not in the tree; inner nodes: least below
    fall: Ints  # (trees,) k of each tree
    of_slots: Ints  # (trees,) number of slots of the servers in each tree
    first: Ints  # (L,) tree of each server when k = 0
    within: Ints  # (L,) k of each server
    end: Ints  # (L, S) slots in which these k tasks should end, in no particular order


def least_waiting(slots: Ints, tasks: int) -> LeastWaiting:
    """Return the state with no task placed.

    `slots` (L,): tasks that each server can run together. `tasks`: number of all tasks.
    """
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


@compiled
def least_loaded(waiting: LeastWaiting, now: int) -> int:
    """Return the server with the least W, the lower index of equals."""
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


@compiled
def first_least(waiting: LeastWaiting, tree: int) -> int:
    """Return the server with a tree's least key, the lower index of equals."""
    key = waiting.key
    node = 1
    while 2 * node < key.shape[1]:
        node *= 2
        if key[tree, node] != key[tree, node >> 1]:
            node += 1
    return node - key.shape[1] // 2


@compiled
def outlived(waiting: LeastWaiting, server: int, now: int) -> bool:
    """Move a server with exceeded estimates to its right tree. True if moved."""
    ends, k = waiting.end, 0
    for n in range(waiting.within[server]):
        k += ends[server, n] > now
    if k == waiting.within[server]:
        return False
    work, k = remove_server(waiting, server), 0
    for n in range(waiting.within[server]):
        if ends[server, n] > now:
            ends[server, k] = ends[server, n]
            k += 1
        else:
            work -= ends[server, n] - 1
    waiting.within[server] = k
    put_in(waiting, server, work)
    return True


@compiled
def note_started(waiting: LeastWaiting, server: int, estimate: int, now: int) -> None:
    """Record the start of a task that was sent to a server."""
    work = remove_server(waiting, server)
    waiting.end[server, waiting.within[server]] = now + estimate
    waiting.within[server] += 1
    put_in(waiting, server, work + now)


@compiled
def note_completed(waiting: LeastWaiting, server: int, expected_end: int) -> None:
    """Record a completion, also of a task beyond its estimate."""
    work, ends = remove_server(waiting, server), waiting.end
    for n in range(waiting.within[server]):
        if ends[server, n] == expected_end:
            work -= expected_end
            waiting.within[server] -= 1
            ends[server, n] = ends[server, waiting.within[server]]
            break
    else:
        work -= 1  # `outlived` has seen it: it counts one slot
    put_in(waiting, server, work)


@compiled
def remove_server(waiting: LeastWaiting, server: int) -> int:
    """Remove a server from its tree and return its key."""
    tree = waiting.first[server] + waiting.within[server]
    key = waiting.key[tree, waiting.key.shape[1] // 2 + server]
    set_key(waiting, tree, server, ABSENT)
    return key


@compiled
def put_in(waiting: LeastWaiting, server: int, key: int) -> None:
    set_key(waiting, waiting.first[server] + waiting.within[server], server, key)


@compiled
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
