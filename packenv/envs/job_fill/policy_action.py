"""JobFill: the action that comes nearest to what a policy has planned."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from packenv.cluster.state import NONE
from packenv.cluster.whole_jobs.state import nearest_task
from packenv.envs.policy_agents.planned import Option, Planned, nearest_action, still_planned

if TYPE_CHECKING:
    from packenv.envs.episodes.core import Core


def policy_action(core: Core, row: int, planned: Planned) -> int:
    """An action that starts from the group of a task planned for the server of the decision; otherwise pass.

    Exact if that task is the one of its group that would start. Of tasks that are planned for one server the earliest row goes
    first. With `ask="always"` the server is passed until the tasks before it in its group have started, on servers that come
    later.
    """
    batch, place = core.place_of(row)
    _, tasks = still_planned(core, row, planned)
    decided, book, rows = int(batch.turn["server"][place]), batch.jobs.book, batch.c.task["row"][place]
    here = sorted(((i, server) for i, server in tasks if server == decided), key=lambda task: int(rows[task[0]]))

    def action_of(i: int, server: int) -> Option:
        g = int(book.group[rows[i]])
        offered = np.flatnonzero(batch.offered[place] == g)
        return Option(int(offered[0]), nearest_task(batch.jobs, g, server) == rows[i]) if len(offered) else Option(NONE, False)

    if core.layout.rules.again and not any(action_of(i, server).exact for i, server in here):
        return core.layout.actions - 1
    return nearest_action(core, row, planned, here, action_of)
