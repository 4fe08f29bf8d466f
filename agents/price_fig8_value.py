"""Evolve `agent:price-fig8-value` again: a hundred jobs with large demands, and values.

    python agents/price_fig8_value.py --out price-fig8-value            # 4 million tasks: three minutes on one core
    python agents/price_fig8_value.py --out price-fig8-value --quick    # a first look

As `price_fig5.py`, but what counts is the mean completion time weighted by value, so that much value is there early. The
weights start as the most value and the least work left first.
"""

from __future__ import annotations

from collections.abc import Sequence

import packenv
from agents.training_run import evolve_on_jobs
from packenv.learning.settings import Settings

SETTINGS = Settings(
    packenv.workload("price/fig8"),
    environment="JobFill",
    network="sum",
    window=128,  # groups: the phases of a hundred jobs that may start at a time
    learning_rate=0.25,  # the first step size: wide, as there is much to find
    reward="value",
    samples=4_000_000,  # tasks that candidates start, in all
)
FIRST_WEIGHTS = {"value": 1.0, "log_work": -1.0}
AGAINST = "price"  # the policy that the agent is compared with


def main(arguments: Sequence[str] | None = None) -> None:
    """Evolve, save, and show the agent's mean completion time by value beside that of the price scheduler."""
    evolve_on_jobs(main, arguments, SETTINGS, AGAINST, FIRST_WEIGHTS)


if __name__ == "__main__":
    main()
