"""`Ranking`: the results of policies in one contest of the leaderboard."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

from packenv.content.text import estimate
from packenv.results.stability import STABLE, UNDECIDED, UNSTABLE, combine
from packenv.runs.contest import Contest
from packenv.runs.measured import Measured
from packenv.runs.measures import COMPLETION, MORE, Measure
from packenv.runs.progress import announce_if_slow
from packenv.runs.statistics import UNKNOWN, Interval, interval, paired_ratio
from packenv.theory.completion.bound import completion_bound
from packenv.theory.queue_bound.queue_bound import bound_or_zero
from packenv.theory.stability.judgment import Judgment

REFERENCE = "bf-js"  # for mean queues
BEST = "best"
"""Reference name for the policy with the best mean of the measure."""

MARKS = {STABLE: "", UNSTABLE: " ↑", UNDECIDED: " ?"}


@dataclass(frozen=True)
class Standing:
    """The runs of a policy by seed, or why there are none."""

    policy: str
    runs: tuple[Measured, ...] = ()
    refused: str | None = None
    failed: bool = False  # as runs did
    judgment: Judgment | None = None


@dataclass(frozen=True)
class Ranking:
    """Policies in one contest, on the same jobs.

    reference  policy whose measures divide all others, or BEST. None: the usual one
    bounds     lower bounds on the mean completion time of whole jobs in slots, by seed
    """

    contest: Contest
    standings: tuple[Standing, ...]
    reference: str | None = None
    warmup: int = 0  # of runs of a table
    bounds: tuple[float, ...] = field(default=(), compare=False)

    def with_bounds(self) -> Ranking:
        """Add the bounds on mean completion, for whole jobs."""
        runs = max((standing.runs for standing in self.standings), key=len)
        if not self.contest.of_jobs or not runs:
            return self
        with announce_if_slow(f"bounding the completion times of {self.contest.name}"):
            return replace(self, bounds=tuple(completion_bound(self.contest.workload.at(run.seed)).mean for run in runs))

    def score(self, policy: str, measure: Measure) -> Score | None:
        """Return a policy's score, None without runs."""
        standing = next((standing for standing in self.standings if standing.policy == policy), None)
        return None if standing is None or not standing.runs else Score(self, standing, measure)

    @property
    def divisor(self) -> str:
        """The reference, by default BEST for whole jobs, and REFERENCE for mean queues."""
        return self.reference or (BEST if self.contest.of_jobs else REFERENCE)

    def reference_for(self, measure: Measure) -> str | None:
        """Return the policy that divides a measure. None if the best is wanted, and none has a mean."""
        if self.divisor != BEST:
            return self.divisor
        scores = [Score(self, standing, measure) for standing in self.standings]
        means = [(mean, n) for n, score in enumerate(scores) if (mean := score.in_slots.mean) is not None]
        sign = -1 if measure.better == MORE else 1
        return self.standings[min((sign * mean, n) for mean, n in means)[1]].policy if means else None

    def bound(self, measure: Measure) -> tuple[Interval, Interval]:
        """Return the lower bound of a measure, and its ratio to the reference's mean."""
        first = measure == self.contest.measures[0]
        if not self.contest.of_jobs:
            return Interval((first and bound_or_zero(self.contest.workload)) or None, None, None), UNKNOWN
        if measure.key != COMPLETION or not self.bounds:
            return UNKNOWN, UNKNOWN
        against = self.score(self.reference_for(measure) or "", measure)
        ratio = UNKNOWN if against is None else paired_ratio(self.bounds, against.values)
        return self.contest.in_unit(measure, interval(self.bounds)), ratio

    @cached_property
    def due(self) -> dict[int, int]:
        """Number of tasks whose delays a whole run measures, by seed."""
        tables = {run.seed: self.contest.workload.at(run.seed).jobs for standing in self.standings for run in standing.runs}
        return {seed: 0 if table is None else int((table.arrival >= self.warmup).sum()) for seed, table in tables.items()}

    @property
    def records(self) -> list[dict[str, Any]]:
        """A record for each standing. Intervals are [low, high], times in slots."""
        return [self._record(standing) for standing in self.standings]

    def _record(self, standing: Standing) -> dict[str, Any]:
        contest, runs, judgment = self.contest, standing.runs, standing.judgment
        record: dict[str, Any] = {
            **contest.workload.record,
            "servers": len(contest.workload.servers),
            "group": contest.group,
            "at": contest.at,
            "slots": contest.slots,
            "policy": standing.policy,
            "refused": standing.refused,
            "seeds": len(runs),
        }
        measures = {measure.key: Score(self, standing, measure).record for measure in contest.measures}
        stopped = {"stopped": next((run.stopped for run in runs if run.stopped), None)}
        supported: dict[str, Any] = {"supported": None}
        if judgment is not None:
            keys = ("low", "high", "claimed", "half", "two_thirds")
            supported["supported"] = {key: getattr(judgment, key) for key in keys} | {"rho": list(judgment.rho)}
        if contest.of_jobs:
            bound = {"completion_bound": interval(self.bounds).mean}
            return record | {"slot_seconds": contest.slot_seconds} | measures | bound | stopped
        if contest.to_the_end:
            return record | {"slot_seconds": contest.slot_seconds} | measures | stopped | supported
        queue = measures.pop("mean_queue")
        utilisation = [*zip(*(run.values["utilisation"] for run in runs), strict=True)]
        return {
            **record,
            "mean_queue": queue["mean"],
            "mean_queue_interval": queue["interval"],
            "reference": queue["reference"],
            "ratio": queue["ratio"],
            "ratio_interval": queue["ratio_interval"],
            "mean_delay": interval(run.values["mean_delay"] for run in runs).mean,
            "utilisation": [interval(column).mean for column in utilisation],
            **(combine(run.verdict for run in runs).plain if runs else {"verdict": None, "confidence": None}),
            **stopped,
            "mean_queue_by_seed": queue["by_seed"],
            "queue_bound": bound_or_zero(contest.workload),
            **measures,
            **supported,
        }


