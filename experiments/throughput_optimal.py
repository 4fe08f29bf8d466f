"""The share of ρ* that MSR and K-discretised MaxWeight support, beside BF-J/S: a table of judgments, workload by workload.

On the paper's workloads with geometric service, and on the worst instances that packenv has found for other policies. The
second table says what becomes of a long queue at 0.99 of ρ* on figure 4(b), where queues that begin empty settle too
slowly for a judgment. All of it takes hours. With --quick: wide intervals, and short runs.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

import numpy as np

import packenv
from experiments.script_options import options_of
from packenv import Workload
from packenv.theory.stability.judge import MOST_TASKS
from packenv.units import UNIT
from packenv.workloads.laws import Discrete, Geometric

POLICIES = "msr:backfill,few=10", "kmw:backfill,few=10", "msr", "kmw", "bf-js"
NAMES = "paper/fig3a", "paper/fig3b", "paper/fig4a", "paper/fig4b"
WORST = {  # sizes, probabilities, servers: docs/how_to/judge.md
    "worst of bf-js": ([7 / 11, 13 / 66, 2 / 11], [0.2, 0.4, 0.4], 2),
    "worst of vqs-bf": ([0.327, 0.122], [0.5, 0.5], 1),
    "worst of vqs": ([0.555, 0.101], [1 / 12, 11 / 12], 1),
}
WIDTH, QUICK_WIDTH = 0.01, 0.1
TASKS = 4 * MOST_TASKS  # of the longest runs: near ρ* queues settle slowly
SEEDS = 4

LONG = "msr:grid=384,backfill,few=10", "agent:fig4b-kmw", "bf-js"  # ρ_K of 384 types of equal width is 0.997 of ρ*
LOAD, WAITING, SEED = 0.99, 20_000, 8
SLOTS, QUICK_SLOTS = 5_000_000, 100_000
PARTS = 8


def workloads() -> Iterator[Workload]:
    for name in NAMES:
        workload = packenv.workload(name)
        yield workload.with_(service=Geometric(workload.mean_service)) if name == "paper/fig3b" else workload
    for name, (sizes, probabilities, servers) in WORST.items():
        law = Discrete(sizes, probabilities)
        yield Workload(sizes=law, service=Geometric(100), servers=servers, load=0.9, name=name)


def with_a_long_queue(workload: Workload, waiting: int, slots: int, seed: int) -> Workload:
    """The tasks of `slots` slots, and about so many more that are there from the beginning."""
    early = round(waiting / workload.rate)
    table = workload.tabulated(seed, slots + early)
    assert table.jobs is not None
    return table.with_(jobs=dataclasses.replace(table.jobs, arrival=np.maximum(0, table.jobs.arrival - early)))


def offered(table: Workload, slots: int) -> float:
    """The share of the cluster that the tasks of a table keep busy, those apart that are there from the beginning."""
    jobs = table.jobs
    assert jobs is not None
    later = jobs.arrival > 0
    work = float((jobs.demand[later, 0] / UNIT * jobs.service[later]).sum())
    return work / (slots * len(table.servers))


def main(arguments: Sequence[str] | None = None) -> None:
    options = options_of(__doc__, arguments)
    width, tasks = (QUICK_WIDTH, MOST_TASKS) if options.quick else (WIDTH, TASKS)
    print("| workload | policy | supported | proved |")
    print("|---|---|--:|--:|")
    for workload in workloads():
        for policy in POLICIES:
            judged = packenv.judge(workload, policy, seeds=SEEDS, width=width, tasks=tasks)
            print(f"| {workload.name} | `{policy}` | {judged.low:.3f} – {judged.high:.3f} | {judged.claimed:.3f} |", flush=True)
    slots = QUICK_SLOTS if options.quick else SLOTS
    long = with_a_long_queue(packenv.resolved(packenv.workload("paper/fig4b", load=LOAD)), WAITING, slots, SEED)
    print(f"\nArriving tasks keep {offered(long, slots):.4f} of the cluster busy.\n")
    print(f"| | mean queue in each {PARTS}th of {slots:,} slots | busy |\n|---|--:|--:|")
    for policy in LONG:
        result = packenv.simulate(long, policy, slots, warmup=0)
        queue = (f"{part.mean():,.0f}" for part in np.array_split(result.trajectory.queue, PARTS))
        print(f"| `{policy}` | {', '.join(queue)} | {result.utilisation[0]:.4f} |", flush=True)


if __name__ == "__main__":
    main()
