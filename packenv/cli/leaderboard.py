"""`packenv leaderboard`: policies and agents against each other, on the same jobs of many workloads."""

from __future__ import annotations

import re
from pathlib import Path

import click

from packenv.cli.options.names import CONTEST, POLICY
from packenv.cli.options.of_fields import options_of
from packenv.cli.options.shared import log, process_options, runs_in, tensorboard_option
from packenv.cli.options.workload import note_left_out
from packenv.cli.outputs import FileOf, Outputs, output_options
from packenv.errors import InputError
from packenv.files import atomic_path
from packenv.options.shared import ProcessOptions
from packenv.options.verbs import LeaderboardOptions

BEGIN, END = "<!-- leaderboard -->", "<!-- /leaderboard -->"


@click.command()
@click.option(
    "--workload", "-w", "texts", multiple=True, metavar="NAME@LOAD", type=CONTEST,
    help="Workload (a name, a .json file or a trace) and its arrivals: paper/fig4b@0.95 (intensity), @rate=0.014 or @load=0.9, "
    "then servers=50, slots=100000, speedup=1.3; repeat for more  [default: those of the paper's figures 3 and 4].",
)  # fmt: skip
@click.option(
    "--policy", "-p", "policies", multiple=True, type=POLICY,
    help="Policy or agent, e.g. bf-js, vqs:J=4, agent:NAME; repeat for more  "
    "[default: the paper's policies, and each agent that comes with packenv on the workload that it was trained on].",
)  # fmt: skip
@options_of(LeaderboardOptions)
@process_options
@log
@output_options("Write all standings", plot="Draw the ratios with their 95 % intervals, or with --matrix as colours", report=True)
@click.option(
    "--markdown", "page", type=FileOf(".md", ".markdown"),
    help="Write the table between <!-- leaderboard --> and <!-- /leaderboard --> in this file, which may be new.",
)  # fmt: skip
@tensorboard_option
def leaderboard(
    texts: tuple[str, ...],
    policies: tuple[str, ...],
    options: LeaderboardOptions,
    where: ProcessOptions,
    log: str | None,
    outputs: Outputs,
    page: str | None,
    tensorboard: str | None,
) -> None:
    """Rank policies and agents on the same jobs, by mean queue relative to a reference policy and by supported fraction of ρ*.

    On tables that say which tasks make a job (analytics, dag, …), by mean completion time, makespan and unfairness instead;
    all jobs run to their end, and a lower bound on the mean completion time stands below. Other tables are run to their
    end too, and ranked by the mean delay of all tasks; @slots=N stops them, for the mean queue.

    \b
    packenv leaderboard --log board.jsonl --markdown board.md
    packenv leaderboard -p vqs-bf -w paper/fig4b@0.95,servers=50 --plot ratios.png
    packenv leaderboard -w trace.parquet@servers=160,speedup=1.3 --no-judge
    packenv leaderboard -w analytics -p tetris:f=0,m=2 -p srpt -p drf
    packenv leaderboard --matrix -w paper/fig3b -w paper/fig4b@0.9 -p agent:fig4b
    """
    outputs.check(log, page)
    check_page(page)
    from packenv.runs.leaderboard import DEFAULT_WORKLOADS, Matrix, competition
    from packenv.runs.log import RunLog
    from packenv.runs.runner import RunsFailed
    from packenv.runs.tensorboard import check_tensorboard, write_tensorboard

    check_tensorboard(tensorboard)
    prepared = competition(texts or DEFAULT_WORKLOADS, policies, options)
    for entry in prepared.entries:
        note_left_out(entry.contest.workload)
    run_options, run_log = runs_in(where), RunLog(log)
    board = prepared.play(run_options, run_log)
    if options.judge and not options.matrix:
        board = board.judged(run_options, run_log)
    shown = Matrix(board) if options.matrix else board
    outputs.show(shown)

    def write_events(folder: str) -> None:
        for standing in board.standings:
            if standing.runs:
                write_tensorboard(folder, standing.contest.name, standing.policy, standing.runs)

    outputs.write(shown, (page, lambda path: write_page(path, shown.markdown())), (tensorboard, write_events))
    if any(standing.failed for standing in board.standings):
        raise RunsFailed("the standings lack entries, as runs failed (above)")


def check_page(path: str | None) -> None:
    """Raise InputError if there is such a file without the two marks between which tables are to stand."""
    if path is not None:
        around_tables(path)


def write_page(path: str, text: str) -> None:
    """Replace what stands between the marks of a page, which is made if it is not there."""
    before, after = around_tables(path)
    with atomic_path(path) as temporary:
        temporary.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}", encoding="utf-8")


def around_tables(path: str) -> tuple[str, str]:
    """The lines before and after the tables of a page. Raises InputError."""
    try:
        page = Path(path).read_text(encoding="utf-8") if Path(path).exists() else f"{BEGIN}\n{END}\n"
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read as a page ({getattr(error, 'strerror', None) or 'not UTF-8'})") from None
    tables = re.search(rf"^{re.escape(BEGIN)}$.*?^{re.escape(END)}$", page, re.MULTILINE | re.DOTALL)  # lines of their own
    if tables is None:
        raise InputError(f"{path}: has no lines {BEGIN} and {END} for the tables to stand between")
    return page[: tables.start()], page[tables.end() :]
