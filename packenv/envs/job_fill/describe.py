"""Observation of JobFill: features of groups and the cluster."""

from __future__ import annotations

import math

from packenv.cluster.locality import has_homes, level_of, remote_slots
from packenv.cluster.queue.waiting import now, waiting
from packenv.cluster.servers import server_count
from packenv.cluster.state import NEVER, NONE
from packenv.cluster.whole_jobs.book import free_of
from packenv.cluster.whole_jobs.releases import first_room
from packenv.cluster.whole_jobs.remaining_work import work_left
from packenv.cluster.whole_jobs.state import UNFINISHED, mean_work_left, nearest_task, share_of
from packenv.compiled.decorators import apart, compiled
from packenv.envs.core.features import HIGHEST
from packenv.envs.core.state import Batch
from packenv.envs.job_fill import features as feature
from packenv.envs.job_fill.offer import ratio
from packenv.workloads.network import NODE, RACK

LEAST = 1e-6  # ratios are at least this much, so that their logarithms are finite


@apart
def describe_groups(b: Batch, server: int) -> None:
    """Write `actions`: each group's features, then its relative ones."""
    e, jobs, rows = b.c.e, b.jobs, b.actions[b.c.e]
    # All rows are zeros; the last one is the action that waits.
    for n in range(rows.shape[0]):
        for k in range(rows.shape[1]):
            rows[n, k] = 0.0
    last = rows.shape[0] - 1
    rows[last, feature.VALID] = b.mask[e, last]
    rows[last, feature.WAITS] = 1.0
    # Each group by itself, and the sums over their tasks.
    tasks, alignment, scarcity, work, path, duration, age, value = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    bottleneck, scarce_work, unfinished = 0.0, 0.0, mean_work_left(b.c, jobs)
    for n in range(last):
        g = b.offered[e, n]
        if g == NONE:
            break
        describe_demand(b, n, g, server)
        describe_job(b, n, g, server)
        j, count = jobs.book.job[g], float(jobs.book.waiting[g])
        tasks += count
        alignment += count * rows[n, feature.ALIGNMENT]
        scarcity += count * rows[n, feature.LOG_SCARCITY]
        work += count * work_left(b.c, jobs.work, j)
        path += count * jobs.path[g]
        duration += count * jobs.book.duration[g]
        age += count * (now(b.c) - jobs.arrival[j] + 1)
        value += count * abs(jobs.value[j])
        bottleneck += count * rows[n, feature.LOG_BOTTLENECK]
        scarce_work += count * rows[n, feature.LOG_SCARCE_WORK]
        jobs.longest[j] = max(jobs.longest[j], jobs.path[g])
    for n in range(last):
        g = b.offered[e, n]
        if g == NONE:
            break
        # Then in place of a number its ratio to the mean, and the logarithm of it.
        j, row = jobs.book.job[g], rows[n]
        aligned, left = ratio(row[feature.ALIGNMENT], alignment, tasks), ratio(work_left(b.c, jobs.work, j), work, tasks)
        row[feature.ALIGNMENT], row[feature.LOG_ALIGNMENT] = bounded(aligned), math.log(max(aligned, LEAST))
        row[feature.LOG_SCARCITY] = math.log(max(ratio(row[feature.LOG_SCARCITY], scarcity, tasks), LEAST))
        row[feature.WORK], row[feature.LOG_WORK] = bounded(left), math.log(max(left, LEAST))
        row[feature.LOG_PATH] = math.log(max(ratio(jobs.path[g], path, tasks), LEAST))
        row[feature.LOG_DURATION] = math.log(max(ratio(jobs.book.duration[g], duration, tasks), LEAST))
        row[feature.LOG_AGE] = math.log(max(ratio(now(b.c) - jobs.arrival[j] + 1, age, tasks), LEAST))
        row[feature.VALUE] = bounded(ratio(jobs.value[j], value, tasks))
        row[feature.LOG_BOTTLENECK] = math.log(max(ratio(row[feature.LOG_BOTTLENECK], bottleneck, tasks), LEAST))
        row[feature.LOG_SCARCE_WORK] = math.log(max(ratio(row[feature.LOG_SCARCE_WORK], scarce_work, tasks), LEAST))
        row[feature.CRITICAL] = jobs.path[g] / jobs.longest[j]
        row[feature.LOG_WORK_OF_ALL] = math.log(max(ratio(work_left(b.c, jobs.work, j), unfinished, 1.0), LEAST))
    for n in range(last):
        g = b.offered[e, n]
        if g == NONE:
            break
        jobs.longest[jobs.book.job[g]] = 0


@compiled
def bounded(x: float) -> float:
    return min(max(x, -HIGHEST), HIGHEST)


@compiled
def log_count(n: float) -> float:
    return math.log1p(n) / 5


