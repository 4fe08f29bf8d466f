"""The oldest waiting task that fits, in O(log n).

Each node of a binary tree over the positions in queue order holds the smallest size below it. A task that starts leaves a gap.
When all positions are used, the tasks are renumbered. This costs O(1) per task if half of the positions are gaps.
"""

from __future__ import annotations

from packenv.cluster.state import NEVER, NONE, Cluster, require
from packenv.compiled.decorators import apart, compiled
from packenv.policy import BY_AGE


@compiled
def set_leaf(c: Cluster, position: int, size: int) -> None:
    """Set a position's size (NEVER: gap), and update its ancestors."""
    least = c.ages.least
    node = c.ages.task.shape[1] + position
    least[c.e, node] = size
    node >>= 1
    while node >= 1:
        smaller = min(least[c.e, 2 * node], least[c.e, 2 * node + 1])
        if least[c.e, node] == smaller:
            break
        least[c.e, node] = smaller
        node >>= 1


@apart
def renumber(c: Cluster) -> None:
    """Move the tasks to the first positions, without gaps."""
    ages = c.ages
    positions = ages.task.shape[1]
    n = 0
    for position in range(ages.end[c.e]):
        size = ages.least[c.e, positions + position]
        if size != NEVER:
            i = ages.task[c.e, position]
            ages.task[c.e, n] = i
            ages.position[c.e, i] = n
            ages.least[c.e, positions + n] = size
            n += 1
    for position in range(n, positions):
        ages.least[c.e, positions + position] = NEVER
    ages.end[c.e] = n
    build_tree(c)


@apart
def build_tree(c: Cluster) -> None:
    least = c.ages.least
    for node in range(c.ages.task.shape[1] - 1, 0, -1):
        least[c.e, node] = min(least[c.e, 2 * node], least[c.e, 2 * node + 1])


@apart
def add_newest(c: Cluster, i: int) -> None:
    if c.ages.end[c.e] == c.ages.task.shape[1]:
        renumber(c)
    position = c.ages.end[c.e]
    c.ages.task[c.e, position] = i
    c.ages.position[c.e, i] = position
    c.ages.end[c.e] = position + 1
    set_leaf(c, position, c.task[c.e, i].size)


@apart
def remove_aged(c: Cluster, i: int) -> None:
    set_leaf(c, c.ages.position[c.e, i], NEVER)


@apart
def oldest_fitting(c: Cluster, room: int) -> int:
    """Return the oldest fitting task or NONE (needs BY_AGE)."""
    require(c, BY_AGE)
    least = c.ages.least
    if least[c.e, 1] > room:
        return NONE
    positions = c.ages.task.shape[1]
    node = 1
    while node < positions:
        node *= 2
        if least[c.e, node] > room:
            node += 1
    return c.ages.task[c.e, node - positions]
