"""`packenv.workload`: names, files, traces and tables, wherever a workload is asked for."""

from __future__ import annotations

import datetime
import json
import re
from pathlib import Path
from typing import Any

import gymnasium
import pyarrow as pa
import pytest

import packenv
from packenv.cli.main import main
from packenv.cli.options.workload import WorkloadOptions, workload_from

HEAD = "submit_time_s,duration_s,cpu,memory"
ROWS = ["0,10,0.5,0.25", "3,,0.5,0.5", "5,4,0.25,0.75"]


@pytest.fixture
def tasks(tmp_path: Path) -> str:
    (tmp_path / "tasks.csv").write_text("\n".join([HEAD, *ROWS]) + "\n")
    return str(tmp_path / "tasks.csv")


def table() -> dict[str, list[Any]]:
    return {"submit_time_s": [0, 3, 5], "duration_s": [10, None, 4], "cpu": [0.5, 0.5, 0.25], "memory": [0.25, 0.5, 0.75]}


def jobs_of(workload: packenv.Workload) -> tuple[list[int], list[Any], list[int]]:
    assert workload.jobs is not None
    demand = (workload.jobs.demand / packenv.UNIT).round(4).tolist()
    return workload.jobs.arrival.tolist(), demand, workload.jobs.service.tolist()


def test_a_trace(tasks: str) -> None:
    workload = packenv.workload(tasks, servers=3, slot_seconds=1)
    assert jobs_of(workload) == ([0, 5], [[0.5], [0.75]], [10, 4])
    assert (workload.name, workload.slot_seconds, len(workload.servers)) == ("tasks.csv", 1.0, 3)
    assert workload.left_out["duration missing or <= 0"] == 1 and "1 duration missing" in repr(workload)
    assert workload.with_(servers=2).left_out == workload.left_out
    whole = packenv.workload(tasks, servers="2x32:128", slot_seconds="0.5", resources="all", speedup=2)
    assert jobs_of(whole) == ([0, 5], [[0.5, 0.25], [0.25, 0.75]], [20, 8]) and whole.resources == ("cpu", "memory")
    assert workload_from(WorkloadOptions(tasks, servers="3", slot_seconds="1"))[0].jobs is not None


def test_tables(tasks: str) -> None:
    """Columns, Arrow, and what libraries of frames hand over."""
    expected = jobs_of(packenv.workload(tasks, servers=3, slot_seconds=1, resources=["cpu", "memory"]))
    arrow = pa.table(table())
    for source in (table(), arrow, arrow.set_column(0, "submit_time_s", pa.array(["0", "3", "5"], pa.string_view()))):
        assert jobs_of(packenv.workload(source, servers=3, slot_seconds=1, resources="all")) == expected
    slots = packenv.workload({"arrival": [0, 2], "size": [0.5, 1], "service": [3, 4]}, servers=1, name="mine")
    assert (slots.name, slots.slot_seconds) == ("mine", None)


def test_frames(tasks: str) -> None:
    expected = jobs_of(packenv.workload(tasks, servers=3, slot_seconds=1, resources="all"))
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(table(), index=[7, 8, 9])
    assert jobs_of(packenv.workload(frame, servers=3, slot_seconds=1, resources="all")) == expected
    polars = pytest.importorskip("polars")
    assert jobs_of(packenv.workload(polars.DataFrame(table()), servers=3, slot_seconds=1, resources="all")) == expected
    assert isinstance(packenv.workload(frame, servers=3).to_frame("polars"), polars.DataFrame)


