"""Keys of runs: hashes of everything that a run depends on."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from packenv.compiled.cache import base
from packenv.compiled.sources import key_of
from packenv.policy import find_policy, registered
from packenv.policy_names import rule_file
from packenv.runs.measured import measured
from packenv.runs.run import Run
from packenv.workloads.workload import Workload


def keys_of(runs: Sequence[Run], extract_module: str = measured.__module__) -> list[str]:
    """Return a key for each run.

    It covers workload, policy, length, seed, options and code. The code is of the module that plays runs, the module that
    extracts values, and all their imports. The policy's code is in its digest. Each workload and policy is read once.
    Workloads given as functions are made.
    """
    workloads = {id(run.workload): run for run in runs}
    policies = {id(run.policy): run.policy for run in runs}
    of_workload = {key: digest_of_workload(run.loaded()) for key, run in workloads.items()}
    of_policy = {key: digest_of_policy(policy) for key, policy in policies.items()}
    code = key_of([Run.__module__, extract_module], base(), loaded=False)
    return [
        _hash([code, of_workload[id(run.workload)], of_policy[id(run.policy)], run.slots, run.seed, run.options]) for run in runs
    ]


def _hash(parts: list[Any]) -> str:
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:24]


def digest_of_workload(workload: Workload) -> str:
    """Return a hash of a workload.

    A random one: laws, rate and servers. A table: all columns, the servers, and draws with their code.
    """
    digest = hashlib.sha256()
    if workload.jobs is None:
        digest.update(json.dumps([workload.to_dict(), workload.rho], sort_keys=True).encode())
    else:
        digest.update(str(workload.servers).encode())
        for column in fields(workload.jobs):
            digest.update(column.name.encode())
            _absorb(digest, getattr(workload.jobs, column.name), set())
        modules: set[str] = set()
        _absorb(digest, workload.draw, modules)  # what runs at the start is no row of the table
        digest.update(key_of(_with_code(modules), base(), loaded=False).encode())
    return digest.hexdigest()


def digest_of_policy(policy: Any) -> str:
    """Return a hash of a policy: name, contents, and source code.

    Contents are parameters and weights. Code is of its type, the function that made it, its contents, and all their imports.
    """
    digest = hashlib.sha256()
    digest.update(key_of(_absorb_policy(digest, policy), base(), loaded=False).encode())
    return digest.hexdigest()


def modules_of(policy: Any) -> list[str]:
    """Return the modules of a policy, by name or object, except packenv's."""
    return [name for name in _absorb_policy(hashlib.sha256(), policy) if name.partition(".")[0] != "packenv"]


def _absorb_policy(digest: Any, policy: Any) -> list[str]:
    """Add a policy to a digest, return its modules, packenv's too."""
    modules: set[str] = set()
    instance = policy
    if isinstance(policy, str):
        instance = find_policy(policy)
        digest.update(policy.encode())
        name = policy.partition(":")[0]
        if rule_file(policy) is None:  # the text of a rule is part of it
            modules.add(registered().get(name, name).partition(":")[0])
    _absorb(digest, instance, modules)
    return _with_code(modules)


def _with_code(modules: set[str]) -> list[str]:
    return sorted(name for name in modules if name.partition(".")[0] not in {"builtins", "numpy"})


def _absorb(digest: Any, value: Any, modules: set[str], around: frozenset[int] = frozenset()) -> None:
    """Add a value and its contents to a digest, its modules to `modules`.

    `around`: identities of the values that hold it, to end cycles.
    """
    if value is None or isinstance(value, (str, bytes, int, float)):
        digest.update(f"{type(value).__name__} {value!r};".encode())
        return
    if id(value) in around:
        return
    around = around | {id(value)}
    digest.update(f"{type(value).__qualname__}(".encode())
    modules.update(name for name in (type(value).__module__, getattr(value, "__module__", None)) if isinstance(name, str))
    if isinstance(value, (np.ndarray, np.generic)):
        digest.update(f"{value.dtype} {value.shape} ".encode() + value.tobytes())
    elif isinstance(value, dict):
        for key in sorted(value, key=str):
            _absorb(digest, key, modules, around)
            _absorb(digest, value[key], modules, around)
    elif isinstance(value, (tuple, list)):
        for part in value:
            _absorb(digest, part, modules, around)
    else:
        _absorb(digest, getattr(value, "__dict__", None), modules, around)
    digest.update(b")")
