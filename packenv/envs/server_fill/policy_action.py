"""ServerFill: the action that comes nearest to what a policy has planned."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from packenv.cluster.queue.by_type import types_of
from packenv.cluster.state import NONE
from packenv.envs.policy_agents.planned import Option, Planned, largest_of_queue, nearest_action, still_planned

if TYPE_CHECKING:
    from packenv.envs.episodes.core import Core


def policy_action(core: Core, row: int, planned: Planned) -> int:
    """An action that starts a task planned for the server of the decision, or one of its virtual queue; otherwise pass."""
    waiting, tasks = still_planned(core, row, planned)
    decided = int(core.batch.turn["server"][row])
    here = [(i, server) for i, server in tasks if server == decided]

    def action_of(i: int, server: int) -> Option:
        queue, exact = largest_of_queue(core, row, waiting, i, server)
        if core.layout.rules.choices == 0:
            return Option(queue, exact)
        served = servable(core, row, waiting, server)
        place = served.index(queue) if queue in served else NONE
        return Option(place, exact) if place < core.layout.rules.choices else Option(NONE, False)

    return nearest_action(core, row, planned, here, action_of)


def servable(core: Core, row: int, waiting: NDArray[np.int64], server: int) -> list[int]:
    """The virtual queues that can be served on the server, of the largest sizes first."""
    c = core.batch.c
    fits = c.task["size"][row, waiting] <= c.server["room"][row, server]
    if c.vectors:
        fits = (c.demand[row, waiting] <= c.free[row, server]).all(axis=1)
    types = types_of(c, row, int(c.server["kind"][row, server]), c.task["size"][row, waiting[fits]])
    return [int(j) for j in np.unique(types) if j != NONE]
