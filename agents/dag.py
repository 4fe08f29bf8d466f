"""Evolve `agent:dag` again: jobs whose stages form DAGs, like those of a production cluster.

    python agents/dag.py --out dag            # 84 million tasks: a quarter of an hour on one core
    python agents/dag.py --out dag --quick    # a first look

The agent fills one server at a time: it chooses the group of identical tasks of a job that the next one starts from, or
passes. A score is a weighted sum of the group's features, whose weights vary with the number of waiting tasks; they start as
the least work left first. CMA-ES draws 16 candidates a generation, lets each schedule the same eight tables, and moves
towards the half whose jobs end soonest.
"""

from __future__ import annotations

from collections.abc import Sequence

import packenv
from agents.training_run import evolve_on_jobs
from packenv.learning.settings import Settings

SETTINGS = Settings(
    packenv.workload("dag"),
    environment="JobFill",
    network="varying",  # two weights a feature: one counts times the logarithm of the waiting tasks
    reward="completion",
    learning_rate=0.2,  # the first step size
    samples=84_000_000,  # tasks that candidates start, in all
)
FIRST_WEIGHTS = {"log_work": -1.0}
AGAINST = "tetris:f=0,m=100"  # the policy that the agent is compared with


def main(arguments: Sequence[str] | None = None) -> None:
    """Evolve, save, and show the agent's mean completion time beside that of Tetris."""
    evolve_on_jobs(main, arguments, SETTINGS, AGAINST, FIRST_WEIGHTS)


if __name__ == "__main__":
    main()
