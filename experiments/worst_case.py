"""Search for the workloads on which a policy supports as little of ρ* as possible.

    python experiments/worst_case.py -p bf-js --tries 1500 --seed 1 --out worst.json     # then: packenv judge worst.json -p bf-js
    python experiments/worst_case.py -p bf-js --service fixed:100 --tries 20             # a first look

Candidates are drawn at random, or come from a linear program. A local search then changes sizes, mix, servers and service of
the candidates on which the policy completes the smallest share of the arrivals. The best ones are judged. The result is an
upper bound on the policy's guarantee: a larger fraction cannot be proved for all workloads.

The linear program finds the mix of sizes of which locked servers serve the smallest share of ρ*. A server is locked if every
task that leaves it is replaced by one of the same size: its free room is too small for the smallest size, and together with
the room of a leaving task it is too small for any larger size. Policies that place the largest task first stay in a locked
configuration as long as tasks of each size wait, however much room is wasted.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from packenv.errors import InputError
from packenv.options.verbs import JudgeOptions
from packenv.policy import find_policy
from packenv.runs.log import RunLog
from packenv.runs.many import JudgeRuns
from packenv.runs.runner import RunOptions
from packenv.simulation import simulate
from packenv.theory.capacity.configuration_bounds import served_by
from packenv.theory.configurations import maximal_configurations
from packenv.theory.stability.judge import Runner, judge
from packenv.theory.stability.judgment import Judgment
from packenv.workloads.laws import parse_law
from packenv.workloads.laws.law import Law
from packenv.workloads.laws.sizes import Discrete
from packenv.workloads.workload import Workload

Ints = NDArray[np.int64]
Progress = Callable[[str], None]

FIRST_LOAD, ABOVE = 0.97, 0.03  # load of the run that scores a candidate: at first, and above the best share so far
KEPT_UP = 0.985  # a run that completes this share of its arrivals has kept up with them
TASKS = 60_000  # arrivals in such a run
SMALLEST = 10  # servers hold at most this many tasks of the smallest size
FINEST = 120  # units of capacity of a server, at most
POOL, ALIKE = 12, 3  # instances that are kept, and how many of them may have one origin
JUDGED = 3  # instances that are judged in the end
TRIES = 3000
TYPES = 2, 5  # fewest and most sizes of an instance
MOST_CONFIGURATIONS = 5_000
MOST_SERVERS = 12


@dataclass(frozen=True)
class Instance:
    """Tasks of a few integer `sizes`, decreasing, with relative frequencies `weights`, on servers of an integer `capacity`."""

    sizes: tuple[int, ...]
    capacity: int
    weights: tuple[int, ...]
    servers: int
    service: Law

    def shares(self) -> NDArray[np.float64]:
        """(n,) probabilities of the sizes."""
        return np.array(self.weights) / sum(self.weights)

    def configurations(self) -> Ints:
        """(m, n) the maximal configurations. Raises InputError if they are too many."""
        return np.asarray(maximal_configurations(self.sizes, self.capacity, MOST_CONFIGURATIONS), np.int64)

    def rho(self) -> float:
        """ρ* (tasks in service), from all configurations."""
        return served_by(self.configurations(), self.shares(), self.servers)

    def workload(self, load: float, name: str = "instance") -> Workload:
        """The workload with this `load`, a share of ρ*."""
        rho = self.rho()
        sizes = Discrete([size / self.capacity for size in self.sizes], self.shares().tolist())
        workload = Workload(sizes=sizes, service=self.service, servers=self.servers, load=load, name=name)
        return workload.knowing(rho, rho)


def locked(sizes: tuple[int, ...], capacity: int) -> Ints:
    """(m, n) the configurations of decreasing sizes (n) in which a server is locked; none if there are too many to list."""
    most = [capacity // size for size in sizes]
    if np.prod([count + 1 for count in most]) > 20 * MOST_CONFIGURATIONS:
        return np.zeros((0, len(sizes)), np.int64)
    counts = np.indices([count + 1 for count in most]).reshape(len(sizes), -1).T
    left = capacity - counts @ np.array(sizes)
    larger = np.array([capacity + 1, *sizes[:-1]])  # the next larger size; none for the largest
    step = np.where(counts > 0, larger - np.array(sizes), capacity + 1).min(axis=1)
    return np.asarray(counts[(left >= 0) & (left < min(sizes[-1], capacity)) & (left < step) & (counts.sum(axis=1) > 0)])


def worst_lock(sizes: tuple[int, ...], capacity: int, service: Law) -> tuple[float, Instance] | None:
    """The mix of sizes of which locked servers serve the smallest share of ρ*, with that share; None if no lock wastes room.

    min g  s.t.  Σ_k a_k k <= Σ_c w_c c,  Σ a = 1,  Σ w = g:
    one server in the locked configurations k, in shares a, holds what g servers in configurations c can hold.
    """
    from scipy.optimize import linprog

    try:
        every = np.asarray(maximal_configurations(sizes, capacity, MOST_CONFIGURATIONS), np.int64)
    except InputError:
        return None
    stuck = locked(sizes, capacity)
    if len(stuck) == 0 or (stuck @ np.array(sizes) == capacity).all():
        return None
    cost = np.concatenate([np.zeros(len(stuck)), np.ones(len(every))])
    cover = np.hstack([stuck.T, -every.T])
    equality = np.concatenate([np.ones(len(stuck)), np.zeros(len(every))])[None]
    solution = linprog(cost, cover, np.zeros(len(sizes)), equality, [1.0])
    parts = [Fraction(share).limit_denominator(MOST_SERVERS) for share in solution.x[: len(stuck)].tolist()]
    servers = int(np.lcm.reduce([part.denominator for part in parts]))
    weights = np.array([int(part * servers) for part in parts]) @ stuck
    kept = np.flatnonzero(weights)
    if sum(parts) != 1 or servers > MOST_SERVERS or len(kept) == 0:
        return None
    chosen = tuple(sizes[i] for i in kept), capacity, tuple(weights[kept].tolist()), servers, service
    return float(solution.fun), Instance(*chosen)


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


def main(arguments: Sequence[str] | None = None) -> None:
    """Search, print what was found, and write the worst workload."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-p", "--policy", required=True, metavar="NAME", help="e.g. bf-js, vqs:J=4, module:Class")
    parser.add_argument("--service", action="append", metavar="LAW", help="of service; repeat for more (default: geometric:100)")
    parser.add_argument("--tries", type=int, default=TRIES, metavar="N", help=f"short runs (default: {TRIES})")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="seed of the search")
    parser.add_argument("--log", type=Path, metavar="FILE", help="keep the runs of judgments, and go on from there")
    parser.add_argument("--out", type=Path, metavar="FILE", help="the worst workload, which evaluate and judge read")
    parser.add_argument("--processes", type=int, metavar="N", help="runs side by side (default: one per core)")
    options = parser.parse_args(arguments)
    if options.out is not None and not options.out.parent.is_dir():
        parser.error(f"{options.out}: its folder does not exist")
    find_policy(options.policy)
    services = [parse_law(text, "--service") for text in options.service or ["geometric:100"]]
    with RunOptions(options.processes) as run_options, run_options.runner() as runner:
        run = JudgeRuns(runner, RunLog(options.log))
        cases = worst_case(options.policy, services, options.tries, options.seed, run, lambda what: print(what, file=sys.stderr))
    print(f"| {options.policy} | supported | sizes | servers | service |")
    print("|---|--:|---|--:|---|")
    for workload, judgment in cases:
        supported = f"{judgment.low:.3f} – {judgment.high:.3f}"
        print(f"| {workload.name} | {supported} | {workload.sizes} | {len(workload.servers)} | {workload.service} |")
    if options.out:
        cases[0].workload.save(options.out)


if __name__ == "__main__":
    main()
