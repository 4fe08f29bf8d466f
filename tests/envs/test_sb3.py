"""Stable-Baselines3: its `VecEnv` over the core, masks, and agents that learn for a few thousand steps."""

from __future__ import annotations

import warnings
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.utils import get_action_masks, is_masking_supported
from stable_baselines3 import A2C, DQN, PPO
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.vec_env import VecMonitor

import packenv
from packenv import InputError
from packenv.envs.core.state import REASONS
from packenv.envs.policy_agents.agent import PolicyAgent
from tests.envs.playing import plain_env, plain_sb3, plain_vec


def test_rows_are_those_of_the_batch() -> None:
    own = plain_sb3("ServerFill", 3, horizon=150, seed=4)
    batch = plain_vec("ServerFill", num_envs=3, horizon=150, autoreset_mode="SameStep")
    seen, (wanted, info) = own.reset(), batch.reset(seed=4)
    done_once = False
    while not done_once:
        assert all((seen[key] == wanted[key]).all() for key in wanted)
        assert (own.action_masks() == info["action_mask"]).all()
        actions = info["action_mask"].argmax(axis=1)
        seen, rewards, done, infos = own.step(actions)
        wanted, wanted_rewards, terminated, truncated, info = batch.step(actions)
        assert np.allclose(rewards, wanted_rewards)
        assert (done == (terminated | truncated)).all()
        done_once = bool(done.any())
        if not done_once:
            assert (own.elapsed == info["elapsed"]).all()
            assert infos == [{}, {}, {}]
    row = int(np.argmax(done))
    assert infos[row]["TimeLimit.truncated"]
    assert REASONS[infos[row]["reason"]] == "horizon"
    assert all((infos[row]["terminal_observation"][key] == info["final_obs"][row][key]).all() for key in seen)
    assert own.elapsed[row] == info["final_info"]["elapsed"][row] == infos[row]["elapsed"]


def test_masks_as_sb3_asks_for_them() -> None:
    env = plain_sb3("Placement", 4, seed=0)
    env.reset()
    assert is_masking_supported(env)
    masks = get_action_masks(env)
    assert masks.shape == (4, 41) and masks.dtype == np.bool_ and masks[:, -1].all() and not masks.all()
    assert env.env_method("action_masks", indices=[2])[0].tolist() == masks[2].tolist()
    assert env.get_attr("num_envs", indices=[0, 1]) == [4, 4]
    assert not env.has_attr("nonsense")
    assert env.env_is_wrapped(gym.Wrapper) == [False] * 4
    single = plain_env("Placement")
    single.reset(seed=0)
    assert is_masking_supported(single)  # type: ignore[arg-type]
    assert get_action_masks(single).tolist() == masks[0].tolist()  # type: ignore[arg-type]
    with pytest.raises(InputError, match="did you mean Placement"):
        plain_sb3("Placment", 2)


def test_policies_are_agents_here_too() -> None:
    env = VecMonitor(plain_sb3("ServerFill", 3, horizon=400, order="index", seed=1))
    returns, lengths = evaluate_policy(PolicyAgent("bf-s", env), env, n_eval_episodes=3, return_episode_rewards=True)
    single = plain_env("ServerFill", horizon=400, order="index")
    agent = PolicyAgent("bf-s", single)
    wanted = []
    for row in range(3):
        seen, _ = single.reset(seed=1 + row)
        total, truncated = 0.0, False
        while not truncated:
            seen, reward, _, truncated, _ = single.step(agent.predict(seen)[0])
            total += reward
        wanted.append(total)
    assert sorted(returns) == pytest.approx(sorted(wanted))  # type: ignore[type-var]
    assert min(lengths) > 10


NETWORK: dict[str, Any] = {"policy_kwargs": {"net_arch": [16]}, "seed": 0, "device": "cpu"}


