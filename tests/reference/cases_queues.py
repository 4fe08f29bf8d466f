"""Worked cases of the workers' queues of Hawk, Eagle and Yaq (PAPERS §4): stealing, and which entry is next."""

from typing import Any

from tests.reference.case import WorkedCase, rows, servers, there
from tests.reference.cases_probing import ONE, PROBE, THREE, TWO, drawing, jobs

# Workers 0 and 1 run long tasks from slot 0. In slot 1 worker 0's queue becomes 2 and 3, short, 4, long, 5, short; 6 runs on
# worker 2 until 3.
BEHIND = jobs((0, [20]), (0, [20]), (1, [3]), (1, [3]), (1, [20]), (1, [3]), (1, [2]))
# A short task runs on worker 0 until 10, before 1, short, 2, long, 3, short, 5, long, 6, short. Worker 1 runs the long 4.
BETWEEN = jobs((0, [10]), (1, [2]), (1, [30]), (1, [2]), (1, [30]), (1, [30]), (1, [2]), (1, [2]))
THIEF = PROBE | {"reserved": 1 / 3, "attempts": 1, "delay": 0.0}
TO_0, TO_2, FROM_0, FROM_1 = (3, 0), (3, 2), (2, 0), (2, 1)


def thief(cutoff: float, *draws: tuple[int, int]) -> dict[str, Any]:
    return THIEF | {"cutoff": cutoff, "seed": drawing(*draws)}


STEALING = [
    # Two workers, the second kept for short tasks and busy until 21. The first runs a long task; another and a short one wait.
    WorkedCase(
        "hawk: behind two long tasks, one running, one queued",
        jobs((0, [100]), (0, [100]), (0, [21]), (0, [5])),
        TWO,
        "hawk",
        THIEF | {"cutoff": 50.0, "reserved": 0.5, "seed": drawing((2, 1), (2, 0))},
        {0: (0, 0), 1: (100, 0), 2: (0, 1), 3: (21, 1)},
    ),
    WorkedCase(
        "hawk: behind two long tasks, without stealing",
        jobs((0, [100]), (0, [100]), (0, [21]), (0, [5])),
        TWO,
        "hawk",
        THIEF | {"cutoff": 50.0, "reserved": 0.5, "seed": drawing((2, 1), (2, 0)), "attempts": 0},
        {0: (0, 0), 1: (100, 0), 2: (0, 1), 3: (200, 0)},
    ),
    # In 3 worker 2 takes 2 and 3, which wait for the long task in service; in 9 it takes 5, from behind that one and 4.
    WorkedCase(
        "hawk: a group at a time",
        BEHIND,
        THREE,
        "hawk",
        thief(5.0, TO_0, TO_0, TO_0, TO_2, FROM_0, FROM_0),
        {0: (0, 0), 1: (0, 1), 6: (1, 2), 2: (3, 2), 3: (6, 2), 5: (9, 2), 4: (20, 0)},
    ),
    WorkedCase(  # in 9 from worker 1, which has nothing; in 20 worker 1 looks at itself
        "hawk: nothing to steal",
        BEHIND,
        THREE,
        "hawk",
        thief(5.0, TO_0, TO_0, TO_0, TO_2, FROM_0, FROM_1, FROM_1),
        {0: (0, 0), 1: (0, 1), 6: (1, 2), 2: (3, 2), 3: (6, 2), 4: (20, 0), 5: (40, 0)},
    ),
    WorkedCase(
        "hawk: no stealing",
        BEHIND,
        THREE,
        "hawk",
        thief(5.0, TO_0, TO_0, TO_0, TO_2) | {"attempts": 0},
        {0: (0, 0), 1: (0, 1), 6: (1, 2), 2: (20, 0), 3: (23, 0), 4: (26, 0), 5: (46, 0)},
    ),
    # In 3 worker 2 takes 3, from behind 2, not 1, which waits for no long task; in 5 it takes 6, from behind 2 and 5.
    WorkedCase(
        "hawk: behind the first long task in the queue, then behind two",
        BETWEEN,
        THREE,
        "hawk",
        thief(10.0, TO_0, TO_0, TO_0, TO_0, TO_2, FROM_0, FROM_0),
        {0: (0, 0), 7: (1, 2), 4: (1, 1), 3: (3, 2), 6: (5, 2), 1: (10, 0), 2: (12, 0), 5: (42, 0)},
    ),
]

