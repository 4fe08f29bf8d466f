"""Best fit and virtual queues, the policies of Psychas and Ghaderi, compared with FIFO.

    python baselines/random_requirements.py

Takes about 20 s once compiled; the first run compiles, which took up to five minutes on a busy machine of two cores.

"Scheduling jobs with random resource requirements in computing clusters", arXiv 1901.05998. Jobs of random sizes arrive
without end. A policy is measured by the largest workload that it keeps stable, as a share of ρ*, the largest workload that
any policy keeps stable. Theorems guarantee half of ρ* for BF-J/S and two thirds for VQS and VQS-BF.
"""

from __future__ import annotations

import argparse
from typing import Any

from playing import play_again, print_table

import packenv

POLICIES = ("bf-j", "bf-s", "bf-js", "vqs", "vqs-bf", "fifo-ff")
INTENSITIES = (0.6, 0.9)  # arrival rate as a share of what the servers could serve if no room were ever wasted
AGENTS: tuple[tuple[str, str, dict[str, Any]], ...] = (  # environments in which an action says exactly what the policy does
    ("bf-s", "ServerFill", {"order": "index"}),
    ("vqs", "Placement", {"rule": "head"}),
    ("vqs-bf", "Configuration", {}),
)
EXPLAINED = """
`queue` is the mean number of waiting jobs; `verdict` says whether the queue stays bounded, as far as this run shows.

Best fit (bf-j, bf-s, bf-js) starts whatever fits, so little room is ever idle, and its queues are the shortest here. But
it looks at one job at a time, and theory promises it no more than half of ρ*.
Virtual queues (vqs, vqs-bf) sort jobs by size and let a server keep one combination of sizes until it is empty. That
is what earns two thirds of ρ* in theory. vqs alone leaves room idle that its combination has no use for, and pays for
it in long queues; vqs-bf fills that room by best fit, and keeps the guarantee.
FIFO (fifo-ff) lets everything wait behind a large job that does not fit, and no theorem speaks for it.
"""


def main(slots: int = 100_000, played_slots: int = 1_500, seed: int = 0) -> list[bool]:
    """Run the policies in the simulator, then some as agents; returns, for each agent, whether the schedules are equal."""
    rows = []
    for policy in POLICIES:
        for intensity in INTENSITIES:
            run = packenv.simulate(packenv.workload("paper/fig4b", intensity=intensity), policy, slots=slots, seed=seed)
            rows.append([policy, intensity, run.mean_queue, run.mean_delay, run.utilisation[0], str(run.verdict)])
    title = f"paper/fig4b: sizes uniform in [0.1, 0.9], 5 servers, {slots} slots"
    print_table(title, ["policy", "intensity", "queue", "delay (slots)", "utilisation", "verdict"], rows)
    print(EXPLAINED)

    workload = packenv.workload("paper/fig4b", intensity=0.7)
    return play_again(f"the same policies as agents, {played_slots} slots", workload, AGENTS, played_slots, seed)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--slots", type=int, default=100_000)
    main(parser.parse_args().slots)
