"""A learned policy: the action that its network scores highest.

The functions of the training environments (packenv.envs) also write the observation and carry out the action here. So the agent
sees and does the same.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from packenv.cluster import NONE, Cluster
from packenv.cluster.whole_jobs.state import WholeJobs
from packenv.compiled.decorators import compiled
from packenv.envs.core.server_summaries import remove_completed
from packenv.envs.core.state import DECIDING, Batch
from packenv.envs.core.step import act, begin, observe
from packenv.learning.agents.networks import best_action
from packenv.policy import schedules


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
