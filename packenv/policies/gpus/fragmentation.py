"""Idle devices of a server that usual tasks cannot use (PAPERS §7).

A task needs cores, and either no device, a share of one device, or several whole devices, of a kind that it accepts. A shape is
what tasks with the same needs have in common. Devices count in thousandths (milli).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from packenv.compiled.decorators import compiled
from packenv.compiled.frame import Frame
from packenv.errors import InputError
from packenv.jobs import HOW_MANY, KINDS, MODEL, NUMBER, SHARE, Jobs
from packenv.jobs import WHOLE as CAPACITY
from packenv.results.result import Result
from packenv.workloads.in_service import begins_busy
from packenv.workloads.workload import Workload

Ints = NDArray[np.int64]

WHOLE = 1000  # milli of a device
MOST_DEVICES = 64  # of a server
COVERED = 0.95  # of all tasks, by the most frequent shapes
ANY_KIND, NO_NAME = 2**63 - 1, 62  # bits: all kinds; the place of devices whose kind has no name

REASONS = (
    "lacks cpu and GPU",
    "lacks GPU",
    "lacks cpu",
    "satisfied",  # what is idle beside, on devices with less left than it needs of one
    "kind not accepted",
    "no GPU needed, satisfied",
    "no GPU needed, lacks cpu",
)
"""Why idle devices are of no use to a shape, in the order of `reason_of`."""

LACKS_BOTH, LACKS_DEVICES, LACKS_CPU, SATISFIED, NOT_ACCEPTED, NONE_NEEDED, NONE_NEEDED_LACKS_CPU = range(len(REASONS))


class TaskShapes(Frame):
    """T shapes of tasks, the most frequent first."""

    cpu: Ints  # (T,) of any unit, that of the servers
    share: Ints  # (T,) milli of each device that it needs: WHOLE, less of a single one, or 0
    count: Ints  # (T,) number of devices
    kinds: Ints  # (T,) bit mask of the kinds of devices that it accepts
    weight: Ints  # (T,) number of tasks that have the shape
    total: int  # tasks of all of them


def frequent_shapes(cpu: Ints, share: Ints, count: Ints, kinds: Ints, covered: float = COVERED) -> TaskShapes:
    """Return the most frequent shapes covering a share of tasks, larger first."""
    columns = np.stack([cpu, share, count, kinds], axis=1).astype(np.int64)
    shapes, weight = np.unique(columns, axis=0, return_counts=True)
    order = np.lexsort((*shapes.T[::-1], weight))[::-1]
    before = np.cumsum(weight[order]) - weight[order]
    order = order[before < covered * len(columns)]
    parts = [np.ascontiguousarray(column) for column in shapes[order].T]
    weight = weight[order].astype(np.int64)
    return TaskShapes(cpu=parts[0], share=parts[1], count=parts[2], kinds=parts[3], weight=weight, total=int(weight.sum()))


def needs_of_devices(jobs: Jobs, whole: int = WHOLE) -> tuple[Ints, Ints, Ints]:
    """Return each row's device share (or `whole`), count and kinds as bits, (n,)."""
    assert jobs.devices is not None
    number, share, kinds = jobs.devices[:, NUMBER], jobs.devices[:, SHARE], jobs.devices[:, KINDS]
    return np.where(number == 0, 0, np.where(share == 0, whole, share)), number, np.where(kinds == 0, ANY_KIND, kinds)


def kind_bits(devices: Ints) -> Ints:
    """Return each server's device kind as a bit, (L,), from `Servers.devices`."""
    return np.asarray(np.int64(1) << np.where(devices[:, MODEL] >= 0, devices[:, MODEL], NO_NAME))


def cpu_of(workload: Workload) -> int:
    """Return the index of cpu: the resource of that name, or the first."""
    names = workload.resources or ()
    return names.index("cpu") if "cpu" in names else 0


@compiled
def reason_of(shapes: TaskShapes, t: int, cpu: int, left: Ints, devices: int, kind: int) -> int:
    """Return why shape `t` cannot use the free cpu and devices (REASONS)."""
    enough_cpu = cpu >= shapes.cpu[t]
    share = shapes.share[t]
    if share == 0:
        return NONE_NEEDED if enough_cpu else NONE_NEEDED_LACKS_CPU
    if shapes.kinds[t] & kind == 0:
        return NOT_ACCEPTED
    with_room = 0
    for d in range(devices):
        with_room += left[d] >= share
    if with_room < shapes.count[t]:
        return LACKS_DEVICES if enough_cpu else LACKS_BOTH
    return SATISFIED if enough_cpu else LACKS_CPU


@compiled
def stranded(shapes: TaskShapes, t: int, reason: int, left: Ints, devices: int, idle: int) -> int:
    """Return the idle milli that shape `t` cannot use: all, unless satisfied."""
    if reason != SATISFIED:
        return idle
    amount = 0
    for d in range(devices):
        if left[d] < shapes.share[t]:
            amount += left[d]
    return amount


@compiled
def idle_of(left: Ints, devices: int) -> int:
    """Return the idle milli on all devices of a server."""
    idle = 0
    for d in range(devices):
        idle += left[d]
    return idle


