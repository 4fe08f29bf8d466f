"""The scripts of experiments/: every one is imported and explains itself; the quick ones write their picture."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from types import ModuleType, SimpleNamespace

import gymnasium
import numpy as np
import pytest

import packenv
from agents.random_jobs import random_jobs
from experiments.random_requirements import fig4
from experiments.reproduce import FIGURES, GROUPS
from packenv.content.text import number
from packenv.learning.agents.networks import FROM_WEIGHTS, SIZE, TERM_NAMES, score_by_sum
from packenv.learning.agents.saved import load_agent, save_agent
from packenv.runs.statistics import interval, ratio_of_means
from tests.learning.test_agent_notes import agent as untrained

FOLDER = Path(packenv.__file__).parents[1] / "experiments"
SCRIPTS = sorted(path.stem for path in FOLDER.glob("*.py") if '__name__ == "__main__"' in path.read_text(encoding="utf-8"))


def script(name: str) -> ModuleType:
    return importlib.import_module(f"experiments.{name}")


@pytest.mark.parametrize("name", SCRIPTS)
def test_every_script_explains_itself(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        script(name).main(["--help"])
    assert left.value.code == 0
    assert (script(name).__doc__ or "").split("\n")[0] in capsys.readouterr().out


def test_the_list_is_complete() -> None:
    listed = re.findall(r"^\| `(\w+)\.py` \|", (FOLDER / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(listed) == SCRIPTS


def test_a_figure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(fig4, "INTENSITIES", (0.85,))
    monkeypatch.setattr(fig4, "SLOTS", 20_000)
    script("figures").main(["fig4b", "--quick", "--out", str(tmp_path / "new"), "--processes", "1"])
    assert (tmp_path / "new" / "fig4b.png").read_bytes().startswith(b"\x89PNG")
    assert "BF-J/S has shorter queues than VQS-BF" in capsys.readouterr().out


def test_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = script("environment")
    monkeypatch.setattr(module, "SLOTS", 500)
    module.main(["--quick", "--out", str(tmp_path)])
    assert (tmp_path / "serverfill.gif").read_bytes().startswith(b"GIF89a")


@pytest.mark.slow
def test_a_decision(tmp_path: Path) -> None:
    """The picture is there, and what the terms add up to is the agent's own choice."""
    module = script("decision")
    module.main(["--quick", "--out", str(tmp_path)])
    assert (tmp_path / "decision.png").read_bytes().startswith(b"\x89PNG")
    env = gymnasium.make("packenv/ServerFill-v1", **module.SETTING).unwrapped
    agent = load_agent("fig4b")
    actions, mask, parts, _ = module.find_decision(env, agent.weights["actor.weights"], 10)
    network = FROM_WEIGHTS["linear"]("fig4b", agent.weights, env.core.layout)
    batch = SimpleNamespace(actions=actions[None], mask=mask[None])
    score_by_sum.function(network, batch)
    assert module.choices(actions, mask, parts)[0] == np.where(mask, network.scores, -np.inf).argmax()


def test_the_ladder(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Its first setting: best fit is the optimum there. What is learned is not looked at."""
    module = script("reference_scores")
    learned = SimpleNamespace(num_timesteps=64, predict=lambda seen, deterministic: (np.zeros(len(seen), np.int64), None))
    monkeypatch.setattr(module, "QUICK_SLOTS", 500)
    monkeypatch.setattr(module, "train", lambda *arguments: learned)
    module.main(["--quick", "--rungs", "1"])
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith("| ")][1:]
    assert rows[0].startswith("| `bf-s` |") and rows[0].endswith("| 1 [1, 1] |")
    labels = [row.split(" | ")[0].removeprefix("| ") for row in rows]
    assert labels[:-1] == ["`bf-s`", "`vqs-bf`", "optimum", "random valid actions", "first valid actions"]
    assert labels[-1] == "MaskablePPO, 64 steps (0 s), seed 1"


def test_the_learning_curve(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    module = script("rl_zoo")
    monkeypatch.setattr(module, "QUICK_SLOTS", 500)
    monkeypatch.setattr(module, "EPISODE", 500)
    module.main(["--quick", "--out", str(tmp_path)])
    assert (tmp_path / "rl_zoo.png").read_bytes().startswith(b"\x89PNG")
    assert "likeliest actions: mean queue" in capsys.readouterr().out


def test_agents_for_whole_jobs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An agent that reads two features: beside policies on the tables reported, the same as single runs; and without each."""
    module, agent = script("whole_job_agents"), untrained(tmp_path)
    words = ["--quick", "--agent", agent.removeprefix("agent:"), "--workload", "price/fig8", "--processes", "1"]
    log = ["--log", str(tmp_path / "log.jsonl")]
    module.main([*words, *log])
    head, _, own, *rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith("|")]
    assert head == "| `price/fig8`, 2 tables | mean completion | makespan | unfairness |"
    assert [row.split("|")[1].strip() for row in rows] == ["over `tetris`", "over `bf-js`", "over the lower bound"]
    setting, seeds = packenv.workload("price/fig8"), (module.REPORTED, module.REPORTED + 1)
    runs = {p: [packenv.simulate(setting, p, seed=seed, drain=True) for seed in seeds] for p in (agent, "bf-js")}
    means = {p: [run.jobs.mean for run in own if run.jobs] for p, own in runs.items()}
    assert own.split("|")[2].strip() == str(interval(means[agent]))
    assert rows[1].split("|")[2].strip() == str(ratio_of_means(means[agent], means["bf-js"]))
    module.main([*words, *log, "--weights"])
    table = [[cell.strip() for cell in line.split("|")[1:-1]] for line in capsys.readouterr().out.splitlines()[1:]]
    assert [row[:2] for row in table[2:]] == [["waits", "100"], ["alignment", "1"]]
    passed, unaligned = table[2:]
    assert passed[2].startswith("1 [") and unaligned[3] != passed[3]  # what is aligned scores above 0, that of passing
    assert not unaligned[3].startswith("1 [1, 1]")


