"""The bound on completion times: by hand, against brute force and CP-SAT, and below every policy."""

from __future__ import annotations

import itertools
import json
import random
from pathlib import Path

import numpy as np
import pytest

import packenv
from packenv import InputError, Jobs, Workload
from packenv.cli.main import main
from packenv.jobs import Ragged
from packenv.theory.completion.bound import completion_bound, srpt
from packenv.theory.makespan.cp_sat import least_completion
from packenv.workloads.named.dag import dag
from tests.reference.instances import random_instance, to_jobs
from tests.theory.completion.brute_force import least_sum


def test_srpt_by_hand() -> None:
    """Speed 1: job 0 has 4 from slot 0, job 1 has 1 from slot 1: ends 5 and 2. Job 2, of nothing, ends when it comes."""
    assert srpt(np.array([0, 1, 3]), [4, 1, 0], 1).total == 5 + 2 + 3
    assert srpt(np.array([0, 1]), [9, 2], 2).total == 2 * 0 + 11 + 4  # in half slots: 0-2, 2-4 job 1, 4-11
    behind = srpt(np.array([0, 1]), [4, 1], 1).behind
    assert behind.tolist() == [1.0, 2.0]  # job 0 is alone while it is served, job 1 has job 0 beside it


def test_srpt_is_the_least_of_all_preemptive_schedules() -> None:
    """Every order of priority between events, in unit steps: nothing is below SRPT."""
    rng = random.Random(0)
    for _ in range(20):
        n = rng.randint(1, 3)
        release = [rng.randint(0, 3) for _ in range(n)]
        work = [rng.randint(1, 3) for _ in range(n)]
        horizon = max(release) + sum(work)
        best = min(filter(None, (total_of(list(served), release, work) for served in served_in(n, horizon))))
        assert srpt(np.array(release), work, 1).total == best


def served_in(n: int, horizon: int) -> itertools.product[tuple[int, ...]]:
    return itertools.product(range(n), repeat=min(horizon, 9))


def total_of(served: list[int], release: list[int], work: list[int]) -> int | None:
    left, ends = list(work), {}
    for slot, job in enumerate(served):
        if slot >= release[job] and left[job] > 0:
            left[job] -= 1
            if left[job] == 0:
                ends[job] = slot + 1
    return sum(ends.values()) if len(ends) == len(work) else None


def test_by_hand() -> None:
    """One server. Job 0: two tasks of half of it for 4 slots, one after the other; job 1: all of it for 1 slot.

    Paths: 8 + 1. Pooled: works of 4 and 1 slots of the server: ends 1 and 5. Combined, q = (4, 0): of job 0 the first task,
    2 slots of the server, must end 4 slots before the job does: ends 1 and 3, and 4: 8; q = (8, 0): 1 + 8.
    """
    jobs = Jobs.of([0, 0, 0], [0.5, 0.5, 1.0], [4, 4, 1], job=np.array([0, 0, 1]), predecessors=Ragged.of([[], [0], []]))
    found = completion_bound(Workload(jobs=jobs, servers=1))
    assert (found.pooled, found.paths) == (6, 9)
    assert found.total == 9 and found.mean == 4.5
    assert least_sum(Workload(jobs=jobs, servers=1)) == 10


def test_the_combination_is_more_than_either() -> None:
    """A long thin job, and five that need the whole server for two slots: 20 + (2 + 4 + 6 + 8 + 10), but for what it takes."""
    jobs = Jobs.of([0] * 6, [0.01, *[0.9] * 5], [20, *[2] * 5], job=np.arange(6))
    found = completion_bound(Workload(jobs=jobs, servers=1))
    assert found.total == 20 + 27 and max(found.pooled, found.paths) < found.total  # 0.9 · 30
    assert least_sum(Workload(jobs=jobs.first(4), servers=1)) == 20 + 12


@pytest.mark.parametrize("seed", range(25))
def test_below_brute_force(seed: int) -> None:
    rng = random.Random(seed)
    instance = random_instance(rng, resources=rng.randint(1, 2), tasks=rng.randint(2, 4), jobs=seed % 2 == 0, predecessors=True)
    jobs = to_jobs(instance)
    if jobs.remote_overhead is not None or jobs.service.max() > 12 or jobs.arrival[-1] > 20:
        jobs = Jobs(
            np.minimum(jobs.arrival, 5),
            jobs.demand,
            np.minimum(jobs.service, 6),
            job=jobs.job,
            phase=jobs.phase,
            predecessors=jobs.predecessors,
        )
    workload = Workload(jobs=jobs, servers=np.array(instance.capacities) / packenv.UNIT)
    found, least = completion_bound(workload), least_sum(workload)
    assert max(found.pooled, found.paths) <= found.total <= least
    solved = least_completion(workload, 20.0, workers=1)
    assert solved.proven and solved.total == least


@pytest.mark.parametrize("policy", ["critical-path", "srpt", "weighted-fair", "tetris"])
def test_below_every_policy(policy: str) -> None:
    for workload in (dag(jobs=30, servers=2), packenv.workload("price/fig8")):
        table = workload.at(3)
        result = packenv.simulate(table, policy, drain=True)
        assert result.jobs is not None and result.jobs.mean >= completion_bound(table).mean > 0


def test_predecessors_of_other_jobs() -> None:
    """Job 1 waits for job 0, so that it ends in slot 5; job 0 ends in slot 2 whatever waits for it."""
    jobs = Jobs.of([0, 0], [0.5, 0.5], [2, 3], job=np.array([0, 1]), predecessors=Ragged.of([[], [0]]))
    workload = Workload(jobs=jobs, servers=1)
    assert completion_bound(workload).total == 7 == least_sum(workload)


def test_bad_input() -> None:
    with pytest.raises(InputError, match="has no Jobs table: a bound on completion times needs all jobs"):
        completion_bound(packenv.workload("paper/fig4b"))


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "found.json"
    main(["optimum", "price/fig1", "--objective", "completion", "-p", "fifo", "--limit", "20", "--json", str(path)])
    said = capsys.readouterr().out
    assert "no mean completion time is below" in said and "as if no job waited" not in said
    found = json.loads(path.read_text())
    assert found["proven"] and found["bound"] == found["best"] <= found["policies"][0]["mean_completion"]
    with pytest.raises(SystemExit):
        main(["optimum", "price/fig1", "--objective", "completion", "--gap", "0.1"])
    assert "takes none of" in capsys.readouterr().err
    table = tmp_path / "apart.csv"
    table.write_text("arrival,size,service\n0,1,4\n9,1,4\n")
    main(["optimum", str(table), "--servers", "1", "--objective", "completion", "-p", "fifo", "--limit", "1"])
    assert "is below 4.00 slots, as if no job waited: more is not known" in " ".join(capsys.readouterr().out.split())
