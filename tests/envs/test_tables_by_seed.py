"""Workloads that draw a table for every seed: every episode, of every row, plays the table of its own seed."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import data_equivalence
from gymnasium.vector import AutoresetMode

import packenv
from packenv import InputError, Jobs, Workload
from packenv.envs.core.state import REASONS
from packenv.envs.options import Warm
from packenv.envs.policy_agents.agent import PolicyAgent
from packenv.workloads.named.analytics import analytics
from tests.envs.conftest import Player
from tests.envs.playing import plain_env, plain_vec

DRAWN = analytics(jobs=4, servers=3)  # in phases, of four resources
WHOLE_QUEUE: dict[str, Any] = {"rule": "window", "window": 900, "waiting_limit": 900, "horizon": None}


def uneven(seed: int) -> Jobs:
    """Seed 0: three large tasks. Others: hundreds of tiny ones, of which a server holds far more, with a chain behind them."""
    if seed == 0:
        return Jobs.of([0, 0, 1], [0.6, 0.6, 0.6], [3, 3, 3])
    n = 300 + seed % 50
    phase = np.where(np.arange(n) < n - 5, 0, 1)
    return Jobs.of(np.zeros(n), np.full(n, 0.002), np.full(n, 4), job=np.zeros(n, np.int64), phase=phase)


UNEVEN = Workload(jobs=uneven, servers=1)


def first_valid(env: Any, info: dict[str, Any]) -> dict[str, Any]:
    """Play to the end with the first valid action."""
    done = False
    while not done:
        _, _, terminated, truncated, info = env.step(int(np.argmax(info["action_mask"])))
        done = terminated or truncated
    return info


def test_an_episode_is_the_run_with_its_seed() -> None:
    env: Any = plain_env("Placement", workload=DRAWN, record_schedule=True, **WHOLE_QUEUE)
    agent = PolicyAgent("fifo-ff", env)
    lengths = set()
    for seed in (5, None, None, 0):
        seen, info = env.reset(seed=seed)
        run = packenv.simulate(DRAWN, "fifo-ff", seed=info["seed"], schedule=True, drain=True)
        assert run.schedule is not None
        done = False
        while not done:
            seen, _, done, _, info = env.step(agent.predict(seen)[0])
        start, server = env.unwrapped.schedule()
        assert start.tolist() == run.schedule.start.tolist() and server.tolist() == run.schedule.server.tolist()
        assert (REASONS[info["reason"]], info["slot"]) == ("all work is done", run.slots)
        lengths.add(len(start))
    assert len(lengths) == 4


def test_tables_of_all_shapes() -> None:
    """Longer tables, smaller demands and other phases than those of seed 0; and back."""
    env: Any = plain_env("ServerFill", workload=UNEVEN, J=10, horizon=None, record_schedule=True)
    for seed in (0, 7, 0, 12):
        _, info = env.reset(seed=seed)
        info = first_valid(env, info)
        start, _ = env.unwrapped.schedule()
        assert len(start) == len(uneven(seed)) and (start >= 0).all()
        assert REASONS[info["reason"]] == "all work is done"
        assert info["slot"] == (9 if seed == 0 else 8)
        if seed:
            assert start.tolist() == [0] * (len(start) - 5) + [4] * 5  # the second phase behind the first


@pytest.mark.parametrize("workload", [DRAWN, UNEVEN], ids=["analytics", "uneven"])
@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_rows_play_their_own_tables(workload: Workload, mode: AutoresetMode) -> None:
    """Through several episodes: what a row sees is what the single environment with its seed sees."""
    options: dict[str, Any] = {"workload": workload, "J": 10, "horizon": 90}
    many: Any = plain_vec("ServerFill", num_envs=3, autoreset_mode=mode, **options)
    singles = [plain_env("ServerFill", **options) for _ in range(3)]
    seen, _ = many.reset(seed=0)
    first = [env.reset(seed=row) for row, env in enumerate(singles)]
    for row in range(3):
        assert data_equivalence({key: array[row] for key, array in seen.items()}, first[row][0], exact=True)
    infos = [info for _, info in first]
    choose, over, episodes = Player(1), np.zeros(3, bool), 0
    while episodes < 8:
        actions = np.array([choose(own) for own in infos])
        seen, rewards, ended, cut, _ = many.step(actions)
        for row, env in enumerate(singles):
            if over[row] and mode is AutoresetMode.NEXT_STEP:
                own, infos[row] = env.reset()
                reward = 0.0
            else:
                own, reward, terminated, truncated, infos[row] = env.step(actions[row])
                assert (terminated, truncated) == (ended[row], cut[row])
                if (terminated or truncated) and mode is AutoresetMode.SAME_STEP:
                    own, infos[row] = env.reset()
            assert reward == rewards[row]
            assert data_equivalence({key: array[row] for key, array in seen.items()}, own, exact=True)
        over = ended | cut
        episodes += int(over.sum())
    assert len({int(env.unwrapped.core.seeds[0]) for env in singles}) == 3


def test_snapshots_and_copies() -> None:
    env: Any = plain_env("Placement", workload=UNEVEN, J=10, horizon=None).unwrapped
    _, info = env.reset(seed=7)
    for _ in range(50):
        *_, info = env.step(int(np.argmax(info["action_mask"])))
    state, copies = env.get_state(), [copy.deepcopy(env), pickle.loads(pickle.dumps(env))]
    wanted = first_valid(env, info)
    assert wanted["slot"] == 8
    for other in copies:
        assert data_equivalence(first_valid(other, info), wanted, exact=True)
    env.reset(seed=0)  # another table
    env.set_state(state)
    assert data_equivalence(first_valid(env, info), wanted, exact=True)
    with pytest.raises(gym.error.ResetNeeded):
        env.step(0)


def test_snapshots_of_a_batch() -> None:
    env: Any = plain_vec("ServerFill", num_envs=3, workload=DRAWN, horizon=None)
    _, info = env.reset(seed=1)
    choose = Player(0)
    for _ in range(30):
        *_, info = env.step(choose.all(info))
    state = env.get_state()
    mask = info["action_mask"].copy()

    def go_on() -> list[Any]:
        actions, found = mask.argmax(axis=1), []
        for _ in range(60):
            found.append(env.step(actions))
            actions = found[-1][-1]["action_mask"].argmax(axis=1)
        return found

    wanted = go_on()
    env.reset(seed=9)
    env.set_state(state)
    assert data_equivalence(go_on(), wanted, exact=True)


def test_size_arrives_at_the_rate_of_the_episodes_own_table() -> None:
    env: Any = plain_env("ServerFill", workload=UNEVEN, J=10, horizon=None, reward="size").unwrapped
    for seed, rate in ((0, 0.6 * 3 / 2), (7, 307 * 0.002)):
        env.reset(seed=seed)
        assert env.core.batch.turn["exogenous"][0] == pytest.approx(rate, rel=1e-4)
        assert env.core.batch.turn["rate"][0] == env.core.played[0].rate


def test_a_guard_in_every_table() -> None:
    """Nobody but the guard schedules: bf-js, with the tables of the seeds."""
    env: Any = plain_env("ServerFill", workload=UNEVEN, J=10, horizon=None, guard="bf-js", guard_limit=0)
    for seed in (7, 0):
        env.reset(seed=seed)
        *_, done, _, _ = env.step(20)
        assert done
        run = packenv.simulate(UNEVEN, "bf-js", seed=seed, drain=True)
        assert env.unwrapped.core.batch.c.head["queue_sum"][0] == round((run.mean_queue or 0) * run.slots)
    for guard, problem in (("maxweight", "cuts servers by one table's sizes"), ("fifo", "must see every slot")):
        with pytest.raises(InputError, match=problem):
            plain_env("ServerFill", workload=UNEVEN, J=10, guard=guard)


@pytest.mark.parametrize("policy", ["bf-js", "tetris"])
def test_warm_starts_keep_who_waits_for_whom(policy: str) -> None:
    """Phases go on where the policy has left them, in single environments and in batches, drawn or not."""
    fixed = DRAWN.at(2)
    assert fixed.jobs is not None
    middle = int(packenv.simulate(fixed, policy, drain=True).slots) // 2
    for workload in (fixed, DRAWN):
        options: dict[str, Any] = {"workload": workload, "horizon": None, "start": Warm(policy, middle), "waiting_limit": 5000}
        env: Any = plain_env("ServerFill", **options).unwrapped
        _, info = env.reset(seed=2)
        head = env.core.batch.c.head[0]
        assert info["slot"] >= middle and 0 < head["held_back"] < head["arrived"]
        assert REASONS[first_valid(env, info)["reason"]] == "all work is done"
        many: Any = plain_vec("ServerFill", num_envs=2, autoreset_mode="Disabled", **options)
        seen, infos = many.reset(seed=1)
        own, info = env.reset(seed=2)
        assert infos["slot"][1] == info["slot"]
        assert data_equivalence({key: array[1] for key, array in seen.items()}, own, exact=True)
