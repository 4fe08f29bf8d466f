"""Lublin and Feitelson's model of supercomputer jobs, by seed (PAPERS §8).

It is a log of rigid batch and interactive jobs. Processors are log-uniform in two pieces, with a share of serial jobs and of
powers of two. The logarithm of a run time is one of two gammas, the longer one more likely for large jobs. Arrivals follow a
gamma for the rush hour, slower or faster by the half-hour of the day. Every number is from the authors' program.
Source: Lublin and Feitelson, The workload on parallel supercomputers: modeling the characteristics of rigid jobs, J. Parallel
Distrib. Comput. 63(11), 2003; their program m_lublin99.c, Parallel Workloads Archive.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammainc, gammaincinv

from packenv.errors import InputError
from packenv.jobs import Jobs
from packenv.workloads.workload import Workload

Floats = NDArray[np.float64]

PROCESSORS = 128  # of the machine that the numbers below were fitted for
DAY_BEGINS = 11  # half-hour from which the gamma of the day is taken
HALF_HOURS, HALF_HOUR = 48, 1_800.0  # of a day; seconds
LONGEST_RUN, LONGEST_GAP = 12.0, 13.0  # logarithms of seconds: longer ones are drawn again
SERIAL, PARALLEL, SIZE, LENGTH, RUN, GAP = range(6)  # columns of random numbers


class Gamma(NamedTuple):
    """Gamma of shape a and scale b, cut off above `most`."""

    a: float
    b: float
    most: float

    def below(self) -> float:
        """Return the probability of at most `most`."""
        return float(gammainc(self.a, self.most / self.b))

    def quantile(self, u: Floats) -> Floats:
        return np.asarray(self.b * gammaincinv(self.a, u * self.below()))

    def mean_exp(self) -> float:
        """Return the mean of its exponential."""
        b = self.b / (1 - self.b)
        return float((1 - self.b) ** -self.a * gammainc(self.a, self.most / b)) / self.below()


class Type(NamedTuple):
    """One type of jobs."""

    serial: float  # share of jobs of one processor
    power: float  # and of powers of two, above
    low: float  # log₂ of processors: uniform from `low` to `largest` − `step` with probability `first`, from there on otherwise
    step: float
    below: float  # log₂ of the machine's processors − log₂ of the largest job's
    first: float
    short: Gamma  # log seconds
    long: Gamma
    slope: float  # the probability of `short` is slope · processors + at_zero
    at_zero: float
    gap: Gamma  # log seconds between arrivals, in hours as busy as the mean one
    day: tuple[float, float]  # shape and scale, in half-hours


TYPES = (
    Type(0.1541, 0.625, 1.0, 2.5, 1.5, 0.705, Gamma(3.8351, 0.6605, LONGEST_RUN), Gamma(7.073, 0.6856, LONGEST_RUN),
         -0.0118, 0.9156, Gamma(6.5510 * 0.9797, 0.6621, LONGEST_GAP), (8.9186, 3.6680)),
    Type(0.2927, 0.6686, 1.2, 2.0, 0.0, 0.875, Gamma(6.57, 0.823, LONGEST_RUN), Gamma(639.1, 0.0156, LONGEST_RUN),
         -0.003, 0.6986, Gamma(6.0415 * 1.0519, 0.8531, LONGEST_GAP), (6.1271, 5.2740)),
)  # fmt: skip
"""Interactive and batch jobs."""
TYPELESS = (
    Type(0.244, 0.576, 0.8, 2.5, 0.0, 0.86, Gamma(4.2, 0.94, LONGEST_RUN), Gamma(312, 0.03, LONGEST_RUN),
         -0.0054, 0.78, Gamma(10.2303 * 1.0225, 0.4871, LONGEST_GAP), (8.1737, 3.9631)),
)  # fmt: skip
"""All jobs together, fitted by the authors to logs without types."""


def share_short(kind: Type, processors: Floats) -> Floats:
    """Return probabilities (n,) of the first gamma, below the longest run."""
    p = np.clip(kind.slope * processors + kind.at_zero, 0, 1)
    short = p * kind.short.below()
    return np.asarray(short / (short + (1 - p) * kind.long.below()))


def busy(kind: Type) -> Floats:
    """Return (HALF_HOURS + 1,) arrivals from midnight, in mean half-hours."""
    hours = np.arange(DAY_BEGINS, DAY_BEGINS + HALF_HOURS)
    shape, scale = kind.day
    weight = np.zeros(HALF_HOURS)
    weight[(hours - 1) % HALF_HOURS] = gammainc(shape, (hours + 0.5) / scale) - gammainc(shape, (hours - 0.5) / scale)
    return np.concatenate([[0.0], np.cumsum(weight / weight.mean())])


@dataclass(frozen=True)
class Lublin:
    """Function from a seed to jobs, in slots of a second.

    Job i of a type depends only on the seed and i.

    intensity  the table's work over the machine's capacity while jobs arrive, by a factor on arrival times; None: the model's
               own. Gaps are so uneven that 10,000 jobs may offer from half to twice the model's long-run intensity
    typed      whether there are interactive and batch jobs, or one type
    """

    jobs: int
    processors: int = PROCESSORS
    intensity: float | None = None
    typed: bool = True

    @property
    def types(self) -> tuple[Type, ...]:
        return TYPES if self.typed else TYPELESS

    def __call__(self, seed: int) -> Jobs:
        tables = [self._type(kind, seed, number) for number, kind in enumerate(self.types)]
        arrival, size, run = (np.concatenate(parts) for parts in zip(*tables, strict=True))
        first = np.argsort(arrival, kind="stable")[: self.jobs]
        factor = 1.0
        if self.intensity is not None:
            factor = float((size * run)[first].sum() / (self.processors * arrival[first[-1]] * self.intensity))
        return Jobs.of(np.floor(arrival[first] * factor), size[first] / self.processors, run[first])

    def _type(self, kind: Type, seed: int, number: int) -> tuple[Floats, Floats, Floats]:
        """Draw arrivals (s), processors and run times (s) of one type (jobs,)."""

        def uniform(column: int) -> Floats:
            return np.random.Generator(np.random.Philox(key=[seed, 16 * number + column])).random(self.jobs)

        # Processors: serial, a power of two, or any number.
        serial, size = uniform(SERIAL), self.log_size(kind, uniform(PARALLEL), uniform(SIZE))
        size = np.where(serial <= kind.serial + kind.power, np.floor(size + 0.5), size)
        size = np.where(serial <= kind.serial, 1.0, np.floor(2**size + 0.5))
        # Run times: one of two gammas.
        short = uniform(LENGTH) <= share_short(kind, size)
        u = uniform(RUN)
        run = np.exp(np.where(short, kind.short.quantile(u), kind.long.quantile(u)))
        # Arrivals: gaps in points, of which busy half-hours take more.
        points = np.cumsum(np.exp(kind.gap.quantile(uniform(GAP)))) / HALF_HOUR  # distributed over half-hours
        days, left = np.divmod(points, HALF_HOURS)
        arrival = HALF_HOUR * (HALF_HOURS * days + np.interp(left, busy(kind), np.arange(HALF_HOURS + 1)))
        return arrival, size, np.maximum(np.floor(run), 1)

    def log_size(self, kind: Type, piece: Floats, u: Floats) -> Floats:
        """Return log₂ of the unrounded processors of parallel jobs (n,)."""
        high = np.log2(self.processors) - kind.below
        middle = high - kind.step
        return np.where(piece <= kind.first, kind.low + u * (middle - kind.low), middle + u * (high - middle))

    def offered(self) -> float:
        """Return the model's long-run share of busy processors, before rounding."""
        return sum(mean_work(self, kind) / kind.gap.mean_exp() for kind in self.types) / self.processors


