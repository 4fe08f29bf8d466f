"""JobFill: rewards and their measures, policies and agents that drive it, and what it refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import packenv
from packenv import InputError, Jobs
from packenv.envs.core.state import WORK_DONE
from packenv.envs.job_fill.features import CLUSTER_FEATURES, GROUP_FEATURES
from packenv.envs.policy_agents.agent import PolicyAgent
from packenv.learning.agents.agent import SavedAgent
from packenv.learning.agents.metadata import agent_metadata
from packenv.learning.objective import measure, objective
from packenv.learning.settings import Settings
from packenv.policies.replay import Replay
from packenv.results.fairness import missing_shares
from packenv.results.job_times import job_times
from packenv.results.schedule_table import Schedule
from packenv.workloads.named.analytics import analytics
from tests.envs.conftest import Player
from tests.envs.playing import plain_env, play

SMALL = analytics(jobs=12, servers=4)
WEIGHTS, OF_CONTEXT = len(GROUP_FEATURES), len(CLUSTER_FEATURES)


def make(**options: Any) -> Any:
    return plain_env("JobFill", **({"workload": SMALL} | options))


def valued(seed: int) -> Jobs:
    """Jobs of two tasks, worth 1, 2, 3, …, the second behind the first."""
    n = 20
    job = np.repeat(np.arange(n // 2), 2)
    service = np.random.default_rng(seed).integers(1, 9, n)
    return Jobs.of(job, np.full(n, 0.6), service, job=job, phase=np.tile([0, 1], n // 2), value=job + 1.0)


def owned(seed: int) -> Jobs:
    """Twenty jobs of three tenants."""
    table = valued(seed)
    return Jobs.of(table.arrival, np.full(20, 0.3), table.service, job=table.job, tenant=np.arange(20) // 2 % 3)


BY_SEED = {"analytics": SMALL, **{draw.__name__: packenv.Workload(jobs=draw, servers=2) for draw in (valued, owned)}}


@pytest.mark.parametrize("workload", BY_SEED.values(), ids=list(BY_SEED))
def test_rewards_add_up_to_the_measures(workload: Any) -> None:
    sums, times = {}, None
    for reward in ("completion", "value", "makespan", "completion:unfairness=2", "makespan:unfairness=0.5"):
        env = make(workload=workload, reward=reward, passing=False, record_schedule=True)
        rewards, infos = play(env, seed=3, choose=Player(5))
        sums[reward] = -sum(rewards)
        c = env.unwrapped.core.parts[0].c
        table = workload.at(infos[0]["seed"]).jobs
        n = len(table)
        schedule = Schedule(c.measures.start[0, :n], c.measures.server[0, :n], c.measures.end[0, :n])
        times = job_times(table, schedule, infos[-1]["slot"])
    assert times is not None and times.makespan == sums["makespan"]
    completion = times.end - times.arrival
    value = np.ones(len(completion)) if table.value is None else table.value[np.unique(times.job, return_index=True)[1]]
    assert completion.sum() == sums["completion"]
    assert (value * completion).sum() == pytest.approx(sums["value"])
    assert table.value is None or sums["value"] != sums["completion"]
    missing, _ = missing_shares(table, schedule, workload.servers.units)
    assert missing > 0
    assert sums["completion:unfairness=2"] - sums["completion"] == pytest.approx(2 * missing)
    assert sums["makespan:unfairness=0.5"] - sums["makespan"] == pytest.approx(0.5 * missing)
    for reward, count in (
        ("completion", len(completion)),
        ("completion:unfairness=2", len(completion)),
        ("makespan:unfairness=0.5", 1),
    ):
        replayed, _ = measure(workload, Replay(schedule.start, schedule.server), None, infos[0]["seed"], objective(reward))
        assert replayed == pytest.approx(sums[reward] / count)


def passes(info: dict[str, Any]) -> int:
    """Passes if it may, and otherwise takes the first group."""
    return int(np.flatnonzero(info["action_mask"])[0 if not info["action_mask"][-1] else -1])


def test_one_who_passes_whenever_that_is_valid_still_comes_to_the_end() -> None:
    """One task runs at a time. Task 1 fits on server 1 alone, which was passed while the others ran on server 0."""
    jobs = Jobs.of([0, 1, 1], [0.4, 0.9, 0.4], [5, 3, 2])
    env = make(workload=packenv.Workload(jobs=jobs, servers="1x0.5,1x1"), record_schedule=True)
    _, infos = play(env, seed=0, choose=passes)
    start, server = env.unwrapped.schedule()
    assert (start.tolist(), server.tolist(), infos[-1]["reason"]) == ([0, 7, 5], [0, 1, 0], WORK_DONE)


def test_the_last_server_of_an_empty_cluster_that_is_passed_is_told_as_invalid() -> None:
    jobs = Jobs.of([0], [0.4], [5])
    for ask, invalid in (("changed", True), ("always", False)):
        env = make(workload=packenv.Workload(jobs=jobs, servers=1), ask=ask, horizon=20)
        _, info = env.reset(seed=0)
        assert info["action_mask"][-1] == (not invalid)
        assert env.step(env.action_space.n - 1)[4]["invalid"] == invalid


@pytest.mark.parametrize("policy", ["tetris:f=0.5,m=3", "drf", "price", "fifo-ff"])
def test_every_policy_drives_it(policy: str) -> None:
    """Equal to the simulator's loop, to the slot and the server."""
    env = make(window=64, record_schedule=True, ask="always")
    for seed in (1, 2):
        seen, info = env.reset(seed=seed)
        agent, done = PolicyAgent(policy, env), False
        while not done:
            seen, _, terminated, truncated, info = env.step(agent.predict(seen)[0])
            done = terminated or truncated
        run = packenv.simulate(SMALL, policy, seed=info["seed"], schedule=True, drain=True)
        start, server = env.unwrapped.schedule()
        assert run.schedule is not None and start.tolist() == run.schedule.start.tolist()
        assert server.tolist() == run.schedule.server.tolist()


