"""Records of task, server and cluster that a rule sees.

The loops write them before they call the rule.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from packenv.cluster import (
    BY_SIZE,
    NONE,
    Cluster,
    device_capacity,
    device_count,
    device_left,
    devices_for,
    devices_needed,
    eligible_since,
    has_devices,
    largest_fitting,
    now,
    server_count,
    share_needed,
    size_of,
)
from packenv.cluster.sorted_keys import WIDTH
from packenv.cluster.state import ROW_BITS
from packenv.compiled.decorators import compiled
from packenv.compiled.frame import Frame
from packenv.compiled.intrinsics import move, natural

OF_JOBS = ("job_age", "job_left", "job_in_service", "job_work", "phase_left", "path", "estimate", "distance")
"""What a rule may ask of a task in a table alone: of its job, how long it should take, and how far its data lie."""
OF_ESTIMATES = ("job_work", "path", "estimate")
"""Those that count with estimates of durations, where the table has any."""

task_type = np.dtype([(name, "f8") for name in ("size", "age", *OF_JOBS, "devices", "device_share")])
server_type = np.dtype(
    [
        *(("room", "f8"), ("capacity", "f8"), ("jobs", "i8"), ("index", "i8"), ("kind", "i8")),
        *(("devices", "f8"), ("free_devices", "f8"), ("device_room", "f8"), ("device_left", "f8")),
    ]
)
cluster_type = np.dtype(
    [
        *(("servers", "i8"), ("resources", "i8"), ("waiting", "i8"), ("waiting_size", "f8"), ("in_service", "i8")),
        ("free", "f8"),
        ("share", "f8"),  # of the largest server, per unit
        ("device", "f8"),  # the largest capacity of a device
    ]
)
WAITING, RANK, SHIFT = 0, 1, 2
BUCKETS = 512


class View(Frame):
    """The facts that a rule sees, in shares of the largest server."""

    task: NDArray[np.void]  # (1,)
    server: NDArray[np.void]  # (1,)
    cluster: NDArray[np.void]  # (1,)
    task_demand: NDArray[np.float64]  # (D,)
    server_free: NDArray[np.float64]  # (D,)
    server_capacities: NDArray[np.float64]  # (D,)
    totals: NDArray[np.float64]  # (D,) units: capacity of the whole cluster
    sizes: NDArray[np.int32]  # (places + WIDTH,) units, ascending: of the waiting tasks
    counts: NDArray[np.int64]  # (3,) sizes that there are; place in them of the task at hand; bits of a size below its bucket
    below: NDArray[np.int32]  # (BUCKETS + 1,) how many sizes lie in lower buckets, where the rule reads sizes
    parameters: NDArray[np.float64]  # (K,) of the rule


def new_view(resources: int, parameters: NDArray[np.float64]) -> View:
    vectors = {name: np.zeros(resources) for name in ("task_demand", "server_free", "server_capacities", "totals")}
    return View(
        task=np.zeros(1, task_type),
        server=np.zeros(1, server_type),
        cluster=np.zeros(1, cluster_type),
        sizes=np.zeros(WIDTH, np.int32),
        counts=np.zeros(3, np.int64),
        below=np.zeros(BUCKETS + 1, np.int32),
        parameters=parameters,
        **vectors,
    )


@compiled
def begin(c: Cluster, v: View, reads_sizes: int) -> None:
    """Write the facts of the slot, and the sorted waiting sizes."""
    record = v.cluster[0]
    record.servers, record.resources, record.share = server_count(c), c.capacity.shape[1], 1.0 / largest_capacity(c)
    if has_devices(c):
        most = 1  # the largest capacity of a device, the unit of shares
        for server in range(server_count(c)):
            most = max(most, device_capacity(c, server))
        record.device = float(most)
    v.counts[WAITING] = v.counts[RANK] = 0
    if c.orders & BY_SIZE:
        n = 0
        for k in range(c.sizes.used[c.e]):
            block = c.sizes.block[c.e, k]
            keys = c.sizes.keys[c.e, natural(block.storage)]
            for q in range(WIDTH):  # the whole block: the next one overwrites what is not in use
                v.sizes[natural(n + q)] = keys[q] >> ROW_BITS
            n += block.count
        v.counts[WAITING] = n
        v.counts[SHIFT] = 0
        if reads_sizes:
            fill_buckets(c, v)


@compiled
def fill_buckets(c: Cluster, v: View) -> None:
    """Count the sizes below each bucket, for rules that count often."""
    shift = 1
    while largest_capacity(c) >> shift >= BUCKETS:
        shift += 1
    v.counts[SHIFT] = shift
    bucket = 0
    for k in range(v.counts[WAITING]):
        highest = v.sizes[natural(k)] >> shift
        while bucket <= highest:
            v.below[natural(bucket)] = k
            bucket += 1
    while bucket <= BUCKETS:
        v.below[natural(bucket)] = v.counts[WAITING]
        bucket += 1


@compiled
def largest_capacity(c: Cluster) -> int:
    """Units of scalar size that the largest server has."""
    most = 0
    for r in range(c.scale.shape[0]):
        most = max(most, c.scale[r])
    return most


@compiled
def forget(c: Cluster, v: View, i: int) -> None:
    """Remove the size of task i, which starts."""
    if v.counts[WAITING] > 0:
        place_in_order = count_up_to(v, size_of(c, i)) - 1
        v.counts[WAITING] -= 1
        if v.counts[SHIFT]:
            for bucket in range((size_of(c, i) >> v.counts[SHIFT]) + 1, BUCKETS + 1):
                v.below[natural(bucket)] -= 1
        move(v.sizes, place_in_order, place_in_order + 1, v.counts[WAITING] - place_in_order)


@compiled
def in_units(v: View, share: float, up: bool) -> int:
    """Return a share of the largest server in units, safely rounded."""
    units = share / v.cluster[0].share
    if not units > -1.0:
        return -1
    if units > 2.0**31 - 2:
        return 2**31 - 2
    return int(np.ceil(units - 1e-4)) if up else int(np.floor(units + 1e-4))


@compiled
def count_up_to(v: View, size: int) -> int:
    """Count waiting tasks up to this size, in units."""
    sizes, count, rest = v.sizes, 0, v.counts[WAITING]
    if v.counts[SHIFT]:
        bucket = max(size, 0) >> v.counts[SHIFT]
        if bucket >= BUCKETS:
            return rest
        count = v.below[natural(bucket)]
        rest = v.below[natural(bucket + 1)] - count
    while rest > 0:
        half = (rest + 1) >> 1
        count += half * (sizes[natural(count + half - 1)] <= size)  # no branch: it could not be predicted
        rest -= half
    return count


@compiled
def describe_size(c: Cluster, v: View, size: int, rank: int, reads_age: int) -> None:
    """Write the oldest waiting task of this size, `rank` in size order."""
    v.task[0].size = size * v.cluster[0].share
    v.counts[RANK] = rank
    if v.task_demand.shape[0] == 1:
        v.task_demand[0] = v.task[0].size
    if reads_age:
        v.task[0].age = float(now(c) - eligible_since(c, largest_fitting(c, size)))


@compiled
def describe_task(c: Cluster, v: View, i: int) -> None:
    """Write the record of waiting task i."""
    v.task[0].size = size_of(c, i) * v.cluster[0].share
    v.task[0].age = float(now(c) - eligible_since(c, i))
    v.counts[RANK] = max(count_up_to(v, size_of(c, i)) - 1, 0)
    if has_devices(c):
        v.task[0].devices = devices_needed(c, i)
        v.task[0].device_share = share_needed(c, i) / v.cluster[0].device
    if c.demand.shape[1] == 0:
        v.task_demand[0] = v.task[0].size
        return
    for r in range(c.demand.shape[2]):
        v.task_demand[r] = c.demand[c.e, i, r] / max(float(c.scale[r]), 1.0)


@compiled
def describe_cluster(c: Cluster, v: View) -> None:
    """Write the record of the cluster."""
    record, head = v.cluster[0], c.head[c.e]
    record.waiting, record.in_service = head.waiting, head.in_service
    record.waiting_size = head.waiting_size * record.share
    free, resources = 0.0, c.capacity.shape[1]
    for r in range(resources):
        if v.totals[r] > 0:
            free += 1.0 - c.used[c.e, r] / v.totals[r]
    record.free = free / resources


@compiled
def describe_server(c: Cluster, v: View, server: int) -> None:
    """Write a server's record. Its room is the scarcest resource's."""
    record, known = v.server[0], c.server[c.e, server]
    share = v.cluster[0].share
    record.capacity, record.jobs, record.index, record.kind = known.capacity * share, known.jobs, server, known.kind
    if not c.vectors:
        record.room = known.room * share
        v.server_free[0], v.server_capacities[0] = record.room, record.capacity
        return
    room = record.capacity
    for r in range(c.scale.shape[0]):
        scale = max(float(c.scale[r]), 1.0)
        v.server_free[r], v.server_capacities[r] = c.free[c.e, server, r] / scale, c.capacity[server, r] / scale
        if c.scale[r] > 0:
            room = min(room, v.server_free[r])
    record.room = room


@compiled
def describe_devices(c: Cluster, v: View, i: int, server: int) -> None:
    """Write a server's devices for task i, after `describe_server`."""
    whole, record = v.cluster[0].device, v.server[0]
    record.devices, record.free_devices, record.device_room = device_count(c, server), 0.0, 0.0
    for device in range(device_count(c, server)):
        left = device_left(c, server, device)
        record.free_devices += left == device_capacity(c, server)
        record.device_room = max(record.device_room, left / whole)
    # a share goes to the tightest device that holds it: what stays free of that one
    record.device_left = 0.0
    if share_needed(c, i) > 0:
        chosen = devices_for(c, i, server)
        for device in range(device_count(c, server)):
            if chosen != NONE and (chosen >> device) & 1:
                record.device_left = (device_left(c, server, device) - share_needed(c, i)) / whole
