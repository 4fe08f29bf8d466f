"""Delay scheduling: wait a short time for a server that holds the data instead of reading it over the network.

    python baselines/delay.py

Takes about 10 s once compiled; the first run compiles, which took up to five minutes on a busy machine of two cores.

Zaharia et al., "Delay scheduling", EuroSys 2010, and "Dynamic delay scheduling", a report. Servers are shared fairly: a
server is offered first to the job with the fewest tasks in service. A job without data on it is skipped for a limited time.
"""

from __future__ import annotations

import argparse

import numpy as np
from playing import play_again, print_table

import packenv
from packenv.workloads.named.blocks import SLOT_SECONDS, readers
from packenv.workloads.network import NODE

POLICIES = ("fair", "delay:interval=1", "delay", "delay:interval=10", "delay:interval=1000", "delay-dynamic")
COLUMNS = ["policy", "at home", "delay (s)", "overhead (s)", "mean (s)", "p95 (s)"]
WHOLE_QUEUE = {"rule": "window", "window": 400, "waiting_limit": 400}
SWINGS = tuple((300.0 * k, (0.1, 3.0)[k % 2]) for k in range(400))  # seconds, factor on the time of a remote read
EXPLAINED = """
`at home` is the share of tasks that ran on a server with their data. `delay` is how long tasks waited on average although some
server had room for them, `overhead` how much longer they took elsewhere; `mean` and `p95` are completion times of jobs.

`fair` takes what it is offered, and a tenth of the tasks read over the network, which takes them eight seconds longer.
Three seconds of patience (`delay`) bring nearly all of these home. Where every task reads a block of its own, servers come free
all the time: a job need not wait long for one of the three that hold its data, so never leaving home (1000 s) is best on both
networks, and `delay-dynamic`, which learns from how much longer tasks say that they took elsewhere, can only come near it.

Where many tasks read the same few blocks, their servers cannot serve all of them. Now it matters when a job gives up: never
leaving home makes jobs wait behind each other, and short intervals are best. `delay-dynamic` learns an interval of about
eight seconds, the overhead, and ends between 3 and 10 s: what a wait costs the tasks behind in the queue it does not see.
"""


def main(jobs: int = 100, played_jobs: int = 6, seed: int = 0) -> list[bool]:
    """Run the policies in the simulator, then two as agents; returns, for each agent, whether the schedules are equal."""
    settings = {
        "a steady network": {},
        "a network that swings every five minutes": {"factor": SWINGS},
        "a steady network, many tasks read the same few blocks": {"blocks": 500, "skew": 0.9},
    }
    for what, setting in settings.items():
        workload = readers(servers=50, jobs=jobs, **setting)  # type: ignore[arg-type]
        rows = [[policy, *measures(packenv.simulate(workload, policy, seed=seed, drain=True))] for policy in POLICIES]
        print_table(f"{jobs} jobs that read blocks, 50 servers, {what}", COLUMNS, rows)
    print(EXPLAINED)

    small = readers(servers=10, jobs=played_jobs, bins=((1, 0.5), (5, 0.5)))  # type: ignore[arg-type]
    agents = [(policy, "Placement", WHOLE_QUEUE) for policy in ("fair", "delay")]
    return play_again(f"the same policies as agents, {played_jobs} jobs", small, agents, None, seed)


def measures(run: packenv.Result) -> tuple[float, float, float, float, float]:
    """Share of tasks at home; in seconds their mean scheduling delay and overhead, mean and 95th percentile of jobs' times."""
    assert run.data is not None and run.jobs is not None
    seconds = run.jobs.completion * SLOT_SECONDS
    at_home = run.data.share(NODE)
    assert at_home is not None
    delay, overhead = (float(SLOT_SECONDS * each.mean()) for each in (run.data.scheduling_delay, run.data.overhead))
    return at_home, delay, overhead, float(seconds.mean()), float(np.percentile(seconds, 95))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--jobs", type=int, default=100)
    main(parser.parse_args().jobs)
