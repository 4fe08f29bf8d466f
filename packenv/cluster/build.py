"""Making clusters: the arrays of a batch, and larger ones when the pool of tasks runs out."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from packenv.cluster.events.few import FEW, has_few_events
from packenv.cluster.events.wheel import BLOCK, BUCKETS, LEVELS, blocks_for, schedule_event, take_place
from packenv.cluster.linked_list import empty_lists, link_type
from packenv.cluster.measures import DELAY_BINS
from packenv.cluster.queue.by_age import build_tree
from packenv.cluster.queue.by_demand import add_to_group
from packenv.cluster.queue.by_type import set_levels, set_types
from packenv.cluster.servers import refresh, touch
from packenv.cluster.slots import change_use, scalar_size
from packenv.cluster.sorted_keys.blocks import copy_sorted_keys, sorted_keys
from packenv.cluster.sorting import sorting
from packenv.cluster.state import (
    NEVER,
    NO_SIZE,
    NONE,
    TASK,
    UNUSED,
    ByAge,
    ByDemand,
    ByType,
    Cluster,
    Measures,
    Precedence,
    group_type,
    head_type,
    queue_type,
    server_type,
    task_type,
)
from packenv.compiled.decorators import compiled
from packenv.compiled.intrinsics import aligned_zeros
from packenv.errors import InputError
from packenv.jobs import Jobs
from packenv.policy import BY_AGE, BY_DEMAND, BY_INDEX, BY_LINE, BY_MIX, BY_ROOM, BY_SIZE, BY_TYPE, Needs
from packenv.workloads.precedence import precedence_edges
from packenv.workloads.source import Source

TRAJECTORY_BINS = 1024


class InService(NamedTuple):
    """A job that is in service when the run starts."""

    demand: tuple[int, ...]  # units
    server: int
    remaining: int  # slots, >= 1: it leaves at the start of slot `remaining`


def scalar_capacity(capacity: NDArray[np.int64]) -> NDArray[np.int64]:
    """(L,) capacity of each server in scalar size units: its scarcest resource, scaled as task sizes are."""
    scale = capacity.max(axis=0)
    most = int(scale.max())
    wide = capacity[:, scale > 0].astype(object) * most // scale[scale > 0].astype(object)
    return np.asarray(wide.min(axis=1), dtype=np.int64)


def server_kinds(capacity: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Kinds of server by scalar capacity, in order of first appearance: (kind of each server, capacity of each kind)."""
    values, first, inverse = np.unique(capacity, return_index=True, return_inverse=True)
    order = np.argsort(first)
    return np.argsort(order)[inverse], values[order]


