"""A learned policy, the action that its network scores highest, and its guard.

The functions of the training environments (packenv.envs) also write the observation and carry out the action here. So the agent
sees and does the same.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from packenv.cluster import NONE, Cluster, Needs, waiting
from packenv.cluster.loop import schedule
from packenv.cluster.servers import reopen_all
from packenv.cluster.whole_jobs.state import WholeJobs
from packenv.compiled.decorators import compiled
from packenv.envs.core.server_summaries import remove_completed
from packenv.envs.core.state import DECIDING, Batch
from packenv.envs.core.step import act, begin, observe
from packenv.envs.episodes.guard import hand_over, together
from packenv.learning.agents.networks import best_action
from packenv.policy import Setting, attached, guarantee_of, initial_state_of, name_of, needs_of, parameters_of, schedules


class Learned(NamedTuple):
    """Rules of the agent's environment, without the weights."""

    rules: Any


class LearnedState(NamedTuple):
    """The state of an agent through a run."""

    batch: Batch  # None until the cluster is known
    network: Any
    mean_service: NDArray[np.float64]  # (1,) slots
    jobs: WholeJobs | None  # until the cluster is known, where the environment follows whole jobs
    facts: NDArray[np.float64] | None  # or reads facts of the table (`Layout.facts`)
    offers: NDArray[np.int64]  # (3,) decisions, those at which groups were hidden, and the most that were: HIDDEN


DECISIONS, HIDDEN, MOST_HIDDEN = range(3)


@schedules(Learned)
def schedule_learned(policy: Learned, cluster: Cluster, state: LearnedState) -> None:
    b = state.batch
    turn = b.turn[0]
    remove_completed(b)
    begin(policy.rules, b)
    while turn.phase == DECIDING:
        observe(policy.rules, b)
        count_offers(b, state.offers)
        action = only_action(b)
        if action == NONE:
            action = best_action(state.network, b)
        b.action[0] = action
        act(policy.rules, b)


@compiled
def count_offers(b: Batch, offers: NDArray[np.int64]) -> None:
    """Count fitting groups that are not offered (whole jobs only)."""
    if b.fitting.shape[0] > 0 and b.offered.shape[1] > 0:
        hidden = b.fitting[0] - b.offered.shape[1]
        offers[DECISIONS] += 1
        offers[HIDDEN] += hidden > 0
        offers[MOST_HIDDEN] = max(offers[MOST_HIDDEN], hidden)


@compiled
def only_action(b: Batch) -> int:
    """Return the only valid action, or NONE."""
    only = NONE
    for a in range(b.mask.shape[1]):
        if b.mask[0, a]:
            if only != NONE:
                return NONE
            only = a
    return only


def remark_on(state: LearnedState) -> str | None:
    """Return a remark if fitting groups were ever not offered."""
    decisions, hidden, most = map(int, state.offers)
    if not hidden:
        return None
    fitted = (
        f"more than {state.batch.offered.shape[1]} groups of tasks fitted at {hidden / decisions:.1%} of {decisions:,} decisions"
    )
    return f"{fitted}; at most {most:,} were hidden, the last ones offered"


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
