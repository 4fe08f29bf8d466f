"""Arrival processes: shapes that the workload's mean rate scales.

The rate is in tasks per slot.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from packenv.errors import InputError
from packenv.workloads.laws.encoding import BERNOULLI, LINEAR, MODULATED, PERIODIC, POISSON, Builder, cumulate
from packenv.workloads.laws.law import Law, not_negatives, positive, set_fields


class Arrivals(ABC):
    """Process by which jobs arrive."""

    @abstractmethod
    def encode(self, builder: Builder) -> None:
        """Add the process to the tables of a workload."""

    def tasks_per_job(self) -> float:
        """Return the mean number of tasks in a job."""
        return 1.0

    def check(self, jobs_per_slot: float) -> None:  # noqa: B027 (most processes can have any rate)
        """Raise InputError if the process cannot have this rate."""


@dataclass(frozen=True)
class Poisson(Arrivals):
    """A Poisson number of jobs in each slot, independently.

    Job i arrives at (sum of i + 1 unit exponentials) / rate.
    """

    def encode(self, builder: Builder) -> None:
        builder.plan["arrivals"] = POISSON


@dataclass(frozen=True)
class Bernoulli(Arrivals):
    """At most one job in each slot, independently, at rates below 1."""

    def encode(self, builder: Builder) -> None:
        builder.plan["arrivals"] = BERNOULLI

    def check(self, jobs_per_slot: float) -> None:
        if not jobs_per_slot < 1:
            raise InputError(f"Bernoulli arrivals: rate must be below 1 job per slot, not {jobs_per_slot:g}")


@dataclass(frozen=True)
class Periodic(Arrivals):
    """Poisson process with rates `profile` (n,) in each `period` (slots)."""

    profile: Sequence[float]
    period: float

    def __post_init__(self) -> None:
        profile = not_negatives("periodic arrivals: profile", self.profile)
        if max(profile) == 0:
            raise InputError("periodic arrivals: profile is all 0")
        set_fields(self, profile=profile, period=positive("periodic arrivals: period", self.period))

    def encode(self, builder: Builder) -> None:
        below = np.concatenate([[0.0], cumulate(np.array(self.profile) / math.fsum(self.profile))])
        builder.plan["arrivals"] = PERIODIC
        builder.plan["profile"] = builder.tabled(LINEAR, below, np.linspace(0.0, 1.0, len(below)))
        builder.plan["period"] = self.period


@dataclass(frozen=True)
class Modulated(Arrivals):
    """Markov-modulated Poisson process from its stationary state: bursts.

    Phase p has relative rate rates[p] and lasts an exponential time of mean sojourns[p] slots, independent of the load. Then
    comes the next phase in order ("cycle"), or any other one with equal probability ("uniform").
    """

    rates: Sequence[float]
    sojourns: Sequence[float]
    next: Literal["cycle", "uniform"] = "cycle"

    def __post_init__(self) -> None:
        rates = not_negatives("modulated arrivals: rates", self.rates)
        sojourns = not_negatives("modulated arrivals: sojourns", self.sojourns)
        if len(rates) != len(sojourns):
            raise InputError(f"modulated arrivals: {len(rates)} rates for {len(sojourns)} sojourns")
        for sojourn in sojourns:
            positive("modulated arrivals: sojourn", sojourn)
        if max(rates) == 0:
            raise InputError("modulated arrivals: rates are all 0")
        if self.next not in ("cycle", "uniform"):
            raise InputError(f'modulated arrivals: next must be "cycle" or "uniform", not {self.next!r}')
        set_fields(self, rates=rates, sojourns=sojourns)

    def encode(self, builder: Builder) -> None:
        builder.plan["arrivals"] = MODULATED
        builder.plan["cyclic"] = self.next == "cycle"
        builder.phases(self.rates, self.sojourns)


@dataclass(frozen=True)
class Batch(Arrivals):
    """Jobs of several tasks that arrive together, by `process`.

    `size` is the law of the number of tasks in a job (rounded up, at least 1). If `alike`, the tasks of a job have the same
    demand. If it is a `gang`, they last equally long, and start in the same slot or not at all.
    """

    size: Law
    process: Arrivals = field(default_factory=Poisson)
    alike: bool = True
    gang: bool = field(default=False, metadata={"unsaid": False})  # files without gangs stay as they were

    def __post_init__(self) -> None:
        if not isinstance(self.size, Law):
            raise InputError(f"batch arrivals: size must be a law, not {self.size!r}")
        if not isinstance(self.process, Arrivals) or isinstance(self.process, Batch):
            raise InputError(f"batch arrivals: process must be another arrival process, not {self.process!r}")
        for name in ("alike", "gang"):
            if not isinstance(getattr(self, name), bool):
                raise InputError(f"batch arrivals: {name} must be true or false, not {getattr(self, name)!r}")
        if not math.isfinite(self.tasks_per_job()):
            raise InputError("batch arrivals: the mean number of tasks is not finite")

    def encode(self, builder: Builder) -> None:
        self.process.encode(builder)
        builder.plan["batch"] = self.size.encode(builder)
        builder.plan["alike"] = self.alike

    def tasks_per_job(self) -> float:
        return self.size.mean_slots()

    def check(self, jobs_per_slot: float) -> None:
        self.process.check(jobs_per_slot)
