"""`packenv.envs.EvaluateRatio`: what it logs is what `packenv.evaluate_agent` says, and the best model is kept by it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium
import pytest

import packenv
from packenv.envs import EvaluateRatio, PackVecEnv, QueueRatio
from packenv.errors import InputError

pytest.importorskip("sb3_contrib")

from sb3_contrib import MaskablePPO
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.vec_env import VecNormalize

SETTING: dict[str, Any] = {"workload": "paper/fig4b", "intensity": 0.9}


def test_a_model_that_has_not_changed_is_not_evaluated_again(capsys: pytest.CaptureFixture[str]) -> None:
    how: dict[str, Any] = {"slots": 3_000, "seeds": [5, 6, 7], "against": "bf-s", "verbose": 1, **SETTING}
    callback = EvaluateRatio("packenv/ServerFill-v1", eval_freq=24, **how)
    env = PackVecEnv("ServerFill", 4, seed=0, **SETTING)
    MaskablePPO("MlpPolicy", env, n_steps=64, batch_size=64, seed=0, device="cpu").learn(512, callback=callback)
    assert [steps for steps, _ in callback.scores] == [96, 288]  # not at 192, nor at 384 and 480: it learns after 256 and 512
    said = capsys.readouterr().out.splitlines()
    assert said == [f"{steps:,} steps: {score}" for steps, score in callback.scores]


def test_the_best_model_is_the_one_with_the_least_ratio(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    logged: list[dict[str, Any]] = []
    record = Logger.record

    def keep(self: Any, key: str, value: Any, *more: Any, **named: Any) -> None:
        logged.append({key: value})
        record(self, key, value, *more, **named)

    monkeypatch.setattr(Logger, "record", keep)
    how: dict[str, Any] = {"slots": 3_000, "seeds": [5, 6, 7], "against": "bf-s", **SETTING}
    callback = EvaluateRatio("packenv/ServerFill-v1", eval_freq=64, best_model_save_path=tmp_path / "best", **how)
    env = VecNormalize(PackVecEnv("ServerFill", 4, seed=0, **SETTING), norm_reward=False)
    model = MaskablePPO("MlpPolicy", env, n_steps=64, batch_size=64, learning_rate=0.01, seed=0, device="cpu")
    model.learn(768, callback=callback)

    assert [steps for steps, _ in callback.scores] == [256, 512, 768]
    ratios = [score.ratio.mean for _, score in callback.scores]
    assert [entry["eval/ratio"] for entry in logged if "eval/ratio" in entry] == ratios
    assert {"eval/ratio, lower end", "eval/ratio, upper end", "eval/mean queue"} < {key for entry in logged for key in entry}
    assert callback.best == min(ratios) and callback.scores[0][1].seeds == (5, 6, 7)
    kept = VecNormalize.load(str(tmp_path / "best" / "best_model_normalize.pkl"), PackVecEnv("ServerFill", 1, seed=0, **SETTING))
    best = MaskablePPO.load(tmp_path / "best" / "best_model", kept)
    assert packenv.evaluate_agent(best, "packenv/ServerFill-v1", **how).ratio.mean == min(ratios)


class Reversed(gymnasium.ObservationWrapper[Any, Any, Any]):
    """A wrapper of one's own."""

    def observation(self, observation: Any) -> Any:
        return observation[..., ::-1].copy()


def test_a_function_plays_for_a_model_behind_a_wrapper(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One table: one run in each evaluation, and no ends of an interval."""
    table = packenv.Workload(jobs=packenv.Jobs.of(range(60), [0.6, 0.3, 0.4] * 20, [9, 5, 7] * 20), servers=1)
    env = make_vec_env("packenv/ServerFill-v1", n_envs=2, env_kwargs={"workload": table}, wrapper_class=Reversed)
    model = MaskablePPO("MlpPolicy", env, n_steps=32, batch_size=64, seed=0, device="cpu")
    with pytest.raises(
        InputError, match=r"behind Reversed, .*from observations and masks to actions \(to EvaluateRatio as `agent`\)"
    ):
        model.learn(64, callback=EvaluateRatio("ServerFill", workload=table))

    def play(seen: Any, masks: Any) -> Any:
        return model.predict(seen[:, ::-1], action_masks=masks, deterministic=True)[0]

    where = tmp_path / "best"
    callback = EvaluateRatio(
        "ServerFill", agent=play, eval_freq=32, best_model_save_path=where, verbose=1, seeds=3, workload=table
    )
    model.learn(128, callback=callback)
    assert [steps for steps, _ in callback.scores] == [64, 128] and (where / "best_model.zip").exists()
    assert all(len(score.seeds) == 1 and score.ratio.low is None for _, score in callback.scores)
    assert [line.count("no seed changes") for line in capsys.readouterr().out.splitlines()] == [1, 0]


def test_wrong_options_are_refused_before_training() -> None:
    for options, problem in (
        ({"eval_freq": 0}, "eval_freq must be a whole number from 1"),
        ({"slots": 0}, "slots must be a whole number from 1"),
        ({"seeds": 0}, "`seeds` must be a whole number of at least 1"),
        ({"n_eval_episodes": 5}, "EvaluateRatio has no n_eval_episodes: it plays one episode of `slots` for each of `seeds`"),
        ({"tpyes": 3}, "unexpected keyword argument 'tpyes'; did you mean types"),
    ):
        with pytest.raises(InputError, match=problem):
            EvaluateRatio("packenv/ServerFill-v1", **options)  # type: ignore[arg-type]
    env = PackVecEnv("ServerFill", 2, seed=0, **SETTING)
    with pytest.raises(InputError, match=r"environment: its id, as in gymnasium\.make, not PackVecEnv"):
        EvaluateRatio(env)  # type: ignore[arg-type]
    model = MaskablePPO("MlpPolicy", env, n_steps=64, device="cpu")
    for callback, problem in (
        (EvaluateRatio("ServerFill", choices=3, **SETTING), "trained with choices=4, not choices=3"),
        (QueueRatio(), "QueueRatio needs environments with yardstick=True"),
    ):
        with pytest.raises(InputError, match=problem):
            model.learn(256, callback=callback)
        assert model.num_timesteps == 0
