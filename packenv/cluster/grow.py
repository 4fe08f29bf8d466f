"""Makes the arrays larger when the pool of tasks or the schedule is full."""

from __future__ import annotations

from packenv.cluster.fields import resized
from packenv.cluster.queue.by_age import build_tree
from packenv.cluster.queue.by_demand import add_to_group
from packenv.cluster.state import NONE, READS, SEVERAL, TASK, Cluster, look_at
from packenv.compiled.decorators import compiled
from packenv.policy import BY_AGE, BY_DEMAND, UNLIMITED


def pool_sizes(places: int, in_service: int) -> dict[str, int]:
    """The dimensions of a pool of `places` tasks, of which at most `in_service` are in service at once."""
    return {
        "places": places,
        "positions": 1 << (2 * places - 1).bit_length(),
        "age nodes": 2 << (2 * places - 1).bit_length(),
        "hash chains": 1 << (places - 1).bit_length(),
        "events": min(places, in_service),
    }


def grow(c: Cluster, places: int, in_service: int = UNLIMITED) -> Cluster:
    """The same batch with room for `places` tasks in each cluster, at most `in_service` of them in service at once."""
    old = c.task.shape[1]
    sizes = pool_sizes(places, in_service)
    new = resized(c, all_orders(c), **sizes | {"events": max(sizes["events"], c.events.shape[1])})
    new.task["next"][:, -1] = c.head["free"]  # the new places come first in the free list
    c.head["free"] = old
    c.head["unused"] += places - old
    if c.orders & (BY_AGE | BY_DEMAND):
        for e in range(len(c.head)):
            look_at(new, e)
            _rebuild(new)
        look_at(new, 0)
    return new


def all_orders(c: Cluster) -> int:
    """The orders that decide which arrays exist, with SEVERAL if there are several resources, READS if remote reads take any."""
    return c.orders | (SEVERAL if len(c.scale) > 1 else 0) | (READS if c.reads.shape[1] > 0 else 0)


def lengthen(c: Cluster) -> Cluster:
    """The same batch with twice as many rows in its schedule."""
    return c.replace(measures=resized(c.measures, recorded=2 * c.measures.start.shape[1]))


@compiled
def _rebuild(c: Cluster) -> None:
    """Refill the arrays that are made new in a larger pool: the groups of equal demands, and the tree by age."""
    if c.orders & BY_AGE:
        for position in range(c.ages.end[c.e]):
            i = c.ages.task[c.e, position]
            if c.ages.position[c.e, i] == position and waits(c, i):
                c.ages.least[c.e, c.ages.task.shape[1] + position] = c.task[c.e, i].size
        build_tree(c)
    if c.orders & BY_DEMAND:
        for i in range(c.task.shape[1]):
            if waits(c, i):
                add_to_group(c, i)


@compiled
def waits(c: Cluster, i: int) -> bool:
    """Whether place i holds a waiting task."""
    return c.task[c.e, i].kind == TASK and c.task[c.e, i].server == NONE
