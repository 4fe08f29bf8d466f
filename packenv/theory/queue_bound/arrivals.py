"""Exact arrivals and geometric service, for queue bounds."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from packenv.errors import InputError
from packenv.workloads.laws.arrivals import Arrivals, Batch, Bernoulli, Poisson
from packenv.workloads.laws.law import Law
from packenv.workloads.laws.services import Geometric
from packenv.workloads.workload import Workload


@dataclass(frozen=True)
class Setting:
    """Arrivals in jobs: a Poisson number per slot, or `bernoulli`.

    With `bernoulli` at most one job arrives per slot. Each task in service leaves at the start of a slot with probability
    `leaving`, independently of all else.
    """

    jobs: Fraction  # per slot, mean
    bernoulli: bool
    tasks: Fraction  # in a job, mean
    square: Fraction  # a lower bound on the mean square of that number
    alike: bool  # whether the tasks of a job have the same demand
    leaving: Fraction  # 1 / mean service

    @property
    def rate(self) -> Fraction:
        """Tasks per slot, mean."""
        return self.jobs * self.tasks

    def second_moment(self, mean: Fraction, square: Fraction) -> Fraction:
        """Return a lower bound on E[A²] from a price's mean and mean square."""
        of_pairs = square if self.alike else mean**2
        of_job = self.tasks * square + (self.square - self.tasks) * of_pairs
        together = Fraction(0) if self.bernoulli else (self.rate * mean) ** 2
        return self.jobs * of_job + together


def setting_of(workload: Workload) -> Setting:
    """Return a workload's arrivals and service. Raises InputError without a proof."""

    def refused(what: str) -> InputError:
        return InputError(f"workload {workload.name}: no bound on the queue is claimed for {what}")

    if workload.jobs is not None:
        raise refused("a table of jobs or a trace, only for random tasks")
    if not isinstance(workload.service, Geometric):
        raise refused("a service that is not geometric, with the same mean for every demand")
    batch = workload.arrivals if isinstance(workload.arrivals, Batch) else None
    process: Arrivals = workload.arrivals if batch is None else batch.process
    if not isinstance(process, (Poisson, Bernoulli)):
        raise refused(f"{type(process).__name__.lower()} arrivals, only for Poisson, Bernoulli and batches of them")
    tasks, square = (Fraction(1), Fraction(1)) if batch is None else _moments(batch.size)
    return Setting(
        jobs=Fraction(workload.rate) / tasks,
        bernoulli=isinstance(process, Bernoulli),
        tasks=tasks,
        square=square,
        alike=batch is None or batch.alike,
        leaving=1 / Fraction(workload.service.slots),
    )


def _moments(size: Law) -> tuple[Fraction, Fraction]:
    """Return a job's E[tasks] and E[tasks²], or a lower bound for many values."""
    atoms = size.atoms()
    if atoms is None:
        mean = Fraction(size.mean_slots())
        return mean, mean**2
    counts = [max(int(count), 1) for count in np.ceil(atoms[0]).tolist()]
    weights = [Fraction(weight) for weight in atoms[1].tolist()]
    first, second = (sum((w * n**power for n, w in zip(counts, weights, strict=True)), Fraction(0)) for power in (1, 2))
    return first / sum(weights), second / sum(weights)
