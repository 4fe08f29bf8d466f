"""`packenv bench`: the speed of this installation. Times are the best of several, to reduce the effect of a busy machine."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import click
from rich.console import Console

from experiments.bench import environments as bench_envs
from experiments.bench.jobs import job_speeds
from experiments.bench.theory import bracket_times, schedule_times
from packenv.cli.options.of_fields import JSON
from packenv.cli.outputs import check_files
from packenv.cli.tables import print_table
from packenv.content.tables import Column, Styled, Table, numbers
from packenv.content.text import number
from packenv.files import write_json

POLICIES = {"bf-js": 12.0, "vqs-bf": 10.0, "fifo-ff": 10.0, "vqs": None}
"""Target throughput of each policy, as a multiple of the yardstick's steps per second; None: no target."""

OPTIMAL = {"msr:types=20,backfill": 5.0, "kmw:types=20,backfill": 5.0}
"""The same of policies that know the law, at OPTIMAL_INTENSITY: with 20 types they support 0.89 of the area bound."""

LEFT_OUT = ("met", "target")
"""Columns that a narrow terminal does without, the first of them first."""

GROWTH = 2.5
"""The cost per task must stay below this multiple of that in the smallest cluster or backlog."""

MEAN_SIZE, MEAN_SERVICE, INTENSITY = 0.05, 100, 0.9
OPTIMAL_INTENSITY = 0.85
TOO_LONG = 5_000_000  # tasks in a run that is not repeated
COLD = """
import sys, time, packenv
workload = packenv.workload("paper/fig4b")
def seconds():
    began = time.perf_counter()
    packenv.simulate(workload, sys.argv[1], slots=1000)
    return time.perf_counter() - began
print(seconds() - seconds())
"""


class Row(NamedTuple):
    """One measurement; `ratio` is to the yardstick, or to the first of a series of costs."""

    group: str
    what: str
    measured: float
    unit: str
    ratio: float | None = None
    target: float | None = None  # of the ratio, at least
    limit: float | None = None  # of the ratio, not reached

    @property
    def met(self) -> bool | None:
        if self.ratio is None or (self.target is None and self.limit is None):
            return None
        return (self.target is None or self.ratio >= self.target) and (self.limit is None or self.ratio < self.limit)


class Cost(NamedTuple):
    """Seconds per task, and a note for the table."""

    seconds: float
    note: str = ""


class Effort(NamedTuple):
    """How often and how much is measured."""

    repeats: int
    tasks: int
    servers: tuple[int, ...]
    backlogs: tuple[int, ...]
    environments: bench_envs.EnvEffort
    instances: int


QUICK = Effort(1, 200_000, (1_000, 10_000), (100, 10_000), bench_envs.QUICK, 5)
FULL = Effort(3, 1_000_000, (1_000, 10_000, 100_000), (100, 10_000, 1_000_000), bench_envs.FULL, 20)


@click.command()
@click.option("--quick", is_flag=True, help="Measure once, without the largest clusters and backlogs.")
@click.option("--json", "json_path", type=JSON, help="Write all measurements as JSON; - is standard output.")
def bench(quick: bool, json_path: str | None) -> None:
    """Measure the speed of this installation, against one CartPole-v1 environment of Gymnasium on the same core.

    If PACKENV_TRACES names a folder with google2011_tasks.parquet (and raw/google2011), the Google trace is measured too.
    Run nothing else meanwhile. Ctrl-C shows what was measured so far.
    """
    check_files(json_path)
    console = Console()
    rows: list[Row] = []
    try:
        with console.status("starting") as status:
            for row in measurements(QUICK if quick else FULL, lambda what: status.update(f"measuring {what}")):
                rows.append(row)
    finally:
        if rows:
            print_table(table_of(rows))
            if json_path is not None:
                write_json(json_path, [row._asdict() | {"met": row.met} for row in rows])


