"""A slot of a small cluster in the plainest words, and the best of all stationary policies by trying each of them."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import product

import numpy as np

Waiting = tuple[int, ...]  # jobs of each size
Served = tuple[tuple[int, ...], ...]  # sizes of the jobs on each server, sorted
State = tuple[Waiting, Served]


class SmallCluster:
    """Bernoulli arrivals of `sizes`; a job that finds `most` of its size waiting is lost."""

    def __init__(
        self, sizes: list[int], shares: list[float], capacity: list[int], rate: float, departure: float, most: int
    ) -> None:
        self.sizes, self.shares, self.capacity = sizes, shares, capacity
        self.rate, self.departure, self.most = rate, departure, most

    def after_starts(self, state: State) -> set[State]:
        """Everything that starting some of the waiting jobs, or none, can lead to."""
        found, ahead = {state}, [state]
        while ahead:
            waiting, served = ahead.pop()
            for j, server in product(range(len(self.sizes)), range(len(served))):
                if waiting[j] and sum(served[server]) + self.sizes[j] <= self.capacity[server]:
                    fewer = (*waiting[:j], waiting[j] - 1, *waiting[j + 1 :])
                    fuller = tuple(sorted((*served[server], self.sizes[j])))
                    following = fewer, (*served[:server], fuller, *served[server + 1 :])
                    if following not in found:
                        found.add(following)
                        ahead.append(following)
        return found

    def next_slot(self, state: State) -> Iterator[tuple[float, State]]:
        """What a slot's end can become by the time of the next starts, with probabilities: departures, then an arrival."""
        waiting, served = state
        jobs = [(server, size) for server, held in enumerate(served) for size in held]
        for stays in product([False, True], repeat=len(jobs)):
            chance = float(np.prod([1 - self.departure if stay else self.departure for stay in stays]))
            left = [tuple(s for (at, s), stay in zip(jobs, stays, strict=True) if stay and at == n) for n in range(len(served))]
            yield chance * (1 - self.rate), (waiting, tuple(left))
            for j, share in enumerate(self.shares):
                more = (*waiting[:j], min(waiting[j] + 1, self.most), *waiting[j + 1 :])
                yield chance * self.rate * share, (more, tuple(left))

    def best_mean_queue(self, tried: int) -> float:
        """The least mean queue of all stationary deterministic policies, from empty. Fails unless they are `tried` in number."""
        empty: State = (0,) * len(self.sizes), ((),) * len(self.capacity)
        choices: dict[State, list[State]] = {}
        ahead = [empty]
        while ahead:
            state = ahead.pop()
            if state not in choices:
                choices[state] = sorted(self.after_starts(state))
                ahead += [after for left in choices[state] for _, after in self.next_slot(left)]
        number = {state: n for n, state in enumerate(choices)}
        lefts = {left for options in choices.values() for left in options}
        row = {left: np.zeros(len(number)) for left in lefts}
        for left in lefts:
            for chance, after in self.next_slot(left):
                row[left][number[after]] += chance
        policies = [*product(*choices.values())]
        assert len(policies) == tried
        return min(self._mean_queue(policy, row) for policy in policies)

    def _mean_queue(self, policy: tuple[State, ...], row: dict[State, np.ndarray]) -> float:
        """The mean queue from state 0 on: the stationary law of the lazy chain, by squaring until nothing changes."""
        chain = (np.array([row[left] for left in policy]) + np.eye(len(policy))) / 2
        while True:
            squared = chain @ chain
            if np.abs(squared - chain).max() < 1e-14:
                return float(squared[0] @ [sum(waiting) for waiting, _ in policy])
            chain = squared / squared.sum(axis=1, keepdims=True)


def one_size_mean_queue(rate: Fraction, departure: Fraction, most: int) -> Fraction:
    """One server that holds one job, at most one arrival in a slot, worked by hand: the mean number waiting after the starts.

    A chain of states: empty; in service with 0, 1, … `most` waiting. One step up: no departure, an arrival. One step down: a
    departure, no arrival; from `most` any departure, for an arrival is lost before the next job starts.
    """
    up, down = (1 - departure) * rate, departure * (1 - rate)
    weights = [Fraction(1), rate / (down if most else departure)]  # empty, and none waiting
    for n in range(1, most + 1):
        weights.append(weights[-1] * up / (down if n < most else departure))
    return sum((n * weight for n, weight in enumerate(weights[1:])), Fraction(0)) / sum(weights)
