"""The search for the cheapest mix of machines of a policy.

The mix is rounded from the linear program, then confirmed and improved by runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from packenv.planning.kinds import Kinds, one_for_each_task, with_mix
from packenv.planning.lower_bounds.cost_bound import CostBound, rounded
from packenv.planning.search import MOST_TRIED, Budget, NoneMeets, Search
from packenv.planning.trials import AskRuns, Trial
from packenv.workloads.servers import MOST_SERVERS

Counts = tuple[int, ...]

FIRST_STEP = 1 / 32  # of the room that the rows ask for: more is tried in steps that double
FINEST_STEP = 1 / 256
MOST_TRIALS = 150  # mixes tried to mend the rounded one


class MixTrial(NamedTuple):
    """One mix with all seeds."""

    counts: Counts  # machines of each kind
    cost: Fraction
    trial: Trial


class MixPlan(NamedTuple):
    """The answer for one policy."""

    policy: str
    at: MixTrial
    dropped: tuple[MixTrial | None, ...]  # one machine less of each kind, same seeds; None: not in the mix, or needed
    trials: tuple[MixTrial, ...]  # all that the search looked at, by cost
    fresh: bool  # whether `at` and `dropped` are of seeds that the search did not use
    thorough: bool  # whether no exchange within reach was left untried


@dataclass
class MixSearch:
    """The search with one policy, on a workload with one of each kind."""

    search: Search
    kinds: Kinds
    bound: CostBound
    ask: AskRuns
    progress: Callable[[str], None] = lambda mix: None
    trials: dict[Counts, MixTrial] = field(default_factory=dict)
    confirming: Budget | None = None  # for the runs that confirm the answer

    def run(self) -> MixPlan:
        """Return the cheapest mix that meets the goals.

        Rounds up with increasing room until they are met. Then removes and exchanges machines while they hold. More machines
        are assumed to help every goal except the utilisation. Seeds that the search did not use confirm the mix, or change it
        by single machines. Raises NoneMeets if no mix meets the goals.
        """
        best, thorough = self._cheapest(self._rounded_up())
        if not self.trials[best].trial.meets:
            raise NoneMeets(self.search.never(self.trials[best].trial, "Cheaper mixes miss other goals."))
        first = tuple(sorted(self.trials.values(), key=lambda mix: (mix.cost, mix.counts)))
        # Confirm on new seeds.
        if self.search.by_chance:
            self.trials = {}
            self.confirming = self.search.budget()
            confirmed = self._mended(best)
            dearer = self.kinds.total(confirmed) > self.kinds.total(best)
            best = self._one_kind(confirmed) if dearer else confirmed
            if not self.trials[best].trial.meets:
                raise NoneMeets(self.search.never(self.trials[best].trial, "Cheaper mixes miss other goals."))
        dropped = tuple(self._try(less) if less is not None and self._runs(less) else None for less in self._one_less(best))
        return MixPlan(self.search.name, self.trials[best], dropped, first, self.search.by_chance, thorough)

    def __post_init__(self) -> None:
        self.most = one_for_each_task(self.kinds, self.search.workload)

    def _try(self, counts: Counts) -> MixTrial:
        if counts not in self.trials:
            self.progress(self.kinds.as_servers(counts))
            search, workload = self.search, with_mix(self.search.workload, counts)
            if self.confirming is None:
                trial = search.trial_on(workload, search.seeds_of(range(search.seeds)), self.ask)
            else:
                trial = search.decided(workload, self.ask, self.confirming)
            self.trials[counts] = MixTrial(counts, self.kinds.total(counts), trial)
        return self.trials[counts]

    def _enough(self, counts: Counts) -> bool:
        """Return whether all goals but the utilisation are met, if possible."""
        return self.bound.rows.admit(counts) and self.search.enough(self._try(counts).trial)

    def _check(self, counts: Counts) -> Trial:
        """Return the trial. Raises NoneMeets if more machines cannot help."""
        trial = self._try(counts).trial
        halves = (mix.trial for mix in self.trials.values() if all(2 * n <= m for n, m in zip(mix.counts, counts, strict=True)))
        why = self.search.why_hopeless(trial, halves)
        if why is not None:
            raise NoneMeets(self.search.never(trial, why))
        return trial

    def _runs(self, counts: Counts) -> bool:
        """Return whether every task fits some machine."""
        rows = self.bound.rows
        presence = rows.room == 0
        return bool((rows.supply[presence] @ np.array(counts) >= 1).all())

    def _rounded_up(self) -> Counts:
        """Return the cheapest mix for the least room that meets the goals.

        Precise to FINEST_STEP. For a table, mixes that cost more than a machine for each task are skipped, unless that mix is
        not enough. A policy may put a task on the only machine that another task fits.
        """

        def mix(times: float) -> Counts:
            return rounded(self.bound.rows, self.kinds, times)

        # Increase the room in doubling steps until the mix is enough.
        low, high, step = 1.0, 1.0, FIRST_STEP
        while not self._enough(mix(high)):
            trial = self._check(mix(high))
            low, high, step = high, high + step, 2 * step
            if self.most is not None and self.kinds.total(mix(high)) >= self.kinds.total(self.most):
                return self._doubled(self.most)
            if sum(mix(high)) > MOST_SERVERS:
                raise NoneMeets(self.search.never(trial, MOST_TRIED))
        # Halve the interval.
        while high - low > FINEST_STEP * low and mix(low) != mix(high):
            middle = (low + high) / 2
            low, high = (low, middle) if self._enough(mix(middle)) else (middle, high)
        return mix(high)

    def _doubled(self, counts: Counts) -> Counts:
        """Double the mix until the goals are met. Raises NoneMeets."""
        jobs = self.search.workload.jobs
        while not self._enough(counts):
            if jobs is None or all(count == 0 or count >= len(jobs) for count in counts):
                of_kinds = " of each kind" if jobs is not None and sum(counts) > len(jobs) else ""
                raise NoneMeets(self.search.never(self._try(counts).trial, f"That is one machine{of_kinds} for each task."))
            if 2 * sum(counts) > MOST_SERVERS:
                raise NoneMeets(self.search.never(self._try(counts).trial, MOST_TRIED))
            counts = self.most = _times(counts, 2)
        return counts

    def _cheapest(self, counts: Counts) -> tuple[Counts, bool]:
        """Return the cheapest mix by steps, and whether all were tried."""
        while True:
            best, thorough = self._improved(counts)
            counts = self._one_kind(best)
            if counts == best:
                return best, thorough

    def _one_kind(self, counts: Counts) -> Counts:
        """Return the cheapest of this mix and the mixes of one kind."""
        for kind, cost in enumerate(self.kinds.cost):
            alone = tuple(int(kind == g) for g in range(len(counts)))
            low, high = 0, min(-(-self.kinds.total(counts) // cost) - 1, MOST_SERVERS)  # not as cheap, cheaper
            if high < 1 or not self._enough(_times(alone, high)):
                continue
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (low, middle) if self._enough(_times(alone, middle)) else (middle, high)
            counts = _times(alone, high)
        return counts

    def _improved(self, counts: Counts) -> tuple[Counts, bool]:
        """Remove and exchange machines. Also returns whether all was tried."""
        while True:
            for cheaper in self._cheaper(counts):
                if len(self.trials) >= MOST_TRIALS:
                    return counts, False
                if self._enough(cheaper):
                    counts = cheaper
                    break
            else:
                return counts, True

    def _cheaper(self, counts: Counts) -> Iterator[Counts]:
        """Return mixes to try next, cheapest first.

        They have fewer machines of a kind, or a few exchanged for cheaper machines of another kind. One, two, or just enough
        to cost more than one of the other kind are exchanged.
        """
        candidates: set[Counts] = {less for less in self._one_less(counts) if less is not None}
        # Halving amounts of a kind removed, and exchanges with each other kind.
        for a, have in enumerate(counts):
            take = have // 2
            while take > 1:
                candidates.add(_changed(counts, a, -take))
                take //= 2
            for b, cost in enumerate(self.kinds.cost):
                for fewer in {1, 2, int(cost // self.kinds.cost[a]) + 1} if a != b else ():
                    room = fewer * self.kinds.cost[a]
                    most = -(-room // cost) - 1  # cheaper, not as cheap
                    if have >= fewer and most >= 1:
                        candidates.add(_changed(_changed(counts, a, -fewer), b, int(most)))
        order = sorted(candidates, key=lambda mix: (self.kinds.total(mix), mix))
        return (mix for mix in order if self.bound.rows.admit(mix))

    def _mended(self, counts: Counts) -> Counts:
        """Add machines until the goals are met, then remove some."""
        while not self._enough(counts):
            trial = self._check(counts)
            if self.most is not None and self.kinds.total(counts) > self.kinds.total(self.most):
                raise NoneMeets(self.search.never(trial, "That costs more than one machine for each task."))
            more = sorted(range(len(counts)), key=lambda g: (self.kinds.cost[g], g))
            counts = next(
                (mix for g in more if self._enough(mix := _changed(counts, g, 1))), _changed(counts, self._main(counts), 1)
            )
        while (less := next((mix for mix in self._one_less(counts) if mix is not None and self._enough(mix)), None)) is not None:
            counts = less
        return counts

    def _main(self, counts: Counts) -> int:
        """Return the kind with the largest total cost."""
        return max(range(len(counts)), key=lambda g: counts[g] * self.kinds.cost[g])

    def _one_less(self, counts: Counts) -> Sequence[Counts | None]:
        """Return mixes with one machine less, None for absent kinds."""
        return [_changed(counts, g, -1) if have and sum(counts) > 1 else None for g, have in enumerate(counts)]


def _times(counts: Counts, times: int) -> Counts:
    return tuple(times * count for count in counts)


def _changed(counts: Counts, kind: int, by: int) -> Counts:
    return (*counts[:kind], counts[kind] + by, *counts[kind + 1 :])
