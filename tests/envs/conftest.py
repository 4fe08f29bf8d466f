"""Random actions that the mask allows."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest

os.environ.setdefault("SDL_VIDEODRIVER", "dummy")  # no window on a machine without a screen


class Player:
    """Chooses among the valid actions, with a seed of its own."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def __call__(self, info: dict[str, Any]) -> int:
        return int(self.rng.choice(np.flatnonzero(info["action_mask"])))

    def all(self, info: dict[str, Any]) -> Any:
        return np.array([int(self.rng.choice(np.flatnonzero(mask))) for mask in info["action_mask"]])


@pytest.fixture
def player() -> Player:
    return Player(0)
