"""Random mixes of whole jobs, on which an agent for any jobs is trained, chosen and judged.

A mix is a pure function of its family and its number; its table of jobs is drawn by seed. As with the random workloads of
one resource, the families have their own seeds, and what is judged on has other laws than training and choice had.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from agents.random_workloads import family_of, log_uniform, pick, weights
from packenv.jobs import Jobs, Ragged
from packenv.workloads.named.blocks import COPIES, replicas
from packenv.workloads.named.dag import all_tasks_of, stage_numbers, stage_parents
from packenv.workloads.network import Network
from packenv.workloads.workload import Workload

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Parents = list[list[int]]
"""Of each stage of a job the earlier stages that it waits for."""
Shape = Callable[[Generator], Parents]
Tasks = Callable[[Generator, int], Ints]  # (stages,) of one job
Slots = Callable[[Generator, int], Floats]  # (stages,) mean service
Demand = Callable[[Generator, int], Floats]  # (stages, D) shares of the largest server
Spread = Callable[[Generator, int], Floats]  # (tasks,) service over the mean of the stage
Instants = Callable[[Generator, int], Floats]  # (jobs,) increasing

MOST_STAGE_TASKS = 60
ROUNDS = 15  # a server has room for all tasks of the table in so many rounds at least: few servers for few tasks
FEWEST_JOBS = 20


class Family(NamedTuple):
    """What the mixes of a family are drawn from."""

    seed: int
    shapes: tuple[Callable[[Generator], Shape], ...]
    tasks: tuple[Callable[[Generator], Tasks], ...]
    slots: tuple[Callable[[Generator], Slots], ...]
    demands: tuple[Callable[[Generator, int], Demand], ...]
    spreads: tuple[Callable[[Generator], Spread], ...]
    instants: tuple[Callable[[Generator], Instants], ...]
    resources: tuple[int, int] = (1, 6)
    servers: tuple[int, int] = (2, 60)  # fewest and most, log-uniform
    smallest: float = 0.4  # capacity of the smallest server of unequal ones, as a share of the largest
    intensity: tuple[float, float] = (0.5, 1.5)  # work of the scarcest resource over what there is of it while jobs arrive
    least_tasks: tuple[int, int] = (800, 4000)  # a table has as many jobs as it takes for so many, log-uniform


class Kind(NamedTuple):
    """Jobs of a mix that are alike."""

    shape: Shape
    tasks: Tasks
    slots: Slots
    demand: Demand


class Mix(NamedTuple):
    """What a table is drawn from."""

    kinds: list[Kind]
    shares: list[float]  # of the kinds, among the jobs
    spread: Spread
    instants: Instants
    intensity: float
    tasks: int  # at least
    exact: bool  # whether schedulers know each task's service, not only the mean of its stage
    valued: bool
    overhead: float  # of tasks of first stages away from their data, over their service; 0: no data
    blocks: int  # that they read; 0: each its own
    capacity: Floats  # (L, D)
    network: Network | None


class Stages(NamedTuple):
    """The jobs of a table before they have servers: parents of each job's stages, and rows for all stages in order."""

    parents: list[Parents]
    tasks: Ints  # (S,)
    mean: Floats  # (S,) slots
    demand: Floats  # (S, D)


