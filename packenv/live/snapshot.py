"""Running and waiting tasks of a real cluster, from tables or Slurm."""

from __future__ import annotations

import csv
from collections.abc import Collection
from pathlib import Path
from typing import Any

from packenv.errors import InputError
from packenv.inputs.text_files import lines_of
from packenv.workloads.find import room_of

SLURM = {
    **{"jobid": "task", "state": "state", "nodelist": "server", "alloctres": "tres", "reqtres": "tres", "cpus": "cpu"},
    **{"ncpus": "cpu", "alloccpus": "cpu", "reqcpus": "cpu", "timelimit": "limit", "time_limit": "limit"},
    **{"min_memory": "memory", "reqmem": "memory"},
}
"""Fields of `squeue` and `sacct`, in lower case."""

SLURM_FORM = "squeue -o '%i|%T|%N|%C|%m|%l', or sacct --parsable2 --format JobID,State,NodeList,AllocTRES,ReqTRES,Timelimit"


def tasks_of(source: Any, resources: Collection[str], slot_seconds: float) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return arguments of `Scheduler.submit` for each task, and those of `Scheduler` that the source contains."""
    if not isinstance(source, (str, Path)):
        from packenv.workloads.traces.read import arrow_table  # loads pyarrow

        return [_filled(row) for row in arrow_table(source).to_pylist()], {}
    room = room_of(str(source))
    if room is None:
        return _slurm_tasks(Path(source), resources, slot_seconds), {}
    if not hasattr(room, "tasks_of"):
        raise InputError(f"{source}: its reader has no running tasks")
    tasks, arguments = room.tasks_of(str(source))
    return tasks, arguments


def _filled(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row without empty cells, with whole numbers in names."""
    cells = {key: value for key, value in row.items() if value not in (None, "") and value == value}  # without NaN
    names = ("task", "server", "gang", "after", "job", "since")
    return cells | {key: int(cells[key]) for key in names if type(cells.get(key)) is float}


def _slurm_tasks(path: Path, resources: Collection[str], slot_seconds: float) -> list[dict[str, Any]]:
    """Return the running and waiting jobs of one node each, from lines with `|` between fields. Raises InputError."""
    from packenv.workloads.traces.formats.sacct import RUNS, WAITS, amount_of, memory_of, seconds_of

    lines = csv.reader(lines_of(path), delimiter="|")
    fields, tasks = [SLURM.get(name.strip().lower(), "") for name in next(lines, [])], []
    if not {"task", "state", "server"} <= {*fields} or not {"cpu", "tres"} & {*fields}:
        raise InputError(f"{path}: fields are missing: print {SLURM_FORM}")
    for number, cells in enumerate(lines, 2):
        row = {field: cell.strip() for field, cell in reversed([*zip(fields, cells, strict=False)]) if cell.strip()}
        state, name, server = row.get("state", "").split(" ")[0], row.get("task", "."), row.get("server", "")
        if "." in name or state not in (*RUNS, *WAITS):
            continue  # steps, and jobs that have ended
        runs = state in RUNS and server
        if runs and {*"[,"} & {*server}:
            raise InputError(f"{path}: line {number}: job {name} is on {server}: give a table with its parts")
        amounts: dict[str, Any] = {key: amount_of(row.get("tres", ""), key) for key in ("cpu", "memory", "gpu")}
        amounts["cpu"] = amounts["cpu"] or row.get("cpu")
        amounts["memory"] = amounts["memory"] or memory_of(row.get("memory", ""))
        limit = seconds_of(row.get("limit", ""))
        tasks.append(
            {"task": name}
            | ({"server": server} if runs else {})
            | {key: amount for key, amount in amounts.items() if key in resources and amount}
            | ({} if limit is None else {"estimate": max(limit / slot_seconds, 1.0)})
        )
    return tasks
