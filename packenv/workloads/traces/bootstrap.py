"""Traces of any length, resampled in random blocks from a recorded one.

A block is a number of consecutive tasks with the gaps between their submissions. So bursts, jobs of a thousand equal tasks and
other dependence within a block are kept, and longer dependence is lost. A block that reaches the last task continues with the
first one (circular block bootstrap: Politis and Romano 1992). So every task is equally likely, and the distributions of demand
and duration are the trace's.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from packenv.errors import InputError
from packenv.workloads.traces.times import SECOND
from packenv.workloads.traces.trace import Trace

Ints = NDArray[np.int64]

BLOCK = 2000
"""Tasks in a block: twice as many as large jobs of Google's trace have."""


def block_bootstrap(trace: Trace, tasks: int, seconds: float, seed: int, block: int = BLOCK) -> Trace:
    """Resample `tasks` of a trace's convertible tasks, in `seconds` seconds.

    All gaps are multiplied by the factor that gives this span. The result depends on the arguments only: a counter-based
    generator draws the first task of block b from (seed, b). A job that is cut by the end of a block, or drawn again, counts as
    another job. Phases, gangs, predecessors and home servers are lost.
    Raises InputError if the trace keeps fewer than two tasks, or all of one submission time, and for arguments out of range.
    """
    if tasks < 2 or not seconds > 0 or block < 1 or not 0 <= seed < 2**63:
        raise InputError(f"bootstrap: cannot make {tasks} tasks in {seconds:g} s from blocks of {block} with seed {seed}")
    usable = np.flatnonzero(trace.kept()[0])
    if len(usable) < 2 or trace.submit[usable[0]] == trace.submit[usable[-1]]:
        raise InputError(f"{trace.source}: too few tasks to resample, or all of them submitted at one time")
    # Draw blocks of rows, and stretch their gaps to the span.
    place = _places(len(usable), tasks, min(block, len(usable)), seed)  # among the usable
    rows = usable[place]
    # Scale times (n,) to µs from 0 to `seconds` seconds.
    times = np.cumsum(_gaps(trace.submit[usable])[place])
    since = times - times[0]
    if since[-1] == 0:
        raise InputError("bootstrap: all tasks drawn were submitted at one time")
    submit = np.rint(since * (seconds * SECOND / since[-1])).astype(np.int64)
    duration = trace.duration[rows]
    return Trace(
        submit=submit,
        schedule=submit,
        end=submit + duration,
        demand=trace.demand[rows],
        resources=trace.resources,
        finished=None,
        in_snapshot=np.zeros(tasks, np.bool_),
        job=None if trace.job is None else _jobs_apart(trace.job[rows], min(block, len(usable))),
        others={name: column[rows] for name, column in trace.others.items() if name not in ("phase", "gang")},
        source=f"block bootstrap of {trace.source}",
    )


def _places(n: int, tasks: int, block: int, seed: int) -> Ints:
    """Draw indices (tasks,) below n, in circular blocks."""
    bits = np.random.Philox(key=seed).random_raw(-(-tasks // block))
    first = ((bits >> np.uint64(11)) * 2.0**-53 * n).astype(np.int64)
    return ((first[:, None] + np.arange(block)) % n).ravel()[:tasks]


def _gaps(submit: Ints) -> Ints:
    """Return µs since the previous submission (n,), the mean for the first."""
    gaps = np.diff(submit)
    return np.concatenate([[round(gaps.mean())], gaps]).astype(np.int64)


def _jobs_apart(job: Ints, block: int) -> Ints:
    """Renumber jobs (n,) so that no job is in two blocks."""
    _, dense = np.unique(job, return_inverse=True)
    number = np.arange(len(job)) // block * (int(dense.max()) + 1) + dense
    return np.asarray(np.unique(number, return_inverse=True)[1], np.int64)
