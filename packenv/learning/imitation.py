"""A warm start: the actor learns to say what a policy says, before it learns from rewards.

From uniform actions learning drifts into overload and stays there; beside a sensible policy it starts where queues are
short. The target is softened, so that the agent still tries the other actions.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from packenv.envs.faces.sb3 import PackVecEnv
from packenv.envs.policies.predict import PolicyAgent
from packenv.learning.networks import Network, mask_of
from packenv.learning.sb3_policies import random_valid

ROWS = 64
SOFT = 0.1  # of the target's weight is spread over all valid actions
EPOCHS, BATCH, RATE = 8, 1024, 3e-3


def demonstrations(env: PackVecEnv, policy: str, steps: int) -> tuple[dict[str, torch.Tensor], torch.Tensor]:
    """What the policy saw, and the actions (N,) it took. Where it has no valid word for what it does, it is left out, and
    the environment takes some valid action."""
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
    """Fit the actor by masked cross-entropy; the share of actions it then gets right."""
    optimizer = torch.optim.Adam(network.actor.parameters(), lr=RATE)
    count = len(actions)
    for _ in range(EPOCHS):
        order = torch.randperm(count)
        for first in range(0, count, BATCH):
            chosen = order[first : first + BATCH]
            batch = {name: array[chosen] for name, array in seen.items()}
            mask = mask_of(batch)
            logits = torch.log_softmax(network.scores(network.read(batch, mask), mask), dim=1)
            target = SOFT * mask / mask.sum(dim=1, keepdim=True)
            target.scatter_add_(1, actions[chosen].unsqueeze(1), torch.full((len(chosen), 1), 1 - SOFT))
            loss = -(target * logits.masked_fill(mask == 0, 0.0)).sum(dim=1).mean()
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
    with torch.no_grad():
        mask = mask_of(seen)
        said = network.scores(network.read(seen, mask), mask).argmax(dim=1)
    return float((said == actions).float().mean())
