"""Worked cases of Tetris and of fair sharing (PAPERS §2)."""

from dataclasses import replace

from tests.reference.case import Amount, WorkedCase, phased, rows, same, servers, there
from tests.reference.table import Task

TEN, TWELVE = servers((10, 10)), servers((12, 12))
PACK = {"m": 0.0, "f": 0.0}
LITTLE_FIRST = {"f": 0.0}


def single(*tasks: tuple[Amount, int]) -> list[Task]:
    """Jobs of one task each."""
    return phased(*((1.0, [[task]]) for task in tasks))


def later(tasks: list[Task], arrival: int) -> list[Task]:
    """The same, but the last one arrives later."""
    return [*tasks[:-1], replace(tasks[-1], arrival=arrival)]


def estimated(tasks: list[Task], *slots: float) -> list[Task]:
    return [replace(task, estimate=estimate) for task, estimate in zip(tasks, slots, strict=True)]


def as_predecessors(tasks: list[Task]) -> list[Task]:
    """The same tasks: instead of a phase, each names the tasks of the phase before its own."""
    written = []
    for task in tasks:
        earlier = [mate for mate in tasks if mate.job == task.job and mate.phase < task.phase]
        last = max((mate.phase for mate in earlier), default=None)
        named = {*task.predecessors, *(mate.row for mate in earlier if mate.phase == last)}
        written.append(replace(task, phase=0, predecessors=tuple(sorted(named))))
    return written


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
    # When (10,10) become free in slot 20, job 0 has 3 slots of (10,10) left, and a task that should have ended 19 slots ago;
    # job 1 has 2 slots of (10,10). What is overdue is no work done in advance: job 1 first.
    WorkedCase(
        "tetris: an overdue task has no work left",
        estimated(phased((1.0, [[((2, 2), 30), ((10, 10), 3)]]), (1.0, [[((10, 10), 2)]])), 1, 3, 2),
        TWELVE,
        "tetris",
        LITTLE_FIRST,
        {0: (0, 0), 2: (20, 0), 1: (22, 0)},
        initial=[there(0, (10, 10), 20)],
    ),
]

BARRIER = later(phased((1.0, [[((12, 12), 1)] * 2, [((12, 12), 9)]]), (1.0, [[((12, 12), 2)]])), 1)
GRAPH = [replace(task, job=0) for task in rows(*[(0, (12, 12), 1)] * 3, (0, (12, 12), 1, (0, 2)))]
IN_TURN = [(0, 0), (1, 0), (2, 0), (3, 0)]

BARRIERS = [
    # In slot 1 one of the two tasks before job 0's barrier has completed: with b = .5 the other goes first.
    WorkedCase(
        "tetris: before a barrier", BARRIER, TWELVE, "tetris", {"f": 0.0, "b": 0.5}, {0: (0, 0), 1: (1, 0), 3: (2, 0), 2: (4, 0)}
    ),
    WorkedCase(
        "tetris: b = 1 is off", BARRIER, TWELVE, "tetris", {"f": 0.0, "b": 1.0}, {0: (0, 0), 3: (1, 0), 1: (3, 0), 2: (4, 0)}
    ),
    # The same barrier, named by the task behind it.
    WorkedCase(
        "tetris: before a barrier of predecessors",
        as_predecessors(BARRIER),
        TWELVE,
        "tetris",
        {"f": 0.0, "b": 0.5},
        {0: (0, 0), 1: (1, 0), 3: (2, 0), 2: (4, 0)},
    ),
    # Row 3 waits for rows 0 and 2, and nobody for row 1: when row 0 has completed, row 2 holds up row 3.
    WorkedCase(
        "tetris: the last of some predecessors",
        GRAPH,
        TWELVE,
        "tetris",
        {"b": 0.5},
        dict(zip((0, 2, 1, 3), IN_TURN, strict=True)),
    ),
    WorkedCase("tetris: b = 1 in a graph", GRAPH, TWELVE, "tetris", {"b": 1.0}, dict(zip((0, 1, 2, 3), IN_TURN, strict=True))),
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
        "task-fair: turns",
        TEXTBOOK,
        servers((8, 10)),
        "task-fair",
        {},
        {0: (0, 0), 4: (0, 0), 1: (0, 0), 5: (0, 0), 2: (1, 0), 6: (1, 0), 3: (1, 0)},
    ),
    # (4,8) twice: 16 of 12 of the resource that nobody checks, so both take 3 · 16/12 = 4 slots.
    *same(
        "over-allocation",
        single(((4, 8), 3), ((4, 8), 3), ((12, 1), 1)),
        TWELVE,
        ("drf", "task-fair"),
        {"checked": 1},
        {0: (0, 0), 1: (0, 0), 2: (4, 0)},
    ),
    *same(
        "every resource checked",
        single(((4, 8), 3), ((4, 8), 3), ((12, 1), 1)),
        TWELVE,
        ("drf", "task-fair"),
        {},
        {0: (0, 0), 1: (3, 0), 2: (6, 0)},
    ),
]

