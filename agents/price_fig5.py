"""Evolve `agent:price-fig5` again: a hundred jobs of one to five phases on two machines, all there at the start.

    python agents/price_fig5.py --out price-fig5            # 4 million tasks: three minutes on one core
    python agents/price_fig5.py --out price-fig5 --quick    # a first look

The agent fills one server at a time so that all jobs have ended soon. A score is a weighted sum of the features of a group
of identical tasks; the weights start as the longest path first, and what is aligned with the room that is left. CMA-ES lets 14
candidates a generation schedule the same eight tables, and moves towards the half with the shortest makespans.
"""

from __future__ import annotations

from collections.abc import Sequence

import packenv
from agents.training_run import evolve_on_jobs
from packenv.learning.settings import Settings

SETTINGS = Settings(
    packenv.workload("price/fig5"),
    environment="JobFill",
    network="sum",
    window=128,  # groups: the phases of a hundred jobs that may start at a time
    learning_rate=0.25,  # the first step size: wide, as there is much to find
    reward="makespan",
    samples=4_000_000,  # tasks that candidates start, in all
)
FIRST_WEIGHTS = {"log_path": 1.0, "alignment": 0.5}
AGAINST = "critical-path"  # the policy that the agent is compared with


def main(arguments: Sequence[str] | None = None) -> None:
    """Evolve, save, and show the agent's makespan beside that of critical path first."""
    evolve_on_jobs(main, arguments, SETTINGS, AGAINST, FIRST_WEIGHTS)


if __name__ == "__main__":
    main()
