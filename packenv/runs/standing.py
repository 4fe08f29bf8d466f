"""`Standing`: a policy's result in a contest of the leaderboard."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from packenv.results.stability import Verdict, combine
from packenv.runs.contest import Contest
from packenv.runs.measured import Measured
from packenv.runs.measures import Measure
from packenv.runs.statistics import UNKNOWN, Interval, interval
from packenv.theory.stability.judgment import Judgment

REFERENCE = "bf-js"  # for mean queues
BEST = "best"
"""Reference name for the policy with the best mean of the measure."""


@dataclass(frozen=True)
class Standing:
    """An entry's runs by seed, or its refusal, and ratios by measure.

    `bounds`: for tables of whole jobs, by seed, a lower bound on mean completion times in slots. `bound_ratio`: divided by the
    reference's mean completion times.
    """

    contest: Contest
    policy: str
    runs: tuple[Measured, ...] = ()
    refused: str | None = None
    failed: bool = False  # as runs did
    ratios: Mapping[Measure, Interval] = field(default_factory=dict)
    references: Mapping[Measure, str] = field(default_factory=dict)
    bounds: tuple[float, ...] = ()
    bound_ratio: Interval = UNKNOWN
    judgment: Judgment | None = None
    warmup: int = 0  # of runs of a table

    def values(self, measure: Measure) -> list[float | None]:
        """Return the values by seed.

        For a table run to its end, None if a task never started.
        """
        pairs = zip(self.runs, self._whole, strict=True)
        return [run.values[measure.key] if whole or self.contest.of_jobs else None for run, whole in pairs]

    @cached_property
    def _whole(self) -> list[bool]:
        """Whether each run measured all it should.

        For a table run to its end, the delay of every task.
        """
        if not self.contest.to_the_end:
            return [True] * len(self.runs)
        tables = [self.contest.workload.at(run.seed).jobs for run in self.runs]
        due = [0 if table is None else int((table.arrival >= self.warmup).sum()) for table in tables]
        return [run.delays is not None and sum(run.delays[1]) >= tasks for run, tasks in zip(self.runs, due, strict=True)]

    def mean(self, measure: Measure) -> Interval:
        """Return the mean of a measure, unknown unless all whole jobs ended."""
        values = self.values(measure)
        return UNKNOWN if measure.every and None in values else interval(values)

    def ratio(self, measure: Measure) -> Interval:
        """Return the ratio to the reference, unknown for the reference."""
        return self.ratios.get(measure, UNKNOWN)

    @property
    def verdict(self) -> Verdict:
        return combine(run.verdict for run in self.runs)


def reference_of(contest: Contest, reference: str | None) -> str:
    """Return the named policy, or the usual reference.

    It is the best policy for whole jobs, and REFERENCE for mean queues.
    """
    return reference or (BEST if contest.of_jobs else REFERENCE)
