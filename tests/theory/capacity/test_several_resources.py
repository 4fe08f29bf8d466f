"""Several resources: brackets against brute force, and proofs that only prove what is true."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import packenv
from packenv import Bracket, Jobs, Workload
from packenv.theory.capacity.bracket import law_and_kinds
from packenv.theory.capacity.max_workload import bracket_of
from packenv.theory.capacity.one_resource.certificate import Refuted
from packenv.theory.capacity.several_resources.certificate import Boxes, Priced, Scalarised, maximal_fillings
from packenv.theory.capacity.several_resources.demand_law import Atoms, Independent, VectorKinds, first_box
from packenv.theory.capacity.several_resources.packing import IntegerPricing
from packenv.theory.capacity.several_resources.search import SeveralResourcesSearch
from packenv.theory.certificate_files import load_certificate, plain_of, save_certificate
from packenv.units import UNIT
from packenv.workloads.laws import Constant, Discrete, Fixed, Uniform
from packenv.workloads.laws.joint import Conditional, Joint
from tests.theory.capacity.brute_force import best, vector_configurations

STEP = UNIT // 12


def joint(vectors: list[tuple[int, ...]], weights: list[int], servers: list[tuple[int, ...]]) -> Workload:
    """Vectors and servers in steps."""
    law = Joint((np.array(vectors) * STEP / UNIT).tolist(), (np.array(weights) / sum(weights)).tolist())
    return Workload(sizes=law, service=Fixed(1), servers=np.array(servers) * STEP / UNIT, rate=0.01)


def truth_of(vectors: list[tuple[int, ...]], weights: list[int], servers: list[tuple[int, ...]]) -> float:
    kinds = sorted(set(servers))
    fitting = [(servers.count(kind), vector_configurations(vectors, kind)) for kind in kinds]
    return best((np.array(weights) / sum(weights)).tolist(), fitting)


@st.composite
def instances(draw: st.DrawFn) -> tuple[list[tuple[int, ...]], list[int], list[tuple[int, ...]]]:
    """2 to 4 demand vectors of 2 or 3 resources, not all 0, and 1 or 2 kinds of servers, the first of which holds all."""
    resources = draw(st.integers(2, 3))
    demand = st.tuples(*[st.integers(0, 9)] * resources).filter(lambda one: max(one) >= 3)
    vectors = draw(st.lists(demand, min_size=2, max_size=4, unique=True))
    large = tuple(draw(st.integers(9, 14)) for _ in range(resources))
    small = tuple(draw(st.integers(2, 8)) for _ in range(resources))
    servers = [large] * draw(st.integers(1, 3)) + [small] * draw(st.integers(0, 2))
    return vectors, [draw(st.integers(1, 9)) for _ in vectors], servers


@settings(max_examples=30, deadline=None, derandomize=True)
@given(instances())
def test_few_vectors(instance: tuple[list[tuple[int, ...]], list[int], list[tuple[int, ...]]]) -> None:
    workload, truth = joint(*instance), truth_of(*instance)
    bracket = packenv.max_workload(workload)
    bracket.verify(workload)
    assert bracket.lower <= truth * (1 + 1e-9) and bracket.upper >= truth * (1 - 1e-9)
    assert bracket.gap <= 1e-6


@settings(max_examples=6, deadline=None, derandomize=True)
@given(instances())
def test_many_vectors(instance: tuple[list[tuple[int, ...]], list[int], list[tuple[int, ...]]]) -> None:
    """The same, but found as where vectors are many: packings, weighted sums, and a program without all configurations."""
    workload, truth = joint(*instance), truth_of(*instance)
    search = SeveralResourcesSearch(*law_and_kinds(workload), 0.001, 0.5, lambda lower, upper: None)
    search.refine()
    bracket_of(search).verify(workload)
    for lower, upper in search.history:
        assert lower <= truth * (1 + 1e-9) and upper >= truth * (1 - 1e-9)
    assert search.lower >= 0.8 * truth


@pytest.mark.parametrize("servers", ["1x1:1", "2x1:1,1x0.5:0.75"])
def test_independent_resources(servers: str) -> None:
    """Two laws of two sizes each are a joint law of four vectors."""
    first, second = Discrete([0.25, 0.5], [0.6, 0.4]), Discrete([0.0, 0.75], [0.3, 0.7])
    workload = Workload(sizes=(first, second), service=Fixed(1), servers=servers, rate=0.1)
    pairs = list(product([(0.25, 0.6), (0.5, 0.4)], [(0.0, 0.3), (0.75, 0.7)]))
    law = Joint([[a, b] for (a, _), (b, _) in pairs], [p * q for (_, p), (_, q) in pairs])
    exact = packenv.max_workload(Workload(sizes=law, service=Fixed(1), servers=servers, rate=0.1))
    bracket = packenv.max_workload(workload, seconds=5)
    bracket.verify(workload)
    assert exact.gap <= 1e-6
    assert bracket.lower <= exact.upper and bracket.upper >= exact.lower
    assert bracket.lower >= 0.99 * exact.lower


@pytest.mark.parametrize("other", [Constant(0.01), Discrete([0.01, 0.02])])
def test_a_resource_that_is_never_scarce(other: Any) -> None:
    workload = Workload(sizes=(Uniform(0.1, 0.9), other), service=Fixed(1), servers="5x1:1", rate=0.1)
    bracket = packenv.max_workload(workload, 0.03, seconds=10)
    bracket.verify(workload)
    assert bracket.reached and bracket.lower <= 10 <= bracket.upper * (1 + 1e-6)


def test_the_same_resource_twice() -> None:
    """Sizes 0.4 and 0.6, alike in both resources: as with one."""
    law = Joint([[0.4, 0.4], [0.6, 0.6]], [0.25, 0.75])
    bracket = packenv.max_workload(Workload(sizes=law, service=Fixed(1), servers="1x1:1", rate=0.1))
    assert bracket.lower == pytest.approx(4 / 3) and bracket.upper == pytest.approx(4 / 3)


def test_resources_that_complement_each_other() -> None:
    """(0.6, 0.2) and (0.2, 0.6): two servers' worth of one kind, but both fit one server."""
    law = Joint([[0.6, 0.2], [0.2, 0.6]])
    bracket = packenv.max_workload(Workload(sizes=law, service=Fixed(1), servers="3x1:1", rate=0.1))
    assert bracket.lower == pytest.approx(6) and bracket.upper == pytest.approx(6) and bracket.area_bound == pytest.approx(7.5)


