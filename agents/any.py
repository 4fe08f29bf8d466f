"""Evolve `agent:any` again: one agent for any workload of one resource, trained on random workloads.

    python agents/any.py --out any            # 100 generations: half an hour on one busy core
    python agents/any.py --out any --quick    # a first look

The agent fills one server at a time, as agent:fig4b does, and starts from its weights. In each generation every candidate
schedules the same jobs of ten random workloads (agents.random_workloads: servers, sizes, services, arrivals and
loads differ), and those win whose queues are shortest as multiples of BF-J/S's; multiples above 1 count double. Every tenth
generation is kept as OUT-10, OUT-20, …, and the agent is chosen among them on other workloads:

    python experiments/any_workload.py --family choice --policy agent:fig4b --policy agent:./any-80 …
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from agents.random_workloads import random_workload
from agents.training_run import evolve_on_cases, options_of
from packenv.learning.evolution import Case
from packenv.learning.objective import QUEUE, Objective, measure
from packenv.learning.settings import Settings
from packenv.theory.capacity.max_workload import resolved
from packenv.workloads.workload import Workload

AGAINST = "bf-js"
FAMILY, POOL = "training", 120  # random workloads 0, 1, … of this family; the jobs of each generation are new
CASES = 10  # in a generation
TASKS, TURNOVERS = 20_000, 10  # a run has so many tasks, and lasts so many mean services at least
SETTINGS = Settings(
    random_workload(FAMILY, 0).with_(name="random workloads"),
    network="linear",
    J=4,
    types=40,
    start="fig4b",
    learning_rate=0.08,
    population=14,
    samples=279_000_000,  # tasks that candidates start, in all: 100 generations
    guard="bf-js",
    guard_limit=100_000,  # tasks waiting: the guard is to save what grows without end, not to schedule long queues
)
QUICK = replace(SETTINGS, population=4, samples=1)


def slots_of(workload: Workload, tasks: int = TASKS) -> int:
    """How long a run takes."""
    return round(max(tasks / workload.rate, TURNOVERS * workload.mean_service))


def cases_of(seed: int, count: int = CASES, pool: int = POOL, tasks: int = TASKS) -> list[Case]:
    """Random workloads of a generation, and BF-J/S's mean queues on their jobs."""
    numbers = np.random.default_rng(seed).choice(pool, count, replace=False)
    cases = []
    for n, number in enumerate(numbers):
        workload = resolved(random_workload(FAMILY, int(number)))
        slots = slots_of(workload, tasks)
        cases.append(Case(workload.name, workload, slots, measure(workload, AGAINST, slots, seed + n, Objective(QUEUE))[0]))
    return cases


def main(arguments: Sequence[str] | None = None) -> None:
    """Evolve, and keep an agent every so many generations and the last."""
    given = options_of(__doc__, arguments, processes=2)  # candidates that run at a time
    settings = replace(QUICK if given.quick else SETTINGS, seed=given.seed)
    evolve_on_cases(settings, given.out, given.processes, cases_of)


if __name__ == "__main__":
    main()
