"""Saved optimal policies: decisions (.safetensors) and settings (.json).

Reading them executes nothing. The JSON has the hash of the decisions. On the command line, use `--policy optimal:NAME`.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from packenv.errors import InputError
from packenv.files import atomic_path, write_json
from packenv.inputs.json_files import read_json
from packenv.policies.optimal.optimal import Optimal
from packenv.theory.stationary_optimum.occupancies import small_types
from packenv.theory.stationary_optimum.optimum import StationaryOptimum
from packenv.workloads.workload import Workload

FORMAT = 1
WHAT = "optimal policy"


def save_optimal(path: str | Path, optimum: StationaryOptimum) -> None:
    """Write decisions and settings to the files of PATH, or nothing."""
    json_file, table_file = files_of(path)
    data = save({"decisions": optimum.decisions})
    with atomic_path(table_file) as temporary:
        Path(temporary).write_bytes(data)
    about = {
        "what": WHAT,
        "format": FORMAT,
        "workload": optimum.workload.to_dict(),
        "rate": optimum.instance.rate,
        "most": optimum.most,
        "lower": optimum.lower,
        "decisions": hashlib.sha256(data).hexdigest(),
    }
    write_json(json_file, about)


def load_optimal(path: str | Path) -> Optimal:
    """Return the policy in the files of PATH (`files_of`).

    Raises InputError if a file is missing, has another form, or does not belong to the other.
    """
    json_file, table_file = files_of(path)
    for file in (json_file, table_file):
        if not file.is_file():
            raise InputError(f"no optimal policy {str(path)!r}: {file} does not exist")
    about = read_json(json_file)
    if not isinstance(about, dict) or about.get("what") != WHAT or about.get("format") != FORMAT:
        raise InputError(f"{json_file}: not the description of an optimal policy of format {FORMAT}")
    workload = Workload.from_dict(about.get("workload"), f"{json_file}: workload")
    data = table_file.read_bytes()
    if about.get("decisions") != hashlib.sha256(data).hexdigest():
        raise InputError(f"{table_file}: not the decisions that {json_file.name} describes")
    try:
        decisions = load(data)["decisions"]
    except (SafetensorError, ValueError, KeyError) as error:
        raise InputError(f"{table_file}: not a file of decisions: {error}") from None
    if decisions.dtype != np.uint8:
        raise InputError(f"{table_file}: decisions must be bytes, not {decisions.dtype}")
    return Optimal(small_types(workload), decisions, f"optimal:{path}")


def files_of(path: str | Path) -> tuple[Path, Path]:
    """Return PATH.json and PATH.safetensors; PATH may end in either."""
    stem = str(path).removesuffix(".json").removesuffix(".safetensors")
    return Path(f"{stem}.json"), Path(f"{stem}.safetensors")


def find_optimal(text: str) -> Optimal:
    """Play decisions written by `packenv optimal-policy --out FILE`.

    They give the shortest mean queue of a small workload.
    """
    if not text:
        raise InputError("optimal needs the file of `packenv optimal-policy --out`: optimal:FILE")
    return load_optimal(text)


find_optimal.takes_text = True  # type: ignore[attr-defined]
