"""What departures and waiting change: pods come at random times, run for as long as pods of the trace did, and leave."""

from __future__ import annotations

from functools import partial
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

import packenv
from experiments.fgd.engine import Nodes
from experiments.fgd.figure import folder_of
from experiments.fgd.runs import Pods, Study, read_study
from experiments.finding import Claim, Finding, Row, Settings, columns
from packenv.content.charts import COLOURS, GREY
from packenv.errors import InputError
from packenv.jobs import Jobs
from packenv.policies.gpus.fragmentation import WHOLE, Ints, fragmentation_over_time
from packenv.report.plot_style import light_grid
from packenv.results.result import Result
from packenv.runs.run import Run
from packenv.runs.run_charts import means_between
from packenv.runs.runner import extract_all
from packenv.runs.statistics import certainly_below, interval, ratio
from packenv.workloads.servers import Servers

Floats = NDArray[np.float64]
NAME = "fgd-departures"
RESOURCES = ("cpu", "memory", "gpu")
LOADS = (0.8, 0.85, 0.9, 0.95, 0.98)  # of all devices, by what pods ask for and how long they run
POLICIES = (
    "fgd",
    "fgd:ties=random",
    "fgd:ties=exact",
    "fgd:ties=best-fit",
    "fgd:ties=exact,beside=0.1",
    "gpu-best-fit",
    "gpu-packing",
    "bf-js",
)
LISTS = ("default", "gpuspec33")
PART = 10  # every tenth node: a run of all would take ten times as many pods to say as much
PODS, QUICK_PODS, SEEDS, QUICK_SEEDS = 60_000, 6_000, 4, 2
LONGEST = 86_400  # seconds: 1.2 % of the pods ran for longer, up to 145 days, and did 91 % of the work; they are cut
WARMUP = 0.25  # of a run
HOUR = 3_600


def workload_of(nodes: Nodes, pods: Pods, of: Ints, arrival: Ints, service: Ints) -> packenv.Workload:
    """Pods whose requests are numbers `of` (n,) those of the list; when they come and how long they stay, in slots."""
    requests, largest = pods.requests, nodes.free.max(axis=0)
    bits = np.flatnonzero([(nodes.kind >> bit & 1).any() for bit in range(62)])
    names = tuple(f"kind {bit}" for bit in bits)
    most = int(nodes.devices.max())
    model = np.array([int(kind).bit_length() - 1 for kind in nodes.kind])
    servers = Servers(
        np.column_stack([nodes.free / largest, nodes.devices / most]),
        np.column_stack([nodes.devices, np.full(len(model), WHOLE), np.searchsorted(bits, model)]),
        names,
    )
    milli = requests.share * requests.count
    demand = np.column_stack([requests.demand / largest, milli / (WHOLE * most)])[of]
    share = np.where(requests.share == WHOLE, 0, requests.share)
    kinds = sum((requests.kinds >> bit & 1) << n for n, bit in enumerate(bits))
    table = Jobs.of(arrival, demand, service)
    devices = np.column_stack([requests.count, share, kinds])[of]
    jobs = Jobs(table.arrival, table.demand, table.service, devices=devices, device_kinds=names)
    return packenv.Workload(jobs=jobs, servers=servers, resources=RESOURCES)


def stream(study: Study, name: str, load: float, pods: int, seed: int) -> packenv.Workload:
    """Pods drawn from those of the list that ran, with their durations; Poisson arrivals; every tenth node."""
    rng = np.random.default_rng([seed, round(1000 * load)])
    listed, nodes = study.lists[name], Nodes(*(column[::PART] for column in study.nodes))
    requests = listed.requests
    room = [
        (requests.demand <= free).all(axis=1) & (requests.count <= devices) & (requests.kinds & kind > 0)
        for free, devices, kind in zip(*nodes, strict=True)
    ]
    able = np.flatnonzero(np.any(room, axis=0)[listed.of] & (listed.ran > 0))
    drawn = rng.choice(able, pods)
    ran = np.minimum(listed.ran, LONGEST)
    work = float(((requests.share * requests.count)[listed.of] * ran)[able].mean())
    arrival = np.cumsum(rng.exponential(work / (load * nodes.capacity), pods)).astype(np.int64)
    return workload_of(nodes, listed, listed.of[drawn], arrival, ran[drawn])


class Outcome(NamedTuple):
    """Of a run behind its warm-up."""

    wait: float  # seconds, the mean; pods that never start wait until the end
    long: float  # share of the pods with eight devices that wait for more than an hour
    fragmented: float  # share of all devices, over time
    stable: bool


def fragmentation_of(workload: packenv.Workload, result: Result, first: int) -> float:
    """The mean F over time from slot `first` on, as a share of all devices."""
    slot, shares = fragmentation_over_time(result, workload)
    return float(means_between(slot, shares.sum(axis=1), np.array([first, result.slots], np.float64))[0])


