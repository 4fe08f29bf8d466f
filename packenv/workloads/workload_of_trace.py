"""Traces as Workloads: tasks in slots, servers, and omissions."""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from packenv.content.text import counted, listed
from packenv.errors import ArgumentError, InputError, RowError
from packenv.jobs import GPU, Bools, Jobs
from packenv.options.shared import Reading
from packenv.workloads.demand import fitting
from packenv.workloads.devices import needed_devices, needed_kinds, unknown_kinds
from packenv.workloads.gangs import (
    MOST_OF_A_GANG,
    gangs_fitting,
    in_whole_gangs,
    jobs_that_come_together,
    many_of_the_last,
    too_large_gang,
)
from packenv.workloads.named.blocks import Placed
from packenv.workloads.network import Network
from packenv.workloads.provenance import Provenance, Records
from packenv.workloads.resources import chosen_resources, servers_for, unlike_units
from packenv.workloads.servers import GI, Servers, WithKind, amount_text, as_servers, in_gib
from packenv.workloads.traces.gpus import can_be_devices
from packenv.workloads.traces.machines import beside, is_slurm
from packenv.workloads.traces.read import read_trace
from packenv.workloads.traces.times import SECOND
from packenv.workloads.traces.trace import Estimates, Sizes, Trace, one_size
from packenv.workloads.traces.user import MOST_GPUS
from packenv.workloads.workload import Workload

FITS_NO_SERVER = "tasks that fit no server"
GANG_TOO_LARGE = "tasks in gangs that all servers together cannot hold"
NO_SUCH_KIND = "tasks for kinds of GPU that no server has"
GANG_OF_NODES = "each is a gang of a task for each node, with equal parts of the job; tasks may share a server"
ONE_TASK = "each is one task, which one server must hold"
MOST_NAMED = 5  # partitions of a log
ONE_AMOUNT = "tasks need parts of a GPU, and a node's GPUs count as one amount: more may run together than on real devices"
MOST_MACHINES = 8
"""Largest sum of servers larger than a log's machine; more are numbers of processors, not shares."""
TASKS_OF_A_SERVER = 8
"""Tasks of mean demand that fit on an example server."""


