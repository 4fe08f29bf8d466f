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
        raise ArgumentError(f"`columns` is of the form {form}, not {text!r}")
    return {ours.strip(): theirs.strip() for ours, _, theirs in pairs}


@dataclass(frozen=True)
class Setting:
    """Servers and arriving tasks. None if not given."""

    source: str | None = None
    servers: str | None = option(
        None, "Servers: 5; by capacity: 3x1,2x0.5; of two resources: 3x1:0.5; or a file (also a trace's machines)."
    )
    sizes: str | None = option(None, "Law of sizes: uniform:0.1:0.9, discrete:0.4@0.5,0.6@0.5, constant:0.5, …")
    service: str | None = option(None, "Law of service, in slots or times: geometric:100, fixed:90min, lognormal:MEAN:CV, …")
    arrivals: str | None = option(
        None, "Process of arrivals: poisson, bernoulli, modulated:1,10:500,50, periodic:…, batch:LAW, gang:LAW."
    )
    load: float | Sequence[float] | None = option(None, "Arrivals as a share of ρ*, the maximum supportable workload.")
    intensity: float | Sequence[float] | None = option(None, "Arrivals as a share of the area bound (the papers' α).")
    rate: float | Sequence[float] | None = option(None, "Tasks per slot.")
    resources: str | None = option(
        None,
        "Resources of a task that count: `all`, or names (cpu,memory); `max`, or max:cpu,memory: only the largest  "
        "[default: max; of a .json all; of a trace all where servers have several capacities, or tasks ask for more than 1].",
    )


@dataclass(frozen=True)
class Reading:
    """Options for reading a trace or a table of tasks.

    A new option is one line here. All verbs and commands that read traces then have it.
    """

    slot_seconds: str | None = option(
        None, "Seconds in a slot, for a trace: an exact decimal  [default: .swf 1, .tr 0.0005, others 0.1].", metavar="H"
    )
    columns: str | None = option(
        None,
        "Names of a table's columns by ours: submit_time_s=Submitted,duration_s=Elapsed,cpu=Cores.",
        metavar="OURS=THEIRS,…",
    )
    time_unit: TimeUnit | None = option(None, "What a table's times and durations count, where they are numbers  [default: s].")
    partition: str | None = option(None, "Partitions of a log (Slurm's, .swf) whose jobs count, with commas.")
    finished_only: bool | None = option(
        None,
        "Leave out tasks that failed or were cancelled after their start  [default: of Google's traces only].",
        "--finished-only/--all-tasks",
    )
    estimates: Estimates | None = option(
        None, "Told of durations: the log's requests; true ones; or, where a task has none, the longest request."
    )
    devices: bool | None = option(
        None,
        "Each GPU of a server counts for itself, or all are one amount  [default: as traces say].",
        "--devices/--one-amount",
    )
    gangs: bool | None = option(
        None,
        "Tasks of a job that come together start together, or each by itself  [default: as traces say].",
        "--gangs/--one-by-one",
    )
    speedup: str = option("1", "β: arrivals of a trace come this many times as fast.")

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
class WorkloadOptions(Reading, Setting):
    """Options that choose the workload. None if not given."""

    racks: Count | None = option(None, "So many servers in a rack, for tables that say where data lie.")
    network: str | None = option(None, "Remote overheads are multiplied by F from second S on: 0:1,600:4.", metavar="S:F,…")
    reading: str | None = option(
        None, "What a task away from its data takes of each resource beyond its demand.", metavar="A:B:…"
    )
    serving: str | None = option(None, "And what it takes on the server that has the data.", metavar="A:B:…")

    def __post_init__(self) -> None:
        if sum(getattr(self, key) is not None for key in INTENSITIES) > 1:
            raise ArgumentError("give one of `load`, `intensity` and `rate`")
        super().__post_init__()


@dataclass(frozen=True)
class ProcessOptions:
    """Where runs are made, and whether the first failure ends all."""

    processes: Count | None = option(None, "Runs at the same time  [default: one per core].")
    on: str = option(PROCESSES, "processes; ray: a cluster's, or a new local one's; ray://HOST:PORT.", metavar="WHERE")
    fail_fast: bool = option(False, "End at the first run that fails, and show where it did.")
