"""The folder of a training run, and its checkpoints.

`settings.json` holds the settings, `checkpoint.safetensors` the progress (the distribution of the weights, and counters),
`agent.*` the agent so far. TensorBoard's event files are in the same folder. Reading a checkpoint executes nothing. It is
replaced in one step, so a killed run leaves the last complete one.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from packenv.errors import ArgumentError, InputError
from packenv.files import atomic_path
from packenv.inputs.json_files import parse_json, read_json
from packenv.learning.agents.saved import IN_RUN
from packenv.learning.agents.saved import SETTINGS as SETTINGS
from packenv.learning.agents.weights import Weights
from packenv.learning.settings import Settings

if TYPE_CHECKING:  # brings the simulator with it
    from packenv.learning.evolution import Evolution

FORMAT = "packenv checkpoint 1"
BEST = "best/"


class Checkpoint(NamedTuple):
    """The contents of a file."""

    arrays: dict[str, NDArray[Any]]
    counters: dict[str, Any]

    @property
    def best(self) -> Weights:
        """Return the best agent's weights, initially empty."""
        return {name.removeprefix(BEST): array for name, array in self.arrays.items() if name.startswith(BEST)}


def write_checkpoint(path: Path, learner: Evolution, more: dict[str, Any], best: Weights) -> None:
    """Save the learner, JSON counters `more`, and the best weights."""
    arrays = learner.state() | {BEST + name: value for name, value in best.items()}
    counters = {"num_timesteps": learner.samples} | more
    data = save(
        {name: np.ascontiguousarray(array) for name, array in arrays.items()},
        metadata={"format": FORMAT, "counters": json.dumps(counters)},
    )
    with atomic_path(path) as temporary:
        temporary.write_bytes(data)


def read_checkpoint(path: Path) -> Checkpoint:
    """Read a checkpoint (InputError if damaged or something else)."""
    try:
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            if metadata.get("format") != FORMAT:
                raise InputError(f"{path}: not a checkpoint of this version")
            return Checkpoint({name: file.get_tensor(name) for name in file.keys()}, parse_json(metadata["counters"]))  # noqa: SIM118
    except (SafetensorError, OSError, ValueError, KeyError) as error:
        raise InputError(f"{path}: not a checkpoint ({error})") from None


def restore_checkpoint(path: Path, learner: Evolution) -> Checkpoint:
    """Set the learner to a checkpoint (InputError for another network)."""
    checkpoint = read_checkpoint(path)
    try:
        learner.load_state(checkpoint.arrays)
    except (ValueError, KeyError) as error:
        raise InputError(f"{path}: a checkpoint of another network ({str(error).splitlines()[0]})") from None
    learner.samples = checkpoint.counters["num_timesteps"]
    return checkpoint


CHECKPOINT, AGENT = "checkpoint.safetensors", IN_RUN


def check_folder(folder: Path, settings: Settings, resume: bool) -> None:
    """Raise InputError unless the folder is free or may resume."""
    record = settings.record()
    file = folder / SETTINGS
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder}: not a folder")
    if not file.exists():
        if folder.exists() and any(not name.name.startswith(".") for name in folder.iterdir()):
            raise ArgumentError(f"{folder}: not empty, and holds no training run: choose another `name`")
        return
    try:
        saved = read_json(file)
    except InputError:
        saved = None
    if not isinstance(saved, dict):
        raise InputError(f"{file}: not the settings of a training run")
    different = [key for key in record if json.loads(json.dumps(record[key])) != saved.get(key)]
    if different:
        key = different[0]
        difference = f"{key} is {saved.get(key)!r} there, not {record[key]!r}"
        raise ArgumentError(f"{folder} holds another run: {difference}; choose another `name`")
    if not resume:
        raise ArgumentError(f"{folder} holds this run already: continue it with `resume`, or choose another `name`")
