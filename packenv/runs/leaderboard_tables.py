"""Tables of a leaderboard: standings by workload, scores, and legends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from packenv.content.tables import Column as TableColumn
from packenv.content.tables import Styled, Table, Tables, numbers
from packenv.content.text import INTERVAL_REACHES_ZERO, NONE, counted, is_wide
from packenv.results.job_times import job_numbers
from packenv.results.stability import STABLE, UNDECIDED, UNSTABLE
from packenv.runs.contest import Contest
from packenv.runs.ranking import BEST, REFERENCE, Group, Score, half_of, lines_of
from packenv.theory.completion.bound import SHOWN_AS as COMPLETION_BOUND
from packenv.theory.queue_bound.queue_bound import SHOWN_AS
from packenv.theory.stability.judgment import STATUS_COLOURS

COLOURS = {STABLE: "", UNSTABLE: "red", UNDECIDED: "yellow"}
COMPLETED = "mean completion"
GUARANTEES = ("≥ ½", "≥ ⅔")


def best_scores(groups: Sequence[Group]) -> list[tuple[str, str]]:
    """Return the best stable policy by workload, load and measure."""
    facts = []
    for group in groups:
        for n, (ranking, measure) in enumerate(group.columns):
            best, unit = group.best(n), ranking.contest.unit(measure)
            leader = "no policy is known to be stable" if best is None else f"{best.policy}, {best.lines[0]}"
            facts.append((ranking.contest.name, f"least {measure.heading}{f' ({unit})' if unit else ''}: {leader}"))
    return facts


def title_of(group: Group) -> str:
    """Return the workload, and the length of its runs."""
    return f"{group.name}, {length_of(group)}"


def length_of(group: Group) -> str:
    """Return seeds and lengths, such as `16 seeds of 1,000,000 slots`."""
    seeds = max(len(standing.runs) for ranking in group.rankings for standing in ranking.standings)
    if group.of_jobs:
        table = group.contests[0].workload.jobs
        assert table is not None
        jobs = counted(int(job_numbers(table).max()) + 1, "job")
        drawn = group.contests[0].workload.draw is not None
        return f"{counted(seeds, 'table')} of {jobs}" if drawn else jobs
    table = group.contests[0].workload.jobs
    lengths = sorted({contest.slots or 0 for contest in group.contests})
    tasks = "" if table is None else counted(len(table), "task")
    slots = " and ".join(f"{length:,} slots" if length else f"{tasks}, to the end" for length in lengths)
    return f"{seeds} seeds of {slots}" if seeds > 1 else slots


def standings_table(group: Group) -> Table:
    """Return a column for each load or measure, and the supported share.

    Means of unstable and undecided runs are coloured.
    """
    judgments = group.judgments
    heads = [*group.headings, *(("supported", *GUARANTEES) if judgments else ())]
    table = Table("", [TableColumn("policy"), *numbers(*heads)], edge=False)
    for policy in group.policies:
        of, texts = judgments.get(policy), [NONE] * 3 if judgments else []
        if of is not None:
            texts = [f"{of.low:.3f} – {of.high:.3f}", of.half, of.two_thirds]
        table.add(policy, *map(_cell, group.scores(policy)), *(Styled(text, STATUS_COLOURS.get(text, "")) for text in texts))
    if bounds := group.bounds():
        cells = ("\n".join(lines_of(*bound)) for bound in bounds)
        table.add(bound_name(group), *cells, *([""] * 3 if judgments else ()), style="dim")
    return table


def bound_name(group: Group) -> str:
    """Return the name of the lower bounds' row."""
    return COMPLETION_BOUND if group.of_jobs else SHOWN_AS


