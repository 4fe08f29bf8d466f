"""State of Sparrow, Hawk, Eagle, LWL and Yaq (PAPERS §4).

Every server has a queue. Servers and schedulers exchange messages. The tasks of one job that become eligible in the same slot
are scheduled together, like a job. In the records below `job` is the first row of such a set, and the fields "of a job" are
stored in that row.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from packenv.cluster import NONE
from packenv.cluster.records import append, unlink
from packenv.compiled.decorators import compiled
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
        ("estimate", "i8"),  # slots, mean estimated duration of the tasks of its job
        ("patience", "i8"),  # largest Σ estimates of tasks that may overtake an entry of its job
        ("job", "i4"),  # number of its job in the table, from 0
        ("central", "i4"),  # 1 if the central scheduler chooses its server
        ("place", "i4"),  # index in the pool of tasks
        ("server", "i4"),  # server that the central scheduler chose
        ("next", "i4"),  # next row of the same job; NONE
        # of a job, valid in its first row only
        ("tasks", "i4"),  # number of tasks; 0 in other rows
        ("head", "i4"),  # its first unassigned row; NONE
        ("unassigned", "i4"),  # unassigned tasks, as far as servers have heard
        ("rejected", "i4"),  # rejected probes that must be sent to another server
        ("snapshot", "i4"),  # newest snapshot returned by rejections; of a long job: the one taken after its placement
    ],
    align=True,
)

# The set of rows of a job that became eligible in `slot`.
open_type = np.dtype([("slot", "i8"), ("first", "i4"), ("last", "i4")], align=True)

# A probe, or a task bound to a server, from its arrival in a queue until it is dropped.
entry_type = np.dtype(
    [
        ("passed", "i8"),  # Σ estimates of the tasks that have overtaken it
        ("job", "i4"),  # first row of its job
        ("row", "i4"),  # row of a bound task; NONE: a probe
        ("next", "i4"),  # next entry of the queue, of a stolen list, or of the list of unused entries; NONE
        ("prev", "i4"),  # previous entry of the queue; NONE
        ("requests", "i4"),  # requests for a task that have no reply yet
        ("queued", "i4"),  # 1 while it is in a queue
    ],
    align=True,
)

queue_type = np.dtype(
    [
        ("head", "i4"),  # first entry; NONE
        ("tail", "i4"),  # last entry; NONE
        ("slots", "i4"),  # number of tasks that the server can run at once
        ("reserved", "i4"),  # slots kept free for tasks that were requested
        ("central", "i4"),  # centrally placed tasks on this server, waiting or in service
        ("running", "i4"),  # centrally placed tasks in service
        ("placed", "i4"),  # as `central`, plus those still on their way: what the central scheduler knows
        ("snapshot", "i4"),  # newest snapshot that has reached this server
        ("stolen", "i4"),  # first of the stolen probes that are on their way to this server; NONE
    ],
    align=True,
)

message_type = np.dtype(
    [("due", "i8"), ("kind", "i4"), ("server", "i4"), ("job", "i4"), ("entry", "i4"), ("row", "i4")], align=True
)


@dataclass(frozen=True)
class SystemRules:
    """The differences of the five systems. Times are in slots."""

    delay: int  # slots that every message takes
    general: int  # servers 0 .. general - 1 take centrally placed tasks
    ratio: int = 0  # probes per task
    minimum: int = 0  # least number of probes per job
    sharing: bool = False  # servers with long tasks reject probes and return a snapshot of the servers with long tasks
    sticky: bool = False  # a probe stays in its queue until its job has no unassigned task
    srpt: bool = False  # shortest remaining job first, within the patience of the entries that it overtakes
    reorders: bool = False  # centrally placed tasks overtake and are overtaken, too
    attempts: int = 0  # servers that an idle server tries to steal from; 0: no stealing


class Probing(Frame):
    """L servers, n rows of the table, D resources.

    The first fields are of `SystemRules`.
    """

    delay: int
    general: int
    ratio: int
    minimum: int
    sharing: int
    sticky: int
    srpt: int
    reorders: int
    attempts: int
    largest: Ints  # (D,) units: largest demand of any task for each resource
    row: Records  # (n,) row_type
    open: Records  # (jobs,) open_type: rows of a job that became eligible in its last slot of submission
    queue: Records  # (L,) queue_type
    entry: Records  # (entries,) entry_type
    free: Ints  # (1,) first entry of the list of returned entries; NONE
    fresh: int  # entries from this index on have never been used
    message: Records  # (power of 2,) message_type, a ring buffer
    sent: int  # messages sent so far
    received: int  # messages handled so far
    waiting: LeastWaiting  # estimated waiting times of the general servers
    loaded: Ints  # (words,) one bit per server: whether it has centrally placed tasks
    snapshot: Ints  # (snapshots + 1, words) `loaded` after each central placement; row 0 has no bit set
    snapshots: int  # snapshots taken so far
    key: NDArray[np.uint64]  # (1,) key of the policy's own random stream
    draws: int  # random numbers drawn so far


def probing(
    jobs: Jobs,
    mean: NDArray[np.float64],
    central: NDArray[np.bool_],
    patience: float,
    slots: Ints,
    rules: SystemRules,
    seed: int,
) -> Probing:
    """Return the state before slot 0.

    mean      (n,) mean estimated duration of the tasks of each row's job, in slots
    central   (n,) whether the central scheduler places a row
    patience  how many times the estimate of its job may overtake an entry
    slots     (L,) tasks that each server can run together
    """
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
    queue["head"] = queue["tail"] = queue["stolen"] = NONE
    queue["slots"] = slots
    words = -(-servers // 64)
    long = int(central.sum()) if jobs.predecessors is not None else most_submissions(jobs, central)
    in_flight = int(slots.sum()) + servers + most_submissions(jobs)  # at most one message per held slot, thief and submission
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
        free=np.full(1, NONE, np.int64),
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
    """Bound the sets of tasks, of rows `of` (n,), that become eligible together."""
    rows = np.ones(len(jobs), np.bool_) if of is None else of
    if jobs.predecessors is not None or not rows.any():
        return int(rows.sum())
    phase = np.zeros(len(jobs), np.int64) if jobs.phase is None else jobs.phase
    return int(numbered(np.column_stack([job_numbers(jobs), phase, jobs.arrival])[rows]).max()) + 1


@compiled
def below(p: Probing, n: int) -> int:
    """Draw an integer from 0 to n - 1 from the policy's stream."""
    p.draws += 1
    return int(uniform(word_at(p.key[0], p.draws - 1)) * n)


