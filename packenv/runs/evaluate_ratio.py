"""`packenv.envs.EvaluateRatio`: the ratio to a policy during training."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from stable_baselines3.common.callbacks import BaseCallback

from packenv.envs.core.definition import check_integer
from packenv.envs.interfaces.sb3 import warn_of_threads
from packenv.envs.options import LATEST, check_names
from packenv.envs.registration import find_definition, id_of, kind_of
from packenv.errors import InputError
from packenv.learning.agents.library_models import normalizers_of
from packenv.runs.agent_score import BASELINE, AgentScore, chooser, evaluate_agent
from packenv.runs.run import chosen_seeds

FIRST = 2_000_000
"""The first seed. It differs from `evaluate_agent`, as the best of many evaluations is too optimistic."""

SLOTS = 50_000

OF_EVAL_CALLBACK = {
    "eval_env": "it is made from `environment` and the options",
    "n_eval_episodes": "it plays one episode of `slots` for each of `seeds`",
    "log_path": "`scores` has all evaluations, and the logger their numbers",
    "deterministic": "the likeliest actions are played",
    "render": "it draws nothing",
    "warn": "it has nothing to warn of",
    "callback_on_new_best": "`best_model_save_path` stores the best",
    "callback_after_eval": "`scores` has all evaluations",
}
"""Arguments of EvalCallback, and their replacements here."""


class EvaluateRatio(BaseCallback):
    """A replacement for `EvalCallback` that compares with a policy.

    Every `eval_freq` steps the likeliest actions play the same jobs as the policy.
    environment           its id, with `options` as in training
    eval_freq             steps of every environment between evaluations, as in EvalCallback
    best_model_save_path  folder for `best_model.zip`, the model with the least ratio so far, and `best_model_normalize.pkl` if
                          it uses VecNormalize. None: not stored
    slots                 of each evaluation, 50,000 by default. A table is played until its work is done, unless this is given
    against               see `packenv.evaluate_agent`
    seeds                 their number, from 2,000,000 on, or the seeds
    agent                 see `packenv.evaluate_agent`. None: the model. If your wrapper lies between, repeat its work in a
                          function: `lambda observations, masks: model.predict(changed(observations), action_masks=masks,
                          deterministic=True)[0]`
    verbose               1: print a line for each evaluation, like EvalCallback
    An unchanged model is not evaluated again: PPO changes its weights every n_steps · n_envs steps. Logs `eval/ratio`, its 95
    % interval as `eval/ratio, lower end` and `… upper end`, and `eval/mean queue`. The jobs are the same in every evaluation,
    so only learning changes the ratio. A whole table has one run and no interval.
    `scores` is a list of (training steps, AgentScore), one for each evaluation. Each AgentScore has `mean`, `ratio`, and
    `scores` by seed. `best` is the least ratio. Raises InputError for invalid options, and at the start of training for a
    model that `evaluate_agent` refuses.
    """

    def __init__(
        self,
        environment: str,
        *,
        eval_freq: int = 2048,
        best_model_save_path: str | Path | None = None,
        slots: int | None = None,
        seeds: int | Sequence[int] = 8,
        against: Any = BASELINE,
        agent: Any = None,
        verbose: int = 0,
        **options: Any,
    ) -> None:
        super().__init__(verbose)
        if not isinstance(environment, str):
            raise InputError(f"environment: its id, as in gymnasium.make, not {type(environment).__name__}")
        for name in OF_EVAL_CALLBACK.keys() & options:
            raise InputError(f"EvaluateRatio has no {name}: {OF_EVAL_CALLBACK[name]}")
        check_names(options, find_definition(environment).own_options)
        check_integer("eval_freq", eval_freq, 1, LATEST)
        if slots is not None:
            check_integer("slots", slots, 1, LATEST)
        rows = chosen_seeds(seeds, FIRST)
        self.environment, self.options, self.eval_freq = environment, options, eval_freq
        self.folder = None if best_model_save_path is None else Path(best_model_save_path)
        self.how: dict[str, Any] = {"slots": slots, "seeds": rows, "against": against}
        self.agent = agent
        self.scores: list[tuple[int, AgentScore]] = []
        self.best = float("inf")
        self.evaluated: torch.Tensor | None = None  # the weights at the last evaluation

    def _on_training_start(self) -> None:
        """Refuse unsuitable models now, not after the first `eval_freq` steps."""
        import gymnasium

        warn_of_threads()
        core = gymnasium.make(id_of(kind_of(self.environment)), **self.options).unwrapped.core  # type: ignore[attr-defined]
        if self.agent is None:
            normalizers_of(self.model, core)
        else:
            chooser(self.agent)  # raises for what cannot play
        if self.how["slots"] is None and core.workload.jobs is None:
            self.how["slots"] = SLOTS

    def _on_step(self) -> bool:
        if self.n_calls % self.eval_freq == 0 and self._has_changed():
            self._evaluate()
        return True

    def _has_changed(self) -> bool:
        """Return whether the model may have changed since the last evaluation."""
        weights = torch.cat([weight.detach().flatten() for weight in self.model.policy.parameters()])
        known, self.evaluated = self.evaluated, weights
        return known is None or self.model.get_vec_normalize_env() is not None or not torch.equal(known, weights)

    def _evaluate(self) -> None:
        agent = self.model if self.agent is None else self.agent
        score = evaluate_agent(agent, self.environment, **self.how, **self.options)
        self.scores.append((self.num_timesteps, score))
        ratio = score.ratio
        values = {
            "ratio": ratio.mean,
            "ratio, lower end": ratio.low,
            "ratio, upper end": ratio.high,
            score.measure: score.mean.mean,
        }
        for name, value in values.items():
            if value is not None:
                self.logger.record(f"eval/{name}", value)
        self.logger.dump(self.num_timesteps)
        if self.verbose:
            shown_score = score if len(self.scores) == 1 else replace(score, remark="")  # once
            print(f"{self.num_timesteps:,} steps: {shown_score}", flush=True)
        if ratio.mean is not None and ratio.mean < self.best:
            self.best = ratio.mean
            if self.folder is not None:
                self.folder.mkdir(parents=True, exist_ok=True)
                self.model.save(self.folder / "best_model")
                if (normalize := self.model.get_vec_normalize_env()) is not None:
                    normalize.save(str(self.folder / "best_model_normalize.pkl"))
