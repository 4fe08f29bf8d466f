"""Google's formats: events fold to the row per task that the Parquet file has."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from packenv.errors import InputError
from packenv.units import UNIT, to_units
from packenv.workloads.traces import Trace, initial_capacities, is_trace, read_trace
from tests.workloads.traces.samples import EVENTS, MORE_EVENTS, folded_file, gz, machines_file, native_folder


@pytest.fixture
def native(tmp_path: Path) -> Trace:
    trace = read_trace(native_folder(tmp_path / "google"))
    assert isinstance(trace, Trace)
    return trace


def test_events_fold_to_tasks(native: Trace) -> None:
    assert native.job is not None
    assert native.job.tolist() == [7, 7, 8, 8, 9, 10, 11, 12, 13]
    assert native.submit.tolist() == [0, 0, 1_000_000, 1_000_000, 1_400_000, 1_700_000, 1_800_000, 1_900_000, 2_000_000]
    assert native.schedule.tolist() == [0, -1, 1_250_000, 1_250_000, 1_600_000, -1, 1_800_000, 1_900_000, 2_000_000]
    assert native.end.tolist() == [-1, -1, 1_350_001, 1_350_000, 2_600_000, -1, 1_800_000, 1_950_000, 2_500_000]
    assert native.finished.tolist() == [False, False, True, True, True, False, True, True, False]
    assert native.in_snapshot.tolist() == [True, True] + [False] * 7
    assert native.demand[:, 0].tolist() == [0.375, 0.5, 0.125, 0.125, 0.3, 0.2, 0.2, 0.0, 0.2]
    assert native.demand[:, 1].tolist() == [0.5, 0.25, 0.25, 0.25, 0.1, 0.1, 0.1, 0.0, 0.1]
    assert native.others["priority"].tolist() == [9, 9, 2, 2, 0, 0, 0, 0, 0]
    assert native.dropped == {"submission not in the files": 1}


def test_folded_tasks_become_jobs(native: Trace) -> None:
    jobs, dropped, t0 = native.jobs(speedup="1.3")
    assert t0 == 1_000_000
    assert jobs.arrival.tolist() == [0, 0, 3]  # 400,000 µs / 130,000 µs
    assert jobs.service.tolist() == [2, 1, 10]  # 100,001 µs, 100,000 µs, and 1 s since the last start
    assert jobs.demand[:, 0].tolist() == [UNIT // 4, UNIT // 4, int(to_units(0.3))]
    assert dropped == {
        "submission not in the files": 1,
        "in the initial snapshot": 2,
        "not finished": 2,
        "duration missing or <= 0": 1,
        "all demands missing or 0": 1,
    }


def test_folded_file_is_the_same_trace(native: Trace, tmp_path: Path) -> None:
    folded = read_trace(folded_file(tmp_path / "tasks.parquet"))
    assert isinstance(folded, Trace)
    for name in ("submit", "schedule", "end", "demand", "finished", "in_snapshot", "job"):
        assert np.array_equal(getattr(folded, name), getattr(native, name)), name
    for sizes in ("max", "all"):
        ours, theirs = native.jobs(sizes=sizes).jobs, folded.jobs(sizes=sizes).jobs  # type: ignore[arg-type]
        assert np.array_equal(ours.demand, theirs.demand)


def test_resources_can_be_chosen(tmp_path: Path) -> None:
    folder = native_folder(tmp_path)
    assert read_trace(folder, ("disk",)).jobs(sizes="all").jobs.demand.tolist() == [[3145]] * 4
    with pytest.raises(InputError, match="no resource gpu; known: cpu, memory, disk"):
        read_trace(folder, ("gpu",))


def test_machines_at_the_start(tmp_path: Path) -> None:
    expected = [[1.0, 1.0], [0.5, 0.25]]
    assert initial_capacities(native_folder(tmp_path)).tolist() == expected
    assert initial_capacities(machines_file(tmp_path / "machines.parquet")).tolist() == expected
    with pytest.raises(InputError, match="no machine_events in this folder"):
        initial_capacities(tmp_path / "task_events")


def test_machine_events_are_optional(tmp_path: Path) -> None:
    folder = native_folder(tmp_path)
    (folder / "machine_events" / "part-00000-of-00001.csv.gz").unlink()
    assert is_trace(folder)
    assert len(read_trace(folder)) == 9


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("x,,8,1,,0,u,0,2,0.125,0.25,0.001,0", "row 13, column time: 'x' is not a number"),
        ("1,,8,1,,0,u,0,2,much,0.25,0.001,0", "row 13, column cpu: 'much' is not a number"),
        ("1,,8,1,,0,u,0,2,-0.5,0.25,0.001,0", "row 13, column cpu: -0.5 is negative"),
        ("1,,,1,,0,u,0,2,0.5,0.25,0.001,0", "row 13, column job: a number from 0 on is needed, not None"),
        ("1,,8,1,,0,u,0,2", "row 13: 9 values for 13 columns: a line may be cut short, or a cell may hold a line break"),
    ],
)
def test_a_bad_event_is_named(tmp_path: Path, line: str, problem: str) -> None:
    folder = native_folder(tmp_path)
    part = gz(folder / "task_events" / "part-00000-of-00002.csv.gz", [*EVENTS, line])
    with pytest.raises(InputError) as error:
        read_trace(folder)
    assert str(error.value) == f"{part}: {problem}"


def test_a_truncated_part_is_named(tmp_path: Path) -> None:
    folder = native_folder(tmp_path)
    part = folder / "task_events" / "part-00001-of-00002.csv.gz"
    part.write_bytes(gzip.compress("\n".join(MORE_EVENTS).encode())[:-20])
    with pytest.raises(InputError, match=r"part-00001-of-00002.csv.gz: cannot be read, it is damaged or of another format"):
        read_trace(folder)


def test_folders_without_events(tmp_path: Path) -> None:
    assert not is_trace(tmp_path)
    with pytest.raises(InputError, match=r"the folder has neither \*.parquet nor task_events/"):
        read_trace(tmp_path)


def test_a_bad_folded_row_is_named(tmp_path: Path) -> None:
    file = folded_file(tmp_path / "tasks.parquet")
    table = pq.read_table(file)
    bad = pa.array([0.0, 0.0, 1.0, -1.0, 1.4, 1.7, 1.8, 1.9, 2.0])
    pq.write_table(table.set_column(0, "submit_time_s", bad), file)
    with pytest.raises(InputError, match=r"tasks.parquet: row 4, column submit_time_s: -1.0 is negative"):
        read_trace(file)
