"""Price, priority, capacity and FIFO by job through `packenv.simulate`: bad input, streams, and runs that last."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import packenv
from packenv import InputError, Jobs, Workload, policies
from packenv.policies.price.price import discounted
from packenv.results.occupancy import most_allocated
from packenv.workloads.laws import Geometric, Uniform

STREAM = Workload(sizes=(Uniform(0.1, 0.6), Uniform(0.1, 0.6)), service=Geometric(9), servers="2x1:1", intensity=0.7)


def without_values() -> Workload:
    table = packenv.workload("price/fig5").jobs
    assert table is not None
    return Workload(jobs=Jobs(table.arrival, table.demand, table.service, job=table.job, phase=table.phase), servers="2x50:50")


def test_priority_needs_values() -> None:
    with pytest.raises(InputError, match=r"policy priority: custom has no column value; .* `columns` value=NAME"):
        packenv.simulate(without_values(), "priority")


def test_the_value_is_that_of_the_job() -> None:
    """Priority, price, efficiency and every other reader of values see the same one, so a job cannot have two."""
    values = np.array([3.0, 1.0, 1.0, 2.0])
    with pytest.raises(InputError, match=r"^row 2: value 1 of job 7 is 3 in row 0$"):
        Jobs.of([0] * 4, [1.0] * 4, [1] * 4, job=np.array([7, 1, 7, 4]), value=values)
    assert Jobs.of([0] * 4, [1.0] * 4, [1] * 4, job=np.array([7, 1, 8, 4]), value=values).value is values
    assert Jobs.of([0] * 4, [1.0] * 4, [1] * 4, value=values).value is values  # every row is a job


def test_price_takes_one_for_every_job_without_values() -> None:
    with_ones = packenv.workload("price/fig3").at(0)
    assert with_ones.jobs is not None and set(with_ones.jobs.value) == {1.0}
    jobs = with_ones.jobs
    bare = with_ones.with_(jobs=Jobs(jobs.arrival, jobs.demand, jobs.service, job=jobs.job, phase=jobs.phase))
    starts = [packenv.simulate(workload, "price", schedule=True).schedule.start.tolist() for workload in (with_ones, bare)]
    assert starts[0] == starts[1]


@pytest.mark.parametrize("bad", [{"c": 0.0}, {"c": -1.0}, {"gamma": -1.0}, {"welfare": -0.1}, {"c": float("nan")}])
def test_parameters_of_price(bad: dict[str, float]) -> None:
    with pytest.raises(InputError, match="price: needs welfare >= 0, c > 0 and gamma > -1"):
        packenv.simulate(packenv.workload("price/fig2"), policies.Price(**bad))


def test_a_stream_becomes_a_table() -> None:
    result = packenv.simulate(STREAM, "price", slots=2000, warmup=0)
    assert result.started > 300
    with pytest.raises(InputError, match="a policy that knows all jobs needs a table"):
        _ = packenv.Setting(STREAM.servers.units, STREAM, 4, 1).table


@pytest.mark.parametrize("gamma", [0.0, 0.5, -0.3, 1e-3])
def test_price_of_a_duration(gamma: float) -> None:
    durations = np.array([1, 2, 7, 40])
    sums = [sum((1 + gamma) ** -i for i in range(duration)) for duration in durations]
    assert discounted(durations, gamma) == pytest.approx(sums, rel=1e-9)


@pytest.mark.parametrize("policy", ["price", "price:welfare=1,blocking", "priority", "capacity:blocking", "fifo"])
@pytest.mark.parametrize("name", ["price/fig3", "price/fig8", "price/abundant"])
def test_no_machine_is_ever_above_its_capacity(policy: str, name: str) -> None:
    for seed in range(3):
        workload = packenv.workload(name).at(seed)
        assert workload.jobs is not None
        result = packenv.simulate(workload, policy, schedule=True)
        assert result.schedule is not None and result.completed == len(workload.jobs)
        assert most_allocated(workload.jobs, result.schedule, workload.servers.units).max() <= 1


def test_a_small_instance_never_binds() -> None:
    """Figure 2: every scheduler that leaves nothing waiting takes as long as the longest job."""
    for seed in range(5):
        jobs = packenv.workload("price/fig2").at(seed).jobs
        longest = np.bincount(jobs.job, jobs.service).max()
        for policy in ("price", "priority", "capacity", "fifo"):
            assert makespan("price/fig2", policy, seed) == longest


def test_price_is_best_in_the_mean() -> None:
    """Figures 8-10, three seeds (PAPERS §3: 136, 144, 160, 174)."""
    means = [
        np.mean([makespan("price/fig8", policy, seed) for seed in range(3)])
        for policy in ("price", "priority", "capacity", "fifo")
    ]
    assert means == sorted(means)
    assert means == pytest.approx([136, 144, 160, 174], rel=0.06)


def makespan(name: str, policy: str, seed: int) -> Any:
    result = packenv.simulate(packenv.workload(name), policy, seed=seed)
    assert result.jobs is not None
    return result.jobs.makespan
