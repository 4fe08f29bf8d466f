"""Converted files read back as the same jobs, and appear whole or not at all."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from packenv.errors import InputError
from packenv.files import atomic_path
from packenv.jobs import Jobs, Ragged
from packenv.units import LARGEST_CAPACITY, UNIT
from packenv.workloads.traces import read_trace, write_jobs
from tests.workloads.traces.samples import native_folder


def random_jobs(n: int, resources: int, seed: int) -> Jobs:
    random = np.random.default_rng(seed)
    demand = random.integers(0, LARGEST_CAPACITY * UNIT, (n, resources), endpoint=True)
    demand[:, 0] = np.maximum(demand[:, 0], 1)
    demand[: UNIT // 4096, 0] = np.arange(1, UNIT // 4096 + 1)[:n]
    return Jobs(
        arrival=np.cumsum(random.integers(0, 3, n)),
        demand=demand,
        service=random.integers(1, 2**50, n),
        job=random.permutation(2**62 - np.arange(n)),
        phase=random.integers(0, 9, n),
        value=random.normal(size=n),
        tenant=random.integers(0, 9, n),
        remote_overhead=random.integers(0, 9, n),
        estimate=random.exponential(size=n) + 1e-9,
        predecessors=Ragged.of([random.integers(0, max(row, 1), min(row, row % 4)).tolist() for row in range(n)]),
        home=Ragged.of([random.integers(0, 99, row % 3).tolist() for row in range(n)]),
    )


@pytest.mark.parametrize("resources", [1, 3])
@pytest.mark.parametrize("name", ["a.parquet", "a.csv", "a.csv.gz"])
def test_round_trip(tmp_path: Path, name: str, resources: int) -> None:
    jobs = random_jobs(5_000, resources, seed=resources)
    write_jobs(jobs, tmp_path / name)
    assert [file.name for file in tmp_path.iterdir()] == [name]
    back = read_trace(tmp_path / name).jobs(sizes="all").jobs
    for column in ("arrival", "demand", "service", "job", "phase", "value", "tenant", "remote_overhead", "estimate"):
        assert np.array_equal(getattr(back, column), getattr(jobs, column)), column
    for column in ("predecessors", "home"):
        ours, theirs = getattr(jobs, column), getattr(back, column)
        assert np.array_equal(ours.offsets, theirs.offsets) and np.array_equal(ours.values, theirs.values), column


def test_a_converted_trace_gives_the_same_jobs(tmp_path: Path) -> None:
    for sizes in ("max", "all"):
        jobs = read_trace(native_folder(tmp_path)).jobs(speedup="1.3", sizes=sizes).jobs  # type: ignore[arg-type]
        write_jobs(jobs, tmp_path / "out.csv")
        back = read_trace(tmp_path / "out.csv").jobs(sizes="all").jobs
        assert np.array_equal(back.demand, jobs.demand)
        assert np.array_equal(back.arrival, jobs.arrival)
        assert np.array_equal(back.service, jobs.service)
    assert (tmp_path / "out.csv").read_text().splitlines()[0].replace('"', "") == "arrival,size,size_1,service,job"


@pytest.mark.parametrize("interruption", [KeyboardInterrupt, OSError, SystemExit])
@pytest.mark.parametrize("name", ["a.parquet", "a.csv"])
def test_nothing_is_left_of_an_interrupted_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, interruption: type[BaseException], name: str
) -> None:
    def interrupted(_table: object, target: object, *_: object, **__: object) -> None:
        if isinstance(target, Path):
            target.write_bytes(b"half")
        raise interruption

    (tmp_path / name).write_text("older")
    monkeypatch.setattr("packenv.workloads.traces.read.pq.write_table", interrupted)
    monkeypatch.setattr("packenv.workloads.traces.read.pc_csv.write_csv", interrupted)
    with pytest.raises(InputError if interruption is OSError else interruption):
        write_jobs(random_jobs(3, 1, 0), tmp_path / name)
    assert [(file.name, file.read_text()) for file in tmp_path.iterdir()] == [(name, "older")]


def test_what_cannot_be_written(tmp_path: Path) -> None:
    jobs = random_jobs(3, 1, 0)
    with pytest.raises(InputError, match=r"a.txt: the name of a converted trace ends in .parquet, .csv or .csv.gz"):
        write_jobs(jobs, tmp_path / "a.txt")
    with pytest.raises(InputError, match=r"none/a.csv: cannot be written \(No such file or directory\)"):
        write_jobs(jobs, tmp_path / "none" / "a.csv")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(InputError, match="it is a folder"), atomic_path(tmp_path / "folder.csv"):
        pass


def test_files_have_ordinary_permissions(tmp_path: Path) -> None:
    write_jobs(random_jobs(3, 1, 0), tmp_path / "a.parquet")
    (tmp_path / "plain").write_text("")
    assert (tmp_path / "a.parquet").stat().st_mode == (tmp_path / "plain").stat().st_mode
    assert pq.read_schema(tmp_path / "a.parquet").names[:3] == ["arrival", "size", "service"]
