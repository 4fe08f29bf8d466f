"""Alibaba's batch tasks of 2018, worked by hand; and the real sample of DAG jobs, where PACKENV_TRACES says it is."""

from __future__ import annotations

import csv
import gzip
import os
from pathlib import Path

import numpy as np
import pytest

from packenv.errors import InputError
from packenv.units import UNIT
from packenv.workloads.traces import Trace, read_trace
from tests.workloads.traces.samples import CASES, text

HEADER = "task_name,instance_num,job_name,task_type,status,start_time,end_time,plan_cpu,plan_mem"
TASKS = [
    "R3_1_2,2,j_7,1,Terminated,130,150,100.0,0.5",  # after M1 and M2_1, which stand below
    "M1,5,j_7,1,Terminated,100,110,50.0,0.25",
    "M2_1_Stg3,1,j_7,1,Terminated,110,130,200.0,1",
    "task_Nzg3==,1,j_7,1,Terminated,125,135,100.0,0.5",  # independent: arrives when it starts
    "M1,1,j_8,1,Failed,105,125,100.0,0.5",
    "J4_1_9,1,j_8,1,Terminated,125,135,100.0,0.5",  # task 9 is not there, and task 1 failed
    "M1_2,1,j_9,1,Terminated,200,210,100.0,0.5",  # these two wait for each other
    "M2_1,1,j_9,1,Terminated,210,220,100.0,0.5",
    "M3_3,1,j_9,1,Terminated,220,230,100.0,0.5",  # and this one for itself
    "M4_3,1,j_9,1,Terminated,230,240,100.0,0.5",  # and this one for that
    "M1,1,j_10,1,Running,300,0,100.0,0.5",
    "M1,1,j_11,1,Terminated,0,310,100.0,0.5",  # began before the trace
    "M1,1,j_12,1,Terminated,310,320,,",  # no demand
]
SAMPLE = ["0,j_5,R2_1,20,50.0,0.25,9", "0,j_5,M1,10,100.0,0.5,1", "7,j_6,task_ODk=,5,9600.0,,1", "7,j_6,M1,,50.0,0.25,1"]


