"""The state of a batch of clusters: one plain value of NumPy arrays, first axis the cluster.

Compiled functions take a `Cluster` c and work on row c.e of each array; `look_at(c, e)` turns to another row, and
costs nothing. All amounts are integer units (packenv.units), all times are slots.

Shapes: E clusters, P tasks in the system (waiting or in service) that fit in the pool, L servers, D resources,
K resources that the policy packs by (1: scalar size, D: vectors), G kinds of server, T types (2J of the
partition I).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from packenv.cluster.sorted_keys.blocks import SortedKeys
from packenv.cluster.sorting import Sorting
from packenv.compiled.decorators import inner
from packenv.compiled.frame import Frame
from packenv.workloads.source import Source

NONE = -1

TASK, MESSAGE, DONE, UNUSED = 0, 1, 2, 3

head_type = np.dtype(
    [
        ("now", "i8"),  # slot being scheduled, or scheduled last
        ("next_row", "i8"),  # first row of the Jobs table that has not arrived
        ("arrivals_end", "i8"),  # rows that arrive in this slot or later never do
        ("wake", "i8"),  # slot for which the policy asked, NEVER if none
        ("wheel", "i8"),  # slot up to which the event wheel has turned
        ("arriving", "i8"),  # 1 while the arrivals of slot `now` are under way
        ("block", "i8"),  # first unused block of the wheel's events
        ("events", "i8"),  # how many there are, where they are few
        ("free", "i8"),  # first unused place in the pool
        ("unused", "i8"),  # how many there are
        ("reserve", "i8"),  # how many arrivals must leave for the policy's messages
        ("posted", "i8"),  # messages so far
        ("waiting", "i8"),
        ("waiting_limit", "i8"),
        ("backlog", "i8"),  # so many tasks are kept waiting, whatever the rows' arrivals; 0: tasks come when these say
        ("waiting_size", "i8"),
        ("fresh", "i8"),  # tasks that became eligible in slot `now`
        ("due", "i8"),  # events in slot `now`
        ("freed", "i8"),  # servers with a completion in slot `now`
        ("stale", "i8"),  # servers whose place in the orders is out of date
        ("released", "i8"),  # rows whose last predecessor completed in slot `now`,
        ("next_released", "i8"),  # and how many of them have joined the queue
        ("held_back", "i8"),  # rows that arrived and wait for predecessors
        ("arrived", "i8"),
        ("started", "i8"),
        ("completed", "i8"),
        ("in_service", "i8"),  # tasks, initial ones included
        # measures, over slots from `warmup` on
        ("warmup", "i8"),
        ("measured", "i8"),  # slots measured so far
        ("queue_sum", "i8"),
        ("queue_max", "i8"),
        ("size_sum", "f8"),
        ("delay_sum", "i8"),
        ("delay_count", "i8"),
        ("delay_max", "i8"),
        ("bin_slots", "i8"),  # width of a trajectory bin
    ],
    align=True,
)

task_type = np.dtype(
    [
        ("row", "i8"),  # row of the Jobs table; negative for a job that was in service at the start
        ("since", "i8"),  # slot in which it became eligible; in service: in which it started
        ("size", "i8"),  # largest demand, normalised
        ("held", "i8"),  # what it takes of its server's room
        ("slots", "i8"),  # while waiting: service; in service: the slot in which it leaves
        ("job", "i8"),
        ("server", "i4"),  # NONE while waiting
        ("next", "i4"),  # waiting: queue order (BY_QUEUE); unused: free list
        ("prev", "i4"),  # waiting: the same; unused: a place that was given back earlier, to be asked for
        ("kind", "i4"),  # TASK, MESSAGE, DONE in the slot of its completion, UNUSED
    ],
    align=True,
)

server_type = np.dtype(
    [
        ("freed", "i8"),  # slot of its last completion
        ("capacity", "i4"),  # scalar capacity
        ("room", "i4"),  # what is left of it (not kept for policies that pack vectors)
        ("indexed", "i4"),  # the room under which the orders know it
        ("least", "i4"),  # every job takes at least this much room
        ("jobs", "i4"),
        ("kind", "i2"),
        ("closed", "i1"),  # stalled: takes nothing until it is empty
        ("stale", "i1"),
    ],
    align=True,
)

queue_type = np.dtype([("head", "i4"), ("tail", "i4"), ("since", "i8"), ("count", "i8"), ("size", "i8")], align=True)
group_type = np.dtype([("head", "i4"), ("tail", "i4"), ("count", "i4"), ("chain", "i4"), ("place", "i4")], align=True)

NEVER = 2**62
NO_SIZE = 2**31 - 1

ROW_BITS = 32
ROW_MASK = (1 << ROW_BITS) - 1


class ByAge(Frame):
    """A tree of smallest sizes over the queue: positions 0 .. R - 1 in queue order, with gaps."""

    least: NDArray[np.int64]  # (E, 2 R): node i covers nodes 2 i and 2 i + 1; leaf R + position
    task: NDArray[np.int32]  # (E, R)
    position: NDArray[np.int32]  # (E, P)
    end: NDArray[np.int64]  # (E,) first position never used


class ByType(Frame):
    """Virtual queues: one set for each kind of server."""

    bound: NDArray[np.int64]  # (E, G, T): type j holds sizes above bound[j], up to bound[j - 1]
    count: NDArray[np.int64]  # (E, G) types of each kind
    queue: NDArray[np.void]  # (E, G, T) queue_type
    least: NDArray[np.int32]  # (E, G, T) size of its smallest task, NO_SIZE if it has none: with BY_SIZE
    most: NDArray[np.int32]  # (E, G, T) and of its largest, 0 if it has none
    link: NDArray[np.void]  # (E, G, P) link_type; (E, G, 0) unless BY_LINE
    in_service: NDArray[np.int32]  # (E, L, T) jobs of each type (of its own kind) in each server; (E, 0, T) unless BY_MIX


class ByDemand(Frame):
    """Groups of waiting tasks with equal demand vectors, each in row order."""

    group: NDArray[np.void]  # (E, P) group_type
    active: NDArray[np.int32]  # (E, P) the groups that have tasks, in no order
    count: NDArray[np.int64]  # (E,)
    bucket: NDArray[np.int32]  # (E, H) hash table: first group of each chain
    of: NDArray[np.int32]  # (E, P) group of a task
    link: NDArray[np.void]  # (E, P) link_type: next and previous task of the group


class Precedence(Frame):
    """Who waits for whom, for tables that have predecessors or phases (else empty).

    Nodes are the n rows and B barriers: behind all tasks of a phase, in front of all tasks of its job's next phase.
    """

    offsets: NDArray[np.int64]  # (n + B + 1,) successors of node i: successor[offsets[i] : offsets[i + 1]]
    successor: NDArray[np.int64]
    pending: NDArray[np.int32]  # (E, n + B) predecessors still to complete
    released: NDArray[np.int64]  # (E, n) scratch


class Measures(Frame):
    """What a run adds up beside the counters of the head."""

    bins: NDArray[np.float64]  # (E, B, 2): queue and waiting size, added up over each bin of `bin_slots`
    delays: NDArray[np.int64]  # (E, H) histogram (packenv.cluster.measures)
    used: NDArray[np.float64]  # (E, D) unit-slots in service
    start: NDArray[np.int64]  # (E, rows) slot in which each row started; (E, 0) unless wanted
    end: NDArray[np.int64]  # (E, rows) slot in which it leaves
    server: NDArray[np.int32]  # (E, rows)


class Cluster(Frame):
    """A batch of clusters, seen from row e."""

    e: int
    s: int  # row of `source`: e, or 0 where one table serves all
    orders: int  # BY_… flags
    vectors: int  # 1 if the policy packs all resources of a server, not the scalar size
    head: NDArray[np.void]  # (E,) head_type
    queue: NDArray[np.void]  # (E,) ends_type: the oldest and the newest waiting task (BY_QUEUE)
    task: NDArray[np.void]  # (E, P) task_type
    demand: NDArray[np.int64]  # (E, P, D); (E, 0, 1) for one resource, where the size says it
    events: NDArray[np.int64]  # (E, blocks * BLOCK) what is in the buckets of the wheel; or (E, 2 n) few events
    due: NDArray[np.int32]  # (E, P) events of slot `now`; (E, n) where they are few
    fresh: NDArray[np.int32]  # (E, P) tasks that became eligible in slot `now`, in row order
    sizes: SortedKeys  # waiting tasks by (size, earlier row last)
    ages: ByAge
    types: ByType
    groups: ByDemand
    server: NDArray[np.void]  # (E, L) server_type
    free: NDArray[np.int64]  # (E, L, D); (E, 0, 1) for one resource
    capacity: NDArray[np.int64]  # (L, D)
    scale: NDArray[np.int64]  # (D,) largest capacity of each resource
    used: NDArray[np.int64]  # (E, D) in service now
    rooms: SortedKeys  # servers by (room, index)
    tree: NDArray[np.int32]  # (E, 2 M, K) largest room below each node; below node i: 4 i to 4 i + 3; leaf M + index
    stale: NDArray[np.int32]  # (E, L) scratch
    sorting: Sorting
    freed: NDArray[np.int32]  # (E, L) servers with a completion in slot `now`
    wheel: NDArray[np.int32]  # (E, LEVELS * 64) position of the last event of each bucket; (E, 0) for few events
    wheel_bits: NDArray[np.int64]  # (E, LEVELS) which buckets have events
    precedence: Precedence
    measures: Measures
    source: Source


@inner
def look_at(c: Cluster, e: int) -> None:
    """See the batch from row e."""
    c.e = e
    c.s = e if c.source.stream.shape[0] > 1 else 0


@inner
def require(c: Cluster, orders: int) -> None:
    """Raise ValueError unless the policy named these orders: without them the answer would be garbage."""
    if c.orders & orders != orders:
        raise ValueError("the policy asks for an order of tasks or servers that its `needs` do not name")
