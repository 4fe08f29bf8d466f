"""Four curves of one training run, of which one says what was learnt: the picture of docs/tutorials/first_agent.md.

MaskablePPO on ServerFill as in examples/first_agent.py, with the evaluations of Stable-Baselines3 and of packenv beside it.
With --quick: a few thousand steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from matplotlib.figure import Figure
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.callbacks import MaskableEvalCallback
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.env_util import make_vec_env

from experiments.plain_learners import QUICK_STEPS, Setting, discount_of
from experiments.script_options import options_of
from packenv.envs import EvaluateRatio, QueueRatio
from packenv.envs.registration import id_of
from packenv.files import atomic_path

ENVIRONMENT = id_of("ServerFill")
SETTING: Setting = {"workload": "paper/fig4b", "intensity": 0.9}
STEPS, EVERY, ENVS = 150_000, 12_288, 8
CURVES = {
    "rollout/ep_rew_mean": "return of training episodes",
    "eval/mean_reward": "return of EvalCallback's five episodes",
    "cluster/ratio": "QueueRatio: training episodes to BF-J/S",
    "eval/ratio": "EvaluateRatio: fixed jobs, to BF-J/S",
}


class Collect(BaseCallback):
    """Keeps what the others have logged, by name: the steps so far, and the value."""

    def __init__(self) -> None:
        super().__init__()
        self.found: dict[str, list[tuple[int, float]]] = {name: [] for name in CURVES}

    def _on_step(self) -> bool:
        return True

    def _on_training_start(self) -> None:
        dump: Any = self.logger.dump

        def keep(step: int = 0) -> None:
            for name, points in self.found.items():
                if name in self.logger.name_to_value:
                    points.append((self.num_timesteps, float(self.logger.name_to_value[name])))
            dump(step)

        self.logger.dump = keep


def main(arguments: Sequence[str] | None = None) -> None:
    options = options_of(__doc__, arguments)
    steps, every = (QUICK_STEPS, QUICK_STEPS // 2) if options.quick else (STEPS, EVERY)
    torch.set_num_threads(1)
    envs, other = (
        make_vec_env(ENVIRONMENT, n, seed=seed, env_kwargs=SETTING | {"yardstick": n > 1}) for n, seed in ((ENVS, 0), (1, 99))
    )
    rollout = 256 if options.quick else 2048
    model = MaskablePPO("MlpPolicy", envs, n_steps=rollout, seed=0, device="cpu", **discount_of("ServerFill"))
    collected, often = Collect(), every // ENVS
    ratio = EvaluateRatio(ENVIRONMENT, eval_freq=often, slots=5_000 if options.quick else 50_000, **SETTING)
    model.learn(steps, callback=[collected, QueueRatio(), MaskableEvalCallback(other, eval_freq=often, verbose=0), ratio])
    figure = Figure((8, 5), layout="constrained")
    for axes, (name, label) in zip(figure.subplots(2, 2).flat, CURVES.items(), strict=True):
        points = collected.found[name]
        axes.plot([step for step, _ in points], [value for _, value in points], marker=".")
        axes.set(title=label, xlabel="decisions", ylabel=name)
        axes.locator_params(axis="x", nbins=4)
        print(f"{name}: " + ", ".join(f"{value:.3g}" for _, value in points), flush=True)
    path = options.folder / "four_curves.png"
    with atomic_path(path) as temporary:
        figure.savefig(temporary, dpi=100)
    print(path)


if __name__ == "__main__":
    main()
