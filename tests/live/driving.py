"""Drives a Scheduler with the arrivals and the services of a table, and compares its starts with those of the simulator."""

from __future__ import annotations

import heapq
from typing import Any, NamedTuple

import numpy as np

import packenv
from packenv.errors import InputError
from packenv.jobs import NUMBER, SHARE, Jobs
from packenv.workloads.workload import Workload

OTHER = -1  # the number of a task that was there before slot 0, of which there is one at most


class Outcome(NamedTuple):
    """Slot, server and devices of the tasks that started, by row."""

    slot: dict[int, int]
    server: dict[int, int]
    devices: dict[int, int]


def simulated(workload: Workload, policy: Any, slots: int | None, seed: int = 0) -> Outcome:
    result = packenv.simulate(workload, policy, slots, seed, drain=slots is None, schedule=True)
    schedule = result.schedule
    assert schedule is not None
    rows = np.flatnonzero(schedule.start >= 0).tolist()
    devices = schedule.devices
    return Outcome(
        {row: int(schedule.start[row]) for row in rows},
        {row: int(schedule.server[row]) for row in rows},
        {row: 0 if devices is None else int(devices[row]) for row in rows},
    )


def arguments_of(jobs: Jobs, row: int, whole: int) -> dict[str, Any]:
    """What `submit` takes of a row."""
    amounts = jobs.amounts[row].tolist()
    arguments: dict[str, Any] = {"size": amounts}
    if jobs.estimate is not None:
        arguments["estimate"] = float(jobs.estimate[row])
    if jobs.gang is not None and jobs.gang[row] >= 0:
        arguments["gang"] = int(jobs.gang[row])
    if jobs.home is not None:
        arguments["home"] = jobs.home.row(row).tolist()
        assert jobs.remote_overhead is not None
        arguments["remote_overhead"] = int(jobs.remote_overhead[row])
    if jobs.devices is not None:
        number, share, kinds = jobs.devices[row].tolist()
        assert number == jobs.devices[row, NUMBER] and share == jobs.devices[row, SHARE]
        arguments["gpu"] = share / whole if share else number
        arguments["gpu_kinds"] = "|".join(name for k, name in enumerate(jobs.device_kinds) if kinds >> k & 1)
    return arguments


def remote_slots(workload: Workload, row: int, server: int, slot: int) -> int:
    """How much longer a task runs on a server away from its data, if it starts in this slot: written out once more."""
    jobs, network = workload.jobs, workload.network
    assert jobs is not None
    if network is None or jobs.home is None or jobs.remote_overhead is None or not len(homes := jobs.home.row(row).tolist()):
        return 0
    if server in homes:
        return 0
    factor = 1.0
    for seconds, value in network.factor:
        if seconds <= slot:
            factor = value
    racks = network.rack_of(len(workload.servers)).tolist()
    near = network.same_rack if any(racks[home] == racks[server] for home in homes) else 1.0
    return int(np.rint(int(jobs.remote_overhead[row]) * factor * near))


def driven(scheduler: packenv.Scheduler, workload: Workload, jobs: Jobs | None, slots: int | None) -> Outcome:
    """Report arrivals and ends as a real cluster would; nothing else is known to the scheduler."""
    assert jobs is not None
    ends: list[tuple[int, int]] = []
    outcome, row = Outcome({}, {}, {}), 0
    devices = workload.servers.devices
    whole = int(devices[:, 1].max()) if devices is not None else 1
    while True:
        times = [ends[0][0]] if ends else []
        times += [int(jobs.arrival[row])] if row < len(jobs) else []
        if not times and slots is None:
            return outcome
        times += [scheduler.wake] if scheduler.wake is not None else []
        if not times or (slots is not None and min(times) >= slots):
            return outcome
        slot = min(times)
        while ends and ends[0][0] == slot:
            scheduler.complete(heapq.heappop(ends)[1])
        while row < len(jobs) and jobs.arrival[row] == slot:
            scheduler.submit(row, **arguments_of(jobs, row, whole))
            row += 1
        for start in scheduler.decide(now=slot):
            task = int(start.task)
            assert task not in outcome.slot
            outcome.slot[task], outcome.server[task] = start.slot, int(start.server)
            outcome.devices[task] = sum(1 << d for d in start.devices)
            away = remote_slots(workload, task, int(start.server), slot) if workload.jobs is not None else 0
            stay = int(jobs.service[task]) + away
            heapq.heappush(ends, (slot + stay, task))


def compare(workload: Workload, policy: Any, slots: int | None, seed: int = 0, law: Workload | None = None) -> int:
    """Returns how many tasks started; a policy that the simulator refuses is refused live. `law`: what it knows of tasks."""
    options: dict[str, Any] = {"workload": law, "network": workload.network, "seed": seed}
    jobs = workload.jobs
    try:
        expected = simulated(workload, policy, slots, seed)
    except InputError:
        try:
            driven(packenv.Scheduler(policy, workload.servers, **options), workload, jobs, slots)
        except InputError:
            return 0
        raise AssertionError("only the simulator refuses the policy") from None
    if jobs is None:
        assert slots is not None
        table = workload.tabulated(seed, slots)
        jobs = table.jobs
    scheduler = packenv.Scheduler(policy, workload.servers, **options)
    actual = driven(scheduler, workload, jobs, slots)
    assert actual.slot == expected.slot
    assert actual.server == expected.server
    assert actual.devices == expected.devices
    return len(expected.slot)
