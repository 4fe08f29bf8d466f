"""Imitation: before it learns from rewards, the actor learns to take the actions of a policy.

An agent that starts with random actions overloads its clusters and then learns from overloaded clusters only; one that
starts near a sensible policy learns where queues are short. The target gives every valid action some probability, so that
the agent still tries the others.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from packenv.envs.interfaces.sb3 import PackVecEnv
from packenv.envs.policy_agents.agent import PolicyAgent
from packenv.errors import InputError
from packenv.learning.networks.network import Network, mask_of
from packenv.learning.reinforcement.sb3_policies import random_valid
from packenv.learning.settings import Settings

ENVIRONMENTS = 64
SPREAD = 0.1  # of the target's probability is spread evenly over all valid actions
EPOCHS, BATCH, RATE = 8, 1024, 3e-3


def imitate_policy(settings: Settings, network: Network) -> str:
    """Fit the actor to `settings.imitate` on environments of their own, without a guard; return a line on how well it fits.

    Raises InputError if the policy made no choice between actions.
    """
    assert settings.imitate is not None
    options = {key: value for key, value in settings.env_options().items() if key not in ("guard", "guard_limit")}
    env = PackVecEnv(settings.environment, min(ENVIRONMENTS, settings.envs), bare=True, **options)
    env.seed(settings.seed_after(1))
    seen, actions = demonstrations(env, settings.imitate, settings.imitation_steps)
    if len(actions) == 0:
        raise InputError(f"--imitate {settings.imitate}: it made no choice in {settings.imitation_steps} steps")
    share = imitate(network, seen, actions)
    return f"imitates {settings.imitate}: the same action in {share:.1%} of {len(actions):,} choices"


def demonstrations(env: PackVecEnv, policy: str, steps: int) -> tuple[dict[str, torch.Tensor], torch.Tensor]:
    """Observations of N decisions, and the actions (N,) that the policy took.

    Decisions with a single valid action are left out, and so are those in which no valid action does what the policy
    does; the environment then takes some valid action.
    """
    agent = PolicyAgent(policy, env)
    seen: Any = env.reset()
    seen_before: list[Any] = []
    taken: list[Any] = []
    for _ in range(steps):
        masks = env.action_masks()
        actions, _ = agent.predict(seen)
        valid = masks[np.arange(env.num_envs), actions] & (masks.sum(axis=1) > 1)
        seen_before.append({name: array[valid] for name, array in seen.items()})
        taken.append(actions[valid])
        other = random_valid(torch.from_numpy(masks)).numpy()
        chosen = np.where(masks[np.arange(env.num_envs), actions], actions, other)
        seen, _, _, _ = env.step(chosen)
    stacked = {name: torch.from_numpy(np.concatenate([each[name] for each in seen_before])) for name in seen}
    return stacked, torch.from_numpy(np.concatenate(taken))


def imitate(network: Network, seen: dict[str, torch.Tensor], actions: torch.Tensor) -> float:
    """Fit the actor by masked cross-entropy; return the share of decisions in which it then takes the policy's action."""
    optimizer = torch.optim.Adam(network.actor.parameters(), lr=RATE)
    count = len(actions)
    for _ in range(EPOCHS):
        order = torch.randperm(count)
        for first in range(0, count, BATCH):
            chosen = order[first : first + BATCH]
            batch = {name: array[chosen] for name, array in seen.items()}
            mask = mask_of(batch)
            logits = torch.log_softmax(network.scores(network.read(batch, mask), mask), dim=1)
            target = SPREAD * mask / mask.sum(dim=1, keepdim=True)
            target.scatter_add_(1, actions[chosen].unsqueeze(1), torch.full((len(chosen), 1), 1 - SPREAD))
            loss = -(target * logits.masked_fill(mask == 0, 0.0)).sum(dim=1).mean()
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
    with torch.no_grad():
        mask = mask_of(seen)
        said = network.scores(network.read(seen, mask), mask).argmax(dim=1)
    return float((said == actions).float().mean())
