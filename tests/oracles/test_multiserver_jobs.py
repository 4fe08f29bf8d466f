"""FIFO-FF on one server of n units is FCFS of multiserver jobs: published response times, and exact stability regions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pytest

import packenv
from packenv import UNIT, Jobs, Workload
from packenv.workloads.laws import Discrete, Geometric

Counts = tuple[int, ...]
State = tuple[Counts, int]  # jobs of each class in service, and the class of the first job that waits


class Classes(NamedTuple):
    """Classes of jobs on a server of `units`: units that a job needs, how likely it is, and the rate of its service."""

    units: int
    needs: tuple[int, ...]
    probabilities: tuple[float, ...]
    rates: tuple[float, ...]

    @property
    def work(self) -> float:
        """Mean units × time of a job."""
        return sum(p * n / r for n, p, r in zip(self.needs, self.probabilities, self.rates, strict=True))


SLOW_LARGE = Classes(4, (1, 2, 4), (1 / 3, 1 / 3, 1 / 3), (5, 2, 1 / 2))
FAST_LARGE = Classes(4, (1, 2, 4), (4 / 7, 2 / 7, 1 / 7), (1, 8, 64))
RESPONSE_TIMES = {0.72: 6.63, 0.76: 8.37, 0.80: 11.19, 0.84: 16.3, 0.88: 29.5}
"""Mean, of SLOW_LARGE by load: medians of several runs of 10^6 jobs, from isaacg1/msj-simulator."""


def workload(classes: Classes, load: float, jobs: int, slot: float, seed: int) -> Workload:
    """Poisson arrivals and exponential service, cut into slots of `slot` units of time."""
    rng = np.random.default_rng(seed)
    kind = rng.choice(len(classes.needs), jobs, p=classes.probabilities)
    arrival = np.cumsum(rng.exponential(classes.work / (load * classes.units), jobs))
    service = rng.exponential(1 / np.array(classes.rates)[kind])
    demand = np.array(classes.needs)[kind, None] * (UNIT // classes.units)
    table = Jobs((arrival / slot).astype(np.int64), demand, np.maximum(1, np.rint(service / slot)).astype(np.int64))
    return Workload(jobs=table, servers=1)


def saturated_rate(classes: Classes) -> float:
    """Jobs per unit of time under FCFS with an endless queue: the stability region's end (Grosof et al., arXiv 2010.00631).

    The Markov chain over the jobs in service and the class of the first one that does not fit, solved exactly.
    """

    def room(counts: Counts) -> int:
        return classes.units - sum(n * count for n, count in zip(classes.needs, counts, strict=True))

    def changed(counts: Counts, kind: int, by: int) -> Counts:
        return tuple(count + by * (k == kind) for k, count in enumerate(counts))

    def admit(counts: Counts) -> dict[State, float]:
        """Where jobs from the queue lead, started until one does not fit."""
        ends: dict[State, float] = {}
        for kind, probability in enumerate(classes.probabilities):
            fits = classes.needs[kind] <= room(counts)
            for end, p in admit(changed(counts, kind, 1)).items() if fits else [((counts, kind), 1.0)]:
                ends[end] = ends.get(end, 0.0) + probability * p
        return ends

    rates: dict[tuple[State, State], float] = {}
    states = list(admit((0,) * len(classes.needs)))
    for counts, first in states:  # grows while states are found
        for kind, count in enumerate(counts):
            if count == 0:
                continue
            left = changed(counts, kind, -1)
            ends = admit(changed(left, first, 1)) if classes.needs[first] <= room(left) else {(left, first): 1.0}
            for end, p in ends.items():
                states += [end] * (end not in states)
                key = (counts, first), end
                rates[key] = rates.get(key, 0.0) + count * classes.rates[kind] * p
    flow = np.zeros((len(states), len(states)))
    for (start, end), rate in rates.items():
        flow[states.index(end), states.index(start)] += rate
        flow[states.index(start), states.index(start)] -= rate
    flow[0] = 1.0  # one equation says nothing new: the probabilities add up to 1 instead
    shares = np.linalg.solve(flow, np.eye(len(states))[0])
    return float(sum(p * np.dot(counts, classes.rates) for p, (counts, _) in zip(shares, states, strict=True)))


def mean_response(workloads: Sequence[Workload], slot: float) -> float:
    times = []
    for each in workloads:
        assert each.jobs is not None
        delay = packenv.simulate(each, "fifo-ff", drain=True).mean_delay
        assert delay is not None
        times.append(float(delay + each.jobs.service.mean()) * slot)
    return float(np.mean(times))


QUICK = 0.80  # the load of the default tests


@pytest.mark.parametrize("load", [pytest.param(x, marks=[pytest.mark.slow] * (x != QUICK)) for x in RESPONSE_TIMES])
def test_published_response_times(load: float) -> None:
    runs = [workload(SLOW_LARGE, load, 1_000_000, 0.002, seed) for seed in range(4)]
    assert mean_response(runs, 0.002) == pytest.approx(RESPONSE_TIMES[load], rel=0.02)


@pytest.mark.parametrize(("load", "stable"), [(0.5, True), (0.7, False), (0.9, False)])
def test_small_slow_jobs_make_fcfs_unstable(load: float, stable: bool) -> None:
    """Published: unstable from a load of 0.70 on; where exactly follows from the saturated system, at 0.58."""
    limit = saturated_rate(FAST_LARGE) * FAST_LARGE.work / FAST_LARGE.units
    assert limit == pytest.approx(0.581, abs=0.001) and stable == (load < limit)
    runs = workload(FAST_LARGE, load, 1_000_000, 0.0005, 0)
    assert runs.jobs is not None
    result = packenv.simulate(runs, "fifo-ff", slots=int(runs.jobs.arrival[-1]))
    waiting = result.trajectory.queue  # of parts of the run
    half = len(waiting) // 2
    assert (waiting[half:].mean() < 2 * waiting[:half].mean()) == stable


def test_the_saturated_system_by_hand() -> None:
    """One or both of two units, equally likely, rate 1: 4/7, 1/7 and 2/7 of the time large, two small, one small; 8/7 jobs."""
    assert saturated_rate(Classes(2, (1, 2), (0.5, 0.5), (1.0, 1.0))) == pytest.approx(8 / 7)
    assert saturated_rate(Classes(3, (1,), (1.0,), (2.0,))) == pytest.approx(6.0)  # M/M/3


def judged(classes: Classes) -> Workload:
    """The classes as a workload, with service of the same law for all: needs are sizes, in parts of the server."""
    sizes = Discrete([need / classes.units for need in classes.needs], classes.probabilities)
    return Workload(sizes=sizes, service=Geometric(200), servers=1, rate=0.001)


@pytest.mark.slow  # judgments
@pytest.mark.parametrize(
    ("classes", "fraction"),
    [
        (Classes(10, (4, 6), (0.5, 0.5), (1.0, 1.0)), 0.8),  # the workload of figure 3(a)
        (Classes(4, (1, 4), (0.5, 0.5), (1.0, 1.0)), 0.736),
        (Classes(4, (1, 4), (0.8, 0.2), (1.0, 1.0)), 0.714),
    ],
)
def test_judge_finds_the_stability_region(classes: Classes, fraction: float) -> None:
    """The fraction of ρ*, which fills the server, is that of the saturated system."""
    assert saturated_rate(classes) * classes.work / classes.units == pytest.approx(fraction, abs=0.001)
    judgment = packenv.judge(judged(classes), "fifo-ff", width=0.02)
    assert judgment.low - 0.01 <= fraction <= judgment.high + 0.01
