"""Evolve `agent:changing` again: one task a server, data in one of five racks, and a network whose speed changes.

    python agents/changing.py --out changing            # 40 million tasks: some 26 minutes on one core
    python agents/changing.py --out changing --quick    # a first look

The agent fills one server at a time, with the task of a group whose data are nearest; groups with data there are offered first.
The weights start as the least work left, and against what a task costs away from its data now; passing a server leaves it to a
task whose data it has. CMA-ES draws 14 candidates a generation and lets each schedule the same eight tables.
"""

from __future__ import annotations

from collections.abc import Sequence

import packenv
from agents.training_run import evolve_on_jobs
from packenv.learning.settings import Settings

SETTINGS = Settings(
    packenv.workload("delay/changing"),
    environment="JobFill",
    network="sum",
    window=12,  # groups: durations differ, so each task is one; more only cost time
    reward="completion",
    samples=40_000_000,  # tasks that candidates start, in all
)
FIRST_WEIGHTS = {"log_work": -1.0, "waits": -3.0, "log_overhead": -3.0}
AGAINST = "tetris:f=0,m=2,remote=0.9"  # the policy that the agent is compared with


def main(arguments: Sequence[str] | None = None) -> None:
    """Evolve, save, and show the agent's mean completion time beside that of Tetris."""
    evolve_on_jobs(main, arguments, SETTINGS, AGAINST, FIRST_WEIGHTS)


if __name__ == "__main__":
    main()
