"""`packenv verdict`: did a real system keep up, by its logs?"""

from __future__ import annotations

from dataclasses import asdict

import click

from packenv.cli.options.names import PATH
from packenv.cli.options.of_fields import options_of
from packenv.cli.outputs import Outputs, output_options
from packenv.options.shared import parse_columns
from packenv.options.verbs import VerdictOptions


@click.command("verdict")
@click.argument("logs", metavar="LOG…", nargs=-1, required=True, type=PATH)
@options_of(VerdictOptions)
@output_options("Write the verdicts", plot="Draw the queue over time, and its level")
def verdict_command(logs: tuple[str, ...], options: VerdictOptions, outputs: Outputs) -> None:
    """Decide from a log whether a system kept up with its arrivals: stable, unstable or undecided.

    LOG is the output of sacct -P, Standard Workload Format, a result of `vllm bench serve --save-detailed` or of GuideLLM,
    or a table with submit_time_s and start_time_s or end_time_s. - is standard input. For several logs at several rates,
    it also prints the largest sustained rate, the smallest rate that is not sustained, and the rate to run next.

    \b
    packenv verdict jobs.csv --columns submit_time_s=Submit,start_time_s=Start
    packenv verdict rate-2.csv rate-4.csv --plot queues.png
    sacct -P -a -S 2026-05-01 -o JobID,Submit,Start,End,State,AllocCPUS |
        packenv verdict -
    """
    outputs.check()
    from packenv.runs.verdict import sustained

    verdicts = sustained(logs, **asdict(options) | {"columns": parse_columns(options.columns)})
    result = verdicts if len(verdicts.logs) > 1 else verdicts.logs[0]
    outputs.show(result)
    outputs.write(result)
