"""The mask of valid actions in the observation, under the names by which other libraries look for it."""

from __future__ import annotations

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
    """Observations {observation, mask} as a library wants them: what the environment observes, and its `info["action_mask"]`.

    | `library` | names | mask |
    |---|---|---|
    | `"rllib"` | `observations`, `action_mask` | float32, a Box |
    | `"tianshou"` | `obs`, `mask` | int8, a MultiBinary |
    | `"torchrl"` | `observation`, `action_mask` | bool, a Box |

    Works on any environment that has a mask (A,) in its info at every step. Raises InputError for other libraries.
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
        seen, info = self.env.reset(seed=seed, options=options)
        return self._masked(seen, info), info

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        seen, reward, terminated, truncated, info = self.env.step(action)
        return self._masked(seen, info), reward, terminated, truncated, info

    def _masked(self, seen: Any, info: dict[str, Any]) -> dict[str, Any]:
        return {self._observation: seen, self._mask: info["action_mask"].astype(self._type)}
