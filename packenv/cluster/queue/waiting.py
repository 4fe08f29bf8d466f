"""The waiting tasks, in the orders that the policy needs.

A task is named by its place i in the pool, and NONE (-1) means no task. A gang's tasks are only in the order of the queue,
next to each other. So no other order returns a task that must not start alone.

The oldest task that fits is found in O(log n). Each node of a binary tree over the positions in queue order holds the smallest
size below it. A task that starts leaves a gap. When all positions are used, the tasks are renumbered. This costs O(1) per task if
half of the positions are gaps.
"""

from __future__ import annotations

from packenv.cluster.queue.by_demand import add_to_group, remove_from_group
from packenv.cluster.queue.by_type import add_typed, remove_typed
from packenv.cluster.records import append, unlink
from packenv.cluster.sorted_keys import (
    LARGE,
    add_last,
    find,
    first_key,
    floor_item,
    floor_key,
    insert,
    last_key,
    remove_at_cursor,
    sort_by_high_half,
)
from packenv.cluster.state import NEVER, NONE, ROW_BITS, ROW_MASK, Cluster, require
from packenv.compiled.decorators import apart, compiled
from packenv.jobs import FIRST, TASKS
from packenv.policy import BY_AGE, BY_DEMAND, BY_QUEUE, BY_SIZE, BY_TYPE


@compiled
def set_leaf(c: Cluster, position: int, size: int) -> None:
    """Set a position's size (NEVER: gap), and update its ancestors."""
    least = c.ages.least
    node = c.ages.task.shape[1] + position
    least[c.e, node] = size
    node >>= 1
    while node >= 1:
        smaller = min(least[c.e, 2 * node], least[c.e, 2 * node + 1])
        if least[c.e, node] == smaller:
            break
        least[c.e, node] = smaller
        node >>= 1


@apart
def renumber(c: Cluster) -> None:
    """Move the tasks to the first positions, without gaps."""
    ages = c.ages
    positions = ages.task.shape[1]
    n = 0
    for position in range(ages.end[c.e]):
        size = ages.least[c.e, positions + position]
        if size != NEVER:
            i = ages.task[c.e, position]
            ages.task[c.e, n] = i
            ages.position[c.e, i] = n
            ages.least[c.e, positions + n] = size
            n += 1
    for position in range(n, positions):
        ages.least[c.e, positions + position] = NEVER
    ages.end[c.e] = n
    build_tree(c)


@apart
def build_tree(c: Cluster) -> None:
    least = c.ages.least
    for node in range(c.ages.task.shape[1] - 1, 0, -1):
        least[c.e, node] = min(least[c.e, 2 * node], least[c.e, 2 * node + 1])


@apart
def add_newest(c: Cluster, i: int) -> None:
    if c.ages.end[c.e] == c.ages.task.shape[1]:
        renumber(c)
    position = c.ages.end[c.e]
    c.ages.task[c.e, position] = i
    c.ages.position[c.e, i] = position
    c.ages.end[c.e] = position + 1
    set_leaf(c, position, c.task[c.e, i].size)


@apart
def oldest_fitting(c: Cluster, room: int) -> int:
    """Return the oldest fitting task or NONE (needs BY_AGE)."""
    require(c, BY_AGE)
    least = c.ages.least
    if least[c.e, 1] > room:
        return NONE
    positions = c.ages.task.shape[1]
    node = 1
    while node < positions:
        node *= 2
        if least[c.e, node] > room:
            node += 1
    return c.ages.task[c.e, node - positions]


@compiled
def has_gangs(c: Cluster) -> bool:
    """Return whether the table has gangs."""
    return c.source.gangs.shape[1] > 0


@compiled
def gang_size(c: Cluster, i: int) -> int:
    """Return the size of task i's gang, otherwise 1."""
    return c.source.gangs[c.s, c.task[c.e, i].row, TASKS] if has_gangs(c) else 1


@compiled
def in_gang(c: Cluster, i: int) -> bool:
    """Return whether waiting task i belongs to a gang."""
    return gang_size(c, i) > 1


@compiled
def follows(c: Cluster, i: int) -> bool:
    """Return whether waiting task i is not its gang's first."""
    return has_gangs(c) and c.source.gangs[c.s, c.task[c.e, i].row, FIRST] < c.task[c.e, i].row


@compiled
def size_key(c: Cluster, i: int) -> int:
    """Return a key: larger size first, then earlier row."""
    return (c.task[c.e, i].size << ROW_BITS) | (ROW_MASK - c.task[c.e, i].row)


@compiled
def estimate_of(c: Cluster, i: int) -> int:
    """Return task i's estimated slots (>= 1), 0 if unknown."""
    row = c.task[c.e, i].row
    return c.source.estimate[row] if 0 <= row < c.source.estimate.shape[0] else 0


@compiled
def enqueue(c: Cluster, i: int) -> None:
    """Add new task i to all orders but by size."""
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
    """Insert the slot's new tasks into the size order."""
    if c.orders & BY_SIZE:
        if c.head[c.e].fresh > LARGE:
            order_many_new(c)
        else:
            for n in range(c.head[c.e].fresh):
                if not in_gang(c, c.fresh[c.e, n]):
                    insert(c.sizes, c.e, size_key(c, c.fresh[c.e, n]), c.fresh[c.e, n])


