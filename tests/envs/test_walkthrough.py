"""Three tasks on one server, step by step, every array spelled out.

Sizes ½, ¼ and ¾ arrive in slots 0, 0 and 1 and take 2, 3 and 2 slots. With J = 2 their types are 2, 3 and 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import packenv
from packenv.envs.core.state import REASONS
from tests.envs.playing import plain_env

pytestmark = pytest.mark.filterwarnings("ignore:J=2")  # a third of these sizes lies below

TOY = packenv.Workload(jobs=packenv.Jobs.of([0, 0, 1], [0.5, 0.25, 0.75], [2, 3, 2]), servers=1)
NOBODY = [0, 0, 0]
NOTHING = [0, 0, 0, 0]


def make(kind: str, **options: Any) -> Any:
    env = plain_env(kind, workload=TOY, horizon=None, window=2, J=2, **options)
    env.reset(seed=0)
    return env


def same(found: dict[str, Any], wanted: dict[str, Any]) -> None:
    assert list(found) == list(wanted)
    for key, value in wanted.items():
        assert found[key].dtype == np.float32
        assert found[key].tolist() == np.array(value).tolist(), key


def step(env: Any, action: int, wanted: dict[str, Any], reward: float, mask: list[int], elapsed: int, slot: int) -> Any:
    seen, got, terminated, truncated, info = env.step(action)
    same(seen, wanted)
    assert (got, info["action_mask"].tolist(), info["elapsed"], info["slot"]) == (reward, mask, elapsed, slot)
    assert not truncated
    return terminated, info


def test_placement() -> None:
    env = make("Placement")
    seen, info = env.reset(seed=0)
    half, quarter = [1, 0.5, 0.5, 0], [1, 0.25, 0.25, 0]
    same(
        seen,
        {
            "queue": [[0.5, 0, 1], [0.25, 0, 1]],
            "virtual_queues": [NOTHING, NOTHING, half, quarter],
            "servers": [[1, 0, 0, 0, 0]],
        },
    )
    assert info["action_mask"].tolist() == [0, 0, 1, 1, 1]
    assert info["seed"] == 0

    def look(queue: Any, virtual_queues: Any, servers: Any) -> dict[str, Any]:
        return {"queue": queue, "virtual_queues": virtual_queues, "servers": [servers]}

    after = look([[0.25, 0, 1], NOBODY], [NOTHING, NOTHING, NOTHING, quarter], [0.5, 0, 0, 1, 0])
    step(env, 2, after, 0, [0, 0, 0, 1, 1], 0, 0)  # the task of ½ starts
    big, old = [1, 0, 0.75, 0], [1, 0.25, 0.25, 1]
    after = look([[0.25, 1, 1], [0.75, 0, 1]], [big, NOTHING, NOTHING, old], [0.5, 0, 0, 1, 0])
    step(env, 4, after, -1, [0, 0, 0, 1, 1], 1, 1)  # one task waits for one slot; ¾ arrives
    after = look([[0.75, 0, 1], NOBODY], [big, NOTHING, NOTHING, NOTHING], [0.25, 0, 0, 1, 1])
    step(env, 3, after, 0, [0, 0, 0, 0, 1], 0, 1)
    after = look([[0.75, 1, 1], NOBODY], [[1, 0.75, 0.75, 1], NOTHING, NOTHING, NOTHING], [0.75, 0, 0, 0, 1])
    step(env, 4, after, -1, [1, 0, 0, 0, 1], 1, 2)  # the task of ½ has left
    after = look([NOBODY, NOBODY], [NOTHING] * 4, [0, 1, 0, 0, 1])
    step(env, 0, after, 0, [0, 0, 0, 0, 1], 0, 2)
    after = look([NOBODY, NOBODY], [NOTHING] * 4, [1, 0, 0, 0, 0])
    terminated, info = step(env, 4, after, 0, [0, 0, 0, 0, 1], 2, 4)  # both leave in slot 4
    assert terminated
    assert REASONS[info["reason"]] == "all work is done"


def test_server_fill() -> None:
    env = make("ServerFill")
    seen, info = env.reset(seed=0)
    half, quarter = [1, 0.5, 0.5, 0], [1, 0.25, 0.25, 0]
    same(
        seen,
        {
            "queue": [[0.5, 0, 1], [0.25, 0, 1]],
            "virtual_queues": [NOTHING, NOTHING, half, quarter],
            "server": [1, 0, 0, 0, 0, 0, 0],
            "cluster": [1, 1, 0, 0, 0, 0],
        },
    )
    assert info["action_mask"].tolist() == [0, 0, 1, 1, 1]

    def look(queue: Any, virtual_queues: Any, server: Any, cluster: Any) -> dict[str, Any]:
        return {"queue": queue, "virtual_queues": virtual_queues, "server": server, "cluster": cluster}

    big, half, old = [1, 0.75, 0.75, 0], [1, 0.5, 0.5, 1], [1, 0.25, 0.25, 1]
    after = look([[0.5, 1, 1], [0.25, 1, 1]], [big, NOTHING, half, old], [1, 0, 0, 0, 0, 0, 0], [1, 1, 0, 0, 0, 0])
    step(env, 4, after, -2, [1, 0, 1, 1, 1], 1, 1)  # passed; the arrival of ¾ calls the server back
    after = look(
        [[0.5, 1, 1], [0.25, 1, 1]],
        [NOTHING, NOTHING, [1, 0, 0.5, 1], old],
        [0.25, 1, 0, 0, 0, 0, 0],
        [0.25, 0, 0, 0, 1, 0],
    )
    step(env, 0, after, 0, [0, 0, 0, 1, 1], 0, 1)
    after = look(
        [[0.5, 3, 1], NOBODY], [NOTHING, NOTHING, [1, 0.5, 0.5, 3], NOTHING], [0.75, 0, 0, 0, 1, 2, 0], [0.75, 1, 0, 0, 0, 0]
    )
    step(env, 3, after, -2, [0, 0, 1, 0, 1], 2, 3)  # full; ¾ leaves in slot 3, ¼ has been there for 2 slots
    after = look([NOBODY, NOBODY], [NOTHING] * 4, [0] * 7, [1, 1, 0, 0, 0, 0])
    terminated, _ = step(env, 2, after, 0, [0, 0, 0, 0, 1], 2, 5)
    assert terminated


def test_configuration() -> None:
    env = make("Configuration")
    seen, info = env.reset(seed=0)
    assert env.unwrapped.core.layout.configurations.tolist() == [[[1, 0, 0, 0], [0, 0, 2, 0], [0, 0, 0, 3], [0, 1, 0, 1]]]
    same(
        seen,
        {
            "queue": [[0.5, 0, 1], [0.25, 0, 1]],
            "virtual_queues": [NOTHING, NOTHING, [1, 0.5, 0.5, 0], [1, 0.25, 0.25, 0]],
            "servers": [[1, 0, 0, 0, 0, 1]],
            "configurations": [0, 0, 0, 0],
        },
    )
    assert info["action_mask"].tolist() == [1, 1, 1, 1]
    after = {
        "queue": [NOBODY, NOBODY],
        "virtual_queues": [NOTHING] * 4,
        "servers": [[1, 0, 0, 0, 0, 0]],
        "configurations": [0, 0, 0, 0],
    }
    terminated, _ = step(env, 1, after, -1, [1, 1, 1, 1], 4, 4)  # ½ and ¼ start; ¾ waits from slot 1 until ½ has left
    assert terminated


def test_compact_and_masked() -> None:
    env = make("Placement", observation="compact", mask_in_observation=True)
    seen, _ = env.reset(seed=0)
    virtual_queues = [[0, 0], [0, 0], [1, 0.5], [1, 0.25]]
    same(seen, {"virtual_queues": virtual_queues, "servers": [[1]], "action_mask": [0, 0, 1, 1, 1]})
    seen, _ = make("ServerFill", observation="compact").reset(seed=0)
    same(seen, {"virtual_queues": virtual_queues, "server": [1]})


def test_window_and_head() -> None:
    env = make("Placement", rule="window")
    _, info = env.reset(seed=0)
    assert info["action_mask"].tolist() == [1, 1, 1]  # server · K + k, wait
    seen, *_, info = env.step(1)  # the second oldest
    assert seen["servers"].tolist() == [[0.75, 0, 0, 0, 1]]
    assert info["action_mask"].tolist() == [1, 0, 1]
    tasks = packenv.Workload(jobs=packenv.Jobs.of([0, 0], [0.4, 0.45], [5, 5]), servers=1)
    for rule, free in (("largest", 0.55), ("head", 0.6)):
        env = plain_env("Placement", workload=tasks, J=2, rule=rule, horizon=None)
        env.reset(seed=0)
        assert env.step(2)[0]["servers"][0, 0] == pytest.approx(free, abs=1e-6)
