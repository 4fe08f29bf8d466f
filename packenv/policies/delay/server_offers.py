"""Offers of servers to jobs in delay scheduling."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from packenv.cluster import NONE, Cluster, new_count, new_task, now, remote_slots, row_of, server_count, wake_at
from packenv.cluster.locality import reads_take_room
from packenv.cluster.sorted_keys import first_key
from packenv.cluster.state import NEVER
from packenv.cluster.whole_jobs.book import free_of
from packenv.compiled.decorators import compiled
from packenv.compiled.frame import Frame
from packenv.policies.delay.backlog import (
    Backlog,
    backlog,
    distance,
    first_fitting,
    first_in_rack,
    first_local,
    launch,
    phase_of,
)
from packenv.policy import Setting
from packenv.workloads.network import ANY, NODE, RACK

Ints = NDArray[np.int64]

BY_TIME = -1


class OfferRules(NamedTuple):
    """Parameters of the compiled rule. The intervals are in the state."""

    skips: int  # offers that a job skips before it may launch anywhere; BY_TIME: it waits by intervals
    weight: float  # of a new reading in an interval; 0: intervals are fixed
    paper: bool  # a job waits anew after every launch


class Waits(Frame):
    """Waiting tasks (n), intervals, and waits of J jobs on L servers."""

    tasks: Backlog
    racks: int  # 1 if the cluster has racks
    interval: NDArray[np.float64]  # (phases, 2) slots: the node interval and the rack interval
    level: NDArray[np.int8]  # (J,) NODE, RACK or ANY: the level that the job keeps from its last launch; NODE at first
    begin: Ints  # (J,) slot in which the job was first skipped since its last launch, NONE
    skipped: Ints  # (J,) times skipped since the last launch at home (`paper`: since the last launch)
    ran: NDArray[np.int8]  # (n,) level on which a row started
    overhead: Ints  # (n,) extra slots of a row because it started away from its data
    delayed: Ints  # (n,) slots that the job of a row had waited for its data when the row started
    open: NDArray[np.int32]  # (L,) scratch: servers with room on which no job launched a task
    due: Ints  # (1,) earliest slot in which an interval of some job may have run out
    changed: Ints  # (J,) last slot in which the job got new tasks or a wider level, so may accept servers it refused before
    launched: Ints  # (J,) slot of the last launch, NONE
    last: NDArray[np.int32]  # (J,) server of the last launch, NONE


def waits(setting: Setting, interval: float, rack: float) -> Waits:
    """Return the state before slot 0, from intervals in seconds."""
    table, workload = setting.table, setting.workload
    tasks = backlog(table, workload.network, len(setting.capacity))
    jobs, rows = len(tasks.waiting), len(table)
    slots = np.array([interval, rack]) / (workload.slot_seconds or 1.0)
    return Waits(
        tasks=tasks,
        racks=int(workload.network is not None and workload.network.has_racks),
        interval=np.tile(slots, (int(tasks.phase.max()) + 1, 1)),
        level=np.zeros(jobs, np.int8),
        begin=np.full(jobs, NONE, np.int64),
        skipped=np.zeros(jobs, np.int64),
        ran=np.zeros(rows, np.int8),
        overhead=np.zeros(rows, np.int64),
        delayed=np.zeros(rows, np.int64),
        open=np.zeros(len(setting.capacity), np.int32),
        due=np.zeros(1, np.int64),
        changed=np.full(jobs, NONE, np.int64),
        launched=np.full(jobs, NONE, np.int64),
        last=np.full(jobs, NONE, np.int32),
    )


@compiled
def report(rules: OfferRules, cluster: Cluster, state: Waits, row: int) -> None:
    """Move the interval of a completed row's phase towards its overhead."""
    interval = state.interval[state.tasks.phase[state.tasks.group[row]]]
    off_rack = state.racks and state.ran[row] == ANY
    reading = float(state.overhead[row])
    if off_rack:
        reading = max(reading - interval[0], 0.0)
    level = 1 if off_rack else 0
    interval[level] = (1 - rules.weight) * interval[level] + rules.weight * reading
    state.due[0] = now(cluster)


@compiled
def offer_servers(rules: OfferRules, cluster: Cluster, state: Waits) -> int:
    """Offer all servers in index order; count those that all jobs refused.

    They are in `open`. Unless offers are counted, a server without completions in this slot is offered only to jobs that
    `note_changed` marked. If remote reads take room, a completion anywhere may have made room for one.
    """
    changed = note_changed(rules, cluster, state)
    count = 0
    for server in range(server_count(cluster)):
        if first_key(state.tasks.order, 0) == NONE:  # nothing waits
            return 0
        if not has_room(cluster, state, server):
            continue
        to_all = rules.skips > 0 or reads_take_room(cluster) or cluster.server[cluster.e, server].freed == now(cluster)
        if to_all or changed:
            while offer(rules, cluster, state, server, to_all):
                pass
            if not has_room(cluster, state, server):
                continue
        state.open[count] = server
        count += 1
    return count


@compiled
def note_changed(rules: OfferRules, cluster: Cluster, state: Waits) -> bool:
    """Mark jobs with new tasks or an expired interval. True if any."""
    changed = False
    for n in range(new_count(cluster)):
        i = new_task(cluster, n)
        if i != NONE:
            state.changed[state.tasks.job[row_of(cluster, i)]] = now(cluster)
            changed = True
    if now(cluster) >= state.due[0]:
        order = state.tasks.order
        for k in range(order.used[0]):
            for q in range(order.block[0, k].count):
                job = order.items[0, order.block[0, k].storage, q]
                if allowed(rules, cluster, state, job) != NODE:
                    state.changed[job] = now(cluster)
                    changed = True
    return changed


