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
from packenv.runs.statistics import interval
from packenv.workloads.laws import Constant, Discrete, Geometric
from packenv.workloads.laws.arrivals import Batch

NODES, SERVICE = 32, Geometric(100)
GANGS = (2, 4, 8, 16)
POLICIES = ("fifo-ff", "easy", "reserve:age=1000", "bf-js")
SHARE, LOAD = 1 / 8, 0.8
WAITING = ("bf-js", "reserve:age=1000", "reserve:age=3000", "easy", "fifo-ff")
SEEDS, SLOTS = 8, 40_000
LONG = 1_000  # slots
FILE = "gangs.csv"


class Line(NamedTuple):
    """Of a table."""

    table: str
    case: str
    policy: str
    low: float  # share of ρ* that is supported: at least, and less than
    high: float
    wait: tuple[float, float, float] | None = None  # slots that whole-node jobs wait at LOAD: mean, and its interval of 95 %
    long: tuple[float, float, float] | None = None  # share of them that wait for more than LONG slots


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


def supported(workload: packenv.Workload, policy: str, quick: bool) -> tuple[float, float]:
    judgment = packenv.judge(workload, policy, seeds=2, width=0.2 if quick else 0.03)
    return judgment.low, judgment.high


def waits(policy: str, quick: bool) -> tuple[tuple[float, float, float], tuple[float, float, float]]:
    """Of whole-node jobs behind a warm-up of a quarter: the mean wait, and the share that waits for long; over the seeds."""
    workload, means, shares = packenv.resolved(whole_nodes()), [], []
    for seed in range(2 if quick else SEEDS):
        table = workload.tabulated(seed, SLOTS)
        result = packenv.simulate(table, policy, SLOTS, seed, schedule=True)
        assert table.jobs is not None and result.schedule is not None
        arrival, start = table.jobs.arrival, result.schedule.start
        whole = (table.jobs.demand[:, 0] > table.jobs.demand.min()) & (arrival >= SLOTS // 4)
        wait = np.where(start >= 0, start, SLOTS)[whole] - arrival[whole]
        means.append(float(wait.mean()))
        shares.append(float((wait > LONG).mean()))
    return interval(means), interval(shares)


def lines(quick: bool) -> Iterator[Line]:
    for workers in GANGS[1:2] if quick else GANGS:
        for together in (True, False):
            for policy in POLICIES if together else POLICIES[:1]:
                case = f"{workers}" if together else f"{workers}, one by one"
                yield Line("gangs", case, policy, *supported(gangs(workers, together), policy, quick))
    for policy in WAITING:
        yield Line("whole nodes", "", policy, *supported(whole_nodes(), policy, quick), *waits(policy, quick))


def main(arguments: Sequence[str] | None = None) -> None:
    options = options_of(__doc__, arguments)
    with (options.folder / FILE).open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(
            ("table", "gangs of", "policy", "supported from", "to", "wait", "its 95 %", "", "waits long", "its 95 %", "")
        )
        for line in lines(options.quick):
            print(line, flush=True)
            writer.writerow([*line[:5], *(line.wait or ()), *(line.long or ())])


if __name__ == "__main__":
    main()