@pytest.mark.parametrize("header", [True, False])
def test_tasks(tmp_path: Path, header: bool) -> None:
    trace = read_trace(text(tmp_path / "batch_task.csv", *[HEADER] * header, *TASKS))
    assert isinstance(trace, Trace)
    assert len(trace.jobs().jobs) == 10 and trace.jobs().dropped["not finished"] == 1  # what failed has run
    jobs, dropped, t0 = trace.only_finished().jobs(slot_seconds=10, sizes="all")
    assert t0 == 100_000_000
    assert trace.rows is not None and [int(trace.rows[row]) for row in np.flatnonzero(trace.only_finished().kept()[0])] == [
        2,
        3,
        1,
        6,
        4,
        7,
        8,
        9,
        10,
    ]
    assert jobs.arrival.tolist() == [0, 0, 0, 0, 2, 10, 10, 10, 10]
    assert jobs.service.tolist() == [1, 2, 2, 1, 1, 1, 1, 1, 1]
    assert jobs.demand[:2].tolist() == [[UNIT // 192, UNIT // 400], [UNIT // 48, UNIT // 100]]
    assert jobs.predecessors is not None
    assert [jobs.predecessors.row(row).tolist() for row in range(9)] == [[], [0], [0, 1], [], [], [], [], [], []]
    assert {reason: count for reason, count in dropped.items() if count} == {
        "further instances of a task": 5,
        "links to a task that is not in its job": 1,
        "links of tasks that wait for each other in a circle": 4,
        "links to a dropped task (passed on to its predecessors)": 1,
        "not finished": 2,
        "duration missing or <= 0": 1,
        "all demands missing or 0": 1,
    }


def test_time_in_which_a_task_waits_for_its_parents_is_no_service(tmp_path: Path) -> None:
    trace = read_trace(CASES / "dag-registered-early.csv")
    assert isinstance(trace, Trace)
    jobs, dropped, t0 = trace.jobs(slot_seconds=1)
    assert t0 == 87_076_000_000 and jobs.service.tolist() == [7, 3] and not any(dropped.values())
    assert "count from the end of these: 1" in trace.about
    # registered after a parent's end; two parents; one that ends after its child, which did not wait for it; an unknown end
    rows = ["M1,1,j_1,1,Terminated,100,110,50,0.2", "M2,1,j_1,1,Terminated,100,130,50,0.2"]
    rows += ["R3_1_2,1,j_1,1,Terminated,100,150,50,0.2", "R4_1,1,j_1,1,Terminated,120,125,50,0.2"]
    rows += ["R5_2,1,j_1,1,Terminated,105,115,50,0.2", "M6,1,j_1,1,Running,100,0,50,0.2"]
    rows += ["R7_6,1,j_1,1,Terminated,101,109,50,0.2"]
    trace = read_trace(text(tmp_path / "batch_task.csv", *rows))
    assert isinstance(trace, Trace) and trace.rows is not None
    lasts = dict(zip(trace.rows.tolist(), (trace.duration // 1_000_000).tolist(), strict=True))
    assert [lasts[row] for row in range(1, 8)] == [10, 30, 20, 5, 10, -1, 8]


def test_the_sample(tmp_path: Path) -> None:
    trace = read_trace(text(tmp_path / "sample_tasks.csv", *SAMPLE))
    jobs, dropped, _ = trace.jobs(slot_seconds=1, sizes="all")
    assert jobs.arrival.tolist() == [0, 0, 7] and jobs.service.tolist() == [10, 10, 5]  # from the first's end
    assert jobs.predecessors is not None and jobs.predecessors.row(1).tolist() == [0]
    assert jobs.demand[2].tolist() == [UNIT, 0]
    assert {reason: count for reason, count in dropped.items() if count} == {
        "further instances of a task": 8,
        "duration missing or <= 0": 1,
    }


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("M1,1,j_12,1,Terminated,310,soon,100,1", "row 14, column end_time: 'soon' is not a number"),
        ("M1,1,j_12,1,Terminated,-5,320,100,1", "row 14, column start_time: -5.0 is negative"),
        ("M1,-1,j_12,1,Terminated,310,320,100,1", "row 14, column instance_num: -1.0 is negative"),
        ("M1,1,,1,Terminated,310,320,100,1", "row 14, column job_name: is empty"),
        ("M1,1,j_12,1,Terminated,310,320,-3,1", "row 14, column plan_cpu: -3.0 is negative"),
        ("M1,1,j_12,1,Terminated", "row 14: 5 values for 9 columns: a line may be cut short, or a cell may hold a line break"),
    ],
)
def test_a_bad_task_is_named(tmp_path: Path, line: str, problem: str) -> None:
    file = text(tmp_path / "batch_task.csv", *TASKS, line)
    with pytest.raises(InputError) as error:
        read_trace(file)
    assert str(error.value) == f"{file}: {problem}"


@pytest.mark.skipif("PACKENV_TRACES" not in os.environ, reason="PACKENV_TRACES is not set: the real traces are not here")
def test_the_real_sample() -> None:
    """Every predecessor is that of the name, found anew with the names as text; durations count from the registration of jobs."""
    file = Path(os.environ["PACKENV_TRACES"]) / "dag" / "alibaba2018_sample_tasks.csv.gz"
    trace = read_trace(file)
    assert isinstance(trace, Trace) and trace.predecessors is not None and trace.rows is not None
    with gzip.open(file, "rt") as lines:
        rows = [*csv.reader(lines)]
    numbered: dict[tuple[str, str], list[int]] = {}
    for n, (_, job, name, *_) in enumerate(rows):
        if not name.startswith("task_"):
            numbered.setdefault((job, name.split("_")[0].lstrip("MRJ")), []).append(n)
    later = []
    for place in range(len(trace)):
        _, job, name, *_ = rows[trace.rows[place] - 1]
        wanted = [] if name.startswith("task_") else [n for part in name.split("_")[1:] for n in numbered.get((job, part), [])]
        assert [trace.rows[before] - 1 for before in trace.predecessors.row(place)] == wanted
        if len(wanted) == 1:
            later.append(float(rows[trace.rows[place] - 1][3]) >= float(rows[wanted[0]][3]))
    assert len(later) > 20_000 and sum(later) > 0.9 * len(later)  # of durations without that wait about half would be longer
    jobs, dropped, _ = trace.jobs(slot_seconds=1)
    assert len(jobs) == len(rows) - sum(dropped[reason] for reason in ("duration missing or <= 0", "all demands missing or 0"))
    assert dropped["further instances of a task"] == sum(int(row[-1]) for row in rows) - len(rows)
