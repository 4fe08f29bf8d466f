"""The PPO of examples/: it learns on any environment with a flat observation, and its comparison is by the same jobs."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import packenv

pytest.importorskip("torch")
FILE = Path(__file__).resolve().parents[2] / "examples" / "clean_ppo.py"


@pytest.fixture(scope="module")
def ppo() -> ModuleType:
    import sys

    spec = importlib.util.spec_from_file_location("clean_ppo", FILE)
    assert spec is not None and spec.loader is not None
    module = sys.modules["clean_ppo"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
def test_it_learns_a_pole(ppo: ModuleType) -> None:
    """A thirtieth of the usual steps on CartPole double the length of its episodes, so the algorithm is right."""
    lengths: list[float] = []
    ppo.train(ppo.Settings("CartPole-v1", total_timesteps=15_000), lambda step, episode: lengths.append(episode))
    assert np.mean(lengths[-20:]) > 2 * np.mean(lengths[:20])


def test_two_runs_with_one_seed_are_alike(ppo: ModuleType) -> None:
    def run(seed: int) -> Any:
        return [value.detach().numpy() for value in ppo.train(ppo.Settings(seed=seed, total_timesteps=1024)).parameters()]

    first, again, other = run(1), run(1), run(2)
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    assert not all(np.array_equal(a, b) for a, b in zip(first, other, strict=True))


def test_command(ppo: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ppo.main(["--total-timesteps", "2048", "--slots", "2000", "--runs", "2", "--json", str(tmp_path / "found.json")])
    found = json.loads((tmp_path / "found.json").read_text())["mean_queue"]
    workload = packenv.workload("paper/fig4b")
    assert found["bf-js"][1] == packenv.simulate(workload, "bf-js", slots=2000, seed=1_000_001, warmup=0).mean_queue
    assert set(found) == {"ppo", "ppo, likeliest", "first valid", "random valid", "bf-js"}
    assert "times that of bf-js" in capsys.readouterr().out


def example(name: str) -> Any:
    """An example's module."""
    spec = importlib.util.spec_from_file_location(name, FILE.with_name(f"{name}.py"))
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow  # it trains, and compares with seven orders
def test_an_agent_for_batch_jobs_trains_and_is_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The whole of examples/batch_ppo.py, with four iterations of MaskablePPO on windows of the model."""
    pytest.importorskip("sb3_contrib")
    monkeypatch.chdir(tmp_path)
    comparison = example("batch_ppo").main("hpc/lublin-90", steps=4, windows=2, jobs=128)
    agent = comparison.to_dict()["policies"][0]["policy"]
    assert agent.startswith("agent:batch_ppo_")
    assert comparison.ratio(agent, "easy:order=wfp3", "mean_slowdown").mean < 5
    assert packenv.simulate(packenv.workload("hpc/lublin-90"), agent, drain=True).started > 0
    offered = example("batch_ppo").main("hpc/lublin-90", steps=4, windows=2, jobs=128, backfill=False)
    assert len(offered.to_dict()["policies"]) == 11


def test_the_first_agent_trains_and_is_compared(capsys: pytest.CaptureFixture[str]) -> None:
    """The whole of examples/first_agent.py, with one iteration of MaskablePPO."""
    pytest.importorskip("sb3_contrib")
    ratio = example("first_agent").main(steps=2048, slots=3000, tensorboard=None, n_envs=1)
    assert 0.5 < ratio < 2
    assert "times that of bf-js on the same jobs" in capsys.readouterr().out
