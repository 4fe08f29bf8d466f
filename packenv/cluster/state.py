"""The state of a batch of clusters: arrays with a row each.

Compiled functions take a `Cluster` c and work on row c.e of each array. `look_at(c, e)` selects another row without copying.
Amounts are integer units (packenv.units), times are slots.

Each annotation is a row of the table of fields (packenv.cluster.fields). The dimensions: clusters of the batch; places
of the pool, one for each task in the system (waiting or in service); servers; resources; packed: resources that the
policy packs by (1: the scalar size); devices: the most that a server has; kinds of server; types of tasks (2J of the
partition I); boxes: types that are boxes of demand vectors, 0 if types are intervals of size.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from packenv.cluster.fields import Field, Part, Sizes
from packenv.cluster.records import (
    DONE,
    MESSAGE,
    NEVER,
    NO_SIZE,
    NONE,
    TASK,
    UNUSED,
    empty_pool,
    ends_type,
    group_type,
    head_type,
    link_type,
    numbered,
    queue_type,
    server_type,
    task_type,
)
from packenv.cluster.sorted_keys import SortedKeys, Sorting, key_sizes, sorting_sizes
from packenv.compiled.decorators import compiled
from packenv.compiled.frame import Frame
from packenv.policy import BY_AGE, BY_DEMAND, BY_INDEX, BY_LINE, BY_MIX, BY_ROOM, BY_SIZE, BY_TYPE
from packenv.workloads.source import Source

__all__ = ["DEVICES", "DONE", "MESSAGE", "NEVER", "NONE", "NO_SIZE", "READS", "ROW_BITS", "ROW_MASK", "SEVERAL", "TASK", "UNUSED"]
__all__ += ["Cluster", "look_at", "require"]

ROW_BITS = 32
ROW_MASK = (1 << ROW_BITS) - 1

SEVERAL, READS, DEVICES = 1 << 40, 1 << 41, 1 << 42
"""Flags used with the orders that a policy names: tasks and servers have several resources; remote reads take some of them;
servers have devices."""

Ints = NDArray[np.int64]
Small = NDArray[np.int32]
Floats = NDArray[np.float64]
Records = NDArray[np.void]
EMPTY = {"head": NONE, "tail": NONE}


class ByAge(Frame):
    """A tree of smallest sizes over R positions with gaps."""

    least: Annotated[Ints, Field("clusters", "age nodes", start=NEVER, orders=BY_AGE, rebuilt=True)]  # node i covers 2 i, 2 i + 1
    task: Annotated[Small, Field("clusters", "positions", orders=BY_AGE)]
    position: Annotated[Small, Field("clusters", "places", orders=BY_AGE)]
    end: Annotated[Ints, Field("clusters")]  # first position never used


class ByType(Frame):
    """Virtual queues: one set for each kind of server."""

    bound: Annotated[Ints, Field("clusters", "kinds", "types")]  # type j holds sizes above bound[j], up to bound[j - 1]
    count: Annotated[Ints, Field("clusters", "kinds")]  # types of each kind
    queue: Annotated[Records, Field("clusters", "kinds", "types", records=queue_type, start=EMPTY)]
    least: Annotated[Small, Field("clusters", "kinds", "types", start=NO_SIZE)]  # size of its smallest task; kept with BY_SIZE
    most: Annotated[Small, Field("clusters", "kinds", "types")]  # size of its largest task; 0 if it has none
    link: Annotated[Records, Field("clusters", "kinds", "places", records=link_type, orders=BY_LINE)]
    in_service: Annotated[Small, Field("clusters", "servers", "types", orders=BY_MIX)]  # jobs of each type (of the server's kind)
    box: Annotated[Ints, Field("boxes", "resources")]  # units: the largest demands of each type, if types are boxes
    fits: Annotated[Small, Field("kinds", "boxes")]  # whether servers of this kind have room for the box
    of: Annotated[Small, Field("clusters", "places", start=NONE, orders=SEVERAL | BY_TYPE)]  # box of each task


class ByDemand(Frame):
    """Groups of waiting tasks with equal demands, in row order."""

    group: Annotated[Records, Field("clusters", "places", records=group_type, orders=BY_DEMAND, rebuilt=True)]
    active: Annotated[Small, Field("clusters", "places", start=numbered, orders=BY_DEMAND, rebuilt=True)]  # used ones first
    count: Annotated[Ints, Field("clusters", rebuilt=True)]  # number of groups in use
    bucket: Annotated[Small, Field("clusters", "hash chains", start=NONE, orders=BY_DEMAND, rebuilt=True)]  # first in chain
    of: Annotated[Small, Field("clusters", "places", orders=BY_DEMAND, rebuilt=True)]  # group of a task
    link: Annotated[Records, Field("clusters", "places", records=link_type, orders=BY_DEMAND, rebuilt=True)]


class Precedence(Frame):
    """Predecessors and phases of the rows, if there are any.

    Nodes are the n rows and B barriers. A barrier stands between two phases of a job: its predecessors are the tasks of one
    phase, its successors the tasks of the next.
    """

    offsets: Ints  # (n + B + 1,) successors of node i: successor[offsets[i] : offsets[i + 1]]
    successor: Ints
    pending: Annotated[Small, Field("clusters", "nodes")]  # predecessors still to complete
    released: Annotated[Ints, Field("clusters", "rows")]  # rows whose last predecessor completed in slot `now`


class OnDevices(Frame):
    """Devices of servers and tasks, maybe none (packenv.cluster.devices)."""

    left: Annotated[Ints, Field("clusters", "servers", "devices", orders=DEVICES)]  # of the capacity of each device
    least: Annotated[Ints, Field("clusters", "devices", scratch=True)]  # of each device of a server while a task would stay
    need: Annotated[Ints, Field("clusters", "places", 4, orders=DEVICES)]  # of each task: NUMBER, SHARE, KINDS, and TAKEN


class Measures(Frame):
    """Sums and records of a run, in addition to `head`."""

    bins: Annotated[Floats, Field("clusters", "bins", 2)]  # queue and waiting size, summed over each bin of `bin_slots` slots
    delays: Annotated[Ints, Field("clusters", "delay bins")]  # histogram (packenv.cluster.measures)
    used: Annotated[Floats, Field("clusters", "resources")]  # unit-slots in service
    start: Annotated[Ints, Field("clusters", "recorded", start=NONE)]  # slot in which each row started
    end: Annotated[Ints, Field("clusters", "recorded", start=NONE)]  # slot in which it leaves
    server: Annotated[Small, Field("clusters", "recorded", start=NONE)]
    source: Annotated[Small, Field("clusters", "recorded", start=NONE, orders=READS)]  # from which it reads
    devices: Annotated[Ints, Field("clusters", "recorded", orders=DEVICES)]  # of its server that it has, as bits
    rejected: Annotated[Ints, Field("clusters", "reasons")]  # tasks turned away, by what was missing (packenv.cluster.slots)
    lacking: Annotated[Ints, Field("clusters", "reasons", scratch=True)]  # servers that lack it


def _size_order(sizes: Sizes, orders: int) -> Sizes:
    return key_sizes(sizes["clusters"], sizes["places"] if orders & BY_SIZE else 0)


def _room_order(sizes: Sizes, orders: int) -> Sizes:
    return key_sizes(sizes["clusters"], sizes["servers"] if orders & BY_ROOM else 0)


def _batches(sizes: Sizes, orders: int) -> Sizes:
    most = max(sizes["places"] if orders & BY_SIZE else 0, sizes["servers"] if orders & BY_ROOM else 0)
    return sorting_sizes(sizes["clusters"], most)


class Cluster(Frame):
    """A batch of clusters, of which row e is selected."""

    e: int
    s: int  # row of `source`: e, or 0 if all clusters share one table
    orders: int  # BY_… flags
    vectors: int  # 1 if the policy packs all resources of a server, not the scalar size
    head: Annotated[Records, Field("clusters", records=head_type)]
    queue: Annotated[Records, Field("clusters", records=ends_type, start=EMPTY)]  # oldest and newest waiting task: BY_QUEUE
    task: Annotated[Records, Field("clusters", "places", records=task_type, start=empty_pool)]
    demand: Annotated[Ints, Field("clusters", "places", "resources", orders=SEVERAL)]  # one resource: empty (see size)
    reads: Annotated[Small, Field("clusters", "places", start=NONE, orders=READS)]  # server from which a task in service reads
    events: Annotated[Ints, Field("clusters", "events", "words of an event")]  # a heap of pairs of slot and place
    due: Annotated[Small, Field("clusters", "events")]  # events of slot `now`
    fresh: Annotated[Small, Field("clusters", "places")]  # tasks that became eligible in slot `now`, in row order
    sizes: Annotated[SortedKeys, Part(_size_order)]  # waiting tasks by size; of equal sizes the earliest row last
    ages: Annotated[ByAge, Part()]
    types: Annotated[ByType, Part()]
    groups: Annotated[ByDemand, Part()]
    server: Annotated[Records, Field("clusters", "servers", records=server_type)]
    free: Annotated[Ints, Field("clusters", "servers", "resources", orders=SEVERAL)]
    capacity: Ints  # (L, D)
    scale: Ints  # (D,) largest capacity of each resource
    used: Annotated[Ints, Field("clusters", "resources")]  # in service now
    rooms: Annotated[SortedKeys, Part(_room_order)]  # servers by (room, index)
    tree: Annotated[Small, Field("clusters", "tree nodes", "packed", start=NONE, orders=BY_INDEX)]  # largest room below each node
    stale: Annotated[Small, Field("clusters", "servers")]  # servers whose position in the orders is out of date
    sorting: Annotated[Sorting, Part(_batches)]
    freed: Annotated[Small, Field("clusters", "servers")]  # servers with a completion in slot `now`
    precedence: Annotated[Precedence, Part(of_table=True)]
    devices: Annotated[OnDevices, Part()]
    measures: Annotated[Measures, Part()]
    source: Source


@compiled
def look_at(c: Cluster, e: int) -> None:
    """Select row e of the batch."""
    c.e = e
    c.s = e if c.source.stream.shape[0] > 1 else 0


@compiled
def require(c: Cluster, orders: int) -> None:
    """Raise ValueError unless the policy's needs name these orders."""
    if c.orders & orders != orders:
        raise ValueError("the policy asks for an order of tasks or servers that its `needs` do not name")
