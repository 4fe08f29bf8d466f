"""One meaning of predecessors: simulator, environment, the checker for other people's policies, and the model of CP-SAT."""

from __future__ import annotations

import numpy as np
import pytest

import packenv
from packenv.testing.replay import problem_of
from packenv.theory.makespan.tasks import tasks_of
from packenv.workloads.named.dag import dag
from tests.envs.test_equal_to_loop import equal_to_the_end

SMALL = dag(jobs=12, servers=1, intensity=3.0, most_tasks=8)


@pytest.mark.parametrize("policy", ["srpt", "tetris:b=0.5"])
def test_simulator_checker_and_solver_agree(policy: str) -> None:
    workload = SMALL.at(1)
    run = packenv.simulate(workload, policy, schedule=True, drain=True)
    assert run.schedule is not None and workload.jobs is not None and workload.jobs.predecessors is not None
    start, server, end, *_ = run.schedule
    tasks, lists = tasks_of(workload), workload.jobs.predecessors
    assert problem_of(workload.jobs, workload.servers.units, start, server, run.slots, end) is None
    assert tasks.fault(start, server) is None
    waits = next(row for row in range(len(start)) if len(lists.row(row)) > 1 and start[row] == end[lists.row(row)].max())
    early = start.copy()
    early[waits] -= 1  # one slot before the last of its predecessors has completed
    assert "not eligible" in (tasks.fault(early, server) or "")
    assert problem_of(workload.jobs, workload.servers.units, early, server, run.slots, early + (end - start)) is not None


@pytest.mark.slow  # compiles an environment
def test_an_environment_holds_tasks_back() -> None:
    equal_to_the_end("srpt", SMALL, 1)


def test_nothing_starts_before_its_predecessors() -> None:
    workload = SMALL.at(2)
    run = packenv.simulate(workload, "critical-path", schedule=True, drain=True)
    assert run.schedule is not None and workload.jobs is not None and workload.jobs.predecessors is not None
    start, _, end, *_ = run.schedule
    lists = workload.jobs.predecessors
    row = np.repeat(np.arange(len(start)), np.diff(lists.offsets))
    assert len(row) > 50 and (start[row] >= end[lists.values]).all()
