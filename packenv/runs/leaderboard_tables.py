"""Tables of a leaderboard: standings by workload, scores, and legends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from packenv.content.tables import Column as TableColumn
from packenv.content.tables import Styled, Table, Tables, numbers
from packenv.content.text import NONE, WIDE, counted, estimate, is_wide
from packenv.results.job_times import job_numbers
from packenv.results.stability import STABLE, UNDECIDED, UNSTABLE
from packenv.runs.contest import Contest
from packenv.runs.measures import COMPLETION, SLOTS, Measure
from packenv.runs.standing import BEST, REFERENCE, Standing
from packenv.runs.statistics import UNKNOWN, Interval, interval
from packenv.theory.completion.bound import SHOWN_AS as COMPLETION_BOUND
from packenv.theory.queue_bound.queue_bound import SHOWN_AS, bound_or_zero
from packenv.theory.stability.judgment import STATUS_COLOURS, Judgment

MARKS = {STABLE: "", UNSTABLE: " ↑", UNDECIDED: " ?"}
COLOURS = {STABLE: "", UNSTABLE: "red", UNDECIDED: "yellow"}
COMPLETED = "mean completion"
GUARANTEES = ("≥ ½", "≥ ⅔")


class Column(NamedTuple):
    """A measure in a contest."""

    contest: Contest
    measure: Measure

    @property
    def unit(self) -> str:
        return "" if self.measure.unit != SLOTS else "slots" if self.contest.slot_seconds is None else "s"

    @property
    def heading(self) -> str:
        """Load, and the measure unless it is the mean queue."""
        name = f"{self.measure.heading} ({self.unit})" if self.unit else self.measure.heading
        if self.contest.workload.jobs is not None and self.contest.slots is not None:  # the same table may be run to its end
            name = f"{name} in {self.contest.slots:,} slots"
        elif not self.contest.to_the_end and self.measure == self.contest.measures[0]:
            return self.contest.at
        return f"{self.contest.at}, {name}" if self.contest.at else name

    def in_unit(self, mean: Interval) -> Interval:
        """Return the value in the unit of the heading."""
        by = (self.contest.slot_seconds or 1.0) if self.measure.unit == SLOTS else 1.0
        return Interval(*(None if end is None else by * end for end in mean))


class Score(NamedTuple):
    """A standing's result for one measure."""

    standing: Standing
    column: Column

    @property
    def policy(self) -> str:
        return self.standing.policy

    @property
    def mean(self) -> Interval:
        return self.column.in_unit(self.standing.mean(self.column.measure))

    @property
    def ratio(self) -> Interval:
        return self.standing.ratio(self.column.measure)

    @property
    def kind(self) -> str:
        """Verdict on the queue. Tables run to their end count as stable."""
        return STABLE if self.column.contest.to_the_end else self.standing.verdict.kind

    def lines(self) -> list[str]:
        """Return the mean, and below it the ratio to the reference."""
        return lines_of(self.mean, self.ratio, MARKS[self.kind])


class Group(NamedTuple):
    """A workload with its contests, and the standings by policy.

    A standing is None if the policy does not compete.
    """

    name: str
    contests: list[Contest]
    rows: dict[str, list[Standing | None]]

    @property
    def columns(self) -> list[Column]:
        return [Column(contest, measure) for contest in self.contests for measure in contest.measures]

    @property
    def of_jobs(self) -> bool:
        return self.contests[0].of_jobs

    @property
    def to_the_end(self) -> bool:
        return self.contests[0].to_the_end

    @property
    def judged(self) -> bool:
        return any(map(judgment_of, self.rows.values()))

    def scores(self, policy: str) -> list[Score | None]:
        """Return a score for each column, None without runs."""
        pairs = zip(self.contests, self.rows[policy], strict=True)
        return [Score(cell, Column(c, m)) if cell is not None and cell.runs else None for c, cell in pairs for m in c.measures]

    def bounds(self) -> tuple[str, list[tuple[Interval, Interval]]]:
        """Return the scope of lower bounds, and by column the bound and its ratio."""
        if not self.of_jobs:
            queue = self.contests[0].measures[0]
            values = [bound_or_zero(column.contest.workload) if column.measure == queue else 0.0 for column in self.columns]
            return SHOWN_AS, [(Interval(v or None, None, None), UNKNOWN) for v in values] if any(values) else []
        bounds = [self._completion(column) for column in self.columns]
        return COMPLETION_BOUND, bounds if any(mean.mean for mean, _ in bounds) else []

    def _completion(self, column: Column) -> tuple[Interval, Interval]:
        place = self.contests.index(column.contest)
        bounded = next((standing for row in self.rows.values() if (standing := row[place]) is not None and standing.bounds), None)
        if column.measure.key != COMPLETION or bounded is None:
            return UNKNOWN, UNKNOWN
        return column.in_unit(interval(bounded.bounds)), bounded.bound_ratio

    def best(self, column: int) -> Score | None:
        """Return the score with the least mean of the stable policies."""
        scores = [score for policy in self.rows if (score := self.scores(policy)[column]) is not None and score.kind == STABLE]
        scores = [score for score in scores if score.mean.mean is not None]
        return min(scores, key=lambda score: score.mean.mean or 0.0, default=None)


