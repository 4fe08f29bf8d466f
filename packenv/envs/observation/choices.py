"""Masks and features of the actions that start tasks on one server: those from `first` on.

They are an action for each virtual queue, or, with `choices` > 0, for so many of those that it can serve.
"""

from __future__ import annotations

from packenv.cluster.queue.waiting import size_of
from packenv.cluster.state import NONE
from packenv.compiled.decorators import apart, fused
from packenv.compiled.intrinsics import natural
from packenv.envs.core.largest_fitting import largest_of_groups, survey
from packenv.envs.core.servable import can_serve, servable, served_by
from packenv.envs.core.state import Batch
from packenv.envs.core.waiting_sizes import count_up_to
from packenv.envs.observation.describe import describe_nothing, describe_start


@fused
def mask_types(b: Batch, first: int, kind: int, server: int, choices: int) -> None:
    """A virtual queue can be served if one of its tasks fits. Needs `survey`."""
    if choices > 0:
        mask_choices(b, first, choices, servable(b, kind, server))
        return
    known = b.c.types.count[b.c.e, kind]
    for j in range(b.c.types.least.shape[2]):
        b.mask[b.c.e, first + j] = server != NONE and j < known and can_serve(b, kind, j, server)


@fused
def mask_choices(b: Batch, first: int, choices: int, count: int) -> None:
    """With `choices`, the first actions are valid: as many as there are virtual queues that can be served."""
    for n in range(choices):
        b.mask[b.c.e, first + n] = n < count


@apart
def describe_types(b: Batch, first: int, kind: int, server: int, room: int, choices: int) -> None:
    """One resource: in ascending order of size the virtual queues follow each other, so ranks say what each would start.

    Needs `copy_waiting_sizes`.
    """
    c, e, types = b.c, b.c.e, b.c.types.least.shape[2]
    queue, known = c.types.queue[e, kind], c.types.count[e, kind] if server != NONE else 0
    left = servable(b, kind, server) if choices > 0 else 0  # with `choices`: virtual queues not looked at yet
    mask_choices(b, first, choices, left)
    for n in range(left, choices):
        describe_nothing(b, first + n)
    smaller, fitting = 0, count_up_to(b, room)  # waiting tasks of the types so far; that fit (none without a server)
    for n in range(types):
        j = types - 1 - n
        rank = min(smaller + queue[natural(j)].count, fitting) if j < known else 0
        action = j
        if choices > 0:
            left -= rank > smaller
            action = left
        else:
            b.mask[e, first + j] = rank > smaller
        if rank > smaller:
            if choices == 0 or action < choices:
                describe_start(b, first + action, kind, j, server, b.waiting_sizes[e, natural(rank - 1)], rank)
            smaller += queue[natural(j)].count
        elif choices == 0:
            describe_nothing(b, first + j)


@apart
def describe_groups(b: Batch, first: int, kind: int, server: int, choices: int) -> None:
    """Several resources: look at all groups of tasks with equal demands for every type."""
    survey(b, kind)
    mask_types(b, first, kind, server, choices)
    for n in range(choices if choices > 0 else b.c.types.least.shape[2]):
        if b.mask[b.c.e, first + n]:
            j = n if choices == 0 else served_by(b, server, n)
            describe_start(b, first + n, kind, j, server, size_of(b.c, largest_of_groups(b, kind, j, server)), 0)
        else:
            describe_nothing(b, first + n)
