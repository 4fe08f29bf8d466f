"""The logs, the published cells, and the means of windows by the small engine and by packenv's policies."""

from __future__ import annotations

import csv
import os
import re
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import packenv
from experiments.rlscheduler.engine import BOUND, ORDERS, Log, Outcome, log_of, outcome_of, run
from packenv.errors import InputError
from packenv.jobs import Jobs
from packenv.policies.orders import ORDERS as RULES
from packenv.results.result import Result
from packenv.runs.run import Run
from packenv.runs.runner import RunOptions, extract_all
from packenv.workloads.workload import Workload

Floats = NDArray[np.float64]

JOBS = 1_024  # of a window
STRIDE, QUICK_STRIDE = 128, 1_024  # jobs from one window's first to the next one's, of all windows
PUBLISHED, WINDOWS = "published.csv", "windows.csv"
LOGS = {"lublin1": "Lublin-1", "sdscsp2": "SDSC-SP2", "hpc2n": "HPC2N", "lublin2": "Lublin-2"}
"""The logs of the published table, by how the names of their files begin, without dots, dashes and the like."""

KINDS = {"kept": "fifo-ff:order={}", "easy": "easy:order={}", "conservative": "conservative:order={}"}
SAME = {"fifo-ff:order=fcfs": "fifo-ff", "easy:order=fcfs": "easy", "conservative:order=fcfs": "conservative"}
POLICIES = {(kind, rule): SAME.get(name.format(rule), name.format(rule)) for kind, name in KINDS.items() for rule in RULES}
AGENT = "agent:batch"
POLICIES["easy", AGENT] = AGENT  # it backfills as EASY does; it was trained on no log
"""All of packenv's orders, each kept until it fits and with both ways of backfilling; and the agent that was learnt."""


class Study(NamedTuple):
    """What a folder has."""

    logs: dict[str, Workload]  # by the table's names, or those of their files
    published: dict[tuple[str, str, str], dict[str, float]]  # by log, backfilling ("no", "yes") and measure: cells by order
    first: list[int] | None  # first jobs of the published windows, if known


def folder_of(path: str | None) -> Path:
    """The folder of logs. Raises InputError where there is none."""
    oracles = os.environ.get("PACKENV_ORACLES")
    folder = Path(path) if path is not None else Path(oracles or "") / "rlscheduler"
    if path is None and (oracles is None or not folder.is_dir()):
        raise InputError("rlscheduler: name the folder of the logs (*.swf): --trace FOLDER")
    if not folder.is_dir():
        raise InputError(f"rlscheduler: {folder} is not a folder of logs (*.swf)")
    return folder


def read_study(folder: Path) -> Study:
    """The logs of a folder, and the published cells and windows where they lie beside them. Raises InputError."""
    paths = sorted(path for path in folder.iterdir() if path.name.lower().endswith((".swf", ".swf.gz")))
    if not paths:
        raise InputError(f"rlscheduler: {folder} has no logs (*.swf)")
    logs = {}
    for path in paths:
        workload = packenv.workload(path, servers=1, slot_seconds=1)
        if workload.jobs is None or len(workload.jobs) < 2 * JOBS:
            raise InputError(f"rlscheduler: {path} has fewer than {2 * JOBS} jobs")
        logs[table_name(path)] = workload
    cells: dict[tuple[str, str, str], dict[str, float]] = {}
    for row in _rows(folder / PUBLISHED):
        where = row.pop("log"), row.pop("backfilling"), row.pop("measure")
        cells[where] = {order: float(cell) for order, cell in row.items()}
    first = [int(row["first_job"]) for row in _rows(folder / WINDOWS)] or None
    return Study(logs, cells, first)


def table_name(path: Path) -> str:
    """The name that the published table gives a log, or that of its file."""
    plain = re.sub(r"[^a-z0-9]", "", path.name.lower())
    return next((name for begin, name in LOGS.items() if plain.startswith(begin)), path.name)


def _rows(path: Path) -> list[dict[str, str]]:
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return [*csv.DictReader(file)]


def ten_windows(study: Study, log: str) -> list[int]:
    """The first jobs of the published windows, or of ten that are spread over the log."""
    last = len(jobs_of(study.logs[log])) - JOBS
    known = study.first is not None and max(study.first) <= last
    return study.first if known and study.first else [round(last * n / 9) for n in range(10)]


def all_windows(workload: Workload, stride: int) -> list[int]:
    return [*range(0, len(jobs_of(workload)) - JOBS + 1, stride)]


def jobs_of(workload: Workload) -> Jobs:
    assert workload.jobs is not None
    return workload.jobs


def window(workload: Workload, first: int) -> Workload:
    """Jobs `first` to `first` + 1,023 alone, from the first one's submission on; the log's clock goes on."""
    jobs, rows = jobs_of(workload), slice(first, first + JOBS)
    estimate = None if jobs.estimate is None else jobs.estimate[rows]
    part = Jobs(jobs.arrival[rows] - jobs.arrival[first], jobs.demand[rows], jobs.service[rows], estimate=estimate)
    return workload.with_(jobs=part, began=workload.began + float(jobs.arrival[first]), name=f"{workload.name}, {first}")


def of_engine(log: Log, first: list[int], order: str, backfilling: bool, as_coded: bool) -> Outcome:
    """The means over windows."""
    parts = [log.window(k, JOBS) for k in first]
    outcomes = [outcome_of(part, run(part, ORDERS[order], backfilling, as_coded)) for part in parts]
    return Outcome(*np.mean(outcomes, axis=0).tolist())


def of_packenv(logs: dict[str, Workload], first: dict[str, list[int]], options: RunOptions) -> dict[tuple[str, str, str], Floats]:
    """By log, kind and order: (windows, 2) the mean bounded slowdown and the utilisation of each window."""
    windows = {log: [window(workload, k) for k in first[log]] for log, workload in logs.items()}
    cases = [(log, kind, order) for (kind, order) in POLICIES for log in logs]
    play = {"drain": True, "schedule": True, "slowdown_bound": BOUND}
    runs = [Run(part, POLICIES[kind, order], options=play) for log, kind, order in cases for part in windows[log]]
    outcomes = iter(extract_all(runs, outcome_in_packenv, options, "rlscheduler"))
    return {(log, kind, order): np.array([next(outcomes) for _ in windows[log]]) for log, kind, order in cases}


def outcome_in_packenv(workload: Workload, result: Result) -> Outcome:
    """What the published table measures: the utilisation up to the last start."""
    assert result.response is not None and result.schedule is not None
    jobs, last = jobs_of(workload), float(result.schedule.start.max())
    work = float(jobs.demand[:, 0] / packenv.UNIT @ jobs.service)
    return Outcome(result.response.mean_slowdown, work / last)


__all__ = ["Study", "all_windows", "folder_of", "log_of", "of_engine", "of_packenv", "read_study", "ten_windows", "window"]
