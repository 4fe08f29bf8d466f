"""Worked cases of backfilling and of servers kept for old jobs."""

from dataclasses import replace

from tests.reference.case import WorkedCase, rows, same, servers, there

ONE = servers(12)
BOTH = ("easy", "conservative")

IN_TIME = rows((0, 8, 4), (0, 9, 4), (0, 4, 4))  # row 2 is over in slot 4, when row 1 can start
BEHIND = rows((0, 8, 4), (0, 6, 4), (0, 6, 4), (0, 4, 8))  # row 3 fits beside row 1, but not beside rows 1 and 2
BESIDE = rows((0, (8, 2), 4), (0, (9, 3), 4), (0, (3, 10), 9), (0, (3, 9), 9))  # beside row 1 fits row 3, but not row 2
ESTIMATES = (2, 1, 2, 1)  # row 0 takes 6: from slot 2 on it is expected to leave in the next one
OUTLIVED = [
    replace(task, estimate=float(estimate))
    for task, estimate in zip(rows((0, 8, 6), (0, 9, 1), (1, 4, 2), (3, 4, 1)), ESTIMATES, strict=True)
]
STARVED = rows((0, 6, 3), (0, 12, 1), (1, 6, 3), (3, 6, 3), (4, 6, 3), (6, 6, 3), (7, 6, 3))

CASES = [
    *same("backfills what is over in time", IN_TIME, ONE, BOTH, {}, {0: (0, 0), 1: (4, 0), 2: (0, 0)}),
    WorkedCase("fifo-ff: does not backfill", IN_TIME, ONE, "fifo-ff", {}, {0: (0, 0), 1: (4, 0), 2: (8, 0)}),
    *same(
        "one slot longer would delay the head of line",
        rows((0, 8, 4), (0, 9, 4), (0, 4, 5)),
        ONE,
        BOTH,
        {},
        {0: (0, 0), 1: (4, 0), 2: (8, 0)},
    ),
    *same(
        "longer, but fits beside the head of line",
        rows((0, 8, 4), (0, 9, 4), (0, 3, 9)),
        ONE,
        BOTH,
        {},
        {0: (0, 0), 1: (4, 0), 2: (0, 0)},
    ),
    *same(  # the head of line waits for server 0; server 1 is full again from slot 4 on
        "freely on another server",
        rows((0, 12, 3), (0, 12, 2), (0, 8, 50)),
        servers(12, 12),
        BOTH,
        {},
        {0: (0, 0), 1: (3, 0), 2: (0, 1)},
        initial=[there(1, 4, 20)],
    ),
    WorkedCase(
        "easy, 2 resources: beside the head of line in both",
        BESIDE,
        servers((12, 12)),
        "easy",
        {},
        {0: (0, 0), 1: (4, 0), 3: (0, 0), 2: (9, 0)},
    ),
    WorkedCase(
        "conservative, 2 resources: not beside row 2, which has a reservation from slot 8 on",
        BESIDE,
        servers((12, 12)),
        "conservative",
        {},
        {0: (0, 0), 1: (4, 0), 2: (8, 0), 3: (17, 0)},
    ),
    *same("outlives its estimate", OUTLIVED, ONE, BOTH, {}, {0: (0, 0), 1: (6, 0), 2: (7, 0), 3: (3, 0)}),
    WorkedCase("easy: delays the second", BEHIND, ONE, "easy", {}, {0: (0, 0), 1: (4, 0), 3: (0, 0), 2: (8, 0)}),
    WorkedCase("conservative: does not", BEHIND, ONE, "conservative", {}, {0: (0, 0), 1: (4, 0), 2: (4, 0), 3: (8, 0)}),
    WorkedCase("conservative: as easy", BEHIND, ONE, "conservative", {"depth": 1}, {0: (0, 0), 1: (4, 0), 3: (0, 0), 2: (8, 0)}),
    WorkedCase(
        "bf-js: a large job starves",
        STARVED,
        ONE,
        "bf-js",
        {},
        {0: (0, 0), 2: (1, 0), 3: (3, 0), 4: (4, 0), 5: (6, 0), 6: (7, 0), 1: (10, 0)},
    ),
    WorkedCase(  # in slot 3 it has waited for more than 2 slots
        "reserve: a large job starts",
        STARVED,
        ONE,
        "reserve",
        {"age": 2},
        {0: (0, 0), 2: (1, 0), 1: (4, 0), 3: (5, 0), 4: (5, 0), 5: (8, 0), 6: (8, 0)},
    ),
    WorkedCase(  # slot 1: server 1, with 6 of 12 free, is kept for row 0; slot 9: server 0 is empty, and row 1 has no server yet
        "reserve: the server with the most room",
        rows((0, 12, 1), (1, 12, 1)),
        servers(12, 12),
        "reserve",
        {"age": 0},
        {1: (9, 0), 0: (10, 0)},
        initial=[there(0, 8, 9), there(1, 6, 20)],
    ),
]
