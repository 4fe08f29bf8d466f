"""Random workloads stay what they are: an agent is judged on the very ones that were written down before it was trained."""

import numpy as np
import pytest

from agents.random_jobs import JOB_FAMILIES, random_jobs
from agents.random_workloads import FAMILIES, random_workload
from packenv.errors import InputError


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


@pytest.mark.parametrize(
    ("family", "mixes"),
    [
        ("training", [(12, 1, 993, 12577), (6, 4, 3582, 48275), (36, 1, 2445, 38702)]),
        ("choice", [(18, 3, 1873, 34027), (12, 1, 2625, 36308), (5, 5, 3980, 326558)]),
        ("judged", [(6, 2, 1318, 55496), (8, 5, 2125, 88742), (14, 2, 1238, 66382)]),
    ],
)
def test_the_first_mixes_of_jobs(family, mixes):
    """Servers, resources, tasks and slots of the tables of seed 0."""
    drawn = [random_jobs(family, number) for number in range(len(mixes))]
    assert [(len(each.servers), each.D, len(each.jobs), int(each.jobs.service.sum())) for each in drawn] == mixes
    assert drawn == [random_jobs(family, number) for number in range(len(mixes))]
    again, other = drawn[0].at(0).jobs, drawn[0].at(1).jobs
    assert np.array_equal(again.service, drawn[0].jobs.service) and len(again) != len(other)


@pytest.mark.parametrize("name", JOB_FAMILIES)
def test_mixes_lie_within_their_family(name):
    """Among 10 mixes some have places of data, values, and unequal servers; all have jobs of stages that wait for each other."""
    family, drawn = JOB_FAMILIES[name], [random_jobs(name, number) for number in range(10)]
    for each in drawn:
        assert family.resources[0] <= each.D <= family.resources[1]
        assert family.servers[0] <= len(each.servers) <= family.servers[1]
        assert each.servers.capacity[0].min() == 1.0 and family.smallest <= each.servers.capacity.min()
        assert (each.jobs.phase is None) != (each.jobs.predecessors is None)
        assert (each.jobs.home is None) == (each.network is None)
    for column in ("home", "value"):
        assert 0 < sum(getattr(each.jobs, column) is not None for each in drawn) < 10
    assert 0 < sum(each.servers.capacity.min() == 1.0 for each in drawn) < 10


def test_judged_mixes_are_of_other_kinds():
    training, choice, judged = (JOB_FAMILIES[name] for name in ("training", "choice", "judged"))
    for part in ("shapes", "tasks", "slots", "demands", "spreads"):
        assert not {*getattr(judged, part)} & {*getattr(training, part), *getattr(choice, part)}
    assert len({training.seed, choice.seed, judged.seed}) == 3


def test_bad_names():
    with pytest.raises(InputError, match="no family 'trainin' of random workloads; did you mean"):
        random_workload("trainin", 0)
    with pytest.raises(InputError, match="numbers from 0, not -1"):
        random_workload("judged", -1)
    with pytest.raises(InputError, match="no family 'trainin' of random jobs; did you mean"):
        random_jobs("trainin", 0)
    with pytest.raises(InputError, match="numbers from 0, not -1"):
        random_jobs("judged", -1)
