"""Charts and page of a leaderboard, as multiples of the reference's measures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from packenv.content.charts import GREY, ChartRow, GridChart, Guide, Key, Mark, RowChart, Square, colours_for
from packenv.content.page import Charts, Figure, Page, Section
from packenv.content.text import NONE, number
from packenv.results.stability import UNDECIDED, UNSTABLE
from packenv.runs.leaderboard_tables import (
    bound_name,
    legend,
    length_of,
    matrix,
    matrix_scores,
    ratios_of,
    standings_table,
    title_of,
)
from packenv.runs.ranking import BEST, Group, Score

SHAPES = {UNSTABLE: "X"}
MARKS = Key(GREY, "stable", "o"), Key(GREY, "not known to be stable", "o", False), Key(GREY, "unstable", "X")
MARGIN = 1.6  # room beyond the largest and the least ratio


def page_of(groups: Sequence[Group], reference: str | None, refusals: Sequence[str]) -> Page:
    references = list(dict.fromkeys(ranking.divisor for group in groups for ranking in group.rankings))
    colours = _colours(groups)
    sections = []
    if sum(len(group.contests) for group in groups) > 1:
        tables = matrix(groups, reference)
        sections.append(Section("All workloads", [_matrix_figure(groups, reference)], tables.notes, tables.tables))
    for group in groups:
        table = replace(standings_table(group), title=_caption(group))
        sections.append(Section(title_of(group), _figure(group, colours), [legend([group], reference)], [table]))
    played = [contest.workload for group in groups for contest in group.contests[:1]]
    settings = [
        ("Workloads", "; ".join(contest.name for group in groups for contest in group.contests)),
        ("Policies", ", ".join(colours)),
        ("Reference", ", ".join("the best of each measure" if name == BEST else name for name in references)),
        ("Runs", "; ".join(dict.fromkeys(length_of(group) for group in groups))),
    ]
    title, tabled = f"{len(colours)} policies on the same tasks", [workload.at(0) for workload in played]
    return Page(title, _answer(groups), settings, sections, refusals, tabled)


def ratios_charts(groups: Sequence[Group], reference: str | None) -> Charts:
    """Return the charts of all groups, below each other."""
    colours = _colours(groups)
    figures = ((group, figure) for group in groups for figure in _figure(group, colours))
    return Charts("", [figure._replace(heading=group.name) for group, figure in figures])


def matrix_charts(groups: Sequence[Group], reference: str | None) -> Charts:
    """Return all ratios as a coloured grid."""
    return Charts("", [_matrix_figure(groups, reference)])


def _matrix_figure(groups: Sequence[Group], reference: str | None) -> Figure:
    """Draw the grid, with each policy's wins and unstable runs in the text."""
    workloads, rows = matrix_scores(groups)
    squares = [[_square(score) for score in scores] for scores in rows.values()]
    sentences = []
    for policy, scores in rows.items():
        ratios = [score for score in scores if score is not None and score.ratio.mean is not None]
        unstable = sum(score.kind == UNSTABLE for score in ratios)
        below = sum(score.kind != UNSTABLE and (score.ratio.mean or 1.0) < 1 for score in ratios)
        if ratios:
            sentences.append(f"{policy} below 1 on {below} of {len(ratios)}{f', unstable on {unstable}' if unstable else ''}")
    doubt = any(score.kind == UNDECIDED for scores in rows.values() for score in scores if score is not None)
    heading = ratios_of(rows, reference) + ("; ?: undecided" if doubt else "")
    return Figure(heading, f"{'; '.join(sentences)}.", GridChart([*rows], workloads, squares))


def _square(score: Score | None) -> Square:
    """Return the ratio, or the mean of the reference, with any doubt."""
    if score is None:
        return Square(None, NONE)
    ratio = score.ratio.mean
    text = number(ratio) if ratio is not None else f"mean\n{number(score.mean.mean)}"
    return Square(ratio, text + {UNSTABLE: "\nunstable", UNDECIDED: " ?"}.get(score.kind, ""))


def _colours(groups: Sequence[Group]) -> dict[str, str]:
    """Return the colour of each policy, the reference first."""
    references = [ranking.divisor for group in groups for ranking in group.rankings]
    named = dict.fromkeys([*references, *(policy for group in groups for policy in group.policies)])
    policies = [policy for policy in named if policy != BEST]
    return dict(zip(policies, colours_for(policies), strict=True))


