"""Schedules joined to the file that the tasks come from: by row, by what the file calls them, and by its clock."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import packenv
from packenv.executors.local import ThisProcess
from packenv.executors.shared import Sharing
from packenv.policy import find_policy
from packenv.results.schedule_table import write_schedule
from packenv.workloads.laws import Geometric
from packenv.workloads.laws.arrivals import Batch
from tests.workloads.traces.samples import text

HEADER = "id,submit_time_s,duration_s,cpu,memory"
LOG = ["J4,107,20,8,1", "J9,100,,8,1", "J2,103,50,4,2", "J3,103,60,64,1", "J7,160,5,1,8", "J5,110,30,8,8"]
"""Shuffled; J9 has no duration, and nothing holds J3."""
ROWS = {"J2": 3, "J4": 1, "J5": 6, "J7": 5}  # in order of submission
SECONDS = {"J2": 50, "J4": 20, "J5": 30, "J7": 5}
SUBMITTED = {"J2": 103, "J4": 107, "J5": 110, "J7": 160}
DAY = "2026-03-01 0{}:00:00"


def schedule(source: Any, policy: str = "fifo-ff", **options: Any) -> dict[str, list[Any]]:
    """The columns of a schedule to the end."""
    columns: dict[str, list[Any]] = frame(packenv.workload(source, **options), policy).to_pydict()
    return columns


def frame(workload: packenv.Workload, policy: str = "fifo-ff") -> Any:
    return packenv.simulate(workload, policy, drain=True, schedule=True).to_frame("schedule")


def log(folder: Path) -> str:
    return str(text(folder / "log.csv", HEADER, *LOG))


def test_rows_ids_and_times_are_the_file_s(tmp_path: Path) -> None:
    got = schedule(log(tmp_path), servers="1x8:8", slot_seconds=1)
    assert dict(zip(got["id"], got["row"], strict=True)) == ROWS and got["task"] == [0, 1, 2, 3]
    assert [end - start for start, end in zip(got["start_time"], got["end_time"], strict=True)] == [*SECONDS.values()]
    assert got["start_time"] == [start + 103 for start in got["start"]] == [103, 153, 173, 203]  # one after the other
    assert all(start >= SUBMITTED[name] for name, start in zip(got["id"], got["start_time"], strict=True))


def test_what_a_file_calls_its_rows(tmp_path: Path) -> None:
    """`id` goes before other names, those of tasks before those of jobs; whole numbers are numbers, and 007 is a name."""
    rows = ["{},{},{},0,5,1"] * 2
    for header, first, second, expected in [
        ("id,task_id,job", ("a", "x", "3"), ("b", "y", "4"), ["a", "b"]),
        ("Job ID,TaskID,job", ("a", "8", "3"), ("b", "7", "4"), [8, 7]),
        ("job_id,job,user", ("a", "p", "u"), ("b", "q", "u"), ["a", "b"]),
        ("job,user,queue", ("p", "u", "w"), ("q", "u", "w"), ["p", "q"]),
        ("id,user,queue", ("007", "u", "w"), ("8", "u", "w"), ["007", "8"]),
        ("id,user,queue", ("", "u", "w"), ("8", "u", "w"), [None, 8]),
        ("user,queue,name", ("u", "w", "x"), ("u", "w", "y"), None),
    ]:
        lines = [row.format(*values) for row, values in zip(rows, (first, second), strict=True)]
        file = text(tmp_path / "a.csv", f"{header},submit_time_s,duration_s,cpu", *lines)
        got = schedule(str(file), servers="1x4", slot_seconds=1, resources="cpu")
        assert got.get("id") == expected and got["row"] == [1, 2]
    file = text(tmp_path / "b.csv", "Job ID,Name,submit_time_s,duration_s,cpu", "4,x,0,5,1", "5,y,0,5,1")
    got = schedule(str(file), servers="1x4", slot_seconds=1, resources="cpu", columns={"id": "Name"})
    assert got["id"] == ["x", "y"]


def test_a_log_in_standard_workload_format(tmp_path: Path) -> None:
    """Job numbers and seconds are those of the log, of which the second job was cancelled before its start."""
    job = "{} {} 3 {} 4 -1 -1 4 100 -1 {} 1 1 1 1 1 -1 -1"
    jobs = [job.format(71, 90, 10, 1), job.format(52, 20, -1, 5), job.format(63, 50, 7, 1), job.format(64, 50, 9, 0)]
    file = str(text(tmp_path / "a.swf", "; MaxProcs: 4", *jobs))
    got = schedule(file)
    assert (got["id"], got["row"]) == ([63, 64, 71], [3, 4, 1])
    assert (got["start_time"], got["end_time"]) == ([50, 57, 90], [57, 66, 100])
    faster = schedule(file, speedup=2)  # tasks come at times that the log does not know
    assert faster["id"] == [63, 64, 71] and "start_time" not in faster


def test_slurm_s_jobs_and_dates(tmp_path: Path) -> None:
    """Steps are rows of the file too; the first job has no duration, so that slots begin with the second."""
    job = "{}|2026-03-01T0{}:00:00|2026-03-01T0{}:30:00|{}|4|COMPLETED"
    header = "JobID|Submit|Start|Elapsed|AllocCPUS|State"
    lines = [job.format("9_1", 4, 4, "00:10:00"), job.format("9_1.batch", 4, 4, "00:10:00"), job.format(8, 2, 2, "01:00:00")]
    file = text(tmp_path / "jobs.txt", header, *lines, job.format(7, 1, 1, "00:00:00"))
    got = schedule(str(file), servers="1x4")
    assert (got["id"], got["row"]) == (["8", "9_1"], [3, 1])
    assert got["start_time"] == [datetime(2026, 3, 1, 2), datetime(2026, 3, 1, 4)]
    assert got["end_time"] == [datetime(2026, 3, 1, 3), datetime(2026, 3, 1, 4, 10)]


@pytest.mark.parametrize("zone", ["", "Z"])
def test_dates_of_a_table(tmp_path: Path, zone: str) -> None:
    times = [("a", 5, 300), ("b", 1, ""), ("c", 3, 600)]  # the earliest has no duration
    rows = [f"{name},{DAY.format(hour)}{zone},{seconds},1" for name, hour, seconds in times]
    file = text(tmp_path / "a.csv", "id,submit_time_s,duration_s,cpu", *rows)
    workload = packenv.workload(str(file), servers=1, slot_seconds=60)
    got = frame(workload).to_pydict()
    utc = UTC if zone else None
    assert got["id"] == ["c", "a"] and got["start_time"] == [datetime(2026, 3, 1, hour, tzinfo=utc) for hour in (3, 5)]
    assert got["end_time"][0] == datetime(2026, 3, 1, 3, 10, tzinfo=utc)
    write_schedule(tmp_path / "s.csv", workload, [packenv.simulate(workload, "fifo-ff", drain=True, schedule=True)])
    assert (tmp_path / "s.csv").read_text().splitlines()[
        1
    ] == f'0,0,3,"c",0,0,0,10,2026-03-01 03:00:00{zone},2026-03-01 03:10:00{zone}'
    assert find_policy(f"replay:{tmp_path / 's.csv'}").start.tolist() == [0, 120]


def test_numbers_are_in_the_unit_of_the_file(tmp_path: Path) -> None:
    file = text(tmp_path / "a.csv", "id,submit_time_s,duration_s,cpu", "a,7500,250,1", "b,9000,1000,1")
    options = {"servers": 1, "time_unit": "ms"}
    whole = schedule(str(file), slot_seconds="0.25", **options)
    assert (whole["start_time"], whole["end_time"]) == ([7500, 9000], [7750, 10000])
    seconds = schedule(str(file), servers=1, slot_seconds="0.5", columns={"submit_time_s": "submit_time_s"})
    assert seconds["start_time"] == [7500.0, 9000.0] and seconds["end_time"] == [7750.0, 10000.0]


def test_what_does_not_come_at_the_file_s_times_has_rows_alone(tmp_path: Path) -> None:
    workload = packenv.workload(log(tmp_path), servers="1x8:8", slot_seconds=1)
    assert {"row", "id", "start_time"} <= {*frame(workload.with_(servers="2x8:8")).column_names}
    for changed in (workload.with_(intensity=0.5), workload.with_(slot_seconds=2)):
        names = frame(changed).column_names
        assert "id" in names and "start_time" not in names
    assert "row" not in frame(workload.with_(jobs=workload.jobs)).column_names  # any table may be put there
    slots = text(tmp_path / "slots.csv", "id,arrival,size,service", "a,3,1,2", "b,4,1,2")
    assert "start_time" not in (got := schedule(str(slots), servers=1)) and (got["row"], got["id"]) == ([1, 2], ["a", "b"])
    drawn = packenv.simulate("paper/fig4b", "fifo-ff", slots=50, schedule=True).to_frame("schedule")
    assert drawn.column_names == ["task", "job", "arrival", "start", "server", "end"]


@pytest.mark.parametrize("arrivals", [{}, {"arrivals": Batch(Geometric(3))}])
def test_arrivals_are_those_of_the_run(arrivals: Any) -> None:
    """Of random tasks as of a table: delays add up to what the run measured, and where nothing waits they are the starts."""
    workload = packenv.workload("paper/fig4b", intensity=0.9).with_(**arrivals)
    for servers, waits in ((5, True), (400, False)):
        result = packenv.simulate(workload.with_(servers=servers, rate=0.1), "bf-js", slots=3000, warmup=0, schedule=True)
        got = result.to_frame("schedule").to_pydict()
        delays = [start - arrival for arrival, start in zip(got["arrival"], got["start"], strict=True) if start is not None]
        assert min(delays) == 0 and np.mean(delays) == result.mean_delay and any(delays) == waits
    table = schedule({"arrival": [3, 5], "size": [1.0, 1.0], "service": [4, 1]}, servers=1)
    assert (table["arrival"], table["start"]) == ([3, 5], [3, 7])


def test_other_processes_do_not_get_the_file_s_records(tmp_path: Path) -> None:
    workload = packenv.workload(log(tmp_path), servers="1x8:8", slot_seconds=1)
    sent = Sharing(ThisProcess()).share(workload).value()
    assert (
        sent == workload.with_(jobs=sent.jobs)
        and sent.provenance.file_records is None
        and workload.provenance.file_records is not None
    )


def test_workers_of_a_row_and_frames(tmp_path: Path) -> None:
    """A row of several workers is the row of each; a table that is no file has rows too."""
    table = {"id": [11, 12], "submit_time_s": [5.0, 2.0], "duration_s": [9.0, 4.0], "cpu": [1.0, 1.0], "workers": [1, 2]}
    got = schedule(table, servers="2x1", slot_seconds=1)
    assert (got["id"], got["row"], got["start_time"]) == ([12, 12, 11], [2, 2, 1], [2, 2, 6])
    assert np.diff(got["start"]).tolist() == [0, 4]
