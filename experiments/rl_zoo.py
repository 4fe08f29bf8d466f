"""The learning curve of PPO with the hyper-parameters of agents/rl_zoo/ppo.yml, beside first valid actions and BF-J/S.

Trains with Stable-Baselines3 as rl-zoo does, and draws the mean queue of the training episodes against the steps, with that
of the two rules over 64 episodes of the same length. With --quick: a few thousand steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import yaml
from figure_script import options_of
from matplotlib.figure import Figure
from numpy.typing import NDArray
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback

import packenv
from packenv.envs import PackVecEnv
from packenv.files import atomic_path

FILE = Path(__file__).resolve().parents[1] / "agents" / "rl_zoo" / "ppo.yml"
ENVIRONMENT = "packenv/ServerFillNormalized-v0"
SLOTS = 10_000  # of an episode, as the environment has it
EPISODES = 64  # of each rule
AVERAGED = 40  # episodes that a point of the curve is the mean of


class Queues(BaseCallback):
    """Collects the mean queue of every episode that ends, with the steps so far."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[int, float]] = []

    def _on_step(self) -> bool:
        self.found += [(self.num_timesteps, info["mean_queue"]) for info in self.locals["infos"] if "mean_queue" in info]
        return True


def hyperparameters() -> dict[str, Any]:
    """Of ENVIRONMENT, with rl-zoo's `lin_x` as a schedule that falls to 0, and keyword arguments read."""
    found: dict[str, Any] = yaml.safe_load(FILE.read_text(encoding="utf-8"))[ENVIRONMENT]
    rate = str(found["learning_rate"])
    if rate.startswith("lin_"):
        first = float(rate.removeprefix("lin_"))
        found["learning_rate"] = lambda remaining: remaining * first
    return found


def train(steps: int | None, seed: int) -> list[tuple[int, float]]:
    """(steps so far, mean queue) of every training episode."""
    chosen = hyperparameters()
    envs = PackVecEnv(ENVIRONMENT, chosen.pop("n_envs"), seed=seed)
    total, queues = int(chosen.pop("n_timesteps")), Queues()
    PPO(chosen.pop("policy"), envs, seed=seed, device="cpu", **chosen).learn(steps or total, callback=queues)
    return queues.found


def first_valid() -> float:
    """The mean queue of EPISODES episodes."""
    envs: Any = gym.make_vec(ENVIRONMENT, num_envs=EPISODES)
    _, info = envs.reset(seed=0)
    found: NDArray[np.float64] = np.full(EPISODES, np.nan)
    while np.isnan(found).any():
        _, _, _, truncated, info = envs.step(info["action_mask"].argmax(axis=1))
        found = np.where(truncated & np.isnan(found), info["mean_queue"], found)
    return float(found.mean())


def best_fit() -> float:
    """The same of BF-J/S, on the same jobs."""
    workload = packenv.workload("paper/fig4b")
    runs = (packenv.simulate(workload, "bf-js", slots=SLOTS, seed=seed, warmup=0) for seed in range(EPISODES))
    return float(np.mean([run.mean_queue for run in runs]))


def main(arguments: Sequence[str] | None = None) -> None:
    options = options_of(__doc__, arguments)
    curve = np.array(train(4096 if options.quick else None, seed=1))
    averaged = min(AVERAGED, len(curve))
    smooth = np.convolve(curve[:, 1], np.ones(averaged) / averaged, "valid")
    rules = {"first valid action": first_valid(), "BF-J/S": best_fit()}
    figure = Figure((7, 4), layout="constrained")
    axes = figure.subplots()
    axes.plot(curve[averaged - 1 :, 0], smooth, label=f"PPO, mean of {averaged} training episodes")
    for (name, queue), style in zip(rules.items(), ("--", ":"), strict=True):
        axes.axhline(queue, color="black", linestyle=style, label=name)
    axes.set(xlabel="steps", ylabel="mean queue of an episode", title=f"{ENVIRONMENT}, agents/rl_zoo/ppo.yml", ylim=(0, None))
    axes.legend()
    path = options.folder / "rl_zoo.png"
    with atomic_path(path) as temporary:
        figure.savefig(temporary, dpi=120)
    print(f"{path}: PPO's last {averaged} episodes {smooth[-1]:.1f}, " + ", ".join(f"{n} {q:.1f}" for n, q in rules.items()))


if __name__ == "__main__":
    main()
