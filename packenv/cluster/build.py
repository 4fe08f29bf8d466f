"""Building of clusters before slot 0, and their growth."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from packenv.cluster.devices import TAKEN, empty_devices, has_devices
from packenv.cluster.events import allocate_place
from packenv.cluster.fields import allocate, resized
from packenv.cluster.in_service import occupy
from packenv.cluster.measures import DELAY_BINS
from packenv.cluster.queue.by_demand import add_to_group
from packenv.cluster.queue.by_type import find_box, set_boxes, set_levels, set_types
from packenv.cluster.queue.waiting import build_tree, in_gang
from packenv.cluster.servers import kind_levels, refresh, scalar_capacity, server_kinds, touch
from packenv.cluster.slots import OTHER_REASONS, scalar_size
from packenv.cluster.state import DEVICES, NEVER, NONE, READS, SEVERAL, TASK, Cluster, Precedence, look_at
from packenv.compiled.decorators import compiled
from packenv.errors import InputError
from packenv.jobs import HOW_MANY, Jobs
from packenv.policy import BY_AGE, BY_DEMAND, BY_LINE, BY_MIX, BY_TYPE, UNLIMITED, Needs
from packenv.workloads.in_service import InService
from packenv.workloads.precedence import precedence_edges
from packenv.workloads.source import Source


def pool_sizes(places: int, in_service: int) -> dict[str, int]:
    """Return the dimensions of a pool of `places` tasks."""
    return {
        "places": places,
        "positions": 1 << (2 * places - 1).bit_length(),
        "age nodes": 2 << (2 * places - 1).bit_length(),
        "hash chains": 1 << (places - 1).bit_length(),
        "events": min(places, in_service),
    }


def grow(c: Cluster, places: int, in_service: int = UNLIMITED) -> Cluster:
    """Return the batch with pools of `places`, at most `in_service` in service."""
    old = c.task.shape[1]
    sizes = pool_sizes(places, in_service)
    new = resized(c, all_orders(c), **sizes | {"events": max(sizes["events"], c.events.shape[1])})
    new.task["next"][:, -1] = c.head["free"]  # the new places come first in the free list
    c.head["free"] = old
    c.head["free_places"] += places - old
    if c.orders & (BY_AGE | BY_DEMAND):
        for e in range(len(c.head)):
            look_at(new, e)
            _rebuild(new)
        look_at(new, 0)
    return new


def all_orders(c: Cluster) -> int:
    """Return the orders, with SEVERAL, READS and DEVICES."""
    parts = (len(c.scale) > 1, SEVERAL), (c.reads.shape[1] > 0, READS), (c.devices.left.shape[1] > 0, DEVICES)
    return c.orders | sum(flag for present, flag in parts if present)


def lengthen(c: Cluster) -> Cluster:
    """Return the batch with twice the rows in its schedule."""
    return c.replace(measures=resized(c.measures, recorded=2 * c.measures.start.shape[1]))


@compiled
def _rebuild(c: Cluster) -> None:
    if c.orders & BY_AGE:
        for position in range(c.ages.end[c.e]):
            i = c.ages.task[c.e, position]
            if c.ages.position[c.e, i] == position and waits(c, i):
                c.ages.least[c.e, c.ages.task.shape[1] + position] = c.task[c.e, i].size
        build_tree(c)
    if c.orders & BY_DEMAND:
        for i in range(c.task.shape[1]):
            if waits(c, i) and not in_gang(c, i):
                add_to_group(c, i)


@compiled
def waits(c: Cluster, i: int) -> bool:
    return c.task[c.e, i].kind == TASK and c.task[c.e, i].server == NONE


TRAJECTORY_BINS = 1024


def build(
    source: Source,
    capacity: NDArray[np.int64],
    needs: Needs,
    *,
    clusters: int = 1,
    places: int = 1024,
    jobs: Jobs | None = None,
    initial: InService | None = None,
    record_rows: int = 0,
    waiting_limit: int = NEVER,
    warmup: int = 0,
    measured: bool = True,
    kind: type[Cluster] = Cluster,
) -> Cluster:
    """Return a batch of clusters before slot 0.

    capacity     (L, D) units
    places       tasks that each cluster has room for at first, in addition to `initial`
    jobs         the table behind `source`, if it has predecessors or phases
    initial      jobs in service at the start
    record_rows  rows of the table that the schedule records, from the first
    measured     whether to measure the queue over time and the distribution of delays
    kind         Cluster, or a subclass with additional fields

    Raises InputError if tasks and servers differ in their number of resources, or for BY_LINE or BY_MIX without BY_TYPE.
    """
    servers, resources = capacity.shape
    if source.demand.shape[2] != resources:
        raise InputError(f"tasks have {source.demand.shape[2]} resources, servers have {resources}")
    if not needs.orders & BY_TYPE and needs.orders & (BY_LINE | BY_MIX):
        raise InputError("a policy that needs BY_LINE or BY_MIX needs BY_TYPE as well")

    # The dimensions of all arrays, and the arrays.
    scalar = scalar_capacity(capacity)
    initial = InService.of((), resources) if initial is None else initial
    boxes = needs.types if needs.types is not None and needs.types.ndim > 1 else np.zeros((0, resources), np.int64)
    server_kind, kind_capacity = server_kinds(capacity if len(boxes) else scalar)
    most_in_service = needs.in_service + len(initial) + needs.reserve
    places += len(initial) + needs.reserve
    packed = resources if needs.vectors else 1
    sizes = {
        "clusters": clusters,
        "servers": servers,
        "resources": resources,
        "packed": packed,
        "kinds": len(kind_capacity),
        "types": _types(needs),
        "boxes": len(boxes),
        "tree nodes": 2 * 4 ** -(-max(servers - 1, 1).bit_length() // 2),
        "words of an event": 2,
        "bins": TRAJECTORY_BINS if measured else 0,
        "delay bins": DELAY_BINS if measured else 0,
        "devices": int(source.devices.server[:, HOW_MANY].max(initial=0)),
        "recorded": record_rows,
        "reasons": resources + len(OTHER_REASONS),
    }
    c = allocate(
        kind,
        sizes | pool_sizes(places, most_in_service),
        needs.orders
        | (SEVERAL if resources > 1 else 0)
        | (READS if len(source.locality.reading) else 0)
        | (DEVICES if len(source.devices.server) else 0),
        e=0,
        s=0,
        orders=needs.orders,
        vectors=int(packed > 1),
        capacity=capacity,
        scale=capacity.max(axis=0),
        precedence=_precedence(jobs, clusters),
        source=source,
    )

    # The fields of each cluster and of each server before slot 0.
    head, server = c.head, c.server
    head["now"] = -1  # so that slot 0 is the next slot
    head["wake"] = head["arrivals_end"] = NEVER
    head["waiting_limit"], head["warmup"], head["bin_slots"] = waiting_limit, warmup, 1
    head["reserve"], head["free_places"] = needs.reserve, places
    server["capacity"], server["kind"], server["freed"], server["indexed"] = scalar, server_kind, -1, NONE
    server["room"] = scalar if needs.room is None else needs.room
    if needs.least is not None:
        server["least"] = needs.least
    if resources > 1:
        c.free[:] = capacity
    if len(boxes):
        set_boxes(c, kind_capacity, boxes)
    if has_devices(c):
        empty_devices(c)

    # In each cluster the types of tasks, the tasks in service, and the orders of servers.
    row = c.replace()
    for e in range(clusters):
        row.assign("e", e)
        row.assign("s", e if source.stream.shape[0] > 1 else 0)
        if needs.types is not None and not len(boxes):
            _share_types(row, kind_capacity, needs.types)
        elif needs.orders & BY_TYPE and not len(boxes):
            _divide(row, kind_capacity, np.array(kind_levels(needs.levels, kind_capacity)))
        start_initial(row, initial, slotted=needs.room is not None)
        _order_servers(row)
    return c


def _types(needs: Needs) -> int:
    if not needs.orders & BY_TYPE:
        return 0
    return 2 * max(needs.levels, needs.most_levels) if needs.types is None else len(needs.types)


def _precedence(jobs: Jobs | None, clusters: int) -> Precedence:
    before, after, nodes = (np.zeros(0, np.int64), np.zeros(0, np.int64), 0) if jobs is None else precedence_edges(jobs)
    order = np.argsort(before, kind="stable")
    offsets = np.searchsorted(before[order], np.arange(nodes + 1)) if len(before) else np.zeros(0)
    pending = np.bincount(after, minlength=nodes if len(after) else 0)
    rows = 0 if jobs is None or not len(after) else len(jobs)
    return Precedence(
        offsets=offsets.astype(np.int64),
        successor=after[order],
        pending=np.repeat(pending[None].astype(np.int32), clusters, axis=0),
        released=np.zeros((clusters, rows), np.int64),
    )


@compiled
def _divide(c: Cluster, kind_capacity: NDArray[np.int64], levels: NDArray[np.int64]) -> None:
    for kind in range(len(kind_capacity)):
        set_levels(c, kind, kind_capacity[kind], levels[kind])


@compiled
def _share_types(c: Cluster, kind_capacity: NDArray[np.int64], largest: NDArray[np.int64]) -> None:
    for kind in range(len(kind_capacity)):
        set_types(c, kind, kind_capacity[kind], largest)


@compiled
def _order_servers(c: Cluster) -> None:
    for server in range(c.server.shape[1]):
        touch(c, server)
    refresh(c)


def start_initial(c: Cluster, jobs: InService, slotted: bool) -> None:
    """Put jobs into service before slot 0.

    The n-th has row -1 - n. On slotted servers each takes a whole slot. Raises InputError for a job larger than its server's
    slots.
    """
    if slotted:
        least = c.server["least"][c.e, jobs.server]
        too_large = np.flatnonzero((least > 0) & (_scalar(jobs.demand, c.scale) > least))
        if len(too_large):
            n = int(too_large[0])
            raise InputError(f"initial job {n} is larger than a slot of server {jobs.server[n]}")
    devices = np.zeros((len(jobs), TAKEN + 1), np.int64) if jobs.devices is None else jobs.devices
    _start_all(c, jobs.demand, jobs.server, jobs.remaining, devices, slotted)


def _scalar(demand: NDArray[np.int64], scale: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return scalar sizes, (n,), as packenv.cluster.slots.scalar_size."""
    sizes = -(-demand * scale.max(initial=1) // np.maximum(scale, 1))
    return np.asarray(sizes.max(axis=1, initial=0), np.int64)


@compiled
def _start_all(
    c: Cluster,
    demand: NDArray[np.int64],
    server: NDArray[np.int64],
    remaining: NDArray[np.int64],
    devices: NDArray[np.int64],
    slotted: bool,
) -> None:
    """Start the jobs, each in its size or a slot."""
    for n in range(demand.shape[0]):
        i = allocate_place(c)
        task = c.task[c.e, i]
        task.kind, task.row, task.job, task.since = TASK, -1 - n, -1 - n, 0
        if c.demand.shape[1] == 0:
            task.size = demand[n, 0]
        else:
            for r in range(demand.shape[1]):
                c.demand[c.e, i, r] = demand[n, r]
            task.size = scalar_size(c, i)
            if c.types.box.shape[0] > 0:
                find_box(c, i)
        if has_devices(c):
            for k in range(devices.shape[1]):
                c.devices.need[c.e, i, k] = devices[n, k]
        room = c.server[c.e, server[n]].least if slotted else task.size
        occupy(c, i, server[n], room, remaining[n], devices[n, TAKEN])
