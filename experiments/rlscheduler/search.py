"""How much better than the best order could one be? A beam search that knows all jobs beforehand, on one window.

The decisions are those of packenv/NextJob-v1: which waiting job is kept until it fits, or, with EASY, is started or reserved for.
A state is as good as the mean bounded slowdown that the best order of the window makes of it, played to the end; the `width` best
of each number of decisions are kept (the pilot method: Duin and Voß, Networks 1999). Tried in each state are the first jobs by
all orders, and all jobs where no more than EVERY may be chosen. Its best schedule is never worse than the best order.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from experiments.rlscheduler.engine import BOUND, Log, log_of
from packenv.compiled.decorators import compiled
from packenv.policies.orders import ORDERS, QueuedJobs, growing
from packenv.workloads.workload import Workload

Floats = NDArray[np.float64]
NONE = -1
EVERY = 6
HEAD = np.dtype(
    [(name, "f8") for name in ("now", "free", "cost", "reserved", "beside")]
    + [(name, "i8") for name in ("arrived", "waiting", "running", "kept")]
)


class Problem(NamedTuple):
    """A window of n jobs, in the order in which they come; all times in seconds."""

    submitted: Floats  # (n,)
    run: Floats  # (n,)
    needs: Floats  # (n,) processors
    key: Floats  # (orders, n) the smallest goes first
    growing: NDArray[np.int64]  # (orders,) 1: times minus the wait over the request
    processors: float
    backfill: int  # 1: EASY
    offered: NDArray[np.int64]  # (n,) scratch: the jobs of the choice at hand,
    tried: NDArray[np.int64]  # and those of them that are tried


class States(NamedTuple):
    """S states of a run."""

    head: Any  # (S,) HEAD; cost: the sum of the bounded slowdowns of the jobs that have started
    waiting: NDArray[np.int64]  # (S, n) jobs, oldest first
    end: Floats  # (S, n) of the running jobs, the first one first,
    size: Floats  # (S, n) and their processors


def problem_of(workload: Workload, backfill: bool) -> Problem:
    """A window of a log (`experiments.rlscheduler.runs.window`)."""
    log: Log = log_of(workload)
    jobs = QueuedJobs(log.submitted, log.run, log.needs, True, 1.0)
    key = np.array([rule(jobs) for rule in ORDERS.values()], np.float64)
    grows = np.array([rule in growing for rule in ORDERS.values()], np.int64)
    scratch = np.zeros(len(log.run), np.int64), np.zeros(max(EVERY, len(key)), np.int64)
    return Problem(log.submitted, log.run, log.needs, key, grows, float(log.processors), int(backfill), *scratch)


class Found(NamedTuple):
    """Mean bounded slowdowns of a window."""

    orders: dict[str, float]
    best: float  # of the search


def search(problem: Problem, width: int = 1) -> Found:
    """Every order, and the search that begins with the best of them."""
    n = len(problem.run)

    def states(count: int) -> States:
        head = np.zeros(count, HEAD)
        head["now"], head["free"], head["kept"] = problem.submitted[0], problem.processors, NONE
        return States(head, np.zeros((count, n), np.int64), np.zeros((count, n)), np.zeros((count, n)))

    totals = [play(problem, states(1), 0, order, math.inf) for order in range(len(problem.key))]
    order, value = int(np.argmin(totals)), np.zeros(width)
    best = beam(problem, states(width), states(width + 2), value, order, min(totals))
    return Found({name: total / n for name, total in zip(ORDERS, totals, strict=True)}, best / n)


@compiled
def beam(p: Problem, s: States, found: States, value: Floats, order: int, best: float) -> float:
    """The least sum of bounded slowdowns that is found. `found` has room for the next states, and for two more."""
    width = s.head.shape[0]
    count, trial, played = 1, width, width + 1
    while count > 0:
        following = 0
        for k in range(count):
            for c in range(to_try(p, s, k, settle(p, s, k))):
                copy(s, k, found, trial)
                take(p, found, trial, p.tried[c])
                copy(found, trial, found, played)
                limit = math.inf if following < width else value[width - 1]
                total = play(p, found, played, order, limit)
                best = min(best, total)
                if total >= limit or known(found, trial, following):
                    continue
                # Move the worse ones down, and put it in its place.
                following = min(following + 1, width)
                m = following - 1
                while m > 0 and total < value[m - 1]:
                    copy(found, m - 1, found, m)
                    value[m] = value[m - 1]
                    m -= 1
                copy(found, trial, found, m)
                value[m] = total
        for m in range(following):
            copy(found, m, s, m)
        count = following
    return best


@compiled
def to_try(p: Problem, s: States, k: int, count: int) -> int:
    """Write the jobs to try of `count` offered ones. Returns how many they are."""
    if count <= EVERY:
        for c in range(count):
            p.tried[c] = p.offered[c]
        return count
    n = 0
    for order in range(p.key.shape[0]):
        i, new = first(p, s, k, order, count), True
        for c in range(n):
            new = new and p.tried[c] != i
        if new:
            p.tried[n] = i
            n += 1
    return n


@compiled
def known(s: States, k: int, count: int) -> bool:
    """Whether state k is one of the first `count`."""
    a = s.head[k]
    for m in range(count):
        b = s.head[m]
        same = a.now == b.now and a.cost == b.cost and a.waiting == b.waiting and a.kept == b.kept and a.reserved == b.reserved
        n = 0
        while same and n < a.waiting:
            same = s.waiting[k, n] == s.waiting[m, n]
            n += 1
        if same:
            return True
    return False


@compiled
def copy(s: States, k: int, to: States, m: int) -> None:
    to.head[m] = s.head[k]
    for n in range(s.head[k].waiting):
        to.waiting[m, n] = s.waiting[k, n]
    for n in range(s.head[k].running):
        to.end[m, n], to.size[m, n] = s.end[k, n], s.size[k, n]


@compiled
def play(p: Problem, s: States, k: int, order: int, limit: float) -> float:
    """The sum of bounded slowdowns at the end, if an order decides from now on; infinite once it is known to reach the limit."""
    count = settle(p, s, k)
    while count > 0:
        take(p, s, k, first(p, s, k, order, count))
        if s.head[k].cost >= limit:
            return math.inf
        count = settle(p, s, k)
    return s.head[k].cost


@compiled
def first(p: Problem, s: States, k: int, order: int, count: int) -> int:
    """The first of the offered jobs by an order; of equal ones the oldest."""
    best, least = NONE, 0.0
    for n in range(count):
        i = p.offered[n]
        value = p.key[order, i]
        if p.growing[order]:
            value *= (p.submitted[i] - s.head[k].now) / p.run[i]
        if best == NONE or value < least:
            best, least = i, value
    return best


@compiled
def settle(p: Problem, s: States, k: int) -> int:
    """Go on to the next choice among several jobs. Returns how many are offered; 0 at the end."""
    h = s.head[k]
    while True:
        if h.kept != NONE and not p.backfill and p.needs[h.kept] <= h.free:
            start(p, s, k, h.kept)
            h.kept = NONE
        count = fitting = 0
        if p.backfill or h.kept == NONE:
            for n in range(h.waiting):
                i = s.waiting[k, n]
                fits = p.needs[i] <= h.free
                fitting += fits
                if h.kept == NONE or (fits and (p.needs[i] <= h.beside or h.now + p.run[i] <= h.reserved)):
                    p.offered[count] = i
                    count += 1
        if p.backfill and fitting == 0:
            count = 0
        if count > 1:
            return count
        if count == 1:
            take(p, s, k, p.offered[0])
        elif h.waiting == 0 and h.arrived == len(p.run):
            return 0
        else:
            go_on(p, s, k)


@compiled
def go_on(p: Problem, s: States, k: int) -> None:
    """To the next submission or completion, and all others of that second. EASY forgets its reservation."""
    h, ended = s.head[k], 0
    at = p.submitted[h.arrived] if h.arrived < len(p.run) else math.inf
    if h.running > 0:
        at = min(at, s.end[k, 0])
    h.now = at
    while h.arrived < len(p.run) and p.submitted[h.arrived] <= at:
        s.waiting[k, h.waiting] = h.arrived
        h.waiting += 1
        h.arrived += 1
    while ended < h.running and s.end[k, ended] <= at:
        h.free += s.size[k, ended]
        ended += 1
    h.running -= ended
    if ended > 0:
        for n in range(h.running):
            s.end[k, n], s.size[k, n] = s.end[k, n + ended], s.size[k, n + ended]
    if p.backfill:
        h.kept = NONE


@compiled
def take(p: Problem, s: States, k: int, i: int) -> None:
    """Start job i, or keep it until it fits; with EASY, reserve room for it."""
    h = s.head[k]
    if p.needs[i] <= h.free:
        if h.kept != NONE and h.now + p.run[i] > h.reserved:
            h.beside -= p.needs[i]
        start(p, s, k, i)
        return
    h.kept = i
    if p.backfill:
        n, free = 0, h.free
        while n < h.running and (free < p.needs[i] or s.end[k, n] == h.reserved):
            h.reserved = s.end[k, n]
            free += s.size[k, n]
            n += 1
        h.beside = free - p.needs[i]


@compiled
def start(p: Problem, s: States, k: int, i: int) -> None:
    h, n = s.head[k], 0
    h.free -= p.needs[i]
    h.cost += max(1.0, (h.now - p.submitted[i] + p.run[i]) / max(p.run[i], BOUND))
    while s.waiting[k, n] != i:
        n += 1
    h.waiting -= 1
    while n < h.waiting:
        s.waiting[k, n] = s.waiting[k, n + 1]
        n += 1
    n, end = h.running, h.now + p.run[i]
    while n > 0 and end < s.end[k, n - 1]:
        s.end[k, n], s.size[k, n] = s.end[k, n - 1], s.size[k, n - 1]
        n -= 1
    s.end[k, n], s.size[k, n] = end, p.needs[i]
    h.running += 1
