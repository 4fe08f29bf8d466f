"""`Standing`: how a policy did in a contest of the leaderboard, and beside which policy it is seen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from packenv.results.stability import Verdict, combine
from packenv.runs.contest import Contest
from packenv.runs.measured import Measured
from packenv.runs.measures import Measure
from packenv.runs.statistics import UNKNOWN, Interval, interval
from packenv.theory.stability.judgment import Judgment

REFERENCE = "bf-js"  # for mean queues
BEST = "best"
"""Stands for the policy with the best mean of the measure, as a reference."""


@dataclass(frozen=True)
class Standing:
    """How an entry did: a run for each seed, or why there is none; by measure, its ratio to the reference's.

    `bounds`: for a table of whole jobs, by seed, the slots below which no policy's mean completion time is; `bound_ratio`:
    them, over the reference's mean completion times.
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

    def values(self, measure: Measure) -> list[float | None]:
        """One for each seed."""
        return [run.values[measure.key] for run in self.runs]

    def mean(self, measure: Measure) -> Interval:
        """The mean of a measure; of whole jobs unknown unless all of them ended with every seed."""
        values = self.values(measure)
        return UNKNOWN if measure.every and None in values else interval(values)

    def ratio(self, measure: Measure) -> Interval:
        """The ratio to the reference on the same jobs; unknown for the reference itself."""
        return self.ratios.get(measure, UNKNOWN)

    @property
    def verdict(self) -> Verdict:
        return combine(run.verdict for run in self.runs)


def reference_of(contest: Contest, reference: str | None) -> str:
    """The policy named, or what is usual: the best policy of each measure for whole jobs, REFERENCE for mean queues."""
    return reference or (BEST if contest.of_jobs else REFERENCE)
