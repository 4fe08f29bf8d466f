"""Asking memory for the next cluster's rows while this one is stepped: a large batch is more than the caches hold."""

from __future__ import annotations

from packenv.cluster.machine import prefetch
from packenv.compile import inlined
from packenv.envs.state import Batch

KEYS, ITEMS, QUEUES = 8, 16, 2  # of a cache line
SERVERS = 8  # as far as a small cluster has them


@inlined
def ask_for(b: Batch, e: int) -> None:
    """What every step of a small cluster touches. A hint: of others it is merely a part."""
    c = b.c
    prefetch(c.head, e)
    prefetch(b.turn, e)
    prefetch(c.wheel_bits[e], 0)
    prefetch(c.source.stream, e if c.source.stream.shape[0] > 1 else 0)
    for n in range(min(SERVERS, c.server.shape[1])):
        prefetch(c.server[e], n)
        prefetch(c.types.in_service[e, n], 0)
    for k in range(0, c.sizes.keys.shape[2], KEYS):
        prefetch(c.sizes.keys[e, 0], k)
    for k in range(0, c.sizes.items.shape[2], ITEMS):
        prefetch(c.sizes.items[e, 0], k)
    for j in range(0, c.types.queue.shape[2], QUEUES):
        prefetch(c.types.queue[e, 0], j)
