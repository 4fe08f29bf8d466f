"""Each check of `check_environment` finds a fault that was planted for it. That ours pass: tests/envs/test_checkers.py."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from packenv.envs.core.definition import Definition
from packenv.envs.registration import FORMER, ServerFill
from packenv.testing import EnvironmentTests, check_environment

FAULTS: dict[type, str] = {}


def says(words: str) -> Any:
    """What the check must say of an environment."""

    def note(kind: type) -> type:
        FAULTS[kind] = words
        return kind

    return note


class Fine(ServerFill):
    definition: Any = ServerFill.definition

    def step(self, action: Any) -> Any:
        return self.told(*super().step(action))

    def told(self, seen: Any, reward: float, terminated: bool, truncated: bool, info: dict[str, Any]) -> Any:
        """What a step returns."""
        return seen, reward, terminated, truncated, info


@says("Gymnasium's checker")
class OutsideItsSpace(Fine):
    def told(self, seen: Any, *rest: Any) -> Any:
        return {**seen, "server": seen["server"].astype(np.float64)}, *rest


@says("info has extra at some steps only")
class SomeKeys(Fine):
    def told(self, *step: Any) -> Any:
        return *step[:4], {**step[4], **({"extra": 1} if step[4]["slot"] > 100 else {})}


@says("info['extra'] is not a number, but 'fine'")
class Words(Fine):
    def told(self, *step: Any) -> Any:
        return *step[:4], {**step[4], "extra": "fine"}

    def reset(self, **kwargs: Any) -> Any:
        seen, info = super().reset(**kwargs)
        return seen, {**info, "extra": "fine"}


@says("info['seed'] is 1 after reset(seed=0)")
class AnotherSeed(Fine):
    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        return super().reset(seed=None if seed is None else seed + 1, options=options)


@says("with the jobs of seed 0")
class JobsOfAnotherSeed(Fine):
    """And says nothing of it."""

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        seen, info = super().reset(seed=None if seed is None else seed + 1, options=options)
        self.lie = seed
        return seen, {**info, "seed": info["seed"] if seed is None else seed}


@says("not deterministic")
class Random(Fine):
    made = 0

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        Random.made += 1
        self.own = Random.made

    def told(self, seen: Any, reward: float, *rest: Any) -> Any:
        return seen, reward + self.own, *rest


@says("differ in slot")
class TwoMasks(Fine):
    def action_masks(self) -> Any:
        return np.ones(self.action_space.n, np.bool_)


@says("which the mask forbids, is carried out")
class Silent(Fine):
    """Does not say that an action was invalid."""

    def told(self, *step: Any) -> Any:
        return *step[:4], {**step[4], "invalid": False}


@says("an action that the mask allows is invalid")
class Complains(Fine):
    def told(self, *step: Any) -> Any:
        return *step[:4], {**step[4], "invalid": True}


@says("a fresh environment in the same state goes on differently")
class HalfAState(Fine):
    """Counts its steps, beside the state."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.steps = 0

    def reset(self, **kwargs: Any) -> Any:
        self.steps = 0
        return super().reset(**kwargs)

    def told(self, seen: Any, reward: float, *rest: Any) -> Any:
        self.steps += 1
        return seen, reward - (self.steps % 3 == 0), *rest


@says("rewards add up to")
class Generous(Fine):
    def told(self, seen: Any, reward: float, *rest: Any) -> Any:
        return seen, 2 * reward, *rest


@says("the queue adds up to")
class Miscounts(Fine):
    def told(self, *step: Any) -> Any:
        return *step[:4], {**step[4], "mean_queue": step[4]["mean_queue"] + 1.0}


@says("has no core")
class NotOurs:
    def __init__(self, **options: Any) -> None:
        self.unwrapped = self


PLAIN: dict[str, Any] = FORMER["ServerFill"] | {"horizon": 400, "intensity": 0.9}


def test_without_a_fault() -> None:
    assert isinstance(Fine.definition, Definition)
    for reward in ("queue", "tasks", "delay"):
        check_environment(Fine, **PLAIN | {"reward": reward})
    check_environment("ServerFill", reward="tasks")  # as it is by default


@pytest.mark.parametrize("kind", FAULTS, ids=lambda kind: kind.__name__)
def test_each_check_can_fail(kind: Any) -> None:
    with pytest.raises(AssertionError) as problem:
        check_environment(kind, **PLAIN)
    assert FAULTS[kind] in str(problem.value) and "\n" not in str(problem.value)


def test_what_cannot_be_made_is_one_line() -> None:
    with pytest.raises(AssertionError, match=r"unexpected keyword argument 'orders'.*did you mean order"):
        check_environment("ServerFill", orders="index")
    with pytest.raises(AssertionError, match="cannot be made"):
        check_environment("NoSuchEnvironment-v7")


class TestEnvironmentOfAUser(EnvironmentTests):
    """As a user's suite has it: each promise is a named test."""

    environment = Fine
    options = FORMER["ServerFill"]
    horizon = 400
