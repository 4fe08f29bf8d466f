"""Rejection of unstarted new tasks, counted by what was missing."""

from __future__ import annotations

from packenv.cluster.devices import accepts, device_room, has_devices
from packenv.cluster.events import free_place
from packenv.cluster.locality import can_read
from packenv.cluster.queue.by_demand import demand_of
from packenv.cluster.queue.waiting import dequeue, in_gang, new_count, new_task
from packenv.cluster.servers import free_of
from packenv.cluster.state import NONE, Cluster
from packenv.compiled.decorators import apart, compiled

OTHER_REASONS = ("device", "kind", "several", "gang", "network", "policy")
"""Reasons besides the resources: devices whose sum is none of these, another kind of device, several things at once, room for a
whole gang, links for reading data, and nothing: a server had room, but the policy did not start the task there."""


@apart
def turn_away(c: Cluster) -> None:
    """Remove the new unstarted tasks, the only ones waiting."""
    for n in range(new_count(c)):
        i = new_task(c, n)
        if i != NONE:
            reason = c.used.shape[1] + 3 if in_gang(c, i) else missing(c, i)
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
