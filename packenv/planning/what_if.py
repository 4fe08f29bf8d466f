"""What-if plans: other draws, no largest tasks, the same number for all policies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import cycle, islice
from typing import NamedTuple

import numpy as np

from packenv.errors import InputError
from packenv.jobs import COLUMNS, NO_GANG, Ints, Jobs
from packenv.planning.lower_bounds.fewest_servers import fewest_that_hold
from packenv.planning.search import Plan, Search
from packenv.planning.trials import AskRuns, Trial
from packenv.units import to_units
from packenv.workloads.gangs import in_whole_gangs
from packenv.workloads.workload import Workload

DAY = 86_400.0
FEWEST_BLOCKS = 8  # a trace of fewer days has PARTS blocks
PARTS = 16


class Certainty(NamedTuple):
    """The least numbers of servers of all draws, in increasing order."""

    least: tuple[int, ...]
    block: int | None  # slots of a block of a trace; None: seeds of a workload

    def interval(self, share: float) -> tuple[int, int]:
        """Return the range of the middle `share` of the draws."""
        ends = np.quantile(self.least, [(1 - share) / 2, (1 + share) / 2], method="closest_observation")
        return int(ends[0]), int(ends[1])


def certainty(
    search: Search, servers: int, draws: int, ask: AskRuns, progress: Callable[[int], None] = lambda draw: None
) -> Certainty:
    """Return the least number of servers of each of `draws` draws.

    Searches from `servers` on. Raises InputError for tables with predecessors.
    """
    jobs, numbers = search.workload.jobs, []
    block = None if jobs is None else block_slots(search.workload)
    for draw in range(draws):
        progress(draw)
        if jobs is None or block is None:
            numbers.append(search.least_near(servers, max(1, search.there), [2 * search.seeds + draw], ask))
        else:
            drawn = search.of(search.workload.with_(jobs=redraw_blocks(jobs, block, draw)))
            numbers.append(drawn.least_near(servers, fewest_that_hold(drawn.workload, search.there), [0], ask))
    return Certainty(tuple(sorted(numbers)), block)


def block_slots(workload: Workload) -> int:
    """Return a block's slots: a day, or one of PARTS parts."""
    assert workload.jobs is not None
    span = int(workload.jobs.arrival[-1] - workload.jobs.arrival[0]) + 1
    day = round(DAY / (workload.slot_seconds or 1.0))
    return day if workload.slot_seconds is not None and span >= FEWEST_BLOCKS * day else max(1, -(-span // PARTS))


def redraw_blocks(jobs: Jobs, block: int, seed: int) -> Jobs:
    """Redraw a table's blocks of `block` slots, with replacement.

    The number of blocks stays. Jobs of different blocks are different jobs. The time of day, bursts and jobs are preserved
    (Carlstein 1986): a job belongs to the block of its first task. The number of tasks varies.
    `packenv.workloads.traces.bootstrap` preserves it, for traces of any length.
    """
    if jobs.predecessors is not None or jobs.home is not None:
        raise InputError("blocks of time cannot be drawn from a table with predecessors or home servers")
    first = int(jobs.arrival[0])
    block_of = (jobs.arrival - first) // block  # (n,) the block of each task
    if jobs.job is not None:
        _, firsts, place = np.unique(jobs.job, return_index=True, return_inverse=True)
        block_of = block_of[firsts][place.ravel()]
    count = int((jobs.arrival[-1] - first) // block) + 1
    # Rows of each block, and the blocks drawn.
    order = np.argsort(block_of, kind="stable")
    starts = np.searchsorted(block_of[order], np.arange(count + 1))
    bits = np.random.Philox(key=seed).random_raw(count)
    chosen = ((bits >> np.uint64(11)) * 2.0**-53 * count).astype(np.int64)
    blocks = [order[starts[b] : starts[b + 1]] for b in chosen.tolist()]
    rows = np.concatenate(blocks)
    if len(rows) == 0:
        raise InputError("a draw of blocks has no task: the trace is nearly empty")
    # Move each drawn block to its new time.
    position = np.repeat(np.arange(count), [*map(len, blocks)])
    arrival: Ints = jobs.arrival[rows] - first + (position - block_of[rows]) * block
    sorted_ = np.argsort(arrival, kind="stable")
    rows, position, arrival = rows[sorted_], position[sorted_], arrival[sorted_]
    # Copies of a block have their own jobs and gangs.
    columns = {name: getattr(jobs, name) for name in COLUMNS}
    drawn = {name: column[rows] for name, column in columns.items() if column is not None and name != "arrival"}
    if jobs.job is not None:
        apart = position * (int(jobs.job.max()) + 1) + jobs.job[rows]
        drawn["job"] = np.unique(apart, return_inverse=True)[1].ravel().astype(np.int64)
    if jobs.gang is not None:
        drawn["gang"] = np.where(drawn["gang"] < 0, NO_GANG, position * (int(jobs.gang.max()) + 1) + drawn["gang"])
    return Jobs(arrival=arrival, **drawn, device_kinds=jobs.device_kinds, scale=jobs.scale)


class WithoutLargest(NamedTuple):
    """The least number of servers if tasks above a limit run elsewhere."""

    servers: int
    tasks: int  # that were left out
    work: float  # their share of Σ demand · service, of the resource of which it is largest


def without_largest(search: Search, servers: int, limit: float, ask: AskRuns) -> WithoutLargest:
    """Return the least number of servers without tasks above `limit`.

    Searches from `servers` on. The tasks are left out, neither split nor reduced, so the other jobs do not change.
    """
    jobs = search.workload.jobs
    if jobs is None:
        raise InputError("a limit on demands is for traces: a random workload has no list of tasks")
    small = np.asarray((jobs.demand <= to_units(np.full(jobs.resources, limit), jobs.scale or 0)).all(axis=1), np.bool_)
    small = small if jobs.gang is None else in_whole_gangs(jobs, small)
    if not small.any():
        raise InputError("every task needs more than the limit on demands")
    smaller = search.of(search.workload.with_(jobs=jobs.only(small)))
    bound = fewest_that_hold(smaller.workload, search.there)
    least = smaller.least_near(max(servers, bound), bound, smaller.seeds_of(range(search.seeds)), ask)
    work = jobs.demand * jobs.service[:, None].astype(np.float64)
    every = work.sum(axis=0)
    share = float((work[~small].sum(axis=0)[every > 0] / every[every > 0]).max())
    return WithoutLargest(least, int((~small).sum()), share)


class Compared(NamedTuple):
    """One policy at the common number of servers."""

    policy: str
    trial: Trial
    less_first: tuple[tuple[float | None, ...], ...]  # of each goal, seed by seed: its measure minus the first policy's


def trial_at(search: Search, plan: Plan, servers: int, ask: AskRuns) -> Trial:
    """Return the plan's trial with `servers`, or a new one."""
    if plan.servers == servers:
        return plan.at
    first = search.seeds if plan.fresh else 0
    return search.trial(servers, search.seeds_of(range(first, first + len(plan.at.values[0]))), ask)


def compared(policies: Sequence[str], trials: Sequence[Trial]) -> list[Compared]:
    """Pair the seeds of each trial with those of the first one.

    The single run of a deterministic policy on a trace is paired with every seed. Only common seeds are compared.
    """
    first = trials[0]
    comparisons = []
    for policy, trial in zip(policies, trials, strict=True):
        pairs = zip(trial.values, first.values, strict=True)
        comparisons.append(Compared(policy, trial, tuple(_less(values, others) for values, others in pairs)))
    return comparisons


def _less(values: Sequence[float | None], others: Sequence[float | None]) -> tuple[float | None, ...]:
    """Return differences over common seeds; a single run pairs with all."""
    count = max(len(values), len(others)) if 1 in (len(values), len(others)) else min(len(values), len(others))
    pairs = zip(islice(cycle(values), count), islice(cycle(others), count), strict=True)
    return tuple(None if a is None or b is None else a - b for a, b in pairs)
