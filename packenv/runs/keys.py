"""Keys of runs: a hash of everything that a run depends on."""

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
    """A key for each run, of its workload, policy, length, seed, options and the code that decides its result.

    That code is what plays a run, the module that takes from it what is kept, and all that they import; the policy's own is
    part of its digest. Each workload and each policy is looked at once. A workload that a function makes is made.
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
    """A hash of the laws, rate and servers of a random workload; of a table, of every column, the servers, and its draws, with
    the code that makes these."""
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
    """A hash of a policy's name, of what it holds (parameters, weights), and of the sources of all modules that it comes from.

    These are the modules of its type, of the function that made it, of what it holds, and all that they import.
    """
    digest = hashlib.sha256()
    digest.update(key_of(_absorb_policy(digest, policy), base(), loaded=False).encode())
    return digest.hexdigest()


def modules_of(policy: Any) -> list[str]:
    """Names of the modules, apart from packenv's, that a policy comes from: a name, or an object and what it holds."""
    return [name for name in _absorb_policy(hashlib.sha256(), policy) if name.partition(".")[0] != "packenv"]


def _absorb_policy(digest: Any, policy: Any) -> list[str]:
    """Add a policy to a digest. Returns the modules that it comes from, of packenv and others."""
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
    """Add a value and all that it holds to a digest, and to `modules` the names of those in which its parts are defined.

    `around`: identities of the values that hold it, so that a circle ends.
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
