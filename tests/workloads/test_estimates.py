"""Estimates with an error."""

import numpy as np
import pytest

import packenv
from packenv import InputError, Jobs, Workload
from packenv.workloads.estimates import misjudged

TABLE = Jobs.of(np.zeros(1000), np.full(1000, 0.5), np.arange(1, 1001))


def test_estimates_are_a_function_of_the_seed() -> None:
    workload = misjudged(Workload(jobs=TABLE, servers=1), 0.4)
    first, again, other = (workload.at(seed).jobs for seed in (3, 3, 4))
    assert first is not None and again is not None and other is not None
    assert first.estimate is not None and again.estimate is not None and other.estimate is not None
    assert (first.estimate == again.estimate).all() and (first.estimate != other.estimate).mean() > 0.99
    ratio = first.estimate / TABLE.service
    assert 0.6 <= ratio.min() < 0.62 and 1.38 < ratio.max() <= 1.4
    assert (first.service == TABLE.service).all()


def test_no_error_changes_nothing() -> None:
    workload = packenv.workload("price/fig3")
    runs = [packenv.simulate(made, "price", seed=2, schedule=True) for made in (workload, misjudged(workload, 0.0))]
    assert runs[0].schedule is not None and runs[1].schedule is not None
    assert runs[0].schedule.start.tolist() == runs[1].schedule.start.tolist()
    wrong = packenv.simulate(misjudged(workload, 0.9), "price", seed=2, schedule=True)
    assert wrong.schedule is not None and wrong.schedule.start.tolist() != runs[0].schedule.start.tolist()


def test_bad_input() -> None:
    with pytest.raises(InputError, match=r"between 0 and 1, not 1\.5"):
        misjudged(Workload(jobs=TABLE, servers=1), 1.5)
    with pytest.raises(InputError, match="is a stream"):
        misjudged(packenv.workload("paper/fig4b"), 0.5)
