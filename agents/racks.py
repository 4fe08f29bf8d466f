"""Evolve `agent:racks` again: one task a server, data in one of five racks.

    python agents/racks.py --out racks            # 20 million tasks: a quarter of an hour on one core
    python agents/racks.py --out racks --quick    # a first look

The agent fills one server at a time, with the task of a group whose data are nearest. The weights start as data here, or in
the rack, and the least work left; passing a server leaves it to a task whose data it has.
"""

from __future__ import annotations

from collections.abc import Sequence

from training_run import evolve_on_jobs

import packenv
from packenv.learning.settings import Settings

SETTINGS = Settings(
    packenv.workload("delay/racks"),
    environment="JobFill",
    algorithm="cma-es",
    network="sum",
    reward="completion",
    samples=20_000_000,  # tasks that candidates start, in all
)
FIRST_WEIGHTS = {"here": 1.0, "same_rack": 1.0, "log_work": -1.0, "waits": -3.0}
AGAINST = "tetris:f=0,m=2,remote=0.9"  # the policy that the agent is compared with


def main(arguments: Sequence[str] | None = None) -> None:
    """Evolve, save, and show the agent's mean completion time beside that of Tetris."""
    evolve_on_jobs(main, arguments, SETTINGS, AGAINST, FIRST_WEIGHTS)


if __name__ == "__main__":
    main()
