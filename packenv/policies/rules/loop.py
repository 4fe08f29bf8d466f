"""The loop of rules that see tasks alone, compiled once for all rules.

It is BF-J/S with the rule in place of best fit. A server with completions is filled: of the waiting tasks that fit, the one of
the highest priority starts, until none fits. Then each new task goes to the server of the highest priority on which it fits.
Among equal priorities the larger task goes first, to the tighter server. Among equal tasks, the one that waits longest. With
`task.size - server.room` this is BF-J/S, start by start. After each slot no waiting task fits on any server.
"""

from __future__ import annotations

from packenv.cluster import (
    BY_DEMAND,
    NONE,
    Cluster,
    first_of_group,
    fits,
    free_share,
    freed_count,
    freed_server,
    group_count,
    has_devices,
    largest_fitting,
    may_fit,
    new_count,
    new_task,
    place,
    room_of,
    server_count,
    waiting,
)
from packenv.cluster.best_fit import precedes
from packenv.cluster.servers import next_server_for
from packenv.compiled.decorators import apart, compiled
from packenv.compiled.intrinsics import natural
from packenv.policies.rules.machine_code import ByAddress, called
from packenv.policies.rules.view import (
    View,
    begin,
    count_up_to,
    describe_cluster,
    describe_devices,
    describe_server,
    describe_size,
    describe_task,
    forget,
)
from packenv.policy import schedules, takes_over

LOOKED_AT = 128
"""Where more tasks fit than this, so many are looked at, at equal distances in the order of size; all sizes that several have."""


@schedules(ByAddress)
def schedule_by_priority(policy: ByAddress, cluster: Cluster, state: View) -> None:
    if waiting(cluster) > 0 and freed_count(cluster) + new_count(cluster) > 0:
        start_by_priority(cluster, state, policy.address, policy.reads_age, policy.reads_sizes)


@takes_over(ByAddress)
def fill_all(policy: ByAddress, cluster: Cluster, state: View) -> None:
    """Fill all servers once.

    Later slots fill only servers with completions, so no waiting task may fit on another one.
    """
    if waiting(cluster) > 0:
        begin(cluster, state, policy.reads_sizes)
        for server in range(server_count(cluster)):
            fill_by_priority(cluster, state, server, policy.address, policy.reads_age)


@apart
def start_by_priority(c: Cluster, v: View, address: int, reads_age: int, reads_sizes: int) -> None:
    """Fill freed servers, then place the new tasks."""
    begin(c, v, reads_sizes)
    for n in range(freed_count(c)):
        fill_by_priority(c, v, freed_server(c, n), address, reads_age)
    for n in range(new_count(c)):
        i = new_task(c, n)
        if i != NONE and may_fit(c, i):
            server = server_by_priority(c, v, i, address, reads_age)
            if server != NONE:
                start(c, v, i, server)


@apart
def fill_by_priority(c: Cluster, v: View, server: int, address: int, reads_age: int) -> None:
    """Fill a server with tasks of the highest priority."""
    i = task_by_priority(c, v, server, address, reads_age)
    while i != NONE:
        start(c, v, i, server)
        i = task_by_priority(c, v, server, address, reads_age)


@compiled
def start(c: Cluster, v: View, i: int, server: int) -> None:
    forget(c, v, i)
    place(c, i, server)


@apart
def task_by_priority(c: Cluster, v: View, server: int, address: int, reads_age: int) -> int:
    """Return the fitting task of the highest priority, or NONE."""
    if waiting(c) == 0:
        return NONE
    if c.orders & BY_DEMAND:
        return group_by_priority(c, v, server, address)
    k = count_up_to(v, room_of(c, server)) - 1
    if k < 0:
        return NONE
    describe_cluster(c, v)
    describe_server(c, v, server)
    step = max(1, k // LOOKED_AT)
    best, highest = NONE, 0.0
    while k >= 0:
        size = v.sizes[natural(k)]
        describe_size(c, v, size, k, reads_age)
        value = called(v, address)
        if best == NONE or value > highest:
            best, highest = size, value
        k = count_up_to(v, size - 1) - 1 if k > 0 and v.sizes[natural(k - 1)] == size else k - step
    return largest_fitting(c, best)


@apart
def group_by_priority(c: Cluster, v: View, server: int, address: int) -> int:
    """Return the best of the oldest tasks of each demand.

    For several resources.
    """
    describe_cluster(c, v)
    describe_server(c, v, server)
    best, highest = NONE, 0.0
    for n in range(group_count(c)):
        i = first_of_group(c, n)
        if fits(c, i, server):
            describe_task(c, v, i)
            if has_devices(c):
                describe_devices(c, v, i, server)
            value = called(v, address)
            if best == NONE or value > highest or (value == highest and precedes(c, i, best)):
                best, highest = i, value
    return best


@apart
def server_by_priority(c: Cluster, v: View, i: int, address: int, reads_age: int) -> int:
    """Return task i's server of the highest priority, or NONE."""
    best, highest, server = NONE, 0.0, -1
    while True:
        server = next_server_for(c, i, server + 1)
        if server == NONE:
            return best
        if best == NONE:
            describe_cluster(c, v)
            describe_task(c, v, i)
        describe_server(c, v, server)
        if has_devices(c):
            describe_devices(c, v, i, server)
        value = called(v, address)
        if best == NONE or value > highest or (value == highest and tighter(c, server, best)):
            best, highest = server, value


@compiled
def tighter(c: Cluster, server: int, other: int) -> bool:
    """Whether a server has less free than another."""
    if c.orders & BY_DEMAND:
        return free_share(c, server) < free_share(c, other)
    return room_of(c, server) < room_of(c, other)