def matrix(groups: Sequence[Group], reference: str | None) -> Tables:
    """Return a row for each policy, a column for each workload and load.

    Cells are ratios of mean queues or mean completion times. The reference has its mean instead.
    """
    workloads, rows = matrix_scores(groups)
    table = Table("", [TableColumn("policy"), *numbers(*workloads)], edge=False)
    for policy, scores in rows.items():
        cells = [NONE if score is None else Styled(score.short, COLOURS[score.kind]) for score in scores]
        table.add(policy, *cells)
    ratios = f"{ratios_of(rows, reference)} on the same jobs, [95 % interval]; that policy has its mean"
    return Tables([table], ["; ".join([ratios, *_marks([score for scores in rows.values() for score in scores if score])]) + "."])


def matrix_scores(groups: Sequence[Group]) -> tuple[list[str], dict[str, list[Score | None]]]:
    """Return the names of workloads and loads, and scores by policy.

    Scores are of the first measure.
    """
    rankings = [ranking for group in groups for ranking in group.rankings]
    policies = dict.fromkeys(policy for group in groups for policy in group.policies)
    scores = {policy: [ranked.score(policy, ranked.contest.measures[0]) for ranked in rankings] for policy in policies}
    return [ranking.contest.name for ranking in rankings], scores


def ratios_of(rows: Mapping[str, Sequence[Score | None]], reference: str | None) -> str:
    """Return the title of a matrix, such as `Ratios of mean queue to bf-js`."""
    contests = [score.ranking.contest for scores in rows.values() for score in scores if score is not None]
    of_jobs, names = sorted({contest.of_jobs for contest in contests}), " or ".join(_measured(contests))
    return f"Ratios of {names} to {_divisor(of_jobs, reference)}"


def _cell(score: Score | None) -> str:
    if score is None:
        return NONE
    first, *others = score.lines
    return Styled.of((first, COLOURS[score.kind]), *((f"\n{line}", "dim") for line in others))


def markdown(groups: Sequence[Group], reference: str | None) -> str:
    """Return the tables for a page, with the meaning of their marks."""
    parts = []
    for group in groups:
        workload, table = group.contests[0].workload.name, standings_table(group)
        title = f"`{workload}`{group.name.removeprefix(workload)}, {length_of(group)}"  # outside of the quotes, how many servers
        heads = [heading.replace("supported", "supported share of ρ*") for heading, *_ in table.columns[1:]]
        rows = [[title, *heads], ["---", *["--:"] * len(heads)]]
        for name, *cells in table.rows:
            rows.append(
                [f"`{name}`" if name in group.policies else name, *(cell.replace("\n", "<br>") or NONE for cell in cells)]
            )
        parts.append("\n".join(f"| {' | '.join(row)} |" for row in rows))
    return "\n\n".join([*parts, legend(groups, reference)])


def legend(groups: Sequence[Group], reference: str | None) -> str:
    """Return the meaning of numbers and marks. `reference`: None for the usual."""
    scores = [score for group in groups for policy in group.policies for score in group.scores(policy) if score is not None]
    several = any(len(score.standing.runs) > 1 for score in scores)
    contests = [score.ranking.contest for score in scores]
    of_jobs = {contest.of_jobs for contest in contests}
    names = ["means" if name == COMPLETED else name for name in _measured(contests)]
    measured = ", or ".join(names).capitalize()
    marks = [f"{measured}{' ± 95 % over the seeds' if several else ''}"]
    if any(score.ratio.mean is not None for score in scores):
        to = _divisor(sorted(of_jobs), reference)
        marks.append(f"below it the ratio to {to} on the same jobs{', [95 % interval]' if several else ''}")
    if True in of_jobs:
        marks.append("completion from a job's first arrival to its last end; unfairness: 0 is fair, 1 is no share")
    delays = [score for score in scores if score.ranking.contest.to_the_end and not score.ranking.contest.of_jobs]
    if any(score.mean.mean is None for score in delays):
        marks.append("–: not all tasks started")
    marks += _marks(scores)
    if any(is_wide(score.mean.mean, half_of(score.mean)) for score in scores):
        marks.append(INTERVAL_REACHES_ZERO)
    return "; ".join(marks) + "."


def _measured(contests: Sequence[Contest]) -> list[str]:
    """Return the first measures of the contests."""
    names = {contest.measures[0].heading for contest in contests}
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
