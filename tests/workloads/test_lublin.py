"""Lublin and Feitelson's model: what its laws say, beside what is drawn and beside a log that the authors' program wrote."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import gamma

import packenv
from packenv.errors import InputError
from packenv.workloads.named.lublin import TYPELESS, TYPES, Gamma, Lublin, busy, lublin

FOLDER = Path(os.environ.get("PACKENV_ORACLES", "")) / "rlscheduler"


def of_table(model: Lublin, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Arrivals, processors, run times."""
    jobs = model(seed)
    return jobs.arrival, np.rint(jobs.demand[:, 0] / packenv.UNIT * model.processors), jobs.service


def test_gammas_that_are_cut_off() -> None:
    """The exponential's mean, by another way: an integral over scipy's density."""
    law = Gamma(4.2, 0.94, 12.0)
    density = gamma(law.a, scale=law.b)
    expected = quad(lambda x: np.exp(x) * density.pdf(x), 0, law.most)[0] / density.cdf(law.most)
    assert law.mean_exp() == pytest.approx(expected)
    assert np.exp(law.quantile((np.arange(10_000) + 0.5) / 10_000)).mean() == pytest.approx(expected, rel=0.01)


def test_the_day() -> None:
    """A day has as many arrivals as a day of mean half-hours; the busiest half-hours are by day, the quietest before dawn."""
    for kind in TYPES:
        weight = np.diff(busy(kind))
        assert weight.sum() == pytest.approx(48)
        assert 20 <= int(weight.argmax()) <= 34 and 6 <= int(weight.argmin()) <= 16


@pytest.mark.parametrize("typed", [True, False])
def test_what_is_drawn_is_what_the_laws_say(typed: bool) -> None:
    model = Lublin(200_000, typed=typed)
    arrival, processors, run = of_table(model)
    share = [1 / kind.gap.mean_exp() for kind in model.types]
    serial = np.average([kind.serial for kind in model.types], weights=share)
    assert (processors == 1).mean() == pytest.approx(serial, abs=0.01)
    assert len(arrival) / arrival[-1] == pytest.approx(sum(share), rel=0.03)
    assert processors.max() == 128
    assert (processors * run).sum() / 128 / arrival[-1] == pytest.approx(model.offered(), rel=0.05)


def test_intensity_is_a_factor_on_arrivals() -> None:
    arrival, processors, run = of_table(Lublin(20_000))
    sooner, same, as_long = of_table(Lublin(20_000, intensity=0.9))
    assert (processors == same).all() and (run == as_long).all()
    assert np.abs(sooner - arrival * (sooner[-1] / arrival[-1])).max() <= 2  # both are rounded down


def test_a_job_depends_on_the_seed_and_its_number_alone() -> None:
    for few, many in zip(of_table(Lublin(500), 7), of_table(Lublin(2_000), 7), strict=True):
        assert (few == many[:500]).all()
    assert (of_table(Lublin(500), 8)[2] != of_table(Lublin(500), 7)[2]).any()


@pytest.mark.skipif("PACKENV_ORACLES" not in os.environ, reason="PACKENV_ORACLES is not set: the results of others are not here")
def test_beside_a_log_of_the_authors_program() -> None:
    """Lublin-1, of 256 processors: no types, and sizes and gaps of its own, run times and shares of the program's defaults."""
    log = packenv.workload(FOLDER / "lublin_1.swf", servers=1, slot_seconds=1).jobs
    assert log is not None
    processors, run = np.rint(log.demand[:, 0] / packenv.UNIT * 256), log.service
    serial, (kind,) = processors == 1, TYPELESS
    assert serial.mean() == pytest.approx(kind.serial, abs=0.01)
    _, drawn, lasts = of_table(Lublin(100_000, 256, typed=False))
    assert np.log(run[serial]).mean() == pytest.approx(np.log(lasts[drawn == 1]).mean(), abs=0.15)
    large = processors > 16
    assert np.log(run[large]).mean() == pytest.approx(np.log(lasts[drawn > 16]).mean(), abs=0.35)


def test_by_name() -> None:
    workload = packenv.workload("hpc/lublin-70")
    assert workload.processors == 128 and workload.at(3).intensity == pytest.approx(0.7, rel=1e-3)
    with pytest.raises(InputError, match="hpc/lublin: needs a job, 16 processors and an intensity above 0"):
        lublin(processors=8)
