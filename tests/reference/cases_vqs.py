"""Worked cases of VQS and VQS-BF. Types for J = 2 in twelfths: 0 (8,12], 1 (6,8], 2 (4,6], 3 (0,4].

K_RED(2) = e0, 2e2, 3e3, e1+e3. K_RED(3) = e0, 2e2, 4e4, 3e3, 6e5, e1+e4, e1+e3, e1+2e5.
"""

from packenv.units import UNIT
from tests.reference.case import TWELFTH, WorkedCase, rows, same, servers, there, unit_rows

ONE = servers(12)
TWO = servers(12, 12)
BOTH = ("vqs", "vqs-bf")
J2 = {"J": 2}
J3 = {"J": 3}
LATE_ROW = rows((0, 12, 2), (0, 7, 1, (0,)), (1, 7, 1))
THIRD = rows((0, 7, 1), (0, 7, 1), (0, 7, 1), (0, 4, 5), (3, 3, 1))

VQS = [
    *same("completion, arrival, start in one slot", rows((0, 12, 3), (3, 12, 1)), ONE, BOTH, J2, {0: (0, 0), 1: (3, 0)}),
    WorkedCase("vqs: the head is by eligible slot, then row", LATE_ROW, ONE, "vqs", J2, {0: (0, 0), 2: (2, 0), 1: (3, 0)}),
    WorkedCase("vqs: only the active configuration's types", rows((0, 5, 2), (0, 7, 1)), ONE, "vqs", J2, {0: (0, 0), 1: (2, 0)}),
    *same(  # e0 and 2e2 both weigh 2
        "same weight, earlier configuration",
        rows((0, 5, 1), (0, 9, 1), (0, 9, 1)),
        ONE,
        BOTH,
        J2,
        {0: (1, 0), 1: (0, 0), 2: (2, 0)},
    ),
    WorkedCase(  # e1+e3 until 5, when row 3 leaves; row 4 would fit in the 8 that VQ_1 has reserved
        "vqs: two thirds stay reserved", THIRD, ONE, "vqs", J2, {0: (0, 0), 1: (1, 0), 2: (2, 0), 3: (0, 0), 4: (5, 0)}
    ),
    WorkedCase("vqs-bf: nothing is reserved", THIRD, ONE, "vqs-bf", J2, {0: (0, 0), 1: (1, 0), 2: (2, 0), 3: (0, 0), 4: (3, 0)}),
    WorkedCase(  # Q1 = 3, Q3 = 1: e1+e3 weighs 4, 3e3 weighs 3; 3 units are the third of 10 left by ceil(20/3) = 7
        "vqs: two thirds rounded up",
        unit_rows((0, 6, 1), (0, 6, 1), (0, 6, 1), (0, 3, 1)),
        [(10,)],
        "vqs",
        J2,
        {0: (0, 0), 3: (0, 0), 1: (1, 0), 2: (2, 0)},
    ),
    WorkedCase(  # 3 of 10 are left beside the reserve: one small job (2 each), though two thirds rounded down would leave 4
        "vqs: not more than a third, rounded down",
        unit_rows(*[(0, 6, 1)] * 5, (0, 1, 1), (0, 1, 1)),
        [(10,)],
        "vqs",
        J2,
        {0: (0, 0), 5: (0, 0), 1: (1, 0), 6: (1, 0), 2: (2, 0), 3: (3, 0), 4: (4, 0)},
    ),
    WorkedCase(  # only VQ_1 waits: e1+e4, e1+e3, e1+2e5 weigh the same, so e1+e4: row 2 (3) may, row 1 (4) may not
        "vqs: same weight, e1 + type 2m before e1 + type 2m+1",
        rows((0, 7, 5), (1, 4, 1), (1, 3, 1)),
        ONE,
        "vqs",
        J3,
        {0: (0, 0), 2: (1, 0), 1: (5, 0)},
    ),
    WorkedCase(
        "vqs: a small job occupies a quarter",
        rows(*[(0, 1, 2)] * 5),
        ONE,
        "vqs",
        J2,
        {**dict.fromkeys(range(4), (0, 0)), 4: (2, 0)},
    ),
    WorkedCase("vqs: or an eighth", rows(*[(0, 1, 2)] * 9), ONE, "vqs", J3, {**dict.fromkeys(range(8), (0, 0)), 8: (2, 0)}),
    WorkedCase(
        "vqs-bf: real sizes", rows(*[(0, 1, 2)] * 13), ONE, "vqs-bf", J2, {**dict.fromkeys(range(12), (0, 0)), 12: (2, 0)}
    ),
    WorkedCase(  # a quarter of 11 units is 2, rounded down
        "vqs: the quarter is rounded down",
        unit_rows(*[(0, 1, 2)] * 6),
        [(11,)],
        "vqs",
        J2,
        {**dict.fromkeys(range(5), (0, 0)), 5: (2, 0)},
    ),
    WorkedCase(  # 9 of 12 taken, the head (4) does not fit, row 4 (3) would
        "vqs: a queue stops at its head",
        rows((0, 3, 2), (0, 3, 2), (0, 3, 2), (0, 4, 2), (0, 3, 2)),
        ONE,
        "vqs",
        J2,
        {0: (0, 0), 1: (0, 0), 2: (0, 0), 3: (2, 0), 4: (2, 0)},
    ),
    WorkedCase(  # slot 1: server 0 has 3 left and the head is 4; server 1 takes it; in slot 2 the next head (3) fits server 0
        "vqs: a head taken by a later server frees the next for an earlier one in the next slot",
        rows((0, 3, 10), (0, 3, 10), (0, 3, 10), (0, 4, 10), (0, 4, 10), (1, 4, 5), (1, 3, 1)),
        TWO,
        "vqs",
        J2,
        {0: (0, 0), 1: (0, 0), 2: (0, 0), 3: (0, 1), 4: (0, 1), 5: (1, 1), 6: (2, 0)},
    ),
    WorkedCase(
        "vqs: the second server sees what the first left", rows((0, 7, 1), (0, 5, 1)), TWO, "vqs", J2, {0: (0, 1), 1: (0, 0)}
    ),
    *same("an empty server is renewed in every slot", rows((3, 5, 1), (5, 7, 1)), ONE, BOTH, J2, {0: (3, 0), 1: (5, 0)}),
    WorkedCase(  # no configuration until slot 4; then 2e2 (2) before e0 (1)
        "vqs: nothing beside a job from before",
        rows((0, 9, 1), (0, 5, 1)),
        ONE,
        "vqs",
        J2,
        {1: (4, 0), 0: (5, 0)},
        initial=[there(0, 2, 4)],
    ),
    WorkedCase(
        "vqs-bf: best fit beside a job from before", rows((0, 5, 1)), ONE, "vqs-bf", J2, {0: (0, 0)}, initial=[there(0, 2, 4)]
    ),
    WorkedCase(  # two thirds exactly: type 1, e1+e3 (4) beats 3e3 (3), and the third of row 3 fits exactly
        "vqs: a size of two thirds is of type 1",
        rows((0, 8, 1), (0, 8, 1), (0, 8, 1), (0, 4, 5)),
        ONE,
        "vqs",
        J2,
        {0: (0, 0), 1: (1, 0), 2: (2, 0), 3: (0, 0)},
    ),
    WorkedCase(  # one unit more: type 0, e0 (3) ties with 3e3 and is earlier; then 3e3 (3) beats e0 (2) until row 3 leaves
        "vqs: one unit more is of type 0",
        unit_rows(*[(0, 8 * TWELFTH + 1, 1)] * 3, (0, 4 * TWELFTH, 5)),
        ONE,
        "vqs",
        J2,
        {0: (0, 0), 3: (1, 0), 1: (6, 0), 2: (7, 0)},
    ),
]

