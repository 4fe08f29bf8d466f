"""Wrappers for other libraries: masks, and discounting by slots."""

from __future__ import annotations

import math
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.utils import RecordConstructorArgs

from packenv.errors import InputError, nearest

NAMES = {"rllib": ("observations", "action_mask"), "tianshou": ("obs", "mask"), "torchrl": ("observation", "action_mask")}
"""Library → the names of the observation and of the mask."""

TYPES: dict[str, type[np.generic]] = {"rllib": np.float32, "tianshou": np.int8, "torchrl": np.bool_}


class MaskedObservation(gymnasium.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """Observations with the mask, as a library expects them.

    The observation comes from the environment, the mask from `info["action_mask"]`.

    | `library` | names | mask |
    |---|---|---|
    | `"rllib"` | `observations`, `action_mask` | float32, a Box |
    | `"tianshou"` | `obs`, `mask` | int8, a MultiBinary |
    | `"torchrl"` | `observation`, `action_mask` | bool, a Box |

    Works on any environment with a mask (A,) in its info at every step. Raises InputError for other libraries.
    """

    def __init__(self, env: gymnasium.Env[Any, Any], library: str) -> None:
        RecordConstructorArgs.__init__(self, library=library)
        gymnasium.Wrapper.__init__(self, env)
        if library not in NAMES:
            raise InputError(f"unknown library {library!r}{nearest(library, list(NAMES))}")
        self._observation, self._mask = NAMES[library]
        self._type = TYPES[library]
        actions = int(env.action_space.n)  # type: ignore[attr-defined]
        mask: spaces.Space[Any] = spaces.Box(0.0, 1.0, (actions,), np.float32)
        if library == "tianshou":
            mask = spaces.MultiBinary(actions)
        elif library == "torchrl":
            mask = spaces.Box(0, 1, (actions,), np.bool_)
        self.observation_space = spaces.Dict(((self._observation, env.observation_space), (self._mask, mask)))

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        observation, info = self.env.reset(seed=seed, options=options)
        return self._masked(observation, info), info

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        observation, reward, terminated, truncated, info = self.env.step(action)
        return self._masked(observation, info), reward, terminated, truncated, info

    def _masked(self, observation: Any, info: dict[str, Any]) -> dict[str, Any]:
        return {self._observation: observation, self._mask: info["action_mask"].astype(self._type)}


class DiscountElapsed(gymnasium.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """Rewards weighted for a discount by slots.

    A step that starts a task takes no time, and another a hundred slots, but a library multiplies by its `gamma` after
    each. The intended return is Σ exp(−(t_i − t_k) / timescale) · r_i over the steps i from k on, where step i begins in slot
    t_i. This wrapper gives the library r_i · w_i with w_i = exp(−(t_i − t_0) / timescale) / gamma^i. Its return from step k,
    Σ gamma^(i−k) · r_i · w_i, is then w_k times the intended one. The weight w_k is positive, known at step k, 1 at the first
    step, and in `info["weight"]`, so it favours no action. Choose gamma near exp(−(mean slots of a step) / timescale): w_k then
    stays near 1. Otherwise values of the same state differ by w_k.

    gamma      the library's discount, 0 < gamma <= 1, else InputError
    timescale  in slots, > 0, else InputError
    """

    def __init__(self, env: gymnasium.Env[Any, Any], *, gamma: float = 0.99, timescale: float = 1000.0) -> None:
        RecordConstructorArgs.__init__(self, gamma=gamma, timescale=timescale)
        gymnasium.Wrapper.__init__(self, env)
        if not 0 < gamma <= 1:
            raise InputError(f"gamma must be above 0 and at most 1, not {gamma}")
        if not 0 < timescale < math.inf:
            raise InputError(f"timescale must be a number of slots above 0, not {timescale}")
        self._per_step, self._per_slot = -math.log(gamma), -1.0 / timescale
        self._exponent = 0.0  # log w of the step to come

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        self._exponent = 0.0
        observation, info = self.env.reset(seed=seed, options=options)
        return observation, info | {"weight": 1.0}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        observation, reward, terminated, truncated, info = self.env.step(action)
        weighted = float(reward) * math.exp(self._exponent)
        self._exponent += self._per_slot * info["elapsed"] + self._per_step
        return observation, weighted, terminated, truncated, info | {"weight": math.exp(self._exponent)}
