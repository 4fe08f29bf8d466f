"""Policies as agents: where an environment has words for all that a policy does, start slots equal the compiled loop's."""

from __future__ import annotations

import warnings
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from stable_baselines3.common.evaluation import evaluate_policy

import packenv
from packenv.envs.agents import PolicyAgent
from packenv.policy import find_policy, needs_of, registered
from packenv.simulation import setting_of
from tests.envs.grid import KINDS

WHOLE_QUEUE = {"rule": "window", "window": 400, "waiting_limit": 400}
EQUAL: list[tuple[str, dict[str, Any], str]] = [
    ("Placement", WHOLE_QUEUE, "fifo-ff"),
    ("Placement", WHOLE_QUEUE, "bf-j"),
    ("Placement", {}, "bf-s"),
    ("Placement", {"rule": "head"}, "vqs"),
    ("ServerFill", {"order": "index"}, "bf-s"),
    ("Configuration", {"rule": "vqs"}, "vqs"),
    ("Configuration", {}, "vqs-bf"),
]
WORKLOADS: list[tuple[str, dict[str, Any], int]] = [
    ("paper/fig4b", {}, 1500),
    ("paper/fig4a", {"intensity": 0.95}, 500),
    ("paper/fig4b", {"servers": "2x1,2x0.5,1x0.9", "intensity": 0.8}, 1500),
    ("paper/fig3b", {"rate": 0.03}, 4000),
]
TWO = [("Placement", WHOLE_QUEUE, "fifo-ff"), ("Placement", WHOLE_QUEUE, "bf-j")]


def drive(env: Any, policy: str, seed: int) -> tuple[Any, list[Any]]:
    """An episode under a policy: the environment, and all infos."""
    agent = PolicyAgent(policy, env)
    seen, info = env.reset(seed=seed)
    infos, total, done = [info], 0.0, False
    while not done:
        action, _ = agent.predict(seen)
        seen, reward, terminated, truncated, info = env.step(action)
        infos.append(info)
        total += reward
        done = terminated or truncated
    infos[-1]["total"] = total
    return env.unwrapped, infos


def equal(kind: str, options: dict[str, Any], policy: str, workload: Any, slots: int, seed: int) -> None:
    env = gym.make(f"packenv/{kind}-v0", workload=workload, horizon=slots, record_schedule=True, **options)
    inner, infos = drive(env, policy, seed)
    assert infos[-1]["reason"] == "horizon"
    assert not any(info["invalid"] for info in infos)
    start, server = inner.schedule()
    run = packenv.simulate(workload, policy, slots=slots, seed=seed, schedule=True, warmup=0)
    assert run.schedule is not None
    assert run.started > 20
    rows = len(run.schedule.start)
    assert start[:rows].tolist() == run.schedule.start.tolist()
    assert server[:rows].tolist() == run.schedule.server.tolist()
    assert set(start[rows:].tolist()) <= {-1}
    assert infos[-1]["total"] == -round((run.mean_queue or 0) * run.slots)
    assert sum(info["elapsed"] for info in infos) == slots - infos[0]["slot"]


@pytest.mark.parametrize("kind, options, policy", EQUAL, ids=[f"{kind}-{policy}" for kind, _, policy in EQUAL])
@pytest.mark.parametrize("name, changes, slots", WORKLOADS, ids=["fig4b", "fig4a", "unequal", "fig3b"])
def test_start_for_start(kind: str, options: dict[str, Any], policy: str, name: str, changes: Any, slots: int) -> None:
    for seed in (3, 4):
        equal(kind, options, policy, packenv.workload(name, **changes), slots, seed)


@pytest.mark.parametrize("kind, options, policy", TWO)
def test_start_for_start_with_two_resources(kind: str, options: dict[str, Any], policy: str) -> None:
    from packenv.workloads.laws import Geometric, Uniform

    sizes = (Uniform(0.1, 0.6), Uniform(0.05, 0.5))
    workload = packenv.Workload(sizes=sizes, service=Geometric(20), servers="2x1:1,1x0.6:1", intensity=0.8)
    equal(kind, options, policy, workload, 800, 2)


def test_the_comparison_can_fail() -> None:
    """A policy that the environment cannot follow to the letter."""
    with pytest.raises(AssertionError):
        equal("Placement", {}, "fifo-ff", packenv.workload("paper/fig4b"), 1500, 3)


SETTING = setting_of(packenv.workload("paper/fig4a"))
STREAMED = [name for name in sorted({*registered()} - {"agent", "replay"}) if not needs_of(find_policy(name), SETTING).table]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("policy", [*STREAMED, "agent:fig4b", "vqs:adaptive", "vqs-bf:stall"])
def test_every_policy_drives_every_environment(kind: str, policy: str) -> None:
    workload: Any = "paper/fig4a" if policy == "slot-fifo" else "paper/fig4b"
    env = gym.make(f"packenv/{kind}-v0", workload=workload, intensity=0.6, horizon=600)
    agent = PolicyAgent(policy, env)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        returns, lengths = evaluate_policy(agent, env, n_eval_episodes=2, return_episode_rewards=True)
    assert len(returns) == 2
    assert min(lengths) > 3
    inner: Any = env.unwrapped
    head = inner.core.batch.c.head[0]
    assert returns[0] <= 0
    assert head["started"] >= 0


def test_predict_on_batches() -> None:
    """One agent for all rows, of a batch and of Stable-Baselines3, and the same as one by one."""
    options: dict[str, Any] = {"horizon": 300, "intensity": 0.8}
    env = gym.make_vec("packenv/Placement-v0", num_envs=3, **options)
    agent = PolicyAgent("bf-s", env)
    seen, _ = env.reset(seed=7)
    rows: list[list[int]] = [[], [], []]
    over = np.zeros(3, bool)
    while not over.all():
        actions, _ = agent.predict(seen)
        assert actions.shape == (3,)
        for row in np.flatnonzero(~over):
            rows[row].append(int(actions[row]))
        seen, _, terminated, truncated, _ = env.step(actions)
        over |= terminated | truncated
    for row in range(3):
        single = gym.make("packenv/Placement-v0", **options)
        alone = PolicyAgent("bf-s", single)
        observation, _ = single.reset(seed=7 + row)
        for wanted in rows[row]:
            action, _ = alone.predict(observation, state=None, episode_start=None, deterministic=True)
            assert np.ndim(action) == 0
            assert int(action) == wanted
            observation, *_ = single.step(action)