@compiled
def has_room(cluster: Cluster, state: Waits, server: int) -> bool:
    """Return whether the table's smallest demand fits on the server."""
    for r in range(state.tasks.least.shape[0]):
        if free_of(cluster, server, r) < state.tasks.least[r]:
            return False
    return True


@compiled
def offer(rules: OfferRules, cluster: Cluster, state: Waits, server: int, to_all: bool) -> bool:
    """Offer a server once to the jobs, in fair order.

    Returns whether a job launched a task. Without `to_all`, unchanged jobs that already wait are left out, because they would
    refuse again.
    """
    order = state.tasks.order
    for k in range(order.used[0]):
        for q in range(order.block[0, k].count):
            job = order.items[0, order.block[0, k].storage, q]
            if not to_all and state.changed[job] != now(cluster) and state.begin[job] != NONE:
                continue
            row = choice(rules, cluster, state, job, server)
            if row != NONE:
                begin(rules, cluster, state, job, row, server)
                return True
    return False


@compiled
def choice(rules: OfferRules, cluster: Cluster, state: Waits, job: int, server: int) -> int:
    """Return the row that a job launches here, or NONE. Waiting is a skip."""
    tasks = state.tasks
    row = first_local(cluster, tasks, job, server)
    if row != NONE:
        return row
    row = first_fitting(cluster, tasks, job, server)
    if row == NONE:
        return NONE
    level = allowed(rules, cluster, state, job)
    if level != NODE and state.racks:
        near = first_in_rack(cluster, tasks, job, server)
        if near != NONE:
            return near
    if level == ANY:
        return row
    state.skipped[job] += 1
    if state.begin[job] == NONE:
        state.begin[job] = now(cluster)
    return NONE


@compiled
def allowed(rules: OfferRules, cluster: Cluster, state: Waits, job: int) -> int:
    """Return the widest level for launches now: NODE, RACK or ANY."""
    level = state.level[job]
    if level == ANY or rules.skips >= 0:
        return ANY if level == ANY or state.skipped[job] >= rules.skips else NODE
    if state.begin[job] == NONE:
        return level
    waited = now(cluster) - state.begin[job]
    if waited > patience(state, job, ANY):
        return ANY
    return RACK if level == RACK or (state.racks and waited > patience(state, job, RACK)) else NODE


@compiled
def patience(state: Waits, job: int, level: int) -> float:
    """Return the slots before a job may launch on `level`, RACK or ANY."""
    interval = state.interval[phase_of(state.tasks, job)]
    if state.level[job] == RACK:
        return interval[1]
    return interval[0] + interval[1] if level == ANY and state.racks else interval[0]


@compiled
def begin(rules: OfferRules, cluster: Cluster, state: Waits, job: int, row: int, server: int) -> None:
    """Launch a row and end its job's wait. Record level, overhead, delay."""
    level = distance(cluster, row, server)
    state.ran[row], state.overhead[row] = level, remote_slots(cluster, row, server)
    state.delayed[row] = 0 if state.begin[job] == NONE else now(cluster) - state.begin[job]
    state.begin[job] = NONE
    state.level[job] = NODE if rules.paper else ANY if level != NODE and rules.skips >= 0 else level
    if rules.paper or level == NODE:
        state.skipped[job] = 0
    state.launched[job], state.last[job] = now(cluster), server
    launch(cluster, state.tasks, row, server)


@compiled
def wake_later(rules: OfferRules, cluster: Cluster, state: Waits, count: int) -> None:
    """Set a timer for the first slot with a wider launch.

    It is for the `count` servers in `open`. If offers are counted, that is the next slot. It is also the next slot for a job that
    launched in this slot and fits only on open servers up to that of the launch: those are offered to it first in the next
    slot. If it fits on an open server behind that of the launch, it was skipped there in this slot, so its wait begins now.
    """
    state.due[0] = NEVER
    soon, order = NEVER, state.tasks.order
    for k in range(order.used[0]):
        for q in range(order.block[0, k].count):
            job = order.items[0, order.block[0, k].storage, q]
            # Offers are counted: the next slot brings the next ones.
            if rules.skips > 0 and soon == NEVER and fits_behind(cluster, state, job, count, NONE):
                soon = now(cluster) + 1
            if rules.skips >= 0 or allowed(rules, cluster, state, job) == ANY:
                continue
            # A job that has not waited yet: does its wait begin in this slot, or with the next offer?
            if state.begin[job] == NONE:
                last = state.last[job] if state.launched[job] == now(cluster) else NONE
                if fits_behind(cluster, state, job, count, last):
                    state.begin[job] = now(cluster)
                elif last != NONE and soon == NEVER and fits_behind(cluster, state, job, count, NONE):
                    soon = now(cluster) + 1
            # One that waits: the end of its interval.
            if state.begin[job] != NONE:
                state.due[0] = min(state.due[0], runs_out(cluster, state, job))
    if count > 0:
        wake_at(cluster, min(soon, state.due[0]))


@compiled
def runs_out(cluster: Cluster, state: Waits, job: int) -> int:
    """Return the slot when a waiting job may launch wider."""
    near = state.begin[job] + int(np.floor(patience(state, job, RACK))) + 1
    return near if near > now(cluster) else state.begin[job] + int(np.floor(patience(state, job, ANY))) + 1


@compiled
def fits_behind(cluster: Cluster, state: Waits, job: int, count: int, last: int) -> bool:
    """Return whether the job fits on one of `count` open servers behind `last`."""
    n = count - 1
    while n >= 0 and state.open[n] > last:
        if first_fitting(cluster, state.tasks, job, state.open[n]) != NONE:
            return True
        n -= 1
    return False
