"""Policies as agents: where an environment has words for all that a policy does, start slots equal the compiled loop's."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from stable_baselines3.common.evaluation import evaluate_policy

import packenv
from packenv import InputError
from packenv.catalogue import CATALOGUE
from packenv.envs.core.state import REASONS
from packenv.envs.options import Warm
from packenv.envs.policy_agents.agent import PolicyAgent
from packenv.workloads.named.analytics import analytics
from tests.cluster.user_policies import Hold, HoldInPython, runs
from tests.envs.grid import KINDS
from tests.envs.playing import plain_env, plain_vec

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


def drive(env: Any, policy: Any, seed: int) -> tuple[Any, list[Any]]:
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


def equal(kind: str, options: dict[str, Any], policy: Any, workload: Any, slots: int, seed: int) -> None:
    env = plain_env(kind, workload=workload, horizon=slots, record_schedule=True, **options)
    inner, infos = drive(env, policy, seed)
    assert REASONS[infos[-1]["reason"]] == "horizon"
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
    equal(kind, options, policy, packenv.workload(name, **changes), slots, seed=3)


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


STREAMED = sorted(name for name, entry in CATALOGUE.items() if "jobs" not in entry.can.split())
DRIVERS = [*STREAMED, "agent:fig4b", "vqs:adaptive", "vqs-bf:stall"]
DRIVEN = [(kind, policy) for policy in DRIVERS for kind in KINDS]


def in_turn(number: int) -> Any:
    """Every policy with one environment; with the other two in `make test-minutes`."""
    marks = [] if number % len(KINDS) == number // len(KINDS) % len(KINDS) else [pytest.mark.minutes]
    return pytest.param(*DRIVEN[number], marks=marks)


@pytest.mark.parametrize(("kind", "policy"), map(in_turn, range(len(DRIVEN))))
def test_every_policy_drives_every_environment(kind: str, policy: str) -> None:
    workload: Any = "paper/fig4a" if policy == "slot-fifo" else "paper/fig4b"
    env = plain_env(kind, workload=workload, intensity=0.6, horizon=600)
    env.reset(seed=0)  # the episodes to come are those of this seed
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
    env = plain_vec("Placement", num_envs=3, **options)
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
        single = plain_env("Placement", **options)
        alone = PolicyAgent("bf-s", single)
        observation, _ = single.reset(seed=7 + row)
        for wanted in rows[row]:
            action, _ = alone.predict(observation, state=None, episode_start=None, deterministic=True)
            assert np.ndim(action) == 0
            assert int(action) == wanted
            observation, *_ = single.step(action)


# Policies that keep books: they know jobs, or hear of completions and messages.

KNOWING = ("tetris", "tetris:f=0,b=0.5", "drf", "task-fair", "price", "priority", "capacity", "fifo", "fifo:blocking=false")
JOBS = analytics(jobs=8, servers=4)  # of phases, with four resources, drawn by seed
INSTANCE = packenv.workload("price/fig8")  # with values, all there in slot 0
FINITE: dict[str, Any] = {"rule": "window", "window": 900, "waiting_limit": 900, "horizon": None}


def equal_to_the_end(policy: Any, workload: packenv.Workload, seed: int, **options: Any) -> None:
    """Start for start, up to the last task."""
    env = plain_env("Placement", workload=workload, record_schedule=True, **FINITE, **options)
    inner, infos = drive(env, policy, seed)
    assert REASONS[infos[-1]["reason"]] == "all work is done"
    run = packenv.simulate(workload, policy, seed=seed, schedule=True, drain=True)
    assert run.schedule is not None
    assert infos[-1]["slot"] == run.slots
    start, server = inner.schedule()
    skipped = inner.core.warm.slots if inner.core.warm else 0  # what started before is not in the environment's schedule
    after = run.schedule.start >= skipped
    assert after.sum() > 20
    assert start[after].tolist() == run.schedule.start[after].tolist()
    assert server[after].tolist() == run.schedule.server[after].tolist()


@pytest.mark.parametrize("policy", KNOWING)
@pytest.mark.parametrize("workload", [JOBS, INSTANCE], ids=["analytics", "fig8"])
def test_policies_that_know_jobs(policy: str, workload: packenv.Workload) -> None:
    if (workload, policy) == (JOBS, "priority"):
        pytest.skip("these jobs have no values")
    equal_to_the_end(policy, workload, 0)
    equal_to_the_end(policy, workload.at(3), 0)


def test_a_schedule_is_replayed() -> None:
    from packenv.policies.replay import Replay

    run = packenv.simulate(INSTANCE, "price", seed=3, schedule=True)
    assert run.schedule is not None
    equal_to_the_end(Replay(run.schedule.start, run.schedule.server), INSTANCE, 3)


@pytest.mark.parametrize("policy", ["tetris", "drf"])
def test_a_stream_becomes_a_table(policy: str) -> None:
    workload = packenv.workload("paper/fig4b")
    for seed in (3, 4):
        equal("Placement", WHOLE_QUEUE, policy, workload, 1500, seed)
    warm = plain_env("Placement", **WHOLE_QUEUE, horizon=900, start=Warm(policy, 600), record_schedule=True)
    inner, infos = drive(warm, policy, 3)
    run = packenv.simulate(workload, policy, slots=1500, seed=3, schedule=True)
    assert run.schedule is not None and infos[-1]["slot"] == 1500
    after = run.schedule.start >= 600
    assert after.sum() > 20
    assert inner.schedule()[0][: len(after)][after].tolist() == run.schedule.start[after].tolist()
    env = plain_env("Placement", **WHOLE_QUEUE, horizon=None)
    with pytest.raises(InputError, match=f"policy {policy} needs a table of all jobs"):
        PolicyAgent(policy, env)


@pytest.mark.parametrize("kind", [Hold, HoldInPython])
def test_messages_and_completions_reach_an_agent(kind: Any) -> None:
    """All that it hears, in the order of the loop; slots in which nothing happens but a message are slots of the agent's."""
    workload = packenv.Workload(jobs=packenv.workload("paper/fig4b").jobs_table(1, 60), servers=40)
    run = packenv.simulate(workload, kind(7), drain=True, schedule=True)
    env = plain_env("Placement", workload=workload, record_schedule=True, **FINITE)
    inner, infos = drive(env, kind(7), 0)
    assert infos[-1]["slot"] == run.slots
    assert run.schedule is not None and workload.jobs is not None
    assert inner.schedule()[0].tolist() == run.schedule.start.tolist() == (workload.jobs.arrival + 7).tolist()
    own, its = runs[-1], runs[-2]
    assert own.count[0] > 100
    last = int(own.log[own.count[0] - 1, 0])  # the agent is not asked in the slot in which the last task leaves
    heard = its.log[: its.count[0]]
    assert own.log[: own.count[0]].tolist() == heard[heard[:, 0] <= last].tolist()
    assert its.count[0] - own.count[0] <= 1