def test_service_that_depends_on_the_demand() -> None:
    law = Joint([[0.6, 0.2], [0.2, 0.6]])
    workload = Workload(sizes=law, service=Conditional([Fixed(100), Fixed(300)]), servers="1x1:1", rate=0.001)
    bracket = packenv.max_workload(workload)
    assert bracket.lower == pytest.approx(4 / 3) and bracket.upper == pytest.approx(4 / 3)


def test_a_table() -> None:
    table = Jobs.of([0, 0, 1], [[0.6, 0.2], [0.2, 0.6], [0.2, 0.6]], [4, 3, 1])
    bracket = packenv.max_workload(Workload(jobs=table, servers="1x1:1"))
    assert bracket.lower == pytest.approx(2) and bracket.upper == pytest.approx(2)


@settings(max_examples=25, deadline=None, derandomize=True)
@given(instances())
def test_integer_pricing(instance: tuple[list[tuple[int, ...]], list[int], list[tuple[int, ...]]]) -> None:
    """The best configuration of all, and only configurations that fit."""
    vectors, weights, servers = instance
    kinds = sorted(set(servers))
    prices = np.array(weights, float)
    pricing = IntegerPricing(np.array(vectors), VectorKinds(np.array(kinds), np.ones(len(kinds), np.int64)))
    worth, columns = pricing(prices)
    for k, capacity in enumerate(kinds):
        assert worth[k] == pytest.approx(max(np.array(vector_configurations(vectors, capacity)) @ prices), rel=2e-4)
    assert (columns.counts @ np.array(vectors) <= np.array(kinds)[columns.kind]).all()


