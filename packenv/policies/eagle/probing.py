"""Actions of servers and schedulers in the probing systems (PAPERS §4).

Messages are handled in the order of sending, in the slot in which they are due. In every slot:

1. Servers with completions serve their queues, in index order.
2. Due messages are handled.
3. Jobs that became eligible are scheduled.
4. Messages that became due by that are handled.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from packenv.cluster import (
    NONE,
    Cluster,
    freed_count,
    freed_server,
    jobs_in,
    new_count,
    new_task,
    now,
    place,
    row_of,
    server_count,
    started_in,
    wake_at,
)
from packenv.cluster.records import connect
from packenv.cluster.whole_jobs.book import free_of
from packenv.compiled.decorators import compiled
from packenv.policies.eagle.least_waiting import least_loaded, note_completed, note_started, put_in, remove_server
from packenv.policies.eagle.probing_state import Probing, below, forget, join, leave, new_entry, send
from packenv.policy import completes, schedules


@compiled
def shortest(p: Probing, server: int) -> int:
    """Return the entry of the shortest job that may go first.

    Algorithm 1 of Eagle: the least remaining work among entries that may overtake all entries in front of them. NONE if the queue
    is empty. Remaining work is unassigned tasks times their estimate. An entry may overtake another if its estimate is within the
    other's remaining patience. Drops probes whose job has no unassigned task left. Without `reorders` no entry overtakes a bound
    task, so the search ends at the first one.
    """
    k, chosen, least, patience = p.queue[server].head, NONE, 2**62, 2**62
    while k != NONE:
        entry = p.entry[k]
        job = p.row[entry.job]
        following = entry.next
        # A probe of a job whose tasks have all been assigned is dropped.
        if entry.row == NONE and job.unassigned == 0:
            leave(p, server, k)
            forget(p, k)
        elif entry.row != NONE and p.reorders == 0:
            if chosen == NONE:
                chosen = k
            break
        else:
            # Any other entry is a candidate if all in front of it have the patience for its estimate.
            if job.unassigned * job.estimate < least and job.estimate <= patience:
                chosen, least = k, job.unassigned * job.estimate
            patience = min(patience, job.patience - entry.passed)
        k = following
    if chosen != NONE:
        # Charge the chosen entry's estimate to all entries it overtakes.
        k = p.queue[server].head
        while k != chosen:
            p.entry[k].passed += p.row[p.entry[chosen].job].estimate
            k = p.entry[k].next
    return chosen


# Kinds of messages, and the kind that follows each: a round of probes leads to its rejections, and these to the next round.
LONG, FIRST_ROUND, REJECTED, SECOND_ROUND, REJECTED_AGAIN, THIRD_ROUND, REQUEST, REPLY, STOLEN = range(9)
FOLLOWING = (NONE, REJECTED, SECOND_ROUND, REJECTED_AGAIN, THIRD_ROUND, NONE, NONE, NONE, NONE)


class ServerQueues(NamedTuple):
    """Parameters of the compiled rule of all five systems: none."""


@completes(ServerQueues)
def complete(policy: ServerQueues, c: Cluster, p: Probing, i: int) -> None:
    """Count a centrally placed task's completion. Servers react in `schedule`."""
    row = row_of(c, i)
    if row < 0 or p.row[row].central == 0:
        return
    task = p.row[row]
    queue = p.queue[task.server]
    queue.running -= 1
    queue.central -= 1
    queue.placed -= 1
    if queue.placed == 0:
        p.loaded[task.server >> 6] ^= 1 << (task.server & 63)
    note_completed(p.waiting, task.server, started_in(c, i) + task.estimate)


@schedules(ServerQueues)
def schedule(policy: ServerQueues, c: Cluster, p: Probing) -> None:
    for n in range(freed_count(c)):
        serve(c, p, freed_server(c, n))
        steal(c, p, freed_server(c, n))
    deliver(c, p)
    submit(c, p)
    deliver(c, p)
    if p.received < p.sent:
        wake_at(c, next_message(p).due)


@compiled
def next_message(p: Probing) -> Any:
    return p.message[p.received & (len(p.message) - 1)]


