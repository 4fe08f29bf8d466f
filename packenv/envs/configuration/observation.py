"""Configuration: features of taking a configuration, and the active configurations added up."""

from __future__ import annotations

from packenv.cluster.queue.waiting import now, waiting
from packenv.cluster.servers import jobs_in, kind_of, server_count
from packenv.cluster.state import NONE
from packenv.compiled.decorators import apart
from packenv.envs.core.logarithms import logarithm, logarithm_of
from packenv.envs.core.state import Batch
from packenv.envs.observation.describe import clear, logarithm_per_root
from packenv.envs.observation.features import (
    HEAD_AGE,
    LARGEST_OF_TYPE,
    QUEUE_COUNT,
    QUEUE_SIZE,
    ROOM,
    ROOM_LEFT,
    ROOMY_SERVERS,
    SAME_TYPE,
    SIZE,
    VALID,
    WAITING,
    WAITS,
)


@apart
def write_configurations(b: Batch) -> None:
    """(2J,) the active configurations of the servers with jobs, added up."""
    c, e = b.c, b.c.e
    for j in range(b.configurations.shape[1]):
        b.configurations[e, j] = 0.0
    for s in range(server_count(c)):
        if b.active[e, s] != NONE and jobs_in(c, s) > 0:
            for j in range(b.table.shape[2]):
                b.configurations[e, j] += b.table[kind_of(c, s), b.active[e, s], j]


@apart
def describe_configuration(b: Batch, n: int, kind: int, server: int) -> None:
    """Write the features of taking configuration n on a server of this kind, which is empty."""
    c, e = b.c, b.c.e
    out = b.actions[e, n]
    clear(out)
    if not b.mask[e, n] or server == NONE:
        return
    share, capacity = 1.0 / b.scale[0], float(c.server[e, server].capacity)
    weight, jobs, starts, size, age, main = 0.0, 0, 0.0, 0.0, 0, NONE
    for j in range(b.table.shape[2]):
        many = b.table[kind, n, j]
        if many > 0:
            queue = c.types.queue[e, kind, j]
            jobs += many
            weight += many * queue.count
            size += queue.size
            if main == NONE or j != 1:
                main = j
            if queue.count > 0:
                starts += min(many, queue.count) * (queue.size / float(queue.count))
                age = max(age, now(c) - queue.since)
    starts = min(starts, capacity)
    active = 0
    for s in range(server_count(c)):
        active += b.active[e, s] == n and kind_of(c, s) == kind and jobs_in(c, s) > 0
    out[VALID], out[WAITS] = 1.0, 1.0 if b.table[kind, n, 1] > 0 else 0.0
    out[SIZE] = starts * share
    out[ROOM_LEFT] = (capacity - starts) * share
    out[QUEUE_COUNT] = logarithm(weight)
    out[QUEUE_SIZE] = logarithm(size * share)
    out[HEAD_AGE] = logarithm(age / b.scale[1])
    out[SAME_TYPE] = logarithm_of(jobs)
    out[LARGEST_OF_TYPE] = c.types.bound[e, kind, main - 1 if main > 0 else c.types.count[e, kind] - 1] * share
    out[ROOMY_SERVERS] = active / float(server_count(c))
    out[ROOM] = capacity * share
    out[WAITING] = logarithm_per_root(b, waiting(c))
