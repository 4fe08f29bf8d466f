"""A load is a share of the lower end of the bracket on ρ*: in the library, on the command line, and in the records."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import packenv
from packenv import InputError, Jobs, Workload
from packenv.cli.main import main
from packenv.theory.capacity.max_workload import LOAD_GAP, resolved, supportable
from packenv.workloads.laws import Discrete, Fixed, Geometric, Uniform
from packenv.workloads.laws.joint import Conditional, Joint


def test_rate() -> None:
    workload = resolved(Workload(sizes=Discrete([0.4, 0.6]), service=Geometric(100), servers=1, load=0.7))
    assert workload.rate == pytest.approx(0.7 * 2 / 100)
    assert workload.rho == pytest.approx((2, 2))
    assert workload.intensity == pytest.approx(0.7) and workload.load == 0.7


def test_service_that_depends_on_the_demand() -> None:
    service = Conditional([Fixed(100), Fixed(300)])
    workload = resolved(Workload(sizes=Joint([[0.4], [0.6]]), service=service, servers=1, load=0.5))
    assert workload.rate == pytest.approx(0.5 * (4 / 3) / 200)


def test_other_rates_stay() -> None:
    for workload in (packenv.workload("paper/fig3a"), packenv.workload("paper/fig4a")):
        assert resolved(workload) is workload


def test_found_once_for_a_law_and_servers() -> None:
    made = [Workload(sizes=Uniform(0.2, 0.6), service=Geometric(k), servers=2, load=k / 10) for k in (2, 7)]
    assert supportable(made[0]) is supportable(made[1])
    assert supportable(made[0].with_(servers=3)) is not supportable(made[0])
    assert supportable(made[0]).gap <= LOAD_GAP
    assert resolved(made[1]).rho == (supportable(made[0]).lower, supportable(made[0]).upper)


def test_unresolved() -> None:
    workload = Workload(sizes=Uniform(0.2, 0.6), service=Geometric(2), servers=2, load=0.5)
    with pytest.raises(InputError, match=r"load is a share of rho\*"):
        workload.rate  # noqa: B018
    with pytest.raises(InputError):
        Workload(jobs=Jobs.of([0], [0.5], [1]), servers=1, load=0.5)


def test_simulated() -> None:
    workload = Workload(sizes=Discrete([0.4, 0.6]), service=Geometric(20), servers=1, load=0.6)
    result = packenv.simulate(workload, "fifo-ff", slots=20_000)
    expected = packenv.simulate(workload.with_(rate=0.6 * 2 / 20), "fifo-ff", slots=20_000)
    assert (result.arrived, result.mean_queue) == (expected.arrived, expected.mean_queue)


def test_evaluated(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out.json"
    options = ["--load", "0.6", "-p", "fifo-ff", "--slots", "20000", "--processes", "1"]
    main(["evaluate", "paper/fig3a", *options, "--json", str(out)])
    record = json.loads(out.read_text())[0]
    assert record["load"] == 0.6 and record["rho"] == pytest.approx([2, 2])
    assert "load 0.6 of ρ* >= 2" in capsys.readouterr().out