def outcome_of(workload: packenv.Workload, result: Result) -> Outcome:
    jobs, schedule = workload.jobs, result.schedule
    assert jobs is not None and jobs.devices is not None and schedule is not None
    first = int(WARMUP * result.slots)
    wait = np.where(schedule.start >= 0, schedule.start, result.slots) - jobs.arrival
    counted = jobs.arrival >= first
    whole = counted & (jobs.devices[:, 0] == 8)
    long = float((wait[whole] > HOUR).mean()) if whole.any() else 0.0
    return Outcome(float(wait[counted].mean()), long, fragmentation_of(workload, result, first), str(result.verdict) == "stable")


def reproduce(settings: Settings) -> Finding:
    study = read_study(folder_of(settings.folder))
    names = [name for name in LISTS if name in study.lists] or list(study.lists)
    names = [name for name in names if len(study.lists[name].ran)]
    if not names:
        raise InputError(f"{NAME}: no list has the times of its pods (scheduled_time, deletion_time)")
    seeds, pods = settings.seeds_or(SEEDS, QUICK_SEEDS), QUICK_PODS if settings.quick else PODS
    cases = [*product(names, LOADS, range(seeds))]
    made = {case: partial(stream, study, case[0], case[1], pods, case[2]) for case in cases}
    keys = [(*case, policy) for case in cases for policy in POLICIES]
    runs = [Run(made[name, load, seed], policy, seed, options={"schedule": True}) for name, load, seed, policy in keys]
    found = dict(zip(keys, extract_all(runs, outcome_of, settings.runs, NAME), strict=True))
    table = [row_of(found, name, load, policy, seeds) for name, load, policy in product(names, LOADS, POLICIES)]
    title = f"FGD with departures and waiting: {pods:,} pods a run, 122 nodes, {seeds} seeds{settings.remark}"

    def draw() -> Figure:
        return draw_loads(table, names, title)

    return Finding(NAME, title, claims_on_departures(table, found, names, seeds), {"": table}, draw)


Found = dict[tuple[str, float, int, str], Outcome]


def row_of(found: Found, name: str, load: float, policy: str, seeds: int) -> Row:
    outcomes = [found[name, load, seed, policy] for seed in range(seeds)]
    fit = [found[name, load, seed, "gpu-best-fit"].wait for seed in range(seeds)]
    row: Row = {"workload": name, "load": load, "policy": policy}
    row |= columns("wait_s", interval([each.wait for each in outcomes]))
    row |= columns("over_best_fit", ratio([each.wait for each in outcomes], fit))
    row |= columns("whole_nodes_over_an_hour", interval([each.long for each in outcomes]))
    row |= columns("fragmented", interval([100 * each.fragmented for each in outcomes]))
    return row | {"stable": sum(each.stable for each in outcomes), "seeds": seeds}


def claims_on_departures(table: list[Row], found: Found, names: list[str], seeds: int) -> list[Claim]:
    """Whether FGD waits less than best fit, by load; and with which rule for ties."""
    claims = []
    for policy in ("fgd", "fgd:ties=random"):
        ratios = {
            (name, load): ratio(
                *([found[name, load, seed, each].wait for seed in range(seeds)] for each in (policy, "gpu-best-fit"))
            )
            for name, load in product(names, LOADS[2:])
        }
        shorter = [key for key, value in ratios.items() if certainly_below(value, 1)]
        figures = "; ".join(f"{name} at {load:g}: {value}" for (name, load), value in ratios.items())
        claims.append(
            Claim(
                NAME,
                f"{policy} has shorter mean waits than best fit at loads of {LOADS[2]:g} and more",
                len(shorter) == len(ratios),
                figures,
            )
        )
    rows = {(row["workload"], row["load"], row["policy"]): row["fragmented"] for row in table}
    less = [rows[name, load, "fgd"] < rows[name, load, "gpu-best-fit"] for name, load in product(names, LOADS)]
    claims.append(Claim(NAME, "fgd leaves less fragmented than best fit at every load", all(less), f"{sum(less)} of {len(less)}"))
    return claims


def draw_loads(table: list[Row], names: list[str], title: str) -> Figure:
    figure = Figure(figsize=(11, 4 * len(names)), layout="constrained")
    axes: Any = figure.subplots(len(names), 3, squeeze=False)
    for at, name in enumerate(names):
        for n, (measure, label) in enumerate(
            (
                ("wait_s", "mean wait, s"),
                ("fragmented", "fragmented, % of all GPUs"),
                ("whole_nodes_over_an_hour", "pods of 8 GPUs that wait > 1 h"),
            )
        ):
            for k, policy in enumerate(POLICIES):
                rows = [row for row in table if (row["workload"], row["policy"]) == (name, policy)]
                axes[at, n].plot(
                    [row["load"] for row in rows],
                    [row[measure] for row in rows],
                    "o-",
                    ms=4,
                    color=(*COLOURS, GREY)[k],
                    label=policy,
                )
            axes[at, n].set_xlabel("load, share of all GPUs")
            axes[at, n].set_title(f"{label}, {name}", fontsize=10)
            light_grid(axes[at, n])
        axes[at, 0].set_yscale("log")
    axes[0, 0].legend(fontsize=7, frameon=False)
    figure.suptitle(title, fontsize=11)
    return figure
