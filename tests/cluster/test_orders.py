"""Orders of a queue (PAPERS §8): by hand on five jobs, against the reference, what holds for all, a planted mistake."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import packenv
from packenv.errors import InputError
from packenv.jobs import Jobs
from packenv.policies import ORDERS, Easy, FifoFirstFit
from tests.cluster import fast
from tests.cluster.test_against_reference import compare
from tests.cluster.test_backfilling import wrongly_estimated
from tests.reference import orders as reference
from tests.reference.instances import random_instance
from tests.seeds import seeds

FIVE = Jobs.of(  # on four processors, estimates that are wrong
    arrival=[0, 1, 2, 3, 4],
    size=[1, 0.5, 0.25, 0.75, 0.25],
    service=[10, 4, 2, 6, 1],
    estimate=np.array([20.0, 8.0, 1.0, 2.0, 16.0]),
)
BEHIND = Jobs.of(  # the last four behind one that is alone when it is chosen; it starts in slot 10, where w is 8, 7, 6 and 5
    arrival=[0, 1, 2, 3, 4, 5],
    size=[1, 1, 0.5, 0.25, 0.75, 0.25],
    service=[10, 1, 4, 2, 6, 1],
    estimate=np.array([20.0, 9.0, 8.0, 1.0, 2.0, 16.0]),
)
STARTS = {  # of B, C, D, E; who is kept until he fits delays all behind him
    "fcfs": [11, 11, 15, 15],
    "sjf": [17, 11, 11, 17],  # C D B E
    "ljf": [11, 15, 15, 11],  # E B D C
    "saf": [17, 11, 11, 17],  # C D B E: B and E have the same area
    "smallest": [11, 11, 15, 11],  # C E B D
    "f1": [17, 11, 11, 13],  # C D E B: after a million seconds a second of submission is worth .0004
    "f2": [18, 11, 12, 11],  # C E D B
    "f3": [17, 11, 11, 17],  # C D B E
    "f4": [17, 11, 11, 17],  # C D B E
    "wfp3": [17, 11, 11, 17],  # 2, 343, 81, .03
    "unicef": [18, 11, 12, 11],  # C E, which are serial, then D 1.9, B 1
    "expansion": [17, 11, 11, 17],  # 1, 7, 3, .3
}


def starts(policy: str | object, jobs: Jobs = FIVE, **settings: Any) -> list[int]:
    workload = packenv.Workload(jobs=jobs, servers=1, **{"processors": 4, "began": 1e6} | settings)
    schedule = packenv.simulate(workload, policy, drain=True, schedule=True).schedule
    assert schedule is not None
    return [int(slot) for slot in schedule.start]


@pytest.mark.parametrize("order", ORDERS)
def test_five_jobs_by_hand(order: str) -> None:
    assert starts(f"fifo-ff:order={order}", BEHIND) == [0, 10, *STARTS[order]]


def test_who_is_first_in_line_is_kept_whoever_comes() -> None:
    """In slot 1 only B waits. C, shorter, comes while B does not fit; by `easy` it goes first."""
    assert starts("fifo-ff:order=sjf") == [0, 10, 10, 14, 14]


def test_five_jobs_passed_over_and_backfilled() -> None:
    """SJF: when C leaves in slot 12, E fits and B does not; D has outlived its estimate, and E fits beside B's reservation."""
    assert starts("fifo-ff:order=sjf,blocking=false") == starts("easy:order=sjf") == [0, 16, 10, 10, 12]


def test_without_estimates_durations_are_known() -> None:
    """SJF by true durations: E 1, C 2, B 4, D 6."""
    assert starts("fifo-ff:order=sjf", replace(BEHIND, estimate=None)) == [0, 10, 11, 11, 15, 11]


@pytest.mark.parametrize("order", ["saf", "f1", "wfp3", "unicef"])
@pytest.mark.parametrize(
    "name, options",
    [("fifo-ff", {}), ("fifo-ff", {"blocking": False}), ("easy", {}), ("conservative", {"depth": 3})],
    ids=str,
)
@pytest.mark.parametrize("seed", seeds(1, 5))
def test_against_reference(name: str, options: dict[str, Any], order: str, seed: int) -> None:
    rng = random.Random(f"{name}{options}{order}{seed}")
    for resources in (1, 2):
        instance = random_instance(rng, resources=resources, tasks=30, placed=False)
        compare(wrongly_estimated(rng, instance), name, {**options, "order": order})


@pytest.mark.parametrize("policy", ["fifo-ff", "easy", "conservative"])
def test_a_line_by_submission_is_the_queue(policy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A user's order in a line; this one goes through the heap, and gives every start of the policy without an order."""
    monkeypatch.setitem(ORDERS, "mine", lambda job: job.submitted)
    rng = random.Random(policy)
    for _ in range(5):
        instance = random_instance(rng, tasks=40, predecessors=False, placed=False)
        assert fast.run(instance, fast.make(policy, order="mine")).start == fast.run(instance, fast.make(policy)).start


def test_a_wait_that_is_negative_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """As published: w of a waiting job is −1 − s, and the order is turned round."""
    right = reference.FORMULAS["wfp3"]

    def wrong(s: int, e: Fraction, n: Fraction, w: int) -> float | Fraction:
        return right(s, e, n, -1 - s)

    monkeypatch.setitem(reference.FORMULAS, "wfp3", wrong)
    rng, noticed = random.Random(0), 0
    while not noticed:
        try:
            compare(random_instance(rng, tasks=30, placed=False), "easy", {"order": "wfp3"})
        except AssertionError:
            noticed += 1
    assert noticed


def test_what_orders_need(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match=r"easy: unknown order 'wfp'; did you mean wfp3"):
        starts("easy:order=wfp")
    with pytest.raises(InputError, match="this order counts processors, which a table in shares has not"):
        starts("fifo-ff:order=f1", processors=None)
    monkeypatch.setitem(ORDERS, "mine", lambda job: np.zeros(2))
    with pytest.raises(InputError, match="fifo-ff: order 'mine' must give a number for each of the 5 jobs"):
        starts(FifoFirstFit(order="mine"))
    workload = packenv.workload("paper/fig3a", rate=0.01)
    with pytest.raises(InputError, match="knows all tasks in advance: backlog does not go with it"):
        packenv.simulate(workload, Easy(order="sjf"), slots=100, backlog=3)


def test_processors_of_servers_with_amounts() -> None:
    """A machine of 1,024 processors, in whose amounts sizes are given: a serial job comes first, as of shares of 1,024."""
    arrival, service, estimate = [0, 1, 1, 1], [5, 5, 5, 5], np.array([5.0, 1, 4, 2])
    table = {"arrival": arrival, "cpu": [1024, 1000, 1, 1000], "service": service, "estimate": estimate}
    amounts = packenv.workload(table, servers="1x1024")
    shares = Jobs.of(arrival, np.array(table["cpu"]) / 1024, service, estimate=estimate)
    for workload in (amounts, packenv.Workload(jobs=shares, servers=1, processors=1024)):
        schedule = packenv.simulate(workload, "easy:order=unicef", drain=True, schedule=True).schedule
        assert schedule is not None and schedule.start.tolist() == [0, 5, 5, 10]
