"""What a policy would do now in an environment's cluster: found out on a mirror of it, which keeps the policy's own orders.

A mirror is for policies that need to know no more than what waits and what runs now; others follow a run of their own
(`follower`). It shows the slot as it began: tasks that the agent has started in it wait there still. So a policy
is asked once in a slot, as in the simulator's own loop, and its placements are then carried out one action at a time.
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
from packenv.envs.core.episodes import Core
from packenv.errors import InputError
from packenv.jobs import Jobs
from packenv.policy import attached, initial_state_of, name_of, needs_of
from packenv.workloads.source import table_source

Targets = dict[int, int]
"""Row of the Jobs table → server: what starts in this slot."""


class Mirror:
    """One row of an environment as a policy sees it, with the policy's state; for one episode."""

    def __init__(self, policy: Any, core: Core, row: int) -> None:
        self.policy, self.row = policy, row
        setting = core.setting.playing(core.played[row])
        nothing = Jobs(np.zeros(1, np.int64), np.ones((1, core.sizes.resources), np.int64), np.ones(1, np.int64))
        self.cluster = build(table_source(nothing), setting.capacity, needs_of(policy, setting), delays=False, bins=0, places=64)
        self.fresh = [array.copy() for array in row_arrays(self.cluster)]
        self.state = initial_state_of(policy, setting, int(core.seeds[row]))
        self.targets: Targets = {}
        self.held: dict[int, int] = {}  # room that each row took when the policy last looked: it may round sizes up

    def look(self, core: Core) -> int:
        """Ask the policy anew; returns the slot in which it wants to be woken, NEVER if in none."""
        self._forget_closed(core)
        self._adopt_configurations(core)
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
            runner_for(self.policy)(self.policy, self.cluster, self.state, NEVER, 1)
        except (ValueError, RuntimeError) as error:
            raise InputError(f"policy {name_of(self.policy)}: {error}") from error
        servers = self.cluster.task["server"][0, at[waiting]]
        self.held = {int(task["row"][i]): int(self.cluster.task["held"][0, at[i]]) for i in [*served[~new], *waiting]}
        self.targets = {int(task["row"][i]): int(s) for i, s in zip(waiting, servers, strict=True) if s != NONE}
        return int(head["wake"][0])

    def _clear(self, places: int) -> None:
        """An empty cluster, but for what is the policy's own: its types, and which servers it has closed."""
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
        c.server["closed"][0] = closed  # `transplant` touches those with jobs, so the orders of servers hear of it

    def _forget_closed(self, core: Core) -> None:
        """A server that has become empty is open again."""
        empty = core.batch.c.server["jobs"][self.row] == 0
        self.cluster.server["closed"][0, empty] = 0

    def _adopt_configurations(self, core: Core) -> None:
        """Configuration keeps what VQS keeps: let the policy know what its servers have done since it was last asked."""
        if core.kind == "Configuration" and hasattr(self.state, "reserved"):
            self.state.reserved[:] = core.batch.reserved[self.row]
