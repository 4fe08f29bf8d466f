"""The rows of `packenv bench` for policies that schedule jobs of several tasks or phases, with their target speeds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

TETRIS_SPEED, DELAY_SPEED, EAGLE_SPEED = 200_000, 200_000, 300_000  # tasks per second
PRICE_SPEED = 50_000  # phases per second


class Speed(NamedTuple):
    """A measured speed and its target, both in `unit`."""

    group: str
    what: str
    measured: float
    unit: str
    target: float


def job_speeds(repeats: int, say: Callable[[str], None]) -> Iterator[Speed]:
    for measure in (tetris_speed, price_speed, delay_speed, eagle_speed):
        say(f"jobs of many tasks: {measure.__name__.partition('_')[0]}")
        yield measure(repeats)


def tetris_speed(repeats: int) -> Speed:
    """Tetris on 1,000 servers with four resources, at intensity 0.95."""
    from packenv.workloads.named.analytics import analytics

    run = fastest(repeats, analytics(jobs=2100, servers=1000, intensity=0.95), "tetris")
    what = f"tetris: {run.arrived:,} tasks, 1,000 servers, 4 resources, {_waiting(run)}"
    return Speed("Tetris, against the speed to reach", what, run.tasks_per_second, "tasks/s", TETRIS_SPEED)


def price_speed(repeats: int, jobs: int = 160, phases: int = 1000) -> Speed:
    """The price scheduler on the machines of its figures, with about a hundred phases ready at all times."""
    import packenv
    from packenv.workloads.named.instances import MACHINES, at_once

    random = np.random.default_rng(0)
    n = jobs * phases
    demand, service = random.integers(1, 31, (n, 2)), random.integers(1, 5, n)
    table = at_once(np.full(jobs, phases), demand, service, random.integers(1, 6, jobs))
    run = fastest(repeats, packenv.Workload(jobs=table, servers=MACHINES), "price")
    what = f"price: {n:,} phases, {run.mean_queue or 0.0:.0f} ready on average, 2 machines"
    return Speed("price scheduler, against the speed to reach", what, run.tasks_per_second, "phases/s", PRICE_SPEED)


def delay_speed(repeats: int) -> Speed:
    """Delay scheduling of jobs that read blocks, on 1,000 servers that take one task each, at intensity 0.95."""
    from packenv.workloads.named.blocks import readers

    run = fastest(repeats, readers(servers=1000, jobs=1250, intensity=0.95), "delay")
    what = f"delay: {run.arrived:,} tasks, 1,000 servers, {_waiting(run)}"
    return Speed("delay scheduling, against the speed to reach", what, run.tasks_per_second, "tasks/s", DELAY_SPEED)


def eagle_speed(repeats: int) -> Speed:
    """Eagle on the Google mix of its figures."""
    from packenv.workloads.named.eagle import MIXES, eagle

    run = fastest(repeats, eagle("google"), f"eagle:cutoff={MIXES['google'].cutoff}")
    what = f"eagle: {run.arrived:,} tasks, 15,000 servers, {_waiting(run)}"
    return Speed("Eagle, against the speed to reach", what, run.tasks_per_second, "tasks/s", EAGLE_SPEED)


def fastest(repeats: int, workload: Any, policy: str) -> Any:
    """The fastest of several runs, each until all jobs have completed."""
    import packenv

    return min((packenv.simulate(workload, policy, drain=True) for _ in range(repeats)), key=lambda run: run.seconds)


def _waiting(run: Any) -> str:
    return f"{run.mean_queue or 0.0:.0f} waiting on average"
