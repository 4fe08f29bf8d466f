"""Random policies. Others need one run if the jobs do not change."""

from __future__ import annotations

import pickle
from collections.abc import Iterable
from typing import Any

from packenv.policy import find_policy, initial_state_of
from packenv.simulation import setting_of
from packenv.workloads.windows import Windows
from packenv.workloads.workload import Workload


def has_one_table(workload: Workload) -> bool:
    """Return whether the jobs are the same for every seed."""
    only = workload.draw is None or (isinstance(workload.draw, Windows) and workload.draw.is_only_one)
    return workload.jobs is not None and only


def draws_by_chance(policy: Any, workload: Workload) -> bool:
    """Return whether a policy's runs depend on the seed, for fixed jobs.

    A random policy has a generator in its state, so its states of two seeds differ. A policy is considered random if its state
    cannot be compared, or is slow to make (it has a `rehearsal`).
    """
    setting, states = setting_of(workload), []
    for seed in (0, 1):
        instance = find_policy(policy) if isinstance(policy, str) else policy
        if hasattr(instance, "rehearsal"):
            return True
        try:
            states.append(pickle.dumps((initial_state_of(instance, setting, seed), getattr(instance, "__dict__", None))))
        except (pickle.PicklingError, TypeError, AttributeError):
            return True
    return states[0] != states[1]


def seeds_for(policy: Any, workload: Workload, seeds: Iterable[int]) -> list[int]:
    """Return the seeds to run, only the first if nothing depends on them."""
    all_seeds = [*seeds]
    once = len(all_seeds) > 1 and has_one_table(workload) and not draws_by_chance(policy, workload)
    return all_seeds[:1] if once else all_seeds
