"""Options that all environments share, checked before anything is built."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from packenv.envs.core.definition import check_integer, one_of
from packenv.envs.rewards import Reward, find_reward
from packenv.errors import InputError, nearest
from packenv.policy import find_policy
from packenv.workloads.find import workload as find_workload
from packenv.workloads.workload import INTENSITIES, Workload

LATEST = 2**31 - 1
"""The last slot of an episode."""


class UnknownOption(InputError, TypeError):
    """An unknown argument, also a TypeError for probing libraries."""


OBSERVATIONS = ("full", "compact", "actions", "normalized", "flat")
INVALID = ("wait", "nearest", "first")  # as packenv.envs.core.state has them
ONE_ARRAY = ("normalized", "flat")

WITHOUT_TYPES = ("J", "types", "guard", "guard_limit", "start")
"""Options that environments do not have whose agents know whole jobs from their arrival on."""

Range = float | tuple[float, float]


class Warm(NamedTuple):
    """Start after `slots` slots in which `policy` schedules."""

    policy: str = "bf-js"
    slots: int = 1000


Start = str | Warm | Sequence[tuple[ArrayLike, int, int]]


READING = ("slot_seconds", "resources", "columns", "time_unit", "partition", "finished_only", "estimates", "speedup")
"""Arguments that say how a trace or a table is read, as of `packenv.workload`."""

NO_WAITING_LIMIT = 10_000_000  # what an environment holds at most

OF_TABLES: dict[str, Any] = {"horizon": None, "waiting_limit": NO_WAITING_LIMIT}
"""Defaults where the workload is a table of jobs: an episode lasts until its work is done."""


@dataclass(frozen=True)
class Options:
    """Shared arguments, described in the docstrings of environments."""

    workload: Any = "paper/fig4b"
    servers: Any = None  # instead of the workload's own
    slot_seconds: Any = None  # of a trace, as those in READING
    resources: Any = None
    columns: Mapping[str, str] | None = None
    time_unit: str | None = None
    partition: str | Sequence[str] | None = None
    finished_only: bool | None = None
    estimates: Any = None
    speedup: Any = None
    jobs: int | None = None  # of a table: an episode is a random window of so many
    load: Range | None = None
    intensity: Range | None = None
    rate: Range | None = None
    horizon: int | None = 10_000
    J: int | None = None
    types: int | None = None  # of equal width, in place of the partition's 2J
    window: int = 16
    observation: str = "full"
    mask_in_observation: bool = False
    reward: str | Reward = "queue"
    baseline: Any = "bf-js"
    yardstick: bool = False
    perf: bool = False
    reward_terms: bool = False
    invalid: str = "wait"
    invalid_penalty: float = 0.0
    waiting_limit: int = 1000
    guard: Any = None
    guard_limit: int = 500
    start: Start = "empty"
    record_schedule: bool = False

    def __post_init__(self) -> None:
        one_of("observation", self.observation, OBSERVATIONS)
        for name in ("yardstick", "perf", "reward_terms"):
            one_of(name, getattr(self, name), (False, True))
        one_of("invalid", self.invalid, INVALID)
        if self.jobs is not None:
            check_integer("jobs", self.jobs, 1, LATEST)
        check_integer("waiting_limit", self.waiting_limit, 1, NO_WAITING_LIMIT)
        check_integer("window", self.window, 1, self.waiting_limit)
        if self.horizon is not None:
            check_integer("horizon", self.horizon, 1, LATEST)
        if self.J is not None:
            check_integer("J", self.J, 2, 16)
        if self.types is not None:
            check_integer("types", self.types, 2, 1024)
        if not np.isfinite(self.invalid_penalty) or self.invalid_penalty < 0:
            raise InputError(f"invalid_penalty must be a number >= 0, not {self.invalid_penalty}")
        find_reward(self.reward)
        check_integer("guard_limit", self.guard_limit, 0, 10_000_000)
        find_policy(self.guard) if isinstance(self.guard, str) else None
        find_policy(self.baseline) if isinstance(self.baseline, str) else None
        if isinstance(self.start, str):
            one_of("start", self.start, ("empty", "warm"))
        elif isinstance(self.start, Warm):
            check_integer("start: slots", self.start.slots, 1, LATEST)
            find_policy(self.start.policy) if isinstance(self.start.policy, str) else None

    @property
    def describes_actions(self) -> bool:
        return self.observation in ("actions", *ONE_ARRAY)

    @property
    def warm(self) -> Warm | None:
        if isinstance(self.start, Warm):
            return self.start
        return Warm() if isinstance(self.start, str) and self.start == "warm" else None

    def resolved(self) -> tuple[Workload, tuple[float, float]]:
        """Return the workload at its highest rate, and the rates."""
        read: dict[str, Any] = {key: getattr(self, key) for key in READING if getattr(self, key) is not None}
        plain = find_workload(self.workload, servers=self.servers, **read)
        plain = plain if self.jobs is None else plain.windows(self.jobs)
        if plain.network is not None and plain.network.takes_resources:
            raise InputError(f"{plain.name}: in an environment remote reads take no resources (network: reading, serving)")
        return at_rates(plain, {key: getattr(self, key) for key in INTENSITIES if getattr(self, key) is not None})


def at_rates(workload: Workload, rates: Mapping[str, Any]) -> tuple[Workload, tuple[float, float]]:
    """Return the workload at its highest rate, and its rates.

    rates   load, intensity or rate: a number or (lowest, highest); empty: the workload's own

    The returned range of rates is in tasks per slot.
    """
    if len(rates) > 1:
        raise InputError(f"give at most one of load, intensity and rate, not {' and '.join(rates)}")
    ends = [workload, workload]
    for key, value in rates.items():
        if workload.jobs is not None and isinstance(value, Sequence) and value[0] != value[-1]:
            raise InputError(f"{key}: a table of jobs comes at one {key}, not at another in each episode: {value!r}")
        ends = [workload.with_(**{key: end}) for end in _ends(key, value)]
    if "load" in rates or (not rates and workload.load is not None):
        from packenv.theory.capacity.max_workload import resolved  # brings the solver with it

        ends = [resolved(end) for end in ends]
    if ends[1].load is not None and ends[1].load >= 1:
        warnings.warn(f"load {ends[1].load:.3g}: no policy is stable at 1 or above", stacklevel=6)
    elif ends[1].jobs is None and ends[1].intensity >= 1:
        warnings.warn(f"intensity {ends[1].intensity:.3g}: no policy is stable at 1 or above", stacklevel=6)
    return ends[1], (ends[0].rate, ends[1].rate)


def check_reset(options: Mapping[str, Any], *others: str) -> dict[str, Any]:
    """Return a reset's load, intensity or rate (InputError). `others` are allowed."""
    known = (*others, *INTENSITIES)
    for key in options:
        if key not in known:
            raise InputError(f"unknown reset option {key!r}; known: {', '.join(known)}")
    return {key: options[key] for key in INTENSITIES if key in options}


def _ends(key: str, value: Any) -> tuple[float, float]:
    low, high = value if isinstance(value, Sequence) and len(value) == 2 else (value, value)
    if not all(isinstance(end, (int, float, np.number)) for end in (low, high)) or not low <= high:
        raise InputError(f"{key} must be a number or a pair (lowest, highest), not {value!r}")
    return float(low), float(high)


def split(options: dict[str, Any], specific: Sequence[str]) -> Options:
    """Return options from keyword arguments (UnknownOption with near names)."""
    check_names(options, specific)
    start = options.get("start")
    if isinstance(start, list) and start and isinstance(start[0], str):  # a Warm that was read from JSON
        options = options | {"start": Warm(*start)}
    if "waiting_limit" in options and options["waiting_limit"] is None:
        options = options | {"waiting_limit": NO_WAITING_LIMIT}
    return Options(**options)


def check_names(options: Mapping[str, Any], specific: Sequence[str]) -> None:
    """Raise UnknownOption for unknown options, with near names."""
    known = [*(field.name for field in fields(Options)), *specific]
    for key in options:
        if key not in known:
            hint = "; reset(seed=…) takes it" if key == "seed" else nearest(key, known)
            raise UnknownOption(f"unexpected keyword argument {key!r}{hint}")
