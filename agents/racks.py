"""Evolve `agent:racks` again: one task a server, data in one of five racks.

    python agents/racks.py --out racks            # 40 million tasks: some 18 minutes on one core
    python agents/racks.py --out racks --quick    # a first look

The same as agents/changing.py, from its weights on, where the speed of the network does not change.
"""

from __future__ import annotations

from collections.abc import Sequence

import packenv
from agents.training_run import evolve_on_jobs
from packenv.learning.settings import Settings

SETTINGS = Settings(
    packenv.workload("delay/racks"),
    environment="JobFill",
    network="sum",
    window=12,  # groups: durations differ, so each task is one; more only cost time
    reward="completion",
    start="changing",
    learning_rate=0.1,  # the first step size
    samples=40_000_000,  # tasks that candidates start, in all
    seed=1,
)
AGAINST = "tetris:f=0,m=2,remote=0.9"  # the policy that the agent is compared with


def main(arguments: Sequence[str] | None = None) -> None:
    """Evolve, save, and show the agent's mean completion time beside that of Tetris."""
    evolve_on_jobs(main, arguments, SETTINGS, AGAINST)


if __name__ == "__main__":
    main()
