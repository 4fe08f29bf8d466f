"""Twenty lines that train an agent with an untouched library, and compare it with best fit on jobs that it has never met.

python examples/first_agent.py
tensorboard --logdir runs
"""

from __future__ import annotations

import sys
from typing import Any

import gymnasium as gym
import numpy as np
from sb3_contrib import MaskablePPO
from stable_baselines3.common.env_util import make_vec_env

import packenv  # noqa: F401  (registers the environments)
from packenv.envs import QueueRatio

SETTING: dict[str, Any] = {"workload": "paper/fig4b", "intensity": 0.9, "yardstick": True}


def main(steps: int = 300_000, slots: int = 200_000, tensorboard: str | None = "runs", n_envs: int = 8) -> float:
    """Train, print and return the ratio of the mean queues, the agent's to BF-J/S's on the same jobs."""
    envs = make_vec_env("packenv/ServerFill-v1", n_envs=n_envs, seed=0, env_kwargs=SETTING)
    model = MaskablePPO("MlpPolicy", envs, seed=0, device="cpu", tensorboard_log=tensorboard)
    model.learn(steps, callback=QueueRatio())

    test: Any = gym.make_vec("packenv/ServerFill-v1", num_envs=8, segment=None, horizon=slots, waiting_limit=100_000, **SETTING)
    seen, info = test.reset(seed=1_000_000)
    queue, best_fit = np.full(8, np.nan), np.full(8, np.nan)
    while np.isnan(queue).any():
        actions, _ = model.predict(seen, action_masks=info["action_mask"].astype(bool), deterministic=True)
        seen, _, _, ended, info = test.step(actions)
        first = ended & np.isnan(queue)
        queue[first], best_fit[first] = info["mean_queue"][first], info["baseline_queue"][first]
    ratio = float(queue.mean() / best_fit.mean())
    print(f"mean queue {queue.mean():.1f}, of BF-J/S on the same jobs {best_fit.mean():.1f}: ratio {ratio:.2f}")
    return ratio


if __name__ == "__main__":
    main(steps=int(sys.argv[1]) if len(sys.argv) > 1 else 300_000)
