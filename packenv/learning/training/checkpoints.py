"""Checkpoints: one safetensors file with weights, optimizer moments and counters. Reading one executes nothing.

The file is replaced in one step, so a run that is killed at any moment leaves the last complete checkpoint.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from packenv.errors import InputError
from packenv.files import atomic_path
from packenv.inputs.json_files import parse_json
from packenv.learning.agents.inference.weights import Weights
from packenv.learning.learner import Arrays, Learner, named

FORMAT = "packenv checkpoint 1"
BEST = "best/"


class Checkpoint(NamedTuple):
    """The contents of a file."""

    arrays: Arrays
    counters: dict[str, Any]

    @property
    def best(self) -> Weights:
        """The weights of the best agent so far; empty before the first evaluation."""
        return named(BEST, self.arrays)


def write_checkpoint(path: Path, learner: Learner, more: dict[str, Any], best: Weights) -> None:
    """Save the learner, the counters in `more` (JSON values) and the weights of the best agent so far."""
    arrays = learner.arrays() | {BEST + name: value for name, value in best.items()}
    counters = learner.counters() | more
    data = save(
        {name: np.ascontiguousarray(array) for name, array in arrays.items()},
        metadata={"format": FORMAT, "counters": json.dumps(counters)},
    )
    with atomic_path(path) as temporary:
        temporary.write_bytes(data)


def read_checkpoint(path: Path) -> Checkpoint:
    """Read a checkpoint. Raises InputError for a file that is damaged or something else."""
    try:
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            if metadata.get("format") != FORMAT:
                raise InputError(f"{path}: not a checkpoint of this version")
            return Checkpoint({name: file.get_tensor(name) for name in file.keys()}, parse_json(metadata["counters"]))  # noqa: SIM118
    except (SafetensorError, OSError, ValueError, KeyError) as error:
        raise InputError(f"{path}: not a checkpoint ({error})") from None


def restore_checkpoint(path: Path, learner: Learner) -> Checkpoint:
    """Set the learner to where the checkpoint was written. Raises InputError for a checkpoint of another network."""
    checkpoint = read_checkpoint(path)
    try:
        learner.load_arrays(checkpoint.arrays)
    except (RuntimeError, ValueError, KeyError) as error:
        raise InputError(f"{path}: a checkpoint of another network ({str(error).splitlines()[0]})") from None
    learner.resume(checkpoint.counters)
    return checkpoint
