"""A model in Python decides as an agent does in its environment, and sees what an agent would see."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest

import packenv
from packenv.errors import InputError
from packenv.live import Model
from tests.live.driving import driven, simulated

WORKLOAD: dict[str, Any] = {"workload": "paper/fig4b", "intensity": 0.9}


def first_valid(observation: Any, mask: Any) -> int:
    return int(np.argmax(mask))


@pytest.mark.parametrize("observation", ["actions", "flat", "full"])
def test_same_starts_as_in_the_environment(observation: str) -> None:
    options: dict[str, Any] = {"observation": observation, "J": 4}
    env = gymnasium.make("packenv/ServerFill-v1", **WORKLOAD, **options, horizon=600, record_schedule=True, waiting_limit=10_000)
    seen, info = env.reset(seed=3)
    observations, over = [], False
    while not over:
        observations.append(seen)
        seen, _, terminated, truncated, info = env.step(first_valid(seen, info["action_mask"]))
        over = terminated or truncated
    start, server = env.unwrapped.schedule()  # type: ignore[attr-defined]
    workload = packenv.workload("paper/fig4b", intensity=0.9)
    asked: list[Any] = []

    def predict(observation: Any, mask: Any) -> int:
        asked.append(observation)
        return first_valid(observation, mask)

    scheduler = packenv.Scheduler(Model("packenv/ServerFill-v1", predict, **options), workload=workload)
    jobs = workload.tabulated(int(info["seed"]), 600).jobs
    assert jobs is not None
    outcome = driven(scheduler, workload, jobs, 600)
    assert outcome.slot == {row: int(slot) for row, slot in enumerate(start) if slot >= 0}
    assert outcome.server == {row: int(server[row]) for row, slot in enumerate(start) if slot >= 0}
    assert len(asked) == len(observations)
    for one, other in zip(asked, observations, strict=True):
        for name in one if isinstance(one, dict) else [...]:
            np.testing.assert_array_equal(one[name], other[name])
    policy = Model("packenv/ServerFill-v1", first_valid, **options)
    assert simulated(workload, policy, 600, int(info["seed"])) == outcome


def test_observation_changes_nothing() -> None:
    scheduler = packenv.Scheduler("bf-js", servers=2, workload="paper/fig4b")
    for n in range(4):
        scheduler.submit(n, size=0.3 + 0.1 * n)
    compact: dict[str, Any] = {"J": 4, "observation": "compact"}
    observation, mask = scheduler.observation("packenv/ServerFill-v1", **compact)
    assert mask.sum() > 1 and set(observation) and scheduler.waiting == [0, 1, 2, 3]
    before = scheduler.to_dict()
    scheduler.observation("packenv/Placement-v1", J=4, observation="compact")
    assert scheduler.to_dict() == before
    assert [start.task for start in scheduler.decide()] == [0, 1, 2]
    later, _ = scheduler.observation("packenv/ServerFill-v1", **compact)
    assert any(not np.array_equal(observation[name], later[name]) for name in observation)


def test_environments_of_tables_are_refused() -> None:
    with pytest.raises(InputError, match="needs the table of all jobs"):
        packenv.Scheduler(Model("packenv/NextJob-v1", first_valid), servers=1, workload="paper/fig4b")


def test_a_traced_network() -> None:
    """TorchScript: saved, loaded without its class, and asked."""
    torch = pytest.importorskip("torch")
    workload = packenv.workload("paper/fig4b")
    probe = packenv.Scheduler("bf-js", workload=workload)
    flat, mask = probe.observation("packenv/ServerFill-v1", observation="flat", J=4)
    torch.manual_seed(0)
    traced = torch.jit.trace(torch.nn.Sequential(torch.nn.Linear(len(flat), 16), torch.nn.Tanh(), torch.nn.Linear(16, len(mask))),
                             torch.zeros(1, len(flat)))  # fmt: skip

    def predict(observation: Any, mask: Any) -> int:
        scores = traced(torch.from_numpy(observation)[None]).detach().numpy()[0]
        return int(np.argmax(np.where(mask, scores, -np.inf)))

    scheduler = packenv.Scheduler(Model("packenv/ServerFill-v1", predict, observation="flat", J=4), workload=workload)
    jobs = workload.tabulated(1, 500).jobs
    assert jobs is not None
    assert len(driven(scheduler, workload, jobs, 500).slot) > 10
