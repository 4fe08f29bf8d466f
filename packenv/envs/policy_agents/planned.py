"""A policy's plan for a slot, and the nearest actions."""

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
    """A row's plan, without impossible starts in `targets`."""

    policy: Any
    state: Any
    targets: Targets


@runtime_checkable
class ConfiguresServers(Protocol):
    """A policy's state with configurations, to play Configuration exactly."""

    @property
    def reserved(self) -> NDArray[Any]:
        """Return each server's reserved units for type 1, (L,)."""
        ...

    def active_configuration(self, server: int, types: int) -> NDArray[Any] | None:
        """Return a server's configuration, (types,), initially None."""
        ...


class Choice(NamedTuple):
    """The choice on a server nearest to a task."""

    choice: int  # NONE if there is none
    exact: bool  # whether the choice starts this very task


def still_planned(core: Core, row: int, planned: Planned) -> tuple[NDArray[np.int64], list[tuple[int, int]]]:
    """Return all waiting places, and planned (place, server)."""
    waiting, _ = tasks_of(core.batch.c, row)
    rows = core.batch.c.task["row"][row, waiting].tolist()
    return waiting, [(int(i), planned.targets[r]) for i, r in zip(waiting, rows, strict=True) if r in planned.targets]


def largest_of_queue(core: Core, row: int, waiting: NDArray[np.int64], i: int, server: int) -> Choice:
    """Return task i's queue, exact for the largest fitting task."""
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
        return Choice(j, False)
    largest = same[np.lexsort((c.task["row"][row, same], -c.task["size"][row, same]))[0]]
    return Choice(j, int(largest) == i)


def with_room(c: Cluster, row: int, tasks: NDArray[np.int64], server: int) -> NDArray[np.bool_]:
    """Return whether a server has room for each task, (n,)."""
    fits = (c.demand[row, tasks] <= c.free[row, server]).all(axis=1)
    if has_devices(c):
        look_at(c, row)
        fits &= np.array([devices_for(c, int(i), server) != NONE for i in tasks], np.bool_)
    return np.asarray(fits)


def servable(core: Core, row: int, waiting: NDArray[np.int64], server: int) -> list[int]:
    """Return a server's servable queues, largest sizes first."""
    c = core.batch.c
    fits = c.task["size"][row, waiting] <= c.server["room"][row, server]
    if c.vectors:
        fits = with_room(c, row, waiting, server)
    types = types_of(c, row, int(c.server["kind"][row, server]), c.task["size"][row, waiting[fits]])
    return [int(j) for j in np.unique(types) if j != NONE]


def among_choices(core: Core, row: int, waiting: NDArray[np.int64], server: int, option: Choice, choices: int) -> Choice:
    """Return an option as one of the offered choices, if possible."""
    served = servable(core, row, waiting, server)[:choices]
    return Choice(served.index(option.choice), option.exact) if option.choice in served else Choice(NONE, False)


def nearest_action(
    core: Core,
    row: int,
    planned: Planned,
    tasks: list[tuple[int, int]],
    action_of: Callable[[int, int], tuple[int, bool]],
) -> int:
    """Return a planned task's exact action, or the nearest valid one.

    `action_of(place, server)` returns an action or NONE, and whether it is exact. Tasks whose nearest action is taken or invalid
    leave the plan. An empty plan returns the last action, which waits or passes.
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
