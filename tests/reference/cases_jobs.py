"""Worked cases of the policies that know jobs (PAPERS §3)."""

from tests.reference.case import WorkedCase, phased, rows, same, servers

SHOP = servers((12, 12))
A, B = (12, 0), (0, 12)
LONG, SHORT = (1.0, [[(A, 5)], [(B, 2)]]), (1.0, [[(A, 1)], [(B, 3)]])
ALL = ("price", "priority", "capacity", "fifo")
ORDERS = ("priority", "capacity", "fifo")

# All of both resources is wanted (N = Σ U = 3, |S| = 3, c = 4): waste is (Σ_r 1 - d_r / k_r) / 4 per slot.
# (3,6): 1.1 / 4, (8,5): 0.7 / 4, (2,5): 1.3 / 4. After the second, only the third fits in (2,5).
THREE = phased((1.0, [[((3, 6), 1)]]), (1.0, [[((8, 5), 1)]]), (1.0, [[((2, 5), 1)]]))
TEN = servers((10, 10))

FLOW_SHOP = [
    *same("flow shop: in order 10 slots", phased(LONG, SHORT), SHOP, ORDERS, {}, {0: (0, 0), 2: (5, 0), 1: (5, 0), 3: (7, 0)}),
    *same("flow shop: reversed 8", phased(SHORT, LONG), SHOP, ALL, {}, {0: (0, 0), 1: (1, 0), 2: (1, 0), 3: (6, 0)}),
    # N = 1 for A and B, |S| = 4, c = 4: a phase wastes 1/16 per slot, all of the resource that it does not need.
    WorkedCase("flow shop: price reverses", phased(LONG, SHORT), SHOP, "price", {}, {2: (0, 0), 3: (1, 0), 0: (1, 0), 1: (6, 0)}),
]

PRICE = [
    WorkedCase("price: second, then third", THREE, TEN, "price", {}, {1: (0, 0), 2: (0, 0), 0: (1, 0)}),
    WorkedCase("fifo: the second does not fit beside the first", THREE, TEN, "fifo", {}, {0: (0, 0), 1: (1, 0), 2: (1, 0)}),
    # Nor does the third: (3,6) and (2,5) are 11 of the second resource.
    WorkedCase("fifo: not blocking", THREE, TEN, "fifo", {"blocking": False}, {0: (0, 0), 1: (1, 0), 2: (1, 0)}),
    WorkedCase("capacity: smallest demand first", THREE, TEN, "capacity", {}, {2: (0, 0), 1: (0, 0), 0: (1, 0)}),
    WorkedCase(
        # One resource of 12. U = 1/2, 1/2, 1. Slot 0, row 0: 1/2 - 2/(4·3)·0; row 2: 1 - 0. Then 0 of 12 is free.
        "price: the phase of more value",
        phased((1.0, [[(12, 1)], [(12, 1)]]), (1.0, [[(12, 1)]])),
        servers(12),
        "price",
        {},
        {2: (0, 0), 0: (1, 0), 1: (2, 0)},
    ),
    WorkedCase(
        # Both 12 of 12: no waste. Row 1's job has 1.5, row 0's 1. Welfare 1: when row 1 starts, row 0 gets 1.5/3 = 0.5.
        # Slot 1: row 0 has 1.5, row 2 (of a job of value 1.4, ready since slot 0) 1.9; slot 2: row 0.
        "price: all that wait are paid alike",
        phased((1.0, [[(12, 1)]]), (1.5, [[(12, 1)]]), (1.4, [[(12, 1)]])),
        servers(12),
        "price",
        {"welfare": 1.0},
        {1: (0, 0), 2: (1, 0), 0: (2, 0)},
    ),
    WorkedCase(
        # Job 1 has U = 3/3 = 1 at each phase, job 0 has 0.8. Welfare 1: job 0 is paid 1/2 when row 1 starts, so 1.3 > 1.
        "price: a later phase begins unpaid",
        phased((0.8, [[(12, 1)]]), (3.0, [[(12, 1)], [(12, 1)], [(12, 1)]])),
        servers(12),
        "price",
        {"welfare": 1.0},
        {1: (0, 0), 0: (1, 0), 2: (2, 0), 3: (3, 0)},
    ),
    WorkedCase(
        "price: without welfare it would not be so",
        phased((0.8, [[(12, 1)]]), (3.0, [[(12, 1)], [(12, 1)], [(12, 1)]])),
        servers(12),
        "price",
        {"welfare": 0.0},
        {1: (0, 0), 2: (1, 0), 3: (2, 0), 0: (3, 0)},
    ),
    WorkedCase(
        # |S| = 2, N = 2, c = 4: waste is (1 - d/k)/4 per slot. Row 0: 6 of 12 for 2 slots, 1/4; row 1: 9 of 12 for 3, 3/16.
        "price: much of a server for long",
        phased((1.0, [[(6, 2)]]), (1.0, [[(9, 3)]])),
        servers(12),
        "price",
        {},
        {1: (0, 0), 0: (3, 0)},
    ),
    WorkedCase(
        # γ = 1 halves the price of every slot: row 0: 1/8 · (1 + 1/2) = 3/16; row 1: 1/16 · (1 + 1/2 + … six slots) < 1/8.
        # Without it row 1 wastes 6/16 > 1/4 and goes second.
        "price: slots to come are cheaper",
        phased((1.0, [[(6, 2)]]), (1.0, [[(9, 6)]])),
        servers(12),
        "price",
        {"gamma": 1.0},
        {1: (0, 0), 0: (6, 0)},
    ),
    WorkedCase(
        "price: and without that not",
        phased((1.0, [[(6, 2)]]), (1.0, [[(9, 6)]])),
        servers(12),
        "price",
        {},
        {0: (0, 0), 1: (2, 0)},
    ),
    WorkedCase(
        # 6 of 12 wastes less than 6 of 24.
        "price: the server that it fills",
        phased((1.0, [[(6, 1)]]), (1.0, [[(6, 1)]])),
        servers(24, 12),
        "price",
        {},
        {0: (0, 1), 1: (0, 1)},
    ),
]

