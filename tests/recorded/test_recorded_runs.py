"""The schedules of before are the schedules of today, to the slot and the server."""

from __future__ import annotations

import json

import pytest

from tests.recorded.runs import ENVIRONMENTS, RECORD, SIMULATED, simulated, stepped

RECORDED = json.loads(RECORD.read_text())


@pytest.mark.parametrize("name", SIMULATED)
def test_same_schedule_as_recorded(name: str) -> None:
    assert simulated(name) == RECORDED[name]


@pytest.mark.parametrize("kind", ENVIRONMENTS)
def test_same_episode_as_recorded(kind: str) -> None:
    assert stepped(kind) == RECORDED[f"{kind}-v0"]
