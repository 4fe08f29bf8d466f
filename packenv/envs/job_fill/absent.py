"""What JobFill assumes where a table of jobs lacks a column that some of its features are about."""

from __future__ import annotations

from collections.abc import Collection

from packenv.jobs import Jobs

ASSUMED = {
    "job": "each task is a job of its own",
    "phase": "a job is one phase (phase_completed, phase_waiting)",
    "estimate": "expected durations are the true ones (log_duration, log_path, work)",
    "value": "every job counts the same (value)",
    "tenant": "each job is an owner of its own (fair_share)",
    "home": "data lie on every server (here, same_rack, log_overhead, log_home)",
}
"""By column, what is assumed without it, and the features that say no more then."""


def columns_of(jobs: Jobs) -> list[str]:
    """Those of ASSUMED that a table has. Predecessors divide a job as phases do."""
    has = [column for column in ASSUMED if getattr(jobs, column) is not None]
    return has if "phase" in has or jobs.predecessors is None else [*has, "phase"]


def assumptions(jobs: Jobs, known: Collection[str] = tuple(ASSUMED)) -> str | None:
    """Which of the columns `known` the table lacks, and what is assumed; None if it has them all."""
    own = columns_of(jobs)
    absent = [column for column in ASSUMED if column in known and column not in own]
    if not absent:
        return None
    return f"no column {', '.join(absent)}: {'; '.join(ASSUMED[column] for column in absent)}"
