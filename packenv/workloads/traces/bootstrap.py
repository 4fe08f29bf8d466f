"""A longer trace than was recorded: blocks of its tasks, drawn at random and strung together.

A block is a stretch of consecutive tasks with the gaps between their submissions, so that bursts, jobs of a thousand
like tasks and whatever else happens within a block stay as they were; what is longer than a block is lost. Blocks run on
from the last task to the first (circular block bootstrap: Politis and Romano 1992), so that every task is as likely as
any other and the distributions of demand and duration are those of the trace.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from packenv.errors import InputError
from packenv.workloads.traces.table import SECOND, Trace

Ints = NDArray[np.int64]

BLOCK = 2000
"""Tasks in a block: twice the largest usual job of Google's trace."""


def block_bootstrap(trace: Trace, tasks: int, seconds: float, seed: int, block: int = BLOCK) -> Trace:
    """`tasks` tasks submitted within `seconds` seconds, the last one at their end, resampled from those that `trace` keeps.

    The gaps are all multiplied by one factor, the one that gives this span. A function of the arguments only: block b's
    first task is drawn by a counter-based generator from (seed, b). A job that is cut by a block's end, or drawn again,
    counts as another job; phases, predecessors and home servers are not kept.
    Raises InputError if the trace keeps fewer than two tasks, or all at one time.
    """
    if tasks < 2 or not seconds > 0 or block < 1 or not 0 <= seed < 2**63:
        raise InputError(f"bootstrap: cannot make {tasks} tasks in {seconds:g} s from blocks of {block} with seed {seed}")
    kept = np.flatnonzero(trace.kept()[0])
    if len(kept) < 2 or trace.submit[kept[0]] == trace.submit[kept[-1]]:
        raise InputError(f"{trace.source}: too few tasks to resample, or all of them submitted at one time")
    place = _places(len(kept), tasks, min(block, len(kept)), seed)  # among the kept
    rows = kept[place]
    submit = _stretched(np.cumsum(_gaps(trace.submit[kept])[place]), seconds)
    duration = trace.duration[rows]
    return Trace(
        submit=submit,
        schedule=submit,
        end=submit + duration,
        demand=trace.demand[rows],
        resources=trace.resources,
        finished=np.ones(tasks, np.bool_),
        in_snapshot=np.zeros(tasks, np.bool_),
        job=None if trace.job is None else _jobs_apart(trace.job[rows], min(block, len(kept))),
        others={name: column[rows] for name, column in trace.others.items() if name != "phase"},
        source=f"block bootstrap of {trace.source}",
    )


def _places(n: int, tasks: int, block: int, seed: int) -> Ints:
    """(tasks,) places among n: blocks of consecutive ones, running on from the last to the first."""
    words = np.random.Philox(key=seed).random_raw(-(-tasks // block))
    first = ((words >> np.uint64(11)) * 2.0**-53 * n).astype(np.int64)
    return ((first[:, None] + np.arange(block)) % n).ravel()[:tasks]


def _gaps(submit: Ints) -> Ints:
    """(n,) µs from the task before; the first one's, which nobody recorded, is the mean of the others."""
    gaps = np.diff(submit)
    return np.concatenate([[round(gaps.mean())], gaps]).astype(np.int64)


def _stretched(times: Ints, seconds: float) -> Ints:
    """(n,) µs: the same times from 0 on, the last one at `seconds`."""
    since = times - times[0]
    if since[-1] == 0:
        raise InputError("bootstrap: all tasks drawn were submitted at one time")
    return np.rint(since * (seconds * SECOND / since[-1])).astype(np.int64)


def _jobs_apart(job: Ints, block: int) -> Ints:
    """(n,) job numbers such that tasks of different blocks never share one."""
    _, dense = np.unique(job, return_inverse=True)
    number = np.arange(len(job)) // block * (int(dense.max()) + 1) + dense
    return np.asarray(np.unique(number, return_inverse=True)[1], np.int64)
