"""`packenv.workload`: the one function that makes a Workload of a name, a file, a trace or a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from packenv.errors import ArgumentError, InputError, RowError
from packenv.inputs.text_files import reading
from packenv.jobs import Jobs
from packenv.workloads.demand import fitting
from packenv.workloads.files import load_workload
from packenv.workloads.laws import parse_law
from packenv.workloads.named.blocks import Placed
from packenv.workloads.named.registry import ENDINGS, WORKLOADS, named_workload, unknown_workload
from packenv.workloads.network import Network
from packenv.workloads.resources import chosen_resources, with_resources
from packenv.workloads.servers import Servers, as_servers
from packenv.workloads.workload import INTENSITIES, Workload

if TYPE_CHECKING:
    from packenv.workloads.traces.table import Exact

FITS_NO_SERVER = "tasks that fit no server"
ONE_AMOUNT = "tasks ask for parts of a GPU, and a node's GPUs count as one amount: more may run at once than on real devices"
OF_STREAMS = ("sizes", "service", *INTENSITIES)
"""Arguments that a trace leaves no place for, since it says them itself."""


def workload(
    source: Any,
    *,
    servers: Servers | int | str | ArrayLike | None = None,
    slot_seconds: Exact | None = None,
    resources: str | Sequence[str] | None = None,
    speedup: Exact = 1,
    columns: Mapping[str, str] | None = None,
    network: Network | None = None,
    **changes: Any,
) -> Workload:
    """The workload with a name, of a file, of a trace, or of a table, with some arguments changed (`Workload.with_`).

    source        a name (`packenv.names()`); a JSON file, of a workload or as kubectl prints a cluster; a trace
                  (`packenv.workloads.traces`); a table in the forms of a user's own traces: a frame of pandas or polars, an Arrow
                  table, or a mapping of columns; or a Workload
    servers       as of `Workload`, or a file of machines. A trace needs them, unless its own machines lie beside it
    slot_seconds  length of a slot: an exact decimal, by default the usual one of the trace's form
    resources     of a trace, which count: names; "all"; "max" (the default): only the largest demand, which is the size of a
                  task; "max:cpu,memory". The same texts reduce a named workload, where a sequence gives its resources names
    speedup       β: arrivals of a trace come so many times as fast
    columns       names in a table of one's own by ours: {"submit_time_s": "Submitted", "cpu": "Cores"}. With one that is a
                  resource, only those that are named are read
    network       what a task costs away from its data

    Rows that are no tasks are counted in `Workload.left_out`. Raises InputError, with the nearest names for an unknown one, and
    with file, row and column for a value that cannot be.
    """
    if servers is not None:
        changes["servers"] = servers
    if network is not None:
        changes["network"] = network
    if not is_trace_source(source):
        if speedup not in (1, "1"):
            raise ArgumentError("`speedup` goes with a trace; a workload's arrivals are given by `intensity`, `load` or `rate`")
        if columns:
            raise ArgumentError("`columns` goes with a table of one's own, whose columns have other names")
        if isinstance(source, (str, Path)) and is_cluster_file(str(source)):
            return _cluster(str(source), changes, slot_seconds, resources)
        return _named(source, changes, slot_seconds, resources)
    for argument in OF_STREAMS:
        if changes.get(argument) is not None:
            raise ArgumentError(f"`{argument}` does not go with a trace, which says it itself")
    return _trace(source, changes, slot_seconds, resources, speedup, columns)


def is_trace_source(source: Any) -> bool:
    """Whether it is a trace or a table, not a name, a Workload, or a file that describes a workload or a cluster."""
    if isinstance(source, Workload):
        return False
    if not isinstance(source, (str, Path)):
        return is_columns(source)
    text = str(source)
    if text in WORKLOADS or is_cluster_file(text):
        return False
    is_file = (text != "" and Path(text).exists()) or text.endswith(ENDINGS) or text.startswith((".", "/"))
    return is_file and not _is_workload(text)


def is_columns(source: Any) -> bool:
    """Whether it is a table that Arrow reads, or a mapping of columns."""
    return hasattr(source, "__arrow_c_stream__") or hasattr(source, "__dataframe__") or isinstance(source, Mapping)


def is_cluster_file(source: str | None) -> bool:
    """Whether a file is what kubectl prints of a cluster. Raises InputError for a file *.json that is not there."""
    if source is None or not source.endswith(".json"):
        return False
    with reading(source):
        Path(source).stat()
    from packenv.workloads.kubernetes import is_cluster  # brings pyarrow with it

    return is_cluster(Path(source))


def _is_workload(source: str) -> bool:
    """Whether a file describes a workload in JSON; a few forms of traces are JSON too."""
    if not source.endswith(".json"):
        return False
    from packenv.workloads.traces import is_trace  # brings pyarrow with it

    return not is_trace(source)


def _named(source: Any, changes: dict[str, Any], slot_seconds: Exact | None, resources: str | Sequence[str] | None) -> Workload:
    if isinstance(source, Workload):
        original = source
    elif not isinstance(source, (str, Path)):
        raise InputError(f"a workload is a name, a file, a table or a Workload, not {type(source).__name__}")
    elif str(source) in WORKLOADS:
        original = named_workload(str(source))
    elif str(source).endswith(".json"):
        original = load_workload(source)
    else:
        raise unknown_workload(str(source))
    if isinstance(resources, str):
        original = with_resources(original, *chosen_resources(resources))
    elif resources is not None:
        changes["resources"] = resources
    if slot_seconds is not None:
        changes["slot_seconds"] = _seconds(slot_seconds)
    if isinstance(changes.get("servers"), str):
        changes["servers"] = _servers(changes["servers"], original.D, original.resources)
    for law in ("sizes", "service"):
        if isinstance(changes.get(law), str):
            changes[law] = parse_law(changes[law], law)
    return original.with_(**changes) if changes else original


def _cluster(path: str, changes: dict[str, Any], slot_seconds: Exact | None, resources: str | Sequence[str] | None) -> Workload:
    """A cluster as it is: what waits, on nodes that begin with what runs. `service`: its law, laws, or past durations."""
    from packenv.workloads.kubernetes import read_cluster

    service = changes.pop("service", None)
    for argument in changes:
        raise ArgumentError(f"`{argument}` does not go with a cluster as it is: {path} says it itself")
    choice, sizes = chosen_resources(_text(resources))
    if sizes == "max" and choice is not None:
        raise ArgumentError(f"`resources` {resources}: the nodes of a cluster have several capacities: name the resources alone")
    law = parse_law(service, "service") if isinstance(service, str) else service
    cluster = read_cluster(path, choice)
    return cluster.workload(law, 1.0 if slot_seconds is None else _seconds(slot_seconds)).recorded(cluster.left_out, False)


def _trace(
    source: Any,
    changes: dict[str, Any],
    slot_seconds: Exact | None,
    resources: str | Sequence[str] | None,
    speedup: Exact,
    columns: Mapping[str, str] | None,
) -> Workload:
    from packenv.workloads.traces import SlotTrace, Trace, read_trace
    from packenv.workloads.traces.philly_machines import beside, machines_left_out

    is_path = isinstance(source, (str, Path))
    server_spec = changes.pop("servers", None)
    server_spec = beside(str(source)) if server_spec is None and is_path else server_spec
    if server_spec is None:
        raise ArgumentError("a trace needs `servers`, for example `servers` 160")
    choice, sizes = chosen_resources(_text(resources))
    recorded = read_trace(source, choice, columns)
    slot = recorded.slot_seconds if slot_seconds is None else slot_seconds
    converted = recorded.jobs(slot_seconds=slot, speedup=speedup, sizes=sizes)
    labels = recorded.resources if sizes == "all" else None
    servers = _servers(server_spec, converted.jobs.resources, labels)
    fits = fitting(converted.jobs, servers)
    fits = fits if fits.any() else ~fits  # where none fits, the first is named below
    table = converted.jobs if fits.all() else converted.jobs.only(fits)
    jobs: Jobs | Placed = table
    network: Network | None = changes.get("network")
    if isinstance(recorded, Trace) and (blocks := recorded.kept_blocks()) is not None:
        racks = network.racks if network is not None and isinstance(network.racks, int) else 0
        jobs = Placed(table, blocks[fits], len(servers), racks)
    name = Path(source).name if is_path else "table"
    arguments: dict[str, Any] = {"name": name, "resources": labels, "slot_seconds": float(slot), **changes}
    try:
        setting = Workload(jobs=jobs, servers=servers, **arguments)
    except RowError as error:
        raise InputError(f"{recorded.where(int(np.flatnonzero(fits)[error.row]))}: {error.problem}") from None
    machines = machines_left_out(server_spec) if isinstance(server_spec, str) else {}
    too_large = {} if fits.all() else {FITS_NO_SERVER: int((~fits).sum())}
    assumed = slot_seconds is None and isinstance(recorded, SlotTrace)
    remark = ONE_AMOUNT if recorded.device_shares else None
    return setting.recorded(dict(converted.dropped) | too_large | machines, assumed, remark)


def _text(resources: str | Sequence[str] | None) -> str:
    """Resources as `chosen_resources` reads them."""
    if resources is None:
        return "max"
    return resources if isinstance(resources, str) else ",".join(resources)


def _servers(spec: Any, resources: int, names: tuple[str, ...] | None) -> Servers:
    servers = as_servers(spec, resources, names)
    if servers.D > resources == 1:
        shown = spec if isinstance(spec, str) else f"of {servers.D} resources"
        raise ArgumentError(f"`servers` {shown}: tasks have one size; use `resources` all for several capacities")
    return servers


def _seconds(slot_seconds: Exact) -> float:
    from packenv.workloads.traces.table import exact

    return float(exact(slot_seconds, "`slot_seconds`"))