class Score(NamedTuple):
    """A policy's result for one measure in a contest."""

    ranking: Ranking
    standing: Standing
    measure: Measure

    @property
    def values(self) -> list[float | None]:
        """Values by seed. For a table run to its end, None if a task never started."""
        runs, contest = self.standing.runs, self.ranking.contest
        if contest.to_the_end and not contest.of_jobs:
            due = self.ranking.due
            complete = [run.delays is not None and sum(run.delays[1]) >= due[run.seed] for run in runs]
            return [
                run.values[self.measure.key] if is_complete else None for run, is_complete in zip(runs, complete, strict=True)
            ]
        return [run.values[self.measure.key] for run in runs]

    @property
    def in_slots(self) -> Interval:
        """Mean over the seeds, unknown unless all whole jobs ended."""
        return UNKNOWN if self.measure.every and None in self.values else interval(self.values)

    @property
    def mean(self) -> Interval:
        """The same in the unit of the heading."""
        return self.ranking.contest.in_unit(self.measure, self.in_slots)

    @property
    def ratio(self) -> Interval:
        """Ratio to the reference, unknown for the reference."""
        reference = self.ranking.reference_for(self.measure)
        against = None if reference in (None, self.policy) else self.ranking.score(str(reference), self.measure)
        return UNKNOWN if against is None or not self.standing.runs else paired_ratio(self.values, against.values)

    @property
    def policy(self) -> str:
        return self.standing.policy

    @property
    def kind(self) -> str:
        """Verdict on the queue. Tables run to their end count as stable."""
        return STABLE if self.ranking.contest.to_the_end else combine(run.verdict for run in self.standing.runs).kind

    @property
    def lines(self) -> list[str]:
        """The mean, and below it the ratio to the reference."""
        return lines_of(self.mean, self.ratio, MARKS[self.kind])

    @property
    def short(self) -> str:
        """The ratio, or the mean of the reference."""
        return self.lines[0] if self.ratio.mean is None else f"{self.ratio}{MARKS[self.kind]}"

    @property
    def record(self) -> dict[str, Any]:
        """Plain values, in slots."""
        ends = [
            None if estimate.low is None or estimate.high is None else [estimate.low, estimate.high]
            for estimate in (self.in_slots, self.ratio)
        ]
        return {
            "mean": self.in_slots.mean,
            "interval": ends[0],
            "reference": self.ranking.reference_for(self.measure),
            "ratio": self.ratio.mean,
            "ratio_interval": ends[1],
            "by_seed": self.values,
        }


def lines_of(mean: Interval, ratio: Interval, mark: str = "") -> list[str]:
    """Return a mean, and below it a ratio, if known."""
    first = estimate(mean.mean, half_of(mean)) + mark
    return [first] if ratio.mean is None else [first, str(ratio)]


def half_of(mean: Interval) -> float | None:
    """Return the half-width of an interval, None without one."""
    return None if mean.mean is None or mean.high is None else mean.high - mean.mean


class Group(NamedTuple):
    """A workload with the rankings at its loads."""

    name: str
    rankings: list[Ranking]

    @property
    def contests(self) -> list[Contest]:
        return [ranking.contest for ranking in self.rankings]

    @property
    def columns(self) -> list[tuple[Ranking, Measure]]:
        return [(ranking, measure) for ranking in self.rankings for measure in ranking.contest.measures]

    @property
    def headings(self) -> list[str]:
        return [ranking.contest.heading(measure) for ranking, measure in self.columns]

    @property
    def policies(self) -> list[str]:
        return [*dict.fromkeys(standing.policy for ranking in self.rankings for standing in ranking.standings)]

    @property
    def of_jobs(self) -> bool:
        return self.contests[0].of_jobs

    @property
    def to_the_end(self) -> bool:
        return self.contests[0].to_the_end

    @property
    def judgments(self) -> dict[str, Judgment]:
        """Judgments on the workload by policy."""
        every = [standing for ranking in self.rankings for standing in ranking.standings]
        return {standing.policy: standing.judgment for standing in every if standing.judgment is not None}

    def scores(self, policy: str) -> list[Score | None]:
        """Return a score for each column, None without runs."""
        return [ranking.score(policy, measure) for ranking, measure in self.columns]

    def bounds(self) -> list[tuple[Interval, Interval]]:
        """Return the lower bound of each column and its ratio, nothing if all are unknown."""
        bounds = [ranking.bound(measure) for ranking, measure in self.columns]
        return bounds if any(mean.mean for mean, _ in bounds) else []

    def best(self, column: int) -> Score | None:
        """Return the score with the least mean of the stable policies."""
        ranking, measure = self.columns[column]
        scores = [score for policy in self.policies if (score := ranking.score(policy, measure)) is not None]
        stable = [score for score in scores if score.kind == STABLE and score.mean.mean is not None]
        return min(stable, key=lambda score: score.mean.mean or 0.0, default=None)


def groups_of(rankings: Sequence[Ranking]) -> list[Group]:
    """Return the rankings by workload, in their order."""
    names = dict.fromkeys(ranking.contest.group for ranking in rankings)
    return [Group(name, [ranking for ranking in rankings if ranking.contest.group == name]) for name in names]
