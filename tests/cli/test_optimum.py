"""`packenv optimum`, and its schedule replayed by `packenv evaluate`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from packenv.cli.main import main

ROWS = ("0,0.6,3", "0,0.5,2", "0,0.4,2", "0,0.5,3")


def trace(folder: Path) -> Path:
    file = folder / "tasks.csv"
    file.write_text("\n".join(["arrival,size,service", *ROWS]) + "\n")
    return file


def said(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    """The one line on standard error for bad input."""
    with pytest.raises(SystemExit) as stop:
        main([*map(str, arguments)])
    assert stop.value.code == 2
    line = capsys.readouterr().err
    assert line.count("\n") == 1
    return line


@pytest.mark.slow
def test_optimum_and_replay(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """5.1 of work on one server: 6 slots, as 0.6 beside 0.4 and 0.5 beside 0.5; first fit in order takes 3 + 2 + 3."""
    file, written, schedule, plot = trace(tmp_path), *(tmp_path / name for name in ("optimum.json", "best.parquet", "use.png"))
    common = ["--servers", 1, "--slot-seconds", 1]
    outputs = ["--json", written, "--schedule", schedule, "--plot", plot]
    main([*map(str, ["optimum", file, *common, "-p", "fifo-ff", "--workers", 1, *outputs])])
    out = capsys.readouterr().out
    assert "tasks.csv: 4 tasks on 1 server; no schedule is shorter than 6 slots" in out
    assert "proven" in out and "fifo-ff" in out
    record = json.loads(written.read_text())
    assert (record["makespan"], record["bound"], record["proven"], record["gap"]) == (6, 6, True, 0)
    assert record["policies"] == [{"policy": "fifo-ff", "makespan": 8, "gap": pytest.approx(1 / 3)}]
    assert record["tasks"] == 4 and record["history"][-1][1:] == [6, 6]
    assert {"task", "job", "start", "server", "end"} <= {*pq.read_table(schedule).column_names}
    assert plot.read_bytes().startswith(b"\x89PNG")

    evaluated = tmp_path / "evaluated.json"
    main([*map(str, ["evaluate", file, *common, "-p", f"replay:{schedule}", "--drain", "--processes", 1, "--json", evaluated])])
    run = json.loads(evaluated.read_text())[0]
    assert (run["policy"], run["slots"], run["completed"]) == ("replay:best.parquet", 6, 4)


def test_sat_in_evaluate(tmp_path: Path) -> None:
    written = tmp_path / "evaluated.json"
    words = ["evaluate", trace(tmp_path), "--servers", 1, "--slot-seconds", 1, "--drain", "--processes", 1, "--json", written]
    main([*map(str, [*words, "-p", "sat:limit=20,workers=1,gap=0.1"])])
    run = json.loads(written.read_text())[0]
    assert (run["policy"], run["slots"], run["completed"]) == ("sat:limit=20.0,workers=1,gap=0.1", 6, 4)


def test_bad_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = trace(tmp_path)
    assert "paper/fig4b has no last job: give --slots" in said(capsys, "optimum", "paper/fig4b")
    assert "--slots is for random workloads" in said(capsys, "optimum", file, "--servers", 1, "--slots", 5)
    assert "Invalid value for '--limit': must be above 0, not 0" in said(capsys, "optimum", file, "--servers", 1, "--limit", 0)
    for wrong in ("-0.1", "inf", "nan"):
        assert "--gap" in said(capsys, "optimum", file, "--servers", 1, "--gap", wrong)
    assert "unknown policy 'bfjs'" in said(capsys, "optimum", file, "--servers", 1, "-p", "bfjs")
    assert "its folder does not exist" in said(capsys, "optimum", file, "--servers", 1, "--json", tmp_path / "no" / "a.json")
    assert "a plot is one of" in said(capsys, "optimum", file, "--servers", 1, "--plot", tmp_path / "use.txt")


def test_bad_schedules(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def replay(text: object) -> str:
        return said(capsys, "evaluate", trace(tmp_path), "--servers", 1, "-p", f"replay:{text}")

    def written(**columns: object) -> Path:
        pq.write_table(pa.table(columns), tmp_path / "bad.parquet")
        return tmp_path / "bad.parquet"

    assert "replay needs a schedule" in replay("")
    assert "there is no file" in replay(tmp_path / "none.parquet")
    assert "no column 'task'" in replay(trace(tmp_path))
    (tmp_path / "text.parquet").write_text("task,start,server\n")
    assert "Parquet magic bytes not found" in replay(tmp_path / "text.parquet")
    assert "no column 'server'" in replay(written(job=[0], start=[0]))
    assert "must hold integers" in replay(written(job=[0], start=[0.5], server=[0]))
    assert "every row of the table once" in replay(written(job=np.array([0, 0]), start=[0, 0], server=[0, 0]))
    assert "a schedule of 1 tasks, for a table of 4" in replay(written(job=[0], start=[0], server=[0]))


def test_without_or_tools(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ortools.sat.python", None)
    assert "pip install 'ortools>=" in said(capsys, "optimum", trace(tmp_path), "--servers", 1)


def test_policies_that_the_table_allows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without -p, also on a table without values."""
    (tmp_path / "two.csv").write_text("arrival,size,service,job\n0,0.6,3,0\n0,0.6,2,1\n")
    main(["optimum", str(tmp_path / "two.csv"), "--servers", "1", "--gantt", str(tmp_path / "two.png")])
    out = capsys.readouterr().out
    assert "left out: policy priority: two.csv has no column value; for another name" in out
    assert "no schedule is shorter than 5 slots" in out and (tmp_path / "two.png").stat().st_size > 1000
