"""Placement: the action that comes nearest to what a policy has planned."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from packenv.cluster.queue.by_type import types_of
from packenv.cluster.state import NONE
from packenv.envs.placement.rules import HEAD, WINDOW
from packenv.envs.policy_agents.planned import (
    Option,
    Planned,
    among_choices,
    largest_of_queue,
    nearest_action,
    servable,
    still_planned,
)

if TYPE_CHECKING:
    from packenv.envs.episodes.core import Core


def policy_action(core: Core, row: int, planned: Planned) -> int:
    """An action that starts a planned task, or one of the same virtual queue on the same server; otherwise wait."""
    waiting, tasks = still_planned(core, row, planned)
    if core.layout.rules.servers > 0:
        return nearest_choice(core, row, planned, waiting, tasks)

    def action_of(i: int, server: int) -> tuple[int, bool]:
        choice, exact = option(core, row, waiting, i, server)
        return (choice if choice == NONE else server * core.layout.rules.per_server + choice), exact

    return nearest_action(core, row, planned, tasks, action_of)


def option(core: Core, row: int, waiting: NDArray[np.int64], i: int, server: int) -> Option:
    """The choice on this server that comes nearest to task i."""
    c, rules = core.batch.c, core.layout.rules
    if rules.starts == WINDOW:
        k = int(np.flatnonzero(waiting == i)[0])
        return Option(k, True) if k < rules.per_server else Option(NONE, False)
    if rules.starts == HEAD:
        kind = int(c.server["kind"][row, server])
        j = int(types_of(c, row, kind, c.task["size"][row, [i]])[0])
        return Option(j, int(c.types.queue["head"][row, kind, j]) == i)
    return largest_of_queue(core, row, waiting, i, server)


def nearest_choice(core: Core, row: int, planned: Planned, waiting: NDArray[np.int64], tasks: list[tuple[int, int]]) -> int:
    """Of the servers that are offered, the one with as much room as the server of the plan stands for it."""
    rules = core.layout.rules
    room = free_room(core, row)
    able = [server for server in np.lexsort((np.arange(len(room)), room)) if servable(core, row, waiting, int(server))]
    _, first = np.unique(room[able], return_index=True)
    offered = [int(able[n]) for n in first[: rules.servers]]

    def action_of(i: int, server: int) -> Option:
        k = next((k for k, other in enumerate(offered) if room[other] == room[server]), NONE)
        if k == NONE:
            return Option(NONE, False)
        largest = largest_of_queue(core, row, waiting, i, offered[k])
        near = among_choices(core, row, waiting, offered[k], largest, rules.per_server)
        return near if near.choice == NONE else Option(k * rules.per_server + near.choice, near.exact and offered[k] == server)

    return nearest_action(core, row, planned, tasks, action_of)


def free_room(core: Core, row: int) -> NDArray[np.float64]:
    """(L,) the room of each server; with several resources the sum of their free shares."""
    c = core.batch.c
    if not c.vectors:
        return c.server["room"][row].astype(np.float64)
    shares = np.zeros(c.capacity.shape)
    np.divide(c.free[row], c.capacity, out=shares, where=c.capacity > 0)
    return shares.sum(axis=1)