def groups_of(standings: Sequence[Standing]) -> list[Group]:
    """Return the standings by workload, in their order."""
    groups = []
    for name in dict.fromkeys(standing.contest.group for standing in standings):
        members = [standing for standing in standings if standing.contest.group == name]
        contests = list({id(standing.contest): standing.contest for standing in members}.values())
        by_place = {(id(standing.contest), standing.policy): standing for standing in members}
        policies = dict.fromkeys(standing.policy for standing in members)
        groups.append(Group(name, contests, {p: [by_place.get((id(c), p)) for c in contests] for p in policies}))
    return groups


def best_scores(standings: Sequence[Standing]) -> list[tuple[str, str]]:
    """Return the best stable policy by workload, load and measure."""
    facts = []
    for group in groups_of(standings):
        for n, column in enumerate(group.columns):
            best, measure = group.best(n), f"{column.measure.heading}{f' ({column.unit})' if column.unit else ''}"
            leader = "no policy is known to be stable" if best is None else f"{best.policy}, {best.lines()[0]}"
            facts.append((column.contest.name, f"least {measure}: {leader}"))
    return facts


def title_of(group: Group) -> str:
    """Return the workload, and the length of its runs."""
    return f"{group.name}, {length_of(group)}"


def length_of(group: Group) -> str:
    """Return seeds and lengths, such as `16 seeds of 1,000,000 slots`."""
    runs = [standing.runs for row in group.rows.values() for standing in row if standing is not None and standing.runs]
    seeds = max(map(len, runs), default=0)
    if group.of_jobs:
        table = group.contests[0].workload.jobs
        assert table is not None
        jobs = counted(int(job_numbers(table).max()) + 1, "job")
        drawn = group.contests[0].workload.draw is not None
        return f"{counted(seeds, 'table')} of {jobs}" if drawn else jobs
    table = group.contests[0].workload.jobs
    lengths = sorted({contest.slots or 0 for contest in group.contests})
    whole = "" if table is None else counted(len(table), "task")
    slots = " and ".join(f"{length:,} slots" if length else f"{whole}, to the end" for length in lengths)
    return f"{seeds} seeds of {slots}" if seeds > 1 else slots


def lines_of(mean: Interval, ratio: Interval, mark: str = "") -> list[str]:
    first = estimate(mean.mean, half_of(mean)) + mark
    return [first] if ratio.mean is None else [first, str(ratio)]


def half_of(mean: Interval) -> float | None:
    """Return the half-width of an interval, None without one."""
    return None if mean.mean is None or mean.high is None else mean.high - mean.mean


def judgment_of(row: Sequence[Standing | None]) -> Judgment | None:
    """Return the judgment of a policy on the workload, None without one."""
    return next((standing.judgment for standing in row if standing is not None and standing.judgment is not None), None)


def supported(row: Sequence[Standing | None]) -> tuple[str, str, str]:
    """Return the supported fraction of ρ*, and the verdicts on ½ and ⅔."""
    judgment = judgment_of(row)
    if judgment is None:
        return NONE, NONE, NONE
    return f"{judgment.low:.3f} – {judgment.high:.3f}", judgment.half, judgment.two_thirds


def standings_table(group: Group) -> Table:
    """Return a column for each load or measure, and the supported share.

    Means of unstable and undecided runs are coloured.
    """
    judged = group.judged
    heads = [*(column.heading for column in group.columns), *(("supported", *GUARANTEES) if judged else ())]
    table = Table("", [TableColumn("policy"), *numbers(*heads)], edge=False)
    for policy, row in group.rows.items():
        texts = supported(row) if judged else ()
        table.add(policy, *map(_cell, group.scores(policy)), *(Styled(text, STATUS_COLOURS.get(text, "")) for text in texts))
    name, bounds = group.bounds()
    if bounds:
        table.add(name, *("\n".join(lines_of(*bound)) for bound in bounds), *([""] * 3 if judged else ()), style="dim")
    return table


def matrix(groups: Sequence[Group], reference: str | None) -> Tables:
    """Return a row for each policy, a column for each workload and load.

    Cells are ratios of mean queues or mean completion times. The reference has its mean instead.
    """
    workloads, rows = matrix_scores(groups)
    table = Table("", [TableColumn("policy"), *numbers(*workloads)], edge=False)
    for policy, scores in rows.items():
        table.add(policy, *map(_ratio_cell, scores))
    ratios = f"{ratios_of(rows, reference)} on the same jobs, [95 % interval]; that policy has its mean"
    return Tables([table], ["; ".join([ratios, *_marks([score for scores in rows.values() for score in scores if score])]) + "."])


