"""What can be in service on all servers at once, and how it changes when jobs start and when they leave.

An occupancy says how many jobs of each type are on each server. Servers of equal capacity are alike, so their order does not
matter: of all orders only that with ascending configurations is kept.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations_with_replacement, islice, product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from packenv.cluster.servers import server_kinds
from packenv.errors import InputError
from packenv.theory.stationary_optimum.instance import SmallInstance

Ints = NDArray[np.int64]

MOST_MIXES = 2_000
"""Occupancies, for which there is a dense matrix of completions; and configurations of a server."""
MOST_ORDERED = 200_000  # occupancies, orders of equal servers counted apart
MOST_CODES = np.iinfo(np.uint8).max  # of starts, beside 0


class Start(NamedTuple):
    """A job of a type starts on the server at a position of an occupancy, which becomes another one."""

    type: int
    position: int
    following: int

    def code(self, servers: int) -> int:
        """The number of this start in tables of decisions, in which 0 is to start nothing."""
        return 1 + self.type * servers + self.position


@dataclass(frozen=True, eq=False)
class Occupancies:
    """All occupancies of an instance, S of them; the first one is empty. Positions 0 .. L-1 hold servers kind by kind."""

    servers: Ints  # (L,) server at each position, before servers of one kind are ordered
    kind: Ints  # (L,) kind of the server at each position
    counts: list[Ints]  # for each kind (m, n): all its configurations, jobs of each type
    configurations: Ints  # (S, L) row in `counts` of its kind, ascending among servers of one kind
    index: Ints  # (product of m over the positions,) occupancy of configurations in any order, first position slowest
    starts: list[list[Start]]  # for each occupancy
    jobs: Ints  # (S,) jobs in service

    def completions(self, departure: float) -> NDArray[np.float64]:
        """(S, S) probabilities that an occupancy has become another one by the next slot, when each job may have left."""
        alone = [thinned(counts, departure) for counts in self.counts]
        chances = np.empty((len(self.configurations), len(self.configurations)))
        for row, configurations in enumerate(self.configurations):
            joint = np.ones(1)
            for kind, own in zip(self.kind, configurations, strict=True):
                joint = np.multiply.outer(joint, alone[kind][own]).ravel()
            chances[row] = np.bincount(self.index, joint, len(chances))
        return chances


def occupancies(instance: SmallInstance) -> Occupancies:
    """Raises InputError if there are more than MOST_MIXES, or too many servers to number the starts on them."""
    kinds, capacity = server_kinds(instance.capacity)
    if (codes := len(instance.sizes) * len(kinds)) > MOST_CODES:
        raise InputError(f"sizes times servers are {codes:,}; the optimal policy is found for at most {MOST_CODES}")
    servers = np.argsort(kinds, kind="stable")
    kind = kinds[servers]
    counts = [feasible(instance.sizes, int(own)) for own in capacity]
    ordered = math.prod(len(counts[k]) for k in kind)
    alike = [int((kind == k).sum()) for k in range(len(counts))]
    mixes = math.prod(math.comb(len(own) + n - 1, n) for own, n in zip(counts, alike, strict=True))
    for found, limit, what in ((mixes, MOST_MIXES, ""), (ordered, MOST_ORDERED, ", equal servers told apart")):
        if found > limit:
            raise InputError(f"servers can hold {found:,} mixes of jobs{what}; the optimal policy is found for at most {limit:,}")
    blocks = [combinations_with_replacement(range(len(own)), n) for own, n in zip(counts, alike, strict=True)]
    every = [sum(parts, ()) for parts in product(*blocks)]
    number = {configurations: n for n, configurations in enumerate(every)}

    def in_order(configurations: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(own for _, own in sorted(zip(kind.tolist(), configurations, strict=True)))

    index = [number[in_order(each)] for each in product(*(range(len(counts[k])) for k in kind))]
    larger = [_with_one_more(own) for own in counts]
    starts: list[list[Start]] = []
    for each in every:
        leads_to: dict[tuple[int, int], Start] = {}
        for j, (position, own) in product(range(len(instance.sizes)), enumerate(each)):
            grown = larger[kind[position]].get((own, j))
            if grown is not None:
                following = number[in_order((*each[:position], grown, *each[position + 1 :]))]
                leads_to.setdefault((j, following), Start(j, position, following))
        starts.append([*leads_to.values()])
    rows = np.array(every, np.int64)
    total = [own.sum(axis=1) for own in counts]
    jobs = sum(total[k][rows[:, position]] for position, k in enumerate(kind))
    return Occupancies(servers, kind, counts, rows, np.array(index, np.int64), starts, np.asarray(jobs, np.int64))


def feasible(sizes: Ints, capacity: int) -> Ints:
    """(m, n) numbers of jobs of these sizes that fit on a server together, in ascending lexicographic order."""
    found: list[tuple[int, ...]] = [()]
    for j, size in enumerate(sizes.tolist()):
        more = ((*row, k) for row in found for k in range((capacity - int(np.dot(row, sizes[:j]))) // size + 1))
        found = [*islice(more, MOST_MIXES + 1)]
        if len(found) > MOST_MIXES:
            raise InputError(f"a server can hold more than {MOST_MIXES:,} mixes of jobs, too many for the optimal policy")
    return np.array(found, np.int64)


def _with_one_more(counts: Ints) -> dict[tuple[int, int], int]:
    """By configuration and type: the configuration with one more job of that type, if there is room."""
    number = {tuple(row): n for n, row in enumerate(counts.tolist())}
    found = {}
    for row, n in number.items():
        for j in range(len(row)):
            grown = (*row[:j], row[j] + 1, *row[j + 1 :])
            if grown in number:
                found[n, j] = number[grown]
    return found


def thinned(counts: Ints, departure: float) -> NDArray[np.float64]:
    """(m, m) probabilities that of the jobs of a configuration those of another one are left after a slot."""
    from scipy.stats import binom

    before, after = counts[:, None], counts[None, :]
    return np.asarray(binom.pmf(after, before, 1 - departure).prod(axis=2))
