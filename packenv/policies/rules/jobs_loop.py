"""The loop of rules that use facts of tables: jobs, durations, data.

Tasks of one job, phase, demand and estimate are a group (packenv.cluster.whole_jobs). The task whose data are nearest to the
server stands for its group. A server with completions is filled with the groups of the highest priority, as in `loop`. Then each
group with new tasks goes to the servers of the highest priority, until none fits.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from packenv.cluster import NONE, Cluster, fits, freed_count, freed_server, has_devices, level_of, now, server_count
from packenv.cluster.best_fit import precedes
from packenv.cluster.locality import has_homes
from packenv.cluster.whole_jobs.book import group_fits
from packenv.cluster.whole_jobs.remaining_work import WORK_UNITS, work_left
from packenv.cluster.whole_jobs.state import NEWS, WholeJobs, nearest_task, note_slot, start_of_group, whole_jobs
from packenv.compiled.decorators import apart, compiled
from packenv.compiled.frame import Frame
from packenv.policies.rules.loop import tighter
from packenv.policies.rules.machine_code import OfJobs, called
from packenv.policies.rules.view import (
    View,
    begin,
    describe_cluster,
    describe_devices,
    describe_server,
    describe_task,
    forget,
)
from packenv.policy import Setting, schedules


class JobsView(Frame):
    """What a rule sees, and the jobs of the table."""

    seen: View
    jobs: WholeJobs


def jobs_view(view: View, setting: Setting) -> JobsView:
    """Return the state before slot 0.

    Without estimates in the table, each task counts as one of a slot.
    """
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
