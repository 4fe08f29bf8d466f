"""The steps of a slot before the policy schedules, and rejection after it.

Order of events (PAPERS §1.1): completions, arrivals and newly eligible tasks in row order, scheduling, measure.
"""

from __future__ import annotations

from packenv.cluster.devices import accepts, device_room, has_devices, read_devices
from packenv.cluster.events import allocate_place, collect_due, free_place, next_event
from packenv.cluster.gangs import new_gang_fits
from packenv.cluster.in_service import complete, put_off
from packenv.cluster.locality import can_read
from packenv.cluster.measures import elapse
from packenv.cluster.queue.by_demand import demand_of
from packenv.cluster.queue.by_type import find_box
from packenv.cluster.queue.waiting import dequeue, enqueue, follows, in_gang, new_count, new_task, order_new
from packenv.cluster.servers import free_of
from packenv.cluster.sorted_keys import sort
from packenv.cluster.state import NEVER, NONE, TASK, Cluster
from packenv.compiled.decorators import apart, compiled
from packenv.compiled.intrinsics import prefetch
from packenv.policy import BY_MIX
from packenv.workloads.source import refill

AHEAD = 8  # due events that are prefetched ahead: about as many as memory serves at once

READY, FINISHED, GROW, LIMIT, PAUSED = 0, 1, 2, 3, 4


@compiled
def next_arrival(c: Cluster) -> int:
    """Return the next row's arrival slot, or NEVER."""
    head = c.head[c.e]
    stream = c.source.stream[c.s]
    if head.next_row == stream.first_row + stream.filled:
        if stream.ended:
            return NEVER
        refill(c.source, c.s)
    slot = c.source.arrival[c.s, head.next_row - stream.first_row]
    if head.backlog > 0:
        slot = head.now + 1 - head.arriving if head.waiting < head.backlog else NEVER
    return slot if slot < head.arrivals_end else NEVER


@compiled
def admit(c: Cluster, row: int) -> None:
    """Put a row of the Jobs table into the queue."""
    head = c.head[c.e]
    k = row - c.source.stream[c.s].first_row
    i = allocate_place(c)
    task = c.task[c.e, i]
    task.kind = TASK
    task.row = row
    task.since = head.now
    task.slots = c.source.service[c.s, k]
    task.server = NONE
    task.job = c.source.job[c.s, k] if c.source.job.shape[1] > 0 else row
    if c.demand.shape[1] == 0:
        task.size = c.source.demand[c.s, k, 0]
    else:
        read_demand(c, i, k)
    enqueue(c, i)


@apart
def read_demand(c: Cluster, i: int, k: int) -> None:
    for r in range(c.demand.shape[2]):
        c.demand[c.e, i, r] = c.source.demand[c.s, k, r]
    c.task[c.e, i].size = scalar_size(c, i)
    if has_devices(c):
        read_devices(c, i, k)
    if c.types.box.shape[0] > 0:
        find_box(c, i)


