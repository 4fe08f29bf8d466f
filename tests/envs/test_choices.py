"""`choices` of ServerFill and Placement: the decisions there are without, counted from the tightest server and largest sizes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import packenv
from packenv import InputError
from packenv.envs import PolicyAgent
from tests.envs.conftest import Player
from tests.envs.grid import PAIR, UNEQUAL
from tests.envs.playing import plain_env, play

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


SERVERS, OF_EACH = 3, 2


@pytest.mark.parametrize("options", [{"types": 16}, UNEQUAL, {"workload": PAIR}], ids=["fig4b", "unequal", "pair"])
def test_placements_are_those_of_the_tightest_servers(options: dict[str, Any]) -> None:
    common: dict[str, Any] = {"observation": "actions", "horizon": 1500} | options
    few: Any = plain_env("Placement", choices=(SERVERS, OF_EACH), **common)
    every: Any = plain_env("Placement", **common)
    assert few.action_space.n == SERVERS * OF_EACH + 1
    choose, (seen, info), (wanted, other) = Player(0), few.reset(seed=1), every.reset(seed=1)
    wait, taken, over = every.action_space.n - 1, set(), False
    while not over:
        while not other["action_mask"][:-1].any():  # without choices, also where nothing fits
            wanted, *_, other = every.step(wait)
        offered = placements(every, other["action_mask"][:-1])
        assert info["action_mask"].tolist() == [*(n in offered for n in range(SERVERS * OF_EACH)), 1]
        for n, row in enumerate(seen["actions"][:-1]):
            assert np.array_equal(row, wanted["actions"][offered[n]] if n in offered else np.zeros_like(row))
        assert np.array_equal(seen["context"], wanted["context"]) and info["slot"] == other["slot"]
        action = choose(info)
        taken.add(action)
        seen, *_, over, info = few.step(action)
        wanted, *_, other = every.step(offered.get(action, wait))
        assert not info["invalid"]
        while not over and other["slot"] < info["slot"]:
            wanted, *_, other = every.step(wait)
    assert taken >= {0, 1, OF_EACH, SERVERS * OF_EACH}


def placements(env: Any, mask: Any) -> dict[int, int]:
    """By the number of the choice: the action among those of all servers."""
    c = env.unwrapped.core.batch.c
    queues = mask.reshape(c.server.shape[1], -1)
    room = (c.free[0] / c.capacity).sum(axis=1) if c.vectors else c.server["room"][0].astype(float)
    able = sorted((room[server], server) for server in np.flatnonzero(queues.any(axis=1)))
    offered = [server for n, (free, server) in enumerate(able) if n == 0 or able[n - 1][0] != free][:SERVERS]
    return {
        s * OF_EACH + k: int(server * queues.shape[1] + j)
        for s, server in enumerate(offered)
        for k, j in enumerate(np.flatnonzero(queues[server])[:OF_EACH])
    }


def test_without_passing_only_real_choices_are_asked() -> None:
    env: Any = plain_env("Placement", choices=(SERVERS, OF_EACH), passing=False, observation="flat", types=16, horizon=3000)
    (_, info), over = env.reset(seed=1), False
    choose = Player(0)
    while not over:
        assert info["action_mask"].sum() > 1 and not info["action_mask"][-1]
        *_, over, info = env.step(choose(info))


def test_best_fit_plays_placements_that_are_offered() -> None:
    """BF-S takes servers by index: where its start is not offered, the policy carries out what comes nearest."""
    workload = packenv.workload("paper/fig4b")
    env: Any = plain_env("Placement", choices=(SERVERS, OF_EACH), horizon=1500, observation="actions", record_schedule=True)
    agent, (seen, _), over = PolicyAgent("bf-s", env), env.reset(seed=3), False
    while not over:
        seen, *_, over, _ = env.step(agent.predict(seen)[0])
    run = packenv.simulate(workload, "bf-s", slots=1500, seed=3, schedule=True, warmup=0)
    starts = env.unwrapped.schedule()[0]
    near = np.isclose(np.mean(starts[starts >= 0]), np.mean(run.schedule.start[run.schedule.start >= 0]), rtol=0.05)
    assert near and abs((starts >= 0).sum() - run.started) <= 2


@pytest.mark.parametrize("workload", ["paper/fig4b", PAIR], ids=["one", "two"])
def test_always_the_first_is_one_best_fit_and_by_index_another(workload: Any) -> None:
    """Placement and ServerFill start the same; servers by index, and one resource, make it BF-S."""

    def schedule(kind: str, **options: Any) -> tuple[Any, Any]:
        plain = {"observation": "flat", "types": 16, "passing": False}
        env: Any = plain_env(kind, workload=workload, horizon=3000, record_schedule=True, **plain, **options)
        play(env, seed=1, choose=lambda info: int(info["action_mask"].argmax()))
        return env.unwrapped.schedule()

    placed, filled, by_index = (
        schedule("Placement", choices=(3, 4)),
        schedule("ServerFill"),
        schedule("ServerFill", order="index"),
    )
    run = packenv.simulate(workload, "bf-s", slots=3000, seed=1, schedule=True, warmup=0).schedule
    assert run is not None
    for (start, server), others, same in ((placed, filled, True), (by_index, (run.start, run.server), workload != PAIR)):
        rows = min(len(start), len(others[0]))
        assert (np.array_equal(start[:rows], others[0][:rows]) and np.array_equal(server[:rows], others[1][:rows])) == same
    assert not np.array_equal(placed[1], by_index[1])


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
    for options, problem in (
        ({"choices": 3}, "choices must be a pair"),
        ({"choices": (0, 4)}, "choices: servers must be a whole number from 1"),
        ({"choices": (3, 99)}, "choices: virtual queues must be a whole number from 2 to 8"),
        ({"choices": (3, 4), "rule": "head"}, "choices need rule 'largest'"),
        ({"choices": (3, 4), "observation": "full"}, "does not show the offered servers"),
        ({"passing": False}, "passing=False goes with choices"),
        ({"observation": "flat"}, "Placement with choices"),
    ):
        with pytest.raises(InputError, match=problem):
            plain_env("Placement", **({"observation": "actions"} | options))


def test_other_rules_have_the_defaults_of_all_servers() -> None:
    import gymnasium

    for options in ({"rule": "head"}, {"rule": "window"}, {"choices": None}, {"observation": "full"}):
        chosen: Any = gymnasium.make("packenv/Placement-v1", **options).unwrapped  # type: ignore[arg-type]
        assert chosen.core.layout.actions == 5 * chosen.core.layout.rules.per_server + 1 and chosen.core.layout.rules.passing
        assert chosen.core.options.observation == options.get("observation", "normalized")