def matrix_scores(groups: Sequence[Group]) -> tuple[list[str], dict[str, list[Score | None]]]:
    """Return the names of workloads and loads, and scores by policy.

    Scores are of the first measure.
    """
    places = [
        (group, n) for group in groups for n, column in enumerate(group.columns) if column.measure == column.contest.measures[0]
    ]
    policies = dict.fromkeys(policy for group in groups for policy in group.rows)
    scores = {policy: [g.scores(policy)[n] if policy in g.rows else None for g, n in places] for policy in policies}
    return [group.columns[n].contest.name for group, n in places], scores


def ratios_of(rows: Mapping[str, Sequence[Score | None]], reference: str | None) -> str:
    """Return the title of a matrix, such as `Ratios of mean queue to bf-js`."""
    contests = [score.column.contest for scores in rows.values() for score in scores if score is not None]
    of_jobs, names = sorted({contest.of_jobs for contest in contests}), " or ".join(_measured(contests))
    return f"Ratios of {names} to {_divisor(of_jobs, reference)}"


def _ratio_cell(score: Score | None) -> str:
    if score is None:
        return NONE
    text = score.lines()[0] if score.ratio.mean is None else f"{score.ratio}{MARKS[score.kind]}"
    return Styled(text, COLOURS[score.kind])


def _cell(score: Score | None) -> str:
    if score is None:
        return NONE
    first, *others = score.lines()
    return Styled.of((first, COLOURS[score.kind]), *((f"\n{line}", "dim") for line in others))


def markdown(groups: Sequence[Group], reference: str | None) -> str:
    """Return the tables for a page, with the meaning of their marks."""
    parts = []
    for group in groups:
        judged = group.judged
        workload = group.contests[0].workload.name
        title = f"`{workload}`{group.name.removeprefix(workload)}, {length_of(group)}"  # outside of the quotes, how many servers
        supports = ("supported share of ρ*", *GUARANTEES) if judged else ()
        rows = [[title, *(column.heading for column in group.columns), *supports]]
        rows.append(["---", *["--:"] * (len(rows[0]) - 1)])
        for policy, row in group.rows.items():
            cells = ("<br>".join(score.lines()) if score is not None else NONE for score in group.scores(policy))
            rows.append([f"`{policy}`", *cells, *(supported(row) if judged else ())])
        name, bounds = group.bounds()
        if bounds:
            rows.append([name, *("<br>".join(lines_of(*bound)) for bound in bounds), *[NONE] * len(supports)])
        parts.append("\n".join(f"| {' | '.join(row)} |" for row in rows))
    return "\n\n".join([*parts, legend(groups, reference)])


def legend(groups: Sequence[Group], reference: str | None) -> str:
    """Return the meaning of numbers and marks. `reference`: None for the usual."""
    scores = [score for group in groups for policy in group.rows for score in group.scores(policy) if score is not None]
    several = any(len(score.standing.runs) > 1 for score in scores)
    contests = [score.column.contest for score in scores]
    of_jobs = {contest.of_jobs for contest in contests}
    names = ["means" if name == COMPLETED else name for name in _measured(contests)]
    measured = ", or ".join(names).capitalize()
    marks = [f"{measured}{' ± 95 % over the seeds' if several else ''}"]
    if any(score.ratio.mean is not None for score in scores):
        to = _divisor(sorted(of_jobs), reference)
        marks.append(f"below it the ratio to {to} on the same jobs{', [95 % interval]' if several else ''}")
    if True in of_jobs:
        marks.append("completion from a job's first arrival to its last end; unfairness: 0 is fair, 1 is no share")
    if any(not score.column.contest.of_jobs and score.column.contest.to_the_end and score.mean.mean is None for score in scores):
        marks.append("–: not all tasks started")
    marks += _marks(scores)
    if any(is_wide(score.mean.mean, half_of(score.mean)) for score in scores):
        marks.append(WIDE)
    return "; ".join(marks) + "."


def _measured(contests: Sequence[Contest]) -> list[str]:
    """Return the first measures of the contests."""
    names = {contest.measured for contest in contests}
    return [name for name in ("mean queue", "mean delay", COMPLETED) if name in names]


def _divisor(of_jobs: Sequence[bool], reference: str | None) -> str:
    """Return the references for queues and whole jobs. None: the usual."""
    usual = dict.fromkeys("the best of the column" if jobs else REFERENCE for jobs in of_jobs)
    return " or ".join(usual) if reference is None else "the best of the column" if reference == BEST else reference


def _marks(scores: Sequence[Score]) -> list[str]:
    """Return the meaning of the verdicts' marks."""
    kinds = {score.kind for score in scores}
    unstable = ["↑ unstable: the mean depends on the length of the run"] if UNSTABLE in kinds else []
    return [*unstable, *(["? not known to be stable"] if UNDECIDED in kinds else [])]
