"""Orders of a queue of parallel jobs (PAPERS §8).

A rule is one function. It sees what a scheduler knows of n jobs, as arrays (n,), never how long they run. It returns a number
for each job. The smallest goes first, and among equal numbers the job that waits longer. With `by_wait` the number is the
weight of w / e, the wait so far over the estimate, and the largest product goes first. Such orders change while jobs wait.
A rule of yours is one line:

    ORDERS["smallest-log"] = lambda job: job.estimate * np.log2(job.processors + 1)

Sources. F1 to F4: Carastan-Santos and de Camargo, Obtaining dynamic scheduling policies with simulation and machine learning,
SC 2017. WFP3, UNICEF: Tang, Lan, Desai, Buettner, Fault-aware, utility-based job scheduling on Blue Gene/P systems, Cluster
2009. Expansion factor: as in Maui and Slurm. The others are folklore: see Feitelson, Rudolph, Schwiegelshohn, Parallel job
scheduling: a status report, JSSPP 2004.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from packenv.cluster import (
    NONE,
    Cluster,
    behind,
    eligible_since,
    first_server_for,
    follows,
    new_count,
    new_task,
    now,
    oldest,
    row_of,
)
from packenv.compiled.decorators import apart, compiled
from packenv.compiled.frame import Frame
from packenv.errors import InputError, nearest
from packenv.jobs import gang_spans
from packenv.policy import Setting
from packenv.units import UNIT

Floats = NDArray[np.float64]
LOG2_OF_ONE = 1e-15  # what log₂ n counts as for serial jobs, in UNICEF


class QueuedJobs(NamedTuple):
    """The facts about n jobs that a rule sees."""

    submitted: Floats  # (n,) s, seconds by the clock of the log
    estimate: Floats  # (n,) e, seconds: column `estimate`; the true ones only of a table without it
    size: Floats  # (n,) n, processors; or shares of a machine, where no one has said how many it has
    counted: bool  # whether these are processors
    slot_seconds: float

    @property
    def processors(self) -> Floats:
        """Return processors of each job, (n,). InputError if only shares are known."""
        if not self.counted:
            advice = "read the log itself, or give `processors` in Python"
            raise InputError(f"this order counts processors, which a table in shares has not: {advice}")
        return self.size


Rule = Callable[[QueuedJobs], Floats]
growing: set[Rule] = set()
"""The rules whose numbers are weights of w / e."""


def by_wait(rule: Rule) -> Rule:
    """Mark a rule: its numbers weigh w / e, the largest product first."""
    growing.add(rule)
    return rule


def fcfs(job: QueuedJobs) -> Floats:
    """First come, first served: s."""
    return job.submitted


def sjf(job: QueuedJobs) -> Floats:
    """Shortest job first: e."""
    return job.estimate


def ljf(job: QueuedJobs) -> Floats:
    """Longest job first: −e."""
    return -job.estimate


def saf(job: QueuedJobs) -> Floats:
    """Smallest area first: e n."""
    return job.estimate * job.size


def smallest(job: QueuedJobs) -> Floats:
    """Fewest processors first: n."""
    return job.size


def log10(amount: Floats) -> Floats:
    """Return log₁₀ of at least 0.1, as in F1 to F4."""
    return np.asarray(np.log10(np.where(amount > 0, amount, 0.1)))


def f1(job: QueuedJobs) -> Floats:
    """n log₁₀ e + 870 log₁₀ s."""
    return log10(job.estimate) * job.processors + 870 * log10(job.submitted)


def f2(job: QueuedJobs) -> Floats:
    """n √e + 25,600 log₁₀ s."""
    return np.sqrt(job.estimate) * job.processors + 25_600 * log10(job.submitted)


def f3(job: QueuedJobs) -> Floats:
    """e n + 6,860,000 log₁₀ s."""
    return job.estimate * job.processors + 6_860_000 * log10(job.submitted)


def f4(job: QueuedJobs) -> Floats:
    """e √n + 530,000 log₁₀ s."""
    return job.estimate * np.sqrt(job.processors) + 530_000 * log10(job.submitted)


@by_wait
def wfp3(job: QueuedJobs) -> Floats:
    """Order by −n (w / e)³: the largest ∛n w / e first."""
    return np.cbrt(job.size)


@by_wait
def unicef(job: QueuedJobs) -> Floats:
    """Order by −w / (e log₂ n); waiting serial jobs go first."""
    return 1 / np.where(job.processors > 1, np.log2(np.maximum(job.processors, 1)), LOG2_OF_ONE)


@by_wait
def expansion(job: QueuedJobs) -> Floats:
    """Largest expansion factor first: −(w + e) / e."""
    return np.ones(len(job.size))


ORDERS: dict[str, Rule] = {
    rule.__name__: rule for rule in (fcfs, sjf, ljf, saf, smallest, f1, f2, f3, f4, wfp3, unicef, expansion)
}
"""The rules by name."""

FCFS = "fcfs"
WITHOUT_DURATIONS = (FCFS, "smallest")


def order_named(name: str, policy: str) -> Rule:
    """Return the rule with this name, or raise InputError."""
    if name not in ORDERS:
        raise InputError(f"{policy}: unknown order {name!r}{nearest(name, list(ORDERS))}")
    return ORDERS[name]


class WaitingLine(Frame):
    """The waiting tasks in the order of a rule, as a heap.

    It is filled when a policy needs it. Empty arrays stand for the order of the queue. With static rules the heap may stay
    from slot to slot, and new tasks are added.
    """

    key: Floats  # (n,) the rule's number of each row of the table
    estimate: Floats  # (n,) slots, where the number is a weight of w / e; otherwise (0,)
    score: Floats  # (N,) of the tasks in the heap
    turn: NDArray[np.int64]  # (N,) and, of equal scores, which waits longer
    task: NDArray[np.int32]  # (N,)
    count: NDArray[np.int64]  # (2,) tasks in the heap; tasks that ever entered it since it was last filled
    blocked: NDArray[np.int64]  # (2,) the task that blocks the line until it fits, NONE; the slot in which the heap was filled


def line_of(setting: Setting, order: str, policy: str) -> WaitingLine:
    """Return the state before slot 0.

    Raises InputError for an unknown order, or one that needs unknown facts of the workload.
    """
    rule = order_named(order, policy)
    key = estimate = np.zeros(0)
    if order != FCFS:
        jobs = queued_jobs(setting)
        key = np.asarray(rule(jobs), np.float64)
        if key.shape != jobs.size.shape or np.isnan(key).any():
            raise InputError(f"{policy}: order {order!r} must give a number for each of the {len(jobs.size)} jobs")
        estimate = jobs.estimate / jobs.slot_seconds if rule in growing else estimate
    return WaitingLine(key=key, estimate=estimate, count=np.zeros(2, np.int64), blocked=np.full(2, NONE, np.int64), **_heap(0))


def queued_jobs(setting: Setting) -> QueuedJobs:
    """Return the facts about the workload's table that a rule sees."""
    workload, jobs = setting.workload, setting.table
    slot, processors = workload.slot_seconds or 1.0, workload.processors or 1.0
    amounts = bool((workload.servers.capacity[:, 0] > 1).any())  # of processors, not shares of a machine
    durations = jobs.service if jobs.estimate is None else jobs.estimate
    size = jobs.amounts[:, 0] * processors
    whole = np.rint(size)  # units are rounded down, so that many a number of processors is a little too small
    size = np.where(np.abs(size - whole) <= processors / UNIT, whole, size)
    if jobs.gang is not None:  # a gang is one job: all its processors, for as long as its longest task
        first, tasks = np.unique(gang_spans(jobs.gang), axis=0).T
        size = np.repeat(np.add.reduceat(size, first), tasks)
        durations = np.repeat(np.maximum.reduceat(durations, first), tasks)
    return QueuedJobs(
        submitted=np.asarray(workload.began + jobs.arrival * slot, np.float64),
        estimate=np.asarray(durations * slot, np.float64),
        size=size,
        counted=amounts or workload.processors is not None,
        slot_seconds=slot,
    )


