"""The solution of the linear program for ρ_K (PAPERS §6)."""

from __future__ import annotations

from dataclasses import dataclass

from packenv.theory.capacity.linear_program import ConfigurationColumns, Floats, Ints


@dataclass(frozen=True, eq=False)
class RoundedProgram:
    """Types, and configurations that hold ρ_K tasks in their shares.

    Every task counts as its type. For several resources types are boxes, descending by volume. A demand belongs to the last box
    that holds it.
    """

    sizes: Ints  # (T,) units, descending: what a task of each type counts as; boxes: (T, D)
    least: Ints  # (T,) units: the smallest size of each type; boxes: (T, D), a lower bound on it in each resource
    capacity: Ints  # (G,) units of each kind of server, decreasing; boxes: (G, D), in any order
    counts: Ints  # (m, T) how many tasks of each type a configuration holds
    kind: Ints  # (m,) kind of server that it is for
    share: Floats  # (m,) share of the time of these servers; sums to at most 1 for each kind
    rho: float  # ρ_K is at least this, in exact arithmetic
    listed: ConfigurationColumns | None = None  # boxes: all configurations, or the best known ones, with those of `counts`

    @property
    def boxes(self) -> bool:
        """Whether types are boxes of demand vectors."""
        return self.sizes.ndim > 1