# One worker, busy until 5, and jobs of 12 (3 of 4), 6 (2 of 3) and 4 slots.
REMAINING = jobs((0, [4] * 3), (0, [3] * 2), (0, [4]))
WAIT = [there(0, 12, 5)]
SMALLEST = {5: (5, 0), 3: (9, 0), 4: (12, 0), 0: (15, 0), 1: (19, 0), 2: (23, 0)}
# Bypassed by at most its own estimate: 4 cannot pass 3's, 3 passes 4's once, 6 never; then job 0 is at the head.
BOUNDED = {3: (5, 0), 0: (8, 0), 1: (12, 0), 2: (16, 0), 4: (20, 0), 5: (23, 0)}
IN_ORDER = {0: (5, 0), 1: (9, 0), 2: (13, 0), 3: (17, 0), 4: (20, 0), 5: (23, 0)}
ALONE = {"eagle": PROBE, "yaq": dict[str, Any]()}

SRPT = [
    WorkedCase(f"{name}: {what}", REMAINING, ONE, name, options | more, expected, initial=WAIT)
    for name, options in ALONE.items()
    for what, more, expected in (
        ("smallest remaining first", {}, SMALLEST),
        ("bypassed by at most once its estimate", {"threshold": 1.0}, BOUNDED),
        ("bypassed by nothing", {"threshold": 0.0}, IN_ORDER),
        ("FIFO", {"srpt": False}, IN_ORDER),
    )
]

PARTED = PROBE | {"cutoff": 5.0, "reserved": 0.5, "sharing": False}

HEADS = [
    WorkedCase(  # also where the one behind it is smaller
        "eagle: a long task at the head",
        jobs((0, [10]), (0, [2])),
        TWO,
        "eagle",
        PARTED | {"seed": drawing((2, 0))},
        {0: (5, 0), 1: (15, 0)},
        initial=WAIT,
    ),
    WorkedCase(
        "eagle: nobody passes a long task",
        jobs((0, [4]), (0, [10]), (0, [1])),
        TWO,
        "eagle",
        PARTED | {"seed": drawing((2, 0), (2, 0))},
        {0: (5, 0), 1: (9, 0), 2: (19, 0)},
        initial=WAIT,
    ),
    # Worker 0 has two slots, worker 1 is busy: one probe at worker 0 and two at worker 1.
    *(
        WorkedCase(
            f"eagle: one probe, two slots, {what}",
            jobs((0, [10] * 3)),
            servers(24, 12),
            "eagle",
            PROBE | {"sticky": sticky, "seed": drawing((2, 0), (2, 1), (2, 1))},
            expected,
            initial=[there(1, 12, 30)],
        )
        for what, sticky, expected in (
            ("sticky", True, {0: (0, 0), 1: (0, 0), 2: (10, 0)}),
            ("not sticky", False, {0: (0, 0), 1: (30, 1), 2: (40, 1)}),
        )
    ),
]

# A worker of two slots, one of which a job has that was there before; one task in all.
BESIDE = [
    WorkedCase(
        f"{name}: beside what was there", jobs((0, [2])), servers(24), name, options, {0: (0, 0)}, initial=[there(0, 12, 5)]
    )
    for name, options in (*ALONE.items(), ("sparrow", PROBE), ("lwl", {}))
]

# Jobs of 9 twelfths were there before: four slots, but room for one; three slots, but no room for the largest.
ROOM = [
    WorkedCase(f"{name}: a slot without room, {what}", table, ONE, name, options, expected, initial=[there(0, 9, 5)])
    for name, options in (*ALONE.items(), ("sparrow", PROBE), ("lwl", {}))
    for what, table, expected in (
        ("one by one", rows((0, 3, 2), (0, 3, 2)), {0: (0, 0), 1: (2, 0)}),
        ("the largest may come", rows((0, 3, 2), (0, 4, 2)), {0: (5, 0), 1: (5, 0)}),
    )
]

CASES: list[WorkedCase] = [*STEALING, *SRPT, *HEADS, *BESIDE, *ROOM]
