"""Precedence in a Jobs table, and when each task was eligible."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from packenv.jobs import Jobs, Ragged

Ints = NDArray[np.int64]

NEVER = np.iinfo(np.int64).max


def precedence_edges(jobs: Jobs) -> tuple[Ints, Ints, int]:
    """Return pairs of nodes, `before` and `after`, and the number of nodes.

    Nodes are the rows of the table, then the barriers: first those of `phase_edges`, then one for every set of two or more
    predecessors that two or more rows share. A barrier comes after all tasks of its phase or set, and before all tasks that wait
    for them. So stages of a and b tasks need a + b pairs, not a · b.
    """
    before, after, nodes = phase_edges(jobs)
    if jobs.predecessors is None:
        return before, after, nodes
    lists = jobs.predecessors
    # Sets of predecessors that several rows share get a barrier.
    same = set_numbers(lists)
    _, first, inverse, rows = np.unique(same, return_index=True, return_inverse=True, return_counts=True)
    length = np.diff(lists.offsets)
    shared = (rows >= 2) & (length[first] >= 2)  # (sets,) whether the set has a barrier
    barrier = nodes + np.cumsum(shared) - 1  # (sets,)
    # Pairs: phases, direct predecessors, predecessors of barriers, rows behind barriers.
    direct = np.repeat(~shared[inverse], length)
    waits = shared[inverse]
    heads = first[shared]
    pairs = [
        (before, after),
        (lists.values[direct], np.repeat(np.arange(len(jobs)), length)[direct]),
        (np.concatenate([lists.row(int(row)) for row in heads] or [before[:0]]), np.repeat(barrier[shared], length[heads])),
        (barrier[inverse[waits]], np.flatnonzero(waits)),
    ]
    return np.concatenate([pair[0] for pair in pairs]), np.concatenate([pair[1] for pair in pairs]), nodes + len(heads)


def phase_edges(jobs: Jobs) -> tuple[Ints, Ints, int]:
    """Return the pairs of nodes for phases, and the number of nodes.

    Nodes are the rows of the table, then a barrier for every phase of a job except its last one. A barrier comes after all
    tasks of its phase and before all tasks of the next phase. So phases need at most two pairs for each task.
    """
    n = len(jobs)
    none = np.zeros(0, np.int64)
    if jobs.phase is None or jobs.job is None:
        return none, none, n
    # Sort rows by job and phase, and number the stages.
    order = np.lexsort((jobs.phase, jobs.job))
    job, phase = jobs.job[order], jobs.phase[order]
    stage = np.cumsum(np.diff(job, prepend=-1).astype(bool) | np.diff(phase, prepend=-1).astype(bool)) - 1
    first = np.flatnonzero(np.diff(stage, prepend=-1))
    follows = np.diff(job[first], prepend=-1) == 0  # (stages,) whether the stage follows an earlier phase of its job
    followed = np.append(follows[1:], False)
    barrier = n + np.cumsum(follows) - 1  # (stages,) the barrier before a stage that follows another
    # Tasks before a barrier, and tasks behind one.
    early, late = followed[stage], follows[stage]
    before = np.concatenate([order[early], barrier[stage][late]])
    after = np.concatenate([barrier[stage[early] + 1], order[late]])
    return before.astype(np.int64), after.astype(np.int64), n + int(follows.sum())


def set_numbers(sets: Ragged) -> Ints:
    """Number rows (n,) by their set, from 0 by first occurrence."""
    n = len(sets.offsets) - 1
    row = np.repeat(np.arange(n), np.diff(sets.offsets))
    # Sort each row's integers and drop duplicates.
    order = np.lexsort((sets.values, row))
    row, value = row[order], sets.values[order]
    new = (np.diff(row, prepend=-1) != 0) | (np.diff(value, prepend=0) != 0)
    # Compare rows by the bytes of their integers.
    ends = (np.searchsorted(row[new], np.arange(n + 1)) * value.itemsize).tolist()
    members, numbers = value[new].tobytes(), dict[bytes, int]()
    return np.array([numbers.setdefault(members[a:b], len(numbers)) for a, b in pairwise(ends)], np.int64)


def longest_paths(jobs: Jobs, length: Ints) -> Ints:
    """Return the longest path (n,) from each row's start."""
    before, after, nodes = precedence_edges(jobs)
    lengths = np.append(length, np.zeros(nodes - len(jobs), np.int64))
    longest = lengths.copy()
    while True:
        longer = longest.copy()
        np.maximum.at(longer, before, lengths[before] + longest[after])
        if (longer == longest).all():
            return longest[: len(jobs)]
        longest = longer


def ready_slots(arrival: Ints, end: Ints, before: Ints, after: Ints, nodes: int) -> Ints:
    """Return the slot (n,) in which each task becomes eligible.

    It is its arrival, or the last of its predecessors' `end` (n,), NEVER if one does not end. The other arguments come from
    `precedence_edges`.
    """
    n = len(arrival)
    ready = np.append(arrival, np.zeros(nodes - n, np.int64))
    for barriers in (True, False):  # rows wait for rows and barriers, barriers for rows only
        ends = np.append(end, ready[n:])
        kind = (after >= n) == barriers
        np.maximum.at(ready, after[kind], ends[before[kind]])
    return ready[:n]
