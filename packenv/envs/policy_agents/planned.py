"""What a policy has planned for a slot, and the actions of virtual queues that come nearest to it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from packenv.cluster.copy_tasks import tasks_of
from packenv.cluster.devices import devices_for, has_devices
from packenv.cluster.queue.by_type import types_of
from packenv.cluster.state import NONE, Cluster, look_at

if TYPE_CHECKING:
    from packenv.envs.episodes.core import Core

Targets = dict[int, int]
"""Row of the Jobs table → server: the tasks that a policy starts in this slot."""


class Planned(Protocol):
    """A policy's plan for the slot of one row; actions take out of `targets` what they cannot carry out."""

    policy: Any
    state: Any
    targets: Targets


@runtime_checkable
class ConfiguresServers(Protocol):
    """The state of a policy that gives servers active configurations, as VQS does, so that it can play Configuration exactly."""

    @property
    def reserved(self) -> NDArray[Any]:
        """(L,) room, in units, that the reserved type-1 job of each server holds."""
        ...

    def active_configuration(self, server: int, types: int) -> NDArray[Any] | None:
        """(types,) jobs of each type in the server's active configuration; None before its first."""
        ...


class Option(NamedTuple):
    """The choice of an action on one server: the virtual queue, or place in the window, that comes nearest to a task."""

    choice: int  # NONE if there is none
    exact: bool  # whether the choice starts this very task


def still_planned(core: Core, row: int, planned: Planned) -> tuple[NDArray[np.int64], list[tuple[int, int]]]:
    """Places of all waiting tasks, and (place, server) of the planned ones among them."""
    waiting, _ = tasks_of(core.batch.c, row)
    rows = core.batch.c.task["row"][row, waiting].tolist()
    return waiting, [(int(i), planned.targets[r]) for i, r in zip(waiting, rows, strict=True) if r in planned.targets]


def largest_of_queue(core: Core, row: int, waiting: NDArray[np.int64], i: int, server: int) -> Option:
    """The virtual queue of task i; exact if the task is the largest of it that fits on the server."""
    c = core.batch.c
    kind = int(c.server["kind"][row, server])
    types = types_of(c, row, kind, c.task["size"][row, waiting])
    j = int(types[waiting == i][0])
    same = waiting[types == j]
    if c.vectors:
        same = same[with_room(c, row, same, server)]
    else:
        same = same[c.task["size"][row, same] <= c.server["room"][row, server]]
    if len(same) == 0:
        return Option(j, False)
    largest = same[np.lexsort((c.task["row"][row, same], -c.task["size"][row, same]))[0]]
    return Option(j, int(largest) == i)


def with_room(c: Cluster, row: int, tasks: NDArray[np.int64], server: int) -> NDArray[np.bool_]:
    """(n,) whether a server of cluster `row` has room for each of these tasks: in every resource, and on its devices."""
    fits = (c.demand[row, tasks] <= c.free[row, server]).all(axis=1)
    if has_devices(c):
        look_at(c, row)
        fits &= np.array([devices_for(c, int(i), server) != NONE for i in tasks], np.bool_)
    return np.asarray(fits)


def servable(core: Core, row: int, waiting: NDArray[np.int64], server: int) -> list[int]:
    """The virtual queues that can be served on the server, of the largest sizes first."""
    c = core.batch.c
    fits = c.task["size"][row, waiting] <= c.server["room"][row, server]
    if c.vectors:
        fits = with_room(c, row, waiting, server)
    types = types_of(c, row, int(c.server["kind"][row, server]), c.task["size"][row, waiting[fits]])
    return [int(j) for j in np.unique(types) if j != NONE]


def among_choices(core: Core, row: int, waiting: NDArray[np.int64], server: int, option: Option, choices: int) -> Option:
    """The option as one of the first `choices` virtual queues that the server can serve, if it is one."""
    served = servable(core, row, waiting, server)[:choices]
    return Option(served.index(option.choice), option.exact) if option.choice in served else Option(NONE, False)


def nearest_action(
    core: Core,
    row: int,
    planned: Planned,
    tasks: list[tuple[int, int]],
    action_of: Callable[[int, int], tuple[int, bool]],
) -> int:
    """The first valid action that starts just one of the planned tasks (place, server), or else the nearest valid one.

    `action_of(place, server)` returns an action, NONE if there is none, and whether it is exact. Tasks whose nearest
    action is taken, or is not valid, are planned no longer. With none left: the last action, which waits or passes.
    """
    mask = core.batch.mask[row]
    actions = [action_of(i, server) for i, server in tasks]
    for action, exact in actions:
        if exact and mask[action]:
            return action
    for (i, _), (action, _) in zip(tasks, actions, strict=True):
        del planned.targets[int(core.batch.c.task["row"][row, i])]
        if action != NONE and mask[action]:
            return action
    return core.layout.actions - 1
