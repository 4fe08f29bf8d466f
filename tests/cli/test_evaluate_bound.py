"""The lower bound on completion times below the policies of `packenv evaluate`: by hand, and where it is not shown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from packenv.cli.main import main
from packenv.runs import measures
from packenv.theory.completion.bound import SHOWN_AS

TWO_JOBS = "arrival,size,service,job\n0,1,4,0\n0,1,2,1\n"
"""On one server, one after the other: ends 2 and 6 at best, 4 and 6 in order of arrival."""


def bounds(folder: Path, *words: str) -> list[float | None]:
    """Of the run, and of the summary over the seeds."""
    (folder / "two.csv").write_text(TWO_JOBS)
    out = folder / "out.json"
    asked = ("-p", "fifo-ff", "--processes", "1", "--json", str(out), *words)
    main(["evaluate", str(folder / "two.csv"), "--servers", "1", *asked])
    return [record["completion_bound"] for record in json.loads(out.read_text())]


def test_by_hand(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert bounds(tmp_path) == [4, 4]
    last = [line.split() for line in capsys.readouterr().out.splitlines() if line.strip().startswith(SHOWN_AS)]
    assert len(last) == 1 and last[0].count("4") == 1


def test_not_of_jobs_that_did_not_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert bounds(tmp_path, "--slots", "3") == [None, None]
    assert SHOWN_AS not in capsys.readouterr().out


def test_not_of_large_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measures, "MOST_JOBS", 1)
    assert bounds(tmp_path) == [None, None]