# Of the second resource, which nobody checks, there are 12. Rows behind the first ones show when those end.
TWO_IN_TURN = rows((0, (4, 12), 4), (0, (1, 0), 1, (0,)), (2, (4, 12), 4), (2, (1, 0), 1, (2,)))
MAX_MIN = rows(*((0, (4, disk), 6) for disk in (3, 6, 9)), *((0, (0, 1), 1, (row,)) for row in range(3)))

OVERLAPS = [
    # Row 0 runs alone for 2 slots, then both at half speed: it ends in 2 + 2 · 2 = 6. Row 2 has 2 slots left then, alone.
    *same(
        "over-allocation: both slow down while they overlap",
        TWO_IN_TURN,
        TWELVE,
        ("drf", "task-fair"),
        {"checked": 1},
        {0: (0, 0), 1: (6, 0), 2: (2, 0), 3: (8, 0)},
    ),
    # 3, 6 and 9 get 3, 4.5 and 4.5: row 0 ends in 6, when 1.5 and 3 slots are left. 6 and 9 then get 6 each: row 1 ends in
    # 7.5, so in slot 8; row 2, at 2/3 of its speed, has 3 - 4/3 left then, and ends in 9 2/3, so in slot 10.
    *same(
        "over-allocation: max-min",
        MAX_MIN,
        TWELVE,
        ("drf", "task-fair"),
        {"checked": 1},
        {0: (0, 0), 1: (0, 0), 2: (0, 0), 3: (6, 0), 4: (8, 0), 5: (10, 0)},
    ),
    # 12 of 12 are taken until slot 3 by a job from before: rows 0 and 1 wait for it, then each gets half.
    *same(
        "over-allocation: what was there before",
        rows((0, (4, 6), 2), (0, (4, 12), 2), (0, (1, 0), 1, (0,)), (0, (1, 0), 1, (1,))),
        TWELVE,
        ("drf", "task-fair"),
        {"checked": 1},
        {0: (0, 0), 1: (0, 0), 2: (5, 0), 3: (6, 0)},
        initial=[there(0, (1, 12), 3)],
    ),
]

SLOTS = [
    # Slots of (3,3): (4,1) takes two of the four, so that only two tasks run, though three fit.
    WorkedCase(
        "slot-fair: whole slots", single(*[((4, 1), 1)] * 3), TWELVE, "slot-fair", {"slots": 4}, {0: (0, 0), 1: (0, 0), 2: (1, 0)}
    ),
    # Slots of (2,2), five of them. Job 0 takes two, job 1 one and, having less, one more; then job 0 finds one slot, which is
    # too little. By tasks job 0 would be the next after one task each.
    WorkedCase(
        "slot-fair: shares are slots",
        phased((1.0, [[((4, 1), 1)] * 2]), (1.0, [[((2, 1), 1)] * 3])),
        TEN,
        "slot-fair",
        {"slots": 5},
        {0: (0, 0), 2: (0, 0), 3: (0, 0), 4: (0, 0), 1: (1, 0)},
    ),
    WorkedCase(
        "task-fair: shares are tasks",
        phased((1.0, [[((4, 1), 1)] * 2]), (1.0, [[((2, 1), 1)] * 3])),
        TEN,
        "task-fair",
        {},
        {0: (0, 0), 2: (0, 0), 1: (0, 0), 3: (1, 0), 4: (1, 0)},
    ),
    # Slots of (3,3) on every server: (7,12) has two, though 1 of its 7 stays free.
    WorkedCase(
        "slot-fair: slots of one size",
        single(*[((6, 1), 2)] * 3, ((1, 1), 2)),
        servers((12, 12), (7, 12)),
        "slot-fair",
        {"slots": 4},
        {0: (0, 0), 1: (0, 0), 2: (0, 1), 3: (2, 0)},
    ),
    # Two tasks that each need the whole disk take twice as long.
    WorkedCase(
        "slot-fair: disk is not checked",
        rows((0, (3, 3, 12), 4), (0, (3, 3, 12), 4), (0, (1, 1, 0), 1, (0,))),
        servers((12, 12, 12)),
        "slot-fair",
        {"slots": 4},
        {0: (0, 0), 1: (0, 0), 2: (8, 0)},
    ),
]

CASES = [*OVERLAPS, *SLOTS, *ALIGNMENT, *WORK_LEFT, *BARRIERS, *FAIRNESS, *SHARES]
