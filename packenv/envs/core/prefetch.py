"""Asking memory for the next clusters' rows while this one is stepped: a large batch is more than the caches hold.

Hints: of large clusters they are merely a part.
"""

from __future__ import annotations

from packenv.cluster.events.few import has_few_events
from packenv.compiled.decorators import fused
from packenv.compiled.intrinsics import prefetch
from packenv.envs.core.state import Batch

WORDS, PAIRS = 8, 4  # of a cache line
KEYS, EVENTS, SERVERS = 24, 12, 8  # as many as there mostly are


@fused
def ask_for(b: Batch, e: int) -> None:
    """What every step of a small cluster touches."""
    c = b.c
    prefetch(c.head, e)
    prefetch(b.turn, e)
    prefetch(c.source.stream, e if c.source.stream.shape[0] > 1 else 0)
    prefetch(c.sizes.block[e], 0)
    prefetch(c.sizes.items[e, 0], 0)
    prefetch(c.due[e], 0)
    prefetch(c.fresh[e], 0)
    for n in range(0, min(SERVERS, c.server.shape[1]), 2):
        prefetch(c.server[e], n)
        if c.types.in_service.shape[1] > 0:
            prefetch(c.types.in_service[e, n], 0)
    for j in range(0, c.types.queue.shape[2], 2):
        prefetch(c.types.queue[e, 0], j)
    prefetch(c.types.bound[e, 0], 0)
    prefetch(c.types.least[e, 0], 0)
    prefetch(c.types.most[e, 0], 0)
    for k in range(0, KEYS, WORDS):
        prefetch(c.sizes.keys[e, 0], k)
    for k in range(0, min(2 * EVENTS, c.events.shape[1]), WORDS):
        prefetch(c.few_events[e], k)
    for k in range(0, min(4 * PAIRS, b.window.shape[1]), PAIRS):
        prefetch(b.window[e], k)


@fused
def ask_further(b: Batch, e: int) -> None:
    """What those name: the next row of the jobs' table, and the tasks that come and go with the next event."""
    c = b.c
    head, task, source = c.head[e], c.task[e], c.source
    s = e if source.stream.shape[0] > 1 else 0
    k = min(head.next_row - source.stream[s].first_row, source.arrival.shape[1] - 1)
    prefetch(source.arrival[s], k)
    prefetch(source.demand[s, k], 0)
    prefetch(source.service[s], k)
    prefetch(task, max(head.free, 0))
    if c.types.link.shape[2] > 0:
        prefetch(c.types.link[e, 0], max(head.free, 0))
    if head.due > 0:
        prefetch(task, c.due[e, 0])
    if has_few_events(c) and head.events > 0:
        prefetch(task, c.few_events[e, 2 * head.events - 1])
