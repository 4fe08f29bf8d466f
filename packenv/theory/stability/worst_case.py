"""The search for workloads on which a policy supports as little of ρ* as possible.

Candidates are drawn at random, or come from a linear program (servers that lock in a wasteful configuration). A local
search then changes sizes, mix, servers and service of the candidates on which the policy completes the smallest share of
the arrivals. The best ones are judged. The result is an upper bound on the policy's guarantee: a larger fraction cannot be
proved for all workloads.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from packenv.errors import InputError
from packenv.options.verbs import JudgeOptions
from packenv.simulation import simulate
from packenv.theory.stability.judge import Judgment, Runner, judge
from packenv.theory.stability.worst_instances import Instance, worst_lock
from packenv.workloads.laws.law import Law
from packenv.workloads.workload import Workload

FIRST_LOAD, ABOVE = 0.97, 0.03  # load of the run that scores a candidate: at first, and above the best share so far
KEPT_UP = 0.985  # a run that completes this share of its arrivals has kept up with them
TASKS = 60_000  # arrivals in such a run
SMALLEST = 10  # servers hold at most this many tasks of the smallest size
FINEST = 120  # units of capacity of a server, at most
POOL, ALIKE = 12, 3  # instances that are kept, and how many of them may have one origin
JUDGED = 3  # instances that are judged in the end
TRIES = 3000
TYPES = 2, 5  # fewest and most sizes of an instance

Progress = Callable[[str], None]


class WorstCase(NamedTuple):
    """A workload, and what the policy supports on it."""

    workload: Workload
    judgment: Judgment


class Scored(NamedTuple):
    """An instance, the share of ρ* that the policy served on it (1 if it kept up), and the number of the candidate that it
    was derived from."""

    share: float
    origin: int
    instance: Instance


def worst_case(
    policy: str | Any,
    services: Sequence[Law],
    tries: int = TRIES,
    seed: int = 0,
    run: Runner | None = None,
    progress: Progress | None = None,
    *,
    seeds: int = JudgeOptions.seeds,
    width: float = JudgeOptions.width,
) -> list[WorstCase]:
    """The worst workloads for `policy` found by `tries` short runs, judged, the worst one first.

    `services`: the laws of service to choose from. `run` makes the runs of the judgments, `progress` is told what happens;
    `seeds` and `width` are those of `judge`. The same `seed` finds the same workloads.
    """
    say = progress or (lambda what: None)
    search = WorstCaseSearch(policy, services, random.Random(seed))
    while search.tried < tries:
        early = search.tried < tries / 3
        search.add(search.candidate(), search.tried) if early or not search.pool else search.climb()
        if search.pool:
            say(f"{search.tried} of {tries} tried, the lowest throughput {search.pool[0].share:.3f} of ρ*")
    best = {scored.origin: scored for scored in reversed(search.pool)}  # the best of each origin
    cases = []
    for n, scored in enumerate(sorted(best.values(), key=lambda scored: scored.share)[:JUDGED]):
        say(f"judging the candidate that served {scored.share:.3f} of ρ*")
        workload = scored.instance.workload(1.0, f"worst-{n + 1}")
        cases.append(WorstCase(workload, judge(workload, policy, seeds=seeds, width=width, run=run)))
    return sorted(cases, key=lambda case: (case.judgment.high, case.judgment.low))


class WorstCaseSearch:
    """The candidates so far on which the policy does worst, in `pool`, the worst first."""

    def __init__(self, policy: str | Any, services: Sequence[Law], chance: random.Random) -> None:
        self.policy, self.services, self.chance = policy, services, chance
        self.pool: list[Scored] = []
        self.tried = 0

    def candidate(self) -> Instance:
        """An instance with random sizes; half of the time with the mix that locked servers serve worst, if there is one."""
        chance = self.chance
        while True:
            capacity = chance.randint(8, FINEST)
            least = max(1, -(-capacity // SMALLEST))
            count = min(chance.randint(*TYPES), capacity - least)
            sizes = tuple(sorted(chance.sample(range(least, capacity), count), reverse=True))
            service = chance.choice(list(self.services))
            if chance.random() < 0.5:
                weights = tuple(chance.randint(1, 6) for _ in sizes)
                return Instance(sizes, capacity, weights, chance.randint(1, 3), service)
            lock = worst_lock(sizes, capacity, service)
            if lock is not None and lock[0] < 0.95:
                return lock[1]

    def climb(self) -> None:
        """Change one of the kept instances a little, and score the result."""
        chosen = self.pool[min(len(self.pool) - 1, int(self.chance.expovariate(0.5)))]
        self.add(self.changed(chosen.instance), chosen.origin)

    def changed(self, instance: Instance) -> Instance:
        """The instance with one size, weight, the capacity, the number of servers or the service changed."""
        chance = self.chance
        i = chance.randrange(len(instance.sizes))
        what = chance.random()
        if what < 0.4:
            sizes = list(instance.sizes)
            sizes[i] += chance.choice((-2, -1, 1, 2))
            return replace(instance, sizes=tuple(sizes))
        if what < 0.75:
            weights = list(instance.weights)
            weights[i] = max(1, weights[i] + chance.choice((-1, 1)))
            return replace(instance, weights=tuple(weights))
        if what < 0.85 and instance.capacity <= FINEST // 2:
            return replace(instance, sizes=tuple(2 * size for size in instance.sizes), capacity=2 * instance.capacity)
        if what < 0.95:
            return replace(instance, servers=max(1, instance.servers + chance.choice((-1, 1))))
        return replace(instance, service=chance.choice(list(self.services)))

    def add(self, instance: Instance, origin: int) -> None:
        """Score an instance by a short run, and keep it if it is among the POOL worst ones (ALIKE of one origin)."""
        least = -(-instance.capacity // SMALLEST)
        falling = all(a > b for a, b in zip(instance.sizes, instance.sizes[1:], strict=False))
        repeated = any(instance == scored.instance for scored in self.pool)
        if repeated or not falling or instance.sizes[-1] < least or instance.sizes[0] > instance.capacity:
            return
        load = min(FIRST_LOAD, self.pool[0].share + ABOVE) if self.pool else FIRST_LOAD
        try:
            workload = instance.workload(load)
        except InputError:  # too many configurations
            return
        self.tried += 1
        result = simulate(workload, self.policy, round(TASKS / workload.rate))
        served = result.completed / result.arrived
        self.pool.append(Scored(load * served if served < KEPT_UP else 1.0, origin, instance))
        self.pool.sort(key=lambda scored: scored.share)
        alike = [scored for scored in self.pool if scored.origin == origin]
        if len(alike) > ALIKE:
            self.pool.remove(alike[-1])
        del self.pool[POOL:]
