"""Reader of JSON files written by `Workload.save`."""

from __future__ import annotations

from pathlib import Path

from packenv.inputs.json_files import read_json
from packenv.workloads.workload import Workload


def load_workload(path: str | Path) -> Workload:
    """Return the workload in a JSON file, or under its key "workload".

    Raises InputError, naming the file and the key, for a file that cannot be read or describes no workload.
    """
    path = Path(path)
    plain = read_json(path)
    if isinstance(plain, dict) and "workload" in plain:
        plain = plain["workload"]
    return Workload.from_dict(plain, str(path))
