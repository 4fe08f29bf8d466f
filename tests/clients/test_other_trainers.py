"""Libraries that `make install` does not bring, each learning a little; a test skips where its library is missing.

Run with skrl 2.1.1, sbx-rl 0.28.0 (jax 0.10.2), imitation 1.0.1 and d3rlpy 2.8.1, installed by `pip install --no-deps`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import packenv
from packenv.envs import PackVecEnv

ID = "packenv/ServerFill-v1"


def test_sbx() -> None:
    """PPO in JAX, on a batch in one compiled call; the scores are those of `packenv.evaluate_agent`."""
    sbx = pytest.importorskip("sbx")
    model = sbx.PPO("MlpPolicy", PackVecEnv(ID, num_envs=4, seed=0), n_steps=32, batch_size=64, n_epochs=1)
    model.learn(256)
    scores = packenv.evaluate_agent(model, ID, slots=500, seeds=2)
    assert np.isfinite(scores.ratio.mean)


def test_skrl() -> None:
    """PPO on a batch that skrl wraps as Gymnasium's."""
    pytest.importorskip("skrl")
    import torch
    from skrl.agents.torch.ppo import PPO, PPO_CFG
    from skrl.envs.wrappers.torch import wrap_env
    from skrl.memories.torch import RandomMemory
    from skrl.models.torch import CategoricalMixin, DeterministicMixin, Model
    from skrl.trainers.torch import SequentialTrainer

    env = wrap_env(gym.make_vec(ID, num_envs=3), wrapper="gymnasium")

    class Policy(CategoricalMixin, Model):
        def __init__(self) -> None:
            Model.__init__(self, observation_space=env.observation_space, action_space=env.action_space, device="cpu")
            CategoricalMixin.__init__(self)
            self.net = torch.nn.Linear(self.num_observations, self.num_actions)

        def compute(self, inputs: Any, role: str = "") -> Any:
            return self.net(inputs["observations"]), {}

    class Value(DeterministicMixin, Model):
        def __init__(self) -> None:
            Model.__init__(self, observation_space=env.observation_space, action_space=env.action_space, device="cpu")
            DeterministicMixin.__init__(self)
            self.net = torch.nn.Linear(self.num_observations, 1)

        def compute(self, inputs: Any, role: str = "") -> Any:
            return self.net(inputs["observations"]), {}

    memory = RandomMemory(memory_size=16, num_envs=env.num_envs, device="cpu")
    settings = PPO_CFG(rollouts=16, learning_epochs=1, mini_batches=2)
    settings.experiment.write_interval = settings.experiment.checkpoint_interval = 0
    spaces = {"observation_space": env.observation_space, "action_space": env.action_space}
    policy = Policy()
    before = policy.net.weight.detach().clone()
    agent = PPO(models={"policy": policy, "value": Value()}, memory=memory, cfg=settings, device="cpu", **spaces)
    SequentialTrainer(env=env, agents=agent, cfg={"timesteps": 64, "headless": True}).train()
    assert not torch.equal(before, policy.net.weight)


def test_imitation() -> None:
    """Behaviour cloning of first valid actions: its transitions come from a rollout of Stable-Baselines3's kind."""
    pytest.importorskip("imitation")
    from imitation.algorithms import bc
    from imitation.data.types import Transitions

    env = gym.make(ID, horizon=2000)
    seen, info = env.reset(seed=0)
    rows = []
    for _ in range(300):
        action = int(np.argmax(info["action_mask"]))
        after, _, terminated, truncated, info = env.step(action)
        rows.append((seen, action, after, terminated))
        seen = after
        if terminated or truncated:
            seen, info = env.reset()
    states, actions, following, ends = (np.array(column) for column in zip(*rows, strict=True))
    shown = Transitions(obs=states, acts=actions, infos=np.array([{}] * len(rows)), next_obs=following, dones=ends)
    random = np.random.default_rng(0)
    clone = bc.BC(observation_space=env.observation_space, action_space=env.action_space, demonstrations=shown, rng=random)
    clone.train(n_epochs=5, progress_bar=False)
    likeliest = clone.policy.predict(states, deterministic=True)[0]
    assert np.mean(likeliest == actions) > 0.9


def test_d3rlpy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Offline learning from a dataset of `packenv record`."""
    d3rlpy = pytest.importorskip("d3rlpy")
    pytest.importorskip("minari")
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    from packenv.cli.main import main

    folder = tmp_path / "flat-v0"
    options = ["--option", "observation=flat", "--option", "max_episode_steps=100000"]
    main(["record", "paper/fig4b", *options, "--episodes", "2", "--horizon", "500", "--out", str(folder)])
    dataset, _ = d3rlpy.datasets.get_minari("flat-v0")
    learner = d3rlpy.algos.DiscreteCQLConfig(batch_size=16).create()
    quiet = d3rlpy.logging.NoopAdapterFactory()
    learner.fit(dataset, n_steps=20, n_steps_per_epoch=20, show_progress=False, save_interval=100, logger_adapter=quiet)
    assert learner.predict(dataset.episodes[0].observations[:5]).shape == (5,)
