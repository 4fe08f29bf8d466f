"""Bad options, actions and states: each is one clear line; and what is allowed, though it looks like them."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import packenv
from packenv import InputError
from packenv.envs.options import Warm
from tests.envs.grid import PAIR
from tests.envs.playing import make, plain_vec, play

TABLE = packenv.Workload(jobs=packenv.Jobs.of([*range(0, 60, 2)], [0.5, 0.3, 0.6] * 10, [5, 3, 9] * 10), servers=2)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"windw": 3}, "unexpected keyword argument 'windw'; did you mean window"),
        ({"rule": "larges"}, "unknown rule 'larges'; did you mean largest"),
        ({"observation": "ful"}, "did you mean full"),
        ({"reward": "queu"}, "unknown reward 'queu'; did you mean queue"),
        ({"workload": "paper/fig4c"}, "unknown workload"),
        ({"workload": TABLE, "rate": (0.5, 0.9)}, "rate: a table of jobs comes at one rate, not at another in each episode"),
        ({"baseline": "bf-x"}, "unknown policy"),
        ({"start": "cold"}, "unknown start 'cold'"),
        ({"start": [(0.5, 9, 3)]}, "there is no server 9"),
        ({"start": Warm("bf-js", 0)}, "start: slots must be a whole number"),
        ({"horizon": 0}, "horizon must be a whole number"),
        ({"horizon": 2.5}, "horizon must be a whole number"),
        ({"window": 0}, "window must be a whole number"),
        ({"window": 2000}, "window must be a whole number from 1 to 1000"),
        ({"waiting_limit": 0}, "waiting_limit must be a whole number"),
        ({"types": 1}, "types must be a whole number from 2"),
        ({"types": 8, "guard": "vqs"}, "types of equal width; use bf-js"),
        ({"J": 1}, "J must be a whole number from 2"),
        ({"J": 2, "workload": "paper/fig4a"}, "J=2 cannot represent the workload"),
        ({"intensity": (0.9, 0.5)}, "intensity must be a number or a pair"),
        ({"intensity": 0.5, "rate": 0.1}, "at most one of"),
        ({"invalid_penalty": -1}, "invalid_penalty"),
        ({"render_mode": "rgb"}, "unknown render_mode"),
        ({"servers": 300_000}, "actions are too many"),
    ],
)
@pytest.mark.filterwarnings("ignore:.*render_mode.*")
def test_bad_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message.replace("(", r"\(")):
        make(**options)
    if "render_mode" not in options:
        with pytest.raises(InputError, match=message.replace("(", r"\(")):
            plain_vec("Placement", num_envs=2, **options)


def test_load_is_a_share_of_the_maximum_workload() -> None:
    """Figure 3(a): ρ* = 2, so that load 0.7 is λ = 0.014 (PAPERS §1.6)."""
    core = make(workload="paper/fig3a", load=0.7).unwrapped.core
    assert core.rates == (pytest.approx(0.014, rel=0.006),) * 2
    low, high = make(workload="paper/fig3a", load=(0.35, 0.7)).unwrapped.core.rates
    assert high == core.rates[0] == pytest.approx(2 * low)


def test_warnings() -> None:
    with pytest.warns(UserWarning, match="load 1.1: no policy is stable"):
        make(workload="paper/fig3a", load=1.1)
    with pytest.warns(UserWarning, match="intensity 1.2: no policy is stable"):
        make(intensity=1.2)
    with pytest.warns(UserWarning, match=r"J=2: 0\.18.* of the sizes lie at or below 2\^-2"):
        make(J=2)


@pytest.mark.parametrize("action", [41, -1, 10**12])
def test_actions_out_of_range(action: int) -> None:
    env = make()
    env.reset(seed=0)
    with pytest.raises(InputError, match="out of range: 0 to 40"):
        env.step(action)
    batch = plain_vec("Placement", num_envs=2)
    batch.reset(seed=0)
    with pytest.raises(InputError, match=f"row 1: action {action} is out of range"):
        batch.step(np.array([40, action]))


@pytest.mark.parametrize("action", [1.0, "1", None, np.array([1, 2]), np.array(1.5)])
def test_actions_of_the_wrong_type(action: Any) -> None:
    env = make()
    env.reset(seed=0)
    with pytest.raises(InputError, match="whole number"):
        env.step(action)
    batch = plain_vec("Placement", num_envs=3)
    batch.reset(seed=0)
    with pytest.raises(InputError, match="3 whole numbers"):
        batch.step(action)


@pytest.mark.parametrize("action", [1, np.int64(1), np.int32(1), np.array(1), np.array([1]), np.uint8(1)])
def test_actions_of_any_whole_type(action: Any) -> None:
    env = make()
    env.reset(seed=0)
    env.step(action)


def test_after_the_end() -> None:
    env = make(horizon=50).unwrapped
    with pytest.raises(gym.error.ResetNeeded):
        env.step(40)
    play(env)
    with pytest.raises(gym.error.ResetNeeded, match="no episode is running"):
        env.step(40)
    with pytest.raises(InputError, match="unknown reset option"):
        env.reset(options={"stat": 1})


def test_states_of_others_are_refused() -> None:
    env = make()
    env.reset(seed=0)
    with pytest.raises(InputError, match="not from get_state of this environment"):
        make("ServerFill").unwrapped.set_state(env.unwrapped.get_state())
    with pytest.raises(InputError, match="not from get_state of this environment"):
        env.unwrapped.set_state(None)
    with pytest.raises(InputError, match="not recorded"):
        env.unwrapped.schedule()


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"servers": 3}, "servers '5x1', not '3x1'"),
        ({"workload": "paper/fig4a"}, "workload 'paper/fig4b', not 'paper/fig4a'"),
        ({"intensity": 0.5}, "load, intensity or rate .0.09, 0.09., not .0.05, 0.05."),
        ({"horizon": 400}, "horizon 500, not 400"),
        ({"order": "index"}, "order 0, not 1"),
        ({"start": "warm"}, "start"),
        ({"start": [(0.5, 0, 3)]}, "start"),
        ({"guard": "bf-js"}, "guard None, not 'bf-js'"),
        ({"reward": "advantage"}, "baseline None, not 'bf-js'"),
    ],
)
def test_a_state_of_an_environment_with_other_arguments_is_refused(options: dict[str, Any], problem: str) -> None:
    """Its cluster, rates and ends of episodes would stay beyond the next reset."""
    given = {"intensity": 0.9, "horizon": 500}
    env, other = (gym.make("packenv/ServerFill-v1", **given | changed).unwrapped for changed in ({}, options))
    env.reset(seed=1)
    with pytest.raises(InputError, match=f"other arguments: {problem}$"):
        other.set_state(env.get_state())  # type: ignore[attr-defined]


def test_a_state_goes_to_a_twin_and_survives_pickling() -> None:
    """A twin has the same arguments, and a table of the same rows; how it rewards is its own affair."""
    for workload in ("paper/fig4b", PAIR, TABLE):
        env, twin = (
            gym.make("packenv/ServerFill-v1", workload=copy.deepcopy(workload), horizon=300, reward=reward).unwrapped
            for reward in ("work", "queue")
        )
        env.reset(seed=1)
        _, told = twin.reset(options={"state": pickle.loads(pickle.dumps(env.get_state()))})  # type: ignore[attr-defined]
        later = twin.reset(seed=4)[1]
        assert told["seed"] == 1 and later["slot"] == env.reset(seed=4)[1]["slot"]


def test_reset_to_a_state() -> None:
    env = make(workload=PAIR)
    env.reset(seed=0)
    state = env.unwrapped.get_state()
    seen, *_ = env.step(int(np.argmax(env.unwrapped.action_masks())))
    env.step(env.unwrapped.action_space.n - 1)
    _, info = env.reset(options={"state": state})
    again, *_ = env.step(int(np.argmax(info["action_mask"])))
    assert all((seen[key] == again[key]).all() for key in seen)