def workload_of_trace(
    source: Any, changes: dict[str, Any], resources: str | Sequence[str] | None, reading: Reading, any_number: bool
) -> Workload:
    """Return the Workload of a trace, with the arguments of `packenv.workload`.

    changes     arguments of Workload, including `servers` unless they lie next to the trace or it names them
    any_number  the number of servers is wanted: gangs must fit on many

    Raises InputError.
    """
    is_path = isinstance(source, (str, Path))
    choice, sizes = chosen_resources(resources)
    recorded = read_trace(source, choice, reading=reading)
    log = recorded if recorded.table is None else None  # with times by a clock
    one_resource, partitions = len(recorded.resources) == 1, recorded.partitions

    # Its tasks in slots, and the servers, in the same units.
    spec, kind = changes.pop("servers", None), None
    if isinstance(spec, WithKind):
        spec, kind = spec
    on_machine = False
    if spec is None:
        spec = beside(str(source)) if is_path else None
        on_machine = spec is None and recorded.servers is not None
        spec = spec or recorded.servers
    if spec is None:
        example, of = _fitting_example(recorded, sizes)
        printed = (
            f": the file that {log.list_of_servers} writes, or one machine" if log is not None and log.list_of_servers else ""
        )
        raise ArgumentError(f"a trace needs `servers`{printed}", f", for example `servers` {example}{of}", {"servers": example})
    sizes = usual_sizes(recorded, sizes, spec)
    slot = recorded.slot_seconds if reading.slot_seconds is None else reading.slot_seconds
    in_slots = reading.slot_seconds is None and log is None  # of unknown length
    example_of = partial(example_servers, recorded, sizes)
    resources_of_tasks = 1 if one_size(sizes) else len(recorded.resources)
    servers = servers_for(spec, resources_of_tasks, recorded.resources, sizes, example_of, partitions, tuple(recorded.uncounted))
    machines = dict(servers.left_out)
    larger = () if log is None else _larger_than_the_machine(log.machine, servers, spec)
    if kind is not None:
        servers = servers.and_kind(kind)

    # Where servers are nodes, a job on several of them is a gang.
    recorded, of_nodes = on_nodes(recorded, any_number or len(servers) > 1, reading.gangs)
    log = None if log is None else recorded
    jobs, dropped, t0 = recorded.jobs(slot, reading.speedup, sizes, reading.estimates)
    jobs = jobs.scaled(servers.scale) if jobs.resources == servers.D else jobs
    jobs, servers = _with_devices(recorded, jobs, servers, reading.devices, source)
    jobs = with_gangs(jobs, reading.gangs, str(source))
    if jobs.gang is not None and kind is not None:
        servers = many_of_the_last(servers)
    elif jobs.gang is not None and any_number:
        servers = servers.only(np.arange(MOST_OF_A_GANG) % len(servers))

    # The table of the tasks that fit, from the first of them on, and its name.
    fits = _which_fit(recorded, jobs, servers, sizes, any_number)
    table = jobs if fits.all() else jobs.only(fits)
    if log is not None and len(table) and (first := int(table.arrival[0])) > 0:  # a trace in slots has its own slot 0
        table = replace(table, arrival=table.arrival - first)
        t0 += round(first * float(slot) * SECOND)
    name = Path(source).name if is_path else "table"

    # The Workload.
    labels = recorded.resources if sizes == "all" else None
    arguments: dict[str, Any] = {"name": name, "resources": labels, "slot_seconds": None if in_slots else float(slot)}
    if log is not None and log.processors is not None and (one_resource or sizes == "all"):  # else a size may be another's
        arguments |= {"processors": log.processors, "began": t0 / SECOND}
    arguments |= changes
    placed: Jobs | Placed = table
    if log is not None and (blocks := log.kept_blocks()) is not None:
        network: Network | None = changes.get("network")
        racks = network.racks if network is not None and isinstance(network.racks, int) else 0
        placed = Placed(table, blocks[fits], len(servers), racks)
    try:
        setting = Workload(jobs=placed, servers=servers, **arguments)
    except RowError as error:
        row = int(np.flatnonzero(fits)[error.row])
        raise InputError(f"{recorded.where(row)}: {error.problem}") from None

    # The remarks: omissions, durations for policies, and recorded waits unless arrivals are scaled.
    too_large = {} if fits.all() else without_room(jobs, servers, fits)
    waits, began = None, None
    notes = (*recorded.notes, *of_nodes, *_not_modelled(recorded), *larger, *slurm_notes(recorded, spec))
    if on_machine and partitions:
        part = f"partition{'' if len(partitions) == 1 else 's'} {listed(partitions)}"
        notes = (*notes, f"jobs of {part} have the whole machine; with `servers` 0.5 it is half of that")
    if log is not None and reading.speedup in (1, "1"):
        waits = log.waits_in_slots(slot)
        began = t0 if log.origin is None else log.origin + timedelta(microseconds=t0)
    elif log is not None and log.waits:
        notes = (*notes, "recorded waits are not shown: with `speedup` tasks come at other times than they did")
    if sizes == "all" and (foreign := unlike_units(recorded.resources, recorded.largest_demand(), servers)):
        notes = (*notes, foreign)
    rows = recorded.kept_rows()
    of_log = Provenance(
        dict(dropped) | too_large | machines,
        1 - float(fits.mean()),
        _share_of_work(jobs, ~fits, servers),
        (*partitions,),
        remark=ONE_AMOUNT if recorded.device_shares and table.devices is None else None,
        notes=notes,
        estimates=_estimates(reading.estimates, recorded.without_estimate(), jobs),
        recorded_waits=None if waits is None else waits[fits],
        file_records=Records(
            None if rows is None else rows[fits],
            recorded.ids,
            began,
            "s" if log is None else log.time_unit,
            recorded.labels,
            recorded.printable,
        ),
    )
    return setting.recorded(of_log)


