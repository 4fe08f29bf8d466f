"""What a policy does in an environment: observations of decisions, and its actions."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from packenv.envs.core.features import VALID
from packenv.envs.interfaces.sb3 import PackVecEnv
from packenv.envs.policy_agents.agent import PolicyAgent
from packenv.learning.networks.valid_actions import random_valid

SECONDS = 5.0  # between lines on how far it is


class Demonstrations(NamedTuple):
    """N decisions of a policy."""

    seen: dict[str, Tensor]  # observations, by name
    actions: Tensor  # (N,)

    def without_passing(self) -> Demonstrations:
        """The decisions in which it did not pass, and there were other actions, for an agent that may not (the last action)."""
        actions = self.seen["actions"].clone()
        actions[:, -1] = 0.0
        kept = (self.actions < actions.shape[1] - 1) & (actions[:, :, VALID].sum(dim=1) > 1)
        seen = self.seen | {"actions": actions}
        return Demonstrations({name: array[kept] for name, array in seen.items()}, self.actions[kept])


def demonstrations(env: PackVecEnv, policy: str, steps: int, say: Callable[[str], None] = print) -> Demonstrations:
    """What the policy did in so many steps of each environment; `say` is told how far it is.

    Decisions with a single valid action are left out, and so are those in which no valid action does what the policy
    does; the environment then takes some valid action. Raises InputError if the policy cannot drive the environment.
    """
    agent = PolicyAgent(policy, env)
    seen: Any = env.reset()
    seen_before: list[Any] = []
    taken: list[Any] = []
    said = time.monotonic()
    for step in range(steps):
        if time.monotonic() - said > SECONDS:
            said = time.monotonic()
            say(f"watches {policy}: step {step:,} of {steps:,}, {env.num_envs} environments")
        masks = env.action_masks()
        actions, _ = agent.predict(seen)
        valid = masks[np.arange(env.num_envs), actions] & (masks.sum(axis=1) > 1)
        seen_before.append({name: array[valid] for name, array in seen.items()})
        taken.append(actions[valid])
        other = random_valid(torch.from_numpy(masks)).numpy()
        chosen = np.where(masks[np.arange(env.num_envs), actions], actions, other)
        seen, _, _, _ = env.step(chosen)
    stacked = {name: torch.from_numpy(np.concatenate([each[name] for each in seen_before])) for name in seen}
    return Demonstrations(stacked, torch.from_numpy(np.concatenate(taken)))
