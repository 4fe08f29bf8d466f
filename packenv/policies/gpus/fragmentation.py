"""How much of a server's idle devices is of no use to the shapes of tasks that usually come (PAPERS §7).

A task needs cores, and either nothing of a device, a share of one device, or several whole ones, of a kind that it accepts. A
shape is what tasks with the same needs have in common. Devices count in thousandths (milli).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from packenv.compiled.decorators import compiled
from packenv.compiled.frame import Frame

Ints = NDArray[np.int64]

WHOLE = 1000  # milli of a device
MOST_DEVICES = 64  # of a server
COVERED = 0.95  # of all tasks, by the most frequent shapes

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


class Shapes(Frame):
    """T shapes of tasks, the most frequent first."""

    cpu: Ints  # (T,) of any unit, that of the servers
    share: Ints  # (T,) milli of each device that it needs: WHOLE, less of a single one, or 0
    count: Ints  # (T,) number of devices
    kinds: Ints  # (T,) bit mask of the kinds of devices that it accepts
    weight: Ints  # (T,) number of tasks that have the shape
    total: int  # tasks of all of them


def frequent_shapes(cpu: Ints, share: Ints, count: Ints, kinds: Ints, covered: float = COVERED) -> Shapes:
    """The most frequent shapes of a list of tasks, until so large a share of the tasks has one of them.

    Of shapes that are as frequent as each other, the larger one comes first.
    """
    columns = np.stack([cpu, share, count, kinds], axis=1).astype(np.int64)
    shapes, weight = np.unique(columns, axis=0, return_counts=True)
    order = np.lexsort((*shapes.T[::-1], weight))[::-1]
    before = np.cumsum(weight[order]) - weight[order]
    order = order[before < covered * len(columns)]
    parts = [np.ascontiguousarray(column) for column in shapes[order].T]
    weight = weight[order].astype(np.int64)
    return Shapes(cpu=parts[0], share=parts[1], count=parts[2], kinds=parts[3], weight=weight, total=int(weight.sum()))


@compiled
def reason_of(shapes: Shapes, t: int, cpu: int, left: Ints, devices: int, kind: int) -> int:
    """Which of REASONS holds for shape `t` on a server with so much cpu and, on each of its devices, so much left."""
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
def stranded(shapes: Shapes, t: int, reason: int, left: Ints, devices: int, idle: int) -> int:
    """The milli of a server's devices that are of no use to shape `t`: all that is idle, unless the shape is satisfied."""
    if reason != SATISFIED:
        return idle
    amount = 0
    for d in range(devices):
        if left[d] < shapes.share[t]:
            amount += left[d]
    return amount


@compiled
def idle_of(left: Ints, devices: int) -> int:
    """The milli that are left on all devices of a server."""
    idle = 0
    for d in range(devices):
        idle += left[d]
    return idle


@compiled
def fragmentation(shapes: Shapes, cpu: int, left: Ints, devices: int, kind: int, beside: float) -> float:
    """F of a server, in milli times `shapes.total`: what is stranded for each shape, times the tasks that have it.

    beside  weight of what is idle beside a shape that is satisfied; 1 as published
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
def add_by_reason(shapes: Shapes, cpu: int, left: Ints, devices: int, kind: int, sign: int, amounts: Ints) -> None:
    """Add F of a server, times `sign`, to the amounts (7,) of the reasons, in milli times `shapes.total`."""
    idle = idle_of(left, devices)
    if idle > 0:
        for t in range(len(shapes.weight)):
            reason = reason_of(shapes, t, cpu, left, devices, kind)
            amounts[reason] += sign * shapes.weight[t] * stranded(shapes, t, reason, left, devices, idle)