@apart
def describe_demand(b: Batch, n: int, g: int, server: int) -> None:
    """Describe a demand by free room and scarcity (backlog / capacity)."""
    c, row, demand = b.c, b.actions[b.c.e, n], b.jobs.book.demand
    resources, alignment, of_free, of_server, least, mean, scarcity = 0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0
    # Over the resources that the server has.
    scarcest, left_scarcest = -1.0, 1.0
    for r in range(demand.shape[1]):
        capacity = float(c.capacity[server, r])
        if capacity > 0:
            free, needed = free_of(c, server, r), demand[g, r]
            resources += 1
            alignment += (needed / capacity) * (free / capacity)
            of_server = max(of_server, needed / capacity)
            if needed > 0:
                of_free = max(of_free, needed / free)
            left = (free - needed) / capacity
            least = min(least, left)
            mean += left
            scarce = b.jobs.backlog[r] / b.jobs.total[r]
            scarcity += scarce * needed / capacity
            if scarce > scarcest:
                scarcest, left_scarcest = scarce, left
    row[feature.VALID] = 1.0
    row[feature.ALIGNMENT] = alignment
    row[feature.LOG_SCARCITY], row[feature.LEFT_SCARCEST] = scarcity, left_scarcest  # the first until all are known
    row[feature.OF_FREE], row[feature.OF_SERVER] = of_free, of_server
    row[feature.LEFT_LEAST], row[feature.LEFT_MEAN] = least, mean / resources


@apart
def describe_job(b: Batch, n: int, g: int, server: int) -> None:
    """Describe phase, job, owner and data of a group."""
    jobs, row = b.jobs, b.actions[b.c.e, n]
    book = jobs.book
    j, phase, level = book.job[g], book.phase[g], NODE
    # how far the nearest task of the group is from its data
    if has_homes(b.c):
        nearest = nearest_task(jobs, g, server)
        level = level_of(b.c, nearest, server)
        if level != NODE:
            row[feature.LOG_OVERHEAD] = math.log1p(remote_slots(b.c, nearest, server) / book.duration[g])
            row[feature.LOG_HOME] = log_slots_to_home(b, g, nearest)
    # the phase, the job, and the owner
    row[feature.TASKS] = log_count(book.waiting[g])
    row[feature.IN_SERVICE] = log_count(jobs.in_service[j])
    row[feature.PHASE_COMPLETED] = jobs.completed[phase] / jobs.of_phase[phase]
    row[feature.PHASE_WAITING] = book.waiting[g] / jobs.left[j]
    row[feature.FAIR_SHARE] = log_count(share_of(jobs, book.owner[j]) * jobs.owners.count[0])
    row[feature.HERE] = level == NODE
    row[feature.SAME_RACK] = level in (NODE, RACK)
    # the job's work beside the cluster: of its bottleneck, and weighted by how scarce each resource is
    bottleneck, scarce_work = 0.0, 0.0  # the first until all are known
    for r in range(jobs.total.shape[0]):
        if jobs.total[r] > 0:
            of_cluster = jobs.not_started[j, r] / jobs.total[r]
            bottleneck = max(bottleneck, of_cluster)
            scarce_work += of_cluster * jobs.backlog[r] / jobs.total[r]
    row[feature.LOG_BOTTLENECK], row[feature.LOG_SCARCE_WORK] = bottleneck, scarce_work


@apart
def log_slots_to_home(b: Batch, g: int, row: int) -> float:
    """Return log(1 + slots until room at home / own slots)."""
    c, jobs, places, soonest = b.c, b.jobs, b.c.source.locality, NEVER
    for n in range(places.home_of[row], places.home_of[row + 1]):
        soonest = min(soonest, first_room(c, jobs.ahead, jobs.work, jobs.book, g, places.home[n]))
    return math.log1p((soonest - now(c)) / jobs.book.duration[g]) if soonest < NEVER else feature.NO_ROOM


@apart
def describe_cluster(b: Batch, server: int) -> None:
    """Write `context`, with the server if there is one."""
    c, jobs, context, offered = b.c, b.jobs, b.context[b.c.e], 0
    # groups that are offered
    for n in range(b.offered.shape[1]):
        offered += b.offered[c.e, n] != NONE
    # what is free of each resource, on the cluster and on the server
    free, server_free, least, resources = 0.0, 0.0, 1.0, 0
    for r in range(jobs.total.shape[0]):
        if jobs.total[r] > 0:
            resources += 1
            free += 1 - c.used[c.e, r] / jobs.total[r]
            if server != NONE and c.capacity[server, r] > 0:
                share = free_of(c, server, r) / c.capacity[server, r]
                server_free += share
                least = min(least, share)
    context[feature.GROUPS] = log_count(b.fitting[c.e])
    context[feature.HIDDEN] = log_count(b.fitting[c.e] - offered)
    context[feature.JOBS] = log_count(jobs.counts[UNFINISHED])
    context[feature.PER_SERVER] = log_count(waiting(c) / server_count(c))
    context[feature.FREE] = free / resources
    context[feature.SERVER_FREE] = server_free / resources if server != NONE else 0.0
    context[feature.SERVER_LEAST] = least if server != NONE else 0.0
    lacking = most_lacking(b, server)
    context[feature.BLOCKED], context[feature.LACKING] = lacking > 0, bounded(lacking)


@compiled
def most_lacking(b: Batch, server: int) -> float:
    """Return the foremost group's largest lack, 0 if it fits."""
    c, g, most = b.c, b.foremost[b.c.e], 0.0
    if g != NONE:
        for r in range(c.capacity.shape[1]):
            lacking = b.jobs.book.demand[g, r] - free_of(c, server, r)
            if lacking > 0:
                most = max(most, lacking / max(float(c.capacity[server, r]), 1.0))
    return most
