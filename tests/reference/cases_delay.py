"""Worked cases of delay scheduling (PAPERS §5): slots of a second, servers that take one task each."""

from tests.reference.case import WorkedCase, servers, twelfths
from tests.reference.table import Network, Task

WHOLE = twelfths(12)
TWO, THREE, FOUR = servers(12, 12), servers(12, 12, 12), servers(12, 12, 12, 12)


def reader(row: int, service: int, *home: int, job: int = 0, arrival: int = 0, overhead: int = 7) -> Task:
    """A task whose data lie on some servers, or everywhere."""
    return Task(row, arrival, WHOLE, service, job=job, home=home, overhead=overhead)


# Both read what lies on server 0. At home again in slot 2, before more than 3 slots have passed.
WORTH_IT = [reader(0, 2, 0), reader(1, 2, 0)]
# Not so here: the second is skipped from slot 0 on, and 4 - 0 > 3.
TOO_LONG = [reader(0, 10, 0), reader(1, 10, 0)]
TRIPLE = [reader(row, 20, 0) for row in range(3)]
# The second of job 0 takes 10 + 7 slots away from home and ends in slot 21: then the interval is (3 + 7) / 2 = 5. Job 1 is
# skipped from slot 30 on: 36 - 30 > 5.
LEARNT = [*TOO_LONG, reader(2, 20, 0, job=1, arrival=30), reader(3, 20, 0, job=1, arrival=30)]
# Job 0 has one task in service in slot 3, job 1 has none.
FAIR_TURNS = [reader(0, 3), reader(1, 5), reader(2, 1), reader(3, 1, job=1, arrival=1)]
RACKS = Network(racks=(0, 0, 1, 1), same_rack=0.5)

CASES = [
    WorkedCase("delay: waits", WORTH_IT, TWO, "delay", {}, {0: (0, 0), 1: (2, 0)}),
    WorkedCase("delay: gives up", TOO_LONG, TWO, "delay", {}, {0: (0, 0), 1: (4, 1)}),
    WorkedCase("delay: not for an interval of 0", WORTH_IT, TWO, "delay", {"interval": 0.0}, {0: (0, 0), 1: (1, 1)}),
    WorkedCase("delay: then all go", TRIPLE, THREE, "delay", {}, {0: (0, 0), 1: (4, 1), 2: (4, 2)}),
    WorkedCase("delay: or wait anew", TRIPLE, THREE, "delay", {"paper": True}, {0: (0, 0), 1: (4, 1), 2: (8, 2)}),
    # Skipped once in slot 0 and once in slot 1.
    WorkedCase("delay: two offers", TOO_LONG, TWO, "delay", {"skips": 2}, {0: (0, 0), 1: (2, 1)}),
    # Skipped twice in slot 0, by servers 1 and 2.
    WorkedCase("delay: offers of two servers", TRIPLE, THREE, "delay", {"skips": 2}, {0: (0, 0), 1: (1, 1), 2: (1, 2)}),
    # And after the launch once more by server 2, and again in slot 2.
    WorkedCase("delay: offers anew", TRIPLE, THREE, "delay", {"skips": 2, "paper": True}, {0: (0, 0), 1: (1, 1), 2: (3, 2)}),
    # In the rack from slot 3 on (server 1), anywhere after more than 3 slots of that.
    WorkedCase(
        "delay: racks",
        TRIPLE,
        FOUR,
        "delay",
        {"interval": 2.0, "rack": 3.0},
        {0: (0, 0), 1: (3, 1), 2: (7, 2)},
        network=RACKS,
    ),
    # After the launch in the rack more than 2 + 3 slots: from slot 3 on.
    WorkedCase(
        "delay: racks anew",
        TRIPLE,
        FOUR,
        "delay",
        {"interval": 2.0, "rack": 3.0, "paper": True},
        {0: (0, 0), 1: (3, 1), 2: (9, 2)},
        network=RACKS,
    ),
    WorkedCase("fair: the first offer", WORTH_IT, TWO, "fair", {}, {0: (0, 0), 1: (0, 1)}),
    WorkedCase("fair: fewest first", FAIR_TURNS, TWO, "fair", {}, {0: (0, 0), 1: (0, 1), 3: (3, 0), 2: (4, 0)}),
    WorkedCase("delay: constant", LEARNT, TWO, "delay", {}, {0: (0, 0), 1: (4, 1), 2: (30, 0), 3: (34, 1)}),
    WorkedCase("delay-dynamic", LEARNT, TWO, "delay-dynamic", {}, {0: (0, 0), 1: (4, 1), 2: (30, 0), 3: (36, 1)}),
    # The one at home reports 0 in slot 10: 1.5, and (1.5 + 7) / 2 = 4.25 in slot 21.
    WorkedCase(
        "delay-dynamic: all report", LEARNT, TWO, "delay-dynamic", {"paper": True}, {0: (0, 0), 1: (4, 1), 2: (30, 0), 3: (35, 1)}
    ),
    # 0.9 · 3 + 0.1 · 7 = 3.4, on a network as good as nothing from slot 2 on: 0.9 · 3 + 0.1 · 0 = 2.7.
    WorkedCase(
        "delay-dynamic: a wider average",
        LEARNT,
        TWO,
        "delay-dynamic",
        {"weight": 0.1},
        {0: (0, 0), 1: (4, 1), 2: (30, 0), 3: (33, 1)},
        network=Network(steps=((2, 0.0),)),
    ),
]
