"""Which tasks of a Jobs table wait for which others, and when each task was eligible."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from packenv.jobs import Jobs

Ints = NDArray[np.int64]

NEVER = np.iinfo(np.int64).max


def precedence_edges(jobs: Jobs) -> tuple[Ints, Ints, int]:
    """Pairs of nodes, `before` and `after`, and the number of nodes.

    Nodes are the rows of the table, then a barrier for every phase of a job except its last one. A barrier comes after all
    tasks of its phase and before all tasks of the next phase, so that phases need at most two pairs for each task.
    """
    n = len(jobs)
    before, after, nodes = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)], n
    if jobs.predecessors is not None:
        before.append(jobs.predecessors.values)
        after.append(np.repeat(np.arange(n), np.diff(jobs.predecessors.offsets)))
    if jobs.phase is not None and jobs.job is not None:
        order = np.lexsort((jobs.phase, jobs.job))
        job, phase = jobs.job[order], jobs.phase[order]
        stage = np.cumsum(np.diff(job, prepend=-1).astype(bool) | np.diff(phase, prepend=-1).astype(bool)) - 1
        first = np.flatnonzero(np.diff(stage, prepend=-1))
        follows = np.diff(job[first], prepend=-1) == 0  # (stages,) whether the stage follows an earlier phase of its job
        followed = np.append(follows[1:], False)
        barrier = n + np.cumsum(follows) - 1  # (stages,) the barrier before a stage that follows another
        early, late = followed[stage], follows[stage]
        before += [order[early], barrier[stage][late]]
        after += [barrier[stage[early] + 1], order[late]]
        nodes += int(follows.sum())
    return np.concatenate(before).astype(np.int64), np.concatenate(after).astype(np.int64), nodes


def ready_slots(arrival: Ints, end: Ints, before: Ints, after: Ints, nodes: int) -> Ints:
    """(n,) the slot in which each task becomes eligible: its arrival, or the last end of the tasks that it waits for.

    `end` (n,) is the slot in which each task ends, NEVER if it does not; then tasks that wait for it are never eligible.
    The other arguments are those of `precedence_edges`.
    """
    n = len(arrival)
    ready = np.append(arrival, np.zeros(nodes - n, np.int64))
    for barriers in (True, False):  # rows wait for rows and barriers, barriers for rows only
        ends = np.append(end, ready[n:])
        kind = (after >= n) == barriers
        np.maximum.at(ready, after[kind], ends[before[kind]])
    return ready[:n]