def test_names_of_columns(tmp_path: Path) -> None:
    file = tmp_path / "own.csv"
    file.write_text("Submitted,Elapsed,Cores,user\n2026-03-01 12:00:00,10,0.5,ann\n2026-03-01 12:00:05,4,0.75,bob\n")
    columns = {"submit_time_s": "Submitted", "duration_s": "Elapsed", "cpu": "Cores"}
    assert jobs_of(packenv.workload(file, servers=3, slot_seconds=1, columns=columns)) == ([0, 5], [[0.5], [0.75]], [10, 4])
    text = ",".join(f"{ours}={theirs}" for ours, theirs in columns.items())
    options = WorkloadOptions(str(file), servers="3", slot_seconds="1", columns=text)
    assert jobs_of(workload_from(options)[0]) == ([0, 5], [[0.5], [0.75]], [10, 4])
    with pytest.raises(packenv.InputError, match=r"own.csv: there is no column 'Core'; did you mean Cores\?"):
        packenv.workload(file, servers=3, columns=columns | {"cpu": "Core"})
    file.write_text(file.read_text().replace(",4,", ",four,"))
    with pytest.raises(packenv.InputError, match=r"own.csv: row 2, column Elapsed: 'four' is not a number"):
        packenv.workload(file, servers=3, columns=columns)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("2026-03-01", "2026-03-02"),
        ("2026-03-01T12:00:00.5", "2026-03-02T12:00:00.5"),
        ("2026-03-01T23:30:00+01:00", "2026-03-02T22:30:00Z"),
        (datetime.datetime(1960, 1, 1), datetime.datetime(1960, 1, 2)),
        (datetime.date(2026, 3, 1), datetime.date(2026, 3, 2)),
    ],
)
def test_dates(first: Any, second: Any) -> None:
    table = {"submit_time_s": [second, first], "duration_s": [datetime.timedelta(minutes=1)] * 2, "cpu": [1, 0.5]}
    assert jobs_of(packenv.workload(table, servers=1, slot_seconds=60)) == ([0, 24 * 60], [[0.5], [1]], [1, 1])


def test_a_date_that_is_none() -> None:
    bad = {"submit_time_s": ["2026-03-01", "soon"], "duration_s": [1, 1], "cpu": [1, 1]}
    with pytest.raises(packenv.InputError, match="table: row 2, column submit_time_s: 'soon' is not a date such as 2026-01-31"):
        packenv.workload(bad, servers=1)


def test_where_a_workload_is_asked_for(tasks: str, tmp_path: Path) -> None:
    direct = packenv.simulate(packenv.workload(tasks, servers=3, slot_seconds=1), "bf-js")
    assert packenv.simulate(tasks, "bf-js", servers=3, slot_seconds=1).mean_queue == direct.mean_queue
    assert packenv.simulate(table(), "bf-js", servers=3).workload == "table"
    assert packenv.simulate("paper/fig4b", "bf-js", 200, intensity=0.5).load is None
    env = gymnasium.make("packenv/Placement-v1", workload=tasks, servers=3, slot_seconds="1", resources="all")
    assert env.unwrapped.core.workload.jobs is not None and env.unwrapped.core.workload.D == 2  # type: ignore[attr-defined]
    read = {"time_unit": "min", "estimates": "exact", "speedup": "2"}
    env = gymnasium.make("packenv/ServerFill-v1", workload=tasks, servers=3, **read)
    jobs = packenv.workload(tasks, servers=3, **read).jobs  # type: ignore[arg-type]
    played = env.unwrapped.core.workload.jobs  # type: ignore[attr-defined]
    assert jobs is not None and played.estimate is not None
    assert (played.arrival.tolist(), played.service.tolist()) == (jobs.arrival.tolist(), jobs.service.tolist())
    out = tmp_path / "own-v0"
    words = ("--servers", "3", "--slot-seconds", "1", "--episodes", "1", "--time-unit", "min", "--estimates", "exact")
    main(["record", tasks, *words, "--out", str(out)])
    about = json.loads((out / "data" / "metadata.json").read_text())
    made = json.loads(about["env_spec"])["kwargs"]
    assert about["dataset_id"] == "own-v0" and (made["time_unit"], made["estimates"]) == ("min", "exact")


