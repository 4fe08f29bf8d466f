"""Worked cases of several resources, unequal servers, and adaptive J. See cases_vqs for types and configurations."""

from tests.reference.case import WorkedCase, rows, servers, there

ONE = servers(12)
J2 = {"J": 2}
J3 = {"J": 3}

SEVERAL = [
    WorkedCase(  # (3,1): 26/144 against 14/144; (1,3) the other way round
        "bf-j, 2 resources: the highest score",
        rows((0, (3, 1), 1), (0, (1, 3), 1)),
        servers((12, 12), (12, 12)),
        "bf-j",
        {},
        {0: (0, 0), 1: (0, 1)},
        initial=[there(0, (8, 2), 10), there(1, (2, 8), 10)],
    ),
    WorkedCase(  # 3/12 of 4/12 is more than 3/24 of 12/24
        "bf-j, 2 resources: demand and occupancy relative to the server",
        rows((0, (3, 0), 1)),
        servers((24, 24), (12, 12)),
        "bf-j",
        {},
        {0: (0, 1)},
        initial=[there(0, (12, 0), 10), there(1, (4, 0), 10)],
    ),
    WorkedCase(
        "bf-j, 2 resources: same score, smaller residual",
        rows((0, (3, 0), 1)),
        servers((12, 12), (12, 12)),
        "bf-j",
        {},
        {0: (0, 1)},
        initial=[there(0, (4, 0), 10), there(1, (4, 6), 10)],
    ),
    WorkedCase(
        "bf-j, 2 resources: same score and residual, lower index",
        rows((0, (3, 1), 1)),
        servers((12, 12), (12, 12)),
        "bf-j",
        {},
        {0: (0, 0)},
    ),
    WorkedCase(
        "bf-j, 2 resources: a resource that a server lacks counts nothing",
        rows((0, (5, 0), 1), (0, (5, 1), 1)),
        servers((12, 12), (12, 0)),
        "bf-j",
        {},
        {0: (0, 1), 1: (0, 0)},
    ),
    WorkedCase(  # an empty server scores 0: row 2 is largest; then row 0 scores 31/144, row 1 27/144
        "bf-s, 2 resources: the highest score, not the largest",
        rows((0, (4, 3), 1), (0, (3, 6), 1), (0, (7, 1), 1)),
        servers((12, 12)),
        "bf-s",
        {},
        {0: (0, 0), 2: (0, 0), 1: (1, 0)},
    ),
    WorkedCase(
        "bf-s, 2 resources: same score, the largest",
        rows((0, (6, 6), 1), (0, (8, 2), 1)),
        servers((12, 12)),
        "bf-s",
        {},
        {1: (0, 0), 0: (1, 0)},
    ),
    WorkedCase(
        "bf-s, 2 resources: same score and size, earlier row",
        rows((0, (7, 1), 1), (0, (1, 7), 1), (0, (7, 1), 1)),
        servers((12, 12)),
        "bf-s",
        {},
        {0: (0, 0), 1: (0, 0), 2: (1, 0)},
    ),
    WorkedCase(
        "fifo-ff, 2 resources: room in every resource; a zero demand fits a full one",
        rows((0, (5, 1), 1), (0, (5, 0), 1)),
        servers((12, 12), (12, 12)),
        "fifo-ff",
        {},
        {0: (0, 1), 1: (0, 0)},
        initial=[there(0, (1, 12), 10)],
    ),
    WorkedCase(
        "fifo-ff, 2 resources: vectors that fit together though their scalar sizes do not",
        rows((0, (7, 2), 2), (0, (2, 14), 2)),
        servers((12, 24)),
        "fifo-ff",
        {},
        {0: (0, 0), 1: (0, 0)},
    ),
    WorkedCase(
        "slot-fifo, 2 resources: scalar sizes (14 of 24 each)",
        rows((0, (7, 2), 2), (0, (2, 14), 2)),
        servers((12, 24)),
        "slot-fifo",
        {},
        {0: (0, 0), 1: (2, 0)},
    ),
]