BLOCKING = [
    # Job 1 is worth 3 in all its rows: both phases go before job 0. Efficiency: 3/4 of the value at slot 2, all at 3.
    WorkedCase(
        "priority: the value is that of the job, in every phase",
        phased((1.0, [[(12, 1)]]), (3.0, [[(12, 1)], [(12, 1)]])),
        servers(12),
        "priority",
        {},
        {1: (0, 0), 2: (1, 0), 0: (2, 0)},
    ),
    WorkedCase(  # row 0 is worth most, and runs beside nothing of 8
        "priority: the next is passed over",
        phased((3.0, [[(6, 2)]]), (2.0, [[(8, 1)]]), (1.0, [[(5, 1)]])),
        servers(12),
        "priority",
        {},
        {0: (0, 0), 2: (0, 0), 1: (2, 0)},
    ),
    WorkedCase(
        "priority: the next blocks",
        phased((3.0, [[(6, 2)]]), (2.0, [[(8, 1)]]), (1.0, [[(4, 1)]])),
        servers(12),
        "priority",
        {"blocking": True},
        {0: (0, 0), 1: (2, 0), 2: (2, 0)},
    ),
    *same(
        "a job's tasks of one phase run side by side, an earlier job's later phase first",
        phased((1.0, [[(4, 1), (4, 2)], [(8, 1)]]), (1.0, [[(6, 1)], [(6, 1)]])),
        servers(12),
        ("fifo", "priority"),
        {},
        {0: (0, 0), 1: (0, 0), 2: (2, 0), 3: (1, 0), 4: (3, 0)},
    ),
    WorkedCase(  # Σ d/k: 8/12 + 1/24 = 17/24, and 5/12 + 6/24 = 16/24
        "capacity: relative to what there is of a resource",
        rows((0, (8, 1), 1), (0, (5, 6), 1)),
        servers((12, 24)),
        "capacity",
        {},
        {1: (0, 0), 0: (1, 0)},
    ),
]

CASES: list[WorkedCase] = [*FLOW_SHOP, *PRICE, *BLOCKING]
