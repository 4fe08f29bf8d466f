"""Evolve `agent:jobs`: one agent for whole jobs of any kind, trained on random mixes of them.

    python agents/jobs.py --out jobs            # two stages, 160 generations: fifty minutes of one core
    python agents/jobs.py --out jobs --quick    # a first look

The agent fills one server at a time, as agent:analytics does, and starts from its weights. In each generation every candidate
schedules the same tables: ten random mixes (agents.random_jobs: resources, servers, stages, demands, services,
arrivals, loads and places of data differ) and four small tables of named workloads. Those win whose jobs end soonest, as
multiples of the best of RIVALS; multiples above 1 count double. In the second stage, which goes on from the first's weights, two
more of the named workloads are among the tables. Every tenth generation is kept as OUT-10, OUT-20, …, and the agent is chosen
among them on other mixes:

    python experiments/whole_job_agents.py --mixes choice --agent ./jobs-80 --agent ./jobs-90 …
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

import packenv
from agents.random_jobs import random_jobs
from agents.training_run import evolve_on_cases, options_of
from packenv.learning.evolution import Case
from packenv.learning.objective import COMPLETION, Objective, measure
from packenv.learning.settings import Settings
from packenv.workloads.named.analytics import analytics
from packenv.workloads.named.blocks import SWINGS, readers
from packenv.workloads.named.dag import dag
from packenv.workloads.workload import Workload

Tables = Callable[[np.random.Generator], list[Workload]]

AGAINST = "tetris:f=0,m=1,remote=0.4"
RIVALS = (AGAINST, "tetris:f=0,m=4,remote=0.4", "srpt")
PRICES = "price/fig5", "price/fig8"
FAMILY, POOL, CASES = "training", 200, 10  # mixes 0, 1, …, and how many of them are in a generation
SETTINGS = Settings(
    random_jobs(FAMILY, 10).with_(name="random jobs"),
    environment="JobFill",
    network="varying",  # two weights a feature: one counts times the logarithm of the waiting tasks
    reward="completion",
    start="analytics",
    learning_rate=0.15,  # the first step size
    samples=32_400_000,  # tasks that candidates start, in all: 70 generations
)
SECOND: dict[str, Any] = {"learning_rate": 0.1, "samples": 52_300_000}  # 90 generations
QUICK: dict[str, Any] = {"population": 4, "samples": 1}


def four_tables(draw: np.random.Generator) -> list[Workload]:
    """One of each kind of named workload, with fewer jobs and servers."""
    racks, factor = ((0, ()), (10, ()), (10, SWINGS))[draw.integers(3)]
    return [
        analytics(jobs=80, servers=20),
        dag(jobs=80, servers=4),
        readers(40, racks, factor, jobs=40),
        packenv.workload(PRICES[draw.integers(2)]),
    ]


def six_tables(draw: np.random.Generator) -> list[Workload]:
    """The same with two of DAGs, and one more on a network whose speed changes."""
    return [
        analytics(jobs=80, servers=20),
        dag(jobs=80, servers=4),
        dag(jobs=80, servers=8),
        readers(40, int(draw.choice((0, 10))), jobs=40),
        readers(40, 10, SWINGS, jobs=40),
        packenv.workload(PRICES[draw.integers(2)]),
    ]


def cases_of(seed: int, named: Tables = four_tables, count: int = CASES, pool: int = POOL) -> list[Case]:
    """Tables of a generation, and the mean completion times of the best of RIVALS on them."""
    draw = np.random.default_rng(seed)
    of_names = named(draw)
    mixes = [random_jobs(FAMILY, int(number)) for number in draw.choice(pool, count, replace=False)]
    cases = []
    for n, workload in enumerate([*mixes, *of_names]):
        table = workload.at(seed + n)
        reference = min(measure(table, policy, None, 0, Objective(COMPLETION))[0] for policy in RIVALS)
        cases.append(Case(workload.name, table, SETTINGS.horizon, reference))
    return cases


def main(arguments: Sequence[str] | None = None) -> None:
    """Evolve in two stages, and keep an agent every so many generations and the last."""
    given = options_of(__doc__, arguments, processes=2)  # candidates that run at a time
    first, quick = f"{given.out}-first", QUICK if given.quick else {}
    evolve_on_cases(replace(SETTINGS, seed=given.seed, **quick), first, given.processes, cases_of)
    second = replace(SETTINGS, start=first, seed=given.seed + 1, **(SECOND | quick))
    evolve_on_cases(second, given.out, given.processes, partial(cases_of, named=six_tables))


if __name__ == "__main__":
    main()