UNEQUAL = [
    WorkedCase(  # size 5 is of type 2 in 12 and type 0 in 6; size 7 has no type in 6
        "vqs: a job has one type per kind of server",
        rows((0, 5, 2), (0, 5, 2), (0, 5, 2), (0, 7, 1)),
        servers(12, 6),
        "vqs",
        J3,
        {0: (0, 0), 1: (0, 0), 2: (0, 1), 3: (2, 0)},
    ),
    WorkedCase(  # in 9: 6 is of type 1 and 3 fills the third; in 12: 6 is of type 2
        "vqs: no power of two",
        rows((0, 6, 1), (0, 6, 1), (0, 6, 1), (0, 3, 1)),
        servers(9, 12),
        "vqs",
        J2,
        {0: (0, 0), 3: (0, 0), 1: (0, 1), 2: (0, 1)},
    ),
    WorkedCase(  # 2 levels in 6: four quarters of 1.5; 3 levels in 12: eight eighths of 1.5
        "vqs: half the capacity, one level less",
        rows(*[(0, 1, 2)] * 13),
        servers(6, 12),
        "vqs",
        J3,
        {**dict.fromkeys(range(4), (0, 0)), **dict.fromkeys(range(4, 12), (0, 1)), 12: (2, 0)},
    ),
    WorkedCase(  # a third of 3 is of type 3 and 3e3 takes three
        "vqs: at least two levels",
        rows((0, 1, 1), (0, 1, 1), (0, 1, 1)),
        servers(3, 12),
        "vqs",
        J2,
        dict.fromkeys(range(3), (0, 0)),
    ),
    WorkedCase(  # (7,2) and (2,14) of (12,24) are 14 of 24 each
        "vqs-bf, 2 resources: scalar sizes",
        rows((0, (7, 2), 2), (0, (2, 14), 2)),
        servers((12, 24)),
        "vqs-bf",
        J2,
        {0: (0, 0), 1: (2, 0)},
    ),
]

ADAPT = {"adaptive": True}
ADAPTIVE = [
    WorkedCase(  # from slot 1 a size of 1/12 calls for J = 4; the four quarters stay taken until 10, then 12 of type 7 fit
        "vqs: adaptive, the occupied capacity stays until empty",
        rows(*[(0, 1, 10)] * 4, *[(1, 1, 1)] * 12),
        ONE,
        "vqs",
        {**ADAPT, "first_check": 4},
        {**dict.fromkeys(range(4), (0, 0)), **dict.fromkeys(range(4, 16), (10, 0))},
    ),
    WorkedCase(  # 3e3 stays 3e3: row 2 (4) is of type 3, row 3 (1) now of type 7
        "vqs: adaptive, the configuration stays until empty",
        rows((0, 1, 10), (0, 1, 10), (1, 4, 1), (1, 1, 1)),
        ONE,
        "vqs",
        {**ADAPT, "first_check": 2},
        {0: (0, 0), 1: (0, 0), 2: (1, 0), 3: (10, 0)},
    ),
    WorkedCase(  # slot 1 looks at rows 0 and 1 only: J stays 2 and four of rows 3..7 fit. Slot 2 looks at eight: J = 4
        "vqs: adaptive, only the first n sizes, only after their slot",
        rows((0, 12, 1), (0, 12, 1), (0, 1, 1), *[(1, 1, 10)] * 5),
        ONE,
        "vqs",
        {**ADAPT, "first_check": 2},
        {2: (0, 0), **dict.fromkeys(range(3, 7), (1, 0)), 7: (11, 0), 0: (21, 0), 1: (22, 0)},
    ),
    # 64 sizes with one small: J = 4. 128 with one small would do with J = 2, but J stays. So row 0 counts 12 (12e7), not 3 (3e3),
    # and starts when 11 of size 12 are left, not 2.
    WorkedCase(
        "vqs: adaptive, J never shrinks",
        rows((0, 1, 1), *[(0, 12, 1)] * 63, *[(1, 12, 1)] * 64),
        ONE,
        "vqs",
        {**ADAPT, "first_check": 64},
        {0: (116, 0), **{i: (i - 1, 0) for i in range(1, 117)}, **{i: (i, 0) for i in range(117, 128)}},
    ),
]

CASES: list[WorkedCase] = [*SEVERAL, *UNEQUAL, *ADAPTIVE]
