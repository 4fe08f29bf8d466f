"""What was computed once is not computed again: values in a log, by a key of all that they depend on."""

from __future__ import annotations

import contextlib
import hashlib
import inspect
import json
import os
import threading
from dataclasses import fields
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np

from packenv.compiled.cache import base
from packenv.compiled.sources import key_of_package
from packenv.errors import InputError
from packenv.policy import find_policy
from packenv.workloads.workload import Workload

Value = TypeVar("Value")


class Kept(Generic[Value]):
    """Values by key, one JSON line each, written as soon as they are known; a last line that was cut short is dropped.

    A file may hold values of several kinds; each kind has a subclass that says how its values are written.
    """

    kind: str

    def __init__(self, path: str | Path | None) -> None:
        self.path = None if path is None else Path(path)
        self.known: dict[str, Value] = {}
        self.lock = threading.Lock()
        if self.path is not None and self.path.exists():
            self._read(self.path)

    def encode(self, value: Value) -> Any:
        """The value in JSON's types."""
        raise NotImplementedError

    def decode(self, plain: Any) -> Value:
        """The value again; ValueError, KeyError or TypeError for anything else."""
        raise NotImplementedError

    def _read(self, path: Path) -> None:
        text = path.read_bytes()
        whole = text.rfind(b"\n") + 1
        if whole != len(text):
            os.truncate(path, whole)
        for number, line in enumerate(text[:whole].splitlines(), 1):
            try:
                entry = json.loads(line)
                if self.kind in entry or len(entry) != 2:
                    self.known[entry["run"]] = self.decode(entry[self.kind])
            except (ValueError, KeyError, TypeError):
                raise InputError(f"{path}, line {number}: not a run's outcome") from None

    def keep(self, key: str, value: Value) -> None:
        with self.lock:
            self.known[key] = value
            if self.path is not None:
                with self.path.open("a", encoding="utf-8") as file:
                    file.write(json.dumps({"run": key, self.kind: self.encode(value)}) + "\n")


def key_of_run(workload: str, policy: str, slots: int | None, seed: int, **more: Any) -> str:
    """A hash of everything that a run depends on, the sources included; workload and policy as `digest_of_…` say."""
    text = json.dumps([key_of_package(base()), workload, policy, slots, seed, more], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def digest_of_workload(workload: Workload) -> str:
    """All that makes the workload what it is, every column of a table included."""
    digest = hashlib.sha256()
    if workload.jobs is None:
        digest.update(json.dumps([workload.to_dict(), workload.rho], sort_keys=True).encode())
    else:
        digest.update(str(workload.servers).encode())
        for column in fields(workload.jobs):
            digest.update(column.name.encode())
            _absorb(digest, getattr(workload.jobs, column.name))
    return digest.hexdigest()


def digest_of_policy(policy: Any) -> str:
    """A policy's name, the file in which its type is written, and what it holds: parameters, weights."""
    found = find_policy(policy) if isinstance(policy, str) else policy
    digest = hashlib.sha256(str(policy).encode() if isinstance(policy, str) else b"")
    with contextlib.suppress(TypeError, OSError):  # a type that was typed into an interpreter
        digest.update(Path(inspect.getfile(type(found))).read_bytes())
    _absorb(digest, found)
    return digest.hexdigest()


def _absorb(digest: Any, value: Any, around: frozenset[int] = frozenset()) -> None:
    """Add a value and all that it holds to a digest; `around`: what it lies in, so that a circle ends."""
    if value is None or isinstance(value, (str, bytes, int, float)):
        digest.update(f"{type(value).__name__} {value!r};".encode())
        return
    if id(value) in around:
        return
    around = around | {id(value)}
    digest.update(f"{type(value).__qualname__}(".encode())
    if isinstance(value, (np.ndarray, np.generic)):
        digest.update(f"{value.dtype} {value.shape} ".encode() + value.tobytes())
    elif isinstance(value, dict):
        for key in sorted(value, key=str):
            _absorb(digest, key, around)
            _absorb(digest, value[key], around)
    elif isinstance(value, (tuple, list)):
        for part in value:
            _absorb(digest, part, around)
    else:
        _absorb(digest, getattr(value, "__dict__", None), around)
    digest.update(b")")
