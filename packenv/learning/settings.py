"""Settings of a training run, checked before anything is built."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, fields
from typing import Any

from packenv.envs.core.definition import check_integer, one_of
from packenv.envs.episodes.seeds import mix
from packenv.envs.registration import ENVIRONMENTS, FORMER, find_definition
from packenv.envs.rewards import name_and_price
from packenv.errors import ArgumentError, InputError
from packenv.options.verbs import LearningOptions
from packenv.policy import find_policy, find_registered
from packenv.workloads.workload import INTENSITIES, Workload

EVOLUTION = "cma-es"
WAITING_LIMIT = 4
"""An episode ends when more than this multiple of the guard's limit waits: the guard must have failed by then."""

STEP = 0.15
STEP_AFTER_IMITATION = 0.05  # where the weights are good already

PPO = "ppo"
OF_EVOLUTION = ("network", "start", "imitate", "imitation_steps", "population")
"""Settings that the other way has not."""

WHOLE_TABLE = 2**31 - 1
"""Slots of an episode that ends when the work of a table is done."""

NETWORKS = ("linear", "sum", "varying")
Arrivals = dict[str, tuple[float, float]]


@dataclass(frozen=True)
class Settings(LearningOptions):
    """What is trained, on what, and how.

    Equal settings give equal weights. `arrivals` names load, intensity or rate and the interval of the episodes' draws; empty:
    the workload's own rate. `options` are the environment's own (order, rule, passing, configurations). Raises InputError.
    """

    workload: Workload
    arrivals: Arrivals = field(default_factory=dict, kw_only=True)
    baseline: str = field(default="bf-js", kw_only=True)  # of the reward `advantage`

    def __post_init__(self) -> None:
        one_of("way", self.way, ("evolution", PPO))
        one_of("environment", self.environment, tuple(ENVIRONMENTS))
        for name, value in self._defaults().items():
            if getattr(self, name) in ("", 0):
                object.__setattr__(self, name, value)
        self._check_names()
        self._check_numbers()

    def _defaults(self) -> dict[str, Any]:
        """Return the values of the settings that were left open."""
        definition = find_definition(self.environment)
        of_jobs = definition.follows_jobs
        if self.way == PPO:
            reward = definition.defaults.get("reward", "queue")
            return {
                "reward": reward,
                "guard": None,
                "samples": 300_000,
                "horizon": WHOLE_TABLE if self.workload.jobs is not None else 10_000,
            }
        return {
            "samples": 16_000_000,
            "horizon": 100_000,
            "network": "varying" if of_jobs else "linear",
            "learning_rate": STEP if self.imitate is None else STEP_AFTER_IMITATION,
            "reward": "completion" if of_jobs else "size",
            "window": 32 if of_jobs else 16,
            "guard": None if of_jobs else "bf-js",
            "imitation_steps": 10_000 if of_jobs else 400,
        }

    def _check_names(self) -> None:
        if self.way == PPO:
            check_unused(self, LearningOptions, OF_EVOLUTION)
            if self.guard is None and self.guard_limit != LearningOptions.guard_limit:
                raise ArgumentError("`guard_limit` is given without a `guard`: name the policy that schedules above it")
        else:
            one_of("network", self.network, NETWORKS)
        name_and_price(self.reward)
        for policy in (self.imitate, self.baseline):
            if policy is not None:
                find_policy(policy)
        if self.guard is not None:
            find_registered(self.guard)  # the agent's file names it
        if self.start is not None and self.imitate is not None:
            raise InputError("an agent begins with the weights of another or imitates a policy, not both")
        if set(self.arrivals) - set(INTENSITIES) or len(self.arrivals) > 1:
            raise InputError("give at most one of load, intensity and rate")

    def _check_numbers(self) -> None:
        for name, low, high in (
            ("samples", 1, 10**12),
            ("horizon", 1, WHOLE_TABLE),
            ("guard_limit", 1, 1_000_000),
            ("imitation_steps", 0, 10**6),
            ("population", 0, 10_000),
            ("seed", 0, 2**31 - 1 if self.way == PPO else 2**62),
        ):
            check_integer(name, getattr(self, name), low, high)
        if 0 < self.population < 4:
            raise InputError(f"a population of {self.population} has no better half to learn from: at least 4")
        if not 0 <= self.learning_rate < float("inf"):
            raise InputError(f"learning_rate must be a number above 0, not {self.learning_rate}")

    def env_options(self) -> dict[str, Any]:
        """Return the environment's arguments, for ppo its own defaults."""
        if self.way == PPO:
            horizon = self.horizon if self.horizon < WHOLE_TABLE else None
            limit = self.guard_limit if self.guard is not None else None
            chosen: dict[str, Any] = {"J": self.J, "types": self.types, "window": self.window or None, "horizon": horizon}
            chosen |= {"guard": self.guard, "guard_limit": limit, "workload": self.workload, "reward": self.reward}
            return {name: value for name, value in chosen.items() if value is not None} | self.arrivals | self.options
        chosen = FORMER.get(self.environment, {}) | {  # every option is named: agents outlive defaults
            "workload": self.workload,
            "horizon": self.horizon,
            "J": self.J,
            "types": self.types,
            "window": self.window,
            "observation": "actions",
            "reward": self.reward,
            "baseline": self.baseline,
            **self.arrivals,
            **self.own_options(),
        }
        if self.guard is not None:
            chosen |= {"guard": self.guard, "guard_limit": self.guard_limit, "waiting_limit": WAITING_LIMIT * self.guard_limit}
        return chosen

    def own_options(self) -> dict[str, Any]:
        """Return own options, in ServerFill without passing by default."""
        return ({"passing": False} if self.environment == "ServerFill" else {}) | self.options

    def record(self) -> dict[str, Any]:
        """Return the settings as plain JSON values."""
        plain = {item.name: getattr(self, item.name) for item in fields(self)}
        plain["workload"] = record_of_workload(self.workload)
        plain["arrivals"] = {key: list(ends) for key, ends in self.arrivals.items()}
        return plain

    def seed_after(self, samples: int) -> int:
        """Return a seed below 2^32 for draws after `samples`."""
        return mix(mix(self.seed + 1) + samples & (2**64 - 1)) >> 32


def check_unused(chosen: object, options: type, names: tuple[str, ...]) -> None:
    """Raise ArgumentError for evolution's options given for ppo."""
    for item in fields(options):
        if item.name in names and getattr(chosen, item.name) != item.default:
            raise ArgumentError(f"`{item.name}` is of evolution: leave it out, or choose another `way`")


def record_of_workload(workload: Workload) -> dict[str, Any]:
    """Return a workload in full, a table as a digest."""
    if workload.jobs is None:
        return workload.to_dict()
    digest = hashlib.sha256()
    for column in (workload.jobs.arrival, workload.jobs.demand, workload.jobs.service):
        digest.update(column.tobytes())
    return {"name": workload.name, "servers": str(workload.servers), "jobs": digest.hexdigest()[:16]}


def workloads_at_loads(settings: Settings, count: int) -> dict[str, Workload]:
    """Return the workload by label at `count` loads, or one."""
    from packenv.api import at_a_rate  # brings the simulator with it

    workload = settings.workload
    if not settings.arrivals:
        return {workload.name: workload}
    (key, (low, high)), *_ = settings.arrivals.items()
    chosen = dict.fromkeys(low + (high - low) * n / (count - 1) for n in range(count))
    return {f"{key} {load:.3g}": at_a_rate(workload, **{key: load}) for load in chosen}
