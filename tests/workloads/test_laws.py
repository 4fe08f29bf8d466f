"""Every law: what is drawn agrees with its formulas, as a size (in integer units) and as a service (in slots)."""

import math

import numpy as np
import pytest
from scipy.special import betainc

import packenv
from packenv.errors import InputError
from packenv.units import UNIT
from packenv.workloads.laws import (
    Beta,
    Conditional,
    Constant,
    Discrete,
    Empirical,
    Exponential,
    Fixed,
    Geometric,
    Histogram,
    HyperExponential,
    Joint,
    LogNormal,
    Mixture,
    Pareto,
    Uniform,
    parse_law,
)
from packenv.workloads.workload import Workload

DRAWS = 100_000
SIZES = [
    Uniform(0.1, 0.9),
    Uniform(0, 1),
    Constant(0.3),
    Discrete([0.6, 0.4, 0.25], [0.2, 0.7, 0.1]),
    Beta(2, 5),
    Beta(0.5, 0.7, 0.2, 0.6),
    Exponential(0.05),
    Exponential(3.0, 0.8),
    Pareto(1.5, 0.01, 1),
    Pareto(1.0, 0.1, 1),
    Histogram([0.1, 0.2, 0.5, 1.0], [0.5, 0.0, 0.5]),
    Empirical([0.1, 0.1, 0.3, 0.7]),
    Mixture([Uniform(0.1, 0.2), Mixture([Constant(0.5), Beta(2, 2)], [0.4, 0.6])], [0.3, 0.7]),
]
SERVICES = [
    Geometric(100),
    Geometric(1),
    Geometric(1.5),
    Fixed(7),
    LogNormal(100, 2),
    LogNormal(3, 0.5),
    HyperExponential([10, 910], [0.9, 0.1]),
    Exponential(20, math.inf),
    Exponential(20, 30),
    Uniform(0.3, 7.7),
    Pareto(2.5, 3, math.inf),
    Histogram([0, 10, 1000], [0.8, 0.2]),
    Beta(2, 5, 1, 50),
    Discrete([1, 2.5, 100_000], [0.5, 0.4, 0.1]),
    Mixture([Fixed(3), Geometric(50)], [0.5, 0.5]),
]


def rows(sizes, service, seed=1):
    return Workload(sizes=sizes, service=service, servers=2, rate=1.0).jobs_table(seed, DRAWS)


def distance(sample, cdf):
    """Kolmogorov and Smirnov's distance between a sample of integers and a law of integers."""
    values, counts = np.unique(sample, return_counts=True)
    seen = np.cumsum(counts) / len(sample)
    return max(np.abs(seen - cdf(values)).max(), np.abs(seen - counts / len(sample) - cdf(values - 1)).max())


def agrees(sample, mean):
    error = 4 * sample.std() / math.sqrt(len(sample)) + 1e-12 * abs(mean)
    return abs(sample.mean() - mean) <= error


@pytest.mark.parametrize("law", SIZES, ids=str)
def test_sizes_follow_their_law(law):
    units = rows(law, Fixed(1)).demand[:, 0]
    low, high = law.support()
    assert agrees((units + 0.5) / UNIT, law.mean()) or abs(units.mean() / UNIT - law.mean()) < 1 / UNIT
    assert distance(units, law.cdf_units) < 1.95 / math.sqrt(DRAWS)
    assert max(1, low * UNIT - 1) <= units.min() and units.max() <= high * UNIT + 1e-3


@pytest.mark.parametrize("law", SERVICES, ids=str)
def test_services_follow_their_law(law):
    slots = rows(Constant(0.5), law).service
    assert agrees(slots, law.mean_slots())
    assert distance(slots, lambda k: np.where(k < 1, 0.0, law.cdf(k))) < 1.95 / math.sqrt(DRAWS)
    assert slots.min() >= max(1, law.support()[0]) and slots.max() <= max(1, math.ceil(min(law.support()[1], 2.0**53)))