def test_google_like() -> None:
    workload = packenv.workload("google2011-like")
    bracket = packenv.max_workload(workload, 0.02, seconds=20)
    bracket.verify(workload)
    assert bracket.gap <= 0.03
    assert all(a[0] <= b[0] and a[1] >= b[1] for a, b in zip(bracket.history, bracket.history[1:], strict=False))


def test_first_box() -> None:
    boxes = np.array([[1, 5], [5, 1], [5, 5]])
    assert first_box(np.array([[1, 1], [2, 1], [2, 2], [5, 6]]), boxes).tolist() == [0, 1, 2, -1]


def test_shares_of_independent_resources() -> None:
    """As of the joint law of all pairs."""
    workload = Workload(
        sizes=(Discrete([0.25, 0.5], [0.6, 0.4]), Discrete([0.1, 0.75])), service=Fixed(1), servers="1x1:1", rate=0.1
    )
    law, _ = law_and_kinds(workload)
    assert isinstance(law, Independent)
    pairs = list(product(zip(law.laws[0].low, (0.6, 0.4), strict=True), zip(law.laws[1].low, (0.5, 0.5), strict=True)))
    atoms = Atoms(np.array([[a, b] for (a, _), (b, _) in pairs]), np.array([p * q for (_, p), (_, q) in pairs]))
    boxes = np.array([[0.5, 0.1], [0.3, 0.8], [1, 1]]) * UNIT
    for found in (law.shares(boxes.astype(int)), atoms.shares(boxes.astype(int))):
        assert found is not None
        assert [share / found[1] for share in found[0]] == pytest.approx([0.5, 0.3, 0.2])
    assert law.shares(boxes[:2].astype(int)) is None and atoms.shares(boxes[:2].astype(int)) is None
    weights = np.array([2, 1])
    both, one = law.scalar(weights), atoms.scalar(weights)
    assert both.mean_low <= one.mean_low <= both.mean_low * 1.001  # rounded down


def test_all_maximal_fillings() -> None:
    vectors, capacity = [(3, 4), (5, 2), (1, 7)], (12, 15)
    found = set(maximal_fillings(np.array(vectors), np.array(capacity)))
    every = set(vector_configurations(vectors, capacity))
    assert found <= every
    assert all(any(np.all(np.array(one) <= other) for other in found) for one in every)
    with pytest.raises(OverflowError):
        maximal_fillings(np.ones((10, 2), np.int64), np.array([30, 30]))


SETTINGS = {
    "priced": joint([(6, 2), (3, 7), (4, 4)], [3, 2, 4], [(12, 12), (12, 12), (8, 9)]),
    "scalarised": Workload(  # few boxes: a proof of 192 is checked in a fifth of the time of one of 4,096
        sizes=(Uniform(0.1, 0.4), Discrete([0.3, 0.45, 0.6])), service=Fixed(1), servers="2x1:1,1x0.8:0.9", rate=0.1
    ),
}


@pytest.fixture(scope="module", params=SETTINGS)
def proved(request: pytest.FixtureRequest) -> tuple[Workload, Bracket]:
    return SETTINGS[request.param], packenv.max_workload(SETTINGS[request.param], 0.01, seconds=1)


Plain = dict[str, Any]


def first_price(plain: Plain) -> list[int]:
    return plain["bounded"]["prices"] if "prices" in plain["bounded"] else plain["bounded"]["bounded"]["prices"]


