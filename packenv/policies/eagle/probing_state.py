"""Servers with queues of their own, and the messages between them and the schedulers: the state of Sparrow, Hawk, Eagle,
and of central schedulers that bind tasks early (PAPERS §4).

What is scheduled as one job is the tasks of one job that become eligible in one slot. It goes by its first row.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from packenv.cluster import NONE
from packenv.compiled.decorators import inner
from packenv.compiled.frame import Frame
from packenv.jobs import Jobs
from packenv.policies.eagle.least_waiting import LeastWaiting, least_waiting
from packenv.results.job_times import job_numbers, numbered
from packenv.workloads.sampling import mix, uniform, word_at

Ints = NDArray[np.int64]
Records = NDArray[np.void]

UNBOUNDED = 2.0**62

row_type = np.dtype(
    [
        ("estimate", "i8"),  # slots that its job's tasks are believed to take, on average
        ("patience", "i8"),  # estimates that may pass its job's probes in a queue, added up
        ("job", "i4"),  # dense number of its job
        ("central", "i4"),  # 1 if the central scheduler places it
        ("place", "i4"),  # in the pool of tasks
        ("server", "i4"),  # where the central scheduler has placed it
        ("next", "i4"),  # the next row of the same job; NONE
        # of a job, in its first row
        ("tasks", "i4"),  # 0 in other rows
        ("head", "i4"),  # its first unassigned row
        ("told", "i4"),  # unassigned tasks, as servers have been told
        ("rejected", "i4"),  # probes that look for another server
        ("snapshot", "i4"),  # the freshest that came with them; of a long job, the one taken of its placement
    ],
    align=True,
)

open_type = np.dtype([("slot", "i8"), ("first", "i4"), ("last", "i4")], align=True)

entry_type = np.dtype(
    [
        ("passed", "i8"),  # estimates of those that have passed it
        ("job", "i4"),  # first row of its job
        ("row", "i4"),  # of a bound task; NONE: a probe
        ("next", "i4"),  # in the queue; in the list of unused entries
        ("prev", "i4"),
        ("asked", "i4"),  # requests under way
        ("queued", "i4"),  # 1 while it is in a queue
    ],
    align=True,
)

queue_type = np.dtype(
    [
        ("first", "i4"),
        ("last", "i4"),
        ("slots", "i4"),  # tasks that the server runs at once
        ("held", "i4"),  # slots kept for tasks that were asked for
        ("central", "i4"),  # centrally placed tasks here, waiting or in service,
        ("running", "i4"),  # and those of them in service
        ("placed", "i4"),  # those under way included: what the central scheduler knows
        ("snapshot", "i4"),  # the last that has come here
        ("loot", "i4"),  # first probe that was stolen for this server and is under way; NONE
    ],
    align=True,
)

message_type = np.dtype(
    [("due", "i8"), ("kind", "i4"), ("server", "i4"), ("job", "i4"), ("entry", "i4"), ("row", "i4")], align=True
)


@dataclass(frozen=True)
class Rules:
    """What distinguishes the systems. Times in slots."""

    delay: int  # of every message
    general: int  # servers 0 .. general - 1 take centrally placed tasks
    ratio: int = 0  # probes for a task,
    minimum: int = 0  # and for a job at the least
    sharing: bool = False  # servers with long tasks reject probes and tell where others are
    sticky: bool = False  # a probe stays until its job has no unassigned task
    srpt: bool = False  # the shortest remaining job first, within the patience of those that it passes
    reorders: bool = False  # centrally placed tasks are passed, too
    attempts: int = 0  # to steal


class Probing(Frame):
    """L servers, n rows of the table."""

    delay: int
    general: int
    ratio: int
    minimum: int
    sharing: int
    sticky: int
    srpt: int
    reorders: int
    attempts: int
    largest: Ints  # (D,) units: the most that a task takes
    row: Records  # (n,) row_type
    open: Records  # (jobs,) open_type: the rows of a job that became eligible in the slot at hand
    queue: Records  # (L,) queue_type
    entry: Records  # entry_type
    unused: Ints  # (1,) the first unused entry that was used before; NONE
    fresh: int  # entries never used begin here
    message: Records  # message_type, a ring
    sent: int
    received: int
    waiting: LeastWaiting  # of the general servers
    loaded: Ints  # (words,) servers with centrally placed tasks, a bit each
    snapshot: Ints  # (snapshots + 1, words) the same after each central placement; number 0 is of none
    snapshots: int
    key: NDArray[np.uint64]  # (1,) of the stream of chance
    draws: int


def probing(
    jobs: Jobs, mean: NDArray[np.float64], central: NDArray[np.bool_], patience: float, slots: Ints, rules: Rules, seed: int
) -> Probing:
    """Before slot 0. `mean` (n,) believed duration of the tasks of a row's job in slots, `slots` (L,) tasks at once."""
    n, servers = len(jobs), len(slots)
    row = np.zeros(n, row_type)
    row["job"], row["central"] = job_numbers(jobs), central
    row["estimate"] = np.maximum(np.rint(mean), 1)
    row["patience"] = np.minimum(np.floor(patience * row["estimate"]), UNBOUNDED)
    row["next"] = NONE
    entries = n + (rules.ratio * n + rules.minimum * most_submissions(jobs) if rules.ratio else 0)
    opened = np.zeros(int(row["job"].max()) + 1, open_type)
    opened["slot"] = -1
    queue = np.zeros(servers, queue_type)
    queue["first"] = queue["last"] = queue["loot"] = NONE
    queue["slots"] = slots
    words = -(-servers // 64)
    long = int(central.sum()) if jobs.predecessors is not None else most_submissions(jobs, central)
    in_flight = int(slots.sum()) + servers + most_submissions(jobs)  # a message for each slot held, theft and job at most
    return Probing(
        delay=rules.delay,
        general=rules.general,
        ratio=rules.ratio,
        minimum=rules.minimum,
        sharing=int(rules.sharing),
        sticky=int(rules.sticky),
        srpt=int(rules.srpt),
        reorders=int(rules.reorders),
        attempts=rules.attempts,
        largest=jobs.demand.max(axis=0),
        row=row,
        open=opened,
        queue=queue,
        entry=np.zeros(entries, entry_type),
        unused=np.full(1, NONE, np.int64),
        fresh=0,
        message=np.zeros(1 << in_flight.bit_length(), message_type),
        sent=0,
        received=0,
        waiting=least_waiting(slots[: rules.general], n) if central.any() else least_waiting(slots[:1], 0),
        loaded=np.zeros(words, np.int64),
        snapshot=np.zeros((long + 1 if rules.sharing else 1, words), np.int64),
        snapshots=0,
        key=np.array([mix(np.uint64(seed) + np.uint64(1))], np.uint64),
        draws=0,
    )


def most_submissions(jobs: Jobs, of: NDArray[np.bool_] | None = None) -> int:
    """How many times the tasks of some job can become eligible together, at most."""
    rows = np.ones(len(jobs), np.bool_) if of is None else of
    if jobs.predecessors is not None or not rows.any():
        return int(rows.sum())
    phase = np.zeros(len(jobs), np.int64) if jobs.phase is None else jobs.phase
    return int(numbered(np.column_stack([job_numbers(jobs), phase, jobs.arrival])[rows]).max()) + 1


@inner
def below(p: Probing, n: int) -> int:
    """A number of 0 .. n - 1, by chance."""
    p.draws += 1
    return int(uniform(word_at(p.key[0], p.draws - 1)) * n)


@inner
def send(p: Probing, now: int, kind: int, server: int, job: int, entry: int = NONE, row: int = NONE) -> None:
    """Send a message. All take equally long, so those sent first are due first."""
    message = p.message[p.sent & (len(p.message) - 1)]
    message.due, message.kind, message.server, message.job, message.entry, message.row = (
        now + p.delay,
        kind,
        server,
        job,
        entry,
        row,
    )
    p.sent += 1


@inner
def new_entry(p: Probing, job: int, row: int) -> int:
    """An unused entry, for a bound row or (NONE) a probe."""
    k = p.unused[0]
    if k == NONE:
        k = p.fresh
        p.fresh += 1
    else:
        p.unused[0] = p.entry[k].next
    entry = p.entry[k]
    entry.job, entry.row, entry.passed, entry.asked, entry.queued = job, row, 0, 0, 0
    return k


@inner
def forget(p: Probing, k: int) -> None:
    """Give an entry back that is in no queue and about which nothing is under way."""
    if p.entry[k].queued == 0 and p.entry[k].asked == 0:
        p.entry[k].next = p.unused[0]
        p.unused[0] = k


@inner
def join(p: Probing, server: int, k: int) -> None:
    """Put an entry at the end of a server's queue."""
    queue, entry = p.queue[server], p.entry[k]
    entry.queued, entry.prev, entry.next = 1, queue.last, NONE
    if queue.last == NONE:
        queue.first = k
    else:
        p.entry[queue.last].next = k
    queue.last = k


@inner
def leave(p: Probing, server: int, k: int) -> None:
    """Take an entry out of its server's queue."""
    queue, entry = p.queue[server], p.entry[k]
    if entry.prev == NONE:
        queue.first = entry.next
    else:
        p.entry[entry.prev].next = entry.next
    if entry.next == NONE:
        queue.last = entry.prev
    else:
        p.entry[entry.next].prev = entry.prev
    entry.queued = 0