@pytest.mark.parametrize("law", [*SIZES, *SERVICES], ids=str)
def test_mean_and_distribution_function_agree(law):
    low, high = law.support()
    top = min(high, 1e7)
    x = np.unique(np.concatenate([np.linspace(0, top, 200_001), np.geomspace(1e-9, top, 200_001)]))
    tail = 1 - law.cdf(x)
    above, below = tail[:-1] @ np.diff(x), tail[1:] @ np.diff(x)  # ∫ P(X > x) dx lies between
    assert below - 1e-6 <= law.mean() <= above + max(1e-6, 0.001 * law.mean() * math.isinf(high))
    assert law.cdf(np.nextafter(low, -1)) == 0 and law.cdf(top) == pytest.approx(1, abs=1e-9)
    assert (np.diff(law.cdf(x)) >= 0).all()
    assert law.cdf([[low, low]]).shape == (1, 2)


@pytest.mark.parametrize("law", SERVICES, ids=str)
def test_mean_slots_is_the_mean_of_the_rounded_law(law):
    k = np.arange(1.0, 400_000)
    by_hand = 1 + (1 - law.cdf(k)).sum()
    assert law.mean_slots() == pytest.approx(by_hand, rel=1e-4 if isinstance(law, Pareto) else 1e-9)


def test_distribution_functions_are_right_continuous():
    law = Discrete([0.4, 0.6])
    assert law.cdf([0.4 - 1e-12, 0.4, 0.5, 0.6]).tolist() == [0, 0.5, 0.5, 1]
    assert law.cdf_units([int(0.4 * UNIT) - 1, int(0.4 * UNIT), UNIT]).tolist() == [0, 0.5, 1]
    assert Uniform(0, 1).cdf_units([-1, 0, 1]).tolist() == pytest.approx([0, 0, (2 - 1e-3) / UNIT])


@pytest.mark.parametrize(("a", "b"), [(2, 5), (0.5, 0.5), (0.05, 1), (1, 0.05), (300, 2)])
def test_beta_is_close_to_beta(a, b):
    law = Beta(a, b)
    x = np.linspace(0, 1, 1001)
    assert np.abs(law.cdf(x) - betainc(a, b, x)).max() < 1e-5
    assert law.mean() == pytest.approx(a / (a + b), abs=1e-6)


def test_atoms():
    assert Uniform(0, 1).atoms() is None and Mixture([Constant(1), Uniform(0, 1)]).atoms() is None
    values, weights = Mixture([Discrete([0.4, 0.6]), Constant(0.4)], [0.5, 0.5]).atoms()
    assert values.tolist() == [0.4, 0.6] and weights.tolist() == [0.75, 0.25]


def test_independent_resources():
    table = rows((Uniform(0.1, 0.5), Discrete([0.2, 0.4])), Geometric(10))
    assert table.demand.shape == (DRAWS, 2)
    assert abs(np.corrcoef(table.demand.T)[0, 1]) < 0.01
    assert distance(table.demand[:, 0], Uniform(0.1, 0.5).cdf_units) < 1.95 / math.sqrt(DRAWS)


