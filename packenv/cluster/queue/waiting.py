"""The waiting tasks, in the orders that the policy's needs name.

A task is named by its place i in the pool; NONE (-1) means no task. The tasks of a gang are in the order of the queue alone,
side by side: no other order names a task that must not start by itself.
"""

from __future__ import annotations

from packenv.cluster.linked_list import append, unlink
from packenv.cluster.queue.by_age import add_newest, remove_aged
from packenv.cluster.queue.by_demand import add_to_group, remove_from_group
from packenv.cluster.queue.by_type import add_typed, remove_typed
from packenv.cluster.sorted_keys import (
    add_last,
    find,
    first_key,
    floor_item,
    floor_key,
    insert,
    last_key,
    remove_at_cursor,
)
from packenv.cluster.sorting import LARGE, sort_by_high_half
from packenv.cluster.state import NEVER, NONE, ROW_BITS, ROW_MASK, Cluster, require
from packenv.compiled.decorators import apart, compiled
from packenv.jobs import FIRST, TASKS
from packenv.policy import BY_AGE, BY_DEMAND, BY_QUEUE, BY_SIZE, BY_TYPE


@compiled
def has_gangs(c: Cluster) -> bool:
    """Whether the table has gangs."""
    return c.source.gangs.shape[1] > 0


@compiled
def gang_size(c: Cluster, i: int) -> int:
    """How many tasks the gang of waiting task i has, which counts; 1 without a gang."""
    return c.source.gangs[c.s, c.task[c.e, i].row, TASKS] if has_gangs(c) else 1


@compiled
def in_gang(c: Cluster, i: int) -> bool:
    """Whether waiting task i starts with others or not at all."""
    return gang_size(c, i) > 1


@compiled
def follows(c: Cluster, i: int) -> bool:
    """Whether waiting task i is in a gang, and not the first of it."""
    return has_gangs(c) and c.source.gangs[c.s, c.task[c.e, i].row, FIRST] < c.task[c.e, i].row


@compiled
def size_key(c: Cluster, i: int) -> int:
    """Key in the order by size: larger for a larger size, then for an earlier row. Best fit takes the largest key first."""
    return (c.task[c.e, i].size << ROW_BITS) | (ROW_MASK - c.task[c.e, i].row)


@compiled
def estimate_of(c: Cluster, i: int) -> int:
    """Slots that task i is believed to take, at least 1: column `estimate` of the table; 0 where nobody says."""
    row = c.task[c.e, i].row
    return c.source.estimate[row] if 0 <= row < c.source.estimate.shape[0] else 0


@compiled
def enqueue(c: Cluster, i: int) -> None:
    """Put task i at the tail of the queue, as a new task of this slot; `order_new` puts the new tasks in size order."""
    head = c.head[c.e]
    c.fresh[c.e, head.fresh] = i
    head.fresh += 1
    head.waiting += 1
    head.waiting_size += c.task[c.e, i].size
    if c.orders & BY_QUEUE:
        append(c.task[c.e], c.queue[c.e], i)
    if in_gang(c, i):
        return
    if c.orders & BY_AGE:
        add_newest(c, i)
    if c.orders & BY_TYPE:
        add_typed(c, i)
    if c.orders & BY_DEMAND:
        add_to_group(c, i)


@compiled
def order_new(c: Cluster) -> None:
    """Put the slot's new tasks in size order."""
    if c.orders & BY_SIZE:
        if c.head[c.e].fresh > LARGE:
            order_many_new(c)
        else:
            for n in range(c.head[c.e].fresh):
                if not in_gang(c, c.fresh[c.e, n]):
                    insert(c.sizes, c.e, size_key(c, c.fresh[c.e, n]), c.fresh[c.e, n])


@apart
def order_many_new(c: Cluster) -> None:
    """`order_new` for more than LARGE tasks: sorting them first costs less than inserting them in row order."""
    head = c.head[c.e]
    words, count = c.sorting.words, head.fresh
    alone, chosen = head.waiting == count, 0
    for k in range(count):
        n = count - 1 - k  # of equal sizes, the later row has the smaller key
        if not in_gang(c, c.fresh[c.e, n]):
            words[c.e, chosen] = (c.task[c.e, c.fresh[c.e, n]].size << ROW_BITS) | n
            chosen += 1
    sort_by_high_half(c.sorting, c.e, chosen)
    for k in range(chosen):
        i = c.fresh[c.e, words[c.e, k] & ROW_MASK]
        if alone:
            add_last(c.sizes, c.e, size_key(c, i), i)
        else:
            insert(c.sizes, c.e, size_key(c, i), i)


@compiled
def dequeue(c: Cluster, i: int) -> None:
    """Take task i out of the queue and all orders."""
    head = c.head[c.e]
    head.waiting -= 1
    head.waiting_size -= c.task[c.e, i].size
    if c.orders & BY_QUEUE:
        unlink(c.task[c.e], c.queue[c.e], i)
    if in_gang(c, i):
        return
    if c.orders & BY_SIZE:
        find(c.sizes, c.e, size_key(c, i))
    if c.orders & BY_TYPE:
        remove_typed(c, i)
    if c.orders & BY_SIZE:
        remove_at_cursor(c.sizes, c.e)
    if c.orders & BY_AGE:
        remove_aged(c, i)
    if c.orders & BY_DEMAND:
        remove_from_group(c, i)