@apart
def order_many_new(c: Cluster) -> None:
    """Insert more than LARGE new tasks, sorted to save time."""
    head = c.head[c.e]
    words, count = c.sorting.words, head.fresh
    alone, chosen = head.waiting == count, 0
    # a word for each task: its size above its position
    for k in range(count):
        n = count - 1 - k  # of equal sizes, the later row has the smaller key
        if not in_gang(c, c.fresh[c.e, n]):
            words[c.e, chosen] = (c.task[c.e, c.fresh[c.e, n]].size << ROW_BITS) | n
            chosen += 1
    # into an empty order they are appended, otherwise inserted
    sort_by_high_half(c.sorting, c.e, chosen)
    for k in range(chosen):
        i = c.fresh[c.e, words[c.e, k] & ROW_MASK]
        if alone:
            add_last(c.sizes, c.e, size_key(c, i), i)
        else:
            insert(c.sizes, c.e, size_key(c, i), i)


@compiled
def dequeue(c: Cluster, i: int) -> None:
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
        set_leaf(c, c.ages.position[c.e, i], NEVER)
    if c.orders & BY_DEMAND:
        remove_from_group(c, i)


@compiled
def now(c: Cluster) -> int:
    """Return the slot being scheduled."""
    return c.head[c.e].now


@compiled
def waiting(c: Cluster) -> int:
    """Return the number of waiting tasks."""
    return c.head[c.e].waiting


@compiled
def oldest(c: Cluster) -> int:
    """Return the head of the queue or NONE (needs BY_QUEUE)."""
    require(c, BY_QUEUE)
    return c.queue[c.e].head


@compiled
def next_in_queue(c: Cluster, i: int) -> int:
    """Return the waiting task behind i or NONE.

    Call it before placing i, otherwise it raises ValueError. Needs BY_QUEUE.
    """
    require(c, BY_QUEUE)
    if c.task[c.e, i].server != NONE:
        raise ValueError("next_in_queue of a task that has been placed: ask for the next one before placing it")
    return c.task[c.e, i].next


@compiled
def behind(c: Cluster, i: int) -> int:
    """Return the task behind i's gang or NONE.

    Call it before any task of the gang starts. Needs BY_QUEUE.
    """
    task = next_in_queue(c, i)
    while task != NONE and follows(c, task):
        task = next_in_queue(c, task)
    return task


@compiled
def new_count(c: Cluster) -> int:
    """Return the number of tasks that became eligible this slot."""
    return c.head[c.e].fresh


@compiled
def new_task(c: Cluster, n: int) -> int:
    """Return this slot's n-th new task, NONE if started.

    New tasks became eligible in this slot. They are in row order, 0 <= n < new_count(c).
    """
    i = c.fresh[c.e, n]
    return i if c.task[c.e, i].server == NONE else NONE


@compiled
def size_of(c: Cluster, i: int) -> int:
    """Return task i's scalar size in units, its largest demand."""
    return c.task[c.e, i].size


@compiled
def fitting_key(room: int) -> int:
    """Return a key between sizes <= room and larger ones."""
    return (room << ROW_BITS) | ROW_MASK


@compiled
def largest_fitting(c: Cluster, room: int) -> int:
    """Return the largest (earliest) task of size <= room or NONE (needs BY_SIZE)."""
    require(c, BY_SIZE)
    return floor_item(c.sizes, c.e, fitting_key(room))


@compiled
def largest_size_up_to(c: Cluster, room: int) -> int:
    """Return the largest waiting size <= room or NONE (needs BY_SIZE)."""
    require(c, BY_SIZE)
    return floor_key(c.sizes, c.e, fitting_key(room)) >> ROW_BITS


@compiled
def largest_of_type_fitting(c: Cluster, kind: int, j: int, room: int) -> int:
    """Return the largest waiting task <= room of type j.

    NONE if there is none. j is a type of this kind of server. Raises ValueError if types are boxes. Needs BY_SIZE and BY_TYPE.
    """
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
    """Return the smallest waiting size, NONE if all are in gangs (needs BY_SIZE)."""
    require(c, BY_SIZE)
    return first_key(c.sizes, c.e) >> ROW_BITS


@compiled
def smallest_waiting(c: Cluster) -> int:
    """Return the smallest (then earliest) task or NONE (needs BY_SIZE)."""
    return largest_fitting(c, smallest_size(c))  # of equal sizes the earliest row stands last


@compiled
def largest_size(c: Cluster) -> int:
    """Return the largest size of waiting tasks (needs BY_SIZE)."""
    require(c, BY_SIZE)
    return last_key(c.sizes, c.e) >> ROW_BITS


@compiled
def largest_waiting(c: Cluster) -> int:
    """Return the largest (then earliest) task or NONE (needs BY_SIZE)."""
    require(c, BY_SIZE)
    return floor_item(c.sizes, c.e, NEVER)


@compiled
def row_of(c: Cluster, i: int) -> int:
    """Return the row of task i in the Jobs table."""
    return c.task[c.e, i].row


@compiled
def eligible_since(c: Cluster, i: int) -> int:
    """Return when task i joined (ValueError if it has started)."""
    if c.task[c.e, i].server != NONE:
        raise ValueError("eligible_since of a task that has started: ask before placing it; started_in is when it started")
    return c.task[c.e, i].since


@compiled
def started_in(c: Cluster, i: int) -> int:
    """Return when task i started (ValueError while it waits)."""
    if c.task[c.e, i].server == NONE:
        raise ValueError("started_in of a task that waits: eligible_since is when it joined the queue")
    return c.task[c.e, i].since
