"""ServerFill: the action that comes nearest to what a policy has planned."""

from __future__ import annotations

from typing import TYPE_CHECKING

from packenv.envs.policy_agents.planned import Option, Planned, among_choices, largest_of_queue, nearest_action, still_planned

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
        return among_choices(core, row, waiting, server, Option(queue, exact), core.layout.rules.choices)

    return nearest_action(core, row, planned, here, action_of)
