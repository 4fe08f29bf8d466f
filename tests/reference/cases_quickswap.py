"""Worked cases of Quickswap: one or all, on a server that holds three of the small jobs."""

from tests.reference.case import WorkedCase, rows, servers

ONE_OR_ALL = rows((0, 4, 2), (0, 4, 4), (0, 4, 4), (1, 12, 3), (2, 4, 1), (3, 12, 1), (4, 4, 1))
THREE_TYPES = rows((0, 4, 2), (0, 6, 1), (0, 12, 1), (1, 12, 1), (1, 6, 1))

CASES = [
    WorkedCase(  # two are left in slot 3: row 6 may not start in slot 4; both large jobs go before it
        "drains when one place is free",
        ONE_OR_ALL,
        servers(12),
        "quickswap",
        {},
        {0: (0, 0), 1: (0, 0), 2: (0, 0), 4: (2, 0), 3: (4, 0), 5: (7, 0), 6: (8, 0)},
    ),
    WorkedCase(  # row 6 starts in slot 4, as the others leave
        "threshold 0: changes when nothing is left",
        ONE_OR_ALL,
        servers(12),
        "quickswap",
        {"threshold": 0},
        {0: (0, 0), 1: (0, 0), 2: (0, 0), 4: (2, 0), 6: (4, 0), 3: (5, 0), 5: (8, 0)},
    ),
    WorkedCase(  # 12 until none is left, 6 (row 4 came while row 1 ran, with a place for it), 4
        "the next smaller type comes next",
        THREE_TYPES,
        servers(12),
        "quickswap",
        {"threshold": 0},
        {2: (0, 0), 3: (1, 0), 1: (2, 0), 4: (2, 0), 0: (3, 0)},
    ),
    WorkedCase(  # the two of .2 that start in slot 3 leave three places and .1 waits: row 4 may not start in slot 4
        "drains in the slot in which it changes",
        rows((0, 6, 3), (1, 2, 10), (1, 2, 10), (1, 1, 3), (4, 2, 5)),
        servers(10),
        "quickswap",
        {},
        {0: (0, 0), 1: (3, 0), 2: (3, 0), 3: (13, 0), 4: (16, 0)},
    ),
    WorkedCase(  # the same with at most one left: two are in service in slot 3, and row 4 joins them; .1 goes when all are gone
        "a change does not drain what is above the threshold",
        rows((0, 6, 3), (1, 2, 10), (1, 2, 10), (1, 1, 3), (4, 2, 5)),
        servers(10),
        "quickswap",
        {"threshold": 1},
        {0: (0, 0), 1: (3, 0), 2: (3, 0), 4: (4, 0), 3: (13, 0)},
    ),
    WorkedCase(  # server 0 has no large job left in slot 2; server 1 goes on
        "each server changes on its own",
        rows((0, 12, 2), (0, 12, 3), (0, 4, 1), (2, 4, 1)),
        servers(12, 12),
        "quickswap",
        {},
        {0: (0, 0), 1: (0, 1), 2: (2, 0), 3: (2, 0)},
    ),
]
