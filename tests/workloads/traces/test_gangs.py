"""Gangs of tables and logs: which tasks start together, what is left out, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import packenv
from packenv.errors import InputError
from packenv.workloads.fitting.profile import describe
from packenv.workloads.traces import read_trace
from packenv.workloads.traces.read import write_jobs
from tests.workloads.traces.samples import SPOT_JOBS, SPOT_NODES, text
from tests.workloads.traces.test_philly import attempt, job, log


def gang_of(source: Any, **settings: Any) -> list[int] | None:
    jobs = packenv.workload(source, **{"servers": 4} | settings).jobs
    assert jobs is not None
    return None if jobs.gang is None else jobs.gang.tolist()


def test_tasks_of_a_gang_stand_side_by_side(tmp_path: Path) -> None:
    """Names, in the order in which they come; an empty cell is no gang. What is written is read as it was."""
    rows = ("7,5,0.1,", "1,5,0.2,b", "1,5,0.3,", "1,5,0.4,b", "0,5,0.5,a", "0,5,0.6,a")
    file = text(tmp_path / "a.csv", "submit_time_s,duration_s,cpu,gang", *rows)
    jobs = packenv.workload(file, servers=4).jobs
    assert jobs is not None and jobs.gang is not None
    assert jobs.gang.tolist() == [1, 1, 0, 0, -1, -1]
    assert np.round(jobs.amounts[:, 0], 3).tolist() == [0.5, 0.6, 0.2, 0.4, 0.3, 0.1]
    for again in (tmp_path / "b.csv", tmp_path / "b.parquet"):
        write_jobs(jobs, again)
        written = packenv.workload(again, servers=4).jobs
        assert written is not None and written.gang is not None
        spans, numbers = packenv.jobs.gang_spans(jobs.gang), packenv.jobs.gang_spans(written.gang)
        assert (spans == numbers).all() and (written.gang[-2:] == -1).all()


def test_a_row_of_several_workers(tmp_path: Path) -> None:
    file = text(tmp_path / "a.csv", "submit_time_s,duration_s,cpu,workers", "3,10,.5,2", "0,10,.3,1", "0,10,.5,3")
    jobs = packenv.workload(file, servers=2).jobs
    assert jobs is not None and jobs.gang is not None and jobs.job is not None
    assert jobs.gang.tolist() == jobs.job.tolist() == [1, 2, 2, 2, 0, 0]
    in_slots = text(tmp_path / "b.csv", "arrival,service,size,workers", "0,1,.5,2", "0,1,.5,1")
    assert gang_of(in_slots) == [0, 0, 1]
    assert gang_of(in_slots, gangs=False) is None
    assert describe(read_trace(in_slots))["gangs"] == "1 gang of 2 tasks (2 of 3 tasks)"


def test_jobs_that_come_together(tmp_path: Path) -> None:
    file = text(tmp_path / "a.csv", "arrival,service,size,job", "0,1,.5,x", "0,1,.5,x", "0,1,.5,y", "1,1,.5,y")
    assert gang_of(file) is None
    assert gang_of(file, gangs=True) == [0, 0, 1, 2]
    alone = text(tmp_path / "b.csv", "arrival,service,size", "0,1,.5")
    with pytest.raises(InputError, match=r"`gangs` does not go with .*b.csv: its tasks belong to no jobs"):
        gang_of(alone, gangs=True)


def test_gangs_of_logs(tmp_path: Path) -> None:
    """The workers of a job of Alibaba's, and the parts of one of Philly's on several servers."""
    jobs, nodes = text(tmp_path / "jobs.csv", *SPOT_JOBS), text(tmp_path / "nodes.csv", *SPOT_NODES)
    workload = packenv.workload(jobs, servers=str(nodes))
    assert workload.jobs is not None and workload.jobs.gang is not None and workload.jobs.job is not None
    assert (workload.jobs.gang == workload.jobs.job).all() and len(set(workload.jobs.gang.tolist())) < len(workload.jobs)
    one = job("2017-10-07 01:20:00", attempt("2017-10-07 01:20:00", "2017-10-07 01:30:00", 8, 2))
    two = job("2017-10-07 01:20:00", attempt("2017-10-07 01:20:00", "2017-10-07 01:30:00", 1))
    assert gang_of(log(tmp_path / "cluster_job_log", [one, two])) == [0, 0, 1]


def test_gangs_that_servers_cannot_hold(tmp_path: Path) -> None:
    """They are left out as a whole and counted, also where one of their tasks fits no server; most of a table is an error."""
    rows = ["0,1,.5,a", "0,1,.5,a", "0,1,1.5,b", "0,1,.5,b", *["0,1,.5,c"] * 5, *["1,1,.1,"] * 12]
    file = text(tmp_path / "a.csv", "arrival,service,size,gang", *rows)
    workload = packenv.workload(file, servers=2)
    assert workload.left_out == {"tasks that fit no server": 1, "tasks in gangs that all servers together cannot hold": 6}
    assert workload.jobs is not None and len(workload.jobs) == 14
    with pytest.raises(
        InputError, match=r"a.csv: row 1: its gang of 9 tasks has no room on all 2 servers together, even if they"
    ):
        packenv.workload(text(tmp_path / "a.csv", "arrival,service,size,workers", "0,1,.5,9"), servers=2)
    plan = packenv.plan(
        text(tmp_path / "a.csv", "arrival,service,size,workers", "0,1,.5,9"), "max wait <= 0", policies=["fifo-ff"]
    )
    assert plan.bound.servers == plan.plans["fifo-ff"].servers == 5


def test_what_if_of_gangs(tmp_path: Path) -> None:
    """Days drawn anew keep gangs whole; without the largest tasks their whole gangs are gone."""
    rows = [f"{60 * n},20,{0.9 if n % 4 == 0 else 0.4},{1 + n % 3}" for n in range(40)]
    file = text(tmp_path / "a.csv", "submit_time_s,duration_s,cpu,workers", *rows)
    plan = packenv.plan(file, "max wait <= 0s", policies=["fifo-ff"], slot_seconds=1, draws=3, max_demand=0.5)
    assert plan.draws["fifo-ff"].least == (3, 3, 3) and plan.plans["fifo-ff"].servers == 3
    assert plan.without_largest["fifo-ff"].servers == 2 and plan.without_largest["fifo-ff"].tasks == sum(
        1 + n % 3 for n in range(0, 40, 4)
    )


@pytest.mark.parametrize(
    "lines, problem",
    [
        (
            ["arrival,service,size,gang", "0,1,.5,1", "1,1,.5,1"],
            "row 2, column gang: gang 1 has tasks that come at different times; the column has the name of each task's gang",
        ),
        (["arrival,service,size,workers", "0,1,.5,0"], "row 1, column workers: 0 workers"),
        (["arrival,service,size,workers,gang", "0,1,.5,2,a"], "columns workers and gang do not go together"),
        (["arrival,service,size,gang,predecessors", "0,1,.5,,", "0,1,.5,a,0"], "row 2, column gang: a waits for other tasks"),
        (["arrival,service,size,gang,job,phase", "0,1,.5,,x,0", "0,1,.5,a,x,1"], "row 2, column gang: a waits for other tasks"),
    ],
)
def test_gangs_that_cannot_be(tmp_path: Path, lines: list[str], problem: str) -> None:
    with pytest.raises(InputError, match=f"a.csv: {problem}"):
        packenv.workload(text(tmp_path / "a.csv", *lines), servers=4)
