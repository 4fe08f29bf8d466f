"""`packenv record`: what a dataset holds is what the policy did, and nothing half-written is left."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import minari
import numpy as np
import pytest

import packenv
from packenv.cli.main import main
from packenv.errors import InputError
from packenv.runs import recording
from tests.envs.playing import plain_env
from tests.test_docs import ROOT

SHORT = ["paper/fig4b", "--intensity", "0.9", "--horizon", "300", "--episodes", "3"]


def recorded(folder: Path, *words: str) -> minari.MinariDataset:
    main(["record", *SHORT, *words, "--out", str(folder)])
    return minari.MinariDataset(folder / "data")


@pytest.mark.parametrize("env, policy", [("ServerFill", "bf-js"), ("ServerFill", "random"), ("ServerFill", "agent:fig4b")])
def test_what_is_recorded_can_be_played_again(tmp_path: Path, env: str, policy: str) -> None:
    dataset = recorded(tmp_path / "own-v3", "--env", env, "--policy", policy, "--seed", "5")
    again = dataset.recover_environment()
    assert dataset.spec.dataset_id == "own-v3" and len(dataset) == 3
    assert dataset.storage.metadata["seeds"] == [5, 6, 7] and dataset.storage.metadata["algorithm_name"] == policy
    for seed, episode in zip((5, 6, 7), dataset, strict=True):
        seen, info = again.reset(seed=seed)
        for n, action in enumerate(episode.actions):
            assert all(np.array_equal(seen[name], episode.observations[name][n]) for name in seen)
            assert np.array_equal(info["action_mask"], episode.infos["action_mask"][n]) and info["action_mask"][action]
            seen, reward, terminated, truncated, info = again.step(int(action))
            assert (reward, terminated, truncated) == (
                episode.rewards[n], episode.terminations[n], episode.truncations[n])  # fmt: skip
        assert truncated and n + 2 == len(episode.infos["slot"]) and episode.infos["mean_queue"][-1] == info["mean_queue"]


def test_reference_scores_are_returns_on_the_same_jobs(tmp_path: Path) -> None:
    dataset = recorded(tmp_path / "own-v0", "--policy", "random", "--json", str(tmp_path / "own.json"))
    about = dataset.storage.metadata
    runs = [packenv.simulate(packenv.workload("paper/fig4b", intensity=0.9), "bf-js", 300, seed, warmup=0) for seed in range(3)]
    best = -np.mean([round((run.mean_queue or 0) * 300) for run in runs])
    assert about["ref_max_score"] == about["reference_scores"]["bf-js"]
    assert about["ref_max_score"] == pytest.approx(best, rel=0.1)  # an agent on ServerFill starts nearly what bf-js does
    returns = [float(episode.rewards.sum()) for episode in dataset]
    assert about["ref_min_score"] == about["mean_return"] == pytest.approx(np.mean(returns))
    assert about["ref_min_score"] < about["ref_max_score"]
    told = json.loads((tmp_path / "own.json").read_text())
    assert (told["episodes"], told["steps"]) == (3, dataset.total_steps)
    assert told["reference_scores"] == {"random": about["ref_min_score"], "bf-js": about["ref_max_score"]}


def test_a_dataset_is_data(tmp_path: Path) -> None:
    """Arrow and JSON: nothing that is executed when it is read. The folder is as readable as others."""
    recorded(tmp_path / "own-v0", "--policy", "random")
    files = [path for path in (tmp_path / "own-v0").rglob("*") if path.is_file()]
    assert {path.suffix for path in files} == {".arrow", ".json"} and len(files) == 1 + 2 * 3
    (tmp_path / "usual").mkdir()
    assert (tmp_path / "own-v0").stat().st_mode == (tmp_path / "usual").stat().st_mode


@pytest.mark.parametrize(
    "words, problem",
    [
        (["--policy", "bf-jx", "--out", "own-v0"], "unknown policy 'bf-jx'; did you mean"),
        (["--env", "Server", "--out", "own-v0"], "unknown environment 'Server'; did you mean ServerFill?"),
        (["--out", "own"], "own: the name of a dataset is NAME-vN"),
        (["--out", "there-v0"], "there-v0: there is something of this name already"),
        (["--out", "file/own-v0"], "cannot be written"),
        (["--out", "own-v0", "--option", "order=x"], "unknown order 'x'"),
        (["--out", "own-v0", "--option", "orders=index"], "unexpected keyword argument 'orders'"),
        (["--out", "own-v0", "--load", "0.5"], "give one of --load, --intensity and --rate"),
        (["--policy", "price", "--out", "own-v0"], "policy price drives only environments that"),
    ],
)
def test_bad_words(words: list[str], problem: str, tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there-v0").mkdir()
    (tmp_path / "file").touch()
    with pytest.raises(SystemExit) as end:
        main(["record", *SHORT, *words])
    said = [line for line in capsys.readouterr().err.splitlines() if not line.endswith(" %")]
    assert end.value.code == 2 and problem in said[0] and len(said) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "there-v0"]


def test_without_the_library(tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "minari", None)
    with pytest.raises(SystemExit):
        main(["record", *SHORT, "--out", str(tmp_path / "own-v0")])
    assert capsys.readouterr().err == "packenv: recording needs minari, which is not installed: pip install 'packenv[offline]'\n"


def test_an_interrupted_recording_leaves_nothing(tmp_path: Path) -> None:
    def stop() -> None:
        raise KeyboardInterrupt

    env = plain_env("ServerFill", horizon=200)
    with pytest.raises(KeyboardInterrupt):
        recording.record(env, "random", tmp_path / "own-v0", range(2), stop)
    assert [*tmp_path.iterdir()] == []


def test_a_full_disk_leaves_nothing(tmp_path: Path) -> None:
    program = (
        "import resource, sys; from packenv.cli.main import main; import minari.dataset.minari_storage\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))\n"
        f"main(['record', *{SHORT!r}, '--policy', 'random', '--out', 'own-v0'])"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, env=os.environ)
    assert done.returncode == 2 and done.stderr.splitlines()[-1].startswith("packenv: own-v0: cannot be written ("), done.stderr
    assert "File too large" in done.stderr and [*tmp_path.iterdir()] == []


def test_an_environment_of_no_specification(tmp_path: Path) -> None:
    from packenv.envs.server_fill.environment import ServerFill

    with pytest.raises(InputError, match=r"gymnasium.make"):
        recording.record(ServerFill(horizon=50), "random", tmp_path / "own-v0", range(1))


@pytest.mark.slow  # trains a network
def test_behaviour_cloning(tmp_path: Path) -> None:
    main(["record", "paper/fig4b", "--intensity", "0.9", "--episodes", "12", "--out", str(tmp_path / "own-v0")])
    words = [sys.executable, str(ROOT / "examples" / "behaviour_cloning.py"), str(tmp_path / "own-v0"), "--episodes", "8"]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    scores = {line.split(":")[0].strip(): float(line.split(":")[1].replace(",", "")) for line in done.stdout.splitlines()[-3:]}
    assert scores["random valid"] < scores["the clone"] and scores["the clone"] > 1.25 * scores["bf-js"]