@compiled
def submit(c: Cluster, p: Probing) -> None:
    """Schedule the newly eligible tasks, job by job in row order."""
    # link the new tasks of each job
    for n in range(new_count(c)):
        i = new_task(c, n)
        row = row_of(c, i)
        task, opened = p.row[row], p.open[p.row[row].job]
        task.place, task.head, task.snapshot = i, row, 0
        if opened.slot == now(c):
            p.row[opened.last].next = row
        else:
            opened.slot, opened.first = now(c), row
        opened.last = row
        p.row[opened.first].tasks += 1
    # then submit each job: to the central scheduler, or with probes
    for n in range(new_count(c)):
        row = row_of(c, new_task(c, n))
        job = p.row[row]
        if job.tasks > 0:
            job.unassigned = job.tasks
            if job.central:
                place_centrally(c, p, row)
            else:
                send(p, now(c), FIRST_ROUND, NONE, row)


@compiled
def place_centrally(c: Cluster, p: Probing, job: int) -> None:
    """Send each task of a job to the least loaded server (LWL)."""
    row = job
    while row != NONE:
        task = p.row[row]
        task.server = least_loaded(p.waiting, now(c))
        put_in(p.waiting, task.server, remove_server(p.waiting, task.server) + task.estimate)
        p.queue[task.server].placed += 1
        p.loaded[task.server >> 6] |= 1 << (task.server & 63)
        row = task.next
    if p.sharing:
        p.snapshots += 1
        for word in range(len(p.loaded)):
            p.snapshot[p.snapshots, word] = p.loaded[word]
        p.row[job].snapshot = p.snapshots
    send(p, now(c), LONG, NONE, job)


@compiled
def deliver(c: Cluster, p: Probing) -> None:
    """Handle all due messages, in the order of sending."""
    while p.received < p.sent and next_message(p).due <= now(c):
        message = next_message(p)
        kind, server, job, k, row = message.kind, message.server, message.job, message.entry, message.row
        p.received += 1
        if kind == REQUEST:
            assign(c, p, server, job, k)
        elif kind == REPLY:
            receive_reply(c, p, server, job, k, row)
        elif kind == FIRST_ROUND:
            probe(c, p, job, max(p.ratio * p.row[job].tasks, p.minimum), kind)
        elif kind in (SECOND_ROUND, THIRD_ROUND):
            probe(c, p, job, p.row[job].rejected, kind)
        elif kind in (REJECTED, REJECTED_AGAIN):
            send(p, now(c), FOLLOWING[kind], NONE, job)
        elif kind == LONG:
            enqueue_central(c, p, job)
        else:
            receive_stolen(c, p, server)


@compiled
def enqueue_central(c: Cluster, p: Probing, job: int) -> None:
    """Queue centrally placed tasks, with the central scheduler's snapshot."""
    row = job
    while row != NONE:
        server = p.row[row].server
        p.queue[server].central += 1
        p.queue[server].snapshot = p.row[job].snapshot
        join(p, server, new_entry(p, job, row))
        serve(c, p, server)
        row = p.row[row].next


@compiled
def probe(c: Cluster, p: Probing, job: int, count: int, kind: int) -> None:
    """Send `count` probes of a job to random servers.

    `draw_server` draws them. With `sharing`, servers with centrally placed tasks reject them. The second round tries servers
    without such tasks in the newest snapshot, the third the servers reserved for short jobs.
    """
    record, newest = p.row[job], p.row[job].snapshot
    record.rejected = 0
    for _ in range(count):
        server = draw_server(c, p, kind, newest)
        queue = p.queue[server]
        if p.sharing and queue.central > 0:
            record.rejected += 1
            record.snapshot = max(record.snapshot, queue.snapshot)
        else:
            join(p, server, new_entry(p, job, NONE))
            serve(c, p, server)
    if record.rejected > 0:
        send(p, now(c), FOLLOWING[kind], NONE, job)