@pytest.mark.parametrize("policy", ["tetris", "price"])
def test_warm_starts_of_policies_that_know_jobs(policy: str) -> None:
    equal_to_the_end(policy, INSTANCE, 3, start=Warm(policy, 60))
    for options in ({"start": "warm"}, {"start": Warm("drf", 60), "reward": "advantage", "baseline": "task-fair"}):
        with pytest.raises(InputError, match="has to see a run from its first slot on"):
            PolicyAgent(policy, plain_env("Placement", workload=INSTANCE, **FINITE, **options))


@pytest.mark.parametrize("start", ["empty", Warm("tetris", 60)], ids=["empty", "warm"])
def test_their_advantage_over_themselves_is_nothing(start: Any) -> None:
    env = plain_env("Placement", workload=INSTANCE, reward="advantage", baseline="tetris", start=start, **FINITE)
    agent = PolicyAgent("tetris", env)
    for seed in (3, None):
        seen, _ = env.reset(seed=seed)
        done = False
        while not done:
            seen, reward, done, _, _ = env.step(agent.predict(seen)[0])
            assert reward == 0


def test_advantage_over_a_policy_that_knows_jobs() -> None:
    env = plain_env("Placement", workload=INSTANCE, reward="advantage", baseline="drf", **FINITE)
    _, infos = drive(env, "tetris", 3)
    queues = [packenv.simulate(INSTANCE, policy, seed=3) for policy in ("drf", "tetris")]
    baseline, own = (round((run.mean_queue or 0) * min(run.slots, infos[-1]["slot"])) for run in queues)
    assert infos[-1]["total"] == baseline - own != 0


def test_an_environment_without_the_words_is_refused() -> None:
    """Not in silence: what the policy believes and what is so would drift apart."""
    for kind, options in (("ServerFill", {}), ("Placement", {"rule": "window", "window": 2})):
        env = plain_env(kind, workload=JOBS, horizon=None, **options)
        with pytest.raises(InputError, match=r"^policy tetris drives only environments .* alone started row \d+ on server \d$"):
            drive(env, "tetris", 3)


def test_back_in_time() -> None:
    """The run beside the environment follows it there."""
    env: Any = plain_env("Placement", workload=INSTANCE, **FINITE).unwrapped
    agent = PolicyAgent("tetris", env)
    seen, _ = env.reset(seed=3)
    for _ in range(60):
        seen, *_ = env.step(agent.predict(seen)[0])
    state = env.get_state()

    def rest() -> list[int]:
        actions, done = [], False
        while not done:
            actions.append(int(agent.predict(seen)[0]))
            _, _, done, _, _ = env.step(actions[-1])
        return actions

    wanted = rest()
    env.set_state(state)
    assert rest() == wanted
