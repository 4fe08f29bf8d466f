"""The page of `packenv leaderboard`: mean queues as multiples of the reference's, workload by workload."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from packenv.cli.leaderboard.cells import Group, heading, legend, length_of
from packenv.cli.leaderboard.plot import limits_of
from packenv.cli.leaderboard.standings import Standing
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


def leaderboard_report(groups: Sequence[Group], reference: str, notices: Sequence[str]) -> Report:
    """`notices`: which policies do not compete where, and why."""
    policies = list(dict.fromkeys([reference, *(policy for group in groups for policy in group.rows)]))
    colours = dict(zip(policies, colours_of(policies), strict=True))
    sections = [_section(group, reference, colours) for group in groups]
    tables = [contest.workload for group in groups for contest in group.contests[:1] if contest.workload.jobs is not None]
    profiles = [profile_section(workload.at(0), None) for workload in tables]
    asked = [
        ("Workloads", "; ".join(contest.name for group in groups for contest in group.contests)),
        ("Policies", ", ".join(policies)),
        ("Reference", reference),
        ("Runs", "; ".join(dict.fromkeys(length_of(group) for group in groups))),
    ]
    title = f"{len(policies)} policies on the same tasks"
    return Report(title, _answer(groups), asked, [*sections, *(each for each in profiles if each is not None)], notices)


def _answer(groups: Sequence[Group]) -> str:
    """How often each policy has the shortest mean queue of those that are stable."""
    won: Counter[str] = Counter()
    contests = 0
    for group in groups:
        for n in range(len(group.contests)):
            contests += 1
            known = [(mean, policy) for policy, row in group.rows.items() if (mean := _stable_mean(row[n])) is not None]
            if known:
                won[min(known)[1]] += 1
    if not won:
        return "No policy is known to be stable on any of the workloads."
    if contests == 1:
        return f"{next(iter(won))} has the shortest mean queue of the policies that are stable."
    said = ", ".join(f"{policy} on {count}" for policy, count in won.most_common())
    return f"The shortest mean queue of the policies that are stable, on {contests} workloads and loads: {said}."


def _stable_mean(one: Standing | None) -> float | None:
    return one.mean_queue.mean if one is not None and one.runs and one.verdict.kind == STABLE else None


def _section(group: Group, reference: str, colours: dict[str, str]) -> Section:
    entries, said = [], []
    for n, contest in enumerate(group.contests):
        rows = ((policy, row[n]) for policy, row in group.rows.items() if policy != reference)
        shown = [(policy, one) for policy, one in rows if one is not None and one.ratio.mean]
        if shown:
            entries.append(Entry(heading(contest)))
            entries += [_entry(policy, one, colours[policy]) for policy, one in shown]
            best_ratio, best = min((one.ratio.mean or 0.0, policy) for policy, one in shown)
            where = f"at {contest.at} " if contest.at else ""
            said.append(f"{where}{best} has {number(best_ratio)} times the mean queue of {reference}")
    ends, title = limits_of(group), f"mean queue, as a multiple of {reference}'s"
    chart = RowChart(entries, title, ends, [Rule(1.0, reference)], log=True, marks=MARKS)
    finding = f"The least: {'; '.join(said)}.{chart.note}"
    figures = [Figure("Mean queues beside the reference", finding, chart)] if entries else []
    table = rows_of(terminal_table(group), "Mean queues")
    return Section(f"{group.name}, {length_of(group)}", figures, [legend([group], reference)], [table])


def _entry(policy: str, one: Standing, colour: str) -> Entry:
    assert one.ratio.mean is not None
    kind = one.verdict.kind
    mark = Mark(one.ratio.mean, SHAPES.get(kind, "circle"), kind != "undecided", f"{policy}: {one.ratio}, {kind}")
    return Entry(policy, colour, one.ratio.low, one.ratio.high, [mark], str(one.ratio))
