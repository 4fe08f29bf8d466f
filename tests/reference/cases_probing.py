"""Worked cases of the probing schedulers (PAPERS §4): workers of one slot, unless a case says otherwise."""

from dataclasses import replace
from itertools import count

import numpy as np

from packenv.workloads.sampling import mix, uniform, word_at
from tests.reference.case import WorkedCase, rows, same, servers, there
from tests.reference.table import Task


def drawing(*draws: tuple[int, int]) -> int:
    """The first seed whose draws are these: (below, number)."""
    for seed in count():
        key = np.uint64(mix(np.uint64(seed) + np.uint64(1)))
        if all(int(uniform(np.uint64(word_at(key, k))) * below) == number for k, (below, number) in enumerate(draws)):
            return seed
    raise AssertionError


def jobs(*described: tuple[int, list[int]]) -> list[Task]:
    """(arrival, services of the tasks) per job; every task takes a slot."""
    table = rows(*((arrival, 12, service) for arrival, services in described for service in services))
    names = [job for job, (_, services) in enumerate(described) for _ in services]
    return [replace(task, job=name) for task, name in zip(table, names, strict=True)]


def believing(tasks: list[Task], *estimates: float) -> list[Task]:
    return [replace(task, estimate=estimate) for task, estimate in zip(tasks, estimates, strict=True)]


ONE, TWO, THREE, FOUR = (servers(*[12] * n) for n in (1, 2, 3, 4))
PROBE = {"ratio": 1, "minimum": 1}
DELAYED = PROBE | {"delay": 1.0}

# The example of the paper: queues of 100, 100, 10 and 10, and a job of four tasks of 10.
BUSY = [there(worker, 12, remaining) for worker, remaining in enumerate([100, 100, 10, 10])]
JOB = jobs((0, [10] * 4))
EACH = {"ratio": 1, "minimum": 4, "seed": drawing(*((4, worker) for worker in range(4)))}
LATE = {0: (10, 2), 1: (10, 3), 2: (100, 0), 3: (100, 1)}  # complete at 110
STUCK = {0: (10, 2), 1: (10, 3), 2: (20, 2), 3: (20, 3)}  # complete at 30
QUEUES, EARLY = [100, 100, 10, 10], {0: (0, 0), 1: (0, 1), 2: (0, 2), 3: (0, 3)}
QUEUED = jobs(*((0, [service]) for service in QUEUES), (0, [10] * 4))

EXAMPLE = [
    *same("example: a probe for a task", JOB, FOUR, ("sparrow", "hawk"), EACH, LATE, initial=BUSY),
    WorkedCase("example: eagle, not sticky", JOB, FOUR, "eagle", EACH | {"sticky": False}, LATE, initial=BUSY),
    WorkedCase("example: sticky", JOB, FOUR, "eagle", EACH, STUCK, initial=BUSY),
    WorkedCase("example: sticky, FIFO", JOB, FOUR, "eagle", EACH | {"srpt": False}, STUCK, initial=BUSY),
    # It does not see what was there before: one task to each.
    *same(
        "example: early binding",
        JOB,
        FOUR,
        ("lwl", "yaq"),
        {},
        {0: (100, 0), 1: (100, 1), 2: (10, 2), 3: (10, 3)},
        initial=BUSY,
    ),
    *same(
        "example: all queues look like 10",
        believing(QUEUED, *[10] * 8),
        FOUR,
        ("lwl", "yaq"),
        {},
        EARLY | {4: (100, 0), 5: (100, 1), 6: (10, 2), 7: (10, 3)},
    ),
    *same(
        "example: no queue looks like another",
        QUEUED,
        FOUR,
        ("lwl", "yaq"),
        {},
        EARLY | {4: (10, 2), 5: (10, 3), 6: (20, 2), 7: (20, 3)},
    ),
]

BINDING = [
    # Job 0's probes ask from both workers in slot 1. Worker 1 gets nothing in slot 3, so asks for job 1 then, not in slot 2.
    WorkedCase(
        "sparrow: a probe too many costs a round trip",
        jobs((0, [5]), (1, [5])),
        TWO,
        "sparrow",
        {"delay": 1.0, "seed": drawing((2, 0), (2, 1), (2, 1), (2, 1))},
        {0: (3, 0), 1: (5, 1)},
    ),
    WorkedCase(
        "sparrow: and without delay nothing",
        jobs((0, [5]), (1, [5])),
        TWO,
        "sparrow",
        {"delay": 0.0, "seed": drawing((2, 0), (2, 1), (2, 1), (2, 1))},
        {0: (0, 0), 1: (1, 1)},
    ),
]

