"""`packenv compare`: is a policy or server set worse than another?

The answer is the exit status.
"""

from __future__ import annotations

import sys
from dataclasses import replace

import click

from packenv.cli.evaluate import notices
from packenv.cli.options.names import SIDE, THIRD
from packenv.cli.options.of_fields import options_of, process_options, runs_in, workload_options
from packenv.cli.options.workload import begin_lines, print_workload, workload_from
from packenv.cli.outputs import Outputs, output_options
from packenv.cli.tables import text_console
from packenv.errors import InputError
from packenv.options.shared import OF_TRACES, ProcessOptions, WorkloadOptions
from packenv.options.verbs import CompareOptions


@click.command("compare")
@click.argument("first", metavar="A", type=SIDE)
@click.argument("second", metavar="B", type=SIDE)
@click.argument("source", metavar="[WORKLOAD|TRACE]", required=False, type=THIRD)
@workload_options(
    "servers", "sizes", "service", "arrivals", "load", "intensity", "rate", "resources", *OF_TRACES, "estimates", "speedup",
    load="Arrivals as a share of ρ* (B's, if sides are servers).",
    intensity="Arrivals as a share of area bound (B's, if sides are servers).",
)  # fmt: skip
@options_of(CompareOptions)
@process_options
@output_options("Write the verdict and its numbers")
def compare_command(
    first: str,
    second: str,
    of_workload: WorkloadOptions,
    options: CompareOptions,
    where: ProcessOptions,
    outputs: Outputs,
) -> None:
    """Decide whether A is worse than B by more than a margin, on the same tasks.

    A and B are two policies or agents, or two sets of servers. Exit status: 0 if A is not worse, 1 if it is worse,
    3 if undecided, 2 for bad input.

    \b
    packenv compare vqs-bf bf-js paper/fig4b --intensity 0.9
    packenv compare agent:fig4b bf-js paper/fig4b --intensity 0.95 --margin 0
    packenv compare bf-js fifo-ff trace.parquet --servers 160 --measure "p95 wait"
    packenv compare 150 160 trace.parquet -p bf-js --margin 0.1
    """
    outputs.check()
    from packenv.planning.pair import is_servers, pairing

    servers = is_servers(first) and is_servers(second)
    if servers and of_workload.servers is not None:
        raise InputError("leave out --servers when you compare two sets of servers")
    if servers:
        workload, dropped = workload_from(replace(of_workload, servers=second), sides=(first, second))
    else:
        workload, dropped = workload_from(of_workload)
    prepared = pairing(workload, first, second, options)
    console = text_console()
    print_workload(console, workload.at(0), dropped)
    names = (options.policy,) if servers else (first, second)
    for line in [*begin_lines(workload), *notices(workload, names)]:
        console.print(line, highlight=False)
    with runs_in(where).runner() as runner:
        pair = prepared.run(lambda runs, extract: runner.all(runs, extract, f"{first} and {second}"))
    outputs.show(pair)
    outputs.write(pair)
    if pair.status:
        sys.exit(pair.status)
