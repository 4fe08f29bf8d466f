"""Hawk and Eagle, and Sparrow, LWL and Yaq (PAPERS §4).

A job is long if the mean estimated duration of its tasks is above `cutoff` seconds. A central scheduler places long jobs on
the general servers. Short jobs send probes to servers, and a server requests a task for a probe when it has a free slot. The
last servers, a share `reserved` of all, rounded down, never run long tasks. Every message takes `delay` seconds. By default
(-1) `cutoff` makes at most a tenth of the jobs long, and `reserved` is the short jobs' share of the work.

A server runs at most the number of tasks that it has room for, counted as copies of the table's largest task. `ratio` is the
number of probes per task, `minimum` the least number of probes per job. Probes are drawn with replacement, so both may exceed
the number of servers: `ratio` up to 2, `minimum` up to 20 (the defaults of Eagle).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from packenv.cluster import Needs
from packenv.errors import InputError
from packenv.policies.eagle.probing import ServerQueues
from packenv.policies.eagle.probing_state import Probing, SystemRules, probing
from packenv.policy import Setting, name_of
from packenv.results.job_times import job_numbers, mean_durations

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

AUTOMATIC = -1.0
LONGEST = 0.1  # share of the jobs that are long if no cutoff is given
NETWORK_DELAY = 0.0005  # seconds, one way
MOST = 1e12  # largest value of delay, threshold, attempts and cutoff: 30,000 years in seconds


System = TypeVar("System", bound=type)


def probing_system(kind: System) -> System:
    """Give a class the parts that all five systems share: rule and needs."""
    shared: Any = kind
    shared.rule = ServerQueues()
    shared.needs = lambda self, setting: Needs(vectors=setting.capacity.shape[1] > 1, table=True, durations=True)
    return kind


@probing_system
class Sparrow(NamedTuple):
    """Send `ratio` probes per task to random servers.

    Probes bind late, first come first served. No job counts as long.
    """

    ratio: int = 2
    minimum: int = 2
    delay: float = NETWORK_DELAY

    def initial_state(self, setting: Setting, seed: int) -> Probing:
        return _Jobs(self, setting, seed).probing(ratio=self.ratio, minimum=self.minimum)


@probing_system
class Hawk(NamedTuple):
    """Probe for short jobs, place long ones centrally, steal when idle.

    Short jobs are probed as in Sparrow, long jobs placed as in LWL. An idle server tries `attempts` times to steal probes.
    """

    cutoff: float = AUTOMATIC
    reserved: float = AUTOMATIC
    ratio: int = 2
    minimum: int = 2
    delay: float = NETWORK_DELAY
    attempts: int = 10

    def initial_state(self, setting: Setting, seed: int) -> Probing:
        jobs = _Jobs(self, setting, seed)
        jobs.part(self)
        attempts = self.attempts if jobs.central.any() else 0
        return jobs.probing(ratio=self.ratio, minimum=self.minimum, attempts=attempts)


@probing_system
class Eagle(NamedTuple):
    """Probe like Hawk, share state, and keep probes sticky.

    There is no stealing. Three mechanisms can be switched off one by one:

    sharing    servers with long tasks reject probes and name other servers with long tasks. Not on a single server
    sticky     a probe stays in its queue until its job has no unassigned task
    srpt       the shortest remaining job goes first. Σ estimates of the tasks that overtake a probe may not exceed `threshold`
               times the estimate of its job
    """

    cutoff: float = AUTOMATIC
    reserved: float = AUTOMATIC
    ratio: int = 2
    minimum: int = 20
    delay: float = NETWORK_DELAY
    sharing: bool = True
    sticky: bool = True
    srpt: bool = True
    threshold: float = 5.0

    def initial_state(self, setting: Setting, seed: int) -> Probing:
        jobs = _Jobs(self, setting, seed)
        jobs.part(self)
        nowhere = jobs.general == len(jobs.slots) and jobs.central.any() and not jobs.central.all()  # to send rejected probes
        if self.sharing and nowhere and self.reserved != AUTOMATIC:
            raise InputError(f"{jobs.name}: reserved={self.reserved:g} of {len(jobs.slots)} servers leaves none to short jobs")
        switches = {"sharing": self.sharing and not nowhere, "sticky": self.sticky, "srpt": self.srpt}
        return jobs.probing(self.threshold, ratio=self.ratio, minimum=self.minimum, **switches)


@probing_system
class LeastWaitingTime(NamedTuple):
    """Place each task where the estimated waiting time is least.

    A central scheduler binds every task on arrival, for all jobs.
    """

    delay: float = NETWORK_DELAY

    def initial_state(self, setting: Setting, seed: int) -> Probing:
        jobs = _Jobs(self, setting, seed)
        jobs.central[:] = True
        return jobs.probing()


@probing_system
class Yaq(NamedTuple):
    """Place tasks like LWL, and start short jobs first.

    The shortest remaining job of a server's queue goes first. `threshold` limits how often a task is overtaken.
    """

    delay: float = NETWORK_DELAY
    srpt: bool = True
    threshold: float = 5.0

    def initial_state(self, setting: Setting, seed: int) -> Probing:
        jobs = _Jobs(self, setting, seed)
        jobs.central[:] = True
        return jobs.probing(self.threshold, srpt=self.srpt, reorders=True)


class _Jobs:
    """Jobs and servers as a system sees them before slot 0 (InputError)."""

    def __init__(self, policy: Any, setting: Setting, seed: int) -> None:
        self.name = name_of(policy)
        self.table = setting.table
        self.seed = seed
        self.slot_seconds = setting.workload.slot_seconds or 1.0
        self.slots = self._slots(setting.capacity)
        servers = len(self.slots)
        self._check(policy, "delay", 0, MOST)
        self._check(policy, "ratio", 1, max(servers, 2))
        self._check(policy, "minimum", 1, max(servers, 20), f" probes on {servers} servers")
        self._check(policy, "threshold", 0, MOST)
        self._check(policy, "attempts", 0, MOST)
        self.delay = round(policy.delay / self.slot_seconds)
        self.job = job_numbers(self.table)
        self.tasks = np.bincount(self.job)
        self.mean = mean_durations(self.table)  # (jobs,) slots
        self.central = np.zeros(len(self.tasks), np.bool_)  # (jobs,)
        self.general = len(self.slots)

    def _check(self, policy: Any, knob: str, least: float, most: float, where: str = "") -> None:
        value = getattr(policy, knob, least)
        if not least <= value <= most:
            raise InputError(f"{self.name}: {knob} must lie between {least} and {most:g}{where}, not {value:g}")

    def _slots(self, capacity: Ints) -> Ints:
        """Return the tasks that each server can run, (L,), or raise InputError."""
        largest = self.table.demand.max(axis=0)
        slots = np.asarray((capacity[:, largest > 0] // largest[largest > 0]).min(axis=1))
        if (slots < 1).any():
            raise InputError(f"{self.name}: the largest task of the table does not fit in server {int(np.argmin(slots))}")
        return slots

    def part(self, policy: Hawk | Eagle) -> None:
        """Decide which jobs are long, and how many servers run them."""
        cutoff, reserved = policy.cutoff, policy.reserved
        if cutoff != AUTOMATIC:
            self._check(policy, "cutoff", 0, MOST)
            self.central = self.mean * self.slot_seconds > cutoff
        else:
            at = math.ceil((1 - LONGEST) * len(self.mean)) - 1
            self.central = self.mean > np.partition(self.mean, at)[at]
        servers = len(self.slots)
        if reserved != AUTOMATIC:
            self._check(policy, "reserved", 0, 1)
            short = share_of(servers, reserved)
        else:
            work = np.maximum(np.rint(self.mean), 1) * self.tasks
            short = min(max(share_of(servers, work[~self.central].sum() / work.sum()), 1), servers - 1)
        self.general = servers - short
        if self.general == 0 and self.central.any():
            raise InputError(f"{self.name}: reserved={reserved:g} of {servers} servers leaves none to long jobs")

    def probing(self, threshold: float = 0.0, **rules: Any) -> Probing:
        probe_rules = SystemRules(delay=self.delay, general=self.general, **rules)
        seed = self.seed if probe_rules.ratio > 0 else 0  # without probes nothing is drawn
        return probing(self.table, self.mean[self.job], self.central[self.job], threshold, self.slots, probe_rules, seed)


def share_of(servers: int, share: float) -> int:
    """Return a share of the servers, rounded down but for floating-point errors."""
    return math.floor(share * servers + 1e-9)
