"""What machine code is kept by: the modules of which it is made, and no others."""

from __future__ import annotations

import gc
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path

import pytest

import packenv
from packenv.compiled.sources import read_source, sources_of
from packenv.policy import registered

ELSEWHERE = ("packenv.learning.agents.saved", "packenv.runs.many", "packenv.workloads.named.registry", "packenv.workloads.traces")
"""Loaded by some runs and not by others: by an agent, by many runs, by a named workload, by a trace."""

NO_PART = ("cli", "envs", "learning", "planning", "report", "runs", "workloads.named", "workloads.traces")
"""Rooms of packenv of which no policy's loop is made."""


PLANNING_AHEAD = {"agent", "kmw", "msr", "optimal", "sat"}
"""Their modules import theory or learning, and with it named workloads, whenever they are loaded."""


@pytest.mark.parametrize("name", sorted({*registered()} - PLANNING_AHEAD))
def test_a_policy_is_compiled_once_whatever_else_is_loaded(name: str, tmp_path: Path) -> None:
    module = registered()[name].partition(":")[0]
    for other in (*ELSEWHERE, module):
        import_module(other)
    found = sources_of(["packenv.cluster.loop", module], tmp_path)
    assert [each for each in found if each.startswith(tuple(f"packenv.{room}." for room in NO_PART))] == []


def test_an_edited_picture_compiles_nothing(tmp_path: Path) -> None:
    assert "packenv.content.charts" not in sources_of(["packenv.policies.random_requirements.best_fit"], tmp_path)


def test_what_functions_import_counts_for_logs_of_runs(tmp_path: Path) -> None:
    """What a run did may depend on it: `Workload` reads a table by `packenv.workloads.traces`."""
    now, later = (sources_of(["packenv.workloads.workload"], tmp_path, loaded) for loaded in (True, False))
    assert "packenv.workloads.traces.read" in later and "packenv.workloads.traces.read" not in now


def test_threads_read_side_by_side() -> None:
    """Also where one of them has its turn in the middle of another's tree, as the collector of garbage lets it."""
    files = sorted((Path(packenv.__file__).parent / "cluster").glob("*.py"))[:12]
    alone = [read_source(str(file), [], "packenv.cluster") for file in files]
    before, interval = gc.get_threshold(), sys.getswitchinterval()
    give_way = lambda *_: [None for _ in range(50)]  # noqa: E731
    gc.callbacks.append(give_way)
    try:
        gc.set_threshold(50)
        sys.setswitchinterval(1e-5)
        with ThreadPoolExecutor(3) as pool:
            read = [pool.map(lambda file: read_source(str(file), [], "packenv.cluster"), files) for _ in range(3)]
            assert all([*each] == alone for each in read)
    finally:
        gc.callbacks.remove(give_way)
        gc.set_threshold(*before)
        sys.setswitchinterval(interval)
