"""Evolve `agent:price-fig5`: one job of 100 phases at a time on ten servers (figure 5 of the price scheduler), makespan.

    python agents/price_fig5.py --out price-fig5            # 4 million tasks: TIME
    python agents/price_fig5.py --out price-fig5 --quick    # a first look

TEXT
"""

from __future__ import annotations

from collections.abc import Sequence

from training_run import evolve_on_jobs

import packenv
from packenv.learning.settings import Settings

SETTINGS = Settings(
    packenv.workload("price/fig5"),
    environment="JobFill",
    algorithm="cma-es",
    network="sum",
    window=128,  # all phases of a hundred jobs that may start at a time
    reward="makespan",
    learning_rate=0.25,
    samples=4_000_000,  # tasks that candidates start, in all
)
FIRST_WEIGHTS = {"log_path": 1.0, "alignment": 0.5}
AGAINST = "critical-path"


def main(arguments: Sequence[str] | None = None) -> None:
    """Evolve, save, and show the agent's makespan beside that of price."""
    evolve_on_jobs(main, arguments, SETTINGS, AGAINST, FIRST_WEIGHTS)


if __name__ == "__main__":
    main()
