"""The guard in the compiled loop, for many waiting tasks."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from packenv.cluster import Cluster, Needs, waiting
from packenv.cluster.loop import schedule
from packenv.cluster.servers import reopen_all
from packenv.envs.episodes.guard import hand_over, together
from packenv.policy import Setting, attached, guarantee_of, initial_state_of, name_of, needs_of, parameters_of, schedules


class Guarded(NamedTuple):
    """`agent` and `guard`, which schedules above `limit` waiting tasks.

    The number at the beginning of the slot counts. Both are compiled policies. If a theorem proves that the guard supports a
    share of ρ* from every state of the servers, this policy supports it too, however bad the agent is: docs/explanation/guard.md.
    """

    agent: Any
    guard: Any
    limit: int = 500

    @property
    def name(self) -> str:
        return f"{name_of(self.agent)} guarded by {name_of(self.guard)}"

    @property
    def rule(self) -> Guarded:
        return Guarded(parameters_of(self.agent), parameters_of(self.guard), self.limit)

    def needs(self, setting: Setting) -> Needs:
        return together(needs_of(self.agent, setting), needs_of(self.guard, setting))

    def initial_state(self, setting: Setting, seed: int) -> GuardedState:
        agent, guard = (initial_state_of(policy, setting, seed) for policy in (self.agent, self.guard))
        return GuardedState(agent, guard, np.zeros(1, np.int64))

    def attach(self, cluster: Cluster, state: GuardedState) -> GuardedState:
        return state._replace(agent=attached(self.agent, cluster, state.agent), guard=attached(self.guard, cluster, state.guard))

    def guarantee(self, setting: Setting) -> float:
        """Return the share of ρ* proven for the guard."""
        return guarantee_of(self.guard, setting)


class GuardedState(NamedTuple):
    """The states of both policies, and which scheduled last."""

    agent: Any
    guard: Any
    at_work: NDArray[np.int64]  # (1,) 1 while the guard schedules


@schedules(Guarded)
def schedule_guarded(policy: Guarded, cluster: Cluster, state: GuardedState) -> None:
    if waiting(cluster) > policy.limit:
        if state.at_work[0] == 0:
            hand_over(policy.guard, cluster, state.guard)
            state.at_work[0] = 1
        schedule(policy.guard, cluster, state.guard)
    else:
        if state.at_work[0] == 1:
            reopen_all(cluster)
            state.at_work[0] = 0
        schedule(policy.agent, cluster, state.agent)
