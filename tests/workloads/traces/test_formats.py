"""A new format of traces is one new file in `packenv/workloads/traces/formats`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from packenv.workloads.traces import formats, is_trace, read_trace

NEW = '''
"""A task in each line: submission and duration in seconds, and size."""

import numpy as np

from packenv.workloads.traces.formats import TraceFormat
from packenv.workloads.traces.trace import Trace
from packenv.workloads.traces.times import SECOND


def read(path, wanted=None):
    submit, duration, size = np.loadtxt(path, ndmin=2).T
    submit = (submit * SECOND).astype(np.int64)
    whole, none = np.ones(len(size), np.bool_), np.zeros(len(size), np.bool_)
    end = submit + (duration * SECOND).astype(np.int64)
    return Trace(submit, submit, end, size[:, None], ("size",), finished=whole, in_snapshot=none, source=str(path))


FORMATS = (TraceFormat(read, endings=(".lines",)),)
'''


@pytest.fixture
def new_format(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    (tmp_path / "one_file_more.py").write_text(NEW)
    monkeypatch.setattr(formats, "__path__", [*formats.__path__, str(tmp_path)])
    formats.trace_formats.cache_clear()
    yield
    formats.trace_formats.cache_clear()


@pytest.mark.usefixtures("new_format")
def test_a_new_format_is_one_file(tmp_path: Path) -> None:
    file = tmp_path / "week.lines"
    file.write_text("0 1.5 0.25\n3 1 0.5\n")
    assert is_trace(file)
    jobs = read_trace(file).jobs("0.5").jobs
    assert (jobs.arrival.tolist(), jobs.service.tolist()) == ([0, 6], [3, 2])


def test_without_it_the_file_is_no_trace(tmp_path: Path) -> None:
    file = tmp_path / "week.lines"
    file.write_text("0 1.5 0.25\n")
    assert not is_trace(file)
