"""One run: a policy on a workload with a seed; and which seeds a policy needs."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any, TypeVar

from packenv.api import simulate
from packenv.compiled.helpers import allow
from packenv.errors import ArgumentError, check_count
from packenv.executors.local import report_share
from packenv.policy import find_policy, initial_state_of, name_of
from packenv.results.result import Result
from packenv.simulation import setting_of
from packenv.workloads.workload import Workload

Value = TypeVar("Value")
Extract = Callable[[Workload, Result], Any]
"""Extracts values from a run in its process, as schedules are large. A function of a module."""


@dataclass(frozen=True)
class Run:
    """A policy on a workload, or on a function that makes one.

    A function makes tables that are too large to send in the run's process.
    """

    workload: Workload | Callable[[], Workload]
    policy: Any  # a name or an object
    seed: int = 0
    slots: int | None = None
    options: dict[str, Any] = field(default_factory=dict)  # of packenv.simulate

    def title(self) -> str:
        """Return the run in words, for a message."""
        where = getattr(self.workload, "name", "a table of jobs")
        return f"{self.policy if isinstance(self.policy, str) else name_of(self.policy)} on {where}, seed {self.seed}"

    def loaded(self) -> Workload:
        """Return the workload. Consecutive runs share the last one made."""
        global _last_workload
        if isinstance(self.workload, Workload):
            return self.workload
        kept = _last_workload
        if kept is None or kept[0] is not self.workload:
            kept = _last_workload = None  # frees the memory first
            kept = _last_workload = self.workload, self.workload()
        return kept[1]


_last_workload: tuple[Callable[[], Workload], Workload] | None = None


def chosen_seeds(seeds: Any, first: int = 0) -> list[int]:
    """Return the seeds of an argument: their number, from `first` on, or the seeds.

    Raises ArgumentError for no seed, no whole number, and one seed twice.
    """
    if isinstance(seeds, str) or not isinstance(seeds, Iterable):
        check_count("seeds", seeds)
        return [*range(first, first + int(seeds))]
    chosen = [*seeds]
    if not chosen:
        raise ArgumentError("`seeds` must have at least one")
    for seed in chosen:
        if isinstance(seed, bool) or not isinstance(seed, Integral) or int(seed) < 0:
            raise ArgumentError(f"`seeds` must be whole numbers from 0 on, not {seed!r}")
    if len(set(chosen)) < len(chosen):
        raise ArgumentError(f"`seeds` has {next(seed for seed in chosen if chosen.count(seed) > 1)} twice")
    return [int(seed) for seed in chosen]


def runs_of(
    workload: Workload,
    policies: Iterable[Any],
    seeds: Iterable[int],
    slots: int | None = None,
    options: dict[str, Any] | None = None,
) -> list[Run]:
    """Return every policy with every seed on one workload.

    All seeds of the first policy come first.
    """
    seeds = [*seeds]
    return [Run(workload, policy, seed, slots, options or {}) for policy in policies for seed in seeds]


def by_policy(policies: Iterable[str], results: Sequence[Value]) -> dict[str, list[Value]]:
    """Return results in the order of `runs_of` as a list for each policy."""
    names = [*policies]
    seeds = len(results) // len(names)
    return {name: [*results[n * seeds : (n + 1) * seeds]] for n, name in enumerate(names)}


def whole_result(workload: Workload, result: Result) -> Result:
    """Extract the whole result."""
    return result


def compile_policy(run: Run, helpers: int = 0) -> None:
    """Compile the run's policy, or load its machine code, in a run of one slot.

    `helpers`: number of cores that may help in a process of an executor.
    """
    allow(helpers)
    options = {key: value for key, value in run.options.items() if key not in ("schedule", "warmup")}
    policy = find_policy(run.policy) if isinstance(run.policy, str) else run.policy
    simulate(run.loaded(), getattr(policy, "rehearsal", policy), slots=1, warmup=0, **options | {"drain": False})


def make(run: Run, extract: Extract) -> Any:
    """Simulate, report progress to the executor, and extract values."""
    workload = run.loaded()
    length = run.slots or (1 if workload.jobs is None else int(workload.jobs.arrival[-1]) + 1)

    def at(slot: int) -> None:
        report_share(min(slot / length, 1.0))

    result = simulate(workload, run.policy, slots=run.slots, seed=run.seed, progress=at, **run.options)
    return extract(workload, result)


def kind_of(run: Run) -> tuple[Any, ...]:
    """Return a key that runs of similar duration share."""
    workload = run.workload.name if isinstance(run.workload, Workload) else id(run.workload)
    return workload, str(run.policy), run.slots


def has_one_table(workload: Workload) -> bool:
    """Return whether the jobs are the same for every seed."""
    return workload.jobs is not None and (workload.draw is None or getattr(workload.draw, "is_only_one", False))


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
