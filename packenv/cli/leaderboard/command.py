"""`packenv leaderboard`: policies and agents against each other, on the same jobs of many workloads."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace

import click

from packenv.cli.judge import judge_all
from packenv.cli.leaderboard.contests import Contest, contest
from packenv.cli.leaderboard.scores import Group, groups_of, legend, length_of
from packenv.cli.leaderboard.standings import BEST, Standing, entries_of, play
from packenv.cli.leaderboard.tables import check_page, markdown, record_of, terminal_table, write_page
from packenv.cli.options import shared
from packenv.cli.options.completed_names import POLICY, WORKLOAD
from packenv.cli.options.shared import COUNT, FILE, JSON, option
from packenv.cli.outputs import check_outputs, standard_output, write_all, write_report
from packenv.cli.tables import CSV, MARKDOWN, format_option, print_table, text_console, write_csv
from packenv.errors import InputError
from packenv.files import write_json
from packenv.runs.runner import RunOptions, RunsFailed
from packenv.runs.tensorboard import TENSORBOARD_HELP, check_tensorboard, write_tensorboard
from packenv.theory.stability.judge import SEEDS, WIDTH, Judgment

DEFAULT_WORKLOADS = (
    *(f"paper/fig4b@{intensity}" for intensity in (0.85, 0.9, 0.95, 0.99)),
    *(f"paper/fig4a@{intensity}" for intensity in (0.85, 0.9, 0.95, 0.99)),
    *("paper/fig3a@rate=0.014", "paper/fig3a@rate=0.018", "paper/fig3b@rate=0.0306"),
)


@click.command()
@click.option(
    "--workload", "-w", "texts", multiple=True, metavar="NAME@LOAD", type=WORKLOAD,
    help="Workload (a name, a .json file or a trace) and its arrivals: paper/fig4b@0.95 (intensity), @rate=0.014 or @load=0.9, "
    "then servers=50, slots=100000, speedup=1.3; repeat for more  [default: those of the paper's figures 3 and 4].",
)  # fmt: skip
@click.option(
    "--policy", "-p", "policies", multiple=True, type=POLICY,
    help="Policy or agent, e.g. bf-js, vqs:J=4, agent:NAME; repeat for more  "
    "[default: the paper's policies, and each agent that comes with packenv on the workload that it was trained on].",
)  # fmt: skip
@click.option(
    "--reference", type=POLICY,
    help="Policy by which the others are divided; `best`: on tables of jobs, the best of each measure  "
    "[default: bf-js; on tables of jobs best].",
)  # fmt: skip
@option("--seeds", type=COUNT, default=16, help="Number of seeds; the jobs of a seed are the same for every policy.")
@option("--slots", type=COUNT, default=1_000_000, help="Slots of each run, except on traces.")
@click.option(
    "--warmup", type=click.IntRange(min=0), help="Slots at the start that are not measured  [default: a tenth; traces 0]."
)
@option("--judge/--no-judge", "judging", default=True, help="Also find the fraction of ρ* that each policy keeps stable.")
@shared.run_options
@click.option("--log", type=FILE, help="Keep each finished run in this file; a second call makes only the runs that it lacks.")
@format_option
@click.option("--json", "json_path", type=JSON, help="Write all standings as JSON; - is standard output.")
@click.option("--plot", type=FILE, help="Draw the ratios with their 95 % intervals (PNG, PDF, SVG).")
@shared.report_option
@click.option(
    "--markdown", "page", type=click.Path(dir_okay=False),
    help="Write the table between <!-- leaderboard --> and <!-- /leaderboard --> in this file, which may be new.",
)  # fmt: skip
@click.option("--tensorboard", metavar="DIR", help=TENSORBOARD_HELP)
def leaderboard(
    texts: tuple[str, ...],
    policies: tuple[str, ...],
    reference: str | None,
    seeds: int,
    slots: int,
    warmup: int | None,
    judging: bool,
    made: RunOptions,
    log: str | None,
    form: str,
    json_path: str | None,
    plot: str | None,
    report: str | None,
    page: str | None,
    tensorboard: str | None,
) -> None:
    """Rank policies and agents on the same jobs, by mean queue relative to a reference policy and by supported fraction of ρ*.

    On tables that say which tasks make a job (analytics, dag, …), by mean completion time, makespan and unfairness instead;
    all jobs run to their end, and a lower bound on the mean completion time stands below.

    \b
    packenv leaderboard --log board.jsonl --markdown board.md
    packenv leaderboard -p vqs-bf -w paper/fig4b@0.95,servers=50 --plot ratios.png
    packenv leaderboard -w trace.parquet@servers=160,speedup=1.3 --no-judge
    packenv leaderboard -w analytics -p tetris:f=0,m=2 -p srpt -p drf
    """
    check_outputs(log, json_path, page, plot=plot, report=report)
    check_page(page)
    check_tensorboard(tensorboard)
    contests = contests_of(texts or DEFAULT_WORKLOADS, slots, warmup)
    if reference == BEST and not all(one.of_jobs for one in contests):
        raise InputError("--reference best goes with tables of jobs; by mean queue an unstable policy may be best in a short run")
    entries = entries_of(contests, policies, reference)
    standings = play(entries, reference, seeds, warmup, made, log)
    refused = refusals(standings)
    for notice in refused:
        print(f"packenv: {notice}", file=sys.stderr)
    if judging:
        standings = with_judgments(standings, made, log)
    groups = groups_of(standings)
    records = [record_of(one, reference) for one in standings]
    if form == CSV:
        write_csv(records)
    elif form == MARKDOWN:
        print(markdown(groups, reference), file=standard_output())
    else:
        print_groups(groups, reference)

    def to_tensorboard(folder: str) -> None:
        for one in standings:
            if one.runs:
                write_tensorboard(folder, one.contest.name, one.policy, one.runs)

    def draw(path: str) -> None:
        from packenv.cli.leaderboard.report import ratios_chart  # brings matplotlib with it

        ratios_chart(groups, reference).save(path)

    def tell(path: str) -> None:
        from packenv.cli.leaderboard.report import leaderboard_report  # brings matplotlib with it

        write_report(leaderboard_report(groups, reference, refused), path)

    write_all(
        (json_path, lambda path: write_json(path, records)),
        (page, lambda path: write_page(path, markdown(groups, reference))),
        (tensorboard, to_tensorboard),
        (plot, draw),
        (report, tell),
    )
    if any(one.failed for one in standings):
        raise RunsFailed("the standings lack entries, as runs failed (above)")


def print_groups(groups: Sequence[Group], reference: str | None) -> None:
    """A table for each workload, and what the marks mean."""
    console = text_console()
    for group in groups:
        console.print(f"\n[bold]{group.name}[/bold], {length_of(group)}", highlight=False)
        print_table(terminal_table(group))
    console.print(legend(groups, reference), highlight=False, markup=False)


def contests_of(texts: Sequence[str], slots: int, warmup: int | None) -> list[Contest]:
    """The contests named, each once."""
    named = [contest(text, slots) for text in texts]
    contests = [*{(one.name, one.slots): one for one in named}.values()]
    for one in contests:
        if warmup is not None and one.of_jobs:
            raise InputError(f"{one.name}: --warmup does not go with a table of jobs, all of which are measured")
        if warmup is not None and one.slots is not None and warmup >= one.slots:
            raise InputError(f"{one.name}: a warmup of {warmup} leaves nothing of {one.slots} slots")
    return contests


def refusals(standings: Sequence[Standing]) -> list[str]:
    """A line for each reason why a policy does not compete somewhere."""
    lines = []
    for policy, problem in dict.fromkeys((one.policy, one.refused) for one in standings if one.refused):
        where = ", ".join(one.contest.name for one in standings if (one.policy, one.refused) == (policy, problem))
        lines.append(f"{policy} does not compete on {where}: {problem}")
    return lines


def with_judgments(standings: list[Standing], made: RunOptions, log: str | None) -> list[Standing]:
    """Add to each standing the judgment of its policy on its workload: one judgment for all loads."""
    firsts = {(one.contest.group, one.policy): one for one in reversed(standings) if one.runs and not one.contest.of_jobs}
    cases = [(one.contest.workload, one.policy) for one in firsts.values()]
    judged: dict[tuple[str, str], Judgment | None] = {}
    if cases:
        judged = dict(zip(firsts, judge_all(cases, SEEDS, WIDTH, made, log), strict=True))
    return [replace(one, judgment=judged.get((one.contest.group, one.policy))) for one in standings]