@compiled
def now(c: Cluster) -> int:
    """The slot being scheduled."""
    return c.head[c.e].now


@compiled
def waiting(c: Cluster) -> int:
    """Number of waiting tasks."""
    return c.head[c.e].waiting


@compiled
def oldest(c: Cluster) -> int:
    """Head of line of the whole queue: earliest eligible slot, then row; NONE if nothing waits. Needs BY_QUEUE."""
    require(c, BY_QUEUE)
    return c.queue[c.e].head


@compiled
def next_in_queue(c: Cluster, i: int) -> int:
    """The waiting task behind i; NONE at the end. Ask before placing i. Needs BY_QUEUE."""
    require(c, BY_QUEUE)
    if c.task[c.e, i].server != NONE:
        raise ValueError("next_in_queue of a task that has been placed: ask for the next one before placing it")
    return c.task[c.e, i].next


@compiled
def behind(c: Cluster, i: int) -> int:
    """As `next_in_queue`, but the next task that is not in the gang of i. Ask before anything of this gang starts."""
    task = next_in_queue(c, i)
    while task != NONE and follows(c, task):
        task = next_in_queue(c, task)
    return task


@compiled
def new_count(c: Cluster) -> int:
    """Number of tasks that became eligible in this slot."""
    return c.head[c.e].fresh


@compiled
def new_task(c: Cluster, n: int) -> int:
    """The n-th task that became eligible in this slot, in row order; NONE if it has started. 0 <= n < new_count(c)."""
    i = c.fresh[c.e, n]
    return i if c.task[c.e, i].server == NONE else NONE


@compiled
def size_of(c: Cluster, i: int) -> int:
    """Scalar size in units: the largest demand, normalised by the largest server."""
    return c.task[c.e, i].size


@compiled
def fitting_key(room: int) -> int:
    """A key above those of all sizes <= room and below those of all larger sizes."""
    return (room << ROW_BITS) | ROW_MASK


@compiled
def largest_fitting(c: Cluster, room: int) -> int:
    """The largest waiting task of size <= room, earlier row first; NONE if there is none. Needs BY_SIZE."""
    require(c, BY_SIZE)
    return floor_item(c.sizes, c.e, fitting_key(room))


@compiled
def largest_size_up_to(c: Cluster, room: int) -> int:
    """The largest size <= room of a waiting task; NONE if there is none. Needs BY_SIZE."""
    require(c, BY_SIZE)
    return floor_key(c.sizes, c.e, fitting_key(room)) >> ROW_BITS


@compiled
def largest_of_type_fitting(c: Cluster, kind: int, j: int, room: int) -> int:
    """The largest waiting task of type j (of this kind of server) and size <= room; NONE if none. Needs BY_SIZE, BY_TYPE."""
    require(c, BY_SIZE | BY_TYPE)
    if c.types.box.shape[0] > 0:
        raise ValueError("largest_of_type_fitting is of types that are intervals of size, and these are boxes of demand vectors")
    if c.types.least[c.e, kind, j] > room:
        return NONE
    # types are intervals of size, so a virtual queue is one range in size order
    largest = c.types.bound[c.e, kind, j - 1 if j > 0 else c.types.count[c.e, kind] - 1]
    return largest_fitting(c, min(room, largest))


@compiled
def smallest_size(c: Cluster) -> int:
    """Size of the smallest waiting task; there must be one. NONE if all are in gangs. Needs BY_SIZE."""
    require(c, BY_SIZE)
    return first_key(c.sizes, c.e) >> ROW_BITS


@compiled
def smallest_waiting(c: Cluster) -> int:
    """The smallest waiting task, earlier row first; NONE if nothing waits. Needs BY_SIZE."""
    return largest_fitting(c, smallest_size(c))  # of equal sizes the earliest row stands last


@compiled
def largest_size(c: Cluster) -> int:
    """Size of the largest waiting task; there must be one. Needs BY_SIZE."""
    require(c, BY_SIZE)
    return last_key(c.sizes, c.e) >> ROW_BITS


@compiled
def largest_waiting(c: Cluster) -> int:
    """The largest waiting task, earlier row first; NONE if nothing waits. Needs BY_SIZE."""
    require(c, BY_SIZE)
    return floor_item(c.sizes, c.e, NEVER)


@compiled
def row_of(c: Cluster, i: int) -> int:
    """Row of task i in the Jobs table."""
    return c.task[c.e, i].row


@compiled
def eligible_since(c: Cluster, i: int) -> int:
    """Slot in which waiting task i joined the queue. Raises ValueError for a task that has started."""
    if c.task[c.e, i].server != NONE:
        raise ValueError("eligible_since of a task that has started: ask before placing it; started_in is when it started")
    return c.task[c.e, i].since


@compiled
def started_in(c: Cluster, i: int) -> int:
    """Slot in which task i, in service or just completed, started. Raises ValueError for a task that waits."""
    if c.task[c.e, i].server == NONE:
        raise ValueError("started_in of a task that waits: eligible_since is when it joined the queue")
    return c.task[c.e, i].since
