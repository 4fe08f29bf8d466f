"""Phases, predecessors and home servers in the user's own files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from packenv.errors import InputError
from packenv.jobs import Jobs, Ragged, passed_on
from packenv.workloads.precedence import precedence_edges
from packenv.workloads.traces import Trace, read_trace, write_jobs
from packenv.workloads.traces.bootstrap import block_bootstrap
from tests.workloads.traces.samples import CASES, text

FORMS = {"slots": "arrival,service,size", "seconds": "submit_time_s,duration_s,cpu"}


def lists(ragged: Ragged | None) -> list[list[int]]:
    assert ragged is not None
    return [row.tolist() for row in np.split(ragged.values, ragged.offsets[1:-1])]


def jobs_of(file: Path) -> Jobs:
    return read_trace(file).jobs(slot_seconds=1).jobs


@pytest.mark.parametrize("form", FORMS.values())
def test_all_columns(tmp_path: Path, form: str) -> None:
    rows = ["0,9,0.5,7,0,,3", "1,9,0.25,7,0,0,", "1,9,0.25,8,1,,0;2", "2,9,0.5,7,1, 1  0 ; 2 ,0 1"]
    jobs = jobs_of(text(tmp_path / "a.csv", f"{form},job,phase,predecessors,home", *rows))
    assert jobs.phase is not None and jobs.phase.tolist() == [0, 0, 1, 1]
    assert lists(jobs.predecessors) == [[], [0], [], [1, 0, 2]]
    assert lists(jobs.home) == [[3], [], [0, 2], [0, 1]]


def test_parquet_lists(tmp_path: Path) -> None:
    columns = {"arrival": [0, 0, 1], "size": [0.5] * 3, "service": [1, 2, 3]}
    for links in (
        pa.array([None, [0], [1, 0]], pa.list_(pa.int32())),
        pa.array([[], [0], [1, 0]], pa.large_list(pa.int64())),
        pa.array(["", "0", "1;0"]),
        pa.chunked_array([pa.array([None], pa.string()), pa.array(["0", "1 0"])]),
    ):
        pq.write_table(pa.table({**columns, "predecessors": links}), tmp_path / "a.parquet")
        assert lists(jobs_of(tmp_path / "a.parquet").predecessors) == [[], [0], [1, 0]]
    pq.write_table(pa.table({**columns, "id": [70, 80, 90], "predecessors": [[], [70], [80, 70]]}), tmp_path / "a.parquet")
    assert lists(jobs_of(tmp_path / "a.parquet").predecessors) == [[], [0], [1, 0]]


def test_sorted_rows_are_renumbered(tmp_path: Path) -> None:
    rows = ["c,30,9,0.5,a b,2", "b,20,9,0.25,a,1", "a,10,9,0.125,,0"]
    jobs = jobs_of(text(tmp_path / "a.csv", "id,submit_time_s,duration_s,cpu,predecessors,home", *rows))
    assert jobs.arrival.tolist() == [0, 10, 20]
    assert lists(jobs.predecessors) == [[], [0], [0, 1]]
    assert lists(jobs.home) == [[0], [1], [2]]


def test_dropped_predecessors_are_counted_and_passed_on(tmp_path: Path) -> None:
    rows = ["0,9,0.5,", "1,,0.5,0", "2,9,0.25,1 0", "3,9,0.25,1 2"]
    trace = read_trace(text(tmp_path / "a.csv", "submit_time_s,duration_s,cpu,predecessors", *rows))
    jobs, dropped, _ = trace.jobs(slot_seconds=1)
    assert jobs.arrival.tolist() == [0, 2, 3]
    assert lists(jobs.predecessors) == [[], [0], [0, 1]]
    assert dropped["duration missing or <= 0"] == 1
    assert dropped["links to a dropped task (passed on to its predecessors)"] == 2


@pytest.mark.parametrize("name", ["zero_s", "no_demand", "unknown_s", "slots"])
def test_a_milestone_stays_between_what_it_joins(name: str) -> None:
    jobs, dropped, _ = read_trace(CASES / f"milestone_{name}.csv").jobs(slot_seconds=1)
    assert jobs.service.tolist() == [10, 10, 10, 10]
    assert lists(jobs.predecessors) == [[], [], [0, 1], [0, 1]]
    assert sum(count for reason, count in dropped.items() if not reason.startswith("links")) == 1


def test_milestones_in_slots_need_an_order(tmp_path: Path) -> None:
    file = text(tmp_path / "a.csv", "arrival,service,cpu,job,phase", "0,9,0.5,0,0", "0,0,0,0,1", "0,9,0.5,0,2")
    jobs = jobs_of(file)
    assert jobs.phase is not None and jobs.phase.tolist() == [0, 2]
    with pytest.raises(InputError, match="row 3, column service: -1 is below 1 slot"):
        jobs_of(text(tmp_path / "b.csv", "arrival,service,cpu,job,phase", "0,9,0.5,0,0", "0,0,0,0,1", "0,-1,0,0,2"))
    with pytest.raises(InputError, match=r"no task is left \(1 milestones"):
        jobs_of(text(tmp_path / "c.csv", "arrival,service,cpu,predecessors", "0,0,0,"))


def before(jobs: Jobs) -> list[set[int]]:
    """Every row that each row waits for, directly or through others."""
    first, second, nodes = precedence_edges(jobs)
    reach = np.eye(nodes, dtype=bool)
    for _ in range(nodes):
        np.logical_or.at(reach, second, reach[first])
    return [{int(row) for row in np.flatnonzero(reach[n, : len(jobs)])} - {n} for n in range(len(jobs))]


@pytest.mark.parametrize("phases", [False, True])
def test_order_is_kept_through_rows_that_are_left_out(phases: bool) -> None:
    random = np.random.default_rng(3)
    for n in (2, 5, 12, 12, 12, 30, 30, 30):
        links = [sorted(random.choice(row, min(row, int(random.integers(0, 3))), replace=False).tolist()) for row in range(n)]
        columns = {"job": random.integers(0, 3, n), "phase": np.sort(random.integers(0, 4, n))} if phases else {}
        jobs = Jobs.of(np.zeros(n), np.full(n, 0.5), np.ones(n), predecessors=Ragged.of(links), **columns)
        kept = random.random(n) < 0.6
        kept[0] = True
        rows = np.flatnonzero(kept)
        place = {int(row): number for number, row in enumerate(rows)}
        whole, part = before(jobs), before(jobs.only(kept))
        assert part == [{place[row] for row in whole[own] if row in place} for own in rows.tolist()]


def test_long_chains_of_left_out_rows() -> None:
    n = 20_000
    links = Ragged(np.concatenate([[0], np.arange(n)]), np.arange(n - 1))
    kept = np.zeros(n, np.bool_)
    kept[[0, n - 1]] = True
    assert lists(passed_on(links, kept)) == [[], [0]]


@pytest.mark.parametrize("form", FORMS.values())
def test_predecessors_of_the_same_time_go_first(tmp_path: Path, form: str) -> None:
    """Rows 0 and 5 stay where nothing moves them; 1 waits for 3, which waits for 4."""
    rows = ["0,10,0.5,", "0,11,0.5,3", "0,12,0.5,", "0,13,0.5,4", "0,14,0.5,", "1,15,0.5,1"]
    jobs = jobs_of(text(tmp_path / "a.csv", f"{form},predecessors", *rows))
    assert jobs.service.tolist() == [10, 12, 14, 13, 11, 15]
    assert lists(jobs.predecessors) == [[], [], [], [2], [3], [4]]


def test_order_on_random_graphs(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    for n in (2, 5, 40, 200):
        rank = random.permutation(n)  # predecessors have a lower rank
        time = np.sort(random.integers(0, 4, n))[rank]
        before = [[p for p in random.choice(n, min(n, 3), replace=False).tolist() if rank[p] < rank[row]] for row in range(n)]
        rows = [f"{time[row]},{row + 1},0.5,{' '.join(map(str, before[row]))}" for row in range(n)]
        jobs = jobs_of(text(tmp_path / "a.csv", "submit_time_s,duration_s,cpu,predecessors", *rows))
        row_at = (jobs.service - 1).tolist()
        assert [[row_at[p] for p in cell] for cell in lists(jobs.predecessors)] == [before[row] for row in row_at]
        assert sorted(row_at) == list(range(n))


BAD = [
    ("predecessors", ["", "9"], "row 2, column predecessors: 9 is not a task of this file"),
    ("predecessors", ["", "-1"], "row 2, column predecessors: -1 is not a task of this file"),
    ("predecessors", ["", "0 x"], "row 2, column predecessors: 'x' is not a whole number"),
    ("predecessors", ["", "1"], "row 2, column predecessors: 1 is the task itself"),
    ("predecessors", ["2", "0", "1"], "row 1, column predecessors: they go in a circle: 0 after 2 after 1 after 0"),
    ("predecessors", ["", "2", "1", "2"], "row 2, column predecessors: they go in a circle: 1 after 2 after 1"),
    ("id,predecessors", ["a,", "b,c"], "row 2, column predecessors: c is not a task of this file"),
    ("id,predecessors", ["a,b", "b,a"], "row 1, column predecessors: they go in a circle: a after b after a"),
    ("id,predecessors", ["a,", "a,"], "row 2, column id: a occurs more than once"),
    ("id,predecessors", ["a,", ","], "row 2, column id: is empty"),
    ("home", ["0", "-2"], "row 2, column home: -2 is negative"),
    ("home", ["0", "1 1.5"], "row 2, column home: '1.5' is not a whole number"),
    ("job,phase", ["1,0", "1,-1"], "row 2, column phase: -1 is negative"),
    ("job,phase", ["1,1", "2,0", "1,0"], "row 3, column phase: 0 is below the phase of an earlier task of the job"),
    ("phase", ["1"], "column phase needs a column job"),
    ("job,value", ["7,1.5", "2,3", "7,2"], "row 3, column value: 2; job 7 has 1.5 in row 1"),
]


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize(("names", "cells", "problem"), BAD, ids=[problem for *_, problem in BAD])
def test_a_bad_cell_is_named(tmp_path: Path, form: str, names: str, cells: list[str], problem: str) -> None:
    file = text(tmp_path / "a.csv", f"{form},{names}", *(f"0,9,0.5,{cell}" for cell in cells))
    with pytest.raises(InputError) as error:
        read_trace(file)
    assert str(error.value) == f"{file}: {problem}"


def test_a_later_predecessor_is_an_error(tmp_path: Path) -> None:
    file = text(tmp_path / "a.csv", "submit_time_s,duration_s,cpu,predecessors", "5,9,0.5,1", "6,9,0.5,")
    with pytest.raises(InputError) as error:
        read_trace(file)
    assert str(error.value) == f"{file}: row 1, column predecessors: 1 comes later"


def test_phases_are_checked_in_order_of_submission(tmp_path: Path) -> None:
    header = "submit_time_s,duration_s,cpu,job,phase"
    jobs = jobs_of(text(tmp_path / "a.csv", header, "5,9,0.5,1,1", "3,9,0.5,1,0"))
    assert jobs.phase is not None and jobs.phase.tolist() == [0, 1]
    with pytest.raises(InputError, match=r"b.csv: row 1, column phase: 0 is below"):
        read_trace(text(tmp_path / "b.csv", header, "5,9,0.5,1,0", "3,9,0.5,1,1"))


@pytest.mark.parametrize("name", ["b.parquet", "b.csv"])
def test_converted_traces_read_back(tmp_path: Path, name: str) -> None:
    rows = ["30,9,0.5,1,7,1,0", "20,9,0.25,2,7,0,", "10,,0.125,,7,0,1;2"]
    file = text(tmp_path / "a.csv", "submit_time_s,duration_s,cpu,predecessors,job,phase,home", *rows)
    jobs = jobs_of(file)
    write_jobs(jobs, tmp_path / name, ("cpu",))
    trace = read_trace(tmp_path / name)
    assert trace.table is not None and trace.resources == ("cpu",)
    back = trace.jobs().jobs
    assert lists(back.predecessors) == lists(jobs.predecessors) == [[], [0]]
    assert lists(back.home) == lists(jobs.home) == [[], [0]]
    assert back.phase is not None and back.phase.tolist() == [0, 1]


def test_bootstrap_forgets_what_leads_out_of_blocks(tmp_path: Path) -> None:
    rows = [f"{row},9,0.5,{max(row - 1, 0) if row else ''},7,{row}" for row in range(9)]
    trace = read_trace(text(tmp_path / "a.csv", "submit_time_s,duration_s,cpu,predecessors,job,phase", *rows))
    assert isinstance(trace, Trace)
    jobs = block_bootstrap(trace, 40, 60.0, seed=0, block=4).jobs(slot_seconds=1).jobs
    assert (jobs.predecessors, jobs.phase) == (None, None)
