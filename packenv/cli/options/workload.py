"""Command-line options that name policies and a workload: by name, as a file, as a trace, or law by law."""

from __future__ import annotations

import functools
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from packenv.errors import InputError, RowError
from packenv.jobs import Jobs
from packenv.policy import find_policy
from packenv.workloads.demand import check_fits, fitting
from packenv.workloads.laws import Law, parse_law
from packenv.workloads.named.blocks import Placed
from packenv.workloads.named.registry import workload
from packenv.workloads.network import Network, parse_network
from packenv.workloads.resources import chosen_resources, with_resources
from packenv.workloads.servers import Servers, as_servers
from packenv.workloads.workload import INTENSITIES, Workload

if TYPE_CHECKING:  # brings pyarrow with it
    from packenv.workloads.kubernetes.cluster import Cluster
    from packenv.workloads.kubernetes.durations import Durations
    from packenv.workloads.traces import SlotTrace, Trace

FITS_NO_SERVER = "tasks that fit no server"
ONE_AMOUNT = "tasks ask for parts of a GPU, and a node's GPUs count as one amount: more may run at once than on real devices"
SLOT_SECONDS_HELP = "Seconds in a slot, for a trace: an exact decimal  [default: job lines (.tr) 0.0005, others 0.1]."
RESOURCES_HELP = "Resources of a task that count: `all`, or names (cpu,memory); `max`, or max:cpu,memory: only the largest."
DEFAULT_POLICIES = ("bf-js", "vqs", "vqs-bf", "fifo-ff")


def chosen_policies(names: tuple[str, ...]) -> tuple[str, ...]:
    """The policies named, each once, or DEFAULT_POLICIES. Raises InputError for an unknown one."""
    chosen = tuple(dict.fromkeys(names or DEFAULT_POLICIES))
    for name in chosen:
        find_policy(name)
    return chosen


@dataclass(frozen=True)
class WorkloadOptions:
    """The options of a command that say what the workload is; None where one was not given."""

    source: str | None
    servers: str | None = None
    sizes: str | None = None
    service: str | tuple[Law, ...] | Durations | None = None
    load: float | None = None
    intensity: float | None = None
    rate: float | None = None
    resources: str = "max"
    slot_seconds: str | None = None  # None: what is usual for the trace's form
    speedup: str = "1"
    racks: int | None = None
    network: str | None = None
    reading: str | None = None
    serving: str | None = None


def workload_from(options: WorkloadOptions, servers: str | None = None) -> tuple[Workload, dict[str, int]]:
    """The workload, and how many rows of a trace were dropped for which reason. Raises InputError.

    `servers`: those of a trace for which none are given.
    """
    network = parse_network(options.racks, options.network, options.reading, options.serving)
    if is_cluster_file(options.source):
        return as_it_is(options)
    if options.source is not None and _is_file(options.source) and not _is_workload(options.source):
        return _trace(replace(options, servers=options.servers or servers), options.source, network)
    changes: dict[str, Any] = {key: getattr(options, key) for key in INTENSITIES if getattr(options, key) is not None}
    if options.servers is not None:
        changes["servers"] = options.servers
    if network is not None:
        changes["network"] = network
    if options.sizes is not None:
        changes["sizes"] = parse_law(options.sizes, "--sizes")
    if options.service is not None:
        changes["service"] = parse_law(str(options.service), "--service")
    if len(set(INTENSITIES) & set(changes)) > 1:
        raise InputError("give one of --load, --intensity and --rate")
    if options.speedup != "1":
        raise InputError("--speedup goes with a trace; a workload's arrivals are given by --intensity, --load or --rate")
    if options.source is not None:
        named = workload(options.source)
        reduced = with_resources(named, *chosen_resources(options.resources))
        if "servers" in changes:
            changes["servers"] = _servers(options, reduced.D, reduced.resources)
        return _with_rate(reduced.with_(**changes)), {}
    if "sizes" not in changes:
        raise InputError("name a workload or a trace, or give --sizes (see `packenv list`)")
    custom: dict[str, Any] = {"servers": 1, "service": parse_law("geometric:100", "--service"), "name": options.sizes} | changes
    if not set(INTENSITIES) & set(changes):
        custom["intensity"] = 0.9
    return _with_rate(Workload(**custom)), {}


def workload_told(options: WorkloadOptions, servers: str | None = None) -> Workload:
    """The workload, for commands whose output does not say what of it is left out: standard error does. Raises InputError."""
    found, dropped = workload_from(options, servers)
    if left_out := dropped_rows(dropped):
        _note(f"{found.name}: dropped rows: {left_out}")
    return found


def dropped_rows(dropped: dict[str, int]) -> str:
    """How many rows were dropped for which reason; empty for none."""
    return ", ".join(f"{count:,} {reason}" for reason, count in dropped.items() if count)


def note_devices(recorded: Trace | SlotTrace) -> None:
    """Say on standard error where the result leaves out that a share of a GPU is one of a single device."""
    if recorded.device_shares:
        _note(f"{Path(recorded.source).name}: {ONE_AMOUNT}")


@functools.cache  # once, also where a command reads a trace several times
def _note(line: str) -> None:
    print(f"packenv: {line}", file=sys.stderr, flush=True)


def with_durations(options: WorkloadOptions, path: str | None) -> WorkloadOptions:
    """The options with past durations by owner, or with those of a trace in stretches, if a file is named. Raises InputError."""
    if path is None:
        return options
    if not is_cluster_file(options.source):
        raise InputError("--durations goes with a cluster as kubectl prints it")
    if options.service is not None:
        raise InputError("give one of --service and --durations")
    from packenv.workloads.kubernetes.durations import is_durations, read_durations
    from packenv.workloads.kubernetes.started import stretches
    from packenv.workloads.traces import read_trace

    if is_durations(path):
        return replace(options, service=read_durations(path))
    return replace(options, service=stretches(read_trace(path).jobs(slot_seconds=options.slot_seconds or "1").jobs.service))


