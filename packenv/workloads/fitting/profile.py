"""Profile of a trace: statistics, a fitted random workload, and its match.

The fitted workload holds statistics only (rounded values, weights, quantiles), no row of the data. Jobs arrive by a modulated
Poisson process. All tasks of a job arrive together with the same demand. The service of a task depends on its demand only.
Other dependence is lost: tasks of a job have similar durations in a trace, and large jobs prefer certain demands. `goodness`
measures how well the rest matches.

google2011_like.json is the profile of the Google window (clusterdata-2011-2, 50,230 finished tasks). Its laws offer the work of
130.8 servers, the window 131.0. Kolmogorov and Smirnov's distances are below 0.04 for sizes, and below 0.03 for durations and
tasks per job. The dispersion of tasks is within 10 % in windows of 1, 10 and 60 s, and within 25 % in windows of 600 s. The
dispersion of jobs is not matched: bursts of jobs stand in for the window's few jobs of a thousand tasks.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from packenv.errors import ArgumentError, InputError
from packenv.inputs.numbers import Exact, exact
from packenv.jobs import GPU, Jobs
from packenv.units import UNIT, to_units
from packenv.workloads.devices import kind_loads
from packenv.workloads.fitting.laws import cells, fit_phases, group, job_sizes
from packenv.workloads.fitting.statistics import Sample, distinct, ks_distance, offered_load, summary
from packenv.workloads.gangs import gangs_in_words, gangs_of
from packenv.workloads.laws import Conditional, Discrete, Histogram, Joint
from packenv.workloads.laws.arrivals import Batch, Modulated
from packenv.workloads.resources import servers_for, unlike_units
from packenv.workloads.servers import Servers, as_servers
from packenv.workloads.traces.times import SECOND
from packenv.workloads.traces.trace import Trace
from packenv.workloads.workload import Workload
from packenv.workloads.workload_of_trace import example_servers, on_nodes, slurm_notes

USUAL_LOAD = 0.82  # of the servers' capacity, where the number of servers is not given
COMPARED_TASKS = 2_000_000  # rows of the workload that are compared with the trace
LOST = (
    "The workload is made of statistics only. Jobs arrive by a modulated Poisson process fitted to the dispersion of the "
    "tasks; a job's tasks arrive together with the same demands; services depend on the demands only. Not kept: that a job's "
    "tasks last alike, and that large jobs prefer certain demands. Pairs under match are [trace, rows of the workload]; the "
    "rows' own loads and rates scatter by several per cent between seeds, as jobs of 1,000 tasks are few: expected_load is exact."
)
LOST_GANGS = "gangs are not kept: in the fitted workload their tasks start one by one"


def describe(trace: Trace, slot_seconds: Exact | None = None, servers: int | str | Servers | None = None) -> dict[str, Any]:
    """Return counts and statistics of a trace.

    They cover all tasks, those submitted within it, and those that its conversion keeps. Times are in seconds, loads in servers
    of capacity 1.

    slot_seconds  length of a slot of a trace in slots
    servers       as in `packenv.workload`, in the trace's own units. Adds the share that the kept tasks keep busy, the number of
                  servers like the first one, by resource (one capacity counts for each), and the machines of their list that
                  are no servers (`left_out`). InputError for another number of capacities
    """
    cluster = None if servers is None else servers_of(trace, servers)
    trace, of_nodes = on_nodes(trace, cluster is not None and len(cluster) > 1)
    timed = trace.timed(slot_seconds)
    usable, dropped = timed.kept()
    within = ~timed.in_snapshot
    # Reasons of the reader alone, such as steps of jobs, are of rows that are no tasks.
    no_tasks = {reason: count for reason, count in timed.dropped.items() if count and reason not in timed.unfit}
    more = sum(count for reason, count in timed.dropped.items() if reason in timed.unfit)
    demand = np.nan_to_num(timed.demand)
    return {
        "about": timed.about,
        "notes": [
            *trace.notes,
            *([] if cluster is None else of_nodes),
            *slurm_notes(trace, servers),
            *([] if cluster is None else _unit_notes(timed, demand[usable], cluster)),
        ],
        "rows": len(timed) + more,
        "in_snapshot": int(timed.in_snapshot.sum()),
        "submitted": int(within.sum()),
        "kept": int(usable.sum()),
        "dropped": {reason: count for reason, count in dropped.items() if count},
        "no_tasks": no_tasks,
        "resources": list(timed.resources),
        "distinct": {
            name: distinct(demand[mask], timed.resources)
            for name, mask in (("rows", np.ones(len(timed), np.bool_)), ("submitted", within), ("kept", usable))
        },
        "submitted_tasks": summary(_sample(timed, within)),
        "kept_tasks": summary(_sample(timed, usable)),
        **({} if (gang := trace.others.get("gang")) is None else {"gangs": gangs_in_words(gang[usable])}),
        **({} if cluster is None else {"servers": busy_servers(_sample(timed, usable), cluster)}),
        **({} if cluster is None or timed.devices is None else {"devices": device_loads(timed, _sample(timed, usable), cluster)}),
    }


def servers_of(trace: Trace, servers: int | str | Servers) -> Servers:
    """Return servers in a trace's units, with its resources and partitions."""
    if len(trace.resources) > 1:
        return as_servers(servers, len(trace.resources), trace.resources, trace.partitions)
    return servers_for(servers, len(trace.resources), trace.resources, partitions=trace.partitions, uncounted=trace.uncounted)


