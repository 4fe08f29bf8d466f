"""T

    python agents/price_fig8_value.py --out price-fig8-value            # 8 million tasks: TIME
    python agents/price_fig8_value.py --out price-fig8-value --quick    # a first look

TEXT
"""

from __future__ import annotations

from collections.abc import Sequence

from training_run import evolve_on_jobs

import packenv
from packenv.learning.settings import Settings

SETTINGS = Settings(
    packenv.workload("price/fig8"),
    environment="JobFill",
    algorithm="cma-es",
    network="sum",
    window=128,  # all phases of a hundred jobs that may start at a time
    reward="value",
    learning_rate=0.25,
    samples=8_000_000,  # tasks that candidates start, in all
)
FIRST_WEIGHTS = {"value": 1.0, "log_work": -1.0}
AGAINST = "price"


def main(arguments: Sequence[str] | None = None) -> None:
    """Evolve, save, and show the agent's makespan beside that of price."""
    evolve_on_jobs(main, arguments, SETTINGS, AGAINST, FIRST_WEIGHTS)


if __name__ == "__main__":
    main()
