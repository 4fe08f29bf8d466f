"""A policy's plan for a slot, made on a copy of the environment's cluster that keeps the policy's own orders.

For policies that need to know only what waits and what runs now; for others there is `own_run`. The copy shows the slot as
it began: tasks that the agent has started in it still wait there. So a policy is asked once in a slot, as in the
simulator's own loop, and what it starts is then carried out one action at a time.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from packenv.cluster.build import build
from packenv.cluster.copy_tasks import tasks_of, transplant
from packenv.cluster.fields import row_arrays
from packenv.cluster.grow import grow
from packenv.cluster.loop import runner_for
from packenv.cluster.state import NEVER, NONE
from packenv.envs.episodes.core import Core
from packenv.envs.policy_agents.configuring import ConfiguresServers
from packenv.envs.policy_agents.planned import Targets
from packenv.errors import InputError
from packenv.jobs import Jobs
from packenv.policy import attached, initial_state_of, name_of, needs_of
from packenv.workloads.source import table_source


class PlanOnCopy:
    """What a policy starts in each slot of one row, with the policy's state; for one episode."""

    def __init__(self, policy: Any, core: Core, row: int) -> None:
        self.policy, self.run, self.row = policy, runner_for(policy), row
        setting = core.setting.playing(core.played[row])
        nothing = Jobs(np.zeros(1, np.int64), np.ones((1, core.sizes.resources), np.int64), np.ones(1, np.int64))
        self.cluster = build(table_source(nothing), setting.capacity, needs_of(policy, setting), delays=False, bins=0, places=64)
        self.fresh = [array.copy() for array in row_arrays(self.cluster)]
        self.state = initial_state_of(policy, setting, int(core.seeds[row]))
        self.targets: Targets = {}
        self.held: dict[int, int] = {}  # room that each row took in the last plan: a policy may round sizes up

    def renew(self, core: Core) -> int:
        """Plan the environment's slot; returns the slot of the policy's next timer, NEVER if there is none."""
        self._forget_closed(core)
        self._adopt_reserved(core)
        batch = core.batch
        waiting, served = tasks_of(batch.c, self.row)
        task, now = batch.c.task[self.row], batch.c.head["now"][self.row]
        new = (task["since"][served] == now) & (task["row"][served] >= 0)
        waiting = np.concatenate([waiting, served[new]])
        waiting = waiting[np.lexsort((task["row"][waiting], task["since"][waiting]))]
        self._clear(len(waiting) + len(served) + int(self.cluster.head["reserve"][0]))
        at, held = np.zeros(len(task), np.int64), np.zeros(len(task), np.int64)
        for i in served[~new]:
            held[i] = self.held.get(int(task["row"][i]), 0)
        transplant(batch.c, self.row, waiting, served[~new], self.cluster, 0, at, held)
        head = self.cluster.head
        self.state = attached(self.policy, self.cluster, self.state)
        head["next_row"], head["arriving"] = 1, 1  # the slot is under way, and nothing else arrives in it
        try:
            self.run(self.policy, self.cluster, self.state, NEVER, 1)
        except (ValueError, RuntimeError) as error:
            raise InputError(f"policy {name_of(self.policy)}: {error}") from error
        servers = self.cluster.task["server"][0, at[waiting]]
        self.held = {int(task["row"][i]): int(self.cluster.task["held"][0, at[i]]) for i in [*served[~new], *waiting]}
        self.targets = {int(task["row"][i]): int(s) for i, s in zip(waiting, servers, strict=True) if s != NONE}
        return int(head["wake"][0])

    def _clear(self, places: int) -> None:
        """Empty the copy; types, and servers that the policy has closed, stay as they are."""
        c = self.cluster
        record, types = c.server[0], c.types
        closed, least = record["closed"].copy(), record["least"].copy()
        bound, count = types.bound.copy(), types.count.copy()
        if places > c.task.shape[1]:
            for array, fresh in zip(row_arrays(c), self.fresh, strict=True):
                array[:] = fresh
            self.cluster = c = grow(c, 2 * places)
            self.fresh = [array.copy() for array in row_arrays(c)]
        for array, fresh in zip(row_arrays(c), self.fresh, strict=True):
            array[:] = fresh
        c.server["least"][0] = least
        c.types.bound[:], c.types.count[:] = bound, count
        c.server["closed"][0] = closed  # `transplant` brings the orders of servers up to date

    def _forget_closed(self, core: Core) -> None:
        """A server that has become empty is open again."""
        empty = core.batch.c.server["jobs"][self.row] == 0
        self.cluster.server["closed"][0, empty] = 0

    def _adopt_reserved(self, core: Core) -> None:
        """Configuration keeps the rooms that VQS reserves: bring the policy's own up to date with what was started since."""
        if core.layout.configurations is not None and isinstance(self.state, ConfiguresServers):
            self.state.reserved[:] = core.batch.reserved[self.row]
