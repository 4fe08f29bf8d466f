"""The simulator's compiled core, and all that a policy may ask of a cluster and do to it.

A policy's `schedule(policy, cluster, state)` is called after the completions and arrivals of every slot in which
something happened. A task is named by its place in the pool, a server by its index; NONE (-1) means no task or no
server. Sizes and rooms are integer units (packenv.units). Compiled policies and plain Python ones call the same functions.
"""

from packenv.cluster.best_fit import (
    best_server,
    best_task,
    fill,
    free_share,
    may_fit,
    next_with_room,
)
from packenv.cluster.build import build, grow
from packenv.cluster.events import post, wake_at
from packenv.cluster.in_service import hold, hold_box, place, postpone
from packenv.cluster.locality import level_of, remote_slots
from packenv.cluster.queue.by_age import oldest_fitting
from packenv.cluster.queue.by_demand import first_of_group, group_count
from packenv.cluster.queue.by_type import head_of_line, jobs_of_type, queue_length, type_of_task
from packenv.cluster.queue.waiting import (
    demand_of,
    eligible_since,
    largest_fitting,
    largest_of_type_fitting,
    largest_size,
    largest_size_up_to,
    largest_waiting,
    new_count,
    new_task,
    next_in_queue,
    now,
    oldest,
    row_of,
    size_of,
    smallest_size,
    smallest_waiting,
    started_in,
    waiting,
)
from packenv.cluster.servers import (
    close,
    first_server,
    first_server_for,
    fits,
    freed_count,
    freed_server,
    is_closed,
    jobs_in,
    kind_of,
    largest_room,
    reopen,
    reopen_all,
    room_of,
    server_count,
    tightest_server,
)
from packenv.cluster.state import NONE, Cluster, look_at
from packenv.cluster.virtual_queues import heaviest, reduced_configuration, weight
from packenv.policy import BY_AGE, BY_DEMAND, BY_INDEX, BY_LINE, BY_MIX, BY_QUEUE, BY_ROOM, BY_SIZE, BY_TYPE, Needs
from packenv.workloads.in_service import InService

__all__ = [
    "BY_AGE",
    "BY_DEMAND",
    "BY_INDEX",
    "BY_LINE",
    "BY_MIX",
    "BY_QUEUE",
    "BY_ROOM",
    "BY_SIZE",
    "BY_TYPE",
    "NONE",
    "Cluster",
    "InService",
    "Needs",
    "best_server",
    "best_task",
    "build",
    "close",
    "demand_of",
    "eligible_since",
    "fill",
    "first_of_group",
    "first_server",
    "first_server_for",
    "fits",
    "free_share",
    "freed_count",
    "freed_server",
    "group_count",
    "grow",
    "head_of_line",
    "heaviest",
    "hold",
    "hold_box",
    "is_closed",
    "jobs_in",
    "jobs_of_type",
    "kind_of",
    "largest_fitting",
    "largest_of_type_fitting",
    "largest_room",
    "largest_size",
    "largest_size_up_to",
    "largest_waiting",
    "level_of",
    "look_at",
    "may_fit",
    "new_count",
    "new_task",
    "next_in_queue",
    "next_with_room",
    "now",
    "oldest",
    "oldest_fitting",
    "place",
    "post",
    "postpone",
    "queue_length",
    "reduced_configuration",
    "remote_slots",
    "reopen",
    "reopen_all",
    "room_of",
    "row_of",
    "server_count",
    "size_of",
    "smallest_size",
    "smallest_waiting",
    "started_in",
    "tightest_server",
    "type_of_task",
    "waiting",
    "wake_at",
    "weight",
]
