"""Options that several commands have."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import click

from packenv.cli.options.workload import COLUMNS_HELP, RESOURCES_HELP, SLOT_SECONDS_HELP
from packenv.cli.outputs import ResultFile
from packenv.executors.choose import PROCESSES
from packenv.runs.runner import RunOptions

option = functools.partial(click.option, show_default=True)
FILE = click.Path(dir_okay=False)
JSON = ResultFile()
COUNT = click.IntRange(min=1)

servers = click.option("--servers", help="Servers: 5; by capacity: 3x1,2x0.5; of two resources: 3x1:0.5; or a file.")
sizes = click.option("--sizes", help="Law of sizes: uniform:0.1:0.9, discrete:0.4@0.5,0.6@0.5, constant:0.5, …")
service = click.option("--service", help="Law of service, in slots: geometric:100, fixed:100, lognormal:100:2, …")
resources = option("--resources", default="max", help=RESOURCES_HELP)
slot_seconds = click.option("--slot-seconds", metavar="H", help=SLOT_SECONDS_HELP)
columns = click.option("--columns", metavar="OURS=THEIRS,…", help=COLUMNS_HELP)
processes = click.option("--processes", type=COUNT, help="Runs at the same time  [default: one per core].")
on = option(
    "--on", default=PROCESSES, metavar="WHERE", help="processes; ray: a cluster's, or a new local one's; ray://HOST:PORT."
)
report_option = click.option(
    "--report", metavar="FILE.html", type=FILE, help="Write the question, the answer, its charts and tables as one HTML page."
)
GANTT_HELP = "Draw who ran on which server and when, and how many waited: a Gantt chart of first runs (PNG, PDF, SVG)."
fail_fast = click.option("--fail-fast", is_flag=True, help="End at the first run that fails, and show where it did.")


def run_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Options that say where runs are made; the command gets them as one argument, `made: RunOptions`."""

    @functools.wraps(command)
    def run(*args: Any, processes: int | None, on: str, fail_fast: bool, **words: Any) -> Any:
        with RunOptions(processes, on, fail_fast) as made:
            return command(*args, made=made, **words)

    return processes(on(fail_fast(run)))
