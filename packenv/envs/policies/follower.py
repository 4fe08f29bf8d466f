"""What a policy that must see a run from its first slot on does: found out in a run of its own beside the environment.

Policies that know jobs, or hear of completions and messages, keep books. In a cluster of their own, on the same jobs, the
simulator's one loop serves them as ever; the agent then carries out what started there, one action at a time. That the
environment has followed is checked in every slot.
"""

from __future__ import annotations

from typing import Any

from packenv.cluster.copy_tasks import tasks_of
from packenv.cluster.state import MESSAGE, NEVER, Cluster
from packenv.envs.core.episodes import Core
from packenv.envs.policies.lockstep import Twin
from packenv.envs.policies.mirror import Targets
from packenv.errors import InputError
from packenv.policy import name_of

DRIVEN = "only environments that have a word for all it does, from the first slot on (Placement, rule 'window', long enough)"


class Follower:
    """A policy's own run on the jobs of one row; for one episode."""

    def __init__(self, policy: Any, core: Core, row: int) -> None:
        self.twin, self.row = Twin(policy, core), row
        self.state: Any = ()  # none that an environment has words for
        self.targets: Targets = {}
        self.slot = NEVER  # reached in the run; it begins when it is first looked at

    def look(self, core: Core) -> int:
        """Go to the environment's slot; returns that in which the policy next acts by itself, NEVER if in none.

        Raises InputError if other tasks are in service there than here.
        """
        slot = int(core.batch.c.head["now"][self.row])
        if slot < self.slot:  # at first, and after going back in time
            seed = int(core.seeds[self.row])
            self.twin.restart(core.played[self.row], seed, core.rate_of(seed))
        self.twin.advance(slot + 1)
        self.slot = slot
        wanted, self.targets = _in_service(self.twin.cluster, 0, slot)
        found, _ = _in_service(core.batch.c, self.row, slot)
        if wanted != found:
            row, server = min(wanted.items() ^ found.items())
            who = "the policy" if wanted.get(row) == server else "the environment"
            name = name_of(self.twin.policy)
            raise InputError(f"policy {name} drives {DRIVEN}: {who} alone started row {row} on server {server}")
        return _next_call(self.twin.cluster, slot)


def _in_service(c: Cluster, e: int, slot: int) -> tuple[Targets, Targets]:
    """Row → server of the tasks in service that started before this slot, and of those that started in it."""
    task = c.task[e, tasks_of(c, e)[1]]
    new = (task["since"] == slot) & (task["row"] >= 0)
    old, fresh = (dict(zip(part["row"].tolist(), part["server"].tolist(), strict=True)) for part in (task[~new], task[new]))
    return old, fresh


def _next_call(c: Cluster, slot: int) -> int:
    """The slot after this one for which the policy has set its timer, or sent itself a message."""
    sent = c.task[0]["slots"][c.task[0]["kind"] == MESSAGE]
    return min([int(c.head["wake"][0]), *sent[sent > slot].tolist()])
