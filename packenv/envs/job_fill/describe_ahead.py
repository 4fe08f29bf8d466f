"""Features of JobFill about what is expected of servers: when they have room for a task, as durations are believed."""

from __future__ import annotations

import math

from packenv.cluster.queue.waiting import now
from packenv.cluster.state import NEVER, NONE
from packenv.cluster.whole_jobs.releases import first_step, look_ahead, slot_with
from packenv.cluster.whole_jobs.remaining_work import work_left
from packenv.compiled.decorators import apart
from packenv.envs.core.state import Batch
from packenv.envs.job_fill import features as feature


@apart
def describe_blocked(b: Batch, server: int, duration: float) -> None:
    """When the blocked group has room on the server, and how much later with a start of another: slots over `duration`."""
    e, jobs, book, blocked = b.c.e, b.jobs, b.jobs.book, b.blocked[b.c.e]
    b.context[e, feature.LOG_BLOCKED] = 0.0
    if server == NONE or blocked == NONE:
        return
    look_ahead(b.c, jobs.ahead, jobs.work, book, server)
    first = first_step(jobs.ahead, book, blocked)
    if first == NONE:
        return
    slot, left = jobs.ahead.slot[first], work_left(b.c, jobs.work, book.job[blocked])
    b.context[e, feature.LOG_BLOCKED] = math.log1p((slot - now(b.c)) / duration)
    for n in range(b.offered.shape[1]):
        g = b.offered[e, n]
        if g == NONE:
            break
        if b.rank[e, n] > left or (b.rank[e, n] == left and book.ends[g].head > book.ends[blocked].head):
            later = slot_with(jobs.ahead, book, blocked, first, g, now(b.c) + book.duration[g])
            b.actions[e, n, feature.LOG_DELAY] = math.log1p((later - slot) / duration)


@apart
def log_slots_to_home(b: Batch, g: int, row: int) -> float:
    """log(1 + x) of the expected slots until a server that has the data of a row of group g has room, over those of the row."""
    c, jobs, places, soonest = b.c, b.jobs, b.c.source.locality, NEVER
    for n in range(places.home_of[row], places.home_of[row + 1]):
        look_ahead(c, jobs.ahead, jobs.work, jobs.book, places.home[n])
        first = first_step(jobs.ahead, jobs.book, g)
        if first != NONE:
            soonest = min(soonest, jobs.ahead.slot[first])
    return math.log1p((soonest - now(c)) / jobs.book.duration[g]) if soonest < NEVER else feature.NO_ROOM
