"""What bounded waiting of large tasks costs: mean queue, and delays of the largest quartile of sizes, policy by policy.

On figure 4(b)'s cluster, and on figure 3(a)'s single server of two sizes. With --quick: short runs.
"""

from __future__ import annotations

from collections.abc import Sequence

import packenv
from experiments.script_options import options_of
from packenv.runs.delay_classes import delay_by_size

POLICIES = (
    *("bf-js", "reserve:age=300", "reserve:age=1000", "reserve:age=3000"),
    *("easy", "conservative:depth=10", "conservative", "fifo-ff"),
)
WORKLOADS = (("paper/fig4b", 0.80), ("paper/fig4b", 0.85), ("paper/fig3a", 0.70))  # name and intensity
SLOTS, QUICK_SLOTS = 1_000_000, 20_000
SEED = 0


def row(name: str, intensity: float, policy: str, slots: int) -> str:
    """One line of the table: mean queue, verdict, and delays in slots of the class of the largest sizes."""
    workload = packenv.workload(name, intensity=intensity).tabulated(SEED, slots)
    result = packenv.simulate(workload, policy, slots=slots, seed=SEED, warmup=slots // 10, schedule=True)
    assert workload.jobs is not None and result.schedule is not None
    largest = delay_by_size(workload.jobs, result.schedule, workload.jobs.demand[:, 0], slots // 10)[-1]
    measured = largest.mean_delay, largest.delay_p999, largest.max_delay
    delays = " | ".join(f"{delay:,.0f}" for delay in measured if delay is not None)
    return f"| {name} at {intensity:g} | `{policy}` | {result.mean_queue:.1f} | {delays} | {result.verdict} |"


def main(arguments: Sequence[str] | None = None) -> None:
    options = options_of(__doc__, arguments)
    slots = QUICK_SLOTS if options.quick else SLOTS
    print("| workload | policy | mean queue | largest class: mean delay | 99.9 % | largest | verdict |")
    print("|---|---|---|---|---|---|---|")
    for name, intensity in WORKLOADS:
        for policy in POLICIES:
            print(row(name, intensity, policy, slots), flush=True)


if __name__ == "__main__":
    main()
