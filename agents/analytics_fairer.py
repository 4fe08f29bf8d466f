"""Evolve `agent:analytics-fairer` again: as agents/analytics_fair.py, at three times the price of unfairness.

python agents/analytics_fairer.py --out analytics-fairer            # 45 million tasks: ten minutes on one core
python agents/analytics_fairer.py --out analytics-fairer --quick    # a first look
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
    reward="completion:unfairness=3",
    start="analytics",
    samples=45_000_000,  # tasks that candidates start, in all
    seed=1,
)
AGAINST = "tetris:f=0.5,m=1"  # the policy that the agent is compared with


def main(arguments: Sequence[str] | None = None) -> None:
    """Evolve, save, and show what the agent and Tetris cost at this price."""
    evolve_on_jobs(main, arguments, SETTINGS, AGAINST)


if __name__ == "__main__":
    main()