LONG_JOBS = jobs((0, [8]), (0, [9]), (0, [7]), (0, [6]), (0, [6]))
SPREAD = {0: (0, 0), 1: (0, 1), 2: (0, 2), 3: (7, 2), 4: (8, 0)}  # the last finds 8, 9 and 13
GENERAL = {"cutoff": 5.0, "reserved": 0.25, "minimum": 1}

CENTRAL = [
    *same("least waiting: three of four workers", LONG_JOBS, FOUR, ("hawk", "eagle"), GENERAL, SPREAD),
    *same("least waiting: three workers", LONG_JOBS, THREE, ("lwl", "yaq"), {}, SPREAD),
    # In slot 6 worker 0 has 10 - 6 left, and worker 1 8 - 1.
    *same(
        "least waiting: what has run is over",
        jobs((0, [10]), (5, [8]), (6, [1])),
        TWO,
        ("lwl", "yaq"),
        {},
        {0: (0, 0), 1: (5, 1), 2: (10, 0)},
    ),
    # In slot 6 the task on worker 1 should have completed 4 slots ago: nothing is left, as on worker 0.
    WorkedCase(
        "least waiting: not less than nothing",
        believing(jobs((0, [1]), (0, [10]), (6, [1])), 1, 2, 1),
        TWO,
        "lwl",
        {},
        {0: (0, 0), 1: (0, 1), 2: (6, 0)},
    ),
    WorkedCase(  # 2.5 is 2
        "least waiting: whole slots, halves to even",
        believing(jobs((0, [9]), (0, [9]), (0, [1])), 2.5, 2, 1),
        TWO,
        "lwl",
        {},
        {0: (0, 0), 1: (0, 1), 2: (9, 0)},
    ),
    # Job 0's mean is 6. Row 2 finds 6 and 6.
    WorkedCase(
        "least waiting: the mean of the job", jobs((0, [10, 2]), (0, [3])), TWO, "lwl", {}, {0: (0, 0), 1: (0, 1), 2: (10, 0)}
    ),
    # Worker 0 has two slots: 10 each, and 10/2 = 5, 20/2 = 10.
    WorkedCase(
        "least waiting: by slots",
        jobs((0, [10]), (0, [10]), (0, [10]), (0, [10])),
        servers(24, 12),
        "lwl",
        {},
        {0: (0, 0), 1: (0, 1), 2: (0, 0), 3: (10, 0)},
    ),
]

# Two of four workers are the short partition. Long tasks start on worker 0 in slot 1, and on worker 1.
HALF = DELAYED | {"cutoff": 5.0, "reserved": 0.5}

ROUNDS = [
    WorkedCase(  # sent in 1, rejected in 2, told in 3; the second in 4, the request in 5, the reply in 6
        "eagle: a second round",
        jobs((0, [50]), (1, [2])),
        FOUR,
        "eagle",
        HALF | {"seed": drawing((4, 0), (4, 0), (4, 1))},
        {0: (1, 0), 1: (6, 1)},
    ),
    WorkedCase(  # worker 1's long task came in slot 3; rejected there in 4, told in 5, in 6 at worker 2 + 1
        "eagle: a third round",
        jobs((0, [50]), (1, [2]), (2, [50])),
        FOUR,
        "eagle",
        HALF | {"seed": drawing((4, 0), (4, 1), (2, 1))},
        {0: (1, 0), 1: (8, 3), 2: (3, 1)},
    ),
    WorkedCase(  # worker 1 knows of both long tasks, worker 0 of its own only: a second probe at worker 1 is not tried
        "eagle: the freshest snapshot",
        jobs((0, [50]), (0, [50]), (1, [2, 2])),
        FOUR,
        "eagle",
        HALF | {"seed": drawing((4, 1), (4, 0), (4, 1), (4, 2), (4, 3))},
        {0: (1, 0), 1: (1, 1), 2: (6, 2), 3: (6, 3)},
    ),
    WorkedCase(  # a worker that has no long task any more takes the probe
        "eagle: the long task is over",
        jobs((0, [6]), (7, [2])),
        FOUR,
        "eagle",
        HALF | {"seed": drawing((4, 0))},
        {0: (1, 0), 1: (10, 0)},
    ),
    # Without delay: a long task in the queue is enough.
    WorkedCase(
        "eagle: a queued long task rejects",
        jobs((0, [4]), (0, [10]), (0, [1])),
        TWO,
        "eagle",
        PROBE | {"cutoff": 5.0, "reserved": 0.5, "seed": drawing((2, 0), (2, 0), (2, 0), (2, 1))},
        {0: (5, 0), 1: (9, 0), 2: (0, 1)},
        initial=[there(0, 12, 5)],
    ),
]

CASES: list[WorkedCase] = [*EXAMPLE, *BINDING, *CENTRAL, *ROUNDS]
