"""`packenv record`: what a dataset holds is what the policy did, and nothing half-written is left."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import gymnasium
import minari
import numpy as np
import pytest

import packenv
from packenv.cli.main import main
from packenv.errors import InputError
from packenv.runs import recording
from tests.envs.playing import plain_env
from tests.test_docs import ROOT
from tests.words import over

SHORT = ["--intensity", "0.9", "--horizon", "300", "--episodes", "3"]


def recorded(folder: Path, *words: str) -> minari.MinariDataset:
    main(["record", "paper/fig4b", *over(SHORT, *words, "--out", str(folder))])
    return minari.MinariDataset(folder / "data")


@pytest.mark.parametrize("env, policy", [("ServerFill", "bf-js"), ("ServerFill", "random"), ("ServerFill", "agent:fig4b")])
def test_what_is_recorded_can_be_played_again(tmp_path: Path, env: str, policy: str) -> None:
    dataset = recorded(tmp_path / "own-v3", "--env", env, "--policy", policy, "--seed", "5")
    again = dataset.recover_environment()
    assert dataset.spec.dataset_id == "own-v3" and len(dataset) == 3
    assert again.action_space == dataset.action_space == gymnasium.make(f"packenv/{env}-v1").action_space  # the id's defaults
    assert dataset.storage.metadata["seeds"] == [5, 6, 7] and dataset.storage.metadata["algorithm_name"] == policy
    for seed, episode in zip((5, 6, 7), dataset, strict=True):
        seen, info = again.reset(seed=seed)
        for n, action in enumerate(episode.actions):
            assert np.array_equal(seen, episode.observations[n])
            assert np.array_equal(info["action_mask"], episode.infos["action_mask"][n]) and info["action_mask"][action]
            seen, reward, terminated, truncated, info = again.step(int(action))
            assert (reward, terminated, truncated) == (
                episode.rewards[n], episode.terminations[n], episode.truncations[n])  # fmt: skip
        assert truncated and n + 2 == len(episode.infos["slot"]) and episode.infos["mean_queue"][-1] == info["mean_queue"]


def test_observations_of_another_form(tmp_path: Path) -> None:
    dataset = recorded(tmp_path / "own-v0", "--option", "observation=full")
    assert {*dataset[0].observations} >= {"virtual_queues", "server", "cluster"}


@pytest.mark.parametrize("observation", ["flat", "normalized"])
def test_a_limit_of_steps(tmp_path: Path, observation: str) -> None:
    dataset = recorded(tmp_path / "flat-v0", "--option", f"observation={observation}", "--option", "max_episode_steps=100000")
    env = dataset.recover_environment()
    assert env.spec is not None and env.spec.max_episode_steps == 100_000  # d3rlpy needs one
    for seed, episode in zip(range(3), dataset, strict=True):
        seen, _ = env.reset(seed=seed)
        assert episode.observations.shape == (len(episode.actions) + 1, *env.observation_space.shape)
        for n, action in enumerate(episode.actions):
            assert np.array_equal(seen, episode.observations[n])
            seen, *_ = env.step(int(action))


def test_d3rlpy_reads_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    d3rlpy = pytest.importorskip("d3rlpy")
    recorded(tmp_path / "flat-v0", "--option", "max_episode_steps=100000")
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    dataset, env = d3rlpy.datasets.get_minari("flat-v0")
    algorithm = d3rlpy.algos.DiscreteCQLConfig(batch_size=32).create()
    silent = d3rlpy.logging.NoopAdapterFactory()
    algorithm.fit(dataset, n_steps=20, n_steps_per_epoch=20, show_progress=False, logger_adapter=silent)
    assert env.action_space.contains(np.int64(algorithm.predict(env.reset(seed=0)[0][None])[0]))


def test_reference_scores_are_returns_on_the_same_jobs(tmp_path: Path) -> None:
    words = ("--policy", "random", "--option", "reward=queue", "--option", "passing=True", "--horizon", "3000")
    words += ("--json", str(tmp_path / "own.json"))
    dataset = recorded(tmp_path / "own-v0", *words)
    about = dataset.storage.metadata
    runs = [packenv.simulate(packenv.workload("paper/fig4b", intensity=0.9), "bf-js", 3000, seed, warmup=0) for seed in range(3)]
    best = -np.mean([round((run.mean_queue or 0) * 3000) for run in runs])
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
        (["--out", "there-v0"], "there-v0: exists already: choose another name"),
        (["--out", "file/own-v0"], "cannot be written"),
        (["--out", "own-v0", "--option", "order=x"], "unknown order 'x'"),
        (["--out", "own-v0", "--option", "orders=index"], "unexpected keyword argument 'orders'"),
        (["--out", "own-v0", "--load", "0.5"], "give one of --load, --intensity and --rate"),
        (["--policy", "price", "--out", "own-v0"], "policy price drives only environments with"),
    ],
)
def test_bad_words(words: list[str], problem: str, tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there-v0").mkdir()
    (tmp_path / "file").touch()
    with pytest.raises(SystemExit) as end:
        main(["record", "paper/fig4b", *over(SHORT, *words)])
    said = [line for line in capsys.readouterr().err.splitlines() if not line.endswith(" %")]
    assert end.value.code == 2 and problem in said[0] and len(said) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "there-v0"]


def test_without_the_library(tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "minari", None)
    with pytest.raises(SystemExit):
        main(["record", "paper/fig4b", *SHORT, "--out", str(tmp_path / "own-v0")])
    assert capsys.readouterr().err == "packenv: recording needs minari, which is not installed: pip install 'minari>=0.5.3'\n"


def test_an_interrupted_recording_leaves_nothing(tmp_path: Path) -> None:
    def stop() -> None:
        raise KeyboardInterrupt

    env = plain_env("ServerFill", horizon=200)
    with pytest.raises(KeyboardInterrupt):
        recording.record(env, "random", tmp_path / "own-v0", range(2), stop)
    assert [*tmp_path.iterdir()] == []


@pytest.mark.slow
def test_a_full_disk_leaves_nothing(tmp_path: Path) -> None:
    program = (
        "import resource, sys; from packenv.cli.main import main; import minari.dataset.minari_storage\n"
        "sys.dont_write_bytecode = True\n"  # Python would keep the part that fits
        "resource.setrlimit(resource.RLIMIT_FSIZE, (3_000, 3_000))\n"
        f"main(['record', 'paper/fig4b', *{SHORT!r}, '--policy', 'random', '--out', 'own-v0'])"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, env=os.environ)
    assert done.returncode == 2 and done.stderr.splitlines()[-1].startswith("packenv: own-v0: cannot be written ("), done.stderr
    assert "File too large" in done.stderr and [*tmp_path.iterdir()] == []


def test_an_environment_of_no_specification(tmp_path: Path) -> None:
    from packenv.envs.registration import ServerFill

    with pytest.raises(InputError, match=r"gymnasium.make"):
        recording.record(ServerFill(horizon=50), "random", tmp_path / "own-v0", range(1))


@pytest.mark.slow  # trains a network
def test_behaviour_cloning(tmp_path: Path) -> None:
    main(["record", "paper/fig4b", "--intensity", "0.9", "--episodes", "12", "--out", str(tmp_path / "own-v0")])
    words = [sys.executable, str(ROOT / "examples" / "behaviour_cloning.py"), str(tmp_path / "own-v0"), "--episodes", "8"]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    scores = {line.split(":")[0].strip(): float(line.split(":")[1].replace(",", "")) for line in done.stdout.splitlines()[-3:]}
    assert scores["random valid"] < scores["the clone"] and scores["the clone"] > 1.25 * scores["bf-js"]


def test_a_moving_picture(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from PIL import Image

    gif = tmp_path / "vqs.gif"
    main(["record", "paper/fig4b", *over(SHORT, "--horizon", "3000", "--policy", "vqs", "--gif", str(gif))])
    shown = Image.open(gif)
    assert shown.format == "GIF" and 30 < shown.n_frames <= 2 * recording.FRAMES and shown.size == (720, 480)  # type: ignore[attr-defined]
    assert f"{gif}: {shown.n_frames} pictures of vqs" in capsys.readouterr().out  # type: ignore[attr-defined]
    assert list(tmp_path.iterdir()) == [gif]


def test_a_film_of_a_model(tmp_path: Path) -> None:
    class Model:
        def predict(self, observation: Any, action_masks: Any) -> Any:
            return action_masks.argmax(axis=1), None

    env = gymnasium.make("packenv/ServerFill-v1", workload="paper/fig4b", intensity=0.9, horizon=2000, render_mode="rgb_array")
    of_model = recording.film(env, Model(), tmp_path / "model.gif", frames=5)
    of_function = recording.film(env, lambda observations, masks: masks.argmax(axis=1), tmp_path / "function.gif", frames=5)
    assert of_model == of_function >= 5
    assert (tmp_path / "model.gif").read_bytes() == (tmp_path / "function.gif").read_bytes()


@pytest.mark.parametrize(("words", "problem"), [([], "give --out for a dataset"), (["--gif", "film.mp4"], "must end in .gif")])
def test_what_is_no_recording(words: list[str], problem: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["record", "paper/fig4b", *over(SHORT, *words)])
    assert problem in capsys.readouterr().err
