"""Arrays of the last steps: whoever holds one keeps it, and one that nobody holds is shown again."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np

import packenv  # noqa: F401  (registers)
from packenv.envs.core.spares import KEPT, Spares


def test_nothing_that_is_held_is_given_again() -> None:
    spares = Spares(np.zeros((3, 2), np.float32))
    held = [spares.take()[0] for _ in range(2 * KEPT)]
    views = [spares.take()[0][1:] for _ in range(KEPT)]  # a view keeps its array
    addresses = [array.ctypes.data for array in held] + [view.base.ctypes.data for view in views if view.base is not None]
    assert len(set(addresses)) == 3 * KEPT
    assert {(array.shape, array.dtype) for array in held} == {((3, 2), np.dtype(np.float32))}


def test_what_nobody_holds_is_given_again() -> None:
    spares = Spares(np.zeros(5))
    assert len({spares.take()[1] for _ in range(20)}) == 1
    array, address = spares.take()
    assert address == array.ctypes.data
    assert spares.take()[1] != address


def test_kept_observations_stay_what_they_were() -> None:
    env: Any = gym.make_vec("packenv/Placement-v0", num_envs=6, vectorization_mode="vector_entry_point")
    seen, info = env.reset(seed=0)
    kept, copies = [], []
    for _ in range(30):
        kept.append((*seen.values(), info["action_mask"]))
        copies.append([array.copy() for array in kept[-1]])
        seen, *_, info = env.step(info["action_mask"].argmax(axis=1))
    for arrays, copied in zip(kept, copies, strict=True):
        assert all((array == copy).all() for array, copy in zip(arrays, copied, strict=True))
