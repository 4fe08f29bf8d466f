"""`packenv leaderboard`: policies and agents on the same jobs."""

from __future__ import annotations

import re
import shlex
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click

from packenv.cli.options.names import CONTEST, POLICY
from packenv.cli.options.of_fields import log, options_of, process_options, runs_in, tensorboard_option
from packenv.cli.options.workload import note_left_out, remedy_of
from packenv.cli.outputs import FileOf, Outputs, output_option, output_options
from packenv.errors import ArgumentError, CommandError, InputError
from packenv.files import atomic_path
from packenv.options.shared import ProcessOptions
from packenv.options.verbs import LeaderboardOptions

OF_CONVERSION = ("columns", "time_unit")
BEGIN, END = "<!-- leaderboard -->", "<!-- /leaderboard -->"


@click.command()
@click.option(
    "--workload", "-w", "texts", multiple=True, metavar="NAME@LOAD", type=CONTEST,
    help="Workload: paper/fig4b@0.95 (intensity), trace.csv@servers=50,speedup=1.3, …; repeat for more  "
    "[default: those of the paper's figures 3 and 4].",
)  # fmt: skip
@click.option(
    "--policy", "-p", "policies", multiple=True, type=POLICY,
    help="Policy or agent: bf-js, vqs:J=4, agent:NAME, …; repeat for more  "
    "[default: the paper's policies, and each shipped agent on its training workload].",
)  # fmt: skip
@options_of(LeaderboardOptions)
@process_options
@log
@output_options("Write all standings", plot="Draw ratios with 95 % intervals, or --matrix colours", report=True)
@output_option(
    "--markdown", "page", type=FileOf(".md", ".markdown"),
    help="Write the table between <!-- leaderboard --> and <!-- /leaderboard -->.",
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
    """Rank policies and agents on the same jobs.

    Random tasks: by mean queue, divided by that of a reference policy, and by the supported fraction of ρ*.
    Tables of jobs (analytics, dag, …): by mean completion time, makespan and unfairness, with a lower bound on the mean
    completion time.
    Other tables: by the mean delay of all tasks.

    Tables run to their end. @slots=N stops them earlier and ranks by mean queue. Arrivals are WORKLOAD@0.95 (an intensity),
    @rate=0.014 or @load=0.9; servers=, slots= and speedup= may follow. With --matrix, shipped agents also run on workloads
    on which they were not trained.

    \b
    packenv leaderboard --log board.jsonl --markdown board.md
    packenv leaderboard -p vqs-bf -w paper/fig4b@0.95,servers=50 --plot ratios.png
    packenv leaderboard -w trace.parquet@servers=160,speedup=1.3 --no-judge
    packenv leaderboard -w analytics -p tetris:f=0,m=2 -p srpt -p drf
    packenv leaderboard --matrix -w paper/fig3b -w paper/fig4b@0.9 -p agent:fig4b
    """
    outputs.check(log, page)
    check_page(page)
    from packenv.runs.leaderboard import DEFAULT_WORKLOADS, Matrix, entries_of, play
    from packenv.runs.log import RunLog
    from packenv.runs.runner import RunsFailed
    from packenv.runs.tensorboard import check_tensorboard, write_tensorboard

    check_tensorboard(tensorboard)
    try:
        entries = entries_of(texts or DEFAULT_WORKLOADS, policies, options)
    except ArgumentError as error:
        raise advised(texts, options.slots, error) from None
    for entry in entries:
        note_left_out(entry.contest.workload)
    run_options, run_log = runs_in(where), RunLog(log)
    board = play(entries, options, run_options, run_log)
    if options.judge and not options.matrix:
        click.echo("packenv: runs done; judging the load that each policy supports (--no-judge skips this)", err=True)
        board = board.judged(run_options, run_log)
    answer = Matrix(board.rankings, board.reference) if options.matrix else board
    outputs.show(answer)

    def write_events(folder: str) -> None:
        for contest, standing in board.standings:
            if standing.runs:
                write_tensorboard(folder, contest.name, standing.policy, standing.runs)

    outputs.write(answer, (page, lambda path: write_page(path, answer.markdown())), (tensorboard, write_events))
    if any(standing.failed for _, standing in board.standings):
        raise RunsFailed("some standings are missing, because runs failed (see above)")


def advised(texts: tuple[str, ...], slots: int, error: ArgumentError) -> InputError:
    """Return the error, with commands that work if a table is refused.

    Columns of a table are passed to `packenv trace convert`.
    """
    from packenv.runs.contest import contest, source_and_settings

    for text in texts:
        try:
            contest(text, slots)
        except ArgumentError as refused:
            if commands := _working_commands(text, slots):
                return CommandError(refused.of_options(advised=False), *commands)
            source = source_and_settings(text)[0]
            converting = f"packenv trace convert {source} {_converted(source)} --columns "
            return InputError(refused.of_options().replace("--columns ", converting))
    return InputError(error.of_options())


def _working_commands(text: str, slots: int) -> list[str]:
    """Return the typed command with settings that make it work, if any.

    A conversion that names columns may come first.
    """
    from packenv.runs.contest import contest, source_and_settings

    source, written = source_and_settings(text)
    with TemporaryDirectory() as folder:

        def attempt(remedy: dict[str, Any]) -> None:
            reading, behind = _applied(remedy, written)
            place = str(_convert(source, Path(folder) / "tasks.parquet", reading)) if reading else source
            contest(f"{place}{behind}", slots)

        remedy = remedy_of(attempt)
    if remedy is None:
        return []
    reading, behind = _applied(remedy, written)
    options = [word for key, value in reading.items() for word in (f"--{key.replace('_', '-')}", value)]
    new = f"{_converted(source) if reading else source}{behind}"
    arguments = [new if word == text else word for word in click.get_current_context().find_root().obj or []]
    converting = shlex.join(["packenv", "trace", "convert", source, _converted(source), *options])
    typed = shlex.join(["packenv", *arguments])
    return [converting, typed] if reading else [typed]


def _applied(remedy: dict[str, Any], written: str) -> tuple[dict[str, Any], str]:
    """Return the options of a conversion, and the settings with `remedy`."""
    reading = {key: value for key, value in remedy.items() if key in OF_CONVERSION}
    settings = {key: value for key, value in remedy.items() if key not in OF_CONVERSION}
    for key in settings:
        written = re.sub(rf"(^|,){key}=.*?(?=,[a-z_-]+=|$)", "", written).strip(",")
    written = ",".join(filter(None, [written, *(f"{key}={value}" for key, value in settings.items())]))
    if reading and (slot := re.search(r"(?:^|,)slot[_-]seconds=([^,]+)", written)):
        reading["slot_seconds"] = slot[1]
    return reading, f"@{written}" if written else ""


def _converted(source: str) -> str:
    """Return a new file name for the converted table."""
    stem = Path(source).name.partition(".")[0]
    return next(name for name in (f"{stem}{n or ''}.parquet" for n in count()) if not Path(name).exists())


def _convert(source: str, out: Path, reading: dict[str, Any]) -> Path:
    """Convert a table as `packenv trace convert` does."""
    from packenv.cli.trace import read
    from packenv.options.verbs import ReadOptions
    from packenv.workloads.traces import write_jobs
    from packenv.workloads.workload_of_trace import on_nodes

    options = ReadOptions(**reading)
    recorded, sizes = read(source, options)
    recorded, _ = on_nodes(recorded, several_servers=True)
    jobs, *_ = recorded.jobs(options.slot_seconds, sizes=sizes)
    write_jobs(jobs, out, recorded.resources if sizes == "all" else None)
    return out


def check_page(path: str | None) -> None:
    """Raise InputError if the file exists without the two marks for tables."""
    if path is not None:
        around_tables(path)


def write_page(path: str, text: str) -> None:
    """Replace the tables between the marks of a page, new if missing."""
    before, after = around_tables(path)
    with atomic_path(path) as temporary:
        temporary.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}", encoding="utf-8", errors="replace")


def around_tables(path: str) -> tuple[str, str]:
    """Return the text before and after the tables. Raises InputError."""
    try:
        page = Path(path).read_text(encoding="utf-8") if Path(path).exists() else f"{BEGIN}\n{END}\n"
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read as a page ({getattr(error, 'strerror', None) or 'not UTF-8'})") from None
    tables = re.search(rf"^{re.escape(BEGIN)}$.*?^{re.escape(END)}$", page, re.MULTILINE | re.DOTALL)  # lines of their own
    if tables is None:
        raise InputError(f"{path}: add the lines {BEGIN} and {END}, between which the table is written")
    return page[: tables.start()], page[tables.end() :]