def on_nodes(recorded: Trace, several_servers: bool, gangs: bool | None = None) -> tuple[Trace, list[str]]:
    """Return the trace with gangs for jobs on several nodes, where servers are nodes, and a line."""
    several = recorded.jobs_on_several_nodes()
    if not several:
        return recorded, []
    spread = several_servers if gangs is None else gangs
    line = f"{counted(several, 'job')} on several nodes: {GANG_OF_NODES if spread else ONE_TASK}"
    return recorded.on_nodes() if spread else recorded, [line]


def with_gangs(jobs: Jobs, gangs: bool | None, source: str) -> Jobs:
    """Return the table with gangs of its jobs, without gangs, or by default as it is."""
    if gangs is False:
        return replace(jobs, gang=None)
    return replace(jobs, gang=jobs_that_come_together(jobs, source)) if gangs and jobs.gang is None else jobs


def slurm_notes(recorded: Trace, servers: Any) -> list[str]:
    """Return lines on uncounted resources, and partitions pooled on Slurm nodes."""
    notes, of_nodes = [], isinstance(servers, str) and is_slurm(servers)
    if without := recorded.uncounted:
        uncounted = f"{listed(without)} of jobs{' and nodes' * of_nodes} {'is' if len(without) == 1 else 'are'} not counted"
        notes.append(f"{uncounted}; with `resources` {','.join((*recorded.resources, *without))} all count")
    if not of_nodes:
        return notes
    pooled = [] if recorded.partitions or recorded.partition is None else np.unique(recorded.partition).tolist()
    if len(pooled) > 1:
        few = pooled[:MOST_NAMED]
        names = listed(few if len(pooled) == len(few) else [*few, f"{len(pooled) - len(few):,} more"])
        only = f"with `partition` {pooled[0]} only its jobs and nodes count"
        notes.append(f"jobs of the partitions {names} go on all nodes; {only}")
    return notes


def _not_modelled(recorded: Trace) -> list[str]:
    if not recorded.not_modelled:
        return []
    usable = recorded.kept()[0]
    rows = np.arange(len(recorded)) if recorded.rows is None else recorded.rows
    number_of = {name: len(np.unique(rows[asks & usable])) for name, asks in recorded.not_modelled.items()}
    counts = [f"{name} of {counted(number, 'job')}" for name, number in number_of.items() if number]
    return [f"not modelled: {listed(counts)}"] if counts else []


def _larger_than_the_machine(machine: Mapping[str, float], servers: Servers, spec: Any) -> tuple[str, ...]:
    """Return a line if servers are larger than the log's machine.

    Amounts are shares of `machine`, which has each resource. Raises ArgumentError if capacities must be numbers of processors.
    """
    cpu = [*machine].index("cpu") if "cpu" in machine and len(machine) == servers.D else None
    if cpu is None or (most := servers.capacity[:, cpu].max()) <= 1:
        return ()
    processors, total = machine["cpu"], servers.capacity[:, cpu].sum()
    if total <= MOST_MACHINES:
        return (f"the largest server is {most:g} such machines: {most * processors:,.10g} processors",)
    # Suggest shares in place of numbers of processors.
    in_file = np.where(servers.capacity >= GI, servers.capacity / GI, servers.capacity)
    shares = replace(servers, capacity=in_file / np.array([*machine.values()]))
    machine_text = " and ".join(
        f"{amount:,.4g} {'processors' if name == 'cpu' else 'GiB ' + name}" for name, amount in machine.items()
    )
    text = spec if isinstance(spec, str) else str(servers)
    problem = (
        f"`servers` {text}: capacities are shares of the log's machine, {machine_text}; these are {total:,.4g} such machines"
    )
    if shares.capacity[:, cpu].max() > 1:
        raise ArgumentError(problem)
    advice = f": servers of {most:,.10g} processors are `servers` {shares}"
    raise ArgumentError(problem, advice, {"servers": str(shares)})


