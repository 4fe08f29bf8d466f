"""The load, intensity or rate of later episodes: honoured by every interface, and no option is taken and not used."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import packenv
from packenv.errors import InputError

ID = "packenv/ServerFill-v1"
SETTING: dict[str, Any] = {"workload": "paper/fig4b", "horizon": 300, "yardstick": True}
RATES = [("intensity", 0.95), ("rate", 0.05), ("intensity", (0.6, 0.9))]


def episode(env: Any, info: dict[str, Any]) -> tuple[list[int], float]:
    """Slots of the decisions of an episode of first valid actions, and the baseline's mean queue."""
    slots, over = [info["slot"]], False
    while not over:
        _, _, terminated, truncated, info = env.step(int(np.argmax(info["action_mask"])))
        slots.append(info["slot"])
        over = terminated or truncated
    return slots, info["baseline_queue"]


@pytest.mark.parametrize(("key", "value"), RATES)
def test_an_episode_is_that_of_an_environment_made_so(key: str, value: Any) -> None:
    """Single and batched: jobs and baseline, of the next episode and of later ones."""
    made = gym.make(ID, intensity=0.5, **SETTING)
    wanted = gym.make(ID, **{key: value}, **SETTING)
    episode(made, made.reset(seed=3)[1])  # the same seed at another rate
    for env_seed, options in ((3, {key: value}), (None, None)):
        mine = episode(made, made.reset(seed=env_seed, options=options)[1])
        assert mine == episode(wanted, wanted.reset(seed=env_seed)[1])

    batch = gym.make_vec(ID, 2, intensity=0.5, **SETTING)
    other = gym.make_vec(ID, 2, **{key: value}, **SETTING)
    batch.reset(seed=8)
    batch.reset(seed=3, options={key: value})
    other.reset(seed=3)
    for _ in range(40):
        steps = [env.step(np.argmax(env.action_masks(), axis=1)) for env in (batch, other)]  # type: ignore[attr-defined]
        assert np.array_equal(steps[0][4]["slot"], steps[1][4]["slot"])


def test_a_row_that_goes_on_keeps_its_baseline() -> None:
    """Of two rows one begins at another intensity; the episode of the other is compared with the same jobs as before."""
    ends = []
    for options in ({"intensity": 0.9, "reset_mask": np.array([False, True])}, {"reset_mask": np.array([False, True])}):
        env = gym.make_vec(ID, 2, intensity=0.5, **SETTING)
        env.reset(seed=3)
        env.reset(options=options)
        info: dict[str, Any] = {"reason": np.zeros(2)}
        while not info["reason"][0]:
            info = env.step(np.argmax(env.action_masks(), axis=1))[4]  # type: ignore[attr-defined]
        ends.append((info["slot"][0], info["baseline_queue"][0], info["mean_queue"][0]))
    assert ends[0] == ends[1]


def test_stable_baselines3() -> None:
    pytest.importorskip("stable_baselines3")
    from packenv.envs import PackVecEnv

    def slots(env: Any) -> list[list[int]]:
        seen = []
        for _ in range(60):
            env.step(np.argmax(env.action_masks(), axis=1))
            seen.append(env.core.batch.passage["slot"].tolist())
        return seen

    wanted = PackVecEnv(ID, 2, seed=3, intensity=0.9, **SETTING)
    wanted.reset()
    right = slots(wanted)
    for attribute in (False, True):
        env = PackVecEnv(ID, 2, seed=3, intensity=0.5, **SETTING)
        if attribute:
            env.set_attr("intensity", 0.9)
        else:
            env.set_options({"intensity": 0.9})
        env.reset()
        assert slots(env) == right
    with pytest.raises(InputError, match="unknown reset option 'nonsense'; known: load, intensity, rate"):
        env.set_options({"nonsense": 1})
    with pytest.raises(InputError, match="give the same to all"):
        env.set_options([{"intensity": 0.9}, {}])
    with pytest.raises(InputError, match="has no 'nonsense'; in training load, intensity, rate can be set"):
        env.set_attr("nonsense", 1)
    with pytest.raises(InputError, match="rows of a batch share their attributes"):
        env.set_attr("intensity", 0.9, indices=[0])


def test_what_is_refused() -> None:
    """Unknown keys with the known ones, a table, and two at once; the environment then stays as it was."""
    env = gym.make(ID, intensity=0.5, **SETTING)
    before = env.unwrapped.core.rates  # type: ignore[attr-defined]
    refused: list[tuple[dict[str, Any], str]] = [
        ({"nonsense": 1}, "unknown reset option 'nonsense'; known: state, load, intensity, rate"),
        ({"intensity": 0.9, "rate": 0.1}, "give at most one of load, intensity and rate"),
        ({"intensity": "high"}, r"intensity must be a number or a pair \(lowest, highest\)"),
        ({"intensity": -1.0}, "intensity must be"),
    ]
    for options, message in refused:
        with pytest.raises(InputError, match=message):
            env.reset(options=options)
    assert env.unwrapped.core.rates == before  # type: ignore[attr-defined]
    with pytest.raises(InputError, match="unknown reset option 'nonsense'; known: reset_mask, load, intensity, rate"):
        gym.make_vec(ID, 2, **SETTING).reset(options={"nonsense": 1})
    table = packenv.workload("analytics")
    with pytest.raises(InputError, match="intensity: a table of jobs has a fixed rate"):
        gym.make("packenv/JobFill-v1", workload=table).reset(options={"intensity": 0.9})
    perf = gym.make(ID, intensity=0.5, perf=True, **SETTING)
    with pytest.raises(InputError, match="perf needs one intensity, load or rate"):
        perf.reset(options={"intensity": (0.5, 0.9)})