def mean_work(model: Lublin, kind: Type, points: int = 4_000) -> float:
    """Return a type's mean processors · seconds, summed over `points` sizes."""
    u = (np.arange(points) + 0.5) / points
    total = kind.serial * float(mean_run(kind, np.ones(1))[0])
    for piece, share in ((np.zeros(points), kind.first), (np.ones(points), 1 - kind.first)):
        size = model.log_size(kind, piece, u)
        for log, probability in ((np.floor(size + 0.5), kind.power), (size, 1 - kind.serial - kind.power)):
            processors = np.floor(2**log + 0.5)
            total += share * probability * float((processors * mean_run(kind, processors)).mean())
    return total


def mean_run(kind: Type, processors: Floats) -> Floats:
    """Return mean seconds (n,) of jobs with these processors."""
    short = share_short(kind, processors)
    return np.asarray(short * kind.short.mean_exp() + (1 - short) * kind.long.mean_exp())


def lublin(jobs: int = 10_000, processors: int = PROCESSORS, intensity: float | None = None, typed: bool = True) -> Workload:
    """Return the model's jobs on one machine, a server of capacity 1.

    The jobs have no estimates. Jobs of 0 s, which the authors' program has, take one.
    Raises InputError for a machine of fewer than 16 processors.
    """
    if processors < 16 or jobs < 1 or (intensity is not None and intensity <= 0):
        raise InputError("hpc/lublin: needs a job, 16 processors and an intensity above 0")
    draw = Lublin(jobs, processors, intensity, typed)
    return Workload(jobs=draw, servers=1, slot_seconds=1.0, processors=processors, name="hpc/lublin")
