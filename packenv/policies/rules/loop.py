"""The two loops of rules, compiled once for all rules.

The first is for rules that see tasks alone. It is BF-J/S with the rule in place of best fit. A server with completions is
filled: the rule compares the waiting tasks that fit, one of each size (of each demand, with several resources): the one that
waits longest. The task of the highest priority starts, until none fits. Then each new task goes to the server of the highest
priority on which it fits. Among equal priorities the larger task goes first, to the tighter server. With
`task.size - server.room` this is BF-J/S, start by start. After each slot no waiting task fits on any server.

The second is for rules that use facts of tables: jobs, durations, data. Tasks of one job, phase, demand and estimate are a group
(packenv.cluster.whole_jobs). The task whose data are nearest to the server stands for its group. Each group with new tasks goes
to the servers of the highest priority, until none fits.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

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
    level_of,
    may_fit,
    new_count,
    new_task,
    now,
    place,
    room_of,
    server_count,
    waiting,
)
from packenv.cluster.best_fit import precedes
from packenv.cluster.locality import has_homes
from packenv.cluster.servers import next_server_for
from packenv.cluster.whole_jobs.book import group_fits
from packenv.cluster.whole_jobs.remaining_work import WORK_UNITS, work_left
from packenv.cluster.whole_jobs.state import NEWS, WholeJobs, nearest_task, note_slot, start_of_group, whole_jobs
from packenv.compiled.decorators import apart, compiled
from packenv.compiled.frame import Frame
from packenv.compiled.intrinsics import natural
from packenv.policies.rules.machine_code import ByAddress, OfJobs, called
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
from packenv.policy import Setting, schedules, takes_over

LOOKED_AT = 128
"""Where more tasks fit than this, so many are looked at, at equal distances in the order of size; all sizes that several have."""


@schedules(ByAddress)
def schedule_by_priority(policy: ByAddress, cluster: Cluster, state: View) -> None:
    if waiting(cluster) > 0 and freed_count(cluster) + new_count(cluster) > 0:
        start_by_priority(cluster, state, policy.address, policy.reads_age, policy.reads_sizes)


@takes_over(ByAddress)
def fill_all(policy: ByAddress, cluster: Cluster, state: View) -> None:
    """Fill all servers once. Later slots fill only those with completions."""
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
    """Return the best of each demand's oldest tasks (several resources)."""
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


class JobsView(Frame):
    """What a rule sees, and the jobs of the table."""

    seen: View
    jobs: WholeJobs


def jobs_view(view: View, setting: Setting) -> JobsView:
    """Return the state before slot 0. Unknown durations count as one slot."""
    table = setting.table
    known = table if table.estimate is not None else replace(table, estimate=np.ones(len(table)))
    return JobsView(seen=view, jobs=whole_jobs(known, setting.capacity, setting.workload.network, by_devices=True))


@schedules(OfJobs)
def schedule_by_jobs(policy: OfJobs, cluster: Cluster, state: JobsView) -> None:
    jobs, view = state.jobs, state.seen
    note_slot(cluster, jobs, False)
    if jobs.book.count[0] > 0 and freed_count(cluster) + jobs.counts[NEWS] > 0:
        begin(cluster, view, policy.reads_sizes)
        for n in range(freed_count(cluster)):
            fill_by_groups(cluster, view, jobs, freed_server(cluster, n), policy.address)
        for n in range(jobs.counts[NEWS]):
            place_group(cluster, view, jobs, jobs.news[n], policy.address)


@apart
def fill_by_groups(c: Cluster, v: View, jobs: WholeJobs, server: int, address: int) -> None:
    """Fill a server with tasks of the highest group priority."""
    book = jobs.book
    while True:
        chosen, best, highest = NONE, NONE, 0.0
        describe_cluster(c, v)
        describe_server(c, v, server)
        for n in range(book.count[0]):
            g = book.active[n]
            i = nearest_that_fits(c, jobs, g, server)
            if i != NONE:
                value = priority_of(c, v, jobs, g, i, server, address)
                if chosen == NONE or value > highest or (value == highest and precedes(c, i, best)):
                    chosen, best, highest = g, i, value
        if chosen == NONE:
            return
        forget(c, v, best)
        start_of_group(c, jobs, chosen, server)


@apart
def place_group(c: Cluster, v: View, jobs: WholeJobs, g: int, address: int) -> None:
    """Start a new group's tasks on the servers of the highest priority."""
    while jobs.book.waiting[g] > 0:
        best, started, highest = NONE, NONE, 0.0
        describe_cluster(c, v)
        for server in range(server_count(c)):
            i = nearest_that_fits(c, jobs, g, server)
            if i != NONE:
                describe_server(c, v, server)
                value = priority_of(c, v, jobs, g, i, server, address)
                if best == NONE or value > highest or (value == highest and tighter(c, server, best)):
                    best, started, highest = server, i, value
        if best == NONE:
            return
        forget(c, v, started)
        start_of_group(c, jobs, g, best)


@compiled
def nearest_that_fits(c: Cluster, jobs: WholeJobs, g: int, server: int) -> int:
    """Return group g's fitting task with the nearest data, or NONE."""
    if not group_fits(c, jobs.book, g, server):
        return NONE
    i = jobs.book.place[nearest_task(jobs, g, server)]
    return i if not has_devices(c) or fits(c, i, server) else NONE


@compiled
def priority_of(c: Cluster, v: View, jobs: WholeJobs, g: int, i: int, server: int, address: int) -> float:
    """Return the priority of task i of group g on the described server."""
    describe_task(c, v, i)
    if has_devices(c):
        describe_devices(c, v, i, server)
    j, record = jobs.book.job[g], v.task[0]
    record.job_age = float(now(c) - jobs.arrival[j])
    record.job_left, record.job_in_service = jobs.left[j], jobs.in_service[j]
    record.job_work = work_left(c, jobs.work, j) / WORK_UNITS
    record.phase_left = jobs.of_phase[jobs.book.phase[g]] - jobs.completed[jobs.book.phase[g]]
    record.path, record.estimate = jobs.path[g], jobs.book.duration[g]
    record.distance = level_of(c, c.task[c.e, i].row, server) if has_homes(c) else 0
    return called(v, address)