def test_what_cannot_be(tasks: str, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, problem in (
        ({}, "a trace needs `servers`, for example `servers` 1"),
        ({"servers": 3, "intensity": 0.5}, "`intensity` does not go with a trace, which has its own"),
        (
            {"servers": "2x1:1", "resources": "max"},
            "`servers` 2x1:1: tasks have one size; use `resources` cpu,memory for several capacities",
        ),
        ({"servers": "2x1", "resources": "all"}, "one capacity, but tasks need cpu and memory: give a capacity for each"),
        ({"servers": 3, "sizes": "x", "load": 0.5}, "`sizes` and `load` do not go with a trace, which has its own"),
        ({"servers": 2, "resources": "gpu"}, "column gpu is missing"),
    ):
        with pytest.raises(packenv.InputError, match=re.escape(problem)):
            packenv.workload(tasks, **arguments)  # type: ignore[arg-type]
    with pytest.raises(packenv.InputError, match="a name, a file, a table or a Workload, not int"):
        packenv.workload(3)
    with pytest.raises(packenv.InputError, match="`columns` goes with your own table"):
        packenv.workload("paper/fig4b", columns={"cpu": "Cores"})
    with pytest.raises(SystemExit):
        main(["evaluate", tasks])
    assert capsys.readouterr().err == f"packenv: a trace needs --servers. This works:\npackenv evaluate {tasks} --servers 1\n"


def test_cores_and_gib_run_with_the_command_that_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever was not said of servers, one refusal names servers that all tasks fit, and that have room for the work."""
    rows = [f"{5 * n},{300 if n % 4 else 20},{1 + n % 8},{4 * (1 + n % 16)},{n % 3}" for n in range(200)]
    (tmp_path / "jobs.csv").write_text("\n".join(["submit_time_s,duration_s,cores,gib,gpu", *rows]) + "\n")
    jobs = str(tmp_path / "jobs.csv")
    hints = []
    for words in ([], ["--servers", "3"], ["--servers", "3x24"]):
        with pytest.raises(SystemExit):
            main(["evaluate", jobs, *words])
        hints.append(capsys.readouterr().err.rpartition("--servers ")[2].split()[0])
    assert hints == ["8x48:384:8", "3x48:384:8", "3x24:384:8"]
    for servers in hints:
        found = packenv.workload(jobs, servers=servers)
        assert (found.resources, found.left_out.get("tasks that fit no server")) == (("cores", "gib", "gpu"), None)
    assert 0.5 < packenv.workload(jobs, servers=hints[0]).intensity < 0.82
    assert packenv.workload(jobs, servers="32:128:8,1x4:8:0").servers.capacity.tolist() == [[32, 128, 8], [4, 8, 0]]
    assert packenv.workload(jobs, servers="1x99", resources="max").D == 1
    main(["trace", "convert", jobs, str(tmp_path / "slots.csv")])
    assert (tmp_path / "slots.csv").read_text().startswith('"arrival","cores","gib","gpu","service"')


def test_time_begins_with_what_is_kept(tmp_path: Path) -> None:
    """A first job that fits no server is left out: neither utilisation nor the mean queue counts from its arrival."""
    line = "{} {} 0 100 {} -1 -1 {} 200 -1 1 1 1 1 1 1 -1 -1"
    jobs = [(1, 0, 16), (2, 1000, 8), (3, 1000, 8), (4, 1000, 8)]
    rows = [line.format(job, submit, processors, processors) for job, submit, processors in jobs]
    (tmp_path / "first.swf").write_text("\n".join(["; MaxProcs: 8", *rows, ""]))
    result = packenv.simulate(packenv.workload(tmp_path / "first.swf"), "fifo-ff", drain=True)
    assert result.utilisation == (1.0,) and result.mean_queue == 1.0
    assert result.verdict.plain == {"verdict": None, "confidence": None}


def test_a_table_in_slots_has_no_seconds(tmp_path: Path) -> None:
    """Starts in 0, 30, 30 and 50. Runs below 10 slots count as 10, not as 100."""
    (tmp_path / "a.csv").write_text("arrival,size,service\n0,1,30\n0,0.5,5\n0,0.5,20\n2,1,7\n")
    workload = packenv.workload(str(tmp_path / "a.csv"), servers=1)
    assert workload.slot_seconds is None and packenv.workload(workload).slot_seconds is None
    run = packenv.simulate(workload, "fifo-ff", drain=True, schedule=True)
    assert run.schedule is not None and run.schedule.start.tolist() == [0, 30, 30, 50]
    slowdown = (1 + 35 / 10 + 50 / 20 + 55 / 10) / 4
    assert run.response is not None and run.response.mean_slowdown == pytest.approx(slowdown)
    with pytest.raises(packenv.InputError, match="slowdown_bound must be a number of seconds above 0, not '5s'"):
        packenv.evaluate(workload, ["fifo-ff"], slowdown_bound="5s")