@pytest.mark.parametrize("kind", ["Placement", "ServerFill", "Configuration"])
@pytest.mark.parametrize("algorithm", [PPO, A2C, MaskablePPO])
def test_learning(kind: str, algorithm: Any) -> None:
    env = VecMonitor(plain_sb3(kind, 16, observation="compact", horizon=500, reward="size"))
    steps = {"n_steps": 64} | ({} if algorithm is A2C else {"n_epochs": 2, "batch_size": 256})
    model = algorithm("MultiInputPolicy", env, **steps, **NETWORK)
    before = [value.detach().clone() for value in model.policy.parameters()]
    model.learn(2048)
    assert model.num_timesteps >= 2048
    assert any((old != new).any() for old, new in zip(before, model.policy.parameters(), strict=True))
    assert all(np.isfinite(value.detach().numpy()).all() for value in model.policy.parameters())
    seen = env.reset()
    actions, _ = model.predict(seen, deterministic=True)
    assert actions.shape == (16,)


def test_dqn_learns() -> None:
    env = gym.wrappers.FlattenObservation(plain_env("ServerFill", reward="delay", horizon=500))
    model = DQN("MlpPolicy", env, learning_starts=200, train_freq=16, **NETWORK).learn(2000)
    assert model.num_timesteps == 2000


def test_a_thousand_actions() -> None:
    env = plain_sb3("Placement", 4, observation="compact", servers=130, horizon=300, intensity=0.9)
    assert env.action_space.n == 1041  # type: ignore[attr-defined]
    model = MaskablePPO("MultiInputPolicy", env, n_steps=128, n_epochs=1, batch_size=256, **NETWORK).learn(1024)
    assert model.num_timesteps == 1024
    seen = env.reset()
    actions, _ = model.predict(seen, action_masks=env.action_masks())
    assert env.action_masks()[np.arange(4), actions].all()


@pytest.mark.slow
def test_trained_on_five_servers_runs_on_a_thousand() -> None:
    env = plain_sb3("ServerFill", 8, servers=5, horizon=300)
    model = PPO("MultiInputPolicy", env, n_steps=64, n_epochs=1, **NETWORK).learn(512)
    large = plain_env("ServerFill", servers=1000, horizon=12)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        returns, _ = evaluate_policy(model, large, n_eval_episodes=1, return_episode_rewards=True)
    assert len(returns) == 1  # type: ignore[arg-type]


def test_staggered_episodes_end_one_after_the_other() -> None:
    env = plain_sb3("ServerFill", 4, horizon=400, seed=4)
    env.reset()
    env.stagger()
    ages: dict[int, int] = {}
    slots = env.core.batch.passage["slot"].copy()  # of the first decisions
    while len(ages) < 4:
        _, _, done, _ = env.step(env.action_masks().argmax(axis=1))
        slots += env.elapsed
        for row in np.flatnonzero(done).tolist():
            ages.setdefault(row, int(slots[row]))
    assert [ages[row] for row in range(4)] == pytest.approx([100, 200, 300, 400], abs=5)


@pytest.mark.parametrize("measure", ["queue", "delay"])
def test_the_ratio_to_the_yardstick_is_logged(measure: str) -> None:
    """Of a stream that of the mean queues, of a table, which lasts until its work is done, that of the mean delays."""
    from packenv.envs import PackVecEnv, QueueRatio

    table = packenv.Workload(jobs=packenv.Jobs.of([0] * 60, [0.5, 0.3, 0.2] * 20, [9, 30, 20, 40] * 15), servers=2)
    env = PackVecEnv("ServerFill", 2, seed=0, yardstick=True, **({"horizon": 300} if measure == "queue" else {"workload": table}))
    logged: dict[str, float] = {}
    model = PPO("MlpPolicy", env, n_steps=64, batch_size=64, n_epochs=1, device="cpu")
    callback = QueueRatio()
    dump = callback._on_rollout_end
    callback._on_rollout_end = lambda: (dump(), logged.update(model.logger.name_to_value))[0]  # type: ignore[method-assign]
    model.learn(128, callback=callback)
    of_baseline = logged[f"cluster/mean {measure} of the baseline"]
    assert logged["cluster/ratio"] == pytest.approx(logged[f"cluster/mean {measure}"] / of_baseline)
    if measure == "delay":
        own = packenv.simulate(table, "bf-js", drain=True, warmup=0)
        assert (logged["cluster/mean queue of the baseline"], of_baseline) == pytest.approx((own.mean_queue, own.mean_delay))