@dataclass(frozen=True)
class RandomJobs:
    """A function from a seed to a table of a mix."""

    family: str
    number: int

    def __call__(self, seed: int) -> Jobs:
        mix, random = mix_of(self.family, self.number), np.random.default_rng((seed, self.number))
        stages = draw_stages(mix, random)
        number = np.array([len(parents) for parents in stages.parents])
        job = np.repeat(np.arange(len(number)), number)
        of = np.repeat(np.arange(len(job)), stages.tasks)  # stage of each task
        service = np.maximum(np.rint(stages.mean[of] * mix.spread(random, len(of))), 1)
        work = ((stages.demand[of] * service[:, None]).sum(axis=0) / mix.capacity.sum(axis=0)).max()
        instants = mix.instants(random, len(number))
        arrival = np.floor((instants - instants[0]) / max(instants[-1] - instants[0], 1e-9) * work / mix.intensity)
        chains = all(waits == [n - 1] for parents in stages.parents for n, waits in enumerate(parents) if n)
        value = random.integers(1, 6, len(number)).astype(np.float64)
        return Jobs.of(
            arrival[job[of]],
            stages.demand[of],
            service,
            job=job[of],
            phase=(np.arange(len(job)) - (np.cumsum(number) - number)[job])[of] if chains else None,
            predecessors=None if chains else all_tasks_of(stages.parents, stages.tasks),
            estimate=None if mix.exact else np.maximum(stages.mean[of], 1.0),
            value=value[job[of]] if mix.valued else None,
            home=homes(mix, random, np.array([not waits for parents in stages.parents for waits in parents])[of]),
            remote_overhead=np.rint(mix.overhead * service).astype(np.int64) if mix.overhead else None,
        )


def random_jobs(family: str, number: int) -> Workload:
    """Mix `number` ≥ 0 of a family of JOB_FAMILIES: jobs of one to three kinds, on up to 60 servers of one to six resources.

    Raises InputError for another family or number.
    """
    family_of(JOB_FAMILIES, family, number, "jobs")
    mix = mix_of(family, number)
    return Workload(
        jobs=RandomJobs(family, number), servers=mix.capacity, network=mix.network, slot_seconds=1.0, name=f"{family} {number}"
    )


@cache
def mix_of(family: str, number: int) -> Mix:
    """The mix of this number."""
    chosen, draw = JOB_FAMILIES[family], np.random.default_rng((JOB_FAMILIES[family].seed, number))
    reads, exact = draw.random() < 0.25, draw.random() < 0.2
    resources = int(draw.integers(chosen.resources[0], chosen.resources[1] + 1))
    demands = (*chosen.demands, *(places,) * len(chosen.demands)) if reads else chosen.demands
    kinds = [
        Kind(pick(draw, chosen.shapes)(draw), pick(draw, chosen.tasks)(draw), pick(draw, chosen.slots)(draw), demand)
        for demand in (pick(draw, demands)(draw, resources) for _ in range(draw.integers(1, 4)))
    ]
    mix = Mix(
        kinds,
        shares=weights(draw, len(kinds)),
        spread=pick(draw, chosen.spreads)(draw),
        instants=pick(draw, chosen.instants)(draw),
        intensity=float(draw.uniform(*chosen.intensity)),
        tasks=round(log_uniform(draw, *chosen.least_tasks) / (3 if exact else 1)),  # each task is then a group of its own
        exact=exact,
        valued=bool(draw.random() < 0.3),
        overhead=float(draw.uniform(0.1, 1.0)) if reads else 0.0,
        blocks=int(draw.integers(50, 500)) if draw.random() < 0.3 else 0,
        capacity=np.ones((1, resources)),
        network=None,
    )
    stages = draw_stages(mix, np.random.default_rng((0, number)))
    area = float((stages.tasks[:, None] * stages.demand).sum(axis=0).max())
    most = max(chosen.servers[0], min(chosen.servers[1], int(area / ROUNDS)))
    count = round(log_uniform(draw, chosen.servers[0], most))
    capacity = np.ones((count, resources))
    if draw.random() < 0.5:
        kind = np.concatenate([capacity[:1], np.round(draw.uniform(chosen.smallest, 1.0, (2, resources)), 3)])
        capacity = kind[np.append(0, draw.integers(0, 3, count - 1))]  # tasks fit on the first at least
    return mix._replace(capacity=capacity, network=network(draw, count) if reads else None)


def draw_stages(mix: Mix, random: Generator) -> Stages:
    """Jobs one by one, until there are enough tasks."""
    parents, tasks, mean, demand, count = list[Parents](), list[Ints](), list[Floats](), list[Floats](), 0
    while count < mix.tasks or len(parents) < FEWEST_JOBS:
        kind = mix.kinds[random.choice(len(mix.kinds), p=mix.shares)]
        parents.append(kind.shape(random))
        number = len(parents[-1])
        tasks.append(kind.tasks(random, number))
        mean.append(kind.slots(random, number))
        demand.append(kind.demand(random, number))
        count += int(tasks[-1].sum())
    return Stages(parents, np.concatenate(tasks), np.concatenate(mean), np.concatenate(demand))


