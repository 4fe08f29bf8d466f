"""Builds a batch of clusters: the arrays, their sizes, and their contents before slot 0."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from packenv.cluster.fields import allocate
from packenv.cluster.grow import pool_sizes
from packenv.cluster.initial import InService, start_initial
from packenv.cluster.measures import DELAY_BINS
from packenv.cluster.queue.by_type import set_boxes, set_levels, set_types
from packenv.cluster.servers import kind_levels, refresh, scalar_capacity, server_kinds, touch
from packenv.cluster.state import NEVER, NONE, READS, SEVERAL, Cluster, Precedence
from packenv.compiled.decorators import compiled
from packenv.errors import InputError
from packenv.jobs import Jobs
from packenv.policy import BY_LINE, BY_MIX, BY_TYPE, Needs
from packenv.workloads.precedence import precedence_edges
from packenv.workloads.source import Source

TRAJECTORY_BINS = 1024


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
    kind: type[Cluster] = Cluster,
) -> Cluster:
    """A batch of clusters before slot 0, empty but for the `initial` jobs, each with room for `places` tasks at first.

    `capacity` is (L, D) units. `jobs` is the table behind `source` if it has predecessors or phases; the schedule records
    the first `record_rows` rows; `kind` may be a subclass of Cluster with more fields. Raises InputError if tasks and
    servers have different numbers of resources, or if `needs` names BY_LINE or BY_MIX without BY_TYPE.
    """
    servers, resources = capacity.shape
    if source.demand.shape[2] != resources:
        raise InputError(f"tasks have {source.demand.shape[2]} resources, servers have {resources}")
    if not needs.orders & BY_TYPE and needs.orders & (BY_LINE | BY_MIX):
        raise InputError("a policy that needs BY_LINE or BY_MIX needs BY_TYPE as well")
    scalar = scalar_capacity(capacity)
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
        "bins": bins,
        "delay bins": DELAY_BINS if delays else 0,
        "recorded": record_rows,
    }
    c = allocate(
        kind,
        sizes | pool_sizes(places, most_in_service),
        needs.orders | (SEVERAL if resources > 1 else 0) | (READS if len(source.locality.reading) else 0),
        e=0,
        s=0,
        orders=needs.orders,
        vectors=int(packed > 1),
        capacity=capacity,
        scale=capacity.max(axis=0),
        precedence=_precedence(jobs, clusters),
        source=source,
    )
    head, server = c.head, c.server
    head["now"] = -1  # so that slot 0 is the next slot
    head["wake"] = head["arrivals_end"] = NEVER
    head["waiting_limit"], head["warmup"], head["bin_slots"] = waiting_limit, warmup, 1
    head["reserve"], head["unused"] = needs.reserve, places
    server["capacity"], server["kind"], server["freed"], server["indexed"] = scalar, server_kind, -1, NONE
    server["room"] = scalar if needs.room is None else needs.room
    if needs.least is not None:
        server["least"] = needs.least
    if resources > 1:
        c.free[:] = capacity
    if len(boxes):
        set_boxes(c, kind_capacity, boxes)
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
    """The most types of tasks that a kind of server can have."""
    if not needs.orders & BY_TYPE:
        return 0
    return 2 * max(needs.levels, needs.most_levels) if needs.types is None else len(needs.types)


def _precedence(jobs: Jobs | None, clusters: int) -> Precedence:
    """The successors of each row and barrier, from the table's predecessors and phases."""
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
    """Divide the capacity of each kind of server into the types of its own number of levels."""
    for kind in range(len(kind_capacity)):
        set_levels(c, kind, kind_capacity[kind], levels[kind])


@compiled
def _share_types(c: Cluster, kind_capacity: NDArray[np.int64], largest: NDArray[np.int64]) -> None:
    """Give every kind of server the types that the policy named by their largest sizes."""
    for kind in range(len(kind_capacity)):
        set_types(c, kind, kind_capacity[kind], largest)


@compiled
def _order_servers(c: Cluster) -> None:
    """Put all servers into the orders that the policy needs."""
    for server in range(c.server.shape[1]):
        touch(c, server)
    refresh(c)
