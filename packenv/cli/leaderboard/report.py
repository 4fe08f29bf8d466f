"""The page of `packenv leaderboard`: mean queues, or measures of whole jobs, as multiples of the reference's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from packenv.cli.leaderboard.scores import Column, Group, Score, legend, length_of
from packenv.cli.leaderboard.standings import BEST, reference_of
from packenv.cli.leaderboard.tables import terminal_table
from packenv.report.charts import Entry, Key, Mark, RowChart, Rule
from packenv.report.page import Figure, Report, Section
from packenv.report.pictures import Picture, picture_of
from packenv.report.plot_style import GREY, colours_for
from packenv.report.workload_charts import profile_section
from packenv.results.stability import STABLE, UNDECIDED, UNSTABLE
from packenv.runs.text import number

SHAPES = {UNSTABLE: "X"}
MARKS = Key(GREY, "stable", "o"), Key(GREY, "not known to be stable", "o", False), Key(GREY, "unstable", "X")
MARGIN = 1.6  # room beyond the largest and the least ratio


def leaderboard_report(groups: Sequence[Group], reference: str | None, notices: Sequence[str]) -> Report:
    """`notices`: which policies do not compete where, and why."""
    references = list(dict.fromkeys(reference_of(contest, reference) for group in groups for contest in group.contests))
    colours = _colours(groups, reference)
    policies = [*colours]
    sections = []
    for group in groups:
        table = replace(terminal_table(group), title="Whole jobs" if group.of_jobs else "Mean queues")
        figures = _figure(group, reference, colours)
        sections.append(Section(f"{group.name}, {length_of(group)}", figures, [legend([group], reference)], [table]))
    tables = [contest.workload for group in groups for contest in group.contests[:1] if contest.workload.jobs is not None]
    profiles = [profile_section(workload.at(0)) for workload in tables]
    asked = [
        ("Workloads", "; ".join(contest.name for group in groups for contest in group.contests)),
        ("Policies", ", ".join(policies)),
        ("Reference", ", ".join("the best of each measure" if name == BEST else name for name in references)),
        ("Runs", "; ".join(dict.fromkeys(length_of(group) for group in groups))),
    ]
    title = f"{len(policies)} policies on the same tasks"
    return Report(title, _answer(groups), asked, [*sections, *(each for each in profiles if each is not None)], notices)


def ratios_chart(groups: Sequence[Group], reference: str | None) -> Picture:
    """The same charts below each other."""
    colours = _colours(groups, reference)
    figures = ((group, figure) for group in groups for figure in _figure(group, reference, colours))
    return picture_of("", [figure._replace(heading=group.name) for group, figure in figures])


def _colours(groups: Sequence[Group], reference: str | None) -> dict[str, str]:
    """By policy, the reference first."""
    references = [reference_of(contest, reference) for group in groups for contest in group.contests]
    named = dict.fromkeys([*references, *(policy for group in groups for policy in group.rows)])
    policies = [policy for policy in named if policy != BEST]
    return dict(zip(policies, colours_for(policies), strict=True))


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


def _figure(group: Group, reference: str | None, colours: dict[str, str]) -> list[Figure]:
    """A row for each policy in each load, or measure of whole jobs; the axis goes as far as those that are not unstable.

    The means of the others say how long the runs were; they lie at its end.
    """
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
            said.append(f"{where}{least.policy} has {number(least.ratio.mean)} times the {column.measure.heading} of {against}")
    to = reference_of(group.contests[0], reference)
    what = "as a multiple of the best policy's" if to == BEST else f"as a multiple of {to}'s"
    title = what if group.of_jobs else f"mean queue, {what}"
    rule = Rule(1.0, "best" if to == BEST else to)
    marks = () if group.of_jobs else MARKS
    chart = RowChart(entries, title, _limits(group), [rule], log=True, marks=marks)
    if group.of_jobs:
        name, bounds = group.bounds()
        known = [(c, mean, ratio) for c, (mean, ratio) in zip(group.columns, bounds, strict=False) if mean.mean]
        said += [f"the {name} on the {c.heading} is {number(mean.mean)}, {ratio} of the reference's" for c, mean, ratio in known]
    finding = f"{'The nearest' if to == BEST else 'The least'}: {'; '.join(said)}.{chart.note}"
    caption = "Whole jobs beside the reference" if group.of_jobs else "Mean queues beside the reference"
    return [Figure(caption, finding, chart)] if entries else []


def _limits(group: Group) -> tuple[float, float]:
    """Room for 1, and for the ratios of all that are not unstable."""
    found = [score for policy in group.rows for score in group.scores(policy) if score is not None and score.ratio.mean]
    ratios = [1.0, *(score.ratio.mean or 1.0 for score in found if score.kind != UNSTABLE)]
    return min(ratios) / MARGIN, max(ratios) * MARGIN


def _entry(one: Score, colour: str) -> Entry:
    assert one.ratio.mean is not None
    mark = Mark(one.ratio.mean, SHAPES.get(one.kind, "o"), one.kind != UNDECIDED)
    return Entry(one.policy, colour, one.ratio.low, one.ratio.high, [mark], str(one.ratio))
