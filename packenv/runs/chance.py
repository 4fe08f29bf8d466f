"""Which policies draw by chance: where the jobs are the same for every seed, the others need one run."""

from __future__ import annotations

import pickle
from collections.abc import Iterable
from typing import Any

from packenv.policy import find_policy, initial_state_of
from packenv.simulation import setting_of
from packenv.workloads.windows import Windows
from packenv.workloads.workload import Workload


def has_one_table(workload: Workload) -> bool:
    """Whether the jobs are the same for every seed."""
    only = workload.draw is None or (isinstance(workload.draw, Windows) and workload.draw.is_only_one)
    return workload.jobs is not None and only


def draws_by_chance(policy: Any, workload: Workload) -> bool:
    """Whether runs of a policy, an object or a name, depend on the seed although the jobs do not.

    A policy draws from a stream in its state, so its states of two seeds differ. One whose state cannot be compared, or takes
    long to make (it has a `rehearsal`), is taken to draw.
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
    """The seeds with which a policy is run: all of them, or the first where neither the jobs nor the policy depend on them."""
    all_seeds = [*seeds]
    once = len(all_seeds) > 1 and has_one_table(workload) and not draws_by_chance(policy, workload)
    return all_seeds[:1] if once else all_seeds
