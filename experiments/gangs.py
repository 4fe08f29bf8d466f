"""What gangs cost, and what bounded waiting of jobs that need a whole node does: tables of supported shares of ρ*.

A cluster of 32 nodes. In the first table each worker takes a node; half of the work is single workers, half gangs of so many
that start together and run equally long. In the second a job takes an eighth of a node or the whole, half of the work each.
Services are geometric, 100 slots on average. With --quick: a first look.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

import packenv
from experiments.script_options import options_of
from packenv.jobs import gang_spans
from packenv.results.stability import UNSTABLE
from packenv.runs.statistics import Interval, interval
from packenv.workloads.laws import Constant, Discrete, Geometric
from packenv.workloads.laws.arrivals import Batch

NODES, SERVICE = 32, Geometric(100)
GANGS = (2, 4, 8, 16)
POLICIES = ("fifo-ff", "easy", "reserve:age=1000", "bf-js")
WAITING = ("bf-js", "reserve:age=1000", "reserve:age=300", "reserve:age=100", "easy", "fifo-ff")
SHARE, LOAD = 1 / 8, 0.9
SEEDS, SLOTS = 6, 100_000
LOADS = np.arange(0.5, 1.0, 0.01)
LONG = 300  # slots
FILE = "gangs.csv"


class Line(NamedTuple):
    """Of a table; intervals of 95 % over the seeds."""

    table: str
    case: str
    policy: str
    supported: Interval  # share of ρ*: the highest of LOADS at which a run is not found unstable
    wait: Interval  # slots that gangs, or whole-node jobs, wait at LOAD, the mean
    long: Interval  # share of them that wait for more than LONG slots


def gangs(workers: int, together: bool) -> packenv.Workload:
    """Half of the work in single workers, half in gangs, or in jobs whose workers may start one by one."""
    sizes = Discrete((1, workers), (workers / (workers + 1), 1 / (workers + 1)))
    return packenv.Workload(
        sizes=Constant(1.0),
        service=SERVICE,
        servers=NODES,
        load=LOAD,
        arrivals=Batch(sizes, gang=together),
        name=f"gangs of {workers}",
    )


def whole_nodes() -> packenv.Workload:
    """Half of the work in tasks of an eighth of a node, half in tasks of a whole one."""
    parts = Discrete((SHARE, 1.0), (1 / (1 + SHARE), SHARE / (1 + SHARE)))
    return packenv.Workload(sizes=parts, service=SERVICE, servers=NODES, load=LOAD, name="whole nodes")


def supported(workload: packenv.Workload, policy: str, seeds: range) -> Interval:
    """By bisection, on the same jobs at each load but for their times."""
    workload = packenv.resolved(workload)

    def share(seed: int) -> float:
        low, high = 0, len(LOADS)
        while high - low > 1:
            middle = (low + high) // 2
            result = packenv.simulate(workload.with_(load=LOADS[middle]).knowing(*workload.rho), policy, SLOTS, seed)
            low, high = (low, middle) if result.verdict.kind == UNSTABLE else (middle, high)
        return float(LOADS[low])

    return interval(map(share, seeds))


def waits(workload: packenv.Workload, policy: str, seeds: range) -> tuple[Interval, Interval]:
    """Of gangs, or whole-node jobs, behind a warm-up of a quarter: mean wait until all started, and the share that is long."""
    workload, means, shares = packenv.resolved(workload), list[float](), list[float]()
    for seed in seeds:
        table = workload.tabulated(seed, SLOTS)
        jobs = table.jobs
        result = packenv.simulate(table, policy, SLOTS, seed, schedule=True)
        assert jobs is not None and result.schedule is not None
        wait = np.where(result.schedule.start >= 0, result.schedule.start, SLOTS) - jobs.arrival
        first, tasks = np.unique(gang_spans(np.arange(len(jobs)) if jobs.job is None else jobs.job), axis=0).T
        large = tasks > 1 if jobs.job is not None else jobs.demand[:, 0] > jobs.demand.min()
        wait = np.maximum.reduceat(wait, first)[large & (jobs.arrival[first] >= SLOTS // 4)]
        means.append(float(wait.mean()))
        shares.append(float((wait > LONG).mean()))
    return interval(means), interval(shares)


def lines(quick: bool) -> Iterator[Line]:
    seeds = range(2 if quick else SEEDS)
    for workers in GANGS[1:2] if quick else GANGS:
        for policy, together in ((POLICIES[0], False), *((policy, True) for policy in POLICIES)):
            case, workload = f"{workers}" if together else f"{workers}, one by one", gangs(workers, together)
            yield Line("gangs", case, policy, supported(workload, policy, seeds), *waits(workload, policy, seeds))
    for policy in WAITING:
        yield Line("whole nodes", "", policy, supported(whole_nodes(), policy, seeds), *waits(whole_nodes(), policy, seeds))


def main(arguments: Sequence[str] | None = None) -> None:
    options = options_of(__doc__, arguments)
    print("| gangs of | policy | supported | mean wait | waits long |")
    print("|---|---|---|---|---|")
    with (options.folder / FILE).open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        names = [f"{name}{end}" for name in ("supported", "wait", "long") for end in ("", "_low", "_high")]
        writer.writerow(("table", "gangs_of", "policy", *names))
        for line in lines(options.quick):
            shown = (str(found) for found in line[3:])
            print(f"| {line.case} | `{line.policy}` | {' | '.join(shown)} |", flush=True)
            writer.writerow([*line[:3], *(end for found in line[3:] for end in found)])


if __name__ == "__main__":
    main()
