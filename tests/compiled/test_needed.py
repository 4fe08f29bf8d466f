"""`packenv/compiled/needed.json` is what runs and environments really call. `python -m tests.compiled.test_needed` records it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import pytest

import packenv
import packenv.envs.episodes.core
import packenv.simulation
from packenv.compiled import helpers
from packenv.compiled.apart import Apart

FILE = Path(helpers.__file__).with_name("needed.json")
STEPS = 300  # after the first observation
ENVIRONMENTS = ("ServerFill", "Placement", "Configuration", "JobFill")
POLICIES = {"paper/fig4b": ("bf-js", "vqs", "vqs-bf", "fifo-ff"), "analytics": ("bf-js", "fifo-ff", "tetris")}


class Recorder:
    """Records which functions that are compiled apart are called for the first time, and under which name they are listed."""

    def __init__(self) -> None:
        self.kind = ""
        self.names: list[str] = []

    def expect(self, kind: str, resources: int, otherwise: str) -> None:
        self.kind = f"{kind}, several resources" if resources > 1 else kind

    def during(self, call: Callable[[], Any]) -> list[str]:
        """The names, in the order of the calls, as if nothing had been called before."""
        now, address = [], Apart.address
        for function in Apart.by_address.values():
            function.word.value = 0

        def noted(function: Apart) -> int:
            now.append(helpers.name_of(function))
            return address(function)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(packenv.simulation, "expect", self.expect)
            patch.setattr(packenv.envs.episodes.core, "expect", self.expect)
            patch.setattr(Apart, "address", noted)
            call()
        return now

    def run(self, policy: str, source: str) -> list[str]:
        workload = packenv.workload(source)
        return self.during(lambda: packenv.simulate(workload, policy, None if workload.jobs is not None else 20_000))

    def environment(self, name: str) -> list[str]:
        """What is called after the first observation stands first: helpers come to it last."""
        env = gymnasium.make(f"packenv/{name}-v1")
        _, info = env.reset(seed=0)  # for what is called before: `expect` in `make`
        first = self.during(lambda: gymnasium.make(f"packenv/{name}-v1").reset(seed=0))
        kind = self.kind

        def play() -> None:
            nonlocal info
            for _ in range(STEPS):
                *_, terminated, truncated, info = env.step(int(info["action_mask"].argmax()))
                if terminated or truncated:
                    _, info = env.reset()

        later = self.during(play)
        self.kind = kind
        return [name for name in later if name not in first] + first


def record() -> dict[str, list[str]]:
    """The whole list."""
    recorder, found = Recorder(), {}
    for source, policies in POLICIES.items():
        for policy in policies:
            names = recorder.run(policy, source)
            found[recorder.kind] = names
    runs = [*found.values()]
    environments = []
    for name in ENVIRONMENTS:
        names = recorder.environment(name)
        found[recorder.kind] = names
        environments.append(names)
    for common, lists in {"every run": runs, "every environment": environments}.items():
        found[common] = [name for name in lists[0] if all(name in other for other in lists)]
    return found


def test_what_a_run_calls_is_listed() -> None:
    recorder = Recorder()
    names = recorder.run("bf-js", "paper/fig4b")
    assert recorder.kind == "BestFit" and names == helpers.needed()["BestFit"]


def test_what_an_environment_calls_is_listed() -> None:
    recorder = Recorder()
    names = recorder.environment("ServerFill")
    assert recorder.kind == "ServerFill flat" and names == helpers.needed()[recorder.kind]


@pytest.mark.minutes
def test_all_is_listed() -> None:
    assert record() == helpers.needed()


if __name__ == "__main__":
    lines = [f" {json.dumps(kind)}: {json.dumps(names)}" for kind, names in record().items()]
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
