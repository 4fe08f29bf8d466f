"""Batches: row i is the single environment with seed s + i, step by step; and the three modes of autoreset."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import data_equivalence, data_shares_objects
from gymnasium.vector import AutoresetMode

import packenv
from packenv.envs.core.state import REASONS
from tests.envs.conftest import Player
from tests.envs.grid import GRID, KINDS, name_of
from tests.envs.playing import plain_env, plain_vec

Case = tuple[str, dict[str, Any]]


def batch(case: Case, rows: int, mode: AutoresetMode = AutoresetMode.NEXT_STEP, **more: Any) -> Any:
    kind, options = case
    return plain_vec(
        kind,
        num_envs=rows,
        vectorization_mode="vector_entry_point",
        autoreset_mode=mode,
        **{"horizon": 250} | options | more,
    )


def row_of(seen: Any, row: int) -> Any:
    return {key: array[row] for key, array in seen.items()} if isinstance(seen, dict) else seen[row]


@pytest.mark.parametrize("case", GRID, ids=name_of)
def test_rows_are_single_environments(case: Case) -> None:
    rows, seed = 3, 21
    kind, options = case
    many = batch(case, rows)
    singles = [plain_env(kind, **{"horizon": 250} | options) for _ in range(rows)]
    seen, info = many.reset(seed=seed)
    infos = []
    for row, env in enumerate(singles):
        own, own_info = env.reset(seed=seed + row)
        assert data_equivalence(row_of(seen, row), own, exact=True)
        assert info["seed"][row] == own_info["seed"]
        infos.append(own_info)
    choose = Player(1)
    over = np.zeros(rows, bool)
    for _ in range(120):
        actions = np.array([choose(own) for own in infos])
        seen, rewards, terminated, truncated, info = many.step(actions)
        for row, env in enumerate(singles):
            if over[row]:  # the batch has begun the next episode
                own, infos[row] = env.reset()
                wanted: tuple[Any, ...] = (0.0, False, False)
            else:
                own, *wanted_list, infos[row] = env.step(actions[row])
                wanted = tuple(wanted_list)
            assert data_equivalence(row_of(seen, row), own, exact=True)
            assert (rewards[row], terminated[row], truncated[row]) == wanted
            for key in ("elapsed", "slot", "invalid"):
                assert info[key][row] == infos[row][key]
            assert info["action_mask"][row].tolist() == infos[row]["action_mask"].tolist()
            if wanted[1] or wanted[2]:
                assert info["reason"][row] == infos[row]["reason"]
        over = terminated | truncated
        spaces = many.observation_space if isinstance(seen, dict) else {"": many.observation_space}
        for key, array in (seen if isinstance(seen, dict) else {"": seen}).items():
            assert array.dtype == np.float32
            assert array.shape == spaces[key].shape
    if not options:
        assert sum(env.unwrapped.core.episodes[0] for env in singles) >= 1


@pytest.mark.parametrize("kind", KINDS)
def test_autoreset_in_the_same_step(kind: str) -> None:
    next_step = batch((kind, {}), 4, horizon=120)
    same_step = batch((kind, {}), 4, AutoresetMode.SAME_STEP, horizon=120)
    seen, info = next_step.reset(seed=5)
    first, _ = same_step.reset(seed=5)
    assert data_equivalence(seen, first, exact=True)
    choose, ends = Player(2), 0
    actions = choose.all(info)
    while not ends:
        seen, rewards, terminated, truncated, info = next_step.step(actions)
        other, got, ended, cut, told = same_step.step(actions)
        assert (rewards == got).all() and (terminated == ended).all() and (truncated == cut).all()
        over = terminated | truncated
        ends = int(over.sum())
        if not ends:
            assert data_equivalence(seen, other, exact=True)
            assert "final_obs" not in told
            actions = choose.all(info)
    assert (told["_final_obs"] == over).all()
    assert (told["_final_info"] == over).all()
    actions = np.array([0 if over[row] else choose({"action_mask": info["action_mask"][row]}) for row in range(4)])
    after, *_ = next_step.step(actions)
    for row in range(4):
        if over[row]:
            assert data_equivalence(told["final_obs"][row], row_of(seen, row), exact=True)
            assert data_equivalence(row_of(other, row), row_of(after, row), exact=True)  # the next episode's first
            assert told["final_info"]["elapsed"][row] == info["elapsed"][row]
            assert REASONS[told["reason"][row]] == "horizon"
            assert told["elapsed"][row] == 0
        else:
            assert told["final_obs"][row] is None
            assert data_equivalence(row_of(other, row), row_of(seen, row), exact=True)


def test_autoreset_disabled() -> None:
    env = batch(("Placement", {}), 3, AutoresetMode.DISABLED, horizon=60)
    _, info = env.reset(seed=0)
    over = np.zeros(3, bool)
    while not over.any():
        _, _, _, over, info = env.step(np.full(3, 40))
    with pytest.raises(gym.error.ResetNeeded, match="row"):
        env.step(np.full(3, 40))
    slots = info["slot"].copy()
    _, info = env.reset(options={"reset_mask": over})
    assert (info["_elapsed"] == over).all()
    assert (info["slot"][over] < slots[over]).all()
    assert (info["slot"][~over] == slots[~over]).all()
    env.step(np.full(3, 40))


def test_modes_are_declared() -> None:
    assert batch(("ServerFill", {}), 2).metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP
    for mode in AutoresetMode:
        assert batch(("ServerFill", {}), 2, mode).metadata["autoreset_mode"] is mode
    assert batch(("ServerFill", {}), 2, "SameStep").metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    with pytest.raises(packenv.InputError, match="autoreset_mode"):
        batch(("ServerFill", {}), 2, "Never")  # type: ignore[arg-type]


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_arrays_are_fresh(mode: AutoresetMode) -> None:
    env = batch(("ServerFill", {"mask_in_observation": True}), 3, mode, horizon=100)
    found: list[tuple[Any, ...]] = [env.reset(seed=0)]
    choose = Player(0)
    for _ in range(30):
        found.append(env.step(choose.all(found[-1][-1])))
    kept = [{key: array.copy() for key, array in one[0].items()} for one in found]
    for _ in range(5):
        env.step(choose.all(found[-1][-1]) * 0)
    for n, one in enumerate(found):
        assert data_equivalence(one[0], kept[n], exact=True)  # nobody writes into them afterwards
        for other in found[:n]:
            for mine, its in zip(one, other, strict=False):
                assert not data_shares_objects(mine, its)


def test_load_drawn_per_episode() -> None:
    options: dict[str, Any] = {"intensity": (0.2, 0.9), "horizon": 50}
    env = batch(("Placement", options), 64)
    env.reset(seed=0)
    drawn = env.core.batch.turn["exogenous"] / 0.5 / env.core.workload.with_(intensity=1.0).rate
    assert drawn.min() >= 0.2 and drawn.max() <= 0.9
    assert drawn.std() == pytest.approx(0.7 / 12**0.5, rel=0.2)
    env.reset()
    assert not (env.core.batch.turn["exogenous"] / 0.5 / env.core.workload.with_(intensity=1.0).rate == drawn).any()
    single = plain_env("Placement", **options)
    single.reset(seed=5)
    env.reset(seed=0)
    assert single.unwrapped.core.batch.turn["exogenous"][0] == env.core.batch.turn["exogenous"][5]  # type: ignore[attr-defined]


def test_snapshots_of_a_batch() -> None:
    env = batch(("ServerFill", {}), 3)
    _, info = env.reset(seed=1)
    choose = Player(0)
    for _ in range(20):
        *_, info = env.step(choose.all(info))
    state = env.get_state()
    plan = [choose.all(info), *(np.full(3, 8) for _ in range(60))]
    wanted = [env.step(actions) for actions in plan]
    env.set_state(state)
    assert data_equivalence(wanted, [env.step(actions) for actions in plan], exact=True)


def test_wrappers() -> None:
    vector = gym.wrappers.vector
    env = vector.DictInfoToList(
        vector.RecordEpisodeStatistics(vector.FlattenObservation(batch(("Placement", {}), 3, horizon=80)))
    )
    seen, infos = env.reset(seed=0)
    assert seen.shape == (3, *env.single_observation_space.shape)
    for _ in range(200):
        actions = np.array([np.flatnonzero(info["action_mask"])[-1] for info in infos])
        seen, _, _, truncated, infos = env.step(actions)
        if truncated.any():
            assert infos[int(np.argmax(truncated))]["episode"]["l"] > 2
            break
    else:
        raise AssertionError("no episode ended")
