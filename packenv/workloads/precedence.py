"""Who waits for whom in a Jobs table, and since when each task could have started."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from packenv.jobs import Jobs

Ints = NDArray[np.int64]

NEVER = np.iinfo(np.int64).max


def precedence_edges(jobs: Jobs) -> tuple[Ints, Ints, int]:
    """Pairs (before, after) of nodes, and how many nodes there are: the rows, then a barrier for each phase but a job's last.

    A barrier stands behind all tasks of a phase and in front of all of its job's next phase, so that there are no more
    pairs than tasks, twice.
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
        follows = np.diff(job[first], prepend=-1) == 0  # (stages,) whether an earlier phase of the job comes before it
        followed = np.append(follows[1:], False)
        barrier = n + np.cumsum(follows) - 1  # the one in front of a stage that follows another
        early, late = followed[stage], follows[stage]
        before += [order[early], barrier[stage][late]]
        after += [barrier[stage[early] + 1], order[late]]
        nodes += int(follows.sum())
    return np.concatenate(before).astype(np.int64), np.concatenate(after).astype(np.int64), nodes


def ready_slots(arrival: Ints, end: Ints, before: Ints, after: Ints, nodes: int) -> Ints:
    """(n,) slot in which each task could start: its arrival, or the end of the last that it waits for, NEVER if that has none.

    `end` (n,) is NEVER for tasks that do not; the others as `precedence_edges` gives them.
    """
    n = len(arrival)
    ready = np.append(arrival, np.zeros(nodes - n, np.int64))
    for barriers in (True, False):  # rows wait for rows and barriers, barriers for rows only
        ends = np.append(end, ready[n:])
        kind = (after >= n) == barriers
        np.maximum.at(ready, after[kind], ends[before[kind]])
    return ready[:n]
