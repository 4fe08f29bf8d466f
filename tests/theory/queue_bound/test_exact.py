"""Bounds against exact values: queues that need no packing, and the best policy of small instances."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

import packenv
from packenv import InputError, Workload
from packenv.theory.capacity.bracket import law_and_kinds
from packenv.theory.capacity.one_resource.certificate import Refuted
from packenv.theory.queue_bound.bound import NAMES, Counted, QueueProof
from packenv.theory.queue_bound.prices import Prices, setting_of
from packenv.theory.queue_bound.queue_bound import counted_proof, proofs_for
from packenv.workloads.laws import Constant, Discrete, Fixed, Geometric, Uniform
from packenv.workloads.laws.arrivals import Batch, Bernoulli, Modulated, Periodic
from packenv.workloads.laws.joint import Joint
from tests.theory.queue_bound.brute_force import mean_pieces, mean_queue_of_servers, shortest_mean_queue

ERLANG = {1: 8.10, 2: 7.674, 5: 6.862, 10: 6.019}
"""Mean queue of M/M/k at load 0.9 (PAPERS §1.7)."""


def by_relaxation(workload: Workload) -> dict[str, float]:
    bound = packenv.queue_bound(workload)
    bound.verify(workload)
    return dict.fromkeys(NAMES.values(), 0.0) | {one.relaxation: one.value for one in bound.proved}


@pytest.mark.parametrize("k", ERLANG)
def test_servers_of_one_task_each(k: int) -> None:
    """All sizes alike: M/Geo/k, which is close to M/M/k."""
    workload = Workload(sizes=Constant(0.6), service=Geometric(100), servers=k, intensity=1.0)
    workload = workload.with_(rate=0.9 * k / 100)
    found = by_relaxation(workload)
    exact = mean_queue_of_servers(k, 0.9 * k / 100, 0.01, bernoulli=False, most=300 + 4 * k)
    assert exact - 1e-4 < found["counted"] <= exact + 1e-6  # the chain is cut off, which shortens its queue by 1e-6
    assert found["counted"] == pytest.approx(ERLANG[k], rel=0.02)
    assert found["pooled"] <= found["counted"]
    assert found["pooled"] > 0 or k == 10


@pytest.mark.parametrize(("k", "per_server"), [(1, 2), (2, 2), (2, 3)])
def test_several_tasks_on_a_server(k: int, per_server: int) -> None:
    rate = 0.85 * k * per_server / 20
    workload = Workload(sizes=Constant(0.99 / per_server), service=Geometric(20), servers=k, arrivals=Bernoulli(), rate=rate)
    leaving = 1 / workload.mean_service
    exact = mean_queue_of_servers(k * per_server, workload.rate, leaving, bernoulli=True, most=150)
    found = by_relaxation(workload)["counted"]
    assert exact - 1e-4 < found <= exact + 1e-6


@pytest.mark.parametrize(
    ("demands", "weights", "load"),
    [
        pytest.param([(0.4,), (0.6,)], [0.5, 0.5], 0.6, marks=pytest.mark.slow),
        pytest.param([(0.4,), (0.6,)], [0.3, 0.7], 0.65, marks=pytest.mark.minutes),
        pytest.param([(0.3,), (0.6,)], [0.5, 0.5], 0.65, marks=pytest.mark.minutes),
        pytest.param([(0.35,), (0.5,)], [0.5, 0.5], 0.6, marks=pytest.mark.minutes),
        pytest.param([(0.6, 0.3), (0.3, 0.6)], [0.5, 0.5], 0.6, marks=pytest.mark.minutes),
        ([(0.6, 0.2), (0.2, 0.9)], [0.5, 0.5], 0.6),
    ],
)
def test_below_the_best_policy(demands: Sequence[tuple[float, ...]], weights: list[float], load: float) -> None:
    workload = Workload(sizes=Joint(demands, weights), service=Geometric(4), servers=[[1.0] * len(demands[0])], rate=0.01)
    rate = load * packenv.max_workload(workload).lower / 4
    workload = workload.with_(rate=rate, arrivals=Bernoulli())
    found = by_relaxation(workload)
    low, high = shortest_mean_queue(demands, weights, rate, 0.25, most=20)
    assert high - low < 1e-5
    assert max(found.values()) <= high
    assert max(found.values()) > 0.1 * low  # not void
    setting, (law, kinds) = setting_of(workload), law_and_kinds(workload)
    tried = [proof for proof in proofs_for(workload, setting, law, kinds) if not refuted(proof, setting, law, kinds)]
    assert {type(proof) for proof in tried} == set(NAMES)
    assert any(len(proof.prices.prices) > 1 for proof in tried if isinstance(proof, Counted))
    assert all(proof.value(setting, law, kinds) <= high for proof in tried)


def refuted(proof: QueueProof, *given: Any) -> bool:
    """Whether the prices are none, as where no task may have one."""
    try:
        proof.value(*given)
    except Refuted:
        return True
    return False


@pytest.mark.parametrize(("n", "weights"), [(3, [0.5, 0.5]), (3, [0.8, 0.2]), (4, [0.4, 0.6])])
def test_tasks_of_several_pieces(n: int, weights: list[float]) -> None:
    """Sizes just above 1 / n and 2 / n of a server have prices 1 and 2, of n - 1 that a server holds."""
    sizes = Discrete([1 / n + 0.01, 2 / n + 0.01], weights)
    rate = 0.8 * 2 * (n - 1) / (10 * (weights[0] + 2 * weights[1]))
    workload = Workload(sizes=sizes, service=Geometric(10), servers=2, rate=rate)
    setting, (law, kinds) = setting_of(workload), law_and_kinds(workload)
    prices = Prices(tuple(law.low.tolist()), (1, 2))
    tasks = prices.of(law, kinds)
    assert tasks.most == 2 * (n - 1)
    found = float(counted_proof(prices, setting, tasks).value(setting, law, kinds))
    pieces = mean_pieces(tasks.most, [0, rate * weights[0], rate * weights[1]], 0.1, 200)
    exact = (pieces - 0.8 * tasks.most) / 2
    assert exact - 1e-4 < found <= exact + 1e-6


def test_a_batch_is_longer_than_its_tasks_one_by_one() -> None:
    single = Workload(sizes=Constant(0.6), service=Geometric(10), servers=1, arrivals=Bernoulli(), rate=0.09)
    batches = single.with_(arrivals=Batch(Constant(3), Bernoulli()))
    one_by_one, together = by_relaxation(single)["pooled"], by_relaxation(batches)["pooled"]
    # a batch of 3 adds rate · (3 - 1) / 2 / (µ - rate): with jobs of one task a, E[A²] = a, with batches 3 a
    assert together - one_by_one == pytest.approx(0.09 * 2 / 2 / (0.1 - 0.09), rel=1e-6)


@pytest.mark.minutes
def test_more_load_is_a_longer_queue() -> None:
    for name in ("paper/fig4b", "paper/fig4a", "paper/fig3a"):
        loads = (0.5, 0.8, 0.9, 0.95, 0.995)
        values = [packenv.queue_bound(packenv.workload(name, intensity=a)).value for a in loads]
        assert values == sorted(values)
        assert values[-1] > 10


@pytest.mark.slow
def test_unequal_servers_and_independent_resources() -> None:
    unequal = Workload(sizes=Uniform(0.1, 0.5), service=Geometric(50), servers="3x1,2x0.5", intensity=0.98)
    several = Workload(sizes=(Uniform(0.1, 0.9), Uniform(0.1, 0.3)), service=Geometric(50), servers="4x1:1", intensity=0.98)
    assert packenv.queue_bound(unequal).value > 5
    alone = Workload(sizes=Uniform(0.1, 0.9), service=Geometric(50), servers=4, intensity=0.98)
    assert packenv.queue_bound(several).value == pytest.approx(packenv.queue_bound(alone).value, rel=1e-6)


RANDOM = {"sizes": Discrete([0.4, 0.6]), "service": Geometric(10), "servers": 1, "intensity": 0.9}


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"arrivals": Modulated([1, 3], [50, 50])}, "modulated arrivals"),
        ({"arrivals": Periodic([1, 3], 100)}, "periodic arrivals"),
        ({"arrivals": Batch(Constant(2), Modulated([1, 3], [50, 50]))}, "modulated arrivals"),
        ({"service": Fixed(10)}, "not geometric"),
    ],
)
def test_what_is_not_claimed(changes: dict[str, object], what: str) -> None:
    with pytest.raises(InputError, match=rf"workload custom: no bound on the queue is claimed for .*{what}"):
        packenv.queue_bound(Workload(**RANDOM | changes))  # type: ignore[arg-type]


def test_tables_and_overload() -> None:
    workload = Workload(**RANDOM)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="table of jobs"):
        packenv.queue_bound(workload.tabulated(0, 100))
    for intensity in (1.0, 1.3):
        with pytest.raises(InputError, match="the queue grows under every policy"):
            packenv.queue_bound(workload.with_(intensity=intensity))
