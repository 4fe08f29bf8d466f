"""Learning with an untouched MaskablePPO of sb3-contrib.

Everything here is public: your script of twenty lines does the same (`examples/first_agent.py`).
"""

from __future__ import annotations

import math
import time
from typing import Any

import torch
from sb3_contrib import MaskablePPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import configure

from packenv.envs import EvaluateRatio, PackVecEnv, QueueRatio
from packenv.envs.registration import find_definition, id_of
from packenv.learning.agents.library_models import save_model
from packenv.learning.agents.metadata import origin
from packenv.learning.agents.saved import load_agent, save_agent
from packenv.learning.settings import Settings
from packenv.learning.training.evaluation import LoadEvaluation, as_measured
from packenv.learning.training.plan import CurvePoint, RunPlan, TrainedAgent
from packenv.learning.training.run_folder import AGENT
from packenv.learning.training.training_log import TrainingLog, TrainingProgress

ENVIRONMENTS = 8  # that play side by side
DISCOUNT = {"gamma": 0.9, "gae_lambda": 0.9}  # by the decisions in a mean service time
DISCOUNT_OF_JOBS = {"gamma": 0.99, "gae_lambda": 0.95}  # a job has more of them
SHORTER = 4  # an evaluation during training has a quarter of the slots of the last one


def train_by_ppo(settings: Settings, plan: RunPlan, progress: TrainingProgress) -> TrainedAgent:
    """Train MaskablePPO, log to TensorBoard, and save the agent."""
    torch.set_num_threads(1)  # the network is small: more threads would wait for each other
    options, kind, samples = settings.env_options(), settings.environment, settings.samples
    log = TrainingLog(plan.folder, 0, progress.say)
    log.settings(settings.record(), plan.command)
    log.close()

    # The environments, the library's learner and its callbacks.
    envs = PackVecEnv(kind, ENVIRONMENTS, seed=settings.seed, yardstick=True, **options | {"baseline": plan.against})
    how: dict[str, Any] = DISCOUNT_OF_JOBS if find_definition(kind).follows_jobs else DISCOUNT
    if settings.learning_rate:
        how = how | {"learning_rate": settings.learning_rate}
    model = MaskablePPO("MlpPolicy", envs, seed=settings.seed, device="cpu", **how)
    model.set_logger(configure(str(plan.folder), ["tensorboard"]))
    evaluation = EvaluateRatio(
        id_of(kind),
        eval_freq=max((plan.evaluate_every or samples // 10) // ENVIRONMENTS, 1),
        slots=plan.evaluation_slots // SHORTER if settings.workload.jobs is None else None,
        seeds=plan.evaluation_seeds,
        against=plan.against,
        **options | {key: sum(ends) / 2 for key, ends in settings.arrivals.items()},
    )
    watch = TrainingWatch(settings, plan, progress, evaluation)
    began = time.monotonic()
    model.learn(samples, callback=[QueueRatio(), evaluation, watch])
    speed = model.num_timesteps / (time.monotonic() - began)
    evaluation.eval_freq = 1  # the last update has changed the model: evaluate it too
    evaluation.on_step()
    watch.on_step()
    model.logger.close()

    # The agent that is kept, at several loads, on jobs that no training has seen.
    progress.end(f"{model.num_timesteps:,} steps: evaluating")
    agent = load_agent(plan.folder / AGENT)
    compared = LoadEvaluation(settings, plan.against, plan.evaluation_slots, plan.evaluation_seeds)
    measured = as_measured(compared(agent), compared.by, plan.against)
    for path in dict.fromkeys((plan.folder / AGENT, plan.out or plan.folder / AGENT)):
        save_agent(path, agent.about | {"measured": measured}, agent.weights)
    log = TrainingLog(plan.folder, 0, progress.say)
    log.hyperparameters(settings.record(), measured, model.num_timesteps)
    log.close()
    path, by = plan.out or plan.folder / AGENT, str(compared.by)
    return TrainedAgent(
        path, model.num_timesteps, speed, measured, agent.about["samples"], plan.keep, by, plan.against, watch.curve
    )


class TrainingWatch(BaseCallback):
    """A callback that shows progress and saves better agents."""

    def __init__(self, settings: Settings, plan: RunPlan, progress: TrainingProgress, evaluation: EvaluateRatio) -> None:
        super().__init__()
        self.settings, self.plan, self.progress, self.evaluation = settings, plan, progress, evaluation
        self.curve: list[CurvePoint] = []
        self.best = math.inf

    def _on_step(self) -> bool:
        self.progress.reach(self.num_timesteps)
        if len(self.evaluation.scores) > len(self.curve):
            samples, score = self.evaluation.scores[-1]
            loads = ", ".join(f"{key} {sum(ends) / 2:.3g}" for key, ends in self.settings.arrivals.items())
            at = loads or self.settings.workload.name
            self.curve.append(
                CurvePoint(samples, at, score.mean.mean, float(sum(score.against) / len(score.against)), score.ratio.mean)
            )
            self.progress.say(f"{samples:,} steps: {score}")
            if len(self.curve) == 1 or self.plan.keep == "last" or self.evaluation.best < self.best:
                self.best = self.evaluation.best
                self.save()
        return True

    def save(self) -> None:
        path = self.plan.folder / AGENT
        agent = save_model(self.model, path, id_of(self.settings.environment), **self.settings.env_options())
        save_agent(path, agent.about | origin(self.settings, self.plan.command, self.plan.keep), agent.weights)
