"""Checkpoints: one safetensors file with weights, optimizer moments and counters. Reading one executes nothing.

The file is replaced in one step, so a run that is killed at any moment leaves the last whole one behind.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from packenv.envs.core.seeds import mix
from packenv.errors import InputError
from packenv.files import atomic_path

FORMAT = "packenv checkpoint 1"
WEIGHTS, MOMENTS, BEST = "weights/", "optimizer/", "best/"
COUNTERS = ("num_timesteps", "_n_updates", "_n_calls", "_episode_num")
"""Of the algorithm; schedules follow from them. DQN's replay buffer is not kept: it fills again."""

Arrays = dict[str, NDArray[Any]]


class Checkpoint(NamedTuple):
    """What a file holds."""

    arrays: Arrays
    counters: dict[str, Any]


def seed_at(seed: int, samples: int) -> int:
    """The seed of what is random after so many samples: fresh episodes and draws, whenever a run goes on. Below 2^32."""
    return mix(mix(seed + 1) + samples & (2**64 - 1)) >> 32


def write_checkpoint(path: Path, model: Any, more: dict[str, Any], best: Arrays) -> None:
    """Save `model`, the counters in `more` (JSON values) and the weights of the best agent so far."""
    arrays: Arrays = {WEIGHTS + name: value.numpy() for name, value in model.policy.state_dict().items()}
    optimizer = getattr(model.policy, "optimizer", None)
    for index, state in optimizer.state_dict()["state"].items() if optimizer else ():
        arrays |= {f"{MOMENTS}{index}/{name}": np.asarray(value) for name, value in state.items()}
    arrays |= {BEST + name: value for name, value in best.items()}
    counters = {name: getattr(model, name) for name in COUNTERS if hasattr(model, name)} | more
    data = save(
        {name: np.ascontiguousarray(array) for name, array in arrays.items()},
        metadata={"format": FORMAT, "counters": json.dumps(counters)},
    )
    with atomic_path(path) as temporary:
        temporary.write_bytes(data)


def read_checkpoint(path: Path) -> Checkpoint:
    """What was saved; InputError for a file that is something else or damaged."""
    try:
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            if metadata.get("format") != FORMAT:
                raise InputError(f"{path}: not a checkpoint of this version")
            return Checkpoint({name: file.get_tensor(name) for name in file.keys()}, json.loads(metadata["counters"]))  # noqa: SIM118
    except (SafetensorError, OSError, ValueError, KeyError) as error:
        raise InputError(f"{path}: not a checkpoint ({error})") from None


def restore(path: Path, model: Any) -> Checkpoint:
    """Put `model` where the checkpoint was written; what is random goes on with `seed_at`."""
    checkpoint = read_checkpoint(path)
    weights = {name: torch.from_numpy(array) for name, array in _under(WEIGHTS, checkpoint.arrays).items()}
    try:
        model.policy.load_state_dict(weights)
        state: dict[int, dict[str, torch.Tensor]] = {}
        for name, array in _under(MOMENTS, checkpoint.arrays).items():
            index, _, key = name.partition("/")
            state.setdefault(int(index), {})[key] = torch.from_numpy(array.copy())
        if state:
            optimizer = model.policy.optimizer
            optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})
    except (RuntimeError, ValueError, KeyError) as error:
        raise InputError(f"{path}: a checkpoint of another network ({str(error).splitlines()[0]})") from None
    for name in COUNTERS:
        if name in checkpoint.counters:
            setattr(model, name, checkpoint.counters[name])
    return checkpoint


def best_of(checkpoint: Checkpoint) -> Arrays:
    """The weights of the best agent so far; empty if there was none."""
    return _under(BEST, checkpoint.arrays)


def _under(prefix: str, arrays: Arrays) -> Arrays:
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
