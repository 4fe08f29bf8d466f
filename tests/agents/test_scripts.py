"""The scripts in agents/, which train the shipped agents again, in small: an agent comes out that can be evaluated."""

from __future__ import annotations

import importlib
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import packenv
from packenv.learning.agents.saved import load_agent, pretrained_agents
from packenv.learning.settings import Settings

BY_PPO = ("fig3a", "fig3b", "fig4a", "google2011-like")
"""Trained with MaskablePPO in 0.9.0: no script makes them again."""
EVOLVED = [agent for agent in pretrained_agents() if agent not in BY_PPO]


def script(agent: str) -> Any:
    """The agent's script as a module, without running its `main`."""
    return importlib.import_module(f"agents.{agent.replace('-', '_')}")


def stages_of(module: Any) -> list[Settings]:
    return [module.FIRST, module.SECOND, module.THIRD] if hasattr(module, "FIRST") else [module.SETTINGS]


BEFORE = ("dag",)
"""Trained on what their workload was in 0.9.0: its tables have other durations since then."""


@pytest.mark.parametrize("agent", EVOLVED)
def test_settings_are_those_of_the_shipped_agent(agent: str) -> None:
    """Workload, environment, network, guard, loads, algorithm and reward, as its JSON has them."""
    settings = stages_of(script(agent))[-1]
    shipped = load_agent(agent).about
    record = settings.record()
    assert shipped["workload"] == record["workload"] | ({"jobs": shipped["workload"]["jobs"]} if agent in BEFORE else {})
    assert record["arrivals"] == shipped["arrivals"]
    assert record["environment"] == shipped["environment"]["kind"]
    wanted, found = settings.own_options() | {"observation": "actions"}, shipped["environment"]["options"]
    assert {name: found.get(name) for name in wanted} == wanted
    assert settings.types == found.get("types")
    assert settings.network == shipped["network"]["kind"]
    guard = None if settings.guard is None else {"policy": settings.guard, "limit": settings.guard_limit}
    assert guard == shipped["guard"]
    assert shipped["algorithm"] == "cma-es"
    assert shipped["reward"] in (None, settings.reward)


IN_CI = ("any", "fig4b", "fig4b-kmw", "analytics", "jobs")
"""One of each way to train."""


@pytest.mark.slow  # whole scripts
@pytest.mark.parametrize(
    "agent", [agent if agent in IN_CI else pytest.param(agent, marks=pytest.mark.minutes) for agent in EVOLVED]
)
def test_an_agent_comes_out_that_can_be_evaluated(agent: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    module, out = script(agent), str(tmp_path / "agent")
    shared: Any = importlib.import_module("agents.training_run")
    if hasattr(module, "cases_of"):
        less: dict[str, dict[str, Any]] = {"any": {"pool": 2, "tasks": 100}, "jobs": {"pool": 2, "named": lambda _: []}}
        small = partial(module.cases_of, count=2, **less.get(agent, {}))
        shared.evolve_on_cases(replace(module.SETTINGS, population=4, samples=1), out, 1, small)
    elif agent == "fig4b":
        shared.evolve(replace(module.SETTINGS, population=4, horizon=500, samples=1000), out, processes=1)
    elif hasattr(module, "SETTINGS") and module.SETTINGS.environment == "JobFill":
        weights = getattr(module, "FIRST_WEIGHTS", None)  # without them the agent begins with the weights of another
        shared.evolve(replace(module.SETTINGS, population=4, samples=1), out, 1, weights)
    elif agent == "fig4b-kmw":
        module.with_finer_types(module.SETTINGS, out)
    settings = stages_of(module)[-1]
    made = load_agent(out)
    assert made.about["samples"] > 0
    assert all(np.isfinite(array).all() for array in made.weights.values())
    capsys.readouterr()
    shared.compare(settings, out, module.AGAINST, slots=1000, seeds=1)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == (3 if settings.arrivals else 1)
    assert all(f"{module.AGAINST} " in line and "ratio" in line for line in lines)
    assert packenv.simulate(settings.workload, made, slots=2000).started > 0