def largest_vectors(plain: Plain) -> None:
    """Smaller boxes: the largest demands have none."""
    plain["attained"]["boxes"] = [[amount * 9 // 10 for amount in box] for box in plain["attained"]["boxes"]]


TAMPERED: dict[str, Callable[[Plain], object]] = {
    "lower": lambda plain: plain.update(lower=plain["lower"] * 1.000001),
    "upper": lambda plain: plain.update(upper=0.999 * plain["lower"]),
    "area bound": lambda plain: plain.update(area_bound=1.01 * plain["area_bound"]),
    "smaller boxes": largest_vectors,
    "no boxes": lambda plain: plain["attained"].update(boxes=[]),
    "boxes of one resource": lambda plain: plain["attained"].update(boxes=[box[:1] for box in plain["attained"]["boxes"]]),
    "negative boxes": lambda plain: plain["attained"]["boxes"][0].__setitem__(0, -5),
    "overfilled": lambda plain: plain["attained"]["configurations"][0]["held"].append([0, 10]),
    "no such box": lambda plain: plain["attained"]["configurations"][0]["held"].append([10**6, 1]),
    "no such kind": lambda plain: plain["attained"]["configurations"][0].update(kind=2),
    "more servers": lambda plain: plain["attained"]["configurations"][0].update(servers=10**30),
    "more parts": lambda plain: plain["attained"].update(parts=2 * plain["attained"]["parts"]),
    "no parts": lambda plain: plain["attained"].update(parts=0),
    "prices all 0": lambda plain: first_price(plain).__setitem__(slice(None), [0] * len(first_price(plain))),
    "a negative price": lambda plain: first_price(plain).__setitem__(0, -1),
    "a price too many": lambda plain: first_price(plain).append(1),
    "one resource's proof": lambda plain: plain.update(bounded={"points": [UNIT], "prices": [1], "split": [True]}),
    "no weights": lambda plain: plain["bounded"].update(
        {"weights": [0, 0], "bounded": {"points": [UNIT], "prices": [1], "split": [True]}}
    ),
    "a weight too few": lambda plain: plain["bounded"].update(
        {"weights": [1], "bounded": {"points": [UNIT], "prices": [1], "split": [True]}}
    ),
    "the other weights": lambda plain: plain["bounded"].update(
        {"weights": [1, 5], "bounded": {"points": [UNIT], "prices": [1], "split": [True]}}
    ),
}


def test_proofs(proved: tuple[Workload, Bracket], tmp_path: Path) -> None:
    workload, bracket = proved
    bracket.verify(workload)
    assert isinstance(bracket.attained, Boxes) and isinstance(bracket.bounded, Priced | Scalarised)
    save_certificate(bracket, tmp_path / "proof.json")
    assert load_certificate(tmp_path / "proof.json") == bracket


@pytest.mark.parametrize("name", TAMPERED)
def test_tampering_is_refused(proved: tuple[Workload, Bracket], name: str, tmp_path: Path) -> None:
    workload, bracket = proved
    plain = json.loads(json.dumps(plain_of(bracket)))
    TAMPERED[name](plain)
    (tmp_path / "proof.json").write_text(json.dumps(plain))
    with pytest.raises(Refuted, match=r"^certificate: "):
        load_certificate(tmp_path / "proof.json").verify(workload)


def test_one_resource_has_other_proofs() -> None:
    workload = Workload(sizes=Constant(0.4), service=Fixed(1), servers=1, rate=0.1)
    with pytest.raises(Refuted, match="not for 1 resources"):
        packenv.max_workload(SETTINGS["priced"]).verify(workload)
    with pytest.raises(Refuted, match="not for 2 resources"):
        packenv.max_workload(workload).verify(SETTINGS["priced"])


def test_boxes_that_fit_no_server() -> None:
    """Two kinds of servers, each short of one resource: many vectors, rounded up only as far as they still fit."""
    rng = np.random.default_rng(3)
    tall, flat = rng.uniform([0.05, 0.2], [0.2, 0.9], (400, 2)), rng.uniform([0.2, 0.05], [0.9, 0.2], (400, 2))
    law = Joint(np.concatenate([tall, flat]).tolist())
    workload = Workload(sizes=law, service=Fixed(1), servers="2x1:0.2,2x0.2:1", rate=0.1)
    bracket = packenv.max_workload(workload, 0.1, seconds=3)
    bracket.verify(workload)
    assert 0 < bracket.lower <= bracket.upper