@compiled
def fragmentation(shapes: TaskShapes, cpu: int, left: Ints, devices: int, kind: int, beside: float) -> float:
    """Return F of a server, in milli times `shapes.total`.

    F sums the stranded milli of each shape, times the tasks with that shape.

    beside  weight of idle room on other devices when a shape is satisfied; 1 as published
    """
    idle = idle_of(left, devices)
    amount = 0.0
    if idle > 0:
        for t in range(len(shapes.weight)):
            reason = reason_of(shapes, t, cpu, left, devices, kind)
            of_no_use = shapes.weight[t] * stranded(shapes, t, reason, left, devices, idle)
            amount += beside * of_no_use if reason == SATISFIED else of_no_use
    return amount


@compiled
def add_by_reason(shapes: TaskShapes, cpu: int, left: Ints, devices: int, kind: int, sign: int, amounts: Ints) -> None:
    """Add sign · F of a server to (7,) reasons, in milli · `shapes.total`."""
    idle = idle_of(left, devices)
    if idle > 0:
        for t in range(len(shapes.weight)):
            reason = reason_of(shapes, t, cpu, left, devices, kind)
            amounts[reason] += sign * shapes.weight[t] * stranded(shapes, t, reason, left, devices, idle)


class FragmentationOverTime(NamedTuple):
    """Unusable devices over time. Entry k holds from slot[k] to slot[k + 1]."""

    slot: Ints  # (k + 1,)
    shares: NDArray[np.float64]  # (k, 7) of all devices, by REASONS


def has_fragmentation(workload: Workload) -> bool:
    """Return whether servers are empty at first, with devices of one capacity."""
    devices = workload.servers.devices
    if not workload.has_devices or devices is None or begins_busy(workload):
        return False
    return len(set(devices[devices[:, HOW_MANY] > 0, CAPACITY].tolist())) == 1


def fragmentation_over_time(result: Result, workload: Workload) -> FragmentationOverTime:
    """Return the unusable share of all devices over a run, by reason.

    Idle devices count if the most frequent shapes of the table cannot use them. Raises InputError for a run without its schedule,
    and unless servers are empty at first and have devices of one capacity.
    """
    jobs, schedule, devices, until = workload.at(result.seed).jobs, result.schedule, workload.servers.devices, result.slots
    if not has_fragmentation(workload) or jobs is None or devices is None:
        raise InputError(
            f"{workload.name}: fragmentation is of servers that begin empty, with devices, such as GPUs, all of one capacity"
        )
    if schedule is None or schedule.devices is None:
        raise InputError(f"the run of {result.policy} has no schedule: simulate with schedule=True")
    number, cpu = devices[:, HOW_MANY], cpu_of(workload)
    whole = int(devices[number > 0, CAPACITY][0])
    share, count, kinds = needs_of_devices(jobs, whole)
    shapes = frequent_shapes(jobs.demand[:, cpu], share, count, kinds)

    rows = np.flatnonzero(schedule.start >= 0)
    when, tasks, sign = np.append(schedule.end[rows], schedule.start[rows]), np.tile(rows, 2), np.repeat([1, -1], len(rows))
    order = np.argsort(when, kind="stable")  # what ends in a slot leaves before others start
    order = order[when[order] < until]
    slot, entry = np.unique(np.append(0, when[order]), return_inverse=True)
    tasks = tasks[order]
    columns = entry[1:], sign[order], schedule.server[tasks], jobs.demand[tasks, cpu], share[tasks], schedule.devices[tasks]
    amounts = np.zeros((len(slot), len(REASONS)), np.int64)
    left = np.where(np.arange(number.max()) < number[:, None], whole, 0)
    free, numbers = np.ascontiguousarray(workload.servers.units[:, cpu]), np.ascontiguousarray(number)
    add_changes(shapes, free, left, numbers, kind_bits(devices), np.stack(columns, axis=1).astype(np.int64), amounts)
    return FragmentationOverTime(np.append(slot, until), np.cumsum(amounts, axis=0) / (shapes.total * whole * number.sum()))


@compiled
def add_changes(shapes: TaskShapes, free: Ints, left: Ints, number: Ints, kind: Ints, changes: Ints, amounts: Ints) -> None:
    """Add F at first, and its changes, to the amounts (k, 7).

    Units are devices times `shapes.total`. `free` (L,) cpu and `left` (L, M) of empty servers. Changes (c, 6): row of the
    amounts, 1 for a departure or −1 for a start, server, cpu, share of each device, devices as bits.
    """
    for s in range(len(free)):
        add_by_reason(shapes, free[s], left[s], number[s], kind[s], 1, amounts[0])
    for n in range(len(changes)):
        at, sign, s = changes[n, 0], changes[n, 1], changes[n, 2]
        add_by_reason(shapes, free[s], left[s], number[s], kind[s], -1, amounts[at])
        free[s] += sign * changes[n, 3]
        for d in range(number[s]):
            if (changes[n, 5] >> d) & 1:
                left[s, d] += sign * changes[n, 4]
        add_by_reason(shapes, free[s], left[s], number[s], kind[s], 1, amounts[at])
