"""Random workloads stay what they are: an agent is judged on the very ones that were written down before it was trained."""

import pytest

from packenv.errors import InputError
from packenv.workloads.random_workloads import FAMILIES, random_workload


@pytest.mark.parametrize(
    ("family", "workloads"),
    [
        ("training", [(1, 0.7389, "Discrete"), (2, 0.7016, "Mixture"), (2, 0.9574, "Mixture")]),
        ("choice", [(4, 0.9661, "Histogram"), (50, 0.8808, "Discrete"), (4, 0.9258, "Mixture")]),
        ("judged", [(3, 0.8703, "Discrete"), (2, 0.8797, "Discrete"), (3, 0.8844, "Discrete"), (4, 0.8782, "Pareto")]),
    ],
)
def test_the_first_of_a_family(family, workloads):
    drawn = [random_workload(family, number) for number in range(len(workloads))]
    assert [(len(each.servers), each.load, type(each.sizes).__name__) for each in drawn] == workloads
    assert drawn == [random_workload(family, number) for number in range(len(workloads))]


@pytest.mark.parametrize("name", FAMILIES)
def test_workloads_lie_within_their_family(name):
    """One resource, tasks that fit, and all laws of the family among 40 workloads."""
    family, drawn = FAMILIES[name], [random_workload(name, number) for number in range(40)]
    for each in drawn:
        assert each.D == 1 and each.servers.capacity.max() == 1.0 >= each.sizes.support()[1]
        assert family.load[0] <= each.load <= family.load[1]
        assert family.servers[0] <= len(each.servers) <= family.servers[1]
        assert each.area_bound < 5000 and 0.5 * family.mean_service[0] < each.mean_service < 2 * family.mean_service[1]
    assert len({type(each.service) for each in drawn}) == len(family.services)
    assert len({type(each.arrivals) for each in drawn}) == len(set(family.arrivals))


def test_what_is_judged_was_not_seen():
    """No law of sizes in common; seeds of their own."""
    training, choice, judged = (FAMILIES[name] for name in ("training", "choice", "judged"))
    assert not {*judged.sizes} & {*training.sizes, *choice.sizes}
    assert len({training.seed, choice.seed, judged.seed}) == 3


def test_bad_names():
    with pytest.raises(InputError, match="no family 'trainin' of random workloads; did you mean"):
        random_workload("trainin", 0)
    with pytest.raises(InputError, match="numbers from 0, not -1"):
        random_workload("judged", -1)
