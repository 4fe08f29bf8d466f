"""Saved agents: weights (NAME.safetensors) and description (NAME.json).

Reading them executes nothing. The JSON has the hash of the weights, so the two files belong together. An agent is a policy:
`--policy agent:fig4b` or `--policy agent:path/to/NAME` on the command line, `load_agent("fig4b")` in Python.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from packenv.errors import InputError, nearest
from packenv.files import atomic_path, write_json
from packenv.inputs.json_files import read_json
from packenv.learning.agents.agent import SavedAgent
from packenv.learning.agents.shipped import PRETRAINED as PRETRAINED
from packenv.learning.agents.shipped import pretrained_agents as pretrained_agents
from packenv.learning.agents.weights import Weights
from packenv.policy_names import OF_ZIP

FORMAT = 1
IN_RUN, SETTINGS = "agent", "settings.json"  # in the folder of the run that trained it


def save_agent(path: str | Path, about: dict[str, Any], weights: Weights) -> None:
    """Write PATH.safetensors and PATH.json (`about`), each atomically."""
    data = save({key: np.ascontiguousarray(value, np.float32) for key, value in weights.items()})
    with atomic_path(f"{path}.safetensors") as temporary:
        Path(temporary).write_bytes(data)
    write_json(f"{path}.json", about | {"format": FORMAT, "weights": hashlib.sha256(data).hexdigest()})


def load_agent(name: str | Path) -> SavedAgent:
    """Load an agent by name, path, or run folder.

    Names are those of agents that come with packenv. A path may end in .json. Raises InputError if a file is missing, is not what
    its name says, or does not belong to the other.
    """
    text = str(name)
    stem = text.removesuffix(".json").removesuffix(".safetensors")
    inside = PRETRAINED / stem
    base = inside if stem == Path(stem).name and inside.with_name(f"{stem}.json").exists() else Path(stem)
    if not base.with_name(f"{base.name}.json").is_file() and (base / f"{IN_RUN}.json").is_file():
        base = base / IN_RUN
    run = base.parent if base.name == IN_RUN else base
    if not base.with_name(f"{base.name}.json").is_file() and (run / SETTINGS).is_file():
        resumed = "; its command with --resume goes on with it" if any(run.glob("checkpoint.*")) else ""
        raise InputError(f"no agent {text!r} yet: the run {run} has not ended{resumed}")
    json_file, weights_file = base.with_name(f"{base.name}.json"), base.with_name(f"{base.name}.safetensors")
    for file in (json_file, weights_file):
        if not file.is_file():
            if stem.endswith(".zip"):
                raise InputError(f"no agent {text!r}: {OF_ZIP}")
            raise InputError(f"no agent {text!r}: {file} does not exist{nearest(stem, pretrained_agents())}")
    about = read_json(json_file)
    if not isinstance(about, dict) or about.get("format") != FORMAT:
        raise InputError(f"{json_file}: not the description of an agent of format {FORMAT}")
    data = weights_file.read_bytes()
    if about.get("weights") != hashlib.sha256(data).hexdigest():
        raise InputError(f"{weights_file}: not the weights that {json_file.name} describes")
    try:
        weights = dict(sorted(load(data).items()))  # `load` has them in another order each time
    except (SafetensorError, ValueError) as error:
        raise InputError(f"{weights_file}: not a file of weights: {error}") from None
    return SavedAgent(f"agent:{text}", about, weights)


def find_agent(text: str) -> SavedAgent:
    """Return the policy `agent:TEXT`."""
    if not text:
        raise InputError(f"agent needs a name or a path, agent:NAME; shipped: {', '.join(pretrained_agents()) or 'none'}")
    return load_agent(text)


find_agent.takes_text = True  # type: ignore[attr-defined]
