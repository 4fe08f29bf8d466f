"""T

    python agents/analytics.py --out analytics            # 90 million tasks: TIME
    python agents/analytics.py --out analytics --quick    # a first look

TEXT
"""

from __future__ import annotations

from collections.abc import Sequence

from training_run import evolve_on_jobs

import packenv
from packenv.learning.settings import Settings

SETTINGS = Settings(
    packenv.workload("analytics"),
    environment="JobFill",
    algorithm="cma-es",
    network="sum",
    reward="completion",
    samples=90_000_000,  # tasks that candidates start, in all
)
FIRST_WEIGHTS = {"alignment": 1.0, "work": -2.0, "waits": -3.0}
AGAINST = "tetris:f=0,m=2"


def main(arguments: Sequence[str] | None = None) -> None:
    """Evolve, save, and show the agent's mean completion beside that of Tetris."""
    evolve_on_jobs(main, arguments, SETTINGS, AGAINST, FIRST_WEIGHTS)


if __name__ == "__main__":
    main()