def kind_levels(levels: int, capacity: NDArray[np.int64]) -> list[int]:
    """J of each kind (PAPERS §1.5): a kind of 2^-i of the largest capacity has i levels fewer, 2 at the least."""
    most = int(capacity.max())
    return [max(2, levels - ((most // max(int(own), 1)).bit_length() - 1)) for own in capacity]


def build(
    source: Source,
    capacity: NDArray[np.int64],
    needs: Needs,
    *,
    clusters: int = 1,
    places: int = 1024,
    jobs: Jobs | None = None,
    initial: tuple[InService, ...] = (),
    record_rows: int = 0,
    waiting_limit: int = NEVER,
    warmup: int = 0,
    delays: bool = True,
    bins: int = TRAJECTORY_BINS,
) -> Cluster:
    """A batch of empty clusters before slot 0, `capacity` (L, D) units, with room for `places` tasks each at first.

    `jobs` is the table behind `source` if it has predecessors or phases; `record_rows` rows get a place in the schedule.
    Raises InputError for other resources than the tasks', and orders that lack the one that they go with.
    """
    servers, resources = capacity.shape
    if source.demand.shape[2] != resources:
        raise InputError(f"tasks have {source.demand.shape[2]} resources, servers have {resources}")
    packed = resources if needs.vectors else 1
    scalar = scalar_capacity(capacity)
    kind, kind_capacity = server_kinds(scalar)
    typed = needs.orders & BY_TYPE
    if not typed and needs.orders & (BY_LINE | BY_MIX):
        raise InputError("a policy that needs BY_LINE or BY_MIX needs BY_TYPE as well")
    types = 0 if not typed else 2 * max(needs.levels, needs.most_levels) if needs.types is None else len(needs.types)

    head = np.zeros(clusters, head_type)
    head["now"] = -1  # so that slot 0 is still to come
    head["wake"] = head["arrivals_end"] = NEVER
    head["waiting_limit"], head["warmup"], head["bin_slots"] = waiting_limit, warmup, 1
    head["reserve"] = needs.reserve

    server = aligned_zeros((clusters, servers), server_type)
    server["capacity"] = server["room"] = scalar
    server["kind"], server["freed"], server["indexed"] = kind, -1, NONE
    if needs.least is not None:
        server["least"] = needs.least
    if needs.room is not None:
        server["room"] = needs.room

    in_service = needs.in_service + len(initial) + needs.reserve
    few = in_service <= FEW and needs.reserve == 0

    leaves = 4 ** -(-max(servers - 1, 1).bit_length() // 2)
    c = Cluster(
        e=0,
        s=0,
        orders=needs.orders,
        vectors=int(packed > 1),
        head=head,
        queue=empty_lists(clusters),
        server=server,
        free=np.repeat(capacity[None, : servers if resources > 1 else 0], clusters, axis=0),
        capacity=capacity,
        scale=capacity.max(axis=0),
        used=np.zeros((clusters, resources), np.int64),
        rooms=sorted_keys(clusters, servers if needs.orders & BY_ROOM else 0),
        tree=np.full((clusters, 2 * leaves if needs.orders & BY_INDEX else 0, packed), NONE, np.int32),
        stale=np.zeros((clusters, servers), np.int32),
        freed=np.zeros((clusters, servers), np.int32),
        wheel=np.full((clusters, 0 if few else BUCKETS), NONE, np.int32),
        wheel_bits=np.zeros((clusters, LEVELS), np.int64),
        precedence=_precedence(jobs, clusters),
        measures=Measures(
            bins=np.zeros((clusters, bins, 2)),
            delays=np.zeros((clusters, DELAY_BINS if delays else 0), np.int64),
            used=np.zeros((clusters, resources)),
            start=np.full((clusters, record_rows), NONE, np.int64),
            end=np.full((clusters, record_rows), NONE, np.int64),
            server=np.full((clusters, record_rows), NONE, np.int32),
        ),
        source=source,
        events=aligned_zeros((clusters, 2 * in_service if few else 0), np.dtype(np.int64)),
        due=np.zeros((clusters, in_service if few else 0), np.int32),
        **_pool(clusters, 0, needs.orders, resources, len(kind_capacity), types, servers),
    )
    c = grow(c, places + len(initial) + needs.reserve, in_service)
    row = c.replace()
    for e in range(clusters):
        row.assign("e", e)
        row.assign("s", e if source.stream.shape[0] > 1 else 0)
        if needs.types is not None:
            _share_types(row, kind_capacity, needs.types)
        elif typed:
            _divide(row, kind_capacity, np.array(kind_levels(needs.levels, kind_capacity)))
        for n, job in enumerate(initial):
            if needs.room is not None and needs.least is not None and _scalar(job, c.scale) > needs.least[job.server]:
                raise InputError(f"initial job {n} is larger than a slot of server {job.server}")
            _start_initial(row, n, np.array(job.demand, np.int64), job.server, job.remaining, needs.room is not None)
        _order_servers(row)
    return c


def grow(c: Cluster, places: int, in_service: int = NEVER) -> Cluster:
    """The same batch with room for `places` tasks in each cluster, of which so many can be in service at once."""
    old = c.task.shape[1]
    clusters, resources = c.demand.shape[0], c.demand.shape[2]
    shapes = c.types.bound.shape[1], c.types.in_service.shape[2], c.server.shape[1]
    pool = _pool(clusters, places, c.orders, resources, *shapes)
    events = aligned_zeros((clusters, BLOCK * blocks_for(min(places, in_service))), np.dtype(np.int64))
    pool["task"][:, :old], pool["fresh"][:, :old] = c.task, c.fresh
    pool["demand"][:, : c.demand.shape[1]] = c.demand
    if not has_few_events(c):
        pool["due"] = np.concatenate([c.due, np.zeros((clusters, places - old), np.int32)], axis=1)
        if events.shape[1] > c.events.shape[1]:
            _copy_events(c, events)
            pool["events"] = events
    new = c.replace(**pool)
    copy_sorted_keys(c.sizes, new.sizes)
    if c.orders & BY_AGE:
        copy_ages(c.ages, new.ages)
    for field in ("bound", "count", "queue", "least", "most", "in_service"):
        getattr(new.types, field)[:] = getattr(c.types, field)
    if c.orders & BY_LINE:
        new.types.link[:, :, :old] = c.types.link
    new.task["next"][:, old:] = np.arange(old + 1, places + 1)  # the new places go in front of the free list
    new.task["next"][:, places - 1] = c.head["free"] if old else NONE
    c.head["free"] = old
    c.head["unused"] += places - old
    if c.orders & (BY_AGE | BY_DEMAND):
        for e in range(clusters):
            new.assign("e", e)
            _regroup(new)
        new.assign("e", 0)
    return new


def lengthen(c: Cluster) -> Cluster:
    """The same batch with twice as many rows in its schedule."""
    measures = c.measures
    longer = {name: getattr(measures, name) for name in ("start", "end", "server")}
    longer = {name: np.concatenate([array, np.full_like(array, NONE)], axis=1) for name, array in longer.items()}
    return c.replace(measures=measures.replace(**longer))


def _copy_events(old: Cluster, events: NDArray[np.int64]) -> None:
    """The event blocks of the smaller pool; the new ones go in front of its unused ones."""
    words = old.events.shape[1]
    events[:, :words] = old.events
    events[:, words::BLOCK] = np.arange(words // BLOCK + 1, events.shape[1] // BLOCK + 1)
    events[:, -BLOCK] = old.head["block"] if words else NONE
    old.head["block"] = words // BLOCK


def _pool(clusters: int, places: int, orders: int, resources: int, kinds: int, types: int, servers: int) -> dict[str, Any]:
    """The arrays whose size depends on the number of tasks in the system; orders that are not used stay empty."""
    aged = places if orders & BY_AGE else 0
    lined = places if orders & BY_LINE else 0
    grouped = places if orders & BY_DEMAND else 0
    positions = 1 << max(2 * aged - 1, 0).bit_length()
    task = aligned_zeros((clusters, places), task_type)
    task["server"], task["kind"] = NONE, UNUSED
    return {
        "task": task,
        "demand": np.zeros((clusters, places if resources > 1 else 0, resources), np.int64),
        "fresh": np.zeros((clusters, places), np.int32),
        "sizes": sorted_keys(clusters, places if orders & BY_SIZE else 0),
        "sorting": sorting(clusters, max(places if orders & BY_SIZE else 0, servers if orders & BY_ROOM else 0)),
        "ages": ByAge(
            least=np.full((clusters, 2 * positions), NEVER, np.int64),
            task=np.zeros((clusters, positions), np.int32),
            position=np.zeros((clusters, aged), np.int32),
            end=np.zeros(clusters, np.int64),
        ),
        "types": ByType(
            bound=np.zeros((clusters, kinds, types), np.int64),
            count=np.zeros((clusters, kinds), np.int64),
            queue=_empty_queues((clusters, kinds, types)),
            least=np.full((clusters, kinds, types), NO_SIZE, np.int32),
            most=np.zeros((clusters, kinds, types), np.int32),
            link=np.zeros((clusters, kinds, lined), link_type),
            in_service=np.zeros((clusters, servers if orders & BY_MIX else 0, types), np.int32),
        ),
        "groups": ByDemand(
            group=np.zeros((clusters, grouped), group_type),
            active=np.repeat(np.arange(grouped, dtype=np.int32)[None], clusters, axis=0),
            count=np.zeros(clusters, np.int64),
            bucket=np.full((clusters, 1 << max(grouped - 1, 0).bit_length()), NONE, np.int32),
            of=np.zeros((clusters, grouped), np.int32),
            link=np.zeros((clusters, grouped), link_type),
        ),
    }


def _empty_queues(shape: tuple[int, ...]) -> NDArray[np.void]:
    queues = np.zeros(shape, queue_type)
    queues["head"] = queues["tail"] = NONE
    return queues


def _precedence(jobs: Jobs | None, clusters: int) -> Precedence:
    """Successors of each row and barrier, from the table's predecessors and phases."""
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


def _scalar(job: InService, scale: NDArray[np.int64]) -> int:
    """Scalar size of a job, as packenv.cluster.slots.scalar_size."""
    most = int(scale.max())
    return max(-(-demand * most // int(largest)) for demand, largest in zip(job.demand, scale, strict=True) if demand > 0)


@compiled
def _order_servers(c: Cluster) -> None:
    for server in range(c.server.shape[1]):
        touch(c, server)
    refresh(c)


@compiled
def _start_initial(c: Cluster, n: int, demand: NDArray[np.int64], server: int, remaining: int, slotted: bool) -> None:
    """Put a job into service before slot 0, as row -1 - n; it holds its size, or a whole slot of a slotted server."""
    i = take_place(c)
    task = c.task[c.e, i]
    task.kind, task.row, task.job, task.since = TASK, -1 - n, -1 - n, 0
    task.server, task.slots = server, remaining
    if c.demand.shape[1] == 0:
        task.size = demand[0]
    else:
        for r in range(len(demand)):
            c.demand[c.e, i, r] = demand[r]
        task.size = scalar_size(c, i)
    record = c.server[c.e, server]
    task.held = record.least if slotted else task.size
    if not c.vectors:
        record.room -= task.held
    record.jobs += 1
    c.head[c.e].in_service += 1
    change_use(c, i, server, 1)
    schedule_event(c, i, remaining)


@compiled
def _regroup(c: Cluster) -> None:
    """Bring what `grow` does not copy into order: groups of like tasks, and the tree of ages over its leaves."""
    if c.orders & BY_AGE:
        build_tree(c)
    if c.orders & BY_DEMAND:
        for i in range(c.task.shape[1]):
            if c.task[c.e, i].kind == TASK and c.task[c.e, i].server == NONE:
                add_to_group(c, i)


def copy_ages(old: ByAge, new: ByAge) -> None:
    """The leaves of the smaller tree into the larger one."""
    positions, more = old.task.shape[1], new.task.shape[1]
    new.task[:, :positions], new.position[:, : old.position.shape[1]], new.end[:] = old.task, old.position, old.end
    new.least[:, more : more + positions] = old.least[:, positions:]
