"""Standings by workload: columns of measures, the scores in them, and the texts of their cells."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from packenv.cli.leaderboard.contests import Contest
from packenv.cli.leaderboard.standings import BEST, REFERENCE, Standing
from packenv.results.job_times import job_numbers
from packenv.results.stability import STABLE, UNDECIDED, UNSTABLE
from packenv.runs.measures import COMPLETION, SLOTS, Measure
from packenv.runs.statistics import UNKNOWN, Interval, interval
from packenv.runs.text import NONE, WIDE, counted, estimate, is_wide
from packenv.theory.completion.bound import SHOWN_AS as COMPLETION_BOUND
from packenv.theory.queue_bound.queue_bound import SHOWN_AS, known_bound
from packenv.theory.stability.judge import Judgment


class Column(NamedTuple):
    """A measure in a contest."""

    contest: Contest
    measure: Measure

    @property
    def unit(self) -> str:
        return "" if self.measure.unit != SLOTS else "slots" if self.contest.slot_seconds is None else "s"

    @property
    def heading(self) -> str:
        """How much arrives, and what is measured unless that is the mean queue of a load."""
        name = f"{self.measure.heading} ({self.unit})" if self.unit else self.measure.heading
        if not self.contest.of_jobs and self.measure == self.contest.measures[0]:
            return self.contest.at
        return f"{self.contest.at}, {name}" if self.contest.at else name

    def shown(self, found: Interval) -> Interval:
        """In the unit of the heading."""
        by = (self.contest.slot_seconds or 1.0) if self.measure.unit == SLOTS else 1.0
        return Interval(*(None if end is None else by * end for end in found))


class Score(NamedTuple):
    """How a standing did by one measure."""

    standing: Standing
    column: Column

    @property
    def policy(self) -> str:
        return self.standing.policy

    @property
    def mean(self) -> Interval:
        return self.column.shown(self.standing.mean(self.column.measure))

    @property
    def ratio(self) -> Interval:
        return self.standing.ratio(self.column.measure)

    @property
    def kind(self) -> str:
        """The verdict on the queue; whole jobs run to their end, whatever the load."""
        return STABLE if self.column.contest.of_jobs else self.standing.verdict.kind


class Group(NamedTuple):
    """A workload: its contests, and by policy the standings in them, None where a policy does not compete."""

    name: str
    contests: list[Contest]
    rows: dict[str, list[Standing | None]]

    @property
    def columns(self) -> list[Column]:
        return [Column(contest, measure) for contest in self.contests for measure in contest.measures]

    @property
    def of_jobs(self) -> bool:
        return self.contests[0].of_jobs

    def scores(self, policy: str) -> list[Score | None]:
        """One for each column; None where there are no runs."""
        found = zip(self.contests, self.rows[policy], strict=True)
        return [Score(one, Column(c, m)) if one is not None and one.runs else None for c, one in found for m in c.measures]

    def bounds(self) -> tuple[str, list[tuple[Interval, Interval]]]:
        """For whom the lower bounds hold, and by column the bound and its ratio to the reference; none if nothing is known."""
        if not self.of_jobs:
            queue = self.contests[0].measures[0]
            values = [known_bound(column.contest.workload) if column.measure == queue else 0.0 for column in self.columns]
            return SHOWN_AS, [(Interval(v or None, None, None), UNKNOWN) for v in values] if any(values) else []
        found = [self._completion(column) for column in self.columns]
        return COMPLETION_BOUND, found if any(mean.mean for mean, _ in found) else []

    def _completion(self, column: Column) -> tuple[Interval, Interval]:
        place = self.contests.index(column.contest)
        bounded = next((one for row in self.rows.values() if (one := row[place]) is not None and one.bounds), None)
        if column.measure.key != COMPLETION or bounded is None:
            return UNKNOWN, UNKNOWN
        return column.shown(interval(bounded.bounds)), bounded.bound_ratio


def groups_of(standings: Sequence[Standing]) -> list[Group]:
    """The standings by workload, in the order in which they come."""
    groups = []
    for name in dict.fromkeys(one.contest.group for one in standings):
        own = [one for one in standings if one.contest.group == name]
        contests = list({id(one.contest): one.contest for one in own}.values())
        by_place = {(id(one.contest), one.policy): one for one in own}
        policies = dict.fromkeys(one.policy for one in own)
        groups.append(Group(name, contests, {p: [by_place.get((id(c), p)) for c in contests] for p in policies}))
    return groups


MARKS = {STABLE: "", UNSTABLE: " ↑", UNDECIDED: " ?"}


def length_of(group: Group) -> str:
    """`16 seeds of 1,000,000 slots`, each length once; `16 tables of 200 jobs`."""
    runs = [one.runs for row in group.rows.values() for one in row if one is not None and one.runs]
    seeds = max(map(len, runs), default=0)
    if group.of_jobs:
        table = group.contests[0].workload.jobs
        assert table is not None
        of = counted(int(job_numbers(table).max()) + 1, "job")
        drawn = group.contests[0].workload.draw is not None
        return f"{counted(seeds, 'table')} of {of}" if drawn else of
    lengths = sorted({contest.slots or 0 for contest in group.contests})
    of = " and ".join(f"{slots:,} slots" if slots else "its own length" for slots in lengths)
    return f"{seeds} seeds of {of}" if seeds > 1 else of


def cell(score: Score | None) -> list[str]:
    """The mean, and under it the ratio to the reference."""
    return [NONE] if score is None else lines(score.mean, score.ratio, MARKS[score.kind])


def lines(mean: Interval, ratio: Interval, mark: str = "") -> list[str]:
    shown = estimate(mean.mean, half_of(mean)) + mark
    return [shown] if ratio.mean is None else [shown, str(ratio)]


def half_of(mean: Interval) -> float | None:
    """The half-width of an interval, if there is one."""
    return None if mean.mean is None or mean.high is None else mean.high - mean.mean


def judgment_of(row: Sequence[Standing | None]) -> Judgment | None:
    """The judgment of a policy on the workload, whatever the load; None without one."""
    return next((one.judgment for one in row if one is not None and one.judgment is not None), None)


def supported(row: Sequence[Standing | None]) -> tuple[str, str, str]:
    """Supported fraction of ρ*, and what became of ½ and ⅔."""
    judgment = judgment_of(row)
    if judgment is None:
        return NONE, NONE, NONE
    return f"{judgment.low:.3f} – {judgment.high:.3f}", judgment.half, judgment.two_thirds


def legend(groups: Sequence[Group], reference: str | None) -> str:
    """What the numbers of the tables are, and those marks that occur. `reference` as it was asked for, None for the usual."""
    scores = [score for group in groups for policy in group.rows for score in group.scores(policy) if score is not None]
    several = any(len(score.standing.runs) > 1 for score in scores)
    of_jobs = {score.column.contest.of_jobs for score in scores}
    measured = {frozenset({True}): "Means", frozenset({False}): "Mean queue"}.get(frozenset(of_jobs), "Mean queue, or means")
    said = [f"{measured}{' ± 95 % over the seeds' if several else ''}"]
    if any(score.ratio.mean is not None for score in scores):
        usual = dict.fromkeys("the best of the column" if jobs else REFERENCE for jobs in sorted(of_jobs))
        to = " or ".join(usual) if reference is None else "the best of the column" if reference == BEST else reference
        said.append(f"below it the ratio to {to} on the same jobs{', [95 % interval]' if several else ''}")
    if True in of_jobs:
        said.append("completion from a job's first arrival to its last end; unfairness: 0 is fair, 1 is no share")
    kinds = {score.kind for score in scores}
    if UNSTABLE in kinds:
        said.append("↑ unstable: the mean says how long the run was")
    if UNDECIDED in kinds:
        said.append("? not known to be stable")
    if any(is_wide(score.mean.mean, half_of(score.mean)) for score in scores):
        said.append(WIDE)
    return "; ".join(said) + "."
