"""T

    python agents/dag.py --out dag            # 84 million tasks: TIME
    python agents/dag.py --out dag --quick    # a first look

TEXT
"""

from __future__ import annotations

from collections.abc import Sequence

from training_run import evolve_on_jobs

import packenv
from packenv.learning.settings import Settings

SETTINGS = Settings(
    packenv.workload("dag"),
    environment="JobFill",
    algorithm="cma-es",
    network="varying",
    reward="completion",
    learning_rate=0.2,
    samples=84_000_000,  # tasks that candidates start, in all
)
FIRST_WEIGHTS = {"log_work": -1.0}
AGAINST = "srpt"


def main(arguments: Sequence[str] | None = None) -> None:
    """Evolve, save, and show the agent's mean completion beside that of shortest remaining job first."""
    evolve_on_jobs(main, arguments, SETTINGS, AGAINST, FIRST_WEIGHTS)


if __name__ == "__main__":
    main()