SEVEN = [(0, 7, 1)] * 5
JUST_OVER = 2 * TWELFTH + 1
VQS_BF = [
    WorkedCase("vqs-bf: the rest by best fit", rows((0, 5, 2), (0, 7, 1)), ONE, "vqs-bf", J2, {0: (0, 0), 1: (0, 0)}),
    WorkedCase(
        "vqs-bf: the largest of VQ_1, then the earlier row",
        rows((0, 7, 1), (0, 8, 1), (0, 7, 1)),
        ONE,
        "vqs-bf",
        J2,
        {0: (1, 0), 1: (0, 0), 2: (2, 0)},
    ),
    WorkedCase(  # e1+e3 (3, then 2) before e0 (1): VQ_1 goes first although best fit would take row 0; slot 2: e0 ties
        "vqs-bf: VQ_1 before best fit",
        rows((0, 9, 1), *[(0, 7, 1)] * 3),
        ONE,
        "vqs-bf",
        J2,
        {1: (0, 0), 2: (1, 0), 0: (2, 0), 3: (3, 0)},
    ),
    WorkedCase(
        "vqs-bf: same size, earlier row, not earlier slot", LATE_ROW, ONE, "vqs-bf", J2, {0: (0, 0), 1: (2, 0), 2: (3, 0)}
    ),
    WorkedCase(  # e1+e3 weighs 7: rows 0 and 5, then best fit finds row 6 for the last twelfth
        "vqs-bf: only the real size of the type-1 job is taken",
        rows(*SEVEN, (0, 4, 1), (0, 1, 1)),
        ONE,
        "vqs-bf",
        J2,
        {0: (0, 0), 5: (0, 0), 6: (0, 0), 1: (1, 0), 2: (2, 0), 3: (3, 0), 4: (4, 0)},
    ),
    WorkedCase(  # in VQS row 6 occupies a quarter and must wait for the next third
        "vqs: the same jobs",
        rows(*SEVEN, (0, 4, 1), (0, 1, 1)),
        ONE,
        "vqs",
        J2,
        {0: (0, 0), 5: (0, 0), 6: (1, 0), 1: (1, 0), 2: (2, 0), 3: (3, 0), 4: (4, 0)},
    ),
    WorkedCase(
        "vqs-bf: largest that fits first, until k_j",
        rows((0, 3, 2), (0, 3, 2), (0, 3, 2), (0, 4, 2), (0, 3, 2)),
        ONE,
        "vqs-bf",
        J2,
        {3: (0, 0), 0: (0, 0), 1: (0, 0), 2: (2, 0), 4: (2, 0)},
    ),
    WorkedCase(  # 6e5 weighs 42: six of row 0..6, then best fit takes the 6 before the seventh
        "vqs-bf: no more than k_j from the configuration",
        rows(*[(0, 1, 1)] * 7, (0, 6, 1)),
        ONE,
        "vqs-bf",
        J3,
        {**dict.fromkeys(range(6), (0, 0)), 7: (0, 0), 6: (1, 0)},
    ),
    # 4e4: rows 0..3 by configuration, row 4 by best fit. Slot 1: row 0 is gone, four of type 4 remain, so best fit: row 6.
    WorkedCase(
        "vqs-bf: k_j counts whoever is in the server",
        unit_rows((0, JUST_OVER, 1), *[(0, JUST_OVER, 10)] * 4, (1, JUST_OVER, 1), (1, 3 * TWELFTH + TWELFTH // 2, 1)),
        ONE,
        "vqs-bf",
        J3,
        {**dict.fromkeys(range(5), (0, 0)), 6: (1, 0), 5: (2, 0)},
    ),
]

CASES: list[WorkedCase] = [*VQS, *VQS_BF]

BOUNDARIES: list[tuple[int, int, int]] = [  # (J, size in units, type) for a server of one unit
    *[(J, UNIT // 2**m, 2 * m) for J in range(2, 7) for m in range(J)],
    *[(J, UNIT // 2**m + 1, 2 * m - 1) for J in range(2, 7) for m in range(1, J + 1)],
    *[(J, UNIT // 2**m - 1, 2 * m) for J in range(2, 7) for m in range(J)],
    *[(J, 2 * UNIT // (3 * 2**m), 2 * m + 1) for J in range(2, 7) for m in range(J)],
    *[(J, 2 * UNIT // (3 * 2**m) + 1, 2 * m) for J in range(2, 7) for m in range(J)],
    *[(J, 2 * UNIT // (3 * 2**m) - 1, 2 * m + 1) for J in range(2, 7) for m in range(J)],
    *[(J, UNIT // 2**J + i, 2 * J - 1) for J in range(2, 7) for i in (-1, 0, 1)],
    *[(J, 1, 2 * J - 1) for J in range(2, 7)],
]