def _unit_notes(trace: Trace, demand: NDArray[np.float64], cluster: Servers) -> list[str]:
    line = unlike_units(trace.resources, demand.max(axis=0, initial=0.0), cluster)
    return [] if line is None else [line]


def device_loads(trace: Trace, sample: Sample, cluster: Servers) -> list[dict[str, Any]]:
    """Return busy and available GPUs for each set of accepted kinds.

    Empty if servers do not give their number of GPUs.
    """
    names = trace.resources
    if GPU not in names or len(names) != cluster.D or cluster.D == 1:
        return []
    cluster = cluster.with_devices_of(names.index(GPU), trace.devices_per_unit)
    jobs = trace.jobs(sizes="all").jobs.with_kinds(cluster.device_kinds)
    loads = kind_loads(jobs, cluster, np.nan_to_num(sample.duration), sample.span or 1.0)
    return [load._asdict() | {"share": load.share} for load in loads]


def busy_servers(sample: Sample, cluster: Servers) -> dict[str, Any]:
    """Return the busy `share` of servers, and their number `like` the first.

    Both are averages by resource, for the size (the largest demand) only if servers have one capacity. None without such a
    capacity, or without time.
    """
    names = sample.resources
    if cluster.D not in (1, len(names)):
        raise ArgumentError(f"`servers` {cluster}: {cluster.D} capacities, and the trace has {len(names)}: {', '.join(names)}")
    # Columns of capacity to compare each resource with.
    offered = offered_load(sample)
    alike = cluster.D == 1 or bool((cluster.capacity == cluster.capacity[:, :1]).all())
    columns = {name: 0 if cluster.D == 1 else n for n, name in enumerate(names)} | ({"size": 0} if alike else {})

    def over(capacity: NDArray[np.float64]) -> dict[str, float | None]:
        loads = {name: offered[name] if name in columns else None for name in offered}
        present = {name: load for name, load in loads.items() if load is not None and capacity[columns[name]] > 0}
        return {name: float(f"{present[name] / capacity[columns[name]]:.6g}") if name in present else None for name in loads}

    shares = {"share": over(cluster.capacity.sum(axis=0)), "like": over(cluster.capacity[0])}
    return {"servers": str(cluster), **shares, "left_out": dict(cluster.left_out)}