def test_agents_on_random_mixes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A policy counts with the parameters that are best on the mix; the best of all is that of these tables."""
    module, agent = script("whole_job_agents"), untrained(tmp_path)
    module.main(["--mixes", "training", "--count", "1", "--quick", "--agent", agent.removeprefix("agent:"), "--processes", "1"])
    table = [[cell.strip(" `") for cell in line.split("|")[1:-1]] for line in capsys.readouterr().out.splitlines()]
    assert table[0] == [
        "1 mixes, 2 tables each",
        "over `tetris",
        "over the best",
        "≤ 1.00 of it",
        "over the best on other tables",
    ]
    seeds, mean = (module.REPORTED, module.REPORTED + 1), dict[str, float]()
    for policy in (agent, *module.QUICK_GRID["tetris"], "bf-js"):
        runs = [packenv.simulate(random_jobs("training", 0), policy, seed=seed, drain=True) for seed in seeds]
        mean[policy] = sum(run.jobs.mean or 0.0 for run in runs if run.jobs) / 2
    tetris = min(mean[policy] for policy in module.QUICK_GRID["tetris"])
    assert module.chosen_elsewhere([np.array([1.0, 5, 3]), np.array([2.0, 2, 7])]) == (1 + 5 + 7) / 3
    best = min(tetris, mean["bf-js"])
    end = table.index([])
    rows = {row[0]: row[1:] for row in table[2:end]}
    assert [*rows] == [agent, "tetris", "bf-js"]
    untuned = "tetris:f=0,m=1"
    assert table[end + 1] == ["over", untuned] and table[end + 3 :] == [[agent, number(mean[agent] / mean[untuned])]]
    assert rows[agent][:2] == [number(mean[agent] / tetris), number(mean[agent] / best)]
    assert rows["bf-js"][:2] == [number(mean["bf-js"] / tetris), number(mean["bf-js"] / best)]
    assert [row[2] for row in rows.values()] == [
        f"{each <= 1.005 * best:d} of 1" for each in (mean[agent], tetris, mean["bf-js"])
    ]


def test_terms_of_a_linear_agent(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An agent that reads the size alone, and prefers small ones, is the same without any other term, and better without it."""
    module, weights = script("any_workload"), np.zeros((2, len(TERM_NAMES)), np.float32)
    weights[0, SIZE] = -1
    about = {key: value for key, value in load_agent("any").about.items() if key not in ("format", "weights")}
    save_agent(tmp_path / "small", about | {"guard": None}, {"actor.weights": weights})
    module.main(["--weights", "--quick", "--workloads", "1", "-p", f"agent:{tmp_path / 'small'}"])
    table = [[cell.strip() for cell in line.split("|")[1:-1]] for line in capsys.readouterr().out.splitlines()[3:]]
    over = {row[0].removeprefix("without "): row[3:5] for row in table}
    assert [*over][-1] == "size" and float(over.pop("size")[1]) < 1 and len(over) == len(TERM_NAMES) - 1
    assert {whole for _, whole in over.values()} == {"1"}
    with pytest.raises(packenv.InputError, match="agent:analytics: --weights reads linear networks, not sum"):
        module.main(["--weights", "--quick", "-p", "agent:analytics"])


def test_no_agents_for_whole_jobs(capsys: pytest.CaptureFixture[str]) -> None:
    module = script("whole_job_agents")
    with pytest.raises(packenv.InputError, match="agent:fig4b is not an agent for whole jobs: it acts in ServerFill"):
        module.main(["--quick", "--agent", "fig4b"])


def test_every_figure_is_found() -> None:
    for name, place in FIGURES.items():
        module, _, function = place.partition(":")
        assert callable(getattr(importlib.import_module(f"experiments.{module}"), function)), name
    assert {figure for group in GROUPS.values() for figure in group} < set(FIGURES)


@pytest.mark.slow
@pytest.mark.minutes
def test_costs_of_a_cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("ray", reason="Ray is not installed")
    monkeypatch.setenv("RAY_ADDRESS", "local")  # not a cluster of other tests
    script("cluster").main(["--quick", "--out", str(tmp_path)])
    assert (tmp_path / "cluster.png").stat().st_size > 10_000
    said = capsys.readouterr().out
    memory = [float(found) for found in re.findall(r"driver (\d+) MB", said)]
    assert len(memory) == 5 and max(memory) < memory[0] + 20
    assert re.search(r"pieces of 2 s \(packenv\): 1 cores (100|99)", said)
