"""ServerFill's `choices`: the same decisions as without, with the virtual queues that can be served counted from the largest."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from packenv import InputError
from packenv.envs import PolicyAgent
from tests.envs.conftest import Player
from tests.envs.grid import PAIR, UNEQUAL
from tests.envs.playing import plain_env

CHOICES = 3


@pytest.mark.parametrize("passing", [False, True])
@pytest.mark.parametrize("options", [{"types": 16}, UNEQUAL, {"workload": PAIR}], ids=["fig4b", "unequal", "pair"])
def test_rows_and_effects_are_those_of_the_virtual_queues(options: dict[str, Any], passing: bool) -> None:
    common: dict[str, Any] = {"observation": "actions", "passing": passing, "horizon": 3000} | options
    few: Any = plain_env("ServerFill", choices=CHOICES, **common)
    every: Any = plain_env("ServerFill", **common)
    assert few.action_space.n == CHOICES + 1
    choose, (seen, info), (wanted, other) = Player(0), few.reset(seed=1), every.reset(seed=1)
    taken, over = set(), False
    while not over:
        *queues, last = np.flatnonzero(np.append(other["action_mask"][:-1], 1))
        assert info["action_mask"].tolist() == [*(n < len(queues) for n in range(CHOICES)), other["action_mask"][last]]
        rows = [wanted["actions"][j] for j in queues[:CHOICES]]
        assert np.array_equal(seen["actions"][: len(rows)], rows) and not seen["actions"][len(rows) : -1].any()
        assert np.array_equal(seen["actions"][-1], wanted["actions"][-1])
        assert np.array_equal(seen["context"], wanted["context"])
        action = choose(info)
        taken.add(action)
        seen, reward, *_, over, info = few.step(action)
        wanted, same, *_, other = every.step(last if action == CHOICES else queues[action])
        assert reward == same and not info["invalid"]
    assert taken >= set(range(CHOICES))


@pytest.mark.parametrize("options", [{}, {"workload": PAIR}], ids=["one", "two"])
def test_a_policy_plays_it(options: dict[str, Any]) -> None:
    """Best fit takes the first choice, and with two resources one of the first three: so many are enough to carry it out."""

    def starts(**more: Any) -> list[int]:
        env: Any = plain_env("ServerFill", order="index", horizon=1500, record_schedule=True, **options, **more)
        agent, (seen, _), over = PolicyAgent("bf-s", env), env.reset(seed=3), False
        while not over:
            seen, *_, over, _ = env.step(agent.predict(seen)[0])
        return [int(slot) for slot in env.unwrapped.schedule()[0]]

    assert starts(choices=3 if options else 2) == starts()


def test_bad_input() -> None:
    for wrong in (1, 9, 2.5, True):
        with pytest.raises(InputError, match="choices must be a whole number from 2 to 8"):
            plain_env("ServerFill", choices=wrong)
