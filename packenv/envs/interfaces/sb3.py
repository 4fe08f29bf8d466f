"""The environments as a `VecEnv` of Stable-Baselines3.

`PackVecEnv("Placement", num_envs=512, …)` needs stable-baselines3 (the extra `agents`). Masks are one array, also through
`env_method("action_masks")` as in sb3-contrib. `elapsed` (num_envs,) has the slots of the last step; `terminal_rows`,
`terminal_truncated` and `terminal_observations` have its ends of episodes.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterable
from typing import Any

import gymnasium
import numpy as np
import torch
from numpy.typing import NDArray
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import VecEnv

from packenv.envs.core.state import OF_EPISODE, WORK_DONE
from packenv.envs.options import check_reset
from packenv.envs.registration import find_vector_class
from packenv.errors import InputError
from packenv.workloads.workload import INTENSITIES

Indices = Any
IN_LAST_INFO = ("elapsed", "slot", "invalid", "seed", "reason", *OF_EPISODE)
NO_ROWS: NDArray[np.int64] = np.zeros(0, np.int64)


def warn_of_threads() -> None:
    """Warn if torch has several threads: small networks get slower."""
    if torch.get_num_threads() > 1:
        threads = torch.get_num_threads()
        warnings.warn(f"torch uses {threads} threads: small networks learn faster with torch.set_num_threads(1)", stacklevel=2)


class QueueRatio(BaseCallback):
    """A callback that logs training against the yardstick.

    It logs `cluster/mean queue`, `cluster/mean queue of the baseline` and their `cluster/ratio` to the algorithm's logger, such
    as TensorBoard. These are means over the episodes that ended in the rollout, exploration included. If all these lasted until
    their work was done, as for tables, queues are over different slots. Then it also logs `cluster/mean delay` and `cluster/mean
    delay of the baseline`, and the ratio compares delays. Raises InputError when training begins without `yardstick=True`, whose
    `info` has no `baseline_queue`.
    """

    def __init__(self) -> None:
        super().__init__()
        self._ended: list[dict[str, float]] = []

    def _on_training_start(self) -> None:
        warn_of_threads()
        has_yardstick = [bool(core.yardsticks) for core in self.training_env.get_attr("core", [0])]
        if not all(has_yardstick):
            raise InputError("QueueRatio needs environments with yardstick=True, which measure the baseline")

    def _on_step(self) -> bool:
        self._ended += [info for info in self.locals["infos"] if info.get("baseline_queue", -1.0) >= 0]
        return True

    def _on_rollout_end(self) -> None:
        if not self._ended:
            return
        done = all(info["reason"] == WORK_DONE for info in self._ended)
        for measure in ("queue", "delay") if done else ("queue",):
            agent, baseline = (float(np.mean([info[f"{who}_{measure}"] for info in self._ended])) for who in ("mean", "baseline"))
            self.logger.record(f"cluster/mean {measure}", agent)
            self.logger.record(f"cluster/mean {measure} of the baseline", baseline)
        if baseline > 0:
            self.logger.record("cluster/ratio", agent / baseline)
        self._ended = []


class PackVecEnv(VecEnv):
    """`num_envs` environments of one kind, with their options.

    The kind is a name or an id ("ServerFill", "packenv/ServerFill-v1"). As in SB3, the next episode begins in the step that ends
    one. `infos[i]` then has the `terminal_observation`, the last info of the single environment (`reason`, `seed`, `mean_queue`,
    …), and `episode` (return, steps, seconds since the environments were made) as from SB3's `Monitor`. `reset_infos[i]` has the
    next episode's seed. Infos of other rows are empty: read the arrays `elapsed`, `invalid` and `action_masks()` instead.
    """

    def __init__(self, kind: str, num_envs: int = 1, *, seed: int | None = None, **options: Any) -> None:
        self.env = find_vector_class(kind)(num_envs, autoreset_mode="SameStep", **options)
        self.core = self.env.core
        super().__init__(num_envs, self.env.single_observation_space, self.env.single_action_space)
        self.elapsed = np.zeros(num_envs, np.int64)  # slots
        self.invalid = np.zeros(num_envs, np.bool_)
        self.guarded = np.zeros(num_envs, np.int64)  # slots of `elapsed` that passed under the guard
        self._made = time.monotonic()
        self._returns, self._steps = np.zeros(num_envs), np.zeros(num_envs, np.int64)  # of the episodes so far
        self._no_ends()
        self._masks = np.zeros((num_envs, self.core.layout.actions), np.bool_)
        self._chosen: NDArray[np.int64] = np.zeros(num_envs, np.int64)
        if seed is not None:
            self.seed(seed)

    def reset(self) -> Any:
        """Begin an episode in every row, with seeds of `seed`."""
        warn_of_threads()
        observations, info = self.env.reset(seed=None if self._seeds[0] is None else list(self._seeds), options=self._options[0])
        self._reset_seeds()
        self._reset_options()
        self._remember(info)
        self._returns[:], self._steps[:] = 0.0, 0
        self.reset_infos = [{"seed": int(seed)} for seed in info["seed"]]
        return observations

    def set_options(self, options: list[dict[str, Any]] | dict[str, Any] | None = None) -> None:
        """Set load, intensity or rate for the next reset (InputError)."""
        of_rows = options if isinstance(options, list) else [options or {}] * self.num_envs
        if len(of_rows) != self.num_envs or any(of_row != of_rows[0] for of_row in of_rows):
            raise InputError("rows of a batch share their options: give the same to all")
        check_reset(of_rows[0])
        super().set_options(of_rows)

    def step_async(self, actions: NDArray[Any]) -> None:
        self._chosen = actions

    def step_wait(self) -> tuple[Any, NDArray[np.float32], NDArray[np.bool_], list[dict[str, Any]]]:
        observations, rewards, terminated, truncated, info = self.env.step(self._chosen)
        done = terminated | truncated
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        self._remember(info)
        self._returns += rewards
        self._steps += 1
        if not done.any():
            self._no_ends()
        else:
            final = info["final_info"]
            for name in ("elapsed", "invalid", "guarded"):
                if name in final:
                    getattr(self, name)[done] = final[name][done]
            self._remember_ends(np.flatnonzero(done), truncated, info["final_obs"])
            for row in self.terminal_rows.tolist():
                infos[row] = self._last_info(row, info, bool(truncated[row]))
                self.reset_infos[row] = {"seed": int(info["seed"][row])}
            self._returns[done], self._steps[done] = 0.0, 0
        return observations, rewards.astype(np.float32), done, infos

    def _last_info(self, row: int, info: dict[str, Any], truncated: bool) -> dict[str, Any]:
        final = info["final_info"]
        measured = {
            key: final[key][row].item()
            for key in (*IN_LAST_INFO, *self.core.definition.measures, *self.core.of_yardstick, "guarded")
            if key in final
        }
        seconds = time.monotonic() - self._made
        episode = {"r": float(self._returns[row]), "l": int(self._steps[row]), "t": round(seconds, 6)}
        ended = {"terminal_observation": info["final_obs"][row], "TimeLimit.truncated": truncated, "episode": episode}
        return ended | measured

    def _remember(self, info: dict[str, Any]) -> None:
        self.elapsed, self.invalid = info["elapsed"].copy(), info["invalid"].copy()
        if "guarded" in info:
            self.guarded = info["guarded"].copy()
        self._masks = info["action_mask"].view(np.bool_)

    def _no_ends(self) -> None:
        self.terminal_rows = NO_ROWS  # (k,) rows whose episode ended in the last step
        self.terminal_truncated: NDArray[np.bool_] = np.zeros(0, np.bool_)  # (k,)
        self.terminal_observations: Any = {}  # (k, …) each; nothing where k = 0

    def _remember_ends(self, rows: NDArray[np.int64], truncated: NDArray[np.bool_], final: NDArray[Any]) -> None:
        self.terminal_rows, self.terminal_truncated = rows, truncated[rows]
        if self.core.flat:
            self.terminal_observations = np.stack([final[row] for row in rows])
        else:
            self.terminal_observations = {key: np.stack([final[row][key] for row in rows]) for key in final[rows[0]]}

    def stagger(self) -> None:
        """Spread the ends of the first episodes over time."""
        turn, horizon = self.core.batch.turn, self.core.options.horizon
        if horizon is not None:
            turn["until"] -= horizon - horizon * np.arange(1, self.num_envs + 1) // self.num_envs

    def action_masks(self) -> NDArray[np.bool_]:
        """Return the valid actions now, (num_envs, A)."""
        return self._masks

    def close(self) -> None:
        self.env.close()

    def has_attr(self, attr_name: str) -> bool:
        return hasattr(self, attr_name) or hasattr(self.env, attr_name)

    def get_attr(self, attr_name: str, indices: Indices = None) -> list[Any]:
        """Return the shared attribute once per row."""
        if attr_name in INTENSITIES:  # the highest, where each episode draws its own
            value = getattr(self.core.workload, attr_name)
        else:
            value = getattr(self.env, attr_name) if hasattr(self.env, attr_name) else getattr(self, attr_name)
        return [value for _ in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: Indices = None) -> None:
        """Set an attribute of all rows.

        Raises InputError for an unknown attribute, and for some rows only. Load, intensity or rate change later episodes.
        """
        if len(list(self._get_indices(indices))) != self.num_envs:
            raise InputError("rows of a batch share their attributes: set them for all")
        if attr_name in INTENSITIES:
            self.core.set_rates({attr_name: value})
        elif hasattr(self.env, attr_name):
            setattr(self.env, attr_name, value)
        else:
            raise InputError(f"{type(self.env).__name__} has no {attr_name!r}; in training {', '.join(INTENSITIES)} can be set")

    def env_method(self, method_name: str, *method_args: Any, indices: Indices = None, **method_kwargs: Any) -> list[Any]:
        """Call a method once, and repeat its value (a mask: its row) per row."""
        rows = self._get_indices(indices)
        if method_name == "action_masks":
            return self._masks if indices is None else self._masks[list(rows)]  # type: ignore[return-value]
        value = getattr(self.env, method_name)(*method_args, **method_kwargs)
        return [value for _ in rows]

    def env_is_wrapped(self, wrapper_class: type[gymnasium.Wrapper[Any, Any, Any, Any]], indices: Indices = None) -> list[bool]:
        """Return whether rows report `episode` as SB3's `Monitor`."""
        reports = issubclass(wrapper_class, Monitor)
        return [reports for _ in self._get_indices(indices)]

    def get_images(self) -> list[NDArray[np.uint8] | None]:
        return list(self.env.render() or [])

    def _get_indices(self, indices: Indices) -> Iterable[int]:
        return super()._get_indices(indices)
