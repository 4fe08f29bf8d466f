"""Standings by workload, as columns of measures and the scores in them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from packenv.cli.leaderboard.contests import Contest
from packenv.cli.leaderboard.standings import Standing
from packenv.results.stability import STABLE
from packenv.runs.measures import COMPLETION, SLOTS, Measure
from packenv.runs.statistics import UNKNOWN, Interval, interval
from packenv.theory.completion.bound import SHOWN_AS as COMPLETION_BOUND
from packenv.theory.queue_bound.queue_bound import SHOWN_AS, known_bound


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
