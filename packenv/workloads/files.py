"""Workloads as JSON: laws and arrival processes by the names of their types, parameters by theirs."""

from __future__ import annotations

import dataclasses
import json
import math
from pathlib import Path
from typing import Any

from packenv.errors import InputError, nearest
from packenv.files import write_json
from packenv.workloads import laws as all_laws
from packenv.workloads.laws import arrivals as arrival_processes
from packenv.workloads.laws.arrivals import Arrivals
from packenv.workloads.laws.joint import Conditional, Joint
from packenv.workloads.laws.law import Law
from packenv.workloads.workload import INTENSITIES, Workload

TYPES: dict[str, Any] = {
    name: member
    for module in (all_laws, arrival_processes)
    for name, member in vars(module).items()
    if dataclasses.is_dataclass(member) and issubclass(member, (Law, Joint, Conditional, Arrivals))  # type: ignore[arg-type]
}
KEYS = ("name", "sizes", "service", "servers", "arrivals", *INTENSITIES, "resources", "slot_seconds")


def to_dict(workload: Workload) -> dict[str, Any]:
    """The workload in plain values; a workload of a Jobs table is an InputError: tables are kept as traces."""
    if workload.jobs is not None:
        raise InputError(f"workload {workload.name} is a Jobs table: keep it as a trace, not as JSON")
    how, value = workload.given or ("", None)
    plain = {
        "name": workload.name,
        "sizes": _plain(workload.sizes),
        "service": _plain(workload.service),
        "servers": str(workload.servers),
        "arrivals": _plain(workload.arrivals),
        how: value,
        "resources": _plain(workload.resources),
        "slot_seconds": workload.slot_seconds,
    }
    return {key: value for key, value in plain.items() if value is not None}


def from_dict(plain: Any, where: str = "workload") -> Workload:
    """The workload that `to_dict` described. Raises InputErrors that begin with `where` and name the key."""
    if not isinstance(plain, dict):
        raise InputError(f"{where}: expected an object with keys {', '.join(KEYS)}")
    arguments = {}
    for key, value in plain.items():
        if key not in KEYS:
            raise InputError(f"{where}: unknown key {key!r}{nearest(str(key), KEYS)}")
        path = f"{where}: {key}"
        arguments[key] = _built(value, path)
    if "servers" not in arguments:
        raise InputError(f"{where}: missing key 'servers'")
    try:
        return Workload(**arguments)
    except InputError as problem:
        raise InputError(f"{where}: {problem}") from None


def save_workload(workload: Workload, path: str | Path) -> None:
    """Write the workload as JSON; the file appears whole or not at all."""
    write_json(path, to_dict(workload))


def load_workload(path: str | Path) -> Workload:
    """The workload in a JSON file: the whole file, or what it keeps under the key "workload"."""
    path = Path(path)
    try:
        plain = json.loads(path.read_text())
    except OSError as problem:
        raise InputError(f"{path}: {problem.strerror}") from None
    except ValueError as problem:
        raise InputError(f"{path}: not JSON: {problem}") from None
    if isinstance(plain, dict) and "workload" in plain:
        plain = plain["workload"]
    return from_dict(plain, str(path))


def _plain(value: Any) -> Any:
    """A law, process, list or number as JSON has it."""
    if dataclasses.is_dataclass(value):
        parameters = {field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
        return {"type": type(value).__name__, **parameters}
    if isinstance(value, (tuple, list)):
        return [_plain(item) for item in value]
    if isinstance(value, float) and math.isinf(value):
        return "inf"
    return value


def _built(value: Any, path: str) -> Any:
    """The law, process, list or number that `_plain` described."""
    if isinstance(value, list):
        return [_built(item, f"{path}[{i}]") for i, item in enumerate(value)]
    if not isinstance(value, dict):
        return math.inf if value == "inf" else value
    kind = str(value.get("type"))
    if kind not in TYPES:
        raise InputError(f"{path}: unknown type {kind!r}{nearest(kind, list(TYPES))}")
    known = [field.name for field in dataclasses.fields(TYPES[kind])]
    for key in value:
        if key != "type" and key not in known:
            raise InputError(f"{path}: unknown key {key!r}{nearest(str(key), known)}")
    try:
        return TYPES[kind](**{key: _built(item, f"{path}.{key}") for key, item in value.items() if key != "type"})
    except InputError as problem:
        raise problem if str(problem).startswith(path) else InputError(f"{path}: {problem}") from None
    except TypeError as problem:
        raise InputError(f"{path}: {str(problem).partition('__init__() ')[2] or problem}") from None