def profile(
    trace: Trace,
    name: str,
    slot_seconds: Exact | None = None,
    servers: int | str | Servers | None = None,
    about: str = "",
) -> dict[str, Any]:
    """Return statistics of the kept tasks, a fitted workload and its match.

    The workload is in plain values (`Workload.to_dict`). As JSON, `load_workload` reads the result.

    slot_seconds  length of a slot, by default the usual one of the trace's format
    servers       as in `packenv.workload`, in the trace's own units. Default: servers of capacity 1, so that the trace's work is
                  0.82 of their capacity
    about         description of the data

    A Slurm job on several nodes counts as a task for each node, unless `servers` is one server. Gangs start together in the
    trace, and their tasks one by one in the fitted workload.
    Random sizes count in units, with at most 682 on a server. A resource with more is counted in a power of two of the trace's
    units, and its name shows the factor ("memory/256"). Raises InputError if no task is kept, and for servers that do not hold
    every task.
    """
    slot = trace.slot_seconds if slot_seconds is None else slot_seconds
    trace, notes = on_nodes(trace, servers is None or len(servers_of(trace, servers)) > 1)
    gangs = trace.others.get("gang")
    if gangs is not None and len(gangs_of(gangs[trace.kept()[0]])):
        notes.append(LOST_GANGS)
    trace, servers = in_larger_units(trace.timed(slot), servers)
    most = trace.largest_demand()
    if servers is None and (most > 1).any():
        amounts = ", ".join(f"{amount:g} of {name}" for amount, name in zip(most.tolist(), trace.resources, strict=True))
        example = example_servers(trace, "all")
        raise ArgumentError(f"tasks need up to {amounts}: give their capacities, such as `servers` {example}")
    sample = kept_sample(trace, slot)
    try:
        workload = fit(sample, name, float(exact(slot, "slot_seconds")), servers)
    except InputError as error:
        raise InputError(f"{trace.source}: {error}") from None
    return {
        "about": f"{about} {LOST}".strip(),
        "notes": notes,
        "statistics": describe(trace, slot),
        "match": goodness(workload, trace, slot),
        "workload": workload.to_dict(),
    }


def in_larger_units(trace: Trace, servers: int | str | Servers | None) -> tuple[Trace, int | str | Servers | None]:
    """Return trace and servers in units for integers of laws."""
    names = trace.resources
    if servers is None:
        return trace, servers
    cluster = servers_of(trace, servers)
    if not cluster.scale or len(names) != cluster.D:
        return trace, cluster
    factor = np.ldexp(1.0, -np.array(cluster.scale))
    renamed = tuple(f"{name}/{2**doublings}" if doublings else name for name, doublings in zip(names, cluster.scale, strict=True))
    return replace(trace, demand=trace.demand * factor, resources=renamed), Servers(cluster.capacity * factor)


def fit(sample: Sample, name: str, slot_seconds: float, servers: int | str | Servers | None) -> Workload:
    """Fit a random workload: demands, durations, tasks per job, bursts."""
    groups = group(sample)
    service = [cells(sample.duration[groups.member == g] / slot_seconds) for g in range(len(groups.weights))]
    tasks, shares = job_sizes(sample.tasks_per_job)
    phases = fit_phases(sample)
    busy = float(sample.size @ sample.duration) / sample.span
    return Workload(
        name=name,
        sizes=Joint(_plain(groups.vectors), shares_of(groups.weights)),
        service=Conditional([Histogram(_plain(edges), shares_of(weights)) for edges, weights in service]),
        arrivals=Batch(
            size=Discrete(_plain(tasks), shares_of(shares)),
            process=Modulated(_plain(phases.rates), _plain(phases.sojourns / slot_seconds), next="uniform"),
            alike=True,
        ),
        rate=float(f"{len(sample.submit) / sample.span * slot_seconds:.6g}"),
        servers=math.ceil(busy / USUAL_LOAD) if servers is None else as_servers(servers, len(sample.resources), sample.resources),
        resources=sample.resources,
        slot_seconds=slot_seconds,
    )


