"""The published program's rules, in a small engine of its own (PAPERS §8): the cells are repeated with it, not with packenv.

A decision falls when the last chosen job has started and some job waits: the first one by the order is kept until it fits. Time
goes on event by event, a submission before a completion of the same second. With backfilling, before each event, waiting jobs,
oldest first, start if they fit and are over, by their requests, before the kept job is expected to start.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from packenv.units import UNIT
from packenv.workloads.workload import Workload

Floats = NDArray[np.float64]
BOUND = 10.0  # s, of the bounded slowdown


class Log(NamedTuple):
    """Jobs of a machine, or of a window: s, r, n and e of each, in seconds."""

    processors: int
    submitted: Floats  # (n,)
    run: Floats  # (n,)
    needs: Floats  # (n,) processors
    request: Floats  # (n,)

    def window(self, first: int, jobs: int) -> Log:
        return Log(self.processors, *(column[first : first + jobs] for column in self[1:]))


def log_of(workload: Workload) -> Log:
    """The jobs of a log that packenv has read, in slots of a second."""
    jobs, processors = workload.jobs, workload.processors
    assert jobs is not None and processors is not None
    run = jobs.service.astype(np.float64)
    needs = np.rint(jobs.demand[:, 0] / UNIT * processors)
    request = run if jobs.estimate is None else jobs.estimate
    return Log(int(processors), workload.began + jobs.arrival, run, needs, request)


Order = Callable[[Floats, Floats, Floats, Floats], Floats]
"""From s, e, n and w of the waiting jobs to numbers; the smallest goes first."""


def log10(amount: Floats) -> Floats:
    return np.asarray(np.log10(np.where(amount > 0, amount, 0.1)))


ORDERS: dict[str, Order] = {
    "fcfs": lambda s, e, n, w: s,
    "wfp3": lambda s, e, n, w: -((w / e) ** 3) * n,
    "unicef": lambda s, e, n, w: -(w + 1e-15) / (np.log2(n + 1e-15) * (e + 1e-15)),
    "sjf": lambda s, e, n, w: e,
    "f1": lambda s, e, n, w: log10(e) * n + 870 * log10(s),
    "saf": lambda s, e, n, w: e * n,
}


class Outcome(NamedTuple):
    """What a run did: the mean bounded slowdown, and the share of the processors that was busy up to the last start."""

    slowdown: float
    utilisation: float


def outcome_of(log: Log, start: Floats) -> Outcome:
    slowdown = np.maximum(1.0, (start - log.submitted + log.run) / np.maximum(log.run, BOUND))
    work = float(log.needs @ log.run)
    return Outcome(float(slowdown.mean()), work / (log.processors * float(start.max() - log.submitted[0])))


class Machine:
    """The state of a run: what waits, what runs, and when each job started."""

    def __init__(self, log: Log) -> None:
        self.log, self.free, self.time = log, float(log.processors), float(log.submitted[0])
        self.waiting, self.arrived = [0], 1
        self.running: list[tuple[float, int, int]] = []  # a heap of ends, in the order of starts, and jobs
        self.start = np.full(len(log.run), -1.0)

    def begin(self, job: int) -> None:
        self.start[job] = self.time
        self.free -= self.log.needs[job]
        self.waiting.remove(job)
        heapq.heappush(self.running, (self.time + self.log.run[job], len(self.log.run) - len(self.waiting), job))

    def go_on(self) -> None:
        """To the next submission or completion."""
        submitted = self.log.submitted
        if self.arrived < len(submitted) and (not self.running or submitted[self.arrived] <= self.running[0][0]):
            self.time = max(self.time, float(submitted[self.arrived]))
            self.waiting.append(self.arrived)
            self.arrived += 1
        else:
            end, _, job = heapq.heappop(self.running)
            self.time = max(self.time, end)
            self.free += self.log.needs[job]

    def first(self, order: Order, as_coded: bool) -> int:
        """The waiting job that an order puts first; of equal ones the oldest."""
        jobs = np.array(sorted(self.waiting))
        s, e, n = self.log.submitted[jobs], self.log.request[jobs], self.log.needs[jobs]
        waits = self.start[jobs] - s if as_coded else self.time - s  # the start of a job that waits is −1
        return int(jobs[np.argmin(order(s, e, n, waits))])

    def expected_start(self, job: int) -> float:
        """By the requests of what runs, when enough processors are free."""
        free = self.free
        ends = sorted((self.start[other] + self.log.request[other], other) for _, _, other in self.running)
        for end, other in ends:
            free += self.log.needs[other]
            if free >= self.log.needs[job]:
                return float(end)
        raise AssertionError("a job larger than the machine")

    def backfill(self, before: float) -> None:
        for job in sorted(self.waiting):
            if self.log.needs[job] <= self.free and self.time + self.log.request[job] < before:
                self.begin(job)


def run(log: Log, order: Order, backfilling: bool, as_coded: bool = False) -> Floats:
    """(n,) the start of each job, in seconds."""
    machine = Machine(log)
    while machine.waiting or machine.arrived < len(log.run):
        if not machine.waiting:
            machine.go_on()
            continue
        job = machine.first(order, as_coded)
        until = machine.expected_start(job) if backfilling and log.needs[job] > machine.free else 0.0
        while log.needs[job] > machine.free:
            if backfilling:
                machine.backfill(until)
            machine.go_on()
        machine.begin(job)
    return machine.start
