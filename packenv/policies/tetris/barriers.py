"""Barriers of a Jobs table: sets of tasks that must all have completed before another task may start (PAPERS §2).

The tasks of a phase are before a barrier if a later phase of their job waits for them. So are the predecessors of a task;
tasks with the same predecessors wait behind the same barrier. A chain of phases that is written as predecessors thus has
the barriers of the phases. A task may be before several barriers.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from packenv.cluster.whole_jobs.book import JobBook
from packenv.compiled.decorators import compiled
from packenv.compiled.frame import Frame
from packenv.jobs import Jobs, Ragged
from packenv.workloads.precedence import phase_edges, set_numbers

Ints = NDArray[np.int64]

ROUNDING = 1e-9


class Barriers(Frame):
    """The barriers of one cluster: G groups, all tasks of which are before the same barriers, and B barriers."""

    of: Ints  # (G + 1,) group g is before the barriers barrier[of[g] : of[g + 1]]
    barrier: Ints
    tasks: Ints  # (B,) number of tasks before each barrier
    ended: Ints  # (B,) number of these that have completed


def barriers_of_tasks(jobs: Jobs) -> Ragged:
    """The barriers before which each task is, sorted."""
    n = len(jobs)
    before, after, nodes = phase_edges(jobs)
    of_phase = after >= n
    row, barrier = [before[of_phase]], [after[of_phase] - n]
    if jobs.predecessors is not None:
        for number, first in enumerate(np.unique(set_numbers(jobs.predecessors), return_index=True)[1]):
            row.append(jobs.predecessors.row(int(first)))
            barrier.append(np.full(len(row[-1]), nodes - n + number))
    pairs = np.unique(np.column_stack([np.concatenate(row), np.concatenate(barrier)]), axis=0)
    return Ragged(np.searchsorted(pairs[:, 0], np.arange(n + 1)).astype(np.int64), pairs[:, 1].astype(np.int64))


def barriers(book: JobBook, of_tasks: Ragged) -> Barriers:
    """The state before slot 0, for a book whose groups tell tasks before different barriers apart."""
    sets = [of_tasks.row(int(row)) for row in np.unique(book.group, return_index=True)[1]]
    tasks = np.bincount(of_tasks.values)
    return Barriers(
        of=np.cumsum([0, *map(len, sets)]).astype(np.int64),
        barrier=np.concatenate(sets),
        tasks=tasks.astype(np.int64),
        ended=np.zeros(len(tasks), np.int64),
    )


@compiled
def note_completed(b: Barriers, g: int) -> None:
    """Count the completion of a task of group g."""
    for k in range(b.of[g], b.of[g + 1]):
        b.ended[b.barrier[k]] += 1


@compiled
def holds_up(b: Barriers, g: int, fraction: float) -> bool:
    """Whether the tasks of group g are the last before some barrier: a fraction of the tasks before it has completed."""
    for k in range(b.of[g], b.of[g + 1]):
        if b.ended[b.barrier[k]] >= fraction * b.tasks[b.barrier[k]] - ROUNDING:
            return True
    return False