@compiled
def draw_server(c: Cluster, p: Probing, kind: int, snapshot: int) -> int:
    if kind == FIRST_ROUND:
        return below(p, server_count(c))
    if kind == THIRD_ROUND:
        return p.general + below(p, server_count(c) - p.general)
    while True:
        server = below(p, server_count(c))
        if (p.snapshot[snapshot, server >> 6] >> (server & 63)) & 1 == 0:
            return server


@compiled
def assign(c: Cluster, p: Probing, server: int, job: int, k: int) -> None:
    """Assign the job's next task to a server, or reply NONE."""
    record = p.row[job]
    row = record.head
    if row != NONE:
        record.head = p.row[row].next
    send(p, now(c), REPLY, server, job, k, row)


@compiled
def receive_reply(c: Cluster, p: Probing, server: int, job: int, k: int, row: int) -> None:
    """Start the assigned task, or drop the probe if there is none."""
    p.queue[server].reserved -= 1
    p.entry[k].requests -= 1
    if row != NONE:
        p.row[job].unassigned -= 1
        begin(c, p, row, server)
    elif p.entry[k].queued:
        leave(p, server, k)
    forget(p, k)
    serve(c, p, server)
    if row == NONE:
        steal(c, p, server)


@compiled
def has_free_slot(c: Cluster, p: Probing, server: int) -> bool:
    """Return whether a slot is free and holds the largest task."""
    reserved = p.queue[server].reserved
    if jobs_in(c, server) + reserved >= p.queue[server].slots:
        return False
    for r in range(len(p.largest)):
        if (reserved + 1) * p.largest[r] > free_of(c, server, r):
            return False
    return True


@compiled
def serve(c: Cluster, p: Probing, server: int) -> None:
    """Start bound tasks, and request tasks for probes, while slots are free."""
    queue = p.queue[server]
    while queue.head != NONE and has_free_slot(c, p, server):
        k = shortest(p, server) if p.srpt else queue.head
        if k == NONE:
            return
        entry = p.entry[k]
        if entry.row != NONE:
            leave(p, server, k)
            begin(c, p, entry.row, server)
            p.row[entry.job].unassigned -= 1
            forget(p, k)
        else:
            queue.reserved += 1
            entry.requests += 1
            if p.sticky == 0:
                leave(p, server, k)
            send(p, now(c), REQUEST, server, entry.job, k)


@compiled
def begin(c: Cluster, p: Probing, row: int, server: int) -> None:
    """Start a task. The central scheduler learns of its own immediately."""
    if p.row[row].central:
        note_started(p.waiting, server, p.row[row].estimate, now(c))
        p.queue[server].running += 1
    place(c, p.row[row].place, server)


@compiled
def steal(c: Cluster, p: Probing, thief: int) -> None:
    """Let an idle server steal probes from up to `attempts` random servers."""
    queue = p.queue[thief]
    if p.attempts == 0 or queue.head != NONE or queue.stolen != NONE or not has_free_slot(c, p, thief):
        return
    for _ in range(p.attempts):
        if seize(p, below(p, p.general), thief):
            send(p, now(c), STOLEN, thief, NONE)
            return


@compiled
def seize(p: Probing, victim: int, thief: int) -> bool:
    """Take the first group of consecutive probes behind long tasks.

    The whole group is taken. Returns whether there is one. A long task in service counts as in front of the queue (Hawk, ATC
    2015).
    """
    queue = p.queue[victim]
    if queue.central == 0:
        return False
    k = queue.head
    while queue.running == 0 and p.entry[k].row == NONE:  # probes in front of the first long task
        k = p.entry[k].next
    while k != NONE and p.entry[k].row != NONE:
        k = p.entry[k].next
    if k == NONE:
        return False
    first, last = k, k
    while k != NONE and p.entry[k].row == NONE:
        p.entry[k].queued = 0
        last, k = k, p.entry[k].next
    connect(p.entry, queue, p.entry[first].prev, k)
    p.entry[last].next = NONE
    p.queue[thief].stolen = first
    return True


@compiled
def receive_stolen(c: Cluster, p: Probing, thief: int) -> None:
    k = p.queue[thief].stolen
    p.queue[thief].stolen = NONE
    while k != NONE:
        following = p.entry[k].next
        join(p, thief, k)
        k = following
    serve(c, p, thief)
