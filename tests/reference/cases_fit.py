"""Worked cases of best fit and FIFO with one resource; order of events; ties."""

from tests.reference.case import WorkedCase, phased, rows, same, servers, there

ONE = servers(12)
TWO = servers(12, 12)
BEST_FIT = ("bf-j", "bf-s", "bf-js")
ALL = (*BEST_FIT, "fifo-ff")

# Row 0 in service until 2; row 1 becomes eligible at 2, row 2 waits since 1; both of size 7, so one at a time.
LATE_ROW = rows((0, 12, 2), (0, 7, 1, (0,)), (1, 7, 1))

ORDER = [
    *same("a completion frees its server in the same slot", rows((0, 12, 3), (3, 12, 1)), ONE, ALL, {}, {0: (0, 0), 1: (3, 0)}),
    *same(
        "eligible in the slot of the last predecessor's completion, or of its own arrival",
        rows((0, 6, 2), (0, 6, 1, (0,)), (1, 6, 1, (0, 1)), (5, 6, 1, (0,))),
        ONE,
        ALL,
        {},
        {0: (0, 0), 1: (2, 0), 2: (3, 0), 3: (5, 0)},
    ),
    *same(
        "a phase waits for all tasks of the one before, of its own job",
        phased((1.0, [[(4, 2), (4, 3)], [(8, 1)]]), (1.0, [[(4, 1)], [(4, 1)]])),
        ONE,
        ALL,
        {},
        {0: (0, 0), 1: (0, 0), 3: (0, 0), 4: (1, 0), 2: (3, 0)},
    ),
    *same("queue order is eligible slot, then row", LATE_ROW, ONE, ("bf-j", "fifo-ff"), {}, {0: (0, 0), 2: (2, 0), 1: (3, 0)}),
    *same("a tie of size goes to the earlier row", LATE_ROW, ONE, ("bf-s", "bf-js"), {}, {0: (0, 0), 1: (2, 0), 2: (3, 0)}),
    *same("slots end the run", rows((0, 12, 3), (0, 12, 1)), ONE, ALL, {}, {0: (0, 0)}, slots=3),
    *same("slots end the run one later", rows((0, 12, 3), (0, 12, 1)), ONE, ALL, {}, {0: (0, 0), 1: (3, 0)}, slots=4),
]

BEST_FIT_CASES = [
    WorkedCase(
        "bf-j: the tightest server",
        rows((0, 5, 1), (0, 8, 1)),
        TWO,
        "bf-j",
        {},
        {0: (0, 1), 1: (0, 0)},
        initial=[there(0, 4, 10), there(1, 6, 10)],
    ),
    WorkedCase(
        "bf-j: same residual, lower index",
        rows(*[(0, 6, 5)] * 3),
        servers(12, 12, 12),
        "bf-j",
        {},
        {0: (0, 0), 1: (0, 0), 2: (0, 1)},
    ),
    WorkedCase(
        "bf-j: passes a job that does not fit",
        rows((0, 8, 2), (0, 6, 1), (0, 4, 1)),
        ONE,
        "bf-j",
        {},
        {0: (0, 0), 1: (2, 0), 2: (0, 0)},
    ),
    WorkedCase("bf-j: queue order", rows((0, 3, 2), (0, 5, 2), (0, 9, 2)), ONE, "bf-j", {}, {0: (0, 0), 1: (0, 0), 2: (2, 0)}),
    WorkedCase("bf-s: largest first", rows((0, 3, 2), (0, 5, 2), (0, 9, 2)), ONE, "bf-s", {}, {0: (0, 0), 1: (2, 0), 2: (0, 0)}),
    WorkedCase("bf-s: same size, earlier row", rows((0, 7, 3), (0, 7, 1)), ONE, "bf-s", {}, {0: (0, 0), 1: (3, 0)}),
    WorkedCase(
        "bf-s: servers in index order, not the tightest",
        rows((0, 8, 1), (0, 4, 1)),
        TWO,
        "bf-s",
        {},
        {0: (0, 0), 1: (0, 0)},
        initial=[there(1, 4, 10)],
    ),
    WorkedCase(
        "bf-j: the same jobs", rows((0, 8, 1), (0, 4, 1)), TWO, "bf-j", {}, {0: (0, 1), 1: (0, 0)}, initial=[there(1, 4, 10)]
    ),
    WorkedCase(
        "bf-js: arrivals by bf-j", rows((0, 5, 1), (0, 3, 1), (0, 9, 1)), TWO, "bf-js", {}, {0: (0, 0), 1: (0, 0), 2: (0, 1)}
    ),
    WorkedCase("bf-s: the same jobs", rows((0, 5, 1), (0, 3, 1), (0, 9, 1)), TWO, "bf-s", {}, {0: (0, 1), 1: (0, 0), 2: (0, 0)}),
    WorkedCase(
        # Slot 2: server 0 empties and takes rows 1 and 0; then row 2 arrives into the 3 left on server 1.
        "bf-js: vacated servers by bf-s, then arrivals by bf-j",
        rows((0, 4, 1), (1, 8, 1), (2, 3, 1), (2, 3, 1)),
        TWO,
        "bf-js",
        {},
        {0: (2, 0), 1: (2, 0), 2: (2, 1), 3: (3, 0)},
        initial=[there(0, 12, 2), there(1, 9, 10)],
    ),
]

FIFO = [
    WorkedCase(
        "fifo-ff: the head of line blocks",
        rows((0, 8, 2), (0, 6, 1), (0, 4, 1)),
        ONE,
        "fifo-ff",
        {},
        {0: (0, 0), 1: (2, 0), 2: (2, 0)},
    ),
    WorkedCase(
        "fifo-ff: the first server, not the tightest",
        rows((0, 5, 1)),
        TWO,
        "fifo-ff",
        {},
        {0: (0, 0)},
        initial=[there(0, 4, 10), there(1, 6, 10)],
    ),
    WorkedCase(
        "slot-fifo: one job per slot",
        rows((0, 2, 2), (0, 3, 2), (0, 6, 2)),
        ONE,
        "slot-fifo",
        {"slots": 2},
        {0: (0, 0), 1: (0, 0), 2: (2, 0)},
    ),
    WorkedCase(
        "slot-fifo: slots by the largest size",
        rows((0, 5, 2), (0, 1, 2), (0, 1, 2)),
        ONE,
        "slot-fifo",
        {},
        {0: (0, 0), 1: (0, 0), 2: (2, 0)},
    ),
    WorkedCase(
        "slot-fifo: the smallest server decides, each has as many slots",
        rows(*[(0, 6, 1)] * 5),
        servers(24, 12),
        "slot-fifo",
        {},
        {0: (0, 0), 1: (0, 0), 2: (0, 1), 3: (0, 1), 4: (1, 0)},
    ),
    WorkedCase(
        "slot-fifo: a job from before takes a slot",
        rows((0, 3, 1), (0, 3, 1)),
        ONE,
        "slot-fifo",
        {"slots": 2},
        {0: (0, 0), 1: (1, 0)},
        initial=[there(0, 1, 5)],
    ),
]

CASES: list[WorkedCase] = [*ORDER, *BEST_FIT_CASES, *FIFO]
