"""ρ_K for boxes of demand vectors: against the linear program over all configurations, written out; partitions into boxes."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest
from scipy.optimize import linprog

import packenv
from packenv import InputError, Workload
from packenv.policies import MSR, KMaxWeight
from packenv.policy import guarantee_of
from packenv.simulation import setting_of
from packenv.theory.capacity.max_workload import supportable
from packenv.theory.capacity.several_resources.demand_law import vector_kinds_of, vector_law
from packenv.theory.rounded_boxes import boxes_of, least_of
from packenv.theory.rounded_program import rounded_program
from packenv.units import UNIT
from packenv.workloads.laws import Discrete, Fixed, Geometric, Uniform
from packenv.workloads.laws.joint import Joint

Vector = tuple[int, ...]


def all_that_fit(boxes: list[Vector], capacity: Vector) -> list[Vector]:
    """Every vector of counts whose boxes fit together."""
    if not boxes:
        return [()]
    found: list[Vector] = []
    n, left = 0, capacity
    while min(left) >= 0:
        found += [(n, *rest) for rest in all_that_fit(boxes[1:], left)]
        n, left = n + 1, tuple(c - b for c, b in zip(left, boxes[0], strict=True))
    return found


def by_all_configurations(boxes: list[Vector], shares: list[float], servers: dict[Vector, int]) -> float:
    """max ρ with ρ p_j <= Σ_k w_k k_j for every type, over every vector of counts that fits."""
    columns, kinds = [], []
    for n, capacity in enumerate(servers):
        for counts in all_that_fit(boxes, capacity):
            columns.append(counts)
            kinds.append(n)
    cover = np.column_stack([shares, -np.array(columns).T])
    number = np.array([[0.0, *(float(kind == n) for kind in kinds)] for n in range(len(servers))])
    limits = np.concatenate([np.zeros(len(boxes)), np.array(list(servers.values()), float)])
    return float(-linprog([-1.0, *([0.0] * len(columns))], np.vstack([cover, number]), limits).fun)


def random_workload(rng: random.Random, vectors: int) -> tuple[list[Vector], list[float], dict[Vector, int], Workload]:
    """Twelfths of a server in two resources, on one kind of server or two."""
    some = rng.sample(list(itertools.product(range(2, 11), repeat=2)), k=vectors)
    weights = [rng.randint(1, 5) for _ in some]
    shares = [weight / sum(weights) for weight in weights]
    servers: dict[Vector, int] = rng.choice([{(12, 12): 2}, {(12, 12): 1, (8, 10): 2}])
    text = ",".join(f"{number}x{a / 12}:{b / 12}" for (a, b), number in servers.items())
    demands = Joint([[a / 12, b / 12] for a, b in some], shares)
    return some, shares, servers, Workload(sizes=demands, service=Geometric(9), servers=text, rate=0.1)


@pytest.mark.parametrize("seed", range(10))
def test_every_vector_a_type(seed: int) -> None:
    rng = random.Random(seed)
    vectors, shares, servers, workload = random_workload(rng, rng.randint(2, 5))
    program = rounded_program(workload, 0, 0.01)
    assert sorted(map(tuple, program.sizes.tolist())) == sorted(tuple(UNIT * n // 12 for n in vector) for vector in vectors)
    assert (program.sizes == program.least).all()
    assert program.rho == pytest.approx(by_all_configurations(vectors, shares, servers), rel=1e-6)
    assert program.rho <= supportable(workload).upper


@pytest.mark.parametrize("seed", range(4))
def test_the_list_has_all_maximal_configurations(seed: int) -> None:
    workload = random_workload(random.Random(seed), 4)[3]
    program = rounded_program(workload, 0, 0.01)
    assert program.listed is not None
    boxes = [tuple(box) for box in (program.sizes * 12 // UNIT).tolist()]
    for number, capacity in enumerate((program.capacity * 12 // UNIT).tolist()):
        held = [tuple(row) for row in program.listed.counts[program.listed.kind == number].astype(int).tolist()]
        feasible = set(all_that_fit(boxes, tuple(capacity)))
        assert set(held) <= feasible and held == sorted(held, reverse=True)
        assert {one for one in feasible if not feasible & set(above(one))} <= set(held)


def above(counts: Vector) -> list[Vector]:
    """With one more task."""
    return [tuple(n + (k == j) for k, n in enumerate(counts)) for j in range(len(counts))]


@pytest.mark.parametrize("types", [3, 6, 10])
def test_fewer_boxes_than_vectors(types: int) -> None:
    """ρ_K is that of the boxes' own law: every vector counted into the last box that holds it, here one by one."""
    rng = random.Random(types)
    vectors, shares, servers, workload = random_workload(rng, 12)
    program = rounded_program(workload, types, 0.01)
    boxes = [tuple(box) for box in (program.sizes * 12 // UNIT).tolist()]
    own = [max(j for j, box in enumerate(boxes) if all(d <= b for d, b in zip(v, box, strict=True))) for v in vectors]
    share = [sum(p for p, j in zip(shares, own, strict=True) if j == k) for k in range(len(boxes))]
    assert 1 <= len(boxes) <= types and min(share) > 0
    assert program.rho == pytest.approx(by_all_configurations(boxes, share, servers), rel=2e-3)
    assert program.rho <= by_all_configurations(vectors, shares, servers) * (1 + 1e-6)
    least = (program.least * 12 // UNIT).tolist()
    assert least == [
        [min(v[r] for v, j in zip(vectors, own, strict=True) if j == k) for r in range(2)] for k in range(len(boxes))
    ]


def test_boxes_of_independent_resources() -> None:
    """Boxes of four times four ends; demands drawn lie between the least of their box and its corner."""
    workload = Workload(sizes=(Uniform(0.1, 0.5), Uniform(0.2, 0.6)), service=Geometric(9), servers="2x1:1", rate=0.1)
    law, kinds = vector_law(workload), vector_kinds_of(workload)
    boxes = boxes_of(law, kinds, 20)
    least = least_of(law, boxes)
    assert len(boxes) == 16 and (boxes[0] >= np.array([0.5, 0.6]) * UNIT - 1).all()
    rng = np.random.default_rng(0)
    for demand in (rng.uniform([0.1, 0.2], [0.5, 0.6], (200, 2)) * UNIT).astype(int):
        j = max(np.flatnonzero((demand <= boxes).all(axis=1)))
        assert (least[j] <= demand).all()
    program = rounded_program(workload, 16, 0.01)
    assert (program.counts @ program.sizes <= UNIT).all() and program.share.sum() <= 1 + 1e-12
    assert (2 * program.share @ program.counts * 16).min() == pytest.approx(program.rho, rel=1e-5)  # equally likely


def test_finer_boxes_support_more() -> None:
    rng = np.random.default_rng(1)
    demands = Joint(rng.uniform(0.15, 0.6, (16, 2)).tolist(), [1 / 16] * 16)
    workload = Workload(sizes=demands, service=Geometric(9), servers="2x1:1", rate=0.1)
    rho = [rounded_program(workload, types, 0.01).rho for types in (2, 5, 16)]
    assert rho == sorted(rho) and rho[0] < 0.8 * rho[-1]
    assert rounded_program(workload, 0, 0.01).rho >= 0.99 * supportable(workload).lower


def test_sizes_with_many_sums() -> None:
    """164 sizes down to 0.0002, most tasks of a few: a list of configurations, within seconds, that comes within eps of ρ*."""
    rng = np.random.default_rng(3)
    sizes = np.concatenate([rng.uniform(0.0002, 0.3, 160), [0.025, 0.0625, 0.25, 0.5]])
    shares = np.concatenate([np.full(160, 0.2 / 160), [0.4, 0.2, 0.1, 0.1]])
    workload = Workload(sizes=Discrete(sizes.tolist(), shares.tolist()), service=Geometric(9), servers=5, rate=0.1)
    program = rounded_program(workload, 0, 0.01)
    assert program.listed is not None and program.sizes.ndim == 1 and len(program.sizes) <= 256
    assert (program.listed.counts @ program.sizes <= UNIT).all()
    assert 0.99 * supportable(workload).lower <= program.rho <= supportable(workload).upper


def test_guarantees() -> None:
    """ρ_K / ρ* where the proof holds; ρ* itself if every vector is a type."""
    pairs = Joint([[0.6, 0.2], [0.4, 0.8], [0.3, 0.3]], [0.4, 0.4, 0.2])
    exact = setting_of(Workload(sizes=pairs, service=Geometric(9), servers="2x1:1,1x0.6:0.8", load=0.5))
    assert 0.999 < guarantee_of(MSR(), exact) <= 1 and guarantee_of(KMaxWeight(), exact) == guarantee_of(MSR(), exact)
    assert 0.2 < guarantee_of(MSR(types=1), exact) < 0.95
    assert guarantee_of(KMaxWeight(refresh="empty"), exact) == 0
    fixed = setting_of(Workload(sizes=pairs, service=Fixed(9), servers="2x1:1", load=0.5))
    assert guarantee_of(MSR(), fixed) == guarantee_of(KMaxWeight(), fixed) == 0


def test_a_load_above_the_boxes() -> None:
    pairs = Joint([[0.6, 0.2], [0.4, 0.8], [0.3, 0.3]], [0.4, 0.4, 0.2])
    workload = Workload(sizes=pairs, service=Geometric(9), servers="2x1:1", load=0.97)
    with pytest.raises(InputError, match=r"is above ρ_K = .* of 1 types; types=32 would do"):
        packenv.simulate(workload, MSR(types=1), 10)
