"""Each worker of a run has one core, and compiles in silence; at the end, the files that took longest are named, so that
growth is seen."""

from __future__ import annotations

import gc
import os
from collections import Counter
from collections.abc import Generator
from importlib.util import find_spec
from typing import Any

import pytest

SLOWEST = 10
os.environ.setdefault("PACKENV_QUIET", "1")  # with an empty cache, any test may be the first that compiles something
gc.set_threshold(50_000, 20, 20)  # the compiler's many small objects: a thousand collections for one policy otherwise
seconds: Counter[str] = Counter()
OF_EXTRAS = ("torch", "stable_baselines3", "sb3_contrib", "tensorboard", "torchrl", "minari", "ray", "optuna", "nbformat")
"""Modules of optional libraries: a file of tests that imports one of them is skipped where it is not installed."""


def pytest_configure() -> None:
    """One core for each worker, and so one process for each command: workers that start more would wait for each other."""
    worker = os.environ.get("PYTEST_XDIST_WORKER", "")
    if worker and hasattr(os, "sched_setaffinity"):
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {cores[int(worker.removeprefix("gw")) % len(cores)]})


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Skip a file whose tests need an optional library that is not installed."""
    report = yield
    for name in OF_EXTRAS:
        if report.failed and f"No module named '{name}" in str(report.longrepr) and find_spec(name) is None:
            report.outcome, report.longrepr = "skipped", (str(collector.path), 0, f"Skipped: {name} is not installed")
    return report


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    seconds[report.nodeid.partition("::")[0]] += report.duration


def pytest_terminal_summary(terminalreporter: Any) -> None:
    if len(seconds) > 1:
        terminalreporter.section(f"slowest files, of {len(seconds)}")
        for file, spent in seconds.most_common(SLOWEST):
            terminalreporter.write_line(f"{spent:8.1f} s  {file}")