def _answer(groups: Sequence[Group]) -> str:
    """Return how often each policy is the best stable one."""
    sentences = [_of_queues([group for group in groups if not group.to_the_end]), *map(_of_jobs, groups)]
    return " ".join(filter(None, sentences))


def _of_queues(groups: Sequence[Group]) -> str:
    if not groups:
        return ""
    contests = sum(len(group.columns) for group in groups)
    best = [group.best(n) for group in groups for n in range(len(group.columns))]
    wins = Counter(score.policy for score in best if score is not None)
    if not wins:
        return "No policy is known to be stable on any of the workloads."
    if contests == 1:
        return f"{next(iter(wins))} has the shortest mean queue of the policies that are stable."
    counts = ", ".join(f"{policy} on {count}" for policy, count in wins.most_common())
    return f"The shortest mean queue of the policies that are stable, on {contests} workloads and loads: {counts}."


def _of_jobs(group: Group) -> str:
    """Return the best policy of each measure for tables run to their end."""
    if not group.to_the_end:
        return ""
    best = [(heading, score) for n, heading in enumerate(group.headings) if (score := group.best(n)) is not None]
    least = "; ".join(f"{heading} {score.policy}, {number(score.mean.mean)}" for heading, score in best)
    of = "jobs" if group.of_jobs else "tasks"
    return f"The least on {group.name}: {least}." if best else f"No policy ended all {of} of {group.name}."


def _caption(group: Group) -> str:
    return "Whole jobs" if group.of_jobs else f"{group.contests[0].measures[0].heading.capitalize()}s"


def _figure(group: Group, colours: dict[str, str]) -> list[Figure]:
    """Draw a row for each policy in each load, or measure of whole jobs.

    The axis covers policies that are not unstable. Others lie at its end, as their means depend on the length of the runs.
    """
    entries, sentences = [], []
    for (ranking, measure), heading in zip(group.columns, group.headings, strict=True):
        in_contest = [ranking.score(policy, measure) for policy in group.policies]
        scores = [score for score in in_contest if score is not None and score.ratio.mean]
        if not scores:
            continue
        entries += [ChartRow(heading), *(_entry(score, colours[score.policy]) for score in scores)]
        least = min(scores, key=lambda score: (score.ratio.mean or 0.0, score.policy))
        where, against = f"at {ranking.contest.at} " if ranking.contest.at else "", ranking.reference_for(measure)
        sentences.append(f"{where}{least.policy} has {number(least.ratio.mean)} times the {measure.heading} of {against}")
    to = group.rankings[0].divisor
    multiple = "as a multiple of the best policy's" if to == BEST else f"as a multiple of {to}'s"
    title = multiple if group.of_jobs else f"{group.contests[0].measures[0].heading}, {multiple}"
    marks = () if group.to_the_end else MARKS
    chart = RowChart(entries, title, _limits(group), [Guide(1.0, "best" if to == BEST else to)], log=True, marks=marks)
    if group.of_jobs:
        for heading, (mean, ratio) in zip(group.headings, group.bounds(), strict=False):
            if mean.mean:
                sentences.append(f"the {bound_name(group)} on the {heading} is {number(mean.mean)}, {ratio} of the reference's")
    finding = f"{'The nearest' if to == BEST else 'The least'}: {'; '.join(sentences)}.{chart.note}"
    return [Figure(f"{_caption(group)} and the reference", finding, chart)] if entries else []


def _limits(group: Group) -> tuple[float, float]:
    """Return limits around 1 and the ratios that are not unstable."""
    scores = [score for policy in group.policies for score in group.scores(policy) if score is not None and score.ratio.mean]
    ratios = [1.0, *(score.ratio.mean or 1.0 for score in scores if score.kind != UNSTABLE)]
    return min(ratios) / MARGIN, max(ratios) * MARGIN


def _entry(score: Score, colour: str) -> ChartRow:
    assert score.ratio.mean is not None
    mark = Mark(score.ratio.mean, SHAPES.get(score.kind, "o"), score.kind != UNDECIDED)
    return ChartRow(score.policy, colour, score.ratio.low, score.ratio.high, [mark], str(score.ratio))
