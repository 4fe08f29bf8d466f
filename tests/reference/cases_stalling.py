"""Worked cases of the option "Stalling" (PAPERS §1.5). VQS: J = 2, see cases_vqs for its types and configurations."""

from tests.reference.case import WorkedCase, rows, same, servers, there

ONE = servers(12)
TWO = servers(12, 12)
BEST_FIT = ("bf-j", "bf-s", "bf-js")
UNDER_HALF = rows((0, 5, 4), (1, 8, 1), (2, 3, 1))  # row 1 does not fit beside row 0, row 2 would
STALL = {"stall": True}
FIT = [
    *same("stall: under half, nothing until empty", UNDER_HALF, ONE, BEST_FIT, STALL, {0: (0, 0), 1: (4, 0), 2: (4, 0)}),
    *same("no stalling asked for", UNDER_HALF, ONE, BEST_FIT, {}, {0: (0, 0), 1: (4, 0), 2: (2, 0)}),
    *same(
        "stall: exactly half does not",
        rows((0, 6, 4), (1, 8, 1), (2, 3, 1)),
        ONE,
        BEST_FIT,
        STALL,
        {0: (0, 0), 1: (4, 0), 2: (2, 0)},
    ),
    WorkedCase(
        "fifo-ff: stalled server 0 is passed by",
        rows((0, 5, 10), (0, 12, 2), (1, 8, 1), (1, 4, 1)),
        TWO,
        "fifo-ff",
        STALL,
        {0: (0, 0), 1: (0, 1), 2: (2, 1), 3: (2, 1)},
    ),
    WorkedCase(
        "fifo-ff: the same without stalling",
        rows((0, 5, 10), (0, 12, 2), (1, 8, 1), (1, 4, 1)),
        TWO,
        "fifo-ff",
        {},
        {0: (0, 0), 1: (0, 1), 2: (2, 1), 3: (2, 0)},
    ),
    WorkedCase(  # the head (8,0) does not fit beside (5,2), but the largest (3,9) does: no stall (one resource: never apart)
        "fifo-ff, 2 resources: the largest waiting job decides, not the head",
        rows((0, (5, 2), 6), (0, (12, 12), 2), (1, (8, 0), 3), (1, (3, 9), 1)),
        servers((12, 12), (12, 12)),
        "fifo-ff",
        STALL,
        {0: (0, 0), 1: (0, 1), 2: (2, 1), 3: (2, 0)},
    ),
    *same(
        "stall, 2 resources: under half in every one",
        rows((0, (5, 2), 4), (1, (8, 1), 1), (2, (3, 3), 1)),
        servers((12, 12)),
        BEST_FIT,
        STALL,
        {0: (0, 0), 1: (4, 0), 2: (4, 0)},
    ),
    *same(
        "stall, 2 resources: half of one is enough not to",
        rows((0, (5, 6), 4), (1, (8, 1), 1), (2, (3, 3), 1)),
        servers((12, 12)),
        BEST_FIT,
        STALL,
        {0: (0, 0), 1: (4, 0), 2: (2, 0)},
    ),
]

J2 = {"J": 2}
J2_STALL = {"J": 2, "stall": True}
LOCKED = rows((0, 5, 4), (1, 8, 1), (2, 3, 1))
VQS = [
    WorkedCase(  # slot 1: 2e2 weighs 0, 3e3 weighs 15
        "vqs: stalls when the weight is under half",
        rows((0, 5, 10), *[(1, 4, 1)] * 5, (2, 5, 1)),
        ONE,
        "vqs",
        J2_STALL,
        {0: (0, 0), 1: (10, 0), 2: (10, 0), 3: (10, 0), 4: (11, 0), 5: (11, 0), 6: (12, 0)},
    ),
    WorkedCase("vqs-bf: stalls too", LOCKED, ONE, "vqs-bf", J2_STALL, {0: (0, 0), 1: (4, 0), 2: (4, 0)}),
    WorkedCase("vqs-bf: not stalled", LOCKED, ONE, "vqs-bf", J2, {0: (0, 0), 1: (4, 0), 2: (2, 0)}),
    WorkedCase(  # slot 1: 2e2 weighs 2, e1+e3 weighs 4
        "vqs: exactly half does not stall",
        rows((0, 5, 3), (0, 5, 10), (0, 5, 10), *[(1, 7, 1)] * 4),
        ONE,
        "vqs",
        J2_STALL,
        {0: (0, 0), 1: (0, 0), 2: (3, 0), 3: (13, 0), 4: (14, 0), 5: (15, 0), 6: (16, 0)},
    ),
    WorkedCase(  # 2 against 5: row 2 waits for the empty server, and then for its turn
        "vqs: less than half stalls",
        rows((0, 5, 3), (0, 5, 10), (0, 5, 10), *[(1, 7, 1)] * 5),
        ONE,
        "vqs",
        J2_STALL,
        {0: (0, 0), 1: (0, 0), 2: (13, 0), 3: (10, 0), 4: (11, 0), 5: (12, 0), 6: (23, 0), 7: (24, 0)},
    ),
    # No configuration weighs nothing: stalled after slot 0, though best fit would find room in slot 1.
    # Slot 4: 2e2 (2) beats e0 (1).
    WorkedCase(
        "vqs-bf: stalled beside a job from before",
        rows((0, 11, 1), (1, 5, 1)),
        ONE,
        "vqs-bf",
        J2_STALL,
        {1: (4, 0), 0: (5, 0)},
        initial=[there(0, 2, 4)],
    ),
]

CASES: list[WorkedCase] = [*FIT, *VQS]