def test_a_policy_that_starts_a_task_which_is_not_offered_is_told() -> None:
    env = make(window=1)
    seen, _ = env.reset(seed=1)
    agent = PolicyAgent("price", env)
    with pytest.raises(InputError, match="alone started row"):
        for _ in range(10_000):
            seen, _, terminated, _, _ = env.step(agent.predict(seen)[0])
            assert not terminated


def agent_with(weights: Any, of_context: Any, passing: bool) -> SavedAgent:
    settings = Settings(SMALL, environment="JobFill", network="sum", window=8, options={"passing": passing})
    arrays = {"actor.of_action": np.float32(weights), "actor.of_context": np.float32(of_context)}
    return SavedAgent("tried", agent_metadata(settings, "", 0, "last", {}), arrays)


@pytest.mark.parametrize("passing", [False, True])
def test_an_agent_does_in_the_loop_what_it_does_in_the_environment(passing: bool) -> None:
    rng = np.random.default_rng(3)
    weights, of_context = rng.normal(size=WEIGHTS), rng.normal(size=OF_CONTEXT)
    weights[1] = 1.0
    env = make(window=8, record_schedule=True, passing=passing)
    seen, info = env.reset(seed=4)
    done, waited = False, 0
    while not done:
        scores = seen["actions"] @ np.float32(weights) + seen["actions"][:, 1] * (seen["context"] @ np.float32(of_context))
        action = int(np.argmax(np.where(info["action_mask"], scores, -np.inf)))
        waited += action == 8
        seen, _, terminated, truncated, info = env.step(action)
        done = terminated or truncated
    run = packenv.simulate(SMALL, agent_with(weights, of_context, passing), seed=info["seed"], schedule=True, drain=True)
    start, server = env.unwrapped.schedule()
    assert run.schedule is not None and start.tolist() == run.schedule.start.tolist()
    assert server.tolist() == run.schedule.server.tolist()
    assert (waited > 0) == passing


def test_with_equal_scores_the_job_with_the_least_work_left_goes_first() -> None:
    """Two jobs on one server: of 3 and of 2 slots of work; then the short one, although it stands behind."""
    jobs = Jobs.of([0, 0, 0], [0.9, 0.9, 0.9], [3, 1, 1], job=np.array([0, 1, 1]))
    settings = packenv.Workload(jobs=jobs, servers=1)
    run = packenv.simulate(settings, agent_with(np.zeros(WEIGHTS), np.zeros(OF_CONTEXT), False), schedule=True, drain=True)
    assert run.schedule is not None and run.schedule.start.tolist() == [2, 0, 1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"workload": "paper/fig4b"}, "paper/fig4b is a stream of tasks"),
        ({"guard": "bf-js"}, "guard: JobFill has no such argument"),
        ({"start": "warm"}, "start: JobFill has no such argument"),
        ({"types": 4}, "types: JobFill has no such argument"),
        ({"observation": "full"}, "'actions' and 'normalized', not 'full'"),
        ({"passing": "perhaps"}, "unknown passing 'perhaps'"),
        ({"reward": "complexion"}, "did you mean completion"),
        ({"reward": "completion:fairness=1"}, "completion and value and makespan have an option, unfairness=PRICE"),
        ({"reward": "queue:unfairness=1"}, "have an option, unfairness=PRICE"),
        ({"reward": "value:unfairness=-1"}, "must be a number >= 0, not '-1'"),
    ],
)
def test_what_it_refuses(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        make(**options)


def test_rewards_of_whole_jobs_elsewhere_are_refused() -> None:
    with pytest.raises(InputError, match="ServerFill does not follow whole jobs; JobFill does"):
        plain_env("ServerFill", reward="completion")


def test_it_can_be_watched() -> None:
    """As text, whole jobs are told apart by a letter: two tasks of job 17 and one of job 2."""
    jobs = Jobs.of([0, 0, 0], [0.5, 0.25, 0.25], [9, 9, 9], job=np.array([17, 17, 2]))
    env = make(workload=packenv.Workload(jobs=jobs, servers=1), render_mode="ansi", passing=False)
    env.reset(seed=0)
    assert env.render().splitlines()[-1].startswith("jobs, modulo 16: 0:0 1:2 2:1 3:0")
    env.step(0)
    assert "|" + "2" * 10 in env.render()
    assert make(render_mode="rgb_array").reset(seed=0) and make(render_mode="rgb_array") is not None
