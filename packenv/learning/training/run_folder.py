"""The folder of a training run.

`settings.json` holds the settings, `checkpoint.safetensors` how far the run is, `agent.*` what it has learned so far.
TensorBoard's event files lie beside them.
"""

from __future__ import annotations

import json
from pathlib import Path

from packenv.errors import ArgumentError, InputError
from packenv.inputs.json_files import read_json
from packenv.learning.agents.saved import IN_RUN
from packenv.learning.settings import Settings

CHECKPOINT, SETTINGS, AGENT = "checkpoint.safetensors", "settings.json", IN_RUN


def check_folder(folder: Path, settings: Settings, resume: bool) -> None:
    """Raise InputError unless the folder is free, or holds a run with these settings that is to be resumed."""
    record = settings.record()
    known = folder / SETTINGS
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder}: not a folder")
    if not known.exists():
        if folder.exists() and any(not name.name.startswith(".") for name in folder.iterdir()):
            raise ArgumentError(f"{folder}: not empty, and holds no training run: choose another `name`")
        return
    try:
        found = read_json(known)
    except InputError:
        found = None
    if not isinstance(found, dict):
        raise InputError(f"{known}: not the settings of a training run")
    different = [key for key in record if json.loads(json.dumps(record[key])) != found.get(key)]
    if different:
        key = different[0]
        there = f"{key} is {found.get(key)!r} there, not {record[key]!r}"
        raise ArgumentError(f"{folder} holds another run: {there}; choose another `name`")
    if not resume:
        raise ArgumentError(f"{folder} holds this run already: `resume` goes on with it, another `name` begins anew")
