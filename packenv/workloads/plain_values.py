"""Laws and arrival processes as plain values for JSON.

    Uniform(0.1, 0.9)  ↔  {"type": "Uniform", "low": 0.1, "high": 0.9}

New laws and arrival processes need no code here: every dataclass that `packenv.workloads.laws` or
`packenv.workloads.laws.arrivals` imports is found.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any

from packenv.errors import InputError, nearest
from packenv.workloads import laws as all_laws
from packenv.workloads.laws import arrivals as arrival_processes
from packenv.workloads.laws.arrivals import Arrivals
from packenv.workloads.laws.joint import Conditional, Joint
from packenv.workloads.laws.law import Law

KEYS = ("name", "sizes", "service", "servers", "arrivals", "load", "intensity", "rate", "resources", "slot_seconds")
"""The keys of a workload in plain values."""

TYPES: dict[str, Any] = {
    name: member
    for module in (all_laws, arrival_processes)
    for name, member in vars(module).items()
    if dataclasses.is_dataclass(member) and issubclass(member, (Law, Joint, Conditional, Arrivals))  # type: ignore[arg-type]
}


def to_plain(value: Any) -> Any:
    """Return plain values of a law, process, list or number.

    Infinite numbers become "inf". A field is left out if it equals its metadata `unsaid`.
    """
    if dataclasses.is_dataclass(value):
        parameters = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        unsaid = {field.name: field.metadata["unsaid"] for field in dataclasses.fields(value) if "unsaid" in field.metadata}
        values = {name: to_plain(part) for name, part in parameters.items() if name not in unsaid or part != unsaid[name]}
        return {"type": type(value).__name__, **values}
    if isinstance(value, (tuple, list)):
        return [to_plain(item) for item in value]
    if isinstance(value, float) and math.isinf(value):
        return "inf"
    return value


def from_plain(value: Any, path: str) -> Any:
    """Return the law, process, list or number that `to_plain` described.

    path   place of the value in its file; InputErrors begin with it and name the key
    """
    if isinstance(value, list):
        return [from_plain(item, f"{path}[{i}]") for i, item in enumerate(value)]
    if not isinstance(value, dict):
        return math.inf if value == "inf" else value
    kind = str(value.get("type"))
    if kind not in TYPES:
        raise InputError(f"{path}: unknown type {kind!r}{nearest(kind, list(TYPES))}")
    parameters = [field.name for field in dataclasses.fields(TYPES[kind])]
    for key in value:
        if key != "type" and key not in parameters:
            raise InputError(f"{path}: unknown key {key!r}{nearest(str(key), parameters)}")
    try:
        return TYPES[kind](**{key: from_plain(item, f"{path}.{key}") for key, item in value.items() if key != "type"})
    except InputError as problem:
        raise problem if str(problem).startswith(path) else InputError(f"{path}: {problem}") from None
    except (TypeError, ValueError, AttributeError, OverflowError) as problem:
        raise InputError(f"{path}: {str(problem).partition('__init__() ')[2] or problem}") from None


def workload_arguments(plain: Any, where: str) -> dict[str, Any]:
    """Return a Workload's arguments, with `where` and key in errors."""
    if not isinstance(plain, dict):
        raise InputError(f"{where}: expected an object with keys {', '.join(KEYS)}")
    for key in plain:
        if key not in KEYS:
            raise InputError(f"{where}: unknown key {key!r}{nearest(str(key), KEYS)}")
    arguments = {key: from_plain(value, f"{where}: {key}") for key, value in plain.items()}
    if "servers" not in arguments:
        raise InputError(f"{where}: missing key 'servers'")
    if not isinstance(arguments.get("name", ""), str):
        raise InputError(f"{where}: name must be a text")
    names = arguments.get("resources", [])
    if not (isinstance(names, list) and all(isinstance(name, str) for name in names) and len(set(names)) == len(names)):
        raise InputError(f"{where}: resources must be a list of different names")
    return arguments
