"""Virtual queues (PAPERS §1.3) for each kind of server.

The types of a kind of server divide its capacity by the universal partition I, with J levels:
I_2m = (2/3 · 2^-m, 2^-m], I_2m+1 = (1/2 · 2^-m, 2/3 · 2^-m], and sizes up to 2^-J in the last.
If the policy names the largest size of each type, all kinds share these types instead. Types may also be boxes of demand
vectors. Then a task has the type of the last box that contains its demand.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from packenv.cluster.records import append, unlink
from packenv.cluster.sorted_keys import key_after, key_before
from packenv.cluster.state import NO_SIZE, NONE, ROW_BITS, TASK, Cluster, require
from packenv.compiled.decorators import apart, compiled
from packenv.compiled.intrinsics import natural
from packenv.policy import BY_LINE, BY_MIX, BY_SIZE, BY_TYPE


@compiled
def type_of(c: Cluster, kind: int, size: int) -> int:
    """Return a size's type, or NONE if too large."""
    bound, last = c.types.bound[c.e, kind], c.types.count[c.e, kind] - 1
    if size > bound[last]:  # bound[last] is the largest size of all; the last type has sizes up to bound[last - 1]
        return NONE
    j = 0
    for k in range(last):  # compares with all bounds: no branch that the processor could mispredict
        j += size <= bound[natural(k)]
    return j


@compiled
def type_of_task(c: Cluster, kind: int, i: int) -> int:
    """Return task i's type (needs BY_TYPE).

    NONE if this kind of server has no room for the type's largest task.
    """
    require(c, BY_TYPE)
    if c.types.box.shape[0] == 0:
        return type_of(c, kind, c.task[c.e, i].size)
    j = c.types.of[c.e, i]
    return j if j != NONE and c.types.fits[kind, j] else NONE


@apart
def find_box(c: Cluster, i: int) -> None:
    """Record the last box that contains task i's demand."""
    j = c.types.box.shape[0] - 1
    while j >= 0:
        inside = True
        for r in range(c.demand.shape[2]):
            inside &= c.demand[c.e, i, r] <= c.types.box[j, r]
        if inside:
            break
        j -= 1
    c.types.of[c.e, i] = j


