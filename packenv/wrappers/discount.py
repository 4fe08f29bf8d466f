"""Discount by the slots that pass, in libraries that discount by steps."""

from __future__ import annotations

import math
from typing import Any

import gymnasium
from gymnasium.utils import RecordConstructorArgs

from packenv.errors import InputError


class DiscountElapsed(gymnasium.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """Rewards weighted so that a library's discount by steps becomes one by slots.

    A step that starts a task takes no time, and another a hundred slots, but a library multiplies by its `gamma` after
    each. What is meant is Σ exp(−(t_i − t_k) / timescale) · r_i over the steps i from k on, t_i being the slot in which
    step i begins. This wrapper gives the library r_i · w_i with w_i = exp(−(t_i − t_0) / timescale) / gamma^i, so its
    return from step k on, Σ gamma^(i−k) · r_i · w_i, is what is meant times w_k, a number above 0 that is known at step k,
    is 1 at the first and is in `info["weight"]`. It makes no action look better than another. It stays near 1 where
    gamma is about exp(−(mean slots of a step) / timescale), and should: values of the same state differ by it.

    `gamma` is the library's; `timescale` in slots. Raises InputError unless 0 < gamma <= 1 and timescale > 0.
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
        seen, info = self.env.reset(seed=seed, options=options)
        return seen, info | {"weight": 1.0}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        seen, reward, terminated, truncated, info = self.env.step(action)
        weighted = float(reward) * math.exp(self._exponent)
        self._exponent += self._per_slot * info["elapsed"] + self._per_step
        return seen, weighted, terminated, truncated, info | {"weight": math.exp(self._exponent)}
