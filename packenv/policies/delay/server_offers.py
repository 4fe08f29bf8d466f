"""Offers of delay scheduling: the servers to the jobs, which wait for their data or take what there is."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from packenv.cluster import NONE, Cluster, new_count, new_task, now, remote_slots, row_of, server_count, wake_at
from packenv.cluster.state import NEVER
from packenv.compiled.decorators import inner
from packenv.compiled.frame import Frame
from packenv.policies.delay.backlog import (
    Backlog,
    anything_waits,
    backlog,
    distance,
    first_fitting,
    first_in_rack,
    first_local,
    launch,
    phase_of,
)
from packenv.policies.job_book import free_of
from packenv.policy import Setting
from packenv.workloads.network import ANY, NODE, RACK

Ints = NDArray[np.int64]

BY_TIME = -1


class Rules(NamedTuple):
    """What the compiled rule knows. Intervals are in the state: they may change."""

    skips: int  # how often a job is skipped before it may launch anywhere; BY_TIME: it waits for slots to pass
    weight: float  # of a new reading in an interval; 0: intervals are fixed
    paper: bool


class Waits(Frame):
    """How long each of J jobs has waited for its data, and how long it is to wait."""

    tasks: Backlog
    racks: int  # 1 if there are any
    interval: NDArray[np.float64]  # (phases, 2) slots at the node level, and at the rack level
    level: NDArray[np.int8]  # (J,) of the last launch, NODE before the first
    begin: Ints  # (J,) slot in which the job was first skipped since its last launch, NONE
    skipped: Ints  # (J,) how often since its last launch at home
    ran: NDArray[np.int8]  # (n,) level on which a row started,
    overhead: Ints  # (n,) slots that it takes longer there
    delayed: Ints  # (n,) slots from the first skip of its job since the launch before it: the waiting due to delay
    open: NDArray[np.int32]  # (L,) scratch: servers with room that were refused
    due: Ints  # (1,) slot in which an interval runs out, or may have
    changed: Ints  # (J,) last slot in which a job might launch where it could not before
    launched: Ints  # (J,) slot of its last launch, NONE,
    last: NDArray[np.int32]  # (J,) and the server


def waits(setting: Setting, interval: float, rack: float) -> Waits:
    """Before slot 0; seconds become slots."""
    table, workload = setting.table, setting.workload
    tasks = backlog(table)
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


@inner
def report(rules: Rules, cluster: Cluster, state: Waits, row: int) -> None:
    """A running average of what tasks lose away from their data."""
    interval = state.interval[state.tasks.phase[state.tasks.group[row]]]
    off_rack = state.racks and state.ran[row] == ANY
    reading = float(state.overhead[row])
    if off_rack:
        reading = max(reading - interval[0], 0.0)
    level = 1 if off_rack else 0
    interval[level] = (1 - rules.weight) * interval[level] + rules.weight * reading
    state.due[0] = now(cluster)


@inner
def offer_servers(rules: Rules, cluster: Cluster, state: Waits) -> int:
    """Offer the servers; how many with room were refused (`open`).

    What was refused before need only be offered to jobs that have changed since, unless offers are counted.
    """
    changed = note_changed(rules, cluster, state)
    count = 0
    for server in range(server_count(cluster)):
        if not anything_waits(state.tasks):
            return 0
        if not has_room(cluster, state, server):
            continue
        to_all = rules.skips > 0 or cluster.server[cluster.e, server].freed == now(cluster)
        if to_all or changed:
            while offer(rules, cluster, state, server, to_all):
                pass
            if not has_room(cluster, state, server):
                continue
        state.open[count] = server
        count += 1
    return count


@inner
def note_changed(rules: Rules, cluster: Cluster, state: Waits) -> bool:
    """Whether any jobs have changed: they have new tasks, or an interval has run out."""
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


@inner
def has_room(cluster: Cluster, state: Waits, server: int) -> bool:
    """Whether any task of the table could fit."""
    for r in range(state.tasks.least.shape[0]):
        if free_of(cluster, server, r) < state.tasks.least[r]:
            return False
    return True


@inner
def offer(rules: Rules, cluster: Cluster, state: Waits, server: int, to_all: bool) -> bool:
    """Look once through the jobs, or those for which it can matter; whether one launched a task."""
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


@inner
def choice(rules: Rules, cluster: Cluster, state: Waits, job: int, server: int) -> int:
    """The row that a job launches on a server; NONE if nothing fits, or it is skipped."""
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


@inner
def allowed(rules: Rules, cluster: Cluster, state: Waits, job: int) -> int:
    """How far from its data a job may launch now."""
    level = state.level[job]
    if level == ANY or rules.skips >= 0:
        return ANY if level == ANY or state.skipped[job] >= rules.skips else NODE
    if state.begin[job] == NONE:
        return level
    waited = now(cluster) - state.begin[job]
    if waited > patience(state, job, ANY):
        return ANY
    return RACK if level == RACK or (state.racks and waited > patience(state, job, RACK)) else NODE


@inner
def patience(state: Waits, job: int, level: int) -> float:
    """Slots that a job waits, from where it is, before it may launch on a level."""
    interval = state.interval[phase_of(state.tasks, job)]
    if state.level[job] == RACK:
        return interval[1]
    return interval[0] + interval[1] if level == ANY and state.racks else interval[0]


@inner
def begin(rules: Rules, cluster: Cluster, state: Waits, job: int, row: int, server: int) -> None:
    """Launch a row."""
    level = distance(cluster, row, server)
    state.ran[row], state.overhead[row] = level, remote_slots(cluster, row, server)
    state.delayed[row] = 0 if state.begin[job] == NONE else now(cluster) - state.begin[job]
    state.begin[job] = NONE
    state.level[job] = NODE if rules.paper else ANY if level != NODE and rules.skips >= 0 else level
    if rules.paper or level == NODE:
        state.skipped[job] = 0
    state.launched[job], state.last[job] = now(cluster), server
    launch(cluster, state.tasks, row, server)


@inner
def wake_later(rules: Rules, cluster: Cluster, state: Waits, count: int) -> None:
    """Ask for the slot in which a job may launch farther from its data on one of `count` servers with room.

    That is the next one if offers are counted, or if a job is only then skipped for the first time since its last launch:
    in this slot it was on those behind the server of a launch.
    """
    state.due[0] = NEVER
    soon, order = NEVER, state.tasks.order
    for k in range(order.used[0]):
        for q in range(order.block[0, k].count):
            job = order.items[0, order.block[0, k].storage, q]
            if rules.skips > 0 and soon == NEVER and fits_behind(cluster, state, job, count, NONE):
                soon = now(cluster) + 1
            if rules.skips >= 0 or allowed(rules, cluster, state, job) == ANY:
                continue
            if state.begin[job] == NONE:
                last = state.last[job] if state.launched[job] == now(cluster) else NONE
                if fits_behind(cluster, state, job, count, last):
                    state.begin[job] = now(cluster)
                elif last != NONE and soon == NEVER and fits_behind(cluster, state, job, count, NONE):
                    soon = now(cluster) + 1
            if state.begin[job] != NONE:
                state.due[0] = min(state.due[0], runs_out(cluster, state, job))
    if count > 0:
        wake_at(cluster, min(soon, state.due[0]))


@inner
def runs_out(cluster: Cluster, state: Waits, job: int) -> int:
    """The slot in which a job that waits may launch on the next level."""
    near = state.begin[job] + int(np.floor(patience(state, job, RACK))) + 1
    return near if near > now(cluster) else state.begin[job] + int(np.floor(patience(state, job, ANY))) + 1


@inner
def fits_behind(cluster: Cluster, state: Waits, job: int, count: int, last: int) -> bool:
    """Whether a task of the job fits on one of the first `count` open servers, of those behind server `last`."""
    n = count - 1
    while n >= 0 and state.open[n] > last:
        if first_fitting(cluster, state.tasks, job, state.open[n]) != NONE:
            return True
        n -= 1
    return False
