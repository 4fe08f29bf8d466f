"""ρ_K and its configurations: against the linear program over all configurations, written out, and where it must not lie."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest
from scipy.optimize import linprog

import packenv
from packenv import InputError, Workload
from packenv.policies import MSR, KMaxWeight
from packenv.policies.throughput_optimal.msr import in_order
from packenv.policy import guarantee_of
from packenv.simulation import setting_of
from packenv.theory.capacity.max_workload import supportable
from packenv.theory.rounded_program import rounded_program
from packenv.units import UNIT
from packenv.workloads.laws import Discrete, Fixed, Geometric, Uniform


def by_all_configurations(sizes: list[int], shares: list[float], servers: dict[int, int]) -> float:
    """max ρ with ρ p_j <= Σ_k w_k k_j for every type, over every vector of counts that fits."""
    columns, kinds = [], []
    for n, capacity in enumerate(servers):
        for counts in itertools.product(*(range(capacity // size + 1) for size in sizes)):
            if sum(count * size for count, size in zip(counts, sizes, strict=True)) <= capacity:
                columns.append(counts)
                kinds.append(n)
    cover = np.column_stack([shares, -np.array(columns).T])
    number = np.array([[0.0, *(float(kind == n) for kind in kinds)] for n in range(len(servers))])
    found = linprog(
        [-1.0, *([0.0] * len(columns))],
        np.vstack([cover, number]),
        np.concatenate([np.zeros(len(sizes)), np.array(list(servers.values()), float)]),
    )
    return float(-found.fun)


@pytest.mark.parametrize("seed", range(12))
def test_every_size_a_type(seed: int) -> None:
    rng = random.Random(seed)
    twelfths = sorted(rng.sample(range(3, 13), k=rng.randint(1, 3)))
    weights = [rng.randint(1, 5) for _ in twelfths]
    shares = [weight / sum(weights) for weight in weights]
    workload = Workload(
        sizes=Discrete([size / 12 for size in twelfths], shares),
        service=Geometric(9),
        servers=rng.choice(["2", "1x1,2x0.5"]),
        rate=1.0,
    )
    servers = {12: 2} if len(workload.servers.units) == 2 else {12: 1, 6: 2}
    program = rounded_program(workload, 0, 0.01)
    assert program.sizes.tolist() == [size * UNIT // 12 for size in reversed(twelfths)] == program.least.tolist()
    assert program.rho == pytest.approx(by_all_configurations(twelfths, shares, servers), rel=1e-6)


@pytest.mark.parametrize("types", [5, 20, 64])
@pytest.mark.parametrize("name", ["paper/fig4a", "paper/fig4b"])
def test_cells(name: str, types: int) -> None:
    """The configurations fit, hold every type's share of ρ_K by the law itself, and take no more than the time there is."""
    workload = packenv.workload(name)
    program = rounded_program(workload, types, 0.01)
    low, high = 0.01 if name == "paper/fig4a" else 0.1, 0.19 if name == "paper/fig4a" else 0.9
    ends = np.append(program.sizes + 1, low * UNIT) / UNIT  # sizes are rounded down to units
    shares = -np.diff(np.clip((ends - low) / (high - low), 0, 1))
    assert len(program.sizes) == types and program.sizes[0] >= high * UNIT - 1
    assert (program.counts @ program.sizes <= UNIT).all()
    assert program.share.sum() <= 1 + 1e-12
    assert (5 * program.share @ program.counts / shares).min() == pytest.approx(program.rho, rel=1e-5)
    assert program.rho < supportable(workload).upper


def test_a_grid_is_the_types_of_an_agent() -> None:
    """Equal widths; the first and last tenth of fig4b hold no size. 32 types: 0.1 and 0.9 are 3.2 and 28.8 of their widths."""
    program = rounded_program(packenv.workload("paper/fig4b"), 32, 0.01, grid=True)
    ends = np.append(program.sizes + 1, 0) / UNIT  # sizes are rounded down to units
    shares = -np.diff(np.clip(ends, 0.1, 0.9)) / 0.8
    assert program.sizes.tolist() == [UNIT * j // 32 for j in range(32, 0, -1)]
    assert (program.counts @ program.sizes <= UNIT).all() and program.share.sum() <= 1 + 1e-12
    held = 5 * program.share @ program.counts
    assert (held[shares > 0] / shares[shares > 0]).min() == pytest.approx(program.rho, rel=1e-5)
    assert held[shares == 0].sum() == 0


def test_finer_types_support_more() -> None:
    workload = packenv.workload("paper/fig4b")
    rho = [rounded_program(workload, types, 0.01).rho for types in (8, 16, 32, 64, 128)]
    assert rho == sorted(rho) and rho[0] < 9 < 9.9 < rho[-1]
    chosen = rounded_program(workload, 0, 0.01)
    assert chosen.rho >= 0.99 * supportable(workload).lower


def test_order_of_the_round() -> None:
    """Pairs that fill a server: the round goes through them by size, so neighbours differ by one type."""
    pairs = np.array([[1, 0, 0, 0, 0, 1], [0, 0, 1, 1, 0, 0], [0, 1, 0, 0, 1, 0], [0, 0, 0, 0, 0, 2]])
    order = in_order(pairs, np.array([10, 9, 8, 4, 3, 2])).tolist()
    assert order in ([0, 2, 1, 3], [0, 3, 1, 2])


def test_guarantees() -> None:
    fig4b = setting_of(packenv.workload("paper/fig4b"))
    assert 0.985 < guarantee_of(MSR(), fig4b) < 1
    assert guarantee_of(KMaxWeight(types=64), fig4b) == guarantee_of(MSR(types=64), fig4b) < guarantee_of(MSR(), fig4b)
    assert guarantee_of(KMaxWeight(slack=0.0), fig4b) == 0
    assert guarantee_of(KMaxWeight(refresh="empty"), fig4b) == guarantee_of(KMaxWeight(refresh="timer"), fig4b) == 0
    fixed = Workload(sizes=Uniform(0.1, 0.9), service=Fixed(100), servers=2, load=0.5)
    assert guarantee_of(MSR(), setting_of(fixed)) == guarantee_of(KMaxWeight(), setting_of(fixed)) == 0
    unequal = setting_of(packenv.workload("paper/fig3a", servers="1x1,2x0.5"))
    assert guarantee_of(MSR(), unequal) == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize(
    "policy, message",
    [
        (MSR(types=20), "is above ρ_K = 9.407 of 20 types; types=64 would do"),
        (KMaxWeight(types=20, backfill=True), "types=64 would do"),
        (MSR(types=-1), "types must lie between 1 and 1,024"),
        (MSR(eps=0.0), "eps between 0 and 1"),
        (MSR(types=8, grid=8), "give types or grid, at most 1,024, not both"),
        (KMaxWeight(grid=1000), "grid=1000 has too many sums of sizes on a server; give fewer"),
        (MSR(few=3), "few=3 is for backfill"),
        (MSR(cycle=-1.0), "a cycle lasts a positive number of slots, not -1.0"),
        (KMaxWeight(refresh="wait"), "refresh must be empty, timer or weight, not 'wait'"),
        (KMaxWeight(slack=-1.0), "slack and every must be >= 0"),
    ],
)
def test_refused(policy: MSR | KMaxWeight, message: str) -> None:
    with pytest.raises(InputError, match=message):
        packenv.simulate(packenv.workload("paper/fig4b", load=0.97), policy, 10)