def goodness(fitted: Workload, data: Trace | Jobs, slot_seconds: Exact = "0.1", seed: int = 0) -> dict[str, Any]:
    """Compare COMPARED_TASKS rows of a fitted workload with a trace.

    The data may also be a Jobs table in the same slots. `ks` are distances of Kolmogorov and Smirnov. `expected_load` is the
    number of servers of capacity 1 that the laws keep busy on average, by resource. All other values are pairs [data, rows of the
    workload]. Demands are compared in integer units.
    """
    real = kept_sample(data, slot_seconds)
    real = replace(real, demand=to_units(real.demand) / UNIT)
    model = jobs_sample(fitted.jobs_table(seed, COMPARED_TASKS), exact(slot_seconds, "slot_seconds"), real.resources)
    of_data, of_model = summary(real), summary(model)
    columns = ["size", *real.resources, "duration_s", "tasks_per_job", "interarrival_s"]
    scalars = ["tasks_per_s", "jobs_per_s", "interarrival_cv"]
    return {
        "tasks_compared": len(model.submit),
        "seed": seed,
        "ks": {name: round(ks_distance(a, b), 4) for name, a, b in _columns(real, model)},
        "quantiles": {name: _pairs(of_data[name], of_model[name]) for name in columns},
        "dispersion": _pairs(of_data["dispersion"], of_model["dispersion"]),
        "offered_load": _pairs(of_data["offered_load"], of_model["offered_load"]),
        "expected_load": expected_load(fitted),
        **{name: [of_data[name], of_model[name]] for name in scalars},
    }


def expected_load(workload: Workload) -> dict[str, float]:
    """Return a fitted workload's mean busy servers of capacity 1."""
    vectors, weights = workload.sizes.atoms()  # type: ignore[union-attr, misc]
    work = workload.rate * weights * workload.service.means()  # type: ignore[union-attr]
    loads = {"size": work @ vectors.max(axis=1), **dict(zip(workload.resources or (), work @ vectors, strict=True))}
    return {name: float(f"{load:.6g}") for name, load in loads.items()}


def kept_sample(data: Trace | Jobs, slot_seconds: Exact = "0.1") -> Sample:
    """Return convertible tasks, submitted at two times at least, in seconds."""
    if isinstance(data, Jobs):
        names = tuple(f"size_{r}" for r in range(data.resources))
        return jobs_sample(data, exact(slot_seconds, "slot_seconds"), names)
    timed = data.timed(slot_seconds)
    sample = _sample(timed, timed.kept()[0])
    if sample.span <= 0:
        raise InputError(f"{timed.source}: a profile needs tasks with at least two submission times")
    return sample


def jobs_sample(jobs: Jobs, slot_seconds: Fraction, resources: tuple[str, ...]) -> Sample:
    """Convert a Jobs table to seconds, with `slot_seconds` per slot."""
    h = float(slot_seconds)
    demand = jobs.amounts
    return Sample(np.asarray(jobs.arrival * h, np.float64), demand, np.asarray(jobs.service * h, np.float64), jobs.job, resources)


def _sample(trace: Trace, mask: NDArray[np.bool_]) -> Sample:
    duration = trace.duration[mask]
    return Sample(
        submit=trace.submit[mask] / SECOND,
        demand=np.nan_to_num(trace.demand[mask]),
        duration=np.where(duration >= 0, duration / SECOND, np.nan),
        job=None if trace.job is None else trace.job[mask],
        resources=trace.resources,
    )


def _columns(real: Sample, model: Sample) -> list[tuple[str, NDArray[Any], NDArray[Any]]]:
    """Return the columns to compare: name, values of data and model."""
    demands = [(name, real.demand[:, r], model.demand[:, r]) for r, name in enumerate(real.resources)]
    return [
        ("size", real.size, model.size),
        *demands,
        ("duration_s", real.duration, model.duration),
        ("tasks_per_job", real.tasks_per_job, model.tasks_per_job),
    ]


def _pairs(of_data: dict[str, Any], of_model: dict[str, Any]) -> dict[str, list[Any]]:
    return {key: [of_data[key], of_model[key]] for key in of_data}


def shares_of(weights: NDArray[np.float64]) -> list[float]:
    """Round weights to 6 decimals with sum 1, adjusting the largest."""
    millionths = np.rint(weights / weights.sum() * 1e6).astype(np.int64)
    millionths[np.argmax(millionths)] += 1_000_000 - millionths.sum()
    return [int(share) / 1e6 for share in millionths]


def _plain(values: NDArray[Any]) -> list[Any]:
    """Round to 6 significant digits, as lists, for a file."""
    if values.ndim > 1:
        return [_plain(row) for row in values]
    return [int(x) if float(x).is_integer() else float(f"{float(x):.6g}") for x in values]
