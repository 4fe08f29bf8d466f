"""Choice of a job and then of one of its tasks.

`srpt`, `graphene` and `weighted-fair` share it. The job with the highest merit and a fitting task is chosen. Of its groups of
equal tasks with room, the one with the highest rank within the job is next. Its first task starts on the first server with room.
Merits within 10⁻⁹ of the largest are equal. Ties go to the earlier job, and within the job to the earlier phase, then row.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from packenv.cluster import NONE
from packenv.cluster.whole_jobs.book import JobBook, job_book
from packenv.cluster.whole_jobs.remaining_work import RemainingWork, remaining_work
from packenv.compiled.decorators import compiled
from packenv.compiled.frame import Frame
from packenv.jobs import Jobs
from packenv.policies.price.merit_ranking import Floats, Ranking, best_group, goes_first, has_room, ranking

Ints = NDArray[np.int64]


class JobState(Frame):
    """State for N jobs and G groups of like tasks."""

    book: JobBook
    ranking: Ranking  # merits of the groups: those of their jobs
    rank: Floats  # (G,) within the job
    work: RemainingWork  # of each job
    weight: Floats  # (N,) of each job


def job_state(jobs: Jobs, capacity: Ints, sort: Ints) -> JobState:
    """Return the state before slot 0, with ranks 0 and weights 1.

    `sort` (n,): tasks with different numbers are in different groups.
    """
    book = job_book(jobs, sort)
    return JobState(
        book=book,
        ranking=ranking(book, capacity, np.zeros(len(capacity), np.int64)),
        rank=np.zeros(len(book.demand)),
        work=remaining_work(book, capacity),
        weight=np.ones(len(book.owner)),
    )


@compiled
def best_in_best_job(state: JobState) -> int:
    """Return the next group by merits of jobs and ranks of groups, or NONE."""
    book = state.book
    chosen = best_group(book, state.ranking, False)
    if chosen != NONE:
        job = book.job[chosen]
        for n in range(book.count[0]):
            g = book.active[n]
            if book.job[g] == job and has_room(state.ranking, g, 0):
                higher = state.rank[g] > state.rank[chosen]
                if higher or (state.rank[g] == state.rank[chosen] and goes_first(book, g, chosen)):
                    chosen = g
    return chosen
