"""What gangs cost, and what bounded waiting of jobs that need a whole node does: tables of supported shares of ρ*.

A cluster of 32 nodes. In the first table each worker takes a node; half of the work is single workers, half gangs of so many
that start together and run equally long. In the second a job takes an eighth of a node or the whole, half of the work each.
Services are geometric, 100 slots on average. With --quick: a first look.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

import packenv
from experiments.script_options import options_of
from packenv.jobs import Jobs, gang_spans
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


def gangs(workers: int) -> packenv.Workload:
    """Half of the work in single workers, half in gangs."""
    sizes = Discrete((1, workers), (workers / (workers + 1), 1 / (workers + 1)))
    arrivals = Batch(sizes, gang=True)
    return packenv.Workload(sizes=Constant(1.0), service=SERVICE, servers=NODES, load=LOAD, arrivals=arrivals)


def whole_nodes() -> packenv.Workload:
    """Half of the work in tasks of an eighth of a node, half in tasks of a whole one."""
    parts = Discrete((SHARE, 1.0), (1 / (1 + SHARE), SHARE / (1 + SHARE)))
    return packenv.Workload(sizes=parts, service=SERVICE, servers=NODES, load=LOAD)


def table(workload: packenv.Workload, load: float, seed: int, together: bool) -> tuple[packenv.Workload, Jobs]:
    """The jobs of a seed; without `together`, tasks of gangs may start one by one."""
    assert workload.rho is not None
    drawn = workload.with_(load=load).knowing(*workload.rho).tabulated(seed, SLOTS)
    assert drawn.jobs is not None
    jobs = drawn.jobs if together else replace(drawn.jobs, gang=None)
    return drawn.with_(jobs=jobs), jobs


def supported(workload: packenv.Workload, policy: str, seeds: range, together: bool) -> Interval:
    """By bisection, on the same jobs at each load but for their times."""

    def share(seed: int) -> float:
        low, high = 0, len(LOADS)
        while high - low > 1:
            middle = (low + high) // 2
            jobs, _ = table(workload, LOADS[middle], seed, together)
            stable = packenv.simulate(jobs, policy, SLOTS, seed, warmup=SLOTS // 10).verdict.kind != UNSTABLE
            low, high = (middle, high) if stable else (low, middle)
        return float(LOADS[low])

    return interval(map(share, seeds))


def waits(workload: packenv.Workload, policy: str, seeds: range, together: bool) -> tuple[Interval, Interval]:
    """Of gangs, or whole-node jobs, behind a warm-up of a quarter: mean wait until all started, and the share that is long."""
    means, shares = list[float](), list[float]()
    for seed in seeds:
        setting, jobs = table(workload, LOAD, seed, together)
        result = packenv.simulate(setting, policy, SLOTS, seed, schedule=True)
        assert result.schedule is not None
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
        workload = packenv.resolved(gangs(workers))
        for policy, together in ((POLICIES[0], False), *((policy, True) for policy in POLICIES)):
            case, of = f"{workers}" if together else f"{workers}, one by one", (workload, policy, seeds, together)
            yield Line("gangs", case, policy, supported(*of), *waits(*of))
    workload = packenv.resolved(whole_nodes())
    for policy in WAITING:
        of = workload, policy, seeds, True
        yield Line("whole nodes", "", policy, supported(*of), *waits(*of))


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
