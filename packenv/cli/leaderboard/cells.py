"""What the cells of a leaderboard's tables say."""

from __future__ import annotations

from collections.abc import Sequence

from packenv.cli.leaderboard.scores import Group, Score
from packenv.cli.leaderboard.standings import BEST, REFERENCE, Standing
from packenv.results.job_times import job_numbers
from packenv.results.stability import STABLE, UNDECIDED, UNSTABLE
from packenv.runs.statistics import Interval
from packenv.runs.text import NONE, WIDE, counted, estimate, is_wide
from packenv.theory.stability.judge import Judgment

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