def _heap(places: int) -> dict[str, NDArray[np.float64] | NDArray[np.int64] | NDArray[np.int32]]:
    return {"score": np.zeros(places), "turn": np.zeros(places, np.int64), "task": np.zeros(places, np.int32)}


def with_room(line: WaitingLine, places: int) -> WaitingLine:
    """Return the line with room for a pool of this size."""
    arrays = _heap(places if len(line.key) else 0)
    for name, array in arrays.items():
        old = getattr(line, name)
        array[: len(old)] = old
    return line.replace(**arrays)


@compiled
def first_in_line(c: Cluster, line: WaitingLine, fitting: bool) -> int:
    """Return the order's first waiting task, or NONE."""
    return oldest(c) if line.key.shape[0] == 0 else line_up(c, line, fitting)


@compiled
def next_in_line(c: Cluster, line: WaitingLine, i: int) -> int:
    """Return the task behind i, last taken and not placed, and its gang, or NONE."""
    return behind(c, i) if line.key.shape[0] == 0 else pop(line)


@apart
def line_up(c: Cluster, line: WaitingLine, fitting: bool) -> int:
    """Return the order's first (`fitting`) task or NONE. Heap the others."""
    n, first, least, i = 0, NONE, 0.0, oldest(c)
    while i != NONE:
        value = score(c, line, i)
        if first == NONE or value < least:
            first, least = i, value
        if not fitting or first_server_for(c, i) != NONE:  # of a gang the first task
            line.score[n], line.turn[n], line.task[n] = value, n, i
            n += 1
        i = behind(c, i)
    line.count[0] = line.count[1] = n
    line.blocked[1] = now(c)
    make_heap(line)
    if n > 0 and line.task[0] == first:
        pop(line)
    return first


