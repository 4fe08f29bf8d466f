"""The learning curve of PPO with the hyper-parameters of agents/rl_zoo/ppo.yml, beside first valid actions and BF-J/S.

Trains with Stable-Baselines3 as rl-zoo does, and draws the mean queue of the training episodes against the steps, with that
of the two rules over 64 episodes of the same length. Then lets the likeliest actions play the jobs of plain_learners.py.
With --quick: a few thousand steps, short runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
import yaml
from matplotlib.figure import Figure
from numpy.typing import NDArray
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback

import packenv
from experiments.plain_learners import QUICK_SEEDS, QUICK_SLOTS, SEEDS, SLOTS, Setting
from experiments.script_options import options_of
from packenv.envs import PackVecEnv
from packenv.envs.registration import id_of
from packenv.files import atomic_path

FILE = Path(__file__).resolve().parents[1] / "agents" / "rl_zoo" / "ppo.yml"
NAME = "ServerFill"
SETTING: Setting = {"workload": "paper/fig4b", "intensity": 0.9}
ENVIRONMENT = id_of(NAME)
EPISODE = 10_000  # slots, as the environment has it
QUICK_STEPS = 16_384  # the first episodes end before that
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


def train(steps: int | None, seed: int) -> tuple[PPO, NDArray[np.float64]]:
    """The trained model, and (N, 2) steps so far and mean queue of every training episode."""
    torch.set_num_threads(1)  # the networks are small: more threads would wait for each other
    chosen = hyperparameters()
    envs = PackVecEnv(ENVIRONMENT, chosen.pop("n_envs"), seed=1000 * seed)
    total, queues = int(chosen.pop("n_timesteps")), Queues()
    model = PPO(chosen.pop("policy"), envs, seed=seed, device="cpu", **chosen)
    model.learn(steps or total, callback=queues)
    return model, np.array(queues.found)


def main(arguments: Sequence[str] | None = None) -> None:
    options = options_of(__doc__, arguments)
    slots, jobs = (QUICK_SLOTS, QUICK_SEEDS) if options.quick else (SLOTS, SEEDS)
    figure = Figure((7, 4), layout="constrained")
    axes = figure.subplots()
    model, curve = train(QUICK_STEPS if options.quick else None, seed=1)
    averaged = min(AVERAGED, len(curve))
    smooth = np.convolve(curve[:, 1], np.ones(averaged) / averaged, "valid")
    axes.plot(curve[averaged - 1 :, 0], smooth, label=f"PPO: mean of {averaged} training episodes")
    score = packenv.evaluate_agent(model, ENVIRONMENT, slots=slots, seeds=jobs, **SETTING)
    print(f"likeliest actions: {score}", flush=True)
    first = packenv.evaluate_agent(
        lambda seen, masks: masks.argmax(axis=1), ENVIRONMENT, slots=EPISODE, seeds=range(64), **SETTING
    )
    for label, style, queues in (("first valid action", "--", first.scores), ("BF-J/S", ":", first.against)):
        axes.axhline(float(np.mean(queues)), color="black", linestyle=style, label=label)
    axes.set(xlabel="steps", ylabel=f"mean queue of an episode of {EPISODE:,} slots", ylim=(0, None))
    axes.set_title(f"{ENVIRONMENT} with agents/rl_zoo/ppo.yml")
    axes.legend()
    path = options.folder / "rl_zoo.png"
    with atomic_path(path) as temporary:
        figure.savefig(temporary, dpi=120)
    print(path)


if __name__ == "__main__":
    main()
