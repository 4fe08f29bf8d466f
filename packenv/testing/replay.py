"""Replay of a schedule, without any code of the simulator."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from packenv.errors import InputError
from packenv.jobs import SHARE, Jobs
from packenv.results.schedule_table import Schedule
from packenv.workloads.network import Network
from packenv.workloads.servers import Servers
from packenv.workloads.workload import Workload

Ints = NDArray[np.int64]


def problem_of(
    jobs: Jobs, capacity: Ints | Servers, start: Ints, server: NDArray[np.integer], slots: int, end: Ints | None = None
) -> str | None:
    """Return a schedule's first problem in one line, or None.

    slots           slots of the schedule
    capacity        the servers, such as `workload.servers` of the table's workload, or (L, D) units
    start, server   (rows,) of the first rows of the table; -1 for a task that has not started
    end             (rows,) slot in which each task left or will leave; None: start + service

    Every task starts at most once, on an existing server, after its arrival and its predecessors' completion. It stays there for
    its service, or longer away from its data. No server is above its capacity. Raises InputError for a capacity that is not in
    units.
    """
    capacity = capacity.units if isinstance(capacity, Servers) else np.asarray(capacity)
    if not np.issubdtype(capacity.dtype, np.integer):
        raise InputError("capacity: give the servers (workload.servers), or whole numbers in units of packenv.UNIT")
    rows = len(start)
    if rows > len(jobs):
        return f"the schedule has {rows} rows, more than the {len(jobs)} tasks that arrive"
    started = np.flatnonzero(start >= 0)
    service = jobs.service[:rows]
    leaves = np.where(start >= 0, start + service, -1) if end is None else end
    if len(wrong := np.flatnonzero((start >= 0) != (server >= 0))):
        return f"row {wrong[0]} has a start and no server, or a server and no start"
    if len(wrong := started[server[started] >= len(capacity)]):
        return f"row {wrong[0]} is on server {server[wrong[0]]}, and there are {len(capacity)}"
    if len(wrong := started[start[started] >= slots]):
        return f"row {wrong[0]} starts in slot {start[wrong[0]]}, after the last one"
    eligible = eligible_slots(jobs, start, leaves)
    if len(wrong := started[(start[started] < eligible[started]) | (eligible[started] < 0)]):
        return f"row {wrong[0]} starts in slot {start[wrong[0]]}, before it may (slot {eligible[wrong[0]]}; -1: never)"
    stays = (leaves - start)[started]
    exact = jobs.home is None
    if len(wrong := started[(stays != service[started]) if exact else (stays < service[started])]):
        return f"row {wrong[0]} stays {leaves[wrong[0]] - start[wrong[0]]} slots, and its service is {service[wrong[0]]}"
    return _above_capacity(jobs.demand, capacity, start, server, leaves)


def _above_capacity(demand: Ints, capacity: Ints, start: Ints, server: NDArray[np.integer], end: Ints) -> str | None:
    """Return the first slot with an overfull server."""
    for place, most in enumerate(capacity):
        rows = np.flatnonzero((start >= 0) & (server == place))
        times = np.concatenate([end[rows], start[rows]])
        changes = np.concatenate([-demand[rows], demand[rows]])  # departures stand first, and the sort is stable
        order = np.argsort(times, kind="stable")
        above = (changes[order].cumsum(axis=0) > most).any(axis=1)
        if above.any():
            return f"server {place} is above its capacity in slot {times[order][np.argmax(above)]}"
    return None


def problem_of_places(workload: Workload, jobs: Jobs, schedule: Schedule) -> str | None:
    """Return a problem of where tasks ran (stay or devices), or None."""
    started = np.flatnonzero(schedule.start >= 0)
    # how long tasks stay
    if jobs.home is not None:
        network = workload.network or Network()
        rack = network.rack_of(len(workload.servers))
        since, factors = network.steps(workload.slot_seconds or 1.0)
        for row in started.tolist():
            homes, server, slots = jobs.home.row(row), schedule.server[row], int(jobs.service[row])
            if len(homes) and server not in homes and jobs.remote_overhead is not None:
                factor = factors[np.searchsorted(since, schedule.start[row], side="right") - 1]
                longer = jobs.remote_overhead[row] * factor
                slots += int(np.rint(longer * network.same_rack if rack[server] in rack[homes] else longer))
            if schedule.end[row] - schedule.start[row] != slots:
                return (
                    f"row {row} stays {schedule.end[row] - schedule.start[row]} slots on server {server}, where it takes {slots}"
                )
    if jobs.devices is None or workload.servers.devices is None or schedule.devices is None:
        return None
    # number and kind of each task's devices
    for row in started.tolist():
        number, _, kinds = jobs.devices[row].tolist()
        there, _, model = workload.servers.devices[schedule.server[row]].tolist()
        taken = int(schedule.devices[row])
        if taken.bit_count() != number or taken >> there or (kinds and not (model >= 0 and kinds >> model & 1)):
            return f"row {row} has devices that it may not have on server {schedule.server[row]}"
    # no device may be above its capacity
    for place, (there, full, _) in enumerate(workload.servers.devices.tolist()):
        here = started[schedule.server[started] == place]
        part = np.where(jobs.devices[here, SHARE] > 0, jobs.devices[here, SHARE], full)
        takes = (schedule.devices[here, None] >> np.arange(there) & 1) * part[:, None]  # (tasks, devices)
        fault = _above_capacity(takes, np.full((1, there), full), schedule.start[here], 0 * here, schedule.end[here])
        if fault is not None:
            return fault.replace("server 0 is", f"a device of server {place} is")
    return None


def eligible_slots(jobs: Jobs, start: Ints, end: Ints) -> Ints:
    """Return the first slot each task may start in, or -1."""
    rows = len(start)
    eligible = jobs.arrival[:rows].copy()
    over = np.where(start >= 0, end, -1)
    if jobs.phase is not None and jobs.job is not None:
        _after_phases(jobs.job[:rows], jobs.phase[:rows], over, eligible)
    if jobs.predecessors is not None:
        for row in range(rows):
            before = jobs.predecessors.row(row)
            if len(before):
                eligible[row] = -1 if eligible[row] < 0 or over[before].min() < 0 else max(eligible[row], int(over[before].max()))
    return eligible


def _after_phases(job: Ints, phase: Ints, over: Ints, eligible: Ints) -> None:
    for job_number in np.unique(job):
        rows = np.flatnonzero(job == job_number)
        for number in np.unique(phase[rows])[1:]:
            before, later = rows[phase[rows] < number], rows[phase[rows] == number]
            unfinished = over[before].min() < 0
            eligible[later] = -1 if unfinished else np.maximum(eligible[later], over[before].max())


def waited(jobs: Jobs, start: Ints, end: Ints, slots: int) -> int:
    """Return the waiting slots of all tasks (Little's law: queue)."""
    rows = min(int(np.searchsorted(jobs.arrival, slots)), len(jobs))
    started, leave = np.full(rows, -1, np.int64), np.full(rows, -1, np.int64)
    count = min(rows, len(start))
    started[:count], leave[:count] = start[:count], end[:count]
    eligible = eligible_slots(jobs, started, leave)
    waits = (eligible >= 0) & (eligible < slots)
    until = np.where(started >= 0, started, slots)
    return int((until - eligible)[waits].sum())
