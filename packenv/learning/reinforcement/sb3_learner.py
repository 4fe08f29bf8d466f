"""Stable-Baselines3's algorithms as learners."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import Logger

from packenv.envs.interfaces.sb3 import PackVecEnv
from packenv.learning.imitation import imitate_policy
from packenv.learning.learner import Learner
from packenv.learning.reinforcement.algorithms import MaskedDQN, make_model
from packenv.learning.reinforcement.buffers import AverageReward
from packenv.learning.reinforcement.sb3_policies import network_of
from packenv.learning.settings import Settings

MEASURES = ("measured", "queue_sum", "delay_sum", "delay_count")


class ClusterAverages:
    """Means over all environments since the last `take`.

    Of an environment whose episode ended since then, only the new episode counts.
    """

    def __init__(self, env: PackVecEnv) -> None:
        self.env = env
        self.start()

    def start(self) -> None:
        """Measure from here on."""
        self.guarded = 0.0  # slots in which the guard scheduled
        self.elapsed: list[NDArray[np.int64]] = []  # slots, (E,) for each step
        self.episodes = self.env.core.episodes.copy()
        self.before = self._counters()

    def step(self) -> None:
        """Call this after every step of the environments."""
        self.elapsed.append(self.env.elapsed)
        self.guarded += float(self.env.guarded.sum())

    def pop_means(self) -> dict[str, float]:
        """The means by name, and start again."""
        core, now = self.env.core, self._counters()
        since = (now - np.where(core.episodes == self.episodes, self.before, 0.0)).sum(axis=1)
        slots, queue, delay, started, *used = since.tolist()
        elapsed = np.concatenate(self.elapsed) if self.elapsed else np.zeros(1, np.int64)
        passed, guarded = float(elapsed.sum()), self.guarded
        self.start()
        means: dict[str, Any] = {
            "time/elapsed slots per decision (mean)": elapsed.mean(),
            "time/elapsed slots per decision (p95)": np.percentile(elapsed, 95),
        }
        if slots > 0:
            means["cluster/mean queue"] = queue / slots
            for r, total in enumerate(core.batch.total.tolist()):
                name = "cluster/utilisation" + (f" of resource {r}" if len(used) > 1 else "")
                means |= {name: used[r] / slots / total} if total > 0 else {}
        if started > 0:
            means["cluster/delay"] = delay / started
        if passed > 0:
            means["guard/intervention rate"] = guarded / passed
        return {name: float(value) for name, value in means.items()}

    def _counters(self) -> NDArray[np.float64]:
        """(4 + D, E): the counters of each cluster, and unit-slots in service by resource."""
        c = self.env.core.batch.c
        return np.concatenate([[c.head[name].astype(np.float64) for name in MEASURES], c.measures.used.T])


COUNTERS = ("num_timesteps", "_n_updates", "_episode_num")
"""Attributes of the algorithms that a checkpoint keeps. DQN's replay buffer is not kept: it fills again."""


class Sb3Learner(Learner):
    """MaskablePPO, PPO, A2C or DQN on `settings.envs` environments side by side."""

    clusters: ClusterAverages  # from the first `learn` on

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.average = AverageReward() if settings.average_reward else None
        self.env = PackVecEnv(settings.environment, settings.envs, bare=True, **settings.env_options())
        self.model: Any = make_model(replace(settings, seed=settings.seed_after(0)), self.env, self.average)
        self.logger = Logger(folder=None, output_formats=[])
        self.model.set_logger(self.logger)
        self.network = network_of(self.model.policy)
        self.module, self.optimizer = self.model.policy, self.model.policy.optimizer
        self.core = self.env.core
        self.attributes = COUNTERS + (("_n_calls",) if isinstance(self.model, MaskedDQN) else ())

    @property
    def samples(self) -> int:
        return int(self.model.num_timesteps)

    def initialise(self, say: Callable[[str], None] = print) -> str | None:
        line = super().initialise(say)
        if self.settings.imitate is not None:
            line = imitate_policy(self.settings, self.network, say)
        if isinstance(self.model, MaskedDQN):
            self.model.copy_to_target()
        return line

    def learn(self, samples: int, between: Callable[[], None]) -> None:
        # the mask is in the observation, so MaskablePPO need not ask the environment for it
        options = {"use_masking": False} if self.settings.algorithm == "maskable-ppo" else {}
        callback = BetweenIterations(self, between)
        self.model.learn(samples, callback=callback, reset_num_timesteps=False, log_interval=None, **options)

    def whole(self, samples: int) -> int:
        """The algorithms make whole iterations: a number of steps in every environment."""
        iteration = self.settings.envs * self.settings.steps
        return self.samples + -(-max(samples - self.samples, 0) // iteration) * iteration

    def measured(self) -> dict[str, float]:
        values: dict[str, Any] = self.logger.name_to_value
        measures = self.clusters.pop_means() | {name: float(value) for name, value in values.items()}
        values.clear()
        if self.average is not None:
            measures["train/average reward per slot"] = self.average.rate
        return measures

    def counters(self) -> dict[str, Any]:
        counters: dict[str, Any] = {name: getattr(self.model, name) for name in self.attributes}
        return counters | {"average": None if self.average is None else [self.average.reward, self.average.elapsed]}

    def resume(self, counters: dict[str, Any]) -> None:
        for name in self.attributes:
            setattr(self.model, name, counters[name])
        if self.average is not None:
            self.average.reward, self.average.elapsed = counters["average"]
        if isinstance(self.model, MaskedDQN):
            self.model.refill_replay_buffer()
        self.model.set_random_seed(self.settings.seed_after(self.samples))


class BetweenIterations(BaseCallback):
    """Calls `between` before each of the algorithm's iterations, and measures the clusters at every step."""

    def __init__(self, learner: Sb3Learner, between: Callable[[], None]) -> None:
        super().__init__()
        self.learner, self.between = learner, between

    def _on_training_start(self) -> None:
        self.learner.env.stagger()
        self.learner.clusters = ClusterAverages(self.learner.env)

    def _on_step(self) -> bool:
        self.learner.clusters.step()
        return True

    def _on_rollout_start(self) -> None:
        self.between()
