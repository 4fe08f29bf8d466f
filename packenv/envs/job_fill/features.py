"""Features of JobFill: groups and the cluster.

A group is a set of waiting tasks of one job with equal phase, demand, expected service and path. All features are of order 1 for
every number of jobs, servers and resources, unit of time and sizes. Amounts are shares of the free room or of the server. Other
quantities are relative to the mean over the offered tasks.

The order is part of the format of saved agents: add new features at the end.
"""

from __future__ import annotations

from collections.abc import Collection

from packenv.envs.core.features import COUNT, FLAG, SHARE, Feature, Features
from packenv.jobs import Jobs

RATIO, LOG_RATIO = "ratio to the mean of the offered", "log of that ratio"
OVER_OWN = "log of 1 + the ratio to its own expected slots"

GROUP_FEATURES = (
    Feature("valid", FLAG, "1: the action is valid", of_wait=True),
    Feature("waits", FLAG, "1: it passes the server", of_wait=True),
    Feature("alignment", RATIO, "Σ demand · free, in shares of the server, as Tetris has it"),
    Feature("work", RATIO, "work left of its job, as Tetris has it"),
    Feature("log_work", LOG_RATIO, "the same", negative=True),
    Feature("log_alignment", LOG_RATIO, "alignment", negative=True),
    Feature("log_path", LOG_RATIO, "expected slots on the longest path from the task to the end of its job", negative=True),
    Feature("log_duration", LOG_RATIO, "expected slots of the task", negative=True),
    Feature("log_age", LOG_RATIO, "slots since its job arrived, and one", negative=True),
    Feature("log_scarcity", LOG_RATIO, "Σ demand in shares of the server, each times its scarcity", negative=True),
    Feature("left_scarcest", SHARE, "what would be left free of the resource that is scarcest in the cluster"),
    Feature("of_free", SHARE, "largest demand, as a share of what is free of that resource"),
    Feature("of_server", SHARE, "largest demand, as a share of the server's capacity"),
    Feature("left_least", SHARE, "what would be left free of the scarcest resource"),
    Feature("left_mean", SHARE, "what would be left free, mean over the resources"),
    Feature("waiting", COUNT, "waiting tasks of the group"),
    Feature("in_service", COUNT, "tasks of its job in service"),
    Feature("phase_completed", SHARE, "tasks of its phase that have completed, of all its tasks"),
    Feature("phase_waiting", SHARE, "waiting tasks of the group, of all tasks left of its job"),
    Feature("fair_share", COUNT, "dominant share of the owner, over that of equal shares for all owners with waiting tasks"),
    Feature("value", RATIO, "value of its job", negative=True),
    Feature("here", FLAG, "1: the server has the data of a task of the group, or one has none"),
    Feature("same_rack", FLAG, "1: the data of one lie in the same rack, or here"),
    Feature(
        "log_bottleneck", LOG_RATIO, "what its job has not started needs of one resource of the cluster, the most", negative=True
    ),
    Feature("log_scarce_work", LOG_RATIO, "the same of all resources, each times its scarcity", negative=True),
    Feature("critical", SHARE, "longest path from its tasks, over the longest from those of its job that are offered"),
    Feature("log_work_of_all", "log of a ratio", "work left of its job, over the mean of the unfinished jobs", negative=True),
    Feature("log_overhead", OVER_OWN, "slots that its nearest task runs longer here now, away from its data"),
    Feature("log_home", OVER_OWN, "expected slots until a server with the data of that task has room for it; 0 here"),
)

CLUSTER_FEATURES = (
    Feature("groups", COUNT, "groups that fit on the server"),
    Feature("hidden", COUNT, "groups that fit and are not offered, since `window` are"),
    Feature("jobs", COUNT, "unfinished jobs"),
    Feature("waiting", COUNT, "waiting tasks per server"),
    Feature("free", SHARE, "free share of the cluster, mean over the resources"),
    Feature("server_free", SHARE, "free share of the server, mean over the resources"),
    Feature("server_least", SHARE, "free share of the server's scarcest resource"),
    Feature("blocked", FLAG, "1: the first group of the job with the least work left does not fit on the server"),
    Feature("lacking", SHARE, "the most that it lacks of a resource, as a share of the server's capacity"),
)

OF_GROUPS = Features(GROUP_FEATURES, CLUSTER_FEATURES)

# Positions, for compiled code.
VALID, WAITS, ALIGNMENT, WORK, LOG_WORK, LOG_ALIGNMENT, LOG_PATH, LOG_DURATION, LOG_AGE = range(9)
LOG_SCARCITY, LEFT_SCARCEST, OF_FREE, OF_SERVER, LEFT_LEAST, LEFT_MEAN, TASKS, IN_SERVICE = range(9, 17)
PHASE_COMPLETED, PHASE_WAITING, FAIR_SHARE, VALUE, HERE, SAME_RACK = range(17, 23)
LOG_BOTTLENECK, LOG_SCARCE_WORK, CRITICAL, LOG_WORK_OF_ALL, LOG_OVERHEAD, LOG_HOME = range(23, 29)
GROUPS, HIDDEN, JOBS, PER_SERVER, FREE, SERVER_FREE, SERVER_LEAST, BLOCKED, LACKING = range(9)

NO_ROOM = 5.0
"""In place of the logarithm of slots that are not foreseen: no server with the data has room in the next releases."""

ASSUMED = {
    "job": "each task is a job of its own",
    "phase": "a job is one phase (phase_completed, phase_waiting)",
    "estimate": "expected durations are the true ones (log_duration, log_path, work)",
    "value": "every job counts the same (value)",
    "tenant": "each job is an owner of its own (fair_share)",
    "home": "data lie on every server (here, same_rack, log_overhead, log_home)",
}
"""By column of a table of jobs, what is assumed without it, and the features that say no more then."""


def columns_of(jobs: Jobs) -> list[str]:
    """Return a table's columns of ASSUMED (predecessors count as phases)."""
    has = [column for column in ASSUMED if getattr(jobs, column) is not None]
    return has if "phase" in has or jobs.predecessors is None else [*has, "phase"]


def assumptions(jobs: Jobs, known: Collection[str] = tuple(ASSUMED)) -> str | None:
    """Return which `known` columns are missing and assumed, or None."""
    columns = columns_of(jobs)
    absent = [column for column in ASSUMED if column in known and column not in columns]
    if not absent:
        return None
    return f"no column {', '.join(absent)}: {'; '.join(ASSUMED[column] for column in absent)}"