@apart
def keep_fitting(c: Cluster, line: WaitingLine) -> None:
    """Remove tasks that fit nowhere for the rest of this slot."""
    n = 0
    for k in range(line.count[0]):
        if first_server_for(c, line.task[k]) != NONE:
            line.score[n], line.turn[n], line.task[n] = line.score[k], line.turn[k], line.task[k]
            n += 1
    line.count[0] = n
    make_heap(line)


@compiled
def score(c: Cluster, line: WaitingLine, i: int) -> float:
    """Return task i's number now: the smallest goes first."""
    row = row_of(c, i)
    if line.estimate.shape[0] == 0:
        return line.key[row]
    wait = now(c) - eligible_since(c, i)
    return -line.key[row] * (wait / line.estimate[row]) if wait > 0 else 0.0


@compiled
def make_heap(line: WaitingLine) -> None:
    for n in range(line.count[0] // 2 - 1, -1, -1):
        move_down(line, n, line.score[n], line.turn[n], line.task[n])


@apart
def add_new(c: Cluster, line: WaitingLine) -> None:
    for k in range(new_count(c)):
        i = new_task(c, k)
        if follows(c, i):
            continue
        n = line.count[0]
        value, turn = score(c, line, i), line.count[1]
        while n > 0 and value < line.score[(n - 1) // 2]:  # of equal scores the new task has the larger turn
            above = (n - 1) // 2
            line.score[n], line.turn[n], line.task[n] = line.score[above], line.turn[above], line.task[above]
            n = above
        line.score[n], line.turn[n], line.task[n] = value, turn, i
        line.count[0] += 1
        line.count[1] += 1


@compiled
def pop(line: WaitingLine) -> int:
    """Take the first task out of the heap, or return NONE."""
    if line.count[0] == 0:
        return NONE
    first = line.task[0]
    line.count[0] -= 1
    last = line.count[0]
    move_down(line, 0, line.score[last], line.turn[last], line.task[last])
    return first


@apart
def move_down(line: WaitingLine, n: int, value: float, turn: int, i: int) -> None:
    """Move the task at place n down to its place in the heap."""
    count, below = line.count[0], 2 * n + 1
    while below < count:
        if below + 1 < count and before(line, below + 1, line.score[below], line.turn[below]):
            below += 1
        if not before(line, below, value, turn):
            break
        line.score[n], line.turn[n], line.task[n] = line.score[below], line.turn[below], line.task[below]
        n, below = below, 2 * below + 1
    line.score[n], line.turn[n], line.task[n] = value, turn, i


@compiled
def before(line: WaitingLine, n: int, value: float, turn: int) -> bool:
    """Return whether place n goes before this score and turn."""
    return line.score[n] < value or (line.score[n] == value and line.turn[n] < turn)
