"""The decision process against brute force over all stationary policies, a chain worked by hand, and its bounds."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import packenv
from packenv.errors import InputError
from packenv.theory.stationary_optimum.occupancies import SmallInstance, occupancies
from packenv.theory.stationary_optimum.optimum import DecisionProcess, stationary_optimum
from packenv.workloads import Batch, Bernoulli, Constant, Discrete, Fixed, Geometric, Poisson, Uniform, Workload
from tests.theory.stationary_optimum.brute_force import SmallCluster, one_size_mean_queue

# sizes (descending), shares, capacities, rate, departure, most, number of stationary policies
TINY = [
    ([6, 4], [0.5, 0.5], [10], 0.3, 0.5, 1, 768),
    ([7, 3], [0.2, 0.8], [10], 0.6, 0.4, 1, 3072),
    ([5], [1.0], [5, 7], 0.8, 0.3, 2, 192),
    ([6, 3], [0.7, 0.3], [6], 0.5, 0.6, 1, 48),
    ([3, 2], [0.5, 0.5], [2, 3], 0.7, 0.3, 1, 5760),
]


def process_of(
    sizes: list[int], shares: list[float], capacity: list[int], rate: float, departure: float, most: int
) -> DecisionProcess:
    instance = SmallInstance(np.array(sizes), np.array(shares), np.array(capacity), 1 / departure, rate, poisson=False)
    return DecisionProcess(instance, occupancies(instance), most)


@pytest.mark.parametrize(("sizes", "shares", "capacity", "rate", "departure", "most", "tried"), TINY)
def test_best_of_all_stationary_policies(
    sizes: list[int], shares: list[float], capacity: list[int], rate: float, departure: float, most: int, tried: int
) -> None:
    best = SmallCluster(sizes, shares, capacity, rate, departure, most).best_mean_queue(tried)
    bounds, _ = process_of(sizes, shares, capacity, rate, departure, most).solve(1e-9)
    assert bounds.low == pytest.approx(best, rel=2e-9) and bounds.high == pytest.approx(best, rel=2e-9)


def test_worked_by_hand() -> None:
    by_hand = one_size_mean_queue(Fraction(3, 10), Fraction(2, 5), 3)
    bounds, decisions = process_of([1], [1.0], [1], 0.3, 0.4, 3).solve(1e-10)
    assert bounds.low <= float(by_hand) * (1 + 1e-9) and float(by_hand) <= bounds.high * (1 + 1e-9)
    assert decisions.tolist() == [[0, 1, 1, 1], [0, 0, 0, 0]]  # start whenever one waits and the server is empty


def test_equal_servers_are_alike() -> None:
    """Two equal servers give the same queue whether their order counts or not: the second is a hair larger, with equal room."""
    alike = process_of([6, 4], [0.5, 0.5], [10, 10], 0.5, 0.3, 3)
    apart = process_of([6, 4], [0.5, 0.5], [10, 11], 0.5, 0.3, 3)
    assert len(alike.occupancies.jobs) == 15 and len(apart.occupancies.jobs) == 25
    assert alike.solve(1e-9)[0].low == pytest.approx(apart.solve(1e-9)[0].low, rel=2e-9)


def test_poisson_arrivals_of_a_slot() -> None:
    """Of a type with mean m: the probabilities that k arrive, and all larger numbers are cut off at the limit."""
    instance = SmallInstance(np.array([2, 1]), np.array([0.25, 0.75]), np.array([2]), 2.0, 0.8, poisson=True)
    chances = DecisionProcess(instance, occupancies(instance), 2).joining[1]
    zero, one = np.exp(-0.6), 0.6 * np.exp(-0.6)
    assert chances == pytest.approx(np.array([[zero, one, 1 - zero - one], [0, zero, 1 - zero], [0, 0, 1]]))


def workload(**changes: object) -> Workload:
    arguments = {"sizes": Discrete([0.4, 0.6]), "service": Geometric(3), "servers": 1, "load": 0.6, "arrivals": Bernoulli()}
    return Workload(**arguments | changes)  # type: ignore[arg-type]


def test_more_room_never_lowers_the_bound() -> None:
    found = [stationary_optimum(workload(), most) for most in (2, 4, 8)]
    bounds = [(each.smaller, each.lower) for each in found]
    assert bounds[0][0] < bounds[0][1] <= bounds[1][1] <= bounds[2][1]
    assert bounds[0][1] == bounds[1][0] and bounds[1][1] == bounds[2][0]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"service": Fixed(3)}, "geometric service, not Fixed"),
        ({"sizes": Uniform(0.1, 0.9)}, "discrete sizes, not Uniform"),
        ({"load": 1.1}, "no policy is stable: 2.2 jobs in service are offered, and ρ\\* is 2"),
        ({"arrivals": Batch(Constant(2))}, "Bernoulli or Poisson arrivals, not Batch"),
        ({"sizes": (Constant(0.5), Constant(0.4))}, "one resource, not 2"),
        ({"servers": 40, "arrivals": Poisson()}, "can hold 135,751 mixes of jobs; .* at most 2,000"),
        ({"servers": 8, "arrivals": Poisson()}, "can hold 390,625 mixes of jobs, equal servers as different.* at most 200,000"),
        ({"sizes": Discrete([1e-5, 2e-5]), "arrivals": Poisson()}, "a server can hold more than 2,000 mixes of jobs"),
        ({"servers": "200x0.1,1x1"}, "sizes times servers are 402; .* at most 255"),
        ({"sizes": Discrete([k / 20 for k in range(1, 12)])}, "at most 8 sizes, not 11"),
    ],
)
def test_bad_workload(changes: dict[str, object], words: str) -> None:
    with pytest.raises(InputError, match=words) as problem:
        stationary_optimum(workload(**changes), 4)
    assert "\n" not in str(problem.value)


def test_too_large() -> None:
    with pytest.raises(InputError, match=r"5,010,005 states \(5 mixes .* up to 1000 .* at most 3,000,000"):
        stationary_optimum(workload(), 500)
    with pytest.raises(InputError, match="most must be at least 1"):
        stationary_optimum(workload(), 0)


def test_policy_reaches_the_bound_without_losses() -> None:
    """Simulated without any limit on the queue: the policy's interval holds the bound, and no other policy is certainly below."""
    from packenv.policies.optimal import Optimal
    from packenv.runs.statistics import certainly_below, interval, ratio_of_means

    setting = workload(sizes=Discrete([0.327, 0.122]), load=0.7, arrivals=Poisson())
    found = stationary_optimum(setting, most=16, within=1e-3)
    optimal = Optimal(found.instance, found.decisions)

    def queues(policy: object) -> list[float | None]:
        return [packenv.simulate(setting, policy, slots=400_000, seed=seed).mean_queue for seed in range(8)]

    best = queues(optimal)
    mine = interval(best)
    assert mine.low is not None and mine.high is not None and mine.mean is not None
    assert mine.low <= found.larger and found.lower <= mine.high and mine.high - mine.low < 0.05 * mine.mean
    for name in ("bf-js", "vqs", "vqs-bf", "fifo-ff", "maxweight"):
        others = queues(name)
        assert not certainly_below(ratio_of_means(others, best), 1.0)
        assert not certainly_below(interval(others), found.lower)
