"""The share of ρ* that MSR and K-discretised MaxWeight support, beside BF-J/S: a table of judgments, workload by workload.

On the paper's workloads with geometric service, and on the worst instances that packenv has found for other policies. With
--quick: wide intervals.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from figure_script import options_of

import packenv
from packenv import Workload
from packenv.workloads.laws import Discrete, Geometric

POLICIES = "msr:backfill,few=10", "kmw:backfill,few=10", "msr", "kmw", "bf-js"
NAMES = "paper/fig3a", "paper/fig3b", "paper/fig4a", "paper/fig4b", "google2011-like"
WORST = {  # sizes, probabilities, servers: docs/how_to/worst_case.md
    "worst of bf-js": ([7 / 11, 13 / 66, 2 / 11], [0.2, 0.4, 0.4], 2),
    "worst of vqs-bf": ([0.327, 0.122], [0.5, 0.5], 1),
    "worst of vqs": ([0.555, 0.101], [1 / 12, 11 / 12], 1),
}
WIDTH, QUICK_WIDTH = 0.01, 0.1
SEEDS = 2


def workloads() -> Iterator[Workload]:
    for name in NAMES:
        workload = packenv.workload(name)
        yield workload.with_(service=Geometric(workload.mean_service)) if name == "paper/fig3b" else workload
    for name, (sizes, probabilities, servers) in WORST.items():
        law = Discrete(sizes, probabilities)
        yield Workload(sizes=law, service=Geometric(100), servers=servers, load=0.9, name=name)


def main(arguments: Sequence[str] | None = None) -> None:
    options = options_of(__doc__, arguments)
    print("| workload | policy | supported | proved |")
    print("|---|---|--:|--:|")
    for policy in POLICIES:
        for workload in workloads():
            judged = packenv.judge(workload, policy, seeds=SEEDS, width=QUICK_WIDTH if options.quick else WIDTH)
            print(f"| {workload.name} | `{policy}` | {judged.low:.3f} – {judged.high:.3f} | {judged.claimed:.3f} |", flush=True)


if __name__ == "__main__":
    main()
