"""SWIM's samples: jobs of bytes made into tasks, worked by hand on lines that are nobody's."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from packenv.cli.options.workload import WorkloadOptions, workload_from
from packenv.errors import InputError
from packenv.workloads.traces import Trace, is_trace, read_trace
from packenv.workloads.traces.formats.swim import BLOCK

MB = 10**6
LINES = [  # job, submission, gap, read, shuffled, written, path
    ("a", 5, 5, 2 * BLOCK + 32 * MB, 0, 192 * MB, "p"),  # three maps that write 64 MB each
    ("b", 5, 0, 0, 0, 0, "q"),  # one map that reads nothing
    ("c", 7, 2, BLOCK, 2000 * MB, 640 * MB, "p"),  # a map of the first block of a, and two reduces of 1,000 and 320 MB
]


def native(lines: list[tuple[object, ...]]) -> str:
    return "".join("\t".join(map(str, line)) + "\n" for line in lines)


def read(path: Path) -> Trace:
    trace = read_trace(path)
    assert isinstance(trace, Trace)
    return trace


@pytest.mark.parametrize("form", ["a.tsv", "a.tsv.gz", "a.parquet"])
def test_tasks(tmp_path: Path, form: str) -> None:
    path = tmp_path / form
    if form.endswith("parquet"):
        names = ("job_id", "submit_time_s", "interarrival_s", "map_input_bytes", "shuffle_bytes", "reduce_output_bytes")
        columns = dict(zip(names, zip(*[line[:6] for line in LINES], strict=True), strict=True))
        pq.write_table(pa.table({name: list(column) for name, column in columns.items()} | {"input_path_id": [1, 2, 1]}), path)
    else:
        content = native(LINES).encode()
        path.write_bytes(gzip.compress(content) if form.endswith("gz") else content)
    assert is_trace(path)
    trace = read(path)
    assert trace.job is not None and trace.blocks is not None and trace.remote is not None
    assert trace.job.tolist() == [0, 0, 0, 1, 2, 2, 2]
    assert trace.others["phase"].tolist() == [0, 0, 0, 0, 0, 1, 1]
    assert trace.blocks.tolist() == [0, 1, 2, -1, 0, -1, -1]
    block = BLOCK / (32 * MB)  # seconds to read one at home; 4 times as many elsewhere
    seconds = [1 + block + 2, 1 + block + 2, 1 + 1 + 2, 1, 1 + block, 1 + 1320 / 32, 1 + 1320 / 32]
    assert np.allclose(trace.duration / 1e6, seconds, atol=1e-6)
    assert np.allclose(trace.remote / 1e6, [3 * block, 3 * block, 3, 0, 3 * block, 0, 0], atol=1e-6)
    jobs = trace.jobs(slot_seconds="0.5").jobs
    assert jobs.remote_overhead is not None
    assert jobs.arrival.tolist() == [0] * 4 + [4] * 3
    assert jobs.remote_overhead.tolist() == [26, 26, 6, 0, 26, 0, 0]


def test_without_paths_every_job_reads_its_own(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text(native([line[:6] for line in LINES]))
    blocks = read(tmp_path / "a.tsv").blocks
    assert blocks is not None
    assert blocks.tolist() == [0, 1, 2, -1, 3, -1, -1]


def test_places_are_drawn_by_seed(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text(native(LINES))
    workload, _ = workload_from(WorkloadOptions(str(tmp_path / "a.tsv"), servers="50", slot_seconds="1", racks=10))
    homes = [workload.at(seed).jobs.home for seed in (0, 0, 1)]  # type: ignore[union-attr]
    rows = [[home.row(row).tolist() for row in range(7)] for home in homes if home is not None]
    assert rows[0] == rows[1] != rows[2]
    assert rows[0][0] == rows[0][4]
    assert rows[0][3] == rows[0][5] == []
    assert rows[0][0][1] // 10 == rows[0][0][2] // 10 != rows[0][0][0] // 10


@pytest.mark.parametrize(
    "line, problem",
    [
        (("d", 9, 2, 100, 0), "line 4: 5 fields, not 6 or 7, separated by tabs"),
        (("d", 9, 2, 100, 0, 0, "p", "x"), "line 4: 8 fields"),
        (("d", 9, 2, "1e3", 0, 0), "line 4: map_input_bytes '1e3' is not a whole number"),
        (("d", "nine", 2, 100, 0, 0), "line 4: submit_time_s 'nine' is not a number"),
        (("d", 9, 2, 100, -1, 0), "line 4: shuffle_bytes -1 is below 0"),
        (("d", "nan", 2, 100, 0, 0), "line 4: submit_time_s 'nan' is not a number"),
    ],
)
def test_malformed_lines(tmp_path: Path, line: tuple[object, ...], problem: str) -> None:
    (tmp_path / "a.tsv").write_text(native([*LINES, line]))
    with pytest.raises(InputError, match=problem):
        read_trace(tmp_path / "a.tsv")


def test_bad_files(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("\n")
    with pytest.raises(InputError, match="the file is empty"):
        read_trace(tmp_path / "a.tsv")
    (tmp_path / "b.tsv").write_text(native([("d", 9, 2, 8 * 10**15, 0, 0)]))
    with pytest.raises(InputError, match="tasks, more than 50000000, are too many"):
        read_trace(tmp_path / "b.tsv")


@pytest.mark.skipif(not os.environ.get("PACKENV_TRACES"), reason="PACKENV_TRACES is not set")
def test_the_real_samples() -> None:
    folder = Path(os.environ["PACKENV_TRACES"])
    native_form, both = read(folder / "raw/FB-2009_samples_24_times_1hr_0.tsv"), read(folder / "facebook2009_swim_jobs.parquet")
    jobs = native_form.jobs(slot_seconds="1").jobs
    assert len(np.unique(jobs.job)) == 5894
    n = len(native_form)
    assert np.array_equal(native_form.submit, both.submit[:n])  # the second sample follows a day later
    assert np.array_equal(native_form.end, both.end[:n])
