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
    with pytest.raises(InputError, match="tetris: weights are"):
        policies.Tetris(weights=weights).initial_state(setting, 0)


@pytest.mark.parametrize("policy", [policies.DRF, policies.SlotFair])
@pytest.mark.parametrize("checked", [-1, 5])
def test_resources_checked(setting: Setting, policy: Any, checked: int) -> None:
    with pytest.raises(InputError, match=f"between 0 .all. and the 4 resources, not {checked}"):
        policy(checked=checked).initial_state(setting, 0)


def test_a_job_has_one_tenant() -> None:
    table = Jobs.of([0, 0], [0.5, 0.5], [1, 1], job=np.array([4, 4]), tenant=np.array([0, 1]))
    with pytest.raises(InputError, match="job 4 has tasks of several tenants"):
        policies.DRF().initial_state(setting_of(Workload(jobs=table, servers=1)), 0)
