"""Policies as agents: `predict`, as Stable-Baselines3 has it, for every policy in every environment.

An observation tells less than a policy may know, so the agent reads the environment's own cluster (`copied_cluster`), or a
run of its own on the same jobs (`own_run`). What the policy starts in a slot is carried out one action at a time. Where no
action starts just that task, the agent takes the nearest one: the same virtual queue on the same server, or the
configuration that shares most tasks; a policy that must see its run from the first slot cannot go on from there.
The start slots are exactly the simulator's for: Placement, window ≥ queue: fifo-ff, bf-j, and all policies that know jobs;
Placement, largest: bf-s; Placement, head of line: vqs; ServerFill, by index: bf-s; Configuration: vqs, vqs-bf; JobFill, ask
"always", window ≥ groups: all policies that start like tasks in the order of rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from packenv.cluster.state import NEVER
from packenv.envs.core.state import DECIDING
from packenv.envs.episodes.core import Core
from packenv.envs.policy_agents.copied_cluster import PlanOnCopy
from packenv.envs.policy_agents.own_run import PlanOfOwnRun
from packenv.errors import InputError
from packenv.policy import find_policy, keeps_books

Plan = PlanOnCopy | PlanOfOwnRun


class PolicyAgent:
    """A policy (an object, or a name such as "vqs:J=5") that plays an environment: single, batched or SB3's VecEnv.

    Raises InputError for an environment that policies cannot play, and during an episode where a policy that must see its
    run from the first slot on (it knows jobs, or hears of completions or messages) starts a task that no action can start.
    """

    def __init__(self, policy: Any, env: Any) -> None:
        self.policy = find_policy(policy) if isinstance(policy, str) else policy
        self.rows = _rows_of(env)
        self.single = not hasattr(env, "num_envs")
        core, row = self.rows[0]
        if core.definition.policy_action is None:
            raise InputError(f"no policy can play {core.definition.name}: it has no policy_action")
        self._policy_action = core.definition.policy_action
        self._plans: dict[int, tuple[tuple[int, int], int, Plan]] = {}  # episode, slot planned, plan
        self._make: type[Plan] = PlanOfOwnRun if keeps_books(self.policy, core.setting) else PlanOnCopy
        self._make(self.policy, core, row)  # raises here what would be raised later

    def predict(
        self, observation: Any, state: Any = None, episode_start: Any = None, deterministic: bool = True
    ) -> tuple[NDArray[np.int64], Any]:
        """(num_envs,) actions, or one for a single environment's own observation; the state is passed through.

        `episode_start` and `deterministic` are not read: the agent sees where an episode starts, and is deterministic.
        """
        actions = np.array([self._action(n) for n in range(len(self.rows))], np.int64)
        return (actions if not self.single or _is_batch(observation, self.rows[0][0]) else actions[0]), state

    def _action(self, n: int) -> int:
        core, row = self.rows[n]
        if core.batch.turn["phase"][row] != DECIDING:
            return core.layout.actions - 1
        episode = (int(core.seeds[row]), int(core.episodes[row]))
        slot = int(core.batch.c.head["now"][row])
        known, planned, plan = self._plans.get(n, (None, -1, None))
        if known != episode or plan is None:
            plan, planned = self._make(self.policy, core, row), -1
        if planned != slot:
            wake = plan.renew(core)
            head = core.batch.c.head
            if wake < NEVER and slot < wake < head["wake"][row]:
                head["wake"][row] = wake
        self._plans[n] = (episode, slot, plan)
        return self._policy_action(core, row, plan)


def _rows_of(env: Any) -> list[tuple[Core, int]]:
    inner = env.unwrapped
    if hasattr(inner, "core"):
        return [(inner.core, row) for row in range(inner.core.rows)]
    if hasattr(inner, "envs"):  # a DummyVecEnv, or a SyncVectorEnv
        return [pair for each in inner.envs for pair in _rows_of(each)]
    raise InputError(f"{env} is not an environment of packenv in this process")


def _is_batch(observation: Any, core: Core) -> bool:
    """Whether an observation has a leading axis for environments (Stable-Baselines3 always adds one)."""
    if not isinstance(observation, dict):
        return np.ndim(observation) > 1
    name = next(iter(core.layout.observed))
    return name in observation and np.ndim(observation[name]) > len(core.layout.observed[name])
