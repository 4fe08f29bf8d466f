"""Evolve `agent:any` again: one agent for any workload of one resource, trained on random workloads.

    python agents/any.py --out any            # 100 generations: half an hour on one busy core
    python agents/any.py --out any --quick    # a first look

The agent fills one server at a time, as agent:fig4b does, and starts from its weights. In each generation every candidate
schedules the same jobs of ten random workloads (packenv.workloads.random_workloads: servers, sizes, services, arrivals and
loads differ), and those win whose queues are shortest as multiples of BF-J/S's; multiples above 1 count double. Every tenth
generation is kept as OUT-10, OUT-20, …, and the agent is chosen among them on other workloads:

    python experiments/any_workload.py --family choice --policy agent:fig4b --policy agent:./any-80 …
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from training_run import command, options_of

from packenv.learning.agents.metadata import agent_metadata
from packenv.learning.agents.saved import save_agent
from packenv.learning.evolution import Case, Evolution
from packenv.learning.objective import QUEUE, Objective, measure
from packenv.learning.settings import Settings
from packenv.theory.capacity.max_workload import resolved
from packenv.workloads.random_workloads import random_workload
from packenv.workloads.workload import Workload

AGAINST = "bf-js"
FAMILY, POOL = "training", 120  # random workloads 0, 1, … of this family; the jobs of each generation are new
CASES = 10  # in a generation
TASKS, TURNOVERS = 20_000, 10  # a run has so many tasks, and lasts so many mean services at least
SETTINGS = Settings(
    random_workload(FAMILY, 0).with_(name="random workloads"),
    algorithm="cma-es",
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
EVERY = 10  # generations from one agent that is kept to the next


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
    evolve_on_any(settings, given.out, given.processes)


def evolve_on_any(settings: Settings, out: str, processes: int, draw: Callable[[int], list[Case]] = cases_of) -> None:
    """Evolve on the cases that `draw` gives for each generation."""
    learner = Evolution(settings, processes, draw=draw)
    learner.initialise()
    generation = 0

    def save(path: str) -> None:
        save_agent(path, agent_metadata(settings, command(), learner.samples, "last", {}), learner.network.exported())

    def between_generations() -> None:
        nonlocal generation
        if generation % EVERY == 0 and generation:
            save(f"{out}-{generation}")
        measured = [f"{value:.3g}" for name, value in learner.measured().items() if "median" not in name]
        print(f"generation {generation}, {learner.samples:,} tasks: step size and spread {', '.join(measured)}", flush=True)
        generation += 1

    learner.learn(settings.samples, between_generations)
    save(out)


if __name__ == "__main__":
    main()
