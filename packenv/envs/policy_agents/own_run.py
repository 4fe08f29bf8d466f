"""The plan of a policy that must see a run from its first slot on, made in a run of its own beside the environment.

Policies that know jobs, or hear of completions and messages, remember what happened. In a cluster of their own, on the
same jobs, the simulator's loop runs them as ever, and the agent carries out what started there, one action at a time.
Every slot checks that the environment has the same tasks in service.
"""

from __future__ import annotations

from typing import Any

from packenv.cluster.copy_tasks import tasks_of
from packenv.cluster.state import MESSAGE, NEVER, Cluster
from packenv.envs.episodes.core import Core
from packenv.envs.episodes.policy_run import PolicyRun
from packenv.envs.policy_agents.planned import Targets
from packenv.errors import InputError
from packenv.policy import name_of

DRIVEN = (
    "only environments that have a word for all it does, from the first slot on (Placement, rule 'window', or JobFill, "
    "ask 'always', with a window that is long enough)"
)


class PlanOfOwnRun:
    """What a policy starts in each slot of its own run on the jobs of one row; for one episode."""

    def __init__(self, policy: Any, core: Core, row: int) -> None:
        self.policy, self.run, self.row = policy, PolicyRun(policy, core), row
        self.state: Any = ()  # not read: the run has its own
        self.targets: Targets = {}
        self.slot = NEVER  # of the last plan; the run begins with the first one

    def renew(self, core: Core) -> int:
        """Run up to the environment's slot; returns the next slot in which the policy acts by itself, NEVER if in none.

        Raises InputError if other tasks are in service there than here.
        """
        slot = int(core.batch.c.head["now"][self.row])
        if slot < self.slot:  # at first, and after going back in time
            seed = int(core.seeds[self.row])
            self.run.restart(core.played[self.row], seed, core.rate_of(seed))
        self.run.advance(slot + 1)
        self.slot = slot
        wanted, self.targets = _in_service(self.run.cluster, 0, slot)
        found, _ = _in_service(core.batch.c, self.row, slot)
        if wanted != found:
            row, server = min(wanted.items() ^ found.items())
            who = "the policy" if wanted.get(row) == server else "the environment"
            name = name_of(self.policy)
            raise InputError(f"policy {name} drives {DRIVEN}: {who} alone started row {row} on server {server}")
        return _next_call(self.run.cluster, slot)


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
