"""`packenv.workload`: the one function that makes a Workload of a name, a file, a trace or a table."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from packenv.content.text import do_not_go, listed
from packenv.errors import ArgumentError, InputError, RowError
from packenv.inputs.text_files import reading
from packenv.jobs import GPU, Bools, Jobs
from packenv.lazy_names import load
from packenv.workloads.demand import fitting
from packenv.workloads.devices import needed_devices, needed_kinds, unknown_kinds
from packenv.workloads.files import load_workload
from packenv.workloads.gangs import gangs_fitting, in_whole_gangs, jobs_that_come_together, too_large_gang
from packenv.workloads.laws import parse_law
from packenv.workloads.named.blocks import Placed
from packenv.workloads.named.registry import ENDINGS, WORKLOADS, named_workload, unknown_workload
from packenv.workloads.network import Network
from packenv.workloads.resources import chosen_resources, with_resources
from packenv.workloads.servers import Servers, as_servers
from packenv.workloads.workload import INTENSITIES, Workload

if TYPE_CHECKING:
    from packenv.workloads.traces import SlotTrace, Trace
    from packenv.workloads.traces.table import Estimates, Exact, Sizes

ROOMS = ("packenv.kubernetes",)
"""Modules with `is_cluster`, `workload_of`, `plan_cluster` and `plan_starts`, as `packenv.kubernetes` has them."""
FITS_NO_SERVER = "tasks that fit no server"
GANG_TOO_LARGE = "tasks in gangs that all servers together cannot hold"
NO_SUCH_KIND = "tasks for kinds of GPU that no server has"
ONE_AMOUNT = "tasks ask for parts of a GPU, and a node's GPUs count as one amount: more may run at once than on real devices"
MOST_OF_A_GANG = 1024
"""Servers on which a gang has to fit where it is asked how many there should be."""
TASKS_OF_A_SERVER = 8
"""For how many tasks of mean demand an example of a server has room."""
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
    time_unit: str | None = None,
    partition: str | Sequence[str] | None = None,
    finished_only: bool | None = None,
    estimates: Estimates | None = None,
    network: Network | None = None,
    devices: bool | None = None,
    gangs: bool | None = None,
    **changes: Any,
) -> Workload:
    """The workload with a name, of a file, of a trace, or of a table, with some arguments changed (`Workload.with_`).

    source        a name (`packenv.names()`); a JSON file, of a workload or as kubectl prints a cluster; a trace
                  (`packenv.workloads.traces`); a table in the forms of a user's own traces: a frame of pandas or polars, an Arrow
                  table, or a mapping of columns; or a Workload
    servers       as of `Workload`, or a file of machines. A trace needs them, unless its own machines lie beside it or, as in
                  Standard Workload Format, its header says how large the machine is
    slot_seconds  length of a slot: an exact decimal, by default the usual one of the trace's form
    resources     of a trace, which count: names; "all"; "max": only the largest demand, which is the size of a task;
                  "max:cpu,memory". By default all where servers have several capacities or tasks ask for more than 1 of a
                  resource (cores and GiB), else the largest. The same texts reduce a named workload, where a sequence gives
                  its resources names
    speedup       β: arrivals of a trace come so many times as fast
    columns       names in a table of one's own by ours: {"submit_time_s": "Submitted", "cpu": "Cores"}. With one that is a
                  resource, only those that are named are read
    time_unit     of times and durations in such a table that are numbers: "s" (the default), "ms", "us", "ns", "min" or "h"
    partition     names of the partitions (queues) of a log of Slurm's, or in Standard Workload Format, whose jobs count
    finished_only True leaves out tasks of a trace that failed or were cancelled after they had begun to run, False keeps them; by
                  default they are load (in Google's traces they are left out, as in the papers)
    estimates     what policies are told of durations: "recorded", the requests of the log, and the duration where there is none
                  (the default, if any is recorded); "exact", the duration; "longest", the longest request where there is none
    network       what a task costs away from its data
    devices       True: each GPU of a server counts for itself, and a part of a GPU is one of a single GPU; False: a server's GPUs
                  are one amount. By default as the trace has it: devices in Alibaba's and in a table with `gpu_kinds`, where
                  `resources` are "all", or "gpu" and others

    gangs         True: the tasks of a job that come together are a gang, which starts in the same slot or not at all; False: no
                  task waits for another to start. By default as the trace has it: gangs in Philly's, Alibaba's of 2026, and in a
                  table with a column `gang` or `workers`

    Rows that are no tasks are counted in `Workload.left_out`. Raises InputError, with the nearest names for an unknown one, and
    with file, row and column for a value that cannot be.
    """
    if servers is not None:
        changes["servers"] = servers
    if network is not None:
        changes["network"] = network
    if not is_trace_source(source):
        changes.pop("any_number", None)
        if speedup not in (1, "1"):
            raise ArgumentError("`speedup` goes with a trace; a workload's arrivals are given by `intensity`, `load` or `rate`")
        if columns:
            raise ArgumentError("`columns` goes with a table of one's own, whose columns have other names")
        of_traces = {
            "time_unit": time_unit, "partition": partition, "finished_only": finished_only, "estimates": estimates,
            "devices": devices, "gangs": gangs,
        }  # fmt: skip
        if idle := [f"`{name}`" for name, value in of_traces.items() if value is not None]:
            raise ArgumentError(f"{listed(idle)} {'goes' if len(idle) == 1 else 'go'} with a trace")
        if isinstance(source, (str, Path)) and (room := room_of(str(source))) is not None:
            choice, sizes = chosen_resources(_text(resources))
            if sizes == "max" and choice is not None:
                why = "the nodes of a cluster have several capacities: name the resources alone"
                raise ArgumentError(f"`resources` {resources}: {why}")
            begins: Workload = room.workload_of(
                str(source), choice, 1.0 if slot_seconds is None else _seconds(slot_seconds), changes
            )
            return begins
        return _named(source, changes, slot_seconds, resources)
    if idle := [f"`{argument}`" for argument in OF_STREAMS if changes.get(argument) is not None]:
        hint = "" if {"`sizes`", "`service`"}.issuperset(idle) else "; `speedup` 2 has its tasks arrive twice as fast"
        raise ArgumentError(do_not_go(idle, f"a trace, which says {'it' if len(idle) == 1 else 'them'} itself{hint}"))
    any_number = bool(changes.pop("any_number", False))
    reading = {"columns": columns, "time_unit": time_unit, "partition": partition}
    converting = {
        "slot_seconds": slot_seconds, "speedup": speedup, "finished_only": finished_only, "estimates": estimates,
    }  # fmt: skip
    return _trace(source, changes, resources, reading, converting, devices, gangs, any_number)


def is_trace_source(source: Any) -> bool:
    """Whether it is a trace or a table, not a name, a Workload, or a file that describes a workload or a cluster."""
    if isinstance(source, Workload):
        return False
    if not isinstance(source, (str, Path)):
        return is_columns(source)
    text = str(source)
    if text in WORKLOADS or room_of(text) is not None:
        return False
    is_file = (text != "" and Path(text).exists()) or text.endswith(ENDINGS) or text.startswith((".", "/"))
    return is_file and not _is_workload(text)


def is_columns(source: Any) -> bool:
    """Whether it is a table that Arrow reads, or a mapping of columns."""
    return hasattr(source, "__arrow_c_stream__") or hasattr(source, "__dataframe__") or isinstance(source, Mapping)


def room_of(source: str | None) -> Any:
    """The room of packenv that answers for a file, such as a cluster as kubectl prints it; None for all other sources.

    Rooms are asked by their names, so that nothing depends on them. Raises InputError for a file *.json that is not there.
    """
    if source is None or not source.endswith(".json"):
        return None
    with reading(source):
        Path(source).stat()
    return next((room for room in map(load, ROOMS) if room.is_cluster(Path(source))), None)


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
        choice, sizes = chosen_resources(resources)
        original = with_resources(original, choice, sizes or "max")
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


def _trace(
    source: Any,
    changes: dict[str, Any],
    resources: str | Sequence[str] | None,
    reading: dict[str, Any],
    converting: dict[str, Any],
    devices: bool | None,
    gangs: bool | None,
    any_number: bool,
) -> Workload:
    """`reading` and `converting`: arguments of `read_trace` and of `Trace.jobs`. `any_number`: of servers, as gangs need them."""
    from packenv.workloads.traces import SlotTrace, Trace, read_trace
    from packenv.workloads.traces.machines import machines_left_out
    from packenv.workloads.traces.philly_machines import beside
    from packenv.workloads.traces.table import SECOND

    is_path = isinstance(source, (str, Path))
    choice, sizes = chosen_resources(_text(resources))
    recorded = read_trace(source, choice, **reading)
    server_spec, notes = changes.pop("servers", None), recorded.notes
    if server_spec is None:
        server_spec = (beside(str(source)) if is_path else None) or recorded.servers
    if server_spec is None:
        most = recorded.most_at_once() if isinstance(recorded, Trace) and recorded.waits and recorded.processors else None
        if most is None:
            example = example_servers(recorded, usual_sizes(recorded, sizes), finished_only=converting["finished_only"])
        else:
            example = f"1x{most:g}, one machine of the {recorded.resources[0]} that its jobs had at once"
        raise ArgumentError(f"a trace needs `servers`, for example `servers` {example}")
    sizes = usual_sizes(recorded, sizes, server_spec)
    slot_seconds = converting["slot_seconds"]
    slot = recorded.slot_seconds if slot_seconds is None else slot_seconds
    converted = recorded.jobs(**converting | {"slot_seconds": slot, "sizes": sizes})
    labels = recorded.resources if sizes == "all" else None
    servers = _servers(
        server_spec,
        converted.jobs.resources,
        recorded.resources,
        sizes,
        lambda servers: example_servers(recorded, sizes, servers, converting["finished_only"]),
    )
    every = converted.jobs.scaled(servers.scale) if converted.jobs.resources == servers.D else converted.jobs
    if devices and every.devices is None:
        why = "its tasks need no GPUs" if GPU not in recorded.resources else "`resources` must be all, or gpu and others"
        raise ArgumentError(f"`devices` does not go with {source}: {why}, or amounts are neither parts of a GPU nor whole ones")
    if every.devices is not None and (recorded.devices_said if devices is None else devices):
        servers = servers.with_devices_of(recorded.resources.index(GPU), recorded.devices_per_unit)
        every = every.with_kinds(servers.device_kinds)
    else:
        every = replace(every, devices=None, device_kinds=())
    if gangs is False:
        every = replace(every, gang=None)
    elif gangs and every.gang is None:
        every = replace(every, gang=jobs_that_come_together(every, str(source)))
    if every.gang is not None and any_number:
        servers = servers.only(np.arange(MOST_OF_A_GANG) % len(servers))
    each = fits = fitting(every, servers)
    if 2 * int(fits.sum()) < len(fits):
        raise _too_small(recorded, every, servers.only([0]) if any_number else servers, fits, sizes, converting["finished_only"])
    if every.gang is not None:
        fits = in_whole_gangs(every, each) & gangs_fitting(every, servers)
        if 2 * int(fits.sum()) < len(fits):
            row = int(np.argmin(fits))
            where = recorded.where(row, converting["finished_only"])
            raise ArgumentError(f"{where}: {too_large_gang(every, servers, row)}; `gangs` False lets its tasks start one by one")
    table = every if fits.all() else every.only(fits)
    first = int(table.arrival[0]) if isinstance(recorded, Trace) and len(table) else 0  # slots: time begins with what is kept
    table = replace(table, arrival=table.arrival - first) if first else table
    t0 = converted.t0 + round(first * float(slot) * SECOND)
    jobs: Jobs | Placed = table
    network: Network | None = changes.get("network")
    if isinstance(recorded, Trace) and (blocks := recorded.kept_blocks(converting["finished_only"])) is not None:
        racks = network.racks if network is not None and isinstance(network.racks, int) else 0
        jobs = Placed(table, blocks[fits], len(servers), racks)
    name = Path(source).name if is_path else "table"
    if 20 * (len(fits) - int(fits.sum())) >= len(fits):
        where = "no server" if (fits == each).all() else "nowhere"
        name += f" without {1 - fits.mean():.0%} of its tasks, which fit {where}"
    arguments: dict[str, Any] = {"name": name, "resources": labels, "slot_seconds": float(slot)}
    alone = len(recorded.resources) == 1 or sizes == "all"  # else a size may be that of another resource
    if isinstance(recorded, Trace) and recorded.processors is not None and alone:
        arguments |= {"processors": recorded.processors, "began": t0 / SECOND}
    arguments |= changes
    try:
        setting = Workload(jobs=jobs, servers=servers, **arguments)
    except RowError as error:
        row = int(np.flatnonzero(fits)[error.row])
        raise InputError(f"{recorded.where(row, converting['finished_only'])}: {error.problem}") from None
    machines = machines_left_out(server_spec) if isinstance(server_spec, str) else {}
    too_large = {} if fits.all() else _left_out(every, servers, fits, each)
    assumed = slot_seconds is None and isinstance(recorded, SlotTrace)
    waits = None
    if isinstance(recorded, Trace) and converting["speedup"] in (1, "1"):
        waits = recorded.waits_in_slots(slot, converting["finished_only"])
    elif isinstance(recorded, Trace) and recorded.waits:
        notes = (*notes, "recorded waits are not shown: tasks come faster than they did")
    waits = None if waits is None else waits[fits]
    believed = _believed(converting["estimates"], recorded.without_estimate(converting["finished_only"]), every)
    remark = ONE_AMOUNT if recorded.device_shares and table.devices is None else None
    origin = recorded.origin if isinstance(recorded, Trace) and converting["speedup"] in (1, "1") else None
    origin = None if origin is None else origin + timedelta(microseconds=t0)
    return setting.recorded(dict(converted.dropped) | too_large | machines, assumed, remark, notes, believed, waits, origin)


def _left_out(jobs: Jobs, servers: Servers, fits: Bools, each: Bools) -> dict[str, int]:
    """How many tasks no server could hold, by reason; kinds of GPU that no server has are named. `each`: by itself."""
    unknown = unknown_kinds(jobs, servers)
    names = sorted({needed_kinds(jobs, row) for row in np.flatnonzero(unknown).tolist()})
    reasons = {f"{NO_SUCH_KIND} ({', '.join(names)})": int(unknown.sum()), FITS_NO_SERVER: int((~each & ~unknown).sum())}
    reasons[GANG_TOO_LARGE] = int((each & ~fits).sum())
    return {reason: count for reason, count in reasons.items() if count}


def _believed(estimates: Estimates | None, without: int | None, jobs: Jobs) -> str | None:
    """What policies are told of durations, in a few words, where `without` of the tasks have no estimate of their own."""
    tasks = len(jobs)
    if estimates == "exact":
        return "true durations"
    if without is None and estimates is None:
        return None
    instead = "the longest" if estimates == "longest" else "the true one"
    missing = tasks if without is None else without
    short = 0 if jobs.estimate is None else int((jobs.estimate < jobs.service).sum())  # in life these are killed at their limit
    remarks = [f"{instead} for {missing:,} of {tasks:,} tasks, which have none"] if missing else []
    remarks += [f"below the true one for {short:,}"] if short else []
    return "estimated durations" + (f" ({'; '.join(remarks)})" if remarks else "")


def usual_sizes(recorded: Trace | SlotTrace, sizes: Sizes | None, servers: Any = None) -> Sizes:
    """`sizes`; where nobody says them, all resources if servers have several capacities, or if tasks ask for more than 1 of one:
    the larger of so many cores and so many GiB is no size.
    """
    if sizes is not None or len(recorded.resources) == 1:
        return sizes or "max"
    several = servers is not None and as_servers(servers, 1, recorded.resources).D > 1
    return "all" if several or (recorded.largest_demand() > 1).any() else "max"


def example_servers(
    recorded: Trace | SlotTrace, sizes: Sizes, servers: Servers | None = None, finished_only: bool | None = None
) -> str:
    """Servers on which all tasks fit, such as 4x32:192. With `servers`, as many, and those of their capacities that are enough.

    Otherwise a server has room for the largest task and for eight of mean demand, with at most eight GPUs if that will do; if
    no task asks for more than 1, it has the capacity 1. There are as many as make the load 0.8.
    """
    from packenv.workloads.traces import SlotTrace
    from packenv.workloads.traces.user import MOST_GPUS

    timed = recorded.timed() if isinstance(recorded, SlotTrace) else recorded
    kept = timed.kept(finished_only)[0]
    demand, duration, submit = np.nan_to_num(timed.demand[kept]), timed.duration[kept], timed.submit[kept]
    demand = demand.max(axis=1, keepdims=True) if sizes == "max" else demand
    names = timed.resources if sizes == "all" else ("size",)
    most = demand.max(axis=0, initial=0.0)
    if servers is None and (most <= 1).all():
        capacity = np.ones(len(most))
    else:
        enough = np.maximum(most, TASKS_OF_A_SERVER * demand.mean(axis=0))
        gpus = ["gpu" in name.lower() for name in names]
        enough = np.where(gpus, np.maximum(most, np.minimum(enough, MOST_GPUS)), enough)
        capacity = np.array([_round_up(amount) for amount in enough.tolist()])
    if servers is not None:
        count, kinds = len(servers), servers.capacity.max(axis=0)[: len(most)]
        capacity[: len(kinds)] = np.where(kinds >= most[: len(kinds)], kinds, capacity[: len(kinds)])
    else:
        span = max(int(submit[-1] - submit[0]), int(duration.max()), 1) if len(submit) else 1
        busy = (demand * (duration / span)[:, None]).sum(axis=0) / capacity
        count = max(1, math.ceil(busy.max(initial=0.0) / 0.8))
    return f"{count}" if servers is None and (capacity == 1).all() else f"{count}x{':'.join(f'{c:.17g}' for c in capacity)}"


def _too_small(
    recorded: Trace | SlotTrace, jobs: Jobs, servers: Servers, fits: Bools, sizes: Sizes, finished_only: bool | None
) -> ArgumentError:
    """The error to raise where most tasks fit no server: it names the first, and servers with which all would fit."""
    row = int(np.argmin(fits))
    if jobs.devices is not None and (jobs.demand[row] <= servers.units).all(axis=1).any():
        kinds = ", ".join(servers.device_kinds) or "no kinds"
        problem = f"{needed_devices(jobs, row)}: no server has these beside a demand of its size; servers have GPUs of {kinds}"
        return ArgumentError(f"{recorded.where(row, finished_only)}: {problem}")
    both = (jobs.amounts[row], servers.capacity.max(axis=0))
    demand, largest = (", ".join(f"{amount:.5g}" for amount in amounts) for amounts in both)
    others = f", and so it is with {int((~fits).sum()):,} of {len(fits):,} tasks" if len(fits) > 1 else ""
    names = f" `resources` {','.join(recorded.resources)}" if sizes == "all" else ""
    return ArgumentError(
        f"{recorded.where(row, finished_only)}: a demand of {demand} fits in no server; the largest has {largest}{others}: "
        "say what a server has in each resource, such as `servers` "
        f"{example_servers(recorded, sizes, servers, finished_only)}{names}"
    )


def _round_up(amount: float) -> float:
    """The power of two, or half as much again, from an amount on."""
    power = 2.0 ** math.ceil(math.log2(amount)) if amount > 0 else 1.0
    return 0.75 * power if 0.75 * power >= amount and power > 2 else power


def _text(resources: str | Sequence[str] | None) -> str | None:
    """Resources as `chosen_resources` reads them."""
    return resources if resources is None or isinstance(resources, str) else ",".join(resources)


def _servers(
    spec: Any,
    resources: int,
    names: tuple[str, ...] | None,
    sizes: Sizes = "all",
    example: Callable[[Servers], str] | None = None,
) -> Servers:
    """Servers for tasks of so many resources. Raises InputError unless they have a capacity for each.

    names    of the resources that tasks ask for; sizes "max": the largest is the one that counts
    example  servers that would do, with these servers' capacities as far as they are enough
    """
    servers = as_servers(spec, resources, names if sizes == "all" or (names is not None and len(names) == 1) else None)
    text = spec if isinstance(spec, str) else str(servers)
    if servers.D > resources == 1:
        several = "all" if sizes == "all" or names is None else ",".join(names)
        raise ArgumentError(f"`servers` {text}: tasks have one size; use `resources` {several} for several capacities")
    if names is not None and resources != servers.D:
        such = "" if example is None else f", such as `servers` {example(servers)}"
        raise ArgumentError(
            f"`servers` {text}: {'one capacity' if servers.D == 1 else f'{servers.D} capacities'}, and tasks ask for "
            f"{listed(names)}: say what a server has of each{such}"
        )
    return servers


def _seconds(slot_seconds: Exact) -> float:
    from packenv.workloads.traces.table import exact

    return float(exact(slot_seconds, "`slot_seconds`"))
