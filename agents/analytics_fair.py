"""Evolve `agent:analytics-fair` again: jobs of up to three phases that end early, and have their shares of the cluster meanwhile.

    python agents/analytics_fair.py --out analytics-fair            # 45 million tasks: ten minutes on one core
    python agents/analytics_fair.py --out analytics-fair --quick    # a first look

The same as agents/analytics.py, from its weights on, but unfairness has a price: a job with waiting tasks that has nothing of
its fair share of the cluster counts twice as much in every slot as one that has it all.
"""

from __future__ import annotations

from collections.abc import Sequence

import packenv
from agents.training_run import evolve_on_jobs
from packenv.learning.settings import Settings

SETTINGS = Settings(
    packenv.workload("analytics"),
    environment="JobFill",
    network="sum",
    reward="completion:unfairness=1",
    start="analytics",
    samples=45_000_000,  # tasks that candidates start, in all
    seed=1,
)
AGAINST = "tetris:f=0.1,m=1"  # the policy that the agent is compared with


def main(arguments: Sequence[str] | None = None) -> None:
    """Evolve, save, and show what the agent and Tetris cost at this price."""
    evolve_on_jobs(main, arguments, SETTINGS, AGAINST)


if __name__ == "__main__":
    main()
