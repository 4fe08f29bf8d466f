"""Tasks ordered by what waits for them: `critical-path`, `most-work`.

These are the classic rules for DAGs of tasks. The eligible task with the longest path to the end of its DAG, or with the most
work below it, starts on the first server with room. If no server has room for it, it is skipped, or all others wait behind it
(`blocking`). Ties: the earlier job, phase, row.
"""

from __future__ import annotations

import numpy as np

from packenv.cluster import Needs
from packenv.cluster.whole_jobs.below import path_below, work_below
from packenv.cluster.whole_jobs.book import JobBook
from packenv.policies.price.job_order import InOrder, Ints
from packenv.policies.price.merit_ranking import Floats
from packenv.policy import Setting


class CriticalPath(InOrder):
    """Start the task with the longest path to its job's end first.

    A path is the task's duration and those of the tasks that wait for it, along the longest chain. Durations are those of column
    `estimate`, or the true ones without it. Source: Graham, *Bounds on multiprocessing timing anomalies*, SIAM J. Appl. Math.
    17(2), 1969, and Hu 1961: level scheduling.
    """

    def needs(self, setting: Setting) -> Needs:
        return super().needs(setting)._replace(durations=True)

    def sort(self, setting: Setting) -> Ints:
        return path_below(setting.table)

    def merits(self, setting: Setting, book: JobBook) -> Floats:
        return of_groups(book, self.sort(setting))


class MostWork(InOrder):
    """Start the task with the most work below it first.

    This is its own work and that of all tasks that wait for it, each counted once. Work is Σ_r d_r / k_r · duration, with k_r the
    largest capacity of a server. Durations as in `critical-path`.
    """

    def needs(self, setting: Setting) -> Needs:
        return super().needs(setting)._replace(durations=True)

    def sort(self, setting: Setting) -> Ints:
        return work_below(setting.table, setting.capacity)

    def merits(self, setting: Setting, book: JobBook) -> Floats:
        return of_groups(book, self.sort(setting))


def of_groups(book: JobBook, of_rows: Ints) -> Floats:
    """Return numbers of a book's groups, (G,), from those of rows (n,).

    They are equal within a group.
    """
    return of_rows[np.unique(book.group, return_index=True)[1]].astype(np.float64)