@compiled
def send(p: Probing, now: int, kind: int, server: int, job: int, entry: int = NONE, row: int = NONE) -> None:
    """Append a message, due `delay` slots from now, after all others."""
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


@compiled
def new_entry(p: Probing, job: int, row: int) -> int:
    """Return a new entry, in no queue yet. A probe if `row` is NONE."""
    k = p.free[0]
    if k == NONE:
        k = p.fresh
        p.fresh += 1
    else:
        p.free[0] = p.entry[k].next
    entry = p.entry[k]
    entry.job, entry.row, entry.passed, entry.requests, entry.queued = job, row, 0, 0, 0
    return k


@compiled
def forget(p: Probing, k: int) -> None:
    """Return an entry to the unused ones.

    It must be in no queue, and no request for it may lack a reply.
    """
    if p.entry[k].queued == 0 and p.entry[k].requests == 0:
        p.entry[k].next = p.free[0]
        p.free[0] = k


@compiled
def join(p: Probing, server: int, k: int) -> None:
    """Append an entry to a server's queue."""
    p.entry[k].queued = 1
    append(p.entry, p.queue[server], k)


@compiled
def leave(p: Probing, server: int, k: int) -> None:
    """Remove an entry from its server's queue."""
    p.entry[k].queued = 0
    unlink(p.entry, p.queue[server], k)