def measurements(effort: Effort, say: Callable[[str], None]) -> Iterator[Row]:
    """All rows, in the order of the table."""
    say("the yardstick")
    yardstick = max(cartpole_steps() for _ in range(effort.repeats))
    yield Row("throughput", "yardstick: CartPole-v1, one environment", yardstick, "steps/s", 1.0)
    for name, target in (POLICIES | OPTIMAL).items():
        say(f"the throughput of {name}")
        intensity = OPTIMAL_INTENSITY if name in OPTIMAL else INTENSITY
        speed = 1 / cost(name, 1000, effort.tasks, effort.repeats, intensity)
        what = f"{name}: {effort.tasks:,} tasks, 1,000 servers"
        yield Row("throughput", what, speed, "tasks/s", speed / yardstick, target)
    for name in POLICIES:
        say(f"{name} on larger clusters")
        yield from _series("servers", name, effort.servers, partial(server_cost, name, effort.repeats))
    for name in POLICIES:
        say(f"{name} on longer queues")
        yield from _series("waiting tasks", name, effort.backlogs, partial(backlog_cost, name, effort.repeats))
    traces = Path(os.environ["PACKENV_TRACES"]) if os.environ.get("PACKENV_TRACES") else None
    if traces is not None:
        yield from trace_rows(traces, effort, say)
    for proof in bracket_times(traces, effort.repeats, say):
        share = proof.seconds / proof.target
        yield Row("bracket on ρ*, against the time allowed", proof.what, proof.seconds, "s", share, limit=1.0)
    for search in schedule_times(effort.instances, say):
        share = search.seconds / search.target
        yield Row("offline optimum, against the time allowed", search.what, search.seconds, "s", share, limit=1.0)
    with_sb3 = find_spec("sb3_contrib") is not None
    for measured in bench_envs.environment_rows(cartpole_steps, effort.environments, say, with_sb3):
        yield Row(*measured)
    for reached in job_speeds(effort.repeats, say):
        yield Row(reached.group, reached.what, reached.measured, reached.unit, reached.measured / reached.target, target=1.0)
    say("the start")
    yield from start_rows(effort)


def _series(of: str, name: str, values: tuple[int, ...], measure: Callable[[int], Cost]) -> Iterator[Row]:
    """Cost per task for each of `values` servers or waiting tasks, relative to the first value."""
    first = None
    for value in values:
        cost = measure(value)
        limit = None if first is None else GROWTH
        first = first or cost.seconds
        what = f"{name}: {value:,} {of}{cost.note}"
        yield Row(f"cost per task by {of}", what, cost.seconds * 1e9, "ns", cost.seconds / first, limit=limit)


def cartpole_steps(steps: int = 100_000) -> float:
    """Steps per second of one environment: alternating actions, reset where an episode ends."""
    import gymnasium

    environment = gymnasium.make("CartPole-v1")
    environment.reset(seed=0)
    began = time.perf_counter()
    for n in range(steps):
        _, _, terminated, truncated, _ = environment.step(n & 1)
        if terminated or truncated:
            environment.reset()
    return steps / (time.perf_counter() - began)


def crowd(servers: int, intensity: float = INTENSITY) -> Any:
    """A workload of many small tasks: about 18 in service per server."""
    import packenv
    from packenv.workloads.laws import Exponential, Geometric

    return packenv.Workload(sizes=Exponential(MEAN_SIZE), service=Geometric(MEAN_SERVICE), servers=servers, intensity=intensity)


def cost(name: str, servers: int, tasks: int, repeats: int, intensity: float = INTENSITY) -> float:
    """Seconds per task, the best of several runs from an empty cluster."""
    import packenv

    workload = crowd(servers, intensity)
    slots = max(1, round(tasks / workload.rate))
    runs = [packenv.simulate(workload, name, slots=slots) for _ in range(1 if tasks > TOO_LONG else repeats)]
    return min(run.seconds / run.started for run in runs)


def server_cost(name: str, repeats: int, servers: int) -> Cost:
    """The cost per task in a run of ten times as many tasks as are in service at once."""
    return Cost(cost(name, servers, round(10 * servers * INTENSITY / MEAN_SIZE), repeats))