@compiled
def scalar_size(c: Cluster, i: int) -> int:
    """Return the largest demand, each scaled by its largest capacity."""
    most = 0
    for r in range(c.scale.shape[0]):
        most = max(most, c.scale[r])
    size = 1
    for r in range(c.demand.shape[2]):
        demand, scale = c.demand[c.e, i, r], c.scale[r]
        if demand > 0:
            size = max(size, demand if scale == most else -(-demand * most // scale))
    return size


@compiled
def arrivals(c: Cluster) -> int:
    """Admit the newly eligible rows in row order.

    Returns READY after the last one, GROW or LIMIT without room for the next: call again after making room.
    """
    head = c.head[c.e]
    # While a task has been released, or a row arrives in this slot:
    while head.next_released < head.released or next_arrival(c) == head.now:
        held_back = head.next_released < head.released
        # there must be room for it in the pool, and in the queue;
        if head.free_places <= head.reserve or (not held_back and 0 < c.measures.start.shape[1] <= head.next_row):
            return GROW
        if head.waiting >= head.waiting_limit:
            return LIMIT
        if held_back:  # they arrived in earlier slots, so their rows come first
            head.next_released += 1
            admit(c, c.precedence.released[c.e, head.next_released - 1])
        else:
            row = head.next_row
            head.next_row += 1
            head.arrived += 1
            if c.precedence.offsets.shape[0] > 1 and c.precedence.pending[c.e, row] > 0:
                head.held_back += 1
            else:
                admit(c, row)
    if head.free_places < head.reserve:
        return GROW
    order_new(c)
    head.arriving = 0
    return READY


@apart
def begin_slot(c: Cluster, until: int) -> int:
    """Begin the next slot with events before `until`.

    Processes its completions and arrivals. Returns READY to schedule, or FINISHED at `until` (or, if that is NEVER, when nothing
    is left to happen). GROW (the pool is full) and LIMIT (too many wait) require a change and another call.
    """
    head = c.head[c.e]
    if head.arriving == 0:
        slot = next_event(c, min(next_arrival(c), min(head.wake, until)))
        # Nothing more happens: the measures go on to the end.
        if slot >= until or (until == NEVER and all_done(c)):
            if until < NEVER:
                elapse(c, until)
                head.now = until
            return FINISHED
        # Add up what passed until then; places of tasks that completed last time are free from now on.
        elapse(c, slot)
        for n in range(head.due):
            free_place(c, c.due[c.e, n])
        head.now = slot
        head.arriving = 1
        head.fresh = head.freed = head.released = head.next_released = 0
        # The events of the slot: a timer that has run out, completions, arrivals.
        if head.wake == slot:
            head.wake = NEVER
        completions(c)
    return arrivals(c)


@compiled
def all_done(c: Cluster) -> bool:
    """Return whether no task runs, waits or will arrive."""
    head = c.head[c.e]
    return head.in_service == 0 and head.waiting + head.held_back == 0 and next_arrival(c) == NEVER


@apart
def completions(c: Cluster) -> None:
    collect_due(c)
    head = c.head[c.e]
    if head.postponed:
        put_off(c)
    for n in range(head.due):
        expect(c, n)
        i = c.due[c.e, n]
        if c.task[c.e, i].kind == TASK:
            complete(c, i)
    if head.freed > 1:
        order_freed(c)
    if head.released > 1:
        order_released(c)


@apart
def order_released(c: Cluster) -> None:
    sort(c.precedence.released[c.e], c.head[c.e].released)


@compiled
def expect(c: Cluster, n: int) -> None:
    """Prefetch records for due events after event n.

    A large cluster exceeds the caches. Without this best fit does 0.8 times as many tasks/s on 10^5 servers.
    """
    ahead = c.head[c.e].due - n
    if ahead > 2 * AHEAD:
        prefetch(c.task[c.e], c.due[c.e, n + 2 * AHEAD])
    if ahead > AHEAD:
        server = c.task[c.e, c.due[c.e, n + AHEAD]].server
        prefetch(c.server[c.e], server)
        if c.orders & BY_MIX:
            prefetch(c.types.in_service[c.e, server], 0)


@apart
def order_freed(c: Cluster) -> None:
    """Put the servers with completions in index order."""
    head = c.head[c.e]
    if 8 * head.freed < c.server.shape[1]:
        sort(c.freed[c.e], head.freed)
    else:
        n = 0
        for server in range(c.server.shape[1]):
            if c.server[c.e, server].freed == head.now:
                c.freed[c.e, n] = server
                n += 1


OTHER_REASONS = ("device", "kind", "several", "gang", "network", "policy")
"""Reasons besides the resources: devices whose sum is none of these, another kind of device, several things at once, room for a
whole gang, links for reading data, and nothing: there was room for the task or its gang, but the policy did not use it."""


@apart
def turn_away(c: Cluster) -> None:
    """Remove the new unstarted tasks, the only ones waiting."""
    resources, reason = c.used.shape[1], 0
    for n in range(new_count(c)):
        i = new_task(c, n)
        if i != NONE:
            if not in_gang(c, i):
                reason = missing(c, i)
            elif not follows(c, i):  # the others of the gang have the reason of the first
                reason = resources + (5 if new_gang_fits(c, n) else 3)
            c.measures.rejected[c.e, reason] += 1
            dequeue(c, i)
            free_place(c, i)


@compiled
def missing(c: Cluster, i: int) -> int:
    """Return the most common single reason on the servers.

    Ties go to the first. It is "policy" if any server has room, and "several" if no server has a single reason.
    """
    resources = c.used.shape[1]
    counts = c.measures.lacking
    for reason in range(counts.shape[1]):
        counts[c.e, reason] = 0
    for server in range(c.server.shape[1]):
        counts[c.e, missing_on(c, i, server)] += 1
    if counts[c.e, resources + 5] > 0:
        return resources + 5
    best, most = resources + 2, 0
    for reason in range(resources + 5):
        if reason != resources + 2 and counts[c.e, reason] > most:
            best, most = reason, counts[c.e, reason]
    return best


@compiled
def missing_on(c: Cluster, i: int, server: int) -> int:
    """Return a server's only reason, "several", or "policy" if it has room."""
    resources, found, reason = c.used.shape[1], 0, c.used.shape[1] + 5
    total = c.source.devices.total if has_devices(c) else resources
    # the total of devices is no reason: devices are checked one by one
    for r in range(resources):
        if r != total and demand_of(c, i, r) > free_of(c, server, r):
            found += 1
            reason = r
    if has_devices(c) and not device_room(c, i, server):
        found += 1
        reason = total
    if has_devices(c) and not accepts(c, i, server):
        found += 1
        reason = resources + 1
    if found == 0 and not can_read(c, c.task[c.e, i].row, server):
        reason = resources + 4
    return reason if found <= 1 else resources + 2
