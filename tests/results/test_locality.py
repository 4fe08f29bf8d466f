"""How near to their data tasks ran, and what they waited for: worked by hand."""

from __future__ import annotations

import numpy as np

import packenv
from packenv import Jobs, Network, Ragged, Workload, policies
from packenv.results.locality import data_locality
from packenv.results.schedule_table import Schedule
from packenv.workloads.network import ANY, NODE, RACK


def made(home: list[list[int]], servers: int, network: Network | None = None, size: float = 1.0) -> Workload:
    n = len(home)
    jobs = Jobs.of(
        np.zeros(n), np.full(n, size), np.full(n, 4), job=np.zeros(n, int), home=Ragged.of(home), remote_overhead=np.full(n, 6)
    )
    return Workload(jobs=jobs, servers=servers, network=network)


def test_levels_and_times() -> None:
    """Rows 0 to 3 start in slots 0, 0, 2, 9 on servers 0, 1, 2, 0; server 3 is never used."""
    workload = made([[0, 3], [0], [0], []], 4, Network(racks=2, same_rack=0.5))
    schedule = Schedule(np.array([0, 0, 2, 9]), np.array([0, 1, 2, 0], np.int32), np.array([4, 7, 12, 13]))
    found = data_locality(workload, schedule)
    assert found is not None
    assert found.row.tolist() == [0, 1, 2]  # the last one has no data
    assert found.level.tolist() == [NODE, RACK, ANY]
    assert found.tasks.tolist() == [4, 4, 4]
    assert found.completion.tolist() == [4, 7, 12]
    assert found.overhead.tolist() == [0, 3, 6]
    assert found.scheduling_delay.tolist() == [0, 0, 2]
    assert found.by_size(NODE) == {"1": None, "2-10": 1 / 3, "11-100": None, ">100": None}


def test_waiting_beside_room() -> None:
    """One server of two places: full in slots 0 to 3, half full until 6 though row 2 waits, which starts in slot 6."""
    workload = made([[0], [0], [0]], 1, size=0.5)
    schedule = Schedule(np.array([0, 0, 6]), np.zeros(3, np.int32), np.array([4, 9, 10]))
    found = data_locality(workload, schedule)
    assert found is not None
    assert found.scheduling_delay.tolist() == [0, 0, 2]


def test_what_never_started_counts_for_nothing() -> None:
    workload = made([[0], [0]], 1)
    found = data_locality(workload, Schedule(np.array([0, -1]), np.array([0, -1], np.int32), np.array([4, -1])))
    assert found is not None
    assert found.row.tolist() == [0]


def test_of_a_run() -> None:
    """The second task waits for more than 3 slots beside server 1, then takes 4 + 6 there."""
    workload = made([[0], [0]], 2)
    result = packenv.simulate(workload.with_(jobs=slow(workload.jobs)), policies.Delay())
    assert result.data is not None
    assert result.data.level.tolist() == [NODE, ANY]
    assert result.data.scheduling_delay.tolist() == [0, 4]
    assert result.data.completion.tolist() == [40, 4 + 40 + 6]
    fair = packenv.simulate(workload.with_(jobs=slow(workload.jobs)), policies.Fair())
    assert fair.data is not None
    assert fair.data.scheduling_delay.tolist() == [0, 0]
    assert packenv.simulate(packenv.workload("analytics"), policies.Fair(), 10).data is None


def slow(jobs: Jobs | None) -> Jobs:
    assert jobs is not None
    return Jobs(jobs.arrival, jobs.demand, jobs.service * 10, job=jobs.job, home=jobs.home, remote_overhead=jobs.remote_overhead)