def test_joint_sizes_and_conditional_services():
    sizes = Joint([[0.5, 0.1], [0.1, 0.5], [1.0, 1.0]], [0.5, 0.3, 0.2])
    table = rows(sizes, Conditional([Fixed(1), Fixed(20), Geometric(300)]))
    vectors, counts = np.unique(table.demand, axis=0, return_counts=True)
    assert vectors[:, 0].tolist() == [int(0.1 * UNIT), UNIT // 2, UNIT]
    assert counts / DRAWS == pytest.approx([0.3, 0.5, 0.2], abs=0.01)
    by_vector = [table.service[table.demand[:, 0] == first] for first in vectors[:, 0]]
    assert set(by_vector[0]) == {20} and set(by_vector[1]) == {1} and agrees(by_vector[2], 300)


def test_parse_law():
    assert parse_law("uniform:0.1:0.9", "sizes") == Uniform(0.1, 0.9)
    assert parse_law("discrete:0.4@0.5,0.6@0.5", "sizes") == Discrete([0.4, 0.6], [0.5, 0.5])
    assert parse_law("discrete:0.4,0.6", "sizes") == Discrete([0.4, 0.6])
    assert parse_law("constant:0.5", "sizes") == Constant(0.5)
    assert parse_law("beta:2:5", "sizes") == Beta(2, 5)
    assert parse_law("exponential:0.05", "sizes") == Exponential(0.05, 1.0)
    assert parse_law("exponential:100", "--service") == Exponential(100, math.inf)
    assert parse_law("pareto:1.5:0.01:1", "sizes") == Pareto(1.5, 0.01, 1)
    assert parse_law("geometric:100", "service") == Geometric(100)
    assert parse_law("fixed:100", "service") == Fixed(100)
    assert parse_law("lognormal:100:2", "service") == LogNormal(100, 2)
    assert parse_law("hyperexponential:10@0.9,910@0.1", "service") == HyperExponential([10, 910], [0.9, 0.1])


def test_services_in_units_of_time(tmp_path):
    """In slots of half a minute; a shape has no unit. Every way to a workload knows its slots."""
    assert parse_law("exponential:1h", "--service", 30) == Exponential(120, math.inf)
    assert parse_law("exponential:1h:PT2H", "--service", 30) == Exponential(120, 240)
    assert parse_law("fixed:90min", "--service", 30) == Fixed(180)
    assert parse_law("lognormal:0.5h:2", "--service", 30) == LogNormal(60, 2)
    assert parse_law("pareto:1.5:1min:1d", "--service", 30) == Pareto(1.5, 2, 2880)
    assert parse_law("hyperexponential:5 min@0.9,10@0.1", "--service", 30) == HyperExponential([10, 10], [0.9, 0.1])
    assert packenv.workload("paper/fig4b", service="fixed:1min", slot_seconds="0.1").service == Fixed(600)
    stream = packenv.Workload(sizes=Constant(0.5), service=Fixed(9), rate=0.1, servers=1, slot_seconds=20)
    stream.save(file := tmp_path / "mine.json")
    assert packenv.workload(str(file), service="fixed:1min").service == Fixed(3)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Uniform(0.5, 0.5), "above low"),
        (lambda: Uniform(-1, 1), "at least 0"),
        (lambda: Uniform(math.nan, 1), "at least 0"),
        (lambda: Constant(0), "positive"),
        (lambda: Constant("a"), "a number"),
        (lambda: Discrete([0.4, 0.6], [0.5, 0.6]), "sum to 1.1"),
        (lambda: Discrete([0.4, 0.6], [1.5, -0.5]), "at least 0"),
        (lambda: Discrete([0.4, 0.6], [1]), "1 weights for 2"),
        (lambda: Discrete([]), "at least one"),
        (lambda: Beta(0, 1), "positive"),
        (lambda: Exponential(1, 0), "above 0"),
        (lambda: Pareto(1, 0.5, 0.1), "above 0.5"),
        (lambda: parse_law("pareto:2:3", "--service"), "high is 1 unless given, and must be above low 3"),
        (lambda: Histogram([0, 1, 1], [0.5, 0.5]), "increasing"),
        (lambda: Geometric(0.5), "at least 1 slot"),
        (lambda: Fixed(1.5), "whole number"),
        (lambda: LogNormal(1, math.inf), "finite"),
        (lambda: HyperExponential([0.0]), "positive"),
        (lambda: Mixture([]), "at least one law"),
        (lambda: Mixture([0.5]), "at least one law"),
        (lambda: Joint([[0.5, 0.5], [0.5]]), "vector 1 has 1 resources"),
        (lambda: Joint([[0.0, 0.0]]), "all 0"),
        (lambda: Conditional([]), "list of laws"),
        (lambda: parse_law("unifrom:0:1", "sizes"), "did you mean uniform"),
        (lambda: parse_law("uniform:0.1", "sizes"), "expected uniform:low:high"),
        (lambda: parse_law("uniform:a:1", "sizes"), "'a' is not a number"),
        (lambda: parse_law("discrete:0.4@0.5,0.6", "sizes"), "value@weight"),
        (lambda: parse_law("uniform:1min:2h", "sizes", 60), "'1min' is not a number"),
        (lambda: parse_law("lognormal:2h:1h", "--service", 60), "'1h' is not a number"),
        (lambda: parse_law("fixed:90s", "--service", 60), "a whole number, not 1.5"),
        (lambda: packenv.workload("paper/fig4b", service="fixed:1h"), "1h needs the length of a slot: give `slot_seconds`"),
        (lambda: parse_law("1h", "--service", 60), "a law is needed: fixed:1h, or exponential:1h on average"),
        (lambda: parse_law("", "--sizes"), "--sizes ''"),
    ],
)
def test_bad_laws_get_one_line(make, says):
    with pytest.raises(InputError) as caught:
        make()
    assert says in str(caught.value) and "\n" not in str(caught.value)
