"""Random workloads of one resource, on which an agent for any workload is trained, chosen and judged.

A workload is a pure function of its family and its number. The families have their own seeds and do not share laws: what
is judged on was never seen in training or in the choice among agents.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.random import Generator

from packenv.errors import InputError, nearest
from packenv.workloads.laws.arrivals import Arrivals, Batch, Modulated, Periodic, Poisson
from packenv.workloads.laws.law import Law
from packenv.workloads.laws.services import Fixed, Geometric, HyperExponential, LogNormal
from packenv.workloads.laws.sizes import Beta, Constant, Discrete, Exponential, Histogram, Mixture, Pareto, Uniform
from packenv.workloads.workload import Workload

T = TypeVar("T")
MOST_IN_SERVICE = 4000  # tasks by area: a run of 50,000 tasks then sees the cluster full and empty several times


class Family(NamedTuple):
    """What the random workloads of a family are drawn from. Sizes are shares of the largest server."""

    seed: int
    servers: tuple[int, int]  # fewest and most, log-uniform
    smallest: float  # capacity of the smallest server of unequal ones, as a share of the largest
    load: tuple[float, float]  # share of ρ*
    mean_service: tuple[float, float]  # slots, log-uniform
    sizes: tuple[Callable[[Generator], Law], ...]
    services: tuple[Callable[[Generator, float], Law], ...]
    arrivals: tuple[Callable[[Generator, float], Arrivals], ...]


def family_of(families: Mapping[str, T], name: str, number: int, kind: str) -> T:
    """The family of this name of random "workloads" or "jobs". Raises InputError for another name, or a number below 0."""
    if name not in families:
        raise InputError(f"no family {name!r} of random {kind}{nearest(name, [*families])}")
    if number < 0:
        raise InputError(f"random {kind} have numbers from 0, not {number}")
    return families[name]


def random_workload(family: str, number: int) -> Workload:
    """Workload `number` ≥ 0 of a family of FAMILIES: one resource, its load a share of ρ* (`packenv.resolved` finds the rate).

    Raises InputError for another family or number.
    """
    chosen = family_of(FAMILIES, family, number, "workloads")
    draw = np.random.default_rng((chosen.seed, number))
    sizes = pick(draw, chosen.sizes)(draw)
    most = max(chosen.servers[0], min(chosen.servers[1], int(MOST_IN_SERVICE * sizes.mean())))
    count = round(log_uniform(draw, chosen.servers[0], most))
    mean_service = log_uniform(draw, *chosen.mean_service)
    return Workload(
        servers=equal_or_not(draw, count, chosen.smallest),
        sizes=sizes,
        service=pick(draw, chosen.services)(draw, mean_service),
        arrivals=pick(draw, chosen.arrivals)(draw, mean_service),
        load=round(draw.uniform(*chosen.load), 4),
        name=f"{family} {number}",
    )


def pick(draw: Generator, choices: tuple[T, ...]) -> T:
    return choices[draw.integers(len(choices))]


def log_uniform(draw: Generator, low: float, high: float) -> float:
    return float(np.exp(draw.uniform(np.log(low), np.log(high))))


def equal_or_not(draw: Generator, count: int, smallest: float) -> list[float]:
    """Capacities: all 1 with probability ½, otherwise of two or three kinds, the largest of them 1."""
    if count == 1 or draw.random() < 0.5:
        return [1.0] * count
    kinds = [1.0, *(round(size, 3) for size in draw.uniform(smallest, 1.0, draw.integers(1, 3)))]
    return [1.0, *sorted((float(kind) for kind in draw.choice(kinds, count - 1)), reverse=True)]


def interval(draw: Generator, low: float, high: float, width: float) -> tuple[float, float]:
    """Two ends in [low, high], at least `width` apart."""
    first, last = sorted(draw.uniform(low, high - width, 2))
    return float(first), float(last) + width


def weights(draw: Generator, count: int) -> list[float]:
    return [float(weight) for weight in draw.dirichlet(np.ones(count))]


def uniform(draw: Generator) -> Law:
    return Uniform(*interval(draw, 0.01, 1.0, 0.05))


def few_values(draw: Generator) -> Law:
    count = int(draw.integers(2, 7))
    return Discrete([float(value) for value in draw.uniform(0.02, 1.0, count)], weights(draw, count))


def small_and_large(draw: Generator) -> Law:
    share = float(draw.uniform(0.02, 0.5))
    small, large = Uniform(*interval(draw, 0.01, 0.3, 0.02)), Uniform(*interval(draw, 0.35, 1.0, 0.05))
    return Mixture([small, large], [1 - share, share])


def exponential(draw: Generator) -> Law:
    return Exponential(log_uniform(draw, 0.03, 0.6))


def steps(draw: Generator) -> Law:
    edges = np.unique(np.round(np.concatenate([[draw.uniform(0.01, 0.3)], draw.uniform(0.3, 1.0, draw.integers(2, 6))]), 4))
    return Histogram([float(edge) for edge in edges], weights(draw, len(edges) - 1))


def beta(draw: Generator) -> Law:
    return Beta(log_uniform(draw, 0.4, 6), log_uniform(draw, 0.4, 6), *interval(draw, 0.005, 1.0, 0.1))


def pareto(draw: Generator) -> Law:
    return Pareto(float(draw.uniform(0.3, 2.5)), log_uniform(draw, 0.01, 0.2))


def shares(draw: Generator) -> Law:
    """Parts of a server as flavours of machines have them: halves, thirds, quarters and so on."""
    parts = draw.choice([1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 32], int(draw.integers(2, 6)), replace=False)
    return Discrete([1.0 / part for part in parts], weights(draw, len(parts)))


def lumps(draw: Generator) -> Law:
    """A few values that are frequent among sizes that are spread."""
    values = [Constant(float(value)) for value in draw.uniform(0.03, 0.95, draw.integers(1, 4))]
    return Mixture([*values, beta(draw)], weights(draw, len(values) + 1))


def many_values(draw: Generator) -> Law:
    """Ten to thirty values, three in four of them small."""
    count = int(draw.integers(10, 31))
    return Discrete([float(value) for value in draw.beta(0.6, 1.5, count) * 0.97 + 0.01], weights(draw, count))


def geometric(draw: Generator, mean: float) -> Law:
    return Geometric(mean)


def fixed(draw: Generator, mean: float) -> Law:
    return Fixed(round(mean))


def log_normal(draw: Generator, mean: float) -> Law:
    return LogNormal(mean, float(draw.uniform(0.4, 2.0)))


def wide_log_normal(draw: Generator, mean: float) -> Law:
    return LogNormal(mean, float(draw.uniform(2.0, 3.0)))


def short_and_long(draw: Generator, mean: float) -> Law:
    ratio, share = float(draw.uniform(3, 20)), float(draw.uniform(0.05, 0.3))
    short = mean / (1 - share + share * ratio)
    return HyperExponential([short, short * ratio], [1 - share, share])


def even(draw: Generator, mean: float) -> Law:
    return Uniform(0.5 * mean, 1.5 * mean)


def poisson(draw: Generator, mean_service: float) -> Arrivals:
    return Poisson()


def bursts(draw: Generator, mean_service: float) -> Arrivals:
    calm = log_uniform(draw, 2, 20) * mean_service
    return Modulated([1.0, float(draw.uniform(1.2, 2.0))], [calm, calm * float(draw.uniform(0.1, 0.5))])


def several_at_once(draw: Generator, mean_service: float) -> Arrivals:
    return Batch(Geometric(float(draw.uniform(1.5, 6))), alike=bool(draw.random() < 0.5))


def three_phases(draw: Generator, mean_service: float) -> Arrivals:
    sojourns = [log_uniform(draw, 1, 15) * mean_service for _ in range(3)]
    return Modulated([1.0, float(draw.uniform(0.3, 0.9)), float(draw.uniform(1.1, 2.2))], sojourns, "uniform")


def days(draw: Generator, mean_service: float) -> Arrivals:
    return Periodic([float(rate) for rate in draw.uniform(0.6, 1.2, 6)], log_uniform(draw, 5, 40) * mean_service)


TRAINING = Family(
    *(1, (1, 200), 0.4, (0.7, 0.99), (20, 500)),
    sizes=(uniform, few_values, small_and_large, exponential),
    services=(geometric, fixed, log_normal),
    arrivals=(poisson, poisson, bursts, several_at_once),
)
FAMILIES = {
    "training": TRAINING,
    "choice": TRAINING._replace(seed=2, load=(0.85, 0.97), sizes=(*TRAINING.sizes, steps)),
    "judged": Family(
        *(3, (1, 1000), 0.25, (0.85, 0.97), (10, 1000)),
        sizes=(beta, pareto, shares, lumps, many_values),
        services=(geometric, short_and_long, wide_log_normal, even),
        arrivals=(poisson, poisson, three_phases, days),
    ),
}
"""Training, the choice among agents (50 workloads), and the judgment (200), which no training or choice looks at."""