def _with_devices(recorded: Trace, jobs: Jobs, servers: Servers, devices: bool | None, source: Any) -> tuple[Jobs, Servers]:
    """Add devices if `devices`, by default the trace's, else remove them."""
    if devices and jobs.devices is None:
        raise ArgumentError(f"`devices` does not go with {source}: {_no_devices(recorded)}")
    if jobs.devices is None or not (recorded.devices_said if devices is None else devices):
        return replace(jobs, devices=None, device_kinds=()), servers
    servers = servers.with_devices_of(recorded.resources.index(GPU), recorded.devices_per_unit)
    return jobs.with_kinds(servers.device_kinds), servers


def _no_devices(recorded: Trace) -> str:
    """Return why a trace's tasks have no devices."""
    if GPU not in recorded.resources:
        return "no GPUs of its tasks are counted; `resources` all counts them, if there are any"
    if recorded.models_devices("all"):
        return "only the largest demand of a task counts; `resources` all counts each"
    if len(recorded.resources) == 1:
        return "gpu is its only resource; `resources` all counts others too"
    if can_be_devices(recorded.demand[:, recorded.resources.index(GPU)]).all():
        return "packenv reads a node's GPUs in this format as one amount"
    return "some amounts of gpu are neither parts of a GPU, in thousandths, nor whole ones"


def _which_fit(recorded: Trace, jobs: Jobs, servers: Servers, sizes: Sizes, any_number: bool) -> Bools:
    """Mark the tasks (n,) that fit, with their gang."""
    alone = fits = fitting(jobs, servers)
    if 2 * int(alone.sum()) < len(alone):
        raise _too_small(recorded, jobs, servers.only([0]) if any_number else servers, alone, sizes)
    if jobs.gang is not None:
        fits = in_whole_gangs(jobs, alone) & gangs_fitting(jobs, servers)
        if 2 * int(fits.sum()) < len(fits):
            row = int(np.argmin(fits))
            one_by_one = "--one-by-one (gangs=False) lets its tasks start one by one"
            raise ArgumentError(f"{recorded.where(row)}: {too_large_gang(jobs, servers, row)}; {one_by_one}")
    return fits


def _fitting_example(recorded: Trace, sizes: Sizes | None) -> tuple[str, str]:
    if recorded.waits and recorded.processors:
        most = recorded.most_at_once()
        return f"1x{most:g}", f", one machine of the {recorded.resources[0]} with the most that its jobs used together"
    return example_servers(recorded, usual_sizes(recorded, sizes)), ""


def _share_of_work(jobs: Jobs, some: Bools, servers: Servers) -> float:
    """Return some tasks' (n,) largest share of amount × service, over the resources of servers."""
    work = jobs.demand * jobs.service[:, None].astype(np.float64)
    total = work.sum(axis=0)
    counts = (total > 0) & servers.capacity.any(axis=0)
    return float((work[some].sum(axis=0)[counts] / total[counts]).max(initial=0.0))


def without_room(jobs: Jobs, servers: Servers, fits: Bools) -> dict[str, int]:
    """Count the tasks (n,) that do not fit, by reason."""
    unknown, alone = unknown_kinds(jobs, servers) & ~fits, fitting(jobs, servers)
    names = sorted({needed_kinds(jobs, row) for row in np.flatnonzero(unknown).tolist()})
    reasons = {f"{NO_SUCH_KIND} ({', '.join(names)})": int(unknown.sum()), FITS_NO_SERVER: int((~alone & ~unknown).sum())}
    reasons[GANG_TOO_LARGE] = int((alone & ~unknown & ~fits).sum())
    return {reason: count for reason, count in reasons.items() if count}


def _estimates(estimates: Estimates | None, without: int | None, jobs: Jobs) -> str | None:
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


def usual_sizes(recorded: Trace, sizes: Sizes | None, servers: Any = None) -> Sizes:
    """Return `sizes`, by default all if servers have several capacities, else max.

    All also count if tasks ask for more than 1 of a resource: the larger of cores and GiB is no size.
    """
    if sizes is not None or len(recorded.resources) == 1:
        return sizes or "max"
    several = servers is not None and as_servers(servers, 1, recorded.resources, recorded.partitions).D > 1
    return "all" if several or (recorded.largest_demand() > 1).any() else "max"


