"""Placement: the action that comes nearest to what a policy has planned."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from packenv.cluster.queue.by_type import types_of
from packenv.cluster.state import NONE
from packenv.envs.placement.rules import HEAD, WINDOW
from packenv.envs.policy_agents.planned import Option, Planned, largest_of_queue, nearest_action, still_planned

if TYPE_CHECKING:
    from packenv.envs.episodes.core import Core


def policy_action(core: Core, row: int, planned: Planned) -> int:
    """An action that starts a planned task, or one of the same virtual queue on the same server; otherwise wait."""
    waiting, tasks = still_planned(core, row, planned)

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
