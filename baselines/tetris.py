"""Tetris, which packs several resources at once, compared with fair sharing.

    python baselines/tetris.py

Takes about 10 to 25 s once compiled; the first run compiles, which took up to five minutes on a busy machine of two cores.

Grandl et al., "Multi-resource packing for cluster schedulers", SIGCOMM 2014. A job completes when its last task
does, and tasks need cpu, memory, disk and network together. Tetris starts the task whose demands are best aligned with the
free resources of a server, favours jobs with little work left, and considers only the owners with the least shares.
"""

from __future__ import annotations

import argparse

from playing import play_again, print_table

import packenv
from packenv.results.occupancy import most_allocated
from packenv.workloads.named.analytics import analytics

POLICIES = ("tetris", "tetris:m=0", "tetris:packing=0", "drf", "task-fair", "slot-fair:checked=4", "drf:checked=2", "slot-fair")
WHOLE_QUEUE = {"rule": "window", "window": 900, "waiting_limit": 900}  # actions cover all waiting tasks
EXPLAINED = """
`mean` and `p95` are completion times of jobs in slots; `promised` is the largest share of a resource of one server that
was ever given to tasks at once.

`tetris` packs all four resources, and its jobs end earlier than under fair sharing, though it, too, serves the owners
below their share (f = 0.25). Its two halves: packing alone (m=0) serves the cluster, and so the makespan; the least
work alone (packing=0) serves the jobs, and so the mean.
`drf` and `task-fair` share fairly and do not pack. `slot-fair` shares slots, a sixteenth of a server each: a task takes whole
slots, and what it does not need of them is lost. With `checked=4` slots have all four resources. By default they have cpu and
memory only, as with the schedulers that Tetris was compared with; so has `drf:checked=2`. Disk and network are then promised
more than once, and the tasks that share them get slower. Most of the gain that the paper reports is over such schedulers;
over fair sharing that checks everything it is smaller.
"""


def main(jobs: int = 200, played_jobs: int = 6, seed: int = 0) -> list[bool]:
    """Run the policies in the simulator, then two as agents; returns, for each agent, whether the schedules are equal."""
    workload = analytics(jobs=jobs)
    table = workload.at(seed).jobs
    assert table is not None
    rows = []
    for policy in POLICIES:
        run = packenv.simulate(workload, policy, seed=seed, drain=True, schedule=True)
        assert run.jobs is not None and run.schedule is not None
        promised = float(most_allocated(table, run.schedule, workload.servers.units).max())
        rows.append([policy, run.jobs.makespan, run.jobs.mean, run.jobs.quantile(0.95), promised])
    title = f"analytics: {jobs} jobs of one to three phases on {len(workload.servers)} servers"
    print_table(title, ["policy", "makespan", "mean", "p95", "promised"], rows)
    print(EXPLAINED)

    small = analytics(jobs=played_jobs, servers=4)
    agents = [(policy, "Placement", WHOLE_QUEUE) for policy in ("tetris", "drf")]
    return play_again(f"the same policies as agents, {played_jobs} jobs", small, agents, None, seed)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--jobs", type=int, default=200)
    main(parser.parse_args().jobs)
