"""Eagle, Hawk and Sparrow: short jobs find servers by random probes, so no central scheduler is a bottleneck.

    python baselines/eagle.py

Takes about 20 s once compiled; the first run compiles, which took up to five minutes on a busy machine of two cores.

Delgado et al., "Hawk" (USENIX ATC 2015) and "Job-aware scheduling in Eagle" (SoCC 2016). Every server has a queue. Nine
jobs in ten are short, but long jobs occupy nearly all servers, so a probe sent to a random server is likely to wait behind
a long task. Sparrow does nothing about it. Hawk reserves some servers for short jobs and lets idle servers steal probes. In
Eagle servers with long tasks reject probes and say which other servers have long tasks.
"""

from __future__ import annotations

import argparse

import numpy as np
from playing import play_again, print_table

import packenv
from packenv.workloads.named.eagle import MIXES, SLOT_SECONDS, eagle

CUTOFF = MIXES["yahoo"].cutoff  # seconds: jobs whose tasks take longer are long
POLICIES = (
    "sparrow",
    f"hawk:cutoff={CUTOFF}",
    f"eagle:cutoff={CUTOFF},sharing=false,sticky=false,srpt=false",
    f"eagle:cutoff={CUTOFF},sticky=false,srpt=false",
    f"eagle:cutoff={CUTOFF}",
    "lwl",
    "yaq",
)
WHOLE_QUEUE = {"rule": "window", "window": 60, "waiting_limit": 900}
EXPLAINED = """
Seconds from a job's arrival to its end: the median and the 90th percentile, of short and of long jobs.

Under `sparrow` short jobs wait behind long tasks. `eagle` without its three mechanisms is what a share of the servers
kept for short jobs does by itself; where idle servers also steal probes from behind long tasks it is `hawk`.
In place of stealing Eagle has `sharing`, which sends probes away from servers with long tasks: the median of short jobs
is then nearly what it is with the whole of Eagle; sticky probes and the shortest remaining job first shorten the tail.
`lwl` and `yaq` are central schedulers: each task goes at once to the queue where the waiting time should be least. They
need to know all queues, which probes are there to avoid; Eagle's short jobs do as well without.
"""


def main(jobs: int = 1_500, played_tasks: int = 40, seed: int = 0) -> list[bool]:
    """Run the systems in the simulator, then one as an agent; returns whether its schedules are equal."""
    workload = eagle("yahoo", jobs)
    rows = []
    for policy in POLICIES:
        run = packenv.simulate(workload, policy, seed=seed, drain=True)
        rows.append([policy, *percentiles(run, workload.at(seed))])
    title = f"eagle/yahoo: {jobs} jobs on {len(workload.servers)} servers"
    print_table(title, ["policy", "short p50", "short p90", "long p50", "long p90"], rows)
    print(EXPLAINED)

    policy = "sparrow:delay=1"
    table = packenv.workload("paper/fig4b").jobs_table(seed, played_tasks)
    small = packenv.Workload(jobs=table, servers=8, slot_seconds=1.0)
    agents = [(policy, "Placement", WHOLE_QUEUE)]
    return play_again(f"as an agent, {played_tasks} tasks on 8 servers", small, agents, None, seed)


def percentiles(run: packenv.Result, workload: packenv.Workload) -> list[float]:
    """Seconds: the 50th and 90th percentile of completion times of short jobs, then of long ones."""
    table, times = workload.jobs, run.jobs
    assert table is not None and table.estimate is not None and times is not None
    first_rows = np.unique(times.job, return_index=True)[1]
    is_long = table.estimate[first_rows] * SLOT_SECONDS > CUTOFF
    seconds = times.completion * SLOT_SECONDS
    return [float(np.percentile(seconds[of], level)) for of in (~is_long, is_long) for level in (50, 90)]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--jobs", type=int, default=1_500)
    main(parser.parse_args().jobs)
