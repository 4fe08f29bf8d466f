"""Worked cases of the rules for DAGs of tasks. One resource of 12."""

from __future__ import annotations

from dataclasses import replace

from tests.reference.case import WorkedCase, rows, servers
from tests.reference.table import Task

ONE = servers(12)


def of_jobs(tasks: list[Task], *jobs: int) -> list[Task]:
    return [replace(task, job=job) for task, job in zip(tasks, jobs, strict=True)]


# Rows 0, 1, 2 wait for nothing; 3 (3 slots) waits for 1; 4 and 5 (1 slot each) wait for 2. All take the server.
# Paths: 0: 3, 1: 1 + 3, 2: 1 + 1, 3: 3, 4: 1, 5: 1. Work below, in servers · slots: 3, 4, 3, 3, 1, 1.
TOY = of_jobs(rows((0, 12, 3), (0, 12, 1), (0, 12, 1), (0, 12, 3, (1,)), (0, 12, 1, (2,)), (0, 12, 1, (2,))), 0, 0, 0, 0, 0, 0)
# A diamond, 0 before 1 and 2, both before 3; and 4, longer than the path of 1 but not than that of 0.
DIAMOND = of_jobs(rows((0, 12, 1), (0, 12, 4, (0,)), (0, 12, 1, (0,)), (0, 12, 2, (1, 2)), (0, 12, 5)), 0, 0, 0, 0, 1)
# Job 0 has 6 of work, job 1 has 2 + 2 and is there a slot later, job 2 has 3.
QUEUE = of_jobs(rows((0, 12, 1), (0, 12, 5, (0,)), (1, 12, 2), (1, 12, 2, (2,)), (1, 12, 3)), 0, 0, 1, 1, 2)

CASES: list[WorkedCase] = [
    WorkedCase(
        "critical path: ties by row",
        TOY,
        ONE,
        "critical-path",
        {},
        {1: (0, 0), 0: (1, 0), 3: (4, 0), 2: (7, 0), 4: (8, 0), 5: (9, 0)},
    ),
    WorkedCase(
        "most work: what waits counts",
        TOY,
        ONE,
        "most-work",
        {},
        {1: (0, 0), 0: (1, 0), 2: (4, 0), 3: (5, 0), 4: (8, 0), 5: (9, 0)},
    ),
    # Paths: 0: 1 + 4 + 2 = 7, 1: 6, 2: 3, 3: 2, 4: 5.
    WorkedCase(
        "critical path: across jobs", DIAMOND, ONE, "critical-path", {}, {0: (0, 0), 1: (1, 0), 4: (5, 0), 2: (10, 0), 3: (11, 0)}
    ),
    # Work below: 0: 8 (row 3 counts once), 1: 6, 2: 3, 4: 5.
    WorkedCase(
        "most work: a common descendant counts once",
        DIAMOND,
        ONE,
        "most-work",
        {},
        {0: (0, 0), 1: (1, 0), 4: (5, 0), 2: (10, 0), 3: (11, 0)},
    ),
    # Slot 0: job 1 has 5, job 0 has 8.
    WorkedCase(
        "srpt: less work, then the longer path",
        DIAMOND,
        ONE,
        "srpt",
        {},
        {4: (0, 0), 0: (5, 0), 1: (6, 0), 2: (10, 0), 3: (11, 0)},
    ),
    # Slot 1: left are 5, 4, 3: job 2; then job 1, job 0.
    WorkedCase("srpt: the least left", QUEUE, ONE, "srpt", {}, {0: (0, 0), 4: (1, 0), 2: (4, 0), 3: (6, 0), 1: (8, 0)}),
    # α = 0: nobody has a share when the server is free: the earliest job.
    WorkedCase(
        "weighted fair: nobody has more",
        QUEUE,
        ONE,
        "weighted-fair",
        {"alpha": 0.0},
        {0: (0, 0), 1: (1, 0), 2: (6, 0), 3: (8, 0), 4: (10, 0)},
    ),
    # Two jobs of tasks of 3/12 that last 9: work 9/4 · 4 = 9 and 9/4 · 2 = 4.5. α = -1: due are shares as 1 : 2. Starts: job 0
    # (0), job 1 (0 before 1/4 · 9), job 1 (1/4 · 4.5 before 1/4 · 9), job 0.
    WorkedCase(
        "weighted fair: the small job twice as much",
        of_jobs(rows(*[(0, 3, 9)] * 6), 0, 0, 0, 0, 1, 1),
        ONE,
        "weighted-fair",
        {},
        {0: (0, 0), 4: (0, 0), 5: (0, 0), 1: (0, 0), 2: (9, 0), 3: (9, 0)},
    ),
    # α = 1: as 2 : 1. Job 0, job 1 (0), job 0 (1/4 / 9 before 1/4 / 4.5), then 1/2 / 9 against 1/4 / 4.5: equal, job 0.
    WorkedCase(
        "weighted fair: the large job twice as much",
        of_jobs(rows(*[(0, 3, 9)] * 6), 0, 0, 0, 0, 1, 1),
        ONE,
        "weighted-fair",
        {"alpha": 1.0},
        {0: (0, 0), 4: (0, 0), 1: (0, 0), 2: (0, 0), 3: (9, 0), 5: (9, 0)},
    ),
    # Two stages, rows 0-2 and 3, room for two of 6 at once: one of each, then of the first.
    WorkedCase(
        "weighted fair: all branches go on",
        of_jobs(rows((0, 6, 2), (0, 6, 2), (0, 6, 2), (0, 6, 3)), 0, 0, 0, 0),
        ONE,
        "weighted-fair",
        {},
        {0: (0, 0), 3: (0, 0), 1: (2, 0), 2: (3, 0)},
    ),
    # Paths: 0: 3 + 4 + 4 = 11, 1: 1 + 9 = 10. Row 2 is long (4 < 9 · 0.5 are not), so 1 and 2 go before 0.
    WorkedCase(
        "graphene: a long task and what it waits for",
        of_jobs(rows((0, 12, 3), (0, 12, 1), (0, 12, 9, (1,)), (0, 12, 4, (0,)), (0, 12, 4, (3,))), 0, 0, 0, 0, 0),
        ONE,
        "graphene",
        {"large": 2.0},
        {1: (0, 0), 2: (1, 0), 0: (10, 0), 3: (13, 0), 4: (17, 0)},
    ),
]
