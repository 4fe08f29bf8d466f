"""Bad input of Tetris and fair sharing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import packenv
from packenv import InputError, Jobs, Workload, policies
from packenv.policy import Setting
from packenv.simulation import setting_of


@pytest.fixture(scope="module")
def setting() -> Setting:
    return setting_of(packenv.workload("analytics"))


@pytest.mark.parametrize(
    "knobs", [{"f": 1.0}, {"f": -0.1}, {"b": 1.1}, {"m": -1.0}, {"packing": float("inf")}, {"remote": float("nan")}]
)
def test_knobs_of_tetris(setting: Setting, knobs: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="tetris: needs"):
        policies.Tetris(**knobs).needs(setting)


@pytest.mark.parametrize("weights", ["1:2", "a:b:c:d", "1:1:1:-1", "1:1:1:nan"])
def test_weights_of_tetris(setting: Setting, weights: str) -> None:
    with pytest.raises(InputError, match="tetris: weights must be"):
        policies.Tetris(weights=weights).initial_state(setting, 0)


@pytest.mark.parametrize("policy", [policies.DRF, policies.TaskFair])
@pytest.mark.parametrize("checked", [-1, 5])
def test_resources_checked(setting: Setting, policy: Any, checked: int) -> None:
    with pytest.raises(InputError, match=f"between 0 .all. and the 4 resources, not {checked}"):
        policy(checked=checked).initial_state(setting, 0)


@pytest.mark.parametrize("options", [{"slots": 0}, {"slots": 1025}, {"checked": 0}, {"checked": -1}])
def test_slots(setting: Setting, options: dict[str, int]) -> None:
    with pytest.raises(InputError, match="slot-fair: needs 1 <= slots <= 1024 and checked >= 1, not "):
        policies.SlotFair(**options).needs(setting)


def test_a_task_larger_than_all_slots_of_any_server() -> None:
    """Of slots of a third of the largest cpu and memory each server has one; (.5, .5), which fits both servers, takes two."""
    small = Workload(jobs=Jobs.of([0, 0], [[0.1, 0.1], [0.5, 0.5]], [1, 1]), servers=np.array([[1, 0.6], [0.6, 1]]))
    with pytest.raises(InputError, match="slot-fair: task 1 takes 2 slots, more than the 1 of any server"):
        policies.SlotFair(slots=3).initial_state(setting_of(small), 0)


def test_slots_of_one_resource() -> None:
    jobs = Jobs.of([0] * 3, [0.3] * 3, [1] * 3)
    run = packenv.simulate(Workload(jobs=jobs, servers=1), "slot-fair:slots=4", drain=True, schedule=True)
    assert run.schedule is not None and run.schedule.start.tolist() == [0, 0, 1]


def test_ends_of_tasks_that_share_what_is_not_checked() -> None:
    """Their ends are in the schedule, and what they use lasts until then: two disks' worth of tasks take twice as long."""
    jobs = Jobs.of([0, 0], [[0.1, 0.1, 1.0]] * 2, [3, 3], job=np.array([0, 1]))
    for policy in ("slot-fair", "drf:checked=2"):
        run = packenv.simulate(Workload(jobs=jobs, servers="1x1:1:1"), policy, drain=True, schedule=True)
        assert run.schedule is not None and run.jobs is not None
        assert run.schedule.end.tolist() == [6, 6]
        assert (run.jobs.makespan, run.slots) == (6, 6)


def test_a_job_has_one_tenant() -> None:
    table = Jobs.of([0, 0], [0.5, 0.5], [1, 1], job=np.array([4, 4]), tenant=np.array([0, 1]))
    with pytest.raises(InputError, match="job 4 has tasks of several tenants"):
        policies.DRF().initial_state(setting_of(Workload(jobs=table, servers=1)), 0)
