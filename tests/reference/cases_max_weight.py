"""Worked cases of MaxWeight. Sizes 8 and 4 in 12: the maximal configurations are (1,1), (0,3), in this order."""

from tests.reference.case import WorkedCase, rows, servers, there

ONE = servers(12)
TWO = servers(12, 12)
EXACT = {"types": 12}
STALL = {"types": 12, "stall": True}

PLAIN = [
    WorkedCase(  # Q = (2,1): both weigh 3, so (1,1); then (1,0)
        "maxweight: same weight, earlier configuration",
        rows((0, 8, 1), (0, 8, 1), (0, 4, 1)),
        ONE,
        "maxweight",
        EXACT,
        {0: (0, 0), 2: (0, 0), 1: (1, 0)},
    ),
    WorkedCase(  # (0,3) until row 0 leaves: row 3 may start beside it, rows 1 and 2 may not
        "maxweight: the configuration stays until empty",
        rows((0, 4, 5), (1, 8, 1), (1, 8, 1), (2, 4, 1)),
        ONE,
        "maxweight",
        EXACT,
        {0: (0, 0), 3: (2, 0), 1: (5, 0), 2: (6, 0)},
    ),
    WorkedCase(
        "maxweight: k_j counts whoever is in the server",
        rows((0, 4, 2), (0, 4, 3), (0, 4, 3), (1, 4, 1)),
        ONE,
        "maxweight",
        EXACT,
        {0: (0, 0), 1: (0, 0), 2: (0, 0), 3: (2, 0)},
    ),
    WorkedCase(  # Q = (1,2): (0,3) weighs 6; then Q = (1,0): (1,1)
        "maxweight: the second server sees what the first left",
        rows((0, 8, 1), (0, 4, 1), (0, 4, 1)),
        TWO,
        "maxweight",
        EXACT,
        {1: (0, 0), 2: (0, 0), 0: (0, 1)},
    ),
    WorkedCase(
        "maxweight: an empty server is renewed in every slot",
        rows((3, 4, 1), (5, 8, 1)),
        ONE,
        "maxweight",
        EXACT,
        {0: (3, 0), 1: (5, 0)},
    ),
    WorkedCase(  # no configuration until slot 4; then Q = (1,1): 2 against 3
        "maxweight: nothing beside a job from before",
        rows((0, 4, 1), (1, 8, 1)),
        ONE,
        "maxweight",
        EXACT,
        {0: (4, 0), 1: (5, 0)},
        initial=[there(0, 2, 4)],
    ),
    WorkedCase(  # (7,2) and (2,14) of (12,24) are 14 of 24 each
        "maxweight, 2 resources: scalar sizes",
        rows((0, (7, 2), 2), (0, (2, 14), 2)),
        servers((12, 24)),
        "maxweight",
        EXACT,
        {0: (0, 0), 1: (2, 0)},
    ),
]

ROUNDED = [
    WorkedCase(  # all rounded to 5, so two at a time, though 3 + 3 + 3 would fit
        "maxweight: sizes are rounded up",
        rows((0, 3, 2), (0, 3, 2), (0, 3, 2), (0, 5, 2)),
        ONE,
        "maxweight",
        {"types": 1},
        {0: (0, 0), 1: (0, 0), 2: (2, 0), 3: (2, 0)},
    ),
    WorkedCase(  # types 6 and 4: (2,0), (1,1), (0,3) weigh 4, 4, 6. Exact types would start 3, 4 and 5 together
        "maxweight: cells of equal probability",
        rows((0, 3, 1), (0, 4, 1), (0, 5, 1), (0, 6, 1)),
        ONE,
        "maxweight",
        {"types": 2},
        {0: (0, 0), 1: (0, 0), 2: (1, 0), 3: (1, 0)},
    ),
    # Six of nine rows are a 3, so two of three cells end there: types 6 and 3; (2,0), (1,2), (0,4). Q = (3,6), (3,2), (3,0).
    # Were 4 a type of its own, rows 7 and 8 would start before row 6.
    WorkedCase(
        "maxweight: a common size fills several cells",
        rows(*[(0, 3, 1)] * 6, (0, 4, 1), (0, 5, 1), (0, 6, 1)),
        ONE,
        "maxweight",
        {"types": 3},
        {**dict.fromkeys(range(4), (0, 0)), 4: (1, 0), 5: (1, 0), 6: (2, 0), 7: (2, 0), 8: (3, 0)},
    ),
    WorkedCase(  # J = 2: types 12, 8, 6, 4
        "maxweight: partition I, a small job occupies a third",
        rows(*[(0, 1, 2)] * 4),
        ONE,
        "maxweight",
        {"J": 2},
        {0: (0, 0), 1: (0, 0), 2: (0, 0), 3: (2, 0)},
    ),
    WorkedCase(  # type 1 is 8, type 3 is 4: e1+e3 weighs 2, 3e3 weighs 3, then e0, e1+e3 weigh 0, 1
        "maxweight: partition I",
        rows((0, 7, 1), (0, 3, 1)),
        ONE,
        "maxweight",
        {"J": 2},
        {1: (0, 0), 0: (1, 0)},
    ),
]

UNEQUAL = [
    # Types 8, 5, 3. In 12: (1,0,1), (0,2,0), (0,1,2), (0,0,4). In 6: (0,1,0), (0,0,2).
    WorkedCase(  # Q = (1,2,1): 2, 4, 4, 4; then Q = (1,0,1) in 6: 0, 2; slot 1: Q = (1,0,0)
        "maxweight: each kind of server has its own configurations",
        rows((0, 8, 1), (0, 5, 1), (0, 5, 1), (0, 3, 1)),
        servers(12, 6),
        "maxweight",
        EXACT,
        {1: (0, 0), 2: (0, 0), 3: (0, 1), 0: (1, 0)},
    ),
    WorkedCase(  # both rounded to 7: the server of 6 could take the 5, but not its type
        "maxweight: no room for the rounded size",
        rows((0, 5, 1), (0, 7, 1)),
        servers(6, 12),
        "maxweight",
        {"types": 1},
        {0: (0, 1), 1: (1, 1)},
    ),
]

FOURS = [(0, 4, 3), (0, 4, 10), (0, 4, 10), (0, 4, 1)]
STALLING = [
    WorkedCase(  # slot 1: Q = (5,1), 3 against 6. Slot 3: row 3 starts, Q = (5,0), 0 against 5: stalled until 10
        "maxweight: exactly half does not stall",
        rows(*FOURS, *[(1, 8, 1)] * 5),
        ONE,
        "maxweight",
        STALL,
        {0: (0, 0), 1: (0, 0), 2: (0, 0), 3: (3, 0), **{4 + n: (10 + n, 0) for n in range(5)}},
    ),
    WorkedCase(  # slot 1: Q = (6,1), 3 against 7: row 3 waits for the empty server, and starts beside row 4
        "maxweight: less than half stalls",
        rows(*FOURS, *[(1, 8, 1)] * 6),
        ONE,
        "maxweight",
        STALL,
        {0: (0, 0), 1: (0, 0), 2: (0, 0), 3: (10, 0), **{4 + n: (10 + n, 0) for n in range(6)}},
    ),
    WorkedCase(
        "maxweight: the same without stalling",
        rows(*FOURS, *[(1, 8, 1)] * 6),
        ONE,
        "maxweight",
        EXACT,
        {0: (0, 0), 1: (0, 0), 2: (0, 0), 3: (3, 0), **{4 + n: (10 + n, 0) for n in range(6)}},
    ),
]

CASES: list[WorkedCase] = [*PLAIN, *ROUNDED, *UNEQUAL, *STALLING]
