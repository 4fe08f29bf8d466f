"""The page of `packenv leaderboard`: mean queues, or measures of whole jobs, as multiples of the reference's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from packenv.cli.leaderboard.cells import legend, length_of
from packenv.cli.leaderboard.measures import BEST
from packenv.cli.leaderboard.plot import limits_of
from packenv.cli.leaderboard.scores import Column, Group, Score
from packenv.cli.leaderboard.standings import reference_of
from packenv.cli.leaderboard.tables import terminal_table
from packenv.cli.report.drawing import Key, Rule, colours_of
from packenv.cli.report.page import Figure, Report, Section
from packenv.cli.report.profile import profile_section
from packenv.cli.report.rows import Entry, Mark, RowChart
from packenv.cli.report.tables import rows_of
from packenv.results.stability import STABLE, UNSTABLE
from packenv.runs.text import number

SHAPES = {UNSTABLE: "cross"}
MARKS = (
    Key("var(--muted)", "stable", "●"),
    Key("var(--muted)", "not known to be stable", "○"),
    Key("var(--muted)", "unstable", "✚"),
)


def leaderboard_report(groups: Sequence[Group], reference: str | None, notices: Sequence[str]) -> Report:
    """`notices`: which policies do not compete where, and why."""
    references = list(dict.fromkeys(reference_of(contest, reference) for group in groups for contest in group.contests))
    policies = list(dict.fromkeys([*references, *(policy for group in groups for policy in group.rows)]))
    policies = [policy for policy in policies if policy != BEST]
    colours = dict(zip(policies, colours_of(policies), strict=True))
    sections = [_section(group, reference, colours) for group in groups]
    tables = [contest.workload for group in groups for contest in group.contests[:1] if contest.workload.jobs is not None]
    profiles = [profile_section(workload.at(0), None) for workload in tables]
    asked = [
        ("Workloads", "; ".join(contest.name for group in groups for contest in group.contests)),
        ("Policies", ", ".join(policies)),
        ("Reference", ", ".join("the best of each measure" if name == BEST else name for name in references)),
        ("Runs", "; ".join(dict.fromkeys(length_of(group) for group in groups))),
    ]
    title = f"{len(policies)} policies on the same tasks"
    return Report(title, _answer(groups), asked, [*sections, *(each for each in profiles if each is not None)], notices)


def _answer(groups: Sequence[Group]) -> str:
    """How often each policy is best, of those that are stable: in the mean queue, and in measures of whole jobs."""
    said = [_of_queues([group for group in groups if not group.of_jobs]), *map(_of_jobs, groups)]
    return " ".join(filter(None, said))


def _of_queues(groups: Sequence[Group]) -> str:
    if not groups:
        return ""
    won: Counter[str] = Counter()
    contests = sum(len(group.columns) for group in groups)
    for group in groups:
        for column in group.columns:
            best = _best(group, column)
            if best is not None:
                won[best.policy] += 1
    if not won:
        return "No policy is known to be stable on any of the workloads."
    if contests == 1:
        return f"{next(iter(won))} has the shortest mean queue of the policies that are stable."
    said = ", ".join(f"{policy} on {count}" for policy, count in won.most_common())
    return f"The shortest mean queue of the policies that are stable, on {contests} workloads and loads: {said}."


def _of_jobs(group: Group) -> str:
    """The policy with the least of each measure."""
    if not group.of_jobs:
        return ""
    found = [(column, best) for column in group.columns if (best := _best(group, column)) is not None]
    each = (f"{column.heading} {best.policy}, {number(best.mean.mean)}" for column, best in found)
    return f"The least on {group.name}: {'; '.join(each)}." if found else f"No policy ended all jobs of {group.name}."


def _best(group: Group, column: Column) -> Score | None:
    """The score with the least mean of the policies that are stable."""
    place = group.columns.index(column)
    found = [score for policy in group.rows if (score := group.scores(policy)[place]) is not None and score.kind == STABLE]
    known = [score for score in found if score.mean.mean is not None]
    return min(known, key=lambda score: score.mean.mean or 0.0, default=None)


def _section(group: Group, reference: str | None, colours: dict[str, str]) -> Section:
    entries, said = [], []
    for n, column in enumerate(group.columns):
        scores = [group.scores(policy)[n] for policy in group.rows]
        shown = [score for score in scores if score is not None and score.ratio.mean]
        if shown:
            against = shown[0].standing.references[column.measure]
            entries.append(Entry(column.heading))
            entries += [_entry(score, colours[score.policy]) for score in shown]
            least = min(shown, key=lambda score: (score.ratio.mean or 0.0, score.policy))
            where = f"at {column.contest.at} " if column.contest.at else ""
            said.append(f"{where}{least.policy} has {number(least.ratio.mean)} times the {column.measure.name} of {against}")
    to = reference_of(group.contests[0], reference)
    what = "as a multiple of the best policy's" if to == BEST else f"as a multiple of {to}'s"
    title = what if group.of_jobs else f"mean queue, {what}"
    rule = Rule(1.0, "best" if to == BEST else to)
    marks = () if group.of_jobs else MARKS
    chart = RowChart(entries, title, limits_of(group), [rule], log=True, marks=marks)
    if group.of_jobs:
        name, bounds = group.bounds()
        known = [(c, mean, ratio) for c, (mean, ratio) in zip(group.columns, bounds, strict=False) if mean.mean]
        said += [f"the {name} on the {c.heading} is {number(mean.mean)}, {ratio} of the reference's" for c, mean, ratio in known]
    finding = f"{'The nearest' if to == BEST else 'The least'}: {'; '.join(said)}.{chart.note}"
    caption = "Whole jobs beside the reference" if group.of_jobs else "Mean queues beside the reference"
    figures = [Figure(caption, finding, chart)] if entries else []
    table = rows_of(terminal_table(group), "Whole jobs" if group.of_jobs else "Mean queues")
    return Section(f"{group.name}, {length_of(group)}", figures, [legend([group], reference)], [table])


def _entry(one: Score, colour: str) -> Entry:
    assert one.ratio.mean is not None
    said = f"{one.policy}: {one.ratio}" + ("" if one.column.contest.of_jobs else f", {one.kind}")
    mark = Mark(one.ratio.mean, SHAPES.get(one.kind, "circle"), one.kind != "undecided", said)
    return Entry(one.policy, colour, one.ratio.low, one.ratio.high, [mark], str(one.ratio))