def backlog_cost(name: str, repeats: int, waiting: int, fill: int = 200, steady: int = 2000) -> Cost:
    """The cost per task on 1,000 full servers with about `waiting` tasks left waiting in each slot; the note has the mean.

    As many tasks as start arrive in the next slot. The cost is the difference of a long and a short run, without the start.
    """
    import packenv

    workload = crowd(1000)
    backlog = waiting + round(workload.area_bound / MEAN_SERVICE)
    short, long = (
        min(
            (packenv.simulate(workload, name, slots, backlog=backlog, warmup=0) for _ in range(repeats)),
            key=lambda run: run.seconds,
        )
        for slots in (fill, fill + steady)
    )
    seconds = (long.seconds - short.seconds) / max(long.started - short.started, 1)
    return Cost(seconds, f", {long.mean_queue:,.0f} on average")


def trace_rows(folder: Path, effort: Effort, say: Callable[[str], None]) -> Iterator[Row]:
    """Seconds to read the Google trace in both formats, and of each policy on it."""
    import packenv
    from packenv.workloads.traces import read_trace

    def read_jobs(path: Path) -> packenv.Jobs:
        return read_trace(path).jobs().jobs

    for form, path in (("Parquet", folder / "google2011_tasks.parquet"), ("native", folder / "raw" / "google2011")):
        if path.exists():
            say(f"reading {path.name}")
            seconds = min(_seconds(read_jobs, path) for _ in range(effort.repeats))
            yield Row("Google trace", f"read, {form}", seconds, "s")
    if not (folder / "google2011_tasks.parquet").exists():
        return
    jobs = read_jobs(folder / "google2011_tasks.parquet")
    workload = packenv.Workload(jobs=jobs, servers=200)
    for name in POLICIES:
        say(f"{name} on the Google trace")
        seconds = min(packenv.simulate(workload, name).seconds for _ in range(effort.repeats))
        yield Row("Google trace", f"{name}: {len(jobs):,} tasks, 200 servers", seconds, "s")


def start_rows(effort: Effort) -> Iterator[Row]:
    """Seconds that a user waits before the first result: import, commands and first compilation."""
    timed = "import time; began = time.perf_counter(); import packenv; print(time.perf_counter() - began)"
    yield Row("start", "import packenv", min(float(_python("-c", timed)) for _ in range(5)), "s")
    command = ("-m", "packenv.cli.main", "evaluate")
    for what, arguments in (
        ("packenv evaluate --help", (*command, "--help")),
        ("packenv evaluate, 1,000 slots, compiled before", (*command, "paper/fig4b", "-p", "bf-js", "--slots", "1000")),
    ):
        _python(*arguments)
        yield Row("start", what, min(_seconds(_python, *arguments) for _ in range(effort.repeats)), "s")
    first, then = zip(*(cold_compiles("bf-js", "vqs-bf") for _ in range(effort.repeats)), strict=True)
    yield Row("start", "compilation of bf-js, empty cache", min(first), "s")
    yield Row("start", "compilation of vqs-bf after it", min(then), "s")


def cold_compiles(*names: str) -> list[float]:
    """Seconds to compile policies one after the other, the first with an empty cache: a first run's less a second's."""
    with tempfile.TemporaryDirectory() as empty:
        return [float(_python("-c", COLD, name, PACKENV_CACHE=empty)) for name in names]


def _python(*arguments: str, **environment: str) -> str:
    """The output of this Python interpreter, run with these arguments and environment variables."""
    done = subprocess.run([sys.executable, *arguments], env=os.environ | environment, capture_output=True, text=True, check=True)
    return done.stdout


def _seconds(work: Callable[..., object], *arguments: Any) -> float:
    began = time.perf_counter()
    work(*arguments)
    return time.perf_counter() - began


def table_of(rows: list[Row]) -> Table:
    """A table of the measured value, the ratio and the target of each row."""
    table = Table("packenv bench", [Column(""), *numbers("measured", "ratio", "target", "met")], spare=LEFT_OUT)
    group = None
    for row in rows:
        if row.group != group:
            table.add(row.group, "", "", "", "", style="bold")
            group = row.group
        met = "" if row.met is None else Styled("yes", "green") if row.met else Styled("no", "red")
        ratio = "" if row.ratio is None else f"{row.ratio:.3g}"
        target = f"≥ {row.target:.3g}" if row.target is not None else f"< {row.limit:.3g}" if row.limit is not None else ""
        table.add(row.what, f"{number(row.measured)} {row.unit}", ratio, target, met)
    return table