def types_of(c: Cluster, row: int, kind: int, sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return `type_of` for an array of sizes, in Python."""
    bound = c.types.bound[row, kind, : c.types.count[row, kind]]
    types = (sizes[..., None] <= bound[:-1]).sum(axis=-1)
    return np.where(sizes > bound[-1], NONE, types)


@compiled
def set_levels(c: Cluster, kind: int, capacity: int, levels: int) -> None:
    """Divide `capacity` into 2·levels types (then call `retype`)."""
    for m in range(levels):
        c.types.bound[c.e, kind, 2 * m] = 2 * capacity // (3 << m)
        c.types.bound[c.e, kind, 2 * m + 1] = capacity // (2 << m)
    c.types.bound[c.e, kind, 2 * levels - 1] = capacity
    c.types.count[c.e, kind] = 2 * levels


@compiled
def set_types(c: Cluster, kind: int, capacity: int, largest: NDArray[np.int64]) -> None:
    """Set types by descending largest sizes, up to `capacity`."""
    last = len(largest) - 1
    c.types.bound[c.e, kind, last] = 0
    for j in range(last, -1, -1):
        if j > 0:
            c.types.bound[c.e, kind, j - 1] = largest[j]
        if largest[j] <= capacity:
            c.types.bound[c.e, kind, last] = largest[j]
    c.types.count[c.e, kind] = last + 1


def set_boxes(c: Cluster, kind_capacity: NDArray[np.int64], boxes: NDArray[np.int64]) -> None:
    """Set the `boxes` (T, D) as types of all kinds."""
    c.types.box[:] = boxes
    c.types.fits[:] = (boxes <= kind_capacity[:, None]).all(axis=2)
    c.types.count[:] = len(boxes)


@apart
def add_typed(c: Cluster, i: int) -> None:
    """Add a task to its virtual queue of every kind."""
    size = c.task[c.e, i].size
    for kind in range(c.types.bound.shape[1]):
        j = type_of_task(c, kind, i)
        if j != NONE:
            queue = c.types.queue[c.e, kind, j]
            queue.count += 1
            queue.size += size
            c.types.least[c.e, kind, j] = min(c.types.least[c.e, kind, j], size)
            c.types.most[c.e, kind, j] = max(c.types.most[c.e, kind, j], size)
            if c.orders & BY_LINE:
                append(c.types.link[c.e, kind], queue, i)
                if queue.head == i:
                    queue.since = c.task[c.e, i].since


@apart
def remove_typed(c: Cluster, i: int) -> None:
    """Remove a task, found last in size order with BY_SIZE."""
    size = c.task[c.e, i].size
    for kind in range(c.types.bound.shape[1]):
        j = type_of_task(c, kind, i)
        if j != NONE:
            queue = c.types.queue[c.e, kind, j]
            queue.count -= 1
            queue.size -= size
            if c.orders & BY_SIZE and c.types.box.shape[0] == 0:  # in size order a box is not one range
                narrow(c, kind, j, size)
            if c.orders & BY_LINE:
                was_head = c.types.link[c.e, kind, i].prev == NONE
                unlink(c.types.link[c.e, kind], queue, i)
                if was_head and queue.head != NONE:
                    queue.since = c.task[c.e, queue.head].since


@compiled
def narrow(c: Cluster, kind: int, j: int, size: int) -> None:
    """Update a type's smallest and largest size before a removal."""
    least, most = c.types.least[c.e, kind], c.types.most[c.e, kind]
    if c.types.queue[c.e, kind, j].count == 0:
        least[j], most[j] = NO_SIZE, 0
    elif size == least[j] or size == most[j]:
        below, above = key_before(c.sizes, c.e) >> ROW_BITS, key_after(c.sizes, c.e) >> ROW_BITS
        if size == least[j] and below < size:
            least[j] = above
        elif size == most[j] and above > size:
            most[j] = below


@apart
def retype(c: Cluster) -> None:
    """Assign all tasks to types again after these have changed."""
    # empty all virtual queues
    for kind in range(c.types.queue.shape[1]):
        for j in range(c.types.queue.shape[2]):
            queue = c.types.queue[c.e, kind, j]
            queue.head, queue.tail, queue.count, queue.size = NONE, NONE, 0, 0
            c.types.least[c.e, kind, j], c.types.most[c.e, kind, j] = NO_SIZE, 0
    # waiting tasks, in queue order
    i = c.queue[c.e].head
    while i != NONE:
        add_typed(c, i)
        i = c.task[c.e, i].next
    if not c.orders & BY_MIX:
        return
    # tasks in service
    c.types.in_service[c.e, :, :] = 0
    for i in range(c.task.shape[1]):
        server = c.task[c.e, i].server
        if server != NONE and c.task[c.e, i].kind == TASK:
            c.types.in_service[c.e, server, type_of_task(c, c.server[c.e, server].kind, i)] += 1


@compiled
def queue_length(c: Cluster, kind: int, j: int) -> int:
    """Return the length of virtual queue j (needs BY_TYPE)."""
    require(c, BY_TYPE)
    return c.types.queue[c.e, kind, j].count


@compiled
def head_of_line(c: Cluster, kind: int, j: int) -> int:
    """Return virtual queue j's head or NONE (needs BY_LINE)."""
    require(c, BY_LINE)
    return c.types.queue[c.e, kind, j].head


@compiled
def jobs_of_type(c: Cluster, server: int, j: int) -> int:
    """Return a server's running jobs of type j (needs BY_MIX)."""
    require(c, BY_MIX)
    return c.types.in_service[c.e, server, j]
