"""The reduced configurations K_RED (PAPERS §1.4, eq. 7): 4J - 4 of them, each at most one type-1 job and one other type."""

from __future__ import annotations

from packenv.cluster.queue.by_type import queue_length
from packenv.cluster.state import Cluster
from packenv.compiled.decorators import compiled


@compiled
def reduced_configuration(levels: int, n: int) -> tuple[int, int, int]:
    """The n-th configuration of K_RED for J = levels, 0 <= n < 4J - 4, as (k_1, j, k_j)."""
    if n < levels:
        return 0, 2 * n, 1 << n
    n -= levels - 1  # m of the next form
    if n < levels:
        return 0, 2 * n + 1, 3 << (n - 1)
    n -= levels - 2
    if n < levels:
        return 1, 2 * n, (1 << n) // 3
    n -= levels - 1
    return 1, 2 * n + 1, 1 << (n - 1)


@compiled
def weight(c: Cluster, kind: int, one: int, j: int, count: int) -> int:
    """⟨k, Q⟩ of the configuration (k_1, j, k_j) = (one, j, count); Q: virtual queue lengths of this kind of server."""
    return one * queue_length(c, kind, 1) + count * queue_length(c, kind, j)


@compiled
def heaviest(c: Cluster, kind: int) -> tuple[int, int, int]:
    """The configuration of the largest weight, as (k_1, j, k_j); ties: the first in the list (eq. 8)."""
    levels = c.types.count[c.e, kind] >> 1
    best, best_weight = 0, -1
    for n in range(4 * levels - 4):
        one, j, count = reduced_configuration(levels, n)
        value = weight(c, kind, one, j, count)
        if value > best_weight:
            best, best_weight = n, value
    return reduced_configuration(levels, best)