def homes(mix: Mix, random: Generator, reads: NDArray[np.bool_]) -> Ragged | None:
    """The servers with the data of each task; `reads` (n,) says which tasks have any."""
    if mix.network is None:
        return None
    count, racks = int(reads.sum()), mix.network.racks
    assert isinstance(racks, int)
    place = replicas(random, mix.blocks or count, len(mix.capacity), racks)  # (blocks, copies)
    if mix.blocks:
        place = place[random.integers(0, mix.blocks, count)]
    return Ragged(np.append(0, np.cumsum(reads * place.shape[1])), place.ravel())


def network(draw: Generator, servers: int) -> Network:
    """With racks or without, of a speed that changes or does not."""
    racks = int(draw.integers(2, 1 + servers // COPIES)) if servers > 2 * COPIES and draw.random() < 0.5 else 0
    every, factors = log_uniform(draw, 100, 2000), draw.uniform(0.1, 3.0, 2)
    steps = tuple((every * k, float(factors[k % 2])) for k in range(200)) if draw.random() < 0.3 else ()
    return Network(racks=racks, factor=steps)


def chain(stages: int) -> Parents:
    return [[], *([n] for n in range(stages - 1))]


def singles(draw: Generator) -> Shape:
    return lambda random: chain(1)


def phases(draw: Generator) -> Shape:
    most = int(draw.integers(2, 6))
    return lambda random: chain(int(random.integers(1, most + 1)))


def graphs(draw: Generator) -> Shape:
    """As in the workload `dag`."""
    return lambda random: stage_parents(random, int(stage_numbers(random, 1)[0]))


def recursive_trees(draw: Generator) -> Shape:
    """Each stage waits for any earlier one."""
    most = int(draw.integers(3, 12))
    return lambda random: [[], *([int(random.integers(n))] for n in range(1, random.integers(1, most + 1)))]


def layers(draw: Generator) -> Shape:
    """Layers of stages, each of which waits for some of the layer before."""
    deep, wide = draw.integers(2, 6), draw.integers(2, 5)

    def shape(random: Generator) -> Parents:
        parents, before = Parents(), list[int]()
        for _ in range(random.integers(1, deep + 1)):
            layer = [*range(len(parents), len(parents) + int(random.integers(1, wide + 1)))]
            for _ in layer:
                count = random.integers(1, len(before) + 1) if before else 0
                parents.append(sorted(int(n) for n in random.choice(before, count, replace=False)) if before else [])
            before = layer
        return parents

    return shape


def forks(draw: Generator) -> Shape:
    """A stage, several that wait for it, one that waits for all of those, and so on."""
    wide = draw.integers(2, 7)

    def shape(random: Generator) -> Parents:
        parents: Parents = [[]]
        for _ in range(random.integers(1, 4)):
            root, branches = len(parents) - 1, int(random.integers(2, wide + 1))
            parents += [[root]] * branches + [[*range(root + 1, root + 1 + branches)]]
        return parents

    return shape


def merging_trees(draw: Generator) -> Shape:
    """From many stages to the last one, each of which waits for `arity` of those before."""
    arity, most = int(draw.integers(2, 4)), int(draw.integers(2, 4))

    def shape(random: Generator) -> Parents:
        depth = random.integers(1, most + 1)
        parents: Parents = [[] for _ in range(arity**depth)]
        first, width = 0, len(parents)
        while width > 1:
            parents += [[*range(first + arity * n, first + arity * (n + 1))] for n in range(width // arity)]
            first, width = first + width, width // arity
        return parents

    return shape


def one_task(draw: Generator) -> Tasks:
    return lambda random, n: np.ones(n, np.int64)


def log_normal_tasks(draw: Generator) -> Tasks:
    median, sigma = log_uniform(draw, 2, 20), draw.uniform(0.5, 1.6)
    return lambda random, n: np.clip(np.rint(median * np.exp(sigma * random.standard_normal(n))), 1, MOST_STAGE_TASKS).astype(
        np.int64
    )


def one_or_many_tasks(draw: Generator) -> Tasks:
    share, many = draw.uniform(0.3, 0.8), log_normal_tasks(draw)
    return lambda random, n: np.where(random.random(n) < share, 1, many(random, n))


def geometric_tasks(draw: Generator) -> Tasks:
    mean = log_uniform(draw, 2, 15)
    return lambda random, n: np.minimum(random.geometric(1 / mean, n), MOST_STAGE_TASKS)


def powers_of_two(draw: Generator) -> Tasks:
    most, shrink = int(draw.integers(3, 7)), draw.uniform(0.4, 0.9)
    share = shrink ** np.arange(most)
    return lambda random, n: 2 ** random.choice(most, n, p=share / share.sum())


def uniform_tasks(draw: Generator) -> Tasks:
    most = int(draw.integers(2, 30))
    return lambda random, n: random.integers(1, most + 1, n)


def log_normal_slots(draw: Generator) -> Slots:
    """Of the job, and of each stage."""
    median, of_job, of_stage = log_uniform(draw, 5, 60), draw.uniform(0, 1.4), draw.uniform(0.2, 1.2)
    return lambda random, n: np.minimum(
        median * np.exp(of_job * random.standard_normal() + of_stage * random.standard_normal(n)), 50 * median
    )


def few_slots(draw: Generator) -> Slots:
    most = int(draw.integers(4, 30))
    return lambda random, n: random.integers(1, most + 1, n).astype(np.float64)


def same_slots(draw: Generator) -> Slots:
    mean = log_uniform(draw, 10, 200)
    return lambda random, n: np.full(n, mean)


def short_or_long_slots(draw: Generator) -> Slots:
    short, ratio, share = log_uniform(draw, 3, 30), draw.uniform(3, 20), draw.uniform(0.05, 0.4)
    return lambda random, n: short * random.uniform(0.5, 1.5, n) * np.where(random.random(n) < share, ratio, 1.0)


def pareto_slots(draw: Generator) -> Slots:
    least, shape = log_uniform(draw, 3, 30), draw.uniform(1.1, 2.5)
    return lambda random, n: np.minimum(least * (1 + random.pareto(shape, n)), 100 * least)


def shrinking_slots(draw: Generator) -> Slots:
    """Each stage is shorter than the one before."""
    first, ratio = log_uniform(draw, 20, 200), draw.uniform(0.5, 0.9)
    return lambda random, n: np.maximum(first * random.exponential() * ratio ** np.arange(n), 1.0)


def main_resource(draw: Generator, resources: int) -> Demand:
    """Each stage needs much of one resource and little of the others."""
    most, least = draw.uniform(0.2, 0.8), draw.uniform(0.02, 0.12)

    def demand(random: Generator, n: int) -> Floats:
        amount = random.uniform(0.1 * least, least, (n, resources))
        amount[np.arange(n), random.integers(0, resources, n)] = random.uniform(0.3 * most, most, n)
        return amount

    return demand


def independent(draw: Generator, resources: int) -> Demand:
    low = draw.uniform(0.01, 0.15, resources)
    high = low + draw.uniform(0.1, 0.8, resources)
    return lambda random, n: random.uniform(low, high, (n, resources))


def alike_in_job(draw: Generator, resources: int) -> Demand:
    """One of a few values of each resource, the same in all stages of a job."""
    values = np.round(draw.uniform(0.03, 0.6, (resources, 4)), 3)
    return lambda random, n: np.tile(values[np.arange(resources), random.integers(0, 4, resources)], (n, 1))


def places(draw: Generator, resources: int) -> Demand:
    """A share of a server, of which it has so many."""
    share = 1 / draw.integers(1, 5)
    return lambda random, n: np.full((n, resources), share)


def proportional(draw: Generator, resources: int) -> Demand:
    """A size for each stage, of which each resource is a share that differs little."""
    a, b, share = log_uniform(draw, 0.5, 3), log_uniform(draw, 1, 6), draw.uniform(0.2, 1.0, resources)
    return lambda random, n: (0.01 + 0.95 * random.beta(a, b, (n, 1))) * share * random.uniform(0.7, 1.0, (n, resources))


def some_resources(draw: Generator, resources: int) -> Demand:
    """Each stage needs some resources only."""
    chance, mean = draw.uniform(0.3, 0.7), log_uniform(draw, 0.05, 0.4)

    def demand(random: Generator, n: int) -> Floats:
        needs = random.random((n, resources)) < chance
        needs[np.arange(n), random.integers(0, resources, n)] = True
        return np.where(needs, np.clip(random.exponential(mean, (n, resources)), 0.01, 1.0), 0.0)

    return demand


def small_or_large(draw: Generator, resources: int) -> Demand:
    """Half a server and more, or a tenth and less."""
    share = draw.uniform(0.05, 0.4)
    return lambda random, n: np.where(
        random.random((n, 1)) < share, random.uniform(0.4, 0.95, (n, resources)), random.uniform(0.01, 0.12, (n, resources))
    )


def even(draw: Generator) -> Spread:
    width = draw.uniform(0, 0.5)
    return lambda random, n: random.uniform(1 - width, 1 + width, n)


def stragglers(draw: Generator) -> Spread:
    share, ratio = draw.uniform(0.01, 0.1), draw.uniform(2, 5)
    return lambda random, n: random.uniform(0.8, 1.2, n) * np.where(random.random(n) < share, ratio, 1.0)


def log_normal_spread(draw: Generator) -> Spread:
    sigma = draw.uniform(0.1, 0.6)
    return lambda random, n: np.exp(sigma * random.standard_normal(n) - sigma**2 / 2)


def poisson(draw: Generator) -> Instants:
    return lambda random, n: np.cumsum(random.exponential(size=n))


def bursts(draw: Generator) -> Instants:
    mean = draw.uniform(1.5, 6)
    return lambda random, n: np.cumsum(random.exponential(size=n) * (random.random(n) < 1 / mean))


def at_once(draw: Generator) -> Instants:
    return lambda random, n: np.zeros(n)


def waves(draw: Generator) -> Instants:
    """A rate that rises and falls."""
    count, height = draw.uniform(1, 5), draw.uniform(0.4, 0.95)

    def instants(random: Generator, n: int) -> Floats:
        even = np.sort(random.random(n))
        turn = 2 * np.pi * count
        return np.sort(even + height * np.sin(turn * even) / turn)

    return instants


def groups(draw: Generator) -> Instants:
    """So many at a time, at equal distances."""
    size = int(draw.integers(1, 20))
    return lambda random, n: (np.arange(n) // size).astype(np.float64)


TRAINING = Family(
    1,
    shapes=(phases, phases, graphs, singles),
    tasks=(one_task, log_normal_tasks, one_or_many_tasks),
    slots=(log_normal_slots, few_slots, same_slots),
    demands=(main_resource, independent, alike_in_job),
    spreads=(even,),
    instants=(poisson, poisson, poisson, bursts, bursts, at_once),
)
JOB_FAMILIES = {
    "training": TRAINING,
    "choice": TRAINING._replace(seed=2, shapes=(*TRAINING.shapes, recursive_trees)),
    "judged": Family(
        3,
        shapes=(layers, forks, merging_trees),
        tasks=(geometric_tasks, powers_of_two, uniform_tasks),
        slots=(short_or_long_slots, pareto_slots, shrinking_slots),
        demands=(proportional, some_resources, small_or_large),
        spreads=(stragglers, log_normal_spread),
        instants=(poisson, poisson, waves, groups, at_once),
        smallest=0.25,
        intensity=(0.5, 1.8),
    ),
}
"""Training, the choice among agents (50 mixes), and the judgment (50), which no training or choice looks at."""
