"""Options that several verbs share: workloads, and where runs are made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal

from packenv.errors import ArgumentError
from packenv.options.fields import Count, option

DEFAULT_POLICIES = ("bf-js", "vqs", "vqs-bf", "fifo-ff")
DEVICE_POLICIES = ("bf-js", "bf-j", "fifo-ff")
"""Default policies for servers with devices."""
GANG_POLICIES = ("fifo-ff", "easy", "bf-js")
"""Default policies for tasks in gangs."""
DEFAULT_SLOTS = 200_000
INTENSITIES = ("load", "intensity", "rate")
"""Three measures of arrivals. A random workload has exactly one."""

SCHEDULE_FILES = (".parquet", ".csv")
"""File endings of schedules."""

PROCESSES, RAY = "processes", "ray"
"""Where runs are made (`packenv.executor`)."""

TimeUnit = Literal["s", "ms", "us", "ns", "min", "h"]
Estimates = Literal["recorded", "exact", "longest"]


def parse_columns(text: str | Mapping[str, str] | None) -> dict[str, str] | None:
    """Return a table's column names by ours.

    From `submit_time_s=Submitted,cpu=Cores` or a mapping. Raises InputError.
    """
    if text is None or isinstance(text, Mapping):
        return None if text is None else {**text}
    pairs = [part.partition("=") for part in text.split(",")]
    if not all(ours.strip() and equals and theirs.strip() for ours, equals, theirs in pairs):
        form = "submit_time_s=Submitted,duration_s=Elapsed,cpu=Cores"
        raise ArgumentError(f"`columns` must have the form {form}, not {text!r}")
    return {ours.strip(): theirs.strip() for ours, _, theirs in pairs}


@dataclass(frozen=True)
class SettingOptions:
    """Servers and arriving tasks. None if not given."""

    source: str | None = None
    servers: str | None = option(
        None,
        "Servers: 5; by capacity 3x1,2x0.5; of two resources 3x1:0.5; or a file.",
        metavar="SPEC",
        group="Workload",
        common=True,
    )
    sizes: str | None = option(None, "Task sizes: uniform:0.1:0.9, discrete:0.4@0.5,0.6@0.5, constant:0.5, …", metavar="LAW")
    service: str | None = option(
        None, "Service times, in slots or with units: geometric:100, fixed:90min, lognormal:MEAN:CV, …", metavar="LAW"
    )
    arrivals: str | None = option(
        None, "Process of arrivals: poisson, modulated:1,10:500,50, batch:geometric:4, …", metavar="LAW"
    )
    load: float | Sequence[float] | None = option(None, "Arrivals as a share of ρ*, the maximum supportable workload.")
    intensity: float | Sequence[float] | None = option(
        None, "Arrivals as a share of the area bound (the papers' α).", common=True
    )
    rate: float | Sequence[float] | None = option(None, "Arriving tasks per slot.")
    resources: str | None = option(
        None,
        "Resources that count: `all`; cpu,memory; `max` or max:cpu,memory: only the largest  [default: max; .json: all; "
        "traces: all if servers have several capacities or a task needs more than 1].",
        metavar="NAMES",
    )


@dataclass(frozen=True)
class Reading:
    """Options for reading a trace or a table of tasks.

    A new option is one line here. All verbs and commands that read traces then have it.
    """

    slot_seconds: str | None = option(
        None,
        "Seconds in a slot of a trace, an exact decimal  [default: .swf 1, .tr 0.0005, others 0.1, a table in slots none].",
        metavar="H",
        group="Table",
    )
    columns: str | None = option(
        None, "Your table's names of columns: submit_time_s=Submitted,cpu=Cores, …", metavar="OURS=YOURS,…"
    )
    time_unit: TimeUnit | None = option(None, "Unit of a table's times that are numbers  [default: s].")
    partition: str | None = option(None, "Partitions of a Slurm or .swf log to include, separated by commas.", metavar="NAMES")
    finished_only: bool | None = option(
        None,
        "Leave out tasks that failed or were cancelled after their start  [default: only in Google's traces].",
        "--finished-only/--all-tasks",
    )
    estimates: Estimates | None = option(
        None, "Durations policies see: requested, true, or longest request where none is recorded."
    )
    devices: bool | None = option(
        None, "Model each GPU separately, or pool a server's GPUs  [default: as in the trace].", "--devices/--one-amount"
    )
    gangs: bool | None = option(
        None, "Start a job's simultaneous tasks together, or each alone  [default: as in the trace].", "--gangs/--one-by-one"
    )
    speedup: str = option("1", "Speed up a trace's arrivals by this factor (β).", metavar="FACTOR")

    def __post_init__(self) -> None:
        parse_columns(self.columns)

    @property
    def theirs(self) -> dict[str, str] | None:
        """Names of a table's columns by ours."""
        return parse_columns(self.columns)

    def given(self) -> dict[str, Any]:
        """Return the options that are not at their defaults."""
        values = {item.name: getattr(self, item.name) for item in fields(Reading)}
        return {name: value for name, value in values.items() if value != getattr(AS_IT_IS, name)}

    def as_reading(self) -> Reading:
        """Return only the options of reading."""
        return Reading(**{item.name: getattr(self, item.name) for item in fields(Reading)})


AS_IT_IS = Reading()
"""Options of reading, all at their defaults."""

NOT_OF_ALL = ("estimates", "speedup")
"""Options of reading for commands with runs only."""

OF_TRACES = tuple(item.name for item in fields(Reading) if item.name not in NOT_OF_ALL)
"""Options of every command that reads a trace."""

OF_READING = tuple(item.name for item in fields(Reading) if item.name not in ("slot_seconds", "columns", "speedup"))
"""Options of traces only, refused with other workloads."""


@dataclass(frozen=True)
class WorkloadOptions(Reading, SettingOptions):
    """Options that choose the workload. None if not given."""

    racks: Count | None = option(None, "Servers per rack, for tables that record where data lie.", group="Data locality")
    network: str | None = option(None, "Multiply remote overheads by F from second S on: 0:1,600:4.", metavar="S:F,…")
    reading: str | None = option(None, "Additional demand of a task away from its data, per resource.", metavar="A:B:…")
    serving: str | None = option(None, "Demand on the server that has the data, per resource.", metavar="A:B:…")

    def __post_init__(self) -> None:
        if sum(getattr(self, key) is not None for key in INTENSITIES) > 1:
            raise ArgumentError("give one of `load`, `intensity` and `rate`")
        super().__post_init__()


@dataclass(frozen=True)
class ProcessOptions:
    """Where runs are made, and whether the first failure ends all."""

    processes: Count | None = option(None, "Runs at the same time  [default: one per core].", group="Run")
    on: str = option(PROCESSES, "Where to run: processes; ray (existing or new local cluster); ray://HOST:PORT.", metavar="WHERE")
    fail_fast: bool = option(False, "Stop at the first failed run, and show where it failed.")