def example_servers(recorded: Trace, sizes: Sizes, servers: Servers | None = None) -> str:
    """Suggest servers for all tasks, such as 4x32:192.

    Without `servers`, each has room for the largest task and for eight of mean demand, with at most eight GPUs if that is enough.
    If no task asks for more than 1, the capacity is 1. Their number makes the load 0.8. With `servers`, the suggestion has their
    number, and their capacities where these are enough.
    """
    timed = recorded.timed()
    usable = timed.kept()[0]
    demand, duration, submit = np.nan_to_num(timed.demand[usable]), timed.duration[usable], timed.submit[usable]
    demand = demand.max(axis=1, keepdims=True) if sizes == "max" else demand
    names = timed.resources if sizes == "all" else ("size",)
    most = demand.max(axis=0, initial=0.0)
    if servers is None and (most <= 1).all():
        capacity = np.ones(len(most))
    else:
        # Room for the largest task, and for several of mean demand.
        enough = np.maximum(most, TASKS_OF_A_SERVER * demand.mean(axis=0))
        gpus = ["gpu" in name.lower() for name in names]
        enough = np.where(gpus, np.maximum(most, np.minimum(enough, MOST_GPUS)), enough)
        capacity = np.array([_round_up(amount) for amount in enough.tolist()])
    # The given servers where they are enough, or a number for load 0.8.
    if servers is not None:
        count, kinds = len(servers), servers.capacity.max(axis=0)[: len(most)]
        capacity[: len(kinds)] = np.where(kinds >= most[: len(kinds)], kinds, capacity[: len(kinds)])
    else:
        span = max(int(submit[-1] - submit[0]), int(duration.max()), 1) if len(submit) else 1
        busy = (demand * (duration / span)[:, None]).sum(axis=0) / capacity
        count = max(1, math.ceil(busy.max(initial=0.0) / 0.8))
    return f"{count}" if servers is None and (capacity == 1).all() else f"{count}x{':'.join(map(amount_text, capacity.tolist()))}"


def _too_small(recorded: Trace, jobs: Jobs, servers: Servers, fits: Bools, sizes: Sizes) -> ArgumentError:
    row = int(np.argmin(fits))
    if jobs.devices is not None and (jobs.demand[row] <= servers.units).all(axis=1).any():
        kinds = ", ".join(servers.device_kinds) or "no kinds"
        problem = f"{needed_devices(jobs, row)}: no server has these devices and its demand; servers have GPUs of {kinds}"
        return ArgumentError(f"{recorded.where(row)}: {problem}")
    both = (jobs.amounts[row], servers.capacity.max(axis=0))
    demand, largest = (", ".join(f"{amount:.5g}" if amount < GI else in_gib(amount) for amount in amounts) for amounts in both)
    others = f", and so it is with {int((~fits).sum()):,} of {len(fits):,} tasks" if len(fits) > 1 else ""
    remedy = {"servers": example_servers(recorded, sizes, servers)}
    remedy |= {"resources": ",".join(recorded.resources)} if sizes == "all" else {}
    suggestion = " ".join(f"`{name}` {shlex.quote(value)}" for name, value in remedy.items())
    problem = f"{recorded.where(row)}: a demand of {demand} fits in no server; the largest has {largest}{others}"
    if sizes == "all" and (foreign := unlike_units(recorded.resources, recorded.largest_demand(), servers)):
        return ArgumentError(f"{problem}: {foreign}")
    return ArgumentError(problem, f": give a capacity for each resource, such as {suggestion}", remedy)


def _round_up(amount: float) -> float:
    """Round up to a power of two, or half as much again."""
    power = 2.0 ** math.ceil(math.log2(amount)) if amount > 0 else 1.0
    return 0.75 * power if 0.75 * power >= amount and power > 2 else power
