"""Damaged and hostile traces: each is one InputError, and reading them takes neither long nor much memory."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from packenv.errors import InputError
from packenv.inputs import text_files
from packenv.inputs.memory import memory_limit
from packenv.workloads.traces import read_trace
from tests.workloads.traces import samples

SLOTS = ["arrival,size,service", "0,0.5,3", "1,0.25,2"]
TEXTS = {"a.csv.gz": SLOTS, "a.swf.gz": samples.SWF, "a.tr.gz": samples.JOB_LINES, "a.tsv.gz": samples.SWIM}


@pytest.mark.parametrize("name", TEXTS)
def test_damaged_gzip(name: str, tmp_path: Path) -> None:
    path = samples.gz(tmp_path / name, TEXTS[name])
    whole = path.read_bytes()
    damaged = [whole[:n] for n in range(1, len(whole), 7)] + [b"\x1f\x8b" + b"\xff" * 40, whole + b"garbage"]
    damaged += [whole[:n] + bytes([whole[n] ^ 255]) + whole[n + 1 :] for n in range(10, len(whole) - 8, 5)]
    for data in damaged:
        path.write_bytes(data)
        with pytest.raises(InputError, match=name):
            read_trace(path)


@pytest.mark.parametrize("name", TEXTS)
def test_an_endless_line(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_files, "LONGEST_LINE", 2**20)
    path = tmp_path / name
    path.write_bytes(gzip.compress(b"1 " * 2**21))
    with pytest.raises(InputError, match=name):
        read_trace(path)


@pytest.mark.parametrize("name", TEXTS)
def test_more_than_the_memory(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PACKENV_MEMORY", "0.001")
    head, rest = TEXTS[name][:5], TEXTS[name][5:] or TEXTS[name][1:2]
    with pytest.raises(InputError, match=r"more than 0\.001 GB of memory; set PACKENV_MEMORY=GB"):
        read_trace(samples.gz(tmp_path / name, [*head, *rest * 40_000]))


def test_a_table_is_too_large_before_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    n = 100_000
    pq.write_table(pa.table({"arrival": [0] * n, "size": [0.5] * n, "service": [1] * n}), tmp_path / "a.parquet")
    monkeypatch.setenv("PACKENV_MEMORY", "0.01")
    with pytest.raises(InputError, match=r"a\.parquet: too large"):
        read_trace(tmp_path / "a.parquet")
    monkeypatch.setenv("PACKENV_MEMORY", "1")
    assert len(read_trace(tmp_path / "a.parquet")) == n


@pytest.mark.parametrize("said", ["0", "-1", "much", "1_0", "nan"])
def test_a_memory_that_is_none(said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PACKENV_MEMORY", said)
    with pytest.raises(InputError, match="PACKENV_MEMORY"):
        memory_limit()


@pytest.mark.parametrize("cell", ["+0 x", "1_0", "٣", "9" * 400, "-1", "1.0", "\ufeff0"])
@pytest.mark.parametrize("column", ["predecessors", "home"])
def test_numbers_in_lists(column: str, cell: str, tmp_path: Path) -> None:
    path = samples.text(tmp_path / "a.csv", f"arrival,size,service,{column}", "0,0.5,3,", f"1,0.5,3,{cell}")
    with pytest.raises(InputError, match=f"row 2, column {column}"):
        read_trace(path)


def test_plus_0_is_0(tmp_path: Path) -> None:
    path = samples.text(tmp_path / "a.csv", "arrival,size,service,predecessors", "0,0.5,3,", "1,0.5,3,+0")
    predecessors = read_trace(path).jobs().jobs.predecessors
    assert predecessors is not None
    assert predecessors.row(1).tolist() == [0]


@pytest.mark.parametrize("line", ["; MaxProcs: " + "9" * 400, "; MaxRuntime: " + "9" * 20, "; MaxRuntime: 4503599627370497"])
def test_headers_of_hundreds_of_digits(line: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"line 1: Max.* is too large"):
        read_trace(samples.text(tmp_path / "a.swf", line, *samples.SWF[4:]))


@pytest.mark.parametrize(("word", "says"), [("1_0", "not a number"), ("٣", "not a number"), ("9" * 400, "too large")])
def test_words_of_job_lines(word: str, says: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=f"line 1: .*{says}" if says == "not a number" else "line 1"):
        read_trace(samples.text(tmp_path / "a.tr", f"0 1 {word} 5"))


@pytest.mark.parametrize("lost", ["cpu", "mem", "cpu mem"])
def test_a_folded_table_without_a_resource(lost: str, tmp_path: Path) -> None:
    pq.write_table(pa.table(samples.FOLDED).drop_columns(lost.split()), tmp_path / "a.parquet")
    with pytest.raises(InputError, match=f"column {lost.split()[0]} is missing"):
        read_trace(tmp_path / "a.parquet")


@pytest.mark.parametrize("value", [{"a": 1}, [1], [[1]], [{"a": 1}], b"\xff", "x", True])
@pytest.mark.parametrize("column", ["arrival", "size", "service", "job", "value", "predecessors", "home"])
def test_columns_of_other_types(column: str, value: Any, tmp_path: Path) -> None:
    if column == "predecessors" and value == [1]:
        value = [5]
    columns = {"arrival": [0], "size": [0.5], "service": [1], column: [value]}
    pq.write_table(pa.table(columns), tmp_path / "a.parquet")
    if (column == "home" and value == [1]) or (column == "job" and value == "x"):  # names of jobs are numbered
        read_trace(tmp_path / "a.parquet")
        return
    with pytest.raises(InputError, match=r"a\.parquet"):
        read_trace(tmp_path / "a.parquet")


@pytest.mark.parametrize("value", [[1], {"a": 1}])
def test_ids_of_other_types(value: Any, tmp_path: Path) -> None:
    columns = {"arrival": [0], "size": [0.5], "service": [1], "predecessors": [""], "id": [value]}
    pq.write_table(pa.table(columns), tmp_path / "a.parquet")
    with pytest.raises(InputError, match=r"a\.parquet: column id"):
        read_trace(tmp_path / "a.parquet")


def test_names_that_are_not_utf8(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"arrival": [0], "sizeXYZ": [0.5], "service": [1]}), path)
    path.write_bytes(path.read_bytes().replace(b"sizeXYZ", b"size\xff\xfeZ"))
    with pytest.raises(InputError, match=r"a\.parquet"):
        read_trace(path)
    (tmp_path / "a.csv").write_bytes(b"arrival,size\xff,service\n0,1,1\n")
    with pytest.raises(InputError, match=r"a\.csv"):
        read_trace(tmp_path / "a.csv")


@pytest.mark.parametrize("name", ["", "Unnamed: 0", "__index_level_0__", "priority", "job_id"])
def test_columns_that_are_no_resource(name: str, tmp_path: Path) -> None:
    path = samples.text(tmp_path / "a.csv", f"{name},submit_time_s,duration_s,cpu", "1,0,3,0.5")
    with pytest.raises(InputError, match="leave it out, or name the resources"):
        read_trace(path)
    assert read_trace(path, ("cpu",)).resources == ("cpu",)


@pytest.mark.parametrize("number", ["1e999999999", "1e-999999999", "9" * 400, "1_0", "٣", "nan"])
def test_lengths_of_slots(number: str, tmp_path: Path) -> None:
    trace = read_trace(samples.text(tmp_path / "a.swf", *samples.SWF))
    with pytest.raises(InputError, match="slot_seconds"):
        trace.jobs(slot_seconds=number)
