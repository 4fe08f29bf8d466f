"""The price scheduler, which starts jobs of high value and little waste first, and jobs in a fixed order.

    python baselines/price.py

Takes about 10 s once compiled; the first run compiles, which took up to five minutes on a busy machine of two cores.

Zhang and Yao, "Multi-resource scheduling with consideration of differential services in multi-tenant sharing", 2016.
All jobs arrive in slot 0; each has a value and phases that run one after the other. The price of a resource is the total
value of the waiting phases that need it. A phase starts first if its value is high and it leaves little of the expensive
resources idle.
"""

from __future__ import annotations

import argparse

import numpy as np
from playing import play_again, print_table

import packenv

POLICIES = ("price", "price:blocking", "priority", "capacity", "fifo", "fifo:blocking=false", "tetris", "tetris:m=0,f=0", "bf-js")
WHOLE_QUEUE = {"rule": "window", "window": 900, "waiting_limit": 900}
EXPLAINED = """
`makespan` is the slots until the last job ends, `mean` the mean completion time, `by value` the same with every job
weighed by its value: how long those wait who pay more.

`fifo` lets all jobs wait behind the first one that does not fit; `fifo:blocking=false` passes it over, and that alone
saves 35 of the 39 slots by which `price` is shorter than `fifo` (20 seeds, `packenv reproduce price-fig8`). `priority` looks
at the value only, and serves the valuable jobs early. `price` looks at what a job leaves idle as well, and is ahead in
completion times weighed by value. `capacity` prefers small demands, so the large ones are left for the end and run beside
nothing. Packing by alignment alone (`tetris:m=0,f=0`) knows nothing of values, and has the shortest makespan; best fit
(`bf-js`) and `price` are level in it.
"""


def main(seeds: int = 8, played_seed: int = 0) -> list[bool]:
    """Run the policies in the simulator, then two as agents; returns, for each agent, whether the schedules are equal."""
    workload = packenv.workload("price/fig8")
    rows = []
    for policy in POLICIES:
        measured = [measures(packenv.simulate(workload, policy, seed=seed, drain=True), workload, seed) for seed in range(seeds)]
        rows.append([policy, *np.mean(measured, axis=0).tolist()])
    title = f"price/fig8: 100 jobs with values on 2 servers, means over {seeds} seed{'s' if seeds > 1 else ''}"
    print_table(title, ["policy", "makespan", "mean", "by value"], rows)
    print(EXPLAINED)

    agents = [(policy, "Placement", WHOLE_QUEUE) for policy in ("price", "priority")]
    return play_again("the same policies as agents", workload, agents, None, played_seed)


def measures(run: packenv.Result, workload: packenv.Workload, seed: int) -> tuple[float, float, float]:
    """Makespan, mean completion time, and mean completion time weighted by value, in slots."""
    table = workload.at(seed).jobs
    assert table is not None and table.value is not None and run.jobs is not None and run.jobs.makespan is not None
    first_rows = np.unique(run.jobs.job, return_index=True)[1]
    return (
        run.jobs.makespan,
        float(run.jobs.completion.mean()),
        float(np.average(run.jobs.completion, weights=table.value[first_rows])),
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seeds", type=int, default=8)
    main(parser.parse_args().seeds)
