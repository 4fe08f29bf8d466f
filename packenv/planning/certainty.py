"""How certain a number of servers is: the least number for other days like those of the trace, or other seeds of a workload.

Blocks of time of a trace, days where it is long enough, are drawn at random with replacement and put one after the other
(Carlstein 1986). So the time of day is kept, and so are bursts and jobs: a job belongs to the block of its first task. The
number of tasks differs from draw to draw, as it does from day to day; `packenv.workloads.traces.bootstrap` keeps it as it is,
for traces of any length.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import NamedTuple

import numpy as np

from packenv.errors import InputError
from packenv.jobs import Ints, Jobs
from packenv.planning.search import AskRuns, Search
from packenv.workloads.workload import Workload

DAY = 86_400.0
FEWEST_BLOCKS = 8  # a trace of fewer days is cut into PARTS
PARTS = 16


class Certainty(NamedTuple):
    """The least numbers of servers of all draws, in increasing order."""

    least: tuple[int, ...]
    block: int | None  # slots of a block of a trace; None: seeds of a workload

    def interval(self, share: float) -> tuple[int, int]:
        """The middle `share` of the draws."""
        ends = np.quantile(self.least, [(1 - share) / 2, (1 + share) / 2], method="closest_observation")
        return int(ends[0]), int(ends[1])


def certainty(
    search: Search, servers: int, draws: int, ask: AskRuns, progress: Callable[[int], None] = lambda draw: None
) -> Certainty:
    """The least number of each of `draws` draws, looked for from `servers` on. Raises InputError for tables of predecessors."""
    jobs, found = search.workload.jobs, []
    block = None if jobs is None else block_slots(search.workload)
    for draw in range(draws):
        progress(draw)
        if jobs is None or block is None:
            found.append(search.least_near(servers, 1, [2 * search.seeds + draw], ask))
        else:
            other = search.of(search.workload.with_(jobs=drawn_blocks(jobs, block, draw)))
            found.append(other.least_near(servers, 1, [0], ask))
    return Certainty(tuple(sorted(found)), block)


def block_slots(workload: Workload) -> int:
    """Slots of a block: a day if the trace has at least FEWEST_BLOCKS of them, otherwise one of PARTS of it."""
    assert workload.jobs is not None
    span = int(workload.jobs.arrival[-1] - workload.jobs.arrival[0]) + 1
    day = round(DAY / (workload.slot_seconds or 1.0))
    return day if workload.slot_seconds is not None and span >= FEWEST_BLOCKS * day else max(1, -(-span // PARTS))


def drawn_blocks(jobs: Jobs, block: int, seed: int) -> Jobs:
    """As many blocks of `block` slots as the table has, drawn with replacement. Jobs of different blocks are different jobs."""
    if jobs.predecessors is not None or jobs.home is not None:
        raise InputError("blocks of time cannot be drawn from a table with predecessors or home servers")
    first = int(jobs.arrival[0])
    own = (jobs.arrival - first) // block  # (n,) the block of each task
    if jobs.job is not None:
        _, firsts, place = np.unique(jobs.job, return_index=True, return_inverse=True)
        own = own[firsts][place.ravel()]
    count = int((jobs.arrival[-1] - first) // block) + 1
    order = np.argsort(own, kind="stable")
    starts = np.searchsorted(own[order], np.arange(count + 1))
    words = np.random.Philox(key=seed).random_raw(count)
    chosen = ((words >> np.uint64(11)) * 2.0**-53 * count).astype(np.int64)
    taken = [order[starts[b] : starts[b + 1]] for b in chosen.tolist()]
    rows = np.concatenate(taken)
    if len(rows) == 0:
        raise InputError("a draw of blocks has no task: the trace is nearly empty")
    position = np.repeat(np.arange(count), [len(one) for one in taken])
    arrival: Ints = jobs.arrival[rows] - first + (position - own[rows]) * block
    sorted_ = np.argsort(arrival, kind="stable")
    rows, position, arrival = rows[sorted_], position[sorted_], arrival[sorted_]
    columns = {one.name: getattr(jobs, one.name) for one in fields(jobs)}
    kept = {name: column[rows] for name, column in columns.items() if column is not None and name != "arrival"}
    if jobs.job is not None:
        apart = position * (int(jobs.job.max()) + 1) + jobs.job[rows]
        kept["job"] = np.unique(apart, return_inverse=True)[1].ravel().astype(np.int64)
    return Jobs(arrival=arrival, **kept)
