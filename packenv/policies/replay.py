"""`replay` and `sat`: start every task as a schedule says.

A schedule names slot and server of each task. An infeasible one is an error.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from packenv.cluster import NONE, Cluster, Needs, fits, new_count, new_task, now, place, row_of, wake_at
from packenv.errors import InputError
from packenv.inputs.text_files import reading
from packenv.policy import Setting, schedules
from packenv.theory.makespan.optimum import optimal_schedule
from packenv.theory.makespan.tasks import tasks_of

NEVER = -1


class Starts(NamedTuple):
    """The starts of a schedule in order of slot, and how many are done."""

    rows: NDArray[np.int64]  # (starts,) rows of the Jobs table, sorted by slot
    slot: NDArray[np.int64]  # (starts,)
    server: NDArray[np.int64]  # (starts,)
    task: NDArray[np.int64]  # (rows of the table,) index of each row in the pool of tasks; NONE before it is eligible
    begun: NDArray[np.int64]  # (1,) number of starts that are done


class Replaying(NamedTuple):
    """Parameters of the compiled rule: none. `Replay` and `Sat` share it."""


class Replay(NamedTuple):
    """Start row i in slot `start[i]` on `server[i]`; -1 is never.

    Raises InputError if the schedule has another length than the table, or starts a row before it is eligible or without room.
    """

    start: NDArray[np.integer[Any]]  # (n,) slots
    server: NDArray[np.integer[Any]]  # (n,)
    name: str = "replay"

    @property
    def rule(self) -> Replaying:
        return Replaying()

    def needs(self, setting: Setting) -> Needs:
        return replay_needs(setting)

    def initial_state(self, setting: Setting, seed: int) -> Starts:
        return starts_of(setting, self.start, self.server, self.name)


def replay_needs(setting: Setting) -> Needs:
    """Return the table without orders: the schedule names everything."""
    return Needs(vectors=setting.capacity.shape[1] > 1, table=True, reads=True)


def starts_of(setting: Setting, start: NDArray[Any], server: NDArray[Any], name: str) -> Starts:
    """Return the checked schedule `start`, `server` (rows,) as state (InputError)."""
    rows = len(setting.table)
    if len(start) != rows:
        raise InputError(f"{name}: a schedule of {len(start)} tasks, for a table of {rows}")
    fault = tasks_of(setting.workload).fault(start, server)
    if fault is not None:
        raise InputError(f"{name}: {fault}")
    order = np.argsort(start, kind="stable")
    order = order[start[order] >= 0]
    slot, where = start[order].astype(np.int64), server[order].astype(np.int64)
    return Starts(order, slot, where, np.full(rows, NONE, np.int64), np.zeros(1, np.int64))


@schedules(Replaying)
def schedule_replay(policy: Replaying, cluster: Cluster, state: Starts) -> None:
    for n in range(new_count(cluster)):
        task = new_task(cluster, n)
        if task != NONE:
            state.task[row_of(cluster, task)] = task
    n = state.begun[0]
    while n < len(state.rows) and state.slot[n] <= now(cluster):
        task = state.task[state.rows[n]]
        if task == NONE or state.slot[n] < now(cluster) or not fits(cluster, task, state.server[n]):
            raise ValueError("a start of the schedule is refused: the task is not eligible in that slot, or has no room")
        place(cluster, task, state.server[n])
        n += 1
    state.begun[0] = n
    if n < len(state.rows):
        wake_at(cluster, state.slot[n])


def find_replay(text: str) -> Replay:
    """Start every task as in a schedule of `packenv evaluate --schedule FILE`."""
    if not text:
        raise InputError("replay needs a schedule: replay:FILE")
    import pyarrow as pa
    from pyarrow import csv, parquet

    if not Path(text).is_file():
        raise InputError(f"replay: there is no file {text}")
    with reading(text, pa.ArrowException):
        of_csv = Path(text).suffix.lower() == ".csv"
        table = csv.read_csv(text, csv.ReadOptions(use_threads=False)) if of_csv else parquet.read_table(text, use_threads=False)
        names = table.column_names
    task = "job" if "job" in names and "task" not in names else "task"  # files of 0.2.0: `job`
    missing = [name for name in (task, "start", "server") if name not in names]
    if missing:
        raise InputError(f"{text}: no column {missing[0]!r}; a schedule has task, start and server")
    row, start, server = (_integers(text, name, table[name]) for name in (task, "start", "server"))
    if not np.array_equal(np.sort(row), np.arange(len(row))):
        raise InputError(f"{text}: not one schedule: column {task} must hold every row of the table once")
    order = np.argsort(row)
    return Replay(start[order], server[order], f"replay:{Path(text).name}")


def _integers(file: str, name: str, column: Any) -> NDArray[np.int64]:
    """Return an integer column, with NEVER for nulls (InputError)."""
    import pyarrow as pa

    if not (pa.types.is_integer(column.type) or pa.types.is_null(column.type)):
        raise InputError(f"{file}: column {name} must hold integers, not {column.type}")
    with reading(file, pa.ArrowException):  # unsigned integers may be too large
        return np.asarray(column.cast(pa.int64()).fill_null(NEVER).to_numpy(), np.int64)


find_replay.takes_text = True  # type: ignore[attr-defined]


class Sat(NamedTuple):
    """Replay the shortest schedule found in `limit` seconds.

    The SAT scheduler of Zhang and Yao (PAPERS §3) knows all jobs in advance. The search also stops within `gap` of the lower
    bound. `fixed`: each task is assigned in advance to the server with the least work. `workers`: cores used, 0 for all.
    """

    limit: float = 60.0
    fixed: bool = False
    workers: int = 0  # 0: all cores
    gap: float = 0.0

    def needs(self, setting: Setting) -> Needs:
        return replay_needs(setting)

    def initial_state(self, setting: Setting, seed: int) -> Starts:
        optimum = optimal_schedule(
            setting.workload, self.limit, gap=self.gap, fixed_allocation=self.fixed, workers=self.workers or None, seed=seed
        )
        return starts_of(setting, optimum.schedule.start, optimum.schedule.server, "sat")

    @property
    def rule(self) -> Replaying:
        return Replaying()

    @property
    def rehearsal(self) -> Sat:
        """This policy with a minimal search, to compile the same code."""
        return self._replace(limit=1e-3)
