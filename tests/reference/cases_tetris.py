"""Worked cases of Tetris and of fair sharing (seed 001, PAPERS §2)."""

from dataclasses import replace

from tests.reference.case import Amount, WorkedCase, phased, same, servers, there
from tests.reference.model import Task

TEN, TWELVE = servers((10, 10)), servers((12, 12))
PACK = {"m": 0.0, "f": 0.0}
LITTLE_FIRST = {"f": 0.0}


def single(*tasks: tuple[Amount, int]) -> list[Task]:
    """Jobs of one task each."""
    return phased(*((1.0, [[task]]) for task in tasks))


def later(tasks: list[Task], arrival: int) -> list[Task]:
    """The same, but the last one arrives later."""
    return [*tasks[:-1], replace(tasks[-1], arrival=arrival)]


ALIGNMENT = [
    # a = .9, 1.3, .7 on an empty server: the second, then the third, which fills it.
    WorkedCase(
        "tetris: second, then third",
        single(((3, 6), 1), ((8, 5), 1), ((2, 5), 1)),
        TEN,
        "tetris",
        PACK,
        {1: (0, 0), 2: (0, 0), 0: (1, 0)},
    ),
    # Free (8,2) of (10,10): (1,2) has .12, (2,1) .18. By sums of demand and free they would be equal, and the first would go.
    WorkedCase(
        "tetris: the abundant resource",
        single(((1, 2), 1), ((2, 1), 1)),
        TEN,
        "tetris",
        PACK,
        {1: (0, 0), 0: (1, 0)},
        initial=[there(0, (2, 8), 9)],
    ),
    # Dot products 1 and 4/3; the cosine of (6,6) with what is free would be 1, that of (12,4) .89.
    WorkedCase("tetris: not the cosine", single(((6, 6), 1), ((12, 4), 1)), TWELVE, "tetris", PACK, {1: (0, 0), 0: (1, 0)}),
    # Weights 0:1 leave 6/12 and 4/12.
    WorkedCase(
        "tetris: weights", single(((12, 4), 1), ((6, 9), 1)), TWELVE, "tetris", PACK | {"weights": "0:1"}, {1: (0, 0), 0: (1, 0)}
    ),
]

WORK_LEFT = [
    # Equal alignments; the job with less work left goes first.
    WorkedCase(
        "tetris: less work first", single(((12, 12), 5), ((12, 12), 2)), TWELVE, "tetris", LITTLE_FIRST, {1: (0, 0), 0: (2, 0)}
    ),
    # Job 0 has three tasks of 2 slots, 6 in all; job 1 one of 4.
    WorkedCase(
        "tetris: the work of the whole job",
        phased((1.0, [[((12, 12), 2)] * 3]), (1.0, [[((12, 12), 4)]])),
        TWELVE,
        "tetris",
        LITTLE_FIRST,
        {3: (0, 0), 0: (4, 0), 1: (6, 0), 2: (8, 0)},
    ),
    # Job 0 has 1 slot before its barrier and 9 behind it; job 1 has 4.
    WorkedCase(
        "tetris: the work of later phases",
        phased((1.0, [[((12, 12), 1)], [((12, 12), 9)]]), (1.0, [[((12, 12), 4)]])),
        TWELVE,
        "tetris",
        LITTLE_FIRST,
        {2: (0, 0), 0: (4, 0), 1: (5, 0)},
    ),
]

BARRIER = later(phased((1.0, [[((12, 12), 1)] * 2, [((12, 12), 9)]]), (1.0, [[((12, 12), 2)]])), 1)

BARRIERS = [
    # In slot 1 one of the two tasks before job 0's barrier has completed: with b = .5 the other goes first.
    WorkedCase(
        "tetris: before a barrier", BARRIER, TWELVE, "tetris", {"f": 0.0, "b": 0.5}, {0: (0, 0), 1: (1, 0), 3: (2, 0), 2: (4, 0)}
    ),
    WorkedCase(
        "tetris: b = 1 is off", BARRIER, TWELVE, "tetris", {"f": 0.0, "b": 1.0}, {0: (0, 0), 3: (1, 0), 1: (3, 0), 2: (4, 0)}
    ),
]

# Job 0 has half of the server from slot 0 on. Job 1, which arrives in slot 1, has nothing, and a task that is no better aligned.
KNOB = later(phased((1.0, [[((6, 6), 9), ((6, 6), 1)] + [((6, 6), 1)] * 2]), (1.0, [[((3, 3), 1)]])), 1)

FAIRNESS = [
    WorkedCase("tetris: f = 0", KNOB, TWELVE, "tetris", PACK, {0: (0, 0), 1: (0, 0), 2: (1, 0), 3: (2, 0), 4: (3, 0)}),
    WorkedCase(
        "tetris: f = .6", KNOB, TWELVE, "tetris", PACK | {"f": 0.6}, {0: (0, 0), 1: (0, 0), 4: (1, 0), 2: (2, 0), 3: (3, 0)}
    ),
]

# Ghodsi et al., NSDI 2011: tasks of (1,4) and of (3,1) on (9,18): three and two of them, both have two thirds.
A, B = ((1, 4), 1), ((3, 1), 1)
TEXTBOOK = phased((1.0, [[A] * 4]), (1.0, [[B] * 3]))

SHARES = [
    WorkedCase(
        "drf: the textbook",
        TEXTBOOK,
        servers((9, 18)),
        "drf",
        {},
        {0: (0, 0), 1: (0, 0), 2: (0, 0), 4: (0, 0), 5: (0, 0), 3: (1, 0), 6: (1, 0)},
    ),
    # By tasks they take turns: A, B, A, B; then neither a third A, as (1,4) needs (9,14), does: it fits; B does not.
    WorkedCase(
        "slot-fair: turns",
        TEXTBOOK,
        servers((8, 10)),
        "slot-fair",
        {},
        {0: (0, 0), 4: (0, 0), 1: (0, 0), 5: (0, 0), 2: (1, 0), 6: (1, 0), 3: (1, 0)},
    ),
    # (4,8) twice: 16 of 12 of the resource that nobody checks, so the second takes ⌈3 · 16/12⌉ = 4 slots.
    *same(
        "over-allocation",
        single(((4, 8), 3), ((4, 8), 3), ((12, 1), 1)),
        TWELVE,
        ("drf", "slot-fair"),
        {"checked": 1},
        {0: (0, 0), 1: (0, 0), 2: (4, 0)},
    ),
    *same(
        "every resource checked",
        single(((4, 8), 3), ((4, 8), 3), ((12, 1), 1)),
        TWELVE,
        ("drf", "slot-fair"),
        {},
        {0: (0, 0), 1: (3, 0), 2: (6, 0)},
    ),
]

CASES = [*ALIGNMENT, *WORK_LEFT, *BARRIERS, *FAIRNESS, *SHARES]