def shown_slot(options: WorkloadOptions, found: Workload) -> float | None:
    """Seconds of a slot, in which people are shown times; None for a trace in slots whose length nobody gave."""
    source = options.source
    if source is None or options.slot_seconds is not None or not _is_table(source):
        return found.slot_seconds
    from packenv.workloads.traces.columns import names_of
    from packenv.workloads.traces.user import SLOT_FORM

    return None if set(SLOT_FORM) <= set(names_of(Path(source))) else found.slot_seconds


def _is_table(source: str) -> bool:
    return source.endswith((".csv", ".csv.gz", ".parquet")) and Path(source).is_file()


def _with_rate(found: Workload) -> Workload:
    """Turn a load into a rate."""
    if found.load is None:
        return found
    from packenv.theory.capacity.load import resolved  # brings the solver with it

    return resolved(found)


def _is_file(source: str) -> bool:
    """Whether it is a path rather than a name: it exists, or looks like one."""
    endings = (".csv", ".tsv", ".parquet", ".swf", ".tr", ".gz")
    return Path(source).exists() or source.endswith(endings) or source.startswith((".", "/"))


def _is_workload(source: str) -> bool:
    """Whether a file describes a workload in JSON; a few forms of traces are JSON too."""
    if not source.endswith(".json"):
        return False
    from packenv.workloads.traces import is_trace  # brings pyarrow with it

    return not is_trace(source)


def is_cluster_file(source: str | None) -> bool:
    """Whether a file is what kubectl prints of a cluster."""
    if source is None or not source.endswith(".json"):
        return False
    from packenv.workloads.kubernetes import is_cluster  # brings pyarrow with it

    return is_cluster(Path(source))


def cluster_from(options: WorkloadOptions) -> tuple[Cluster, tuple[Law, ...] | Durations, float]:
    """The cluster of a file that kubectl printed, the laws of services, and the seconds of a slot. Raises InputError."""
    from packenv.workloads.kubernetes import read_cluster
    from packenv.workloads.traces.table import exact

    source = str(options.source)
    for option in ("sizes", *INTENSITIES, "servers", "racks", "network", "reading", "serving"):
        if getattr(options, option) is not None:
            raise InputError(f"--{option} does not go with a cluster as it is: {source} says it itself")
    if options.speedup != "1":
        raise InputError("--speedup does not go with a cluster as it is: all that waits is there")
    wanted, sizes = chosen_resources(options.resources)
    if sizes == "max" and wanted is not None:
        raise InputError("--resources max: does not go with a cluster as it is, whose nodes have several capacities: name them")
    service = options.service or ()
    laws = (parse_law(service, "--service"),) if isinstance(service, str) else service
    return read_cluster(source, wanted), laws, float(exact(options.slot_seconds or "1", "--slot-seconds"))


def as_it_is(options: WorkloadOptions, preemption: bool = True) -> tuple[Workload, dict[str, int]]:
    """The workload that begins where a cluster is, and what of the cluster is left out. Raises InputError."""
    cluster, laws, slot_seconds = cluster_from(options)
    return cluster.workload(laws or None, slot_seconds, preemption), cluster.left_out


def _trace(options: WorkloadOptions, source: str, network: Network | None) -> tuple[Workload, dict[str, int]]:
    from packenv.workloads.traces import Trace, read_trace
    from packenv.workloads.traces.philly_machines import beside, machines_left_out

    for option in ("sizes", "service", *INTENSITIES):
        if getattr(options, option) is not None:
            raise InputError(f"--{option} does not go with a trace, which says it itself")
    options = replace(options, servers=options.servers or beside(source))
    if options.servers is None:
        raise InputError("a trace needs --servers, for example --servers 160")
    wanted, sizes = chosen_resources(options.resources)
    recorded = read_trace(source, wanted)
    note_devices(recorded)
    slot_seconds = options.slot_seconds or recorded.slot_seconds
    converted = recorded.jobs(slot_seconds=slot_seconds, speedup=options.speedup, sizes=sizes)
    names = recorded.resources if sizes == "all" else None
    servers = _servers(options, converted.jobs.resources, names)
    fits = fitting(converted.jobs, servers)
    if not fits.any():
        check_fits(converted.jobs, servers)
    table = converted.jobs if fits.all() else converted.jobs.only(fits)
    jobs: Jobs | Placed = table
    if isinstance(recorded, Trace) and (blocks := recorded.kept_blocks()) is not None:
        jobs = Placed(table, blocks[fits], len(servers), options.racks or 0)
    try:
        made = Workload(
            jobs=jobs,
            servers=servers,
            network=network,
            name=Path(source).name,
            resources=names,
            slot_seconds=float(slot_seconds),
        )
    except RowError as error:
        raise InputError(f"{recorded.where(int(np.flatnonzero(fits)[error.row]))}: {error.problem}") from None
    too_large = {} if fits.all() else {FITS_NO_SERVER: int((~fits).sum())}
    return made, dict(converted.dropped) | too_large | machines_left_out(options.servers)


def _servers(options: WorkloadOptions, resources: int, names: tuple[str, ...] | None) -> Servers:
    assert options.servers is not None
    servers = as_servers(options.servers, resources, names)
    if servers.D > resources == 1:
        raise InputError(f"--servers {options.servers}: tasks have one size; use --resources all for several capacities")
    return servers
