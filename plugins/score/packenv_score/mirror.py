"""A cluster and its mirror: messages between simulator and candidate.

The mirror holds the scheduler's view: waiting tasks with demands, ages, jobs, estimates, device needs and data locations, and the
tasks in service on each server. Slowdowns on remote servers are hidden. The mirror learns a completion only in its slot. Until
then the task has no end. Numbers follow the order of becoming eligible, so future table rows stay unknown.

    news     slot, completed tasks m, new tasks n, the numbers of the m. For each of the n: its job, D demands in units, and, if
             there are any, device needs (NUMBER, SHARE, KINDS), estimate, home servers (number, then indices)
    answer   slot of the candidate's next call, or NEVER. For each task that starts: number, server, devices
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from packenv.cluster import NONE, Cluster, estimate_of, fits, has_devices, place, wake_at
from packenv.extend import DONE, NEVER, TAKEN, TASK, WAYS, compiled, has_homes

Ints = NDArray[np.int64]

ENDLESS = 1 << 48
"""Service of every task in the mirror, in slots."""

HEADER = 3  # of the news
START = 3  # words of a start in the answer
ABOUT = 6  # most words of a new task without demands and home servers
NO_TASK, NO_SERVER, NO_ROOM = 1, 2, 3
"""Problems of a start."""


def news_length(cluster: Cluster, homes: int) -> int:
    """Return the longest possible news, `homes` per task at most."""
    head = cluster.head[0]
    return int(HEADER + head["due"] + head["fresh"] * (ABOUT + len(cluster.scale) + homes))


@compiled
def tell(c: Cluster, number: Ints, places: Ints, tasks: int, news: Ints) -> int:
    """Write the slot's news. Return its length.

    number  (pool places,) task number in each place
    places  (tasks,) pool place of each number; `tasks` numbers are in use
    """
    head = c.head[c.e]
    news[0] = head.now
    n = HEADER
    # Completions of this slot.
    for k in range(head.due):
        i = c.due[c.e, k]
        if c.task[c.e, i].kind == DONE:
            news[n] = number[i]
            n += 1
    news[1] = n - HEADER
    news[2] = head.fresh
    for k in range(head.fresh):
        i = c.fresh[c.e, k]
        # Give the new task a number, then write its attributes.
        number[i] = tasks + k
        places[tasks + k] = i
        news[n] = c.task[c.e, i].job
        n += 1
        if c.demand.shape[1] == 0:
            news[n] = c.task[c.e, i].size
            n += 1
        else:
            for r in range(c.demand.shape[2]):
                news[n] = c.demand[c.e, i, r]
                n += 1
        if has_devices(c):
            for part in range(TAKEN):
                news[n] = c.devices.need[c.e, i, part]
                n += 1
        if c.source.estimate.shape[0] > 0:
            news[n] = estimate_of(c, i)
            n += 1
        if has_homes(c):
            known, row = c.source.locality, c.task[c.e, i].row
            first, end = known.home_of[row], known.home_of[row + 1]
            news[n] = end - first
            n += 1
            for home in range(first, end):
                news[n] = known.home[home]
                n += 1
    return n


@compiled
def carry_out(c: Cluster, number: Ints, places: Ints, tasks: int, answer: Ints) -> int:
    """Start the answer's tasks. Return the first problem, or 0."""
    # Check every start: the candidate may send anything.
    for k in range(1, answer.shape[0], START):
        n, server = answer[k], answer[k + 1]
        if n < 0 or n >= tasks or number[places[n]] != n:
            return NO_TASK
        i = places[n]
        if c.task[c.e, i].kind != TASK or c.task[c.e, i].server != NONE:
            return NO_TASK
        if server < 0 or server >= c.server.shape[1]:
            return NO_SERVER
        if not fits(c, i, server):
            return NO_ROOM
        place(c, i, server, 0, answer[k + 2])
    if answer[0] > c.head[c.e].now:
        wake_at(c, answer[0])
    return 0


@compiled
def hear(c: Cluster, news: Ints, places: Ints) -> None:
    """Apply the slot's completions and arrivals to the mirror."""
    slot, completed, new = news[0], news[1], news[2]
    for k in range(completed):
        bring_forward(c, places[news[HEADER + k]], slot)
    # Replace the chunk of arrivals with the new tasks.
    stream = c.source.stream[0]
    stream.first_row += stream.filled
    stream.filled = new
    n = HEADER + completed
    for k in range(new):
        c.source.arrival[0, k] = slot
        c.source.service[0, k] = ENDLESS
        c.source.job[0, k] = news[n]
        for r in range(c.source.demand.shape[2]):
            c.source.demand[0, k, r] = news[n + 1 + r]
        n += 1 + c.source.demand.shape[2]
        row = stream.first_row + k
        if has_devices(c):
            for part in range(TAKEN):
                c.source.devices.need[0, k, part] = news[n]
                n += 1
        if c.source.estimate.shape[0] > 0:
            c.source.estimate[row] = news[n]
            n += 1
        if has_homes(c):
            known, count = c.source.locality, news[n]
            first = known.home_of[row]
            known.home_of[row + 1] = first + count
            n += 1
            for home in range(first, first + count):
                known.home[home] = news[n]
                n += 1


@compiled
def bring_forward(c: Cluster, i: int, slot: int) -> None:
    """Move task i's completion forward to `slot`."""
    # Find the completion in the heap, then move it up to its new slot.
    events, n = c.events[c.e], 0
    while events[n, 1] != i:
        n += 1
    while n > 0 and events[(n - 1) // WAYS, 0] > slot:
        above = (n - 1) // WAYS
        events[n, 0], events[n, 1] = events[above, 0], events[above, 1]
        n = above
    events[n, 0], events[n, 1] = slot, i
    c.task[c.e, i].slots = slot


@compiled
def answer(c: Cluster, places: Ints, starts: Ints) -> int:
    """Write the candidate's answer. Return its length."""
    head = c.head[c.e]
    for k in range(head.fresh):
        i = c.fresh[c.e, k]
        places[c.task[c.e, i].row] = i
    # Write the next call, then the starts of this slot.
    starts[0] = head.wake
    n = 1
    for k in range(head.events):
        i = c.events[c.e, k, 1]
        task = c.task[c.e, i]
        if task.kind != TASK:  # a message of the candidate's to itself
            starts[0] = min(starts[0], c.events[c.e, k, 0])
        elif task.since == head.now and task.row >= 0 and task.server != NONE:
            starts[n] = task.row
            starts[n + 1] = task.server
            starts[n + 2] = c.devices.need[c.e, i, TAKEN] if has_devices(c) else 0
            n += START
    if starts[0] >= ENDLESS:
        starts[0] = NEVER
    return n
