"""`packenv compare`: is a policy, or a set of servers, worse than another? The answer is the exit status."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

import click

from packenv.cli.evaluate import notices
from packenv.cli.options import shared
from packenv.cli.options.shared import COUNT, POLICY, WORKLOAD, option
from packenv.cli.options.workload import WorkloadOptions, begin_lines, print_workload, workload_from
from packenv.cli.outputs import Outputs, output_options
from packenv.cli.tables import text_console
from packenv.errors import InputError
from packenv.planning.pair import MARGIN, MEASURES, SEEDS, TIME, is_servers, pairing
from packenv.planning.pair import POLICY as USUAL
from packenv.runs.comparison import DEFAULT_SLOTS
from packenv.runs.runner import RunOptions


@click.command("compare")
@click.argument("first", metavar="A", type=POLICY)
@click.argument("second", metavar="B", type=POLICY)
@click.argument("source", metavar="[WORKLOAD|TRACE]", required=False, type=WORKLOAD)
@click.option("--measure", help=f"{MEASURES}  [default: mean queue; of a trace mean wait; of its jobs mean completion].")
@option("--margin", type=float, default=MARGIN, help="A may be so much worse than B, as a share.")
@option("--policy", "-p", default=USUAL, type=POLICY, help="Policy that runs on two sets of servers.")
@shared.workload_options(
    "servers", "sizes", "service", "load", "intensity", "rate", "resources", "slot_seconds", "columns", "time_unit", "partition",
    "finished_only", "estimates", "speedup",
    load="Arrivals as a share of ρ*; of B's servers, where servers are compared.",
    intensity="Arrivals as a share of the area bound; likewise.",
)  # fmt: skip
@click.option("--slots", type=COUNT, help=f"Slots of each run  [default: {DEFAULT_SLOTS:,}; a trace until all work is done].")
@option("--seeds", type=COUNT, default=SEEDS, help="Runs of each at first: they double until it is decided.")
@option("--time", type=float, default=TIME, help="While so many seconds last.")
@shared.run_options
@output_options("Write the verdict and what it rests on")
def compare_command(
    first: str,
    second: str,
    policy: str,
    of_workload: WorkloadOptions,
    run_options: RunOptions,
    outputs: Outputs,
    **question: Any,
) -> None:
    """Say whether A is worse than B by more than a margin: two policies or agents, or two sets of servers, on the same tasks.

    The exit status is 0 if A is not worse, 1 if it is, 3 if that is not decided, and 2 for bad input.

    \b
    packenv compare vqs-bf bf-js paper/fig4b --intensity 0.9
    packenv compare agent:fig4b bf-js paper/fig4b --intensity 0.95 --margin 0
    packenv compare bf-js fifo-ff trace.parquet --servers 160 --measure "p95 wait"
    packenv compare 150 160 trace.parquet -p bf-js --margin 0.1
    """
    outputs.check()
    servers = is_servers(first) and is_servers(second)
    if servers and of_workload.servers is not None:
        raise InputError("--servers does not go with two sets of servers to compare")
    workload, dropped = workload_from(replace(of_workload, servers=second) if servers else of_workload)
    prepared = pairing(workload, first, second, policy=policy, **question)
    console = text_console()
    print_workload(console, workload.at(0), dropped)
    names = (policy,) if servers else (first, second)
    for line in [*begin_lines(workload), *notices(workload, names)]:
        console.print(line, highlight=False)
    with run_options.runner() as runner:
        pair = prepared.run(lambda runs, extract: runner.all(runs, extract, f"{first} and {second}"))
    outputs.show(pair)
    outputs.write(pair)
    if pair.status:
        sys.exit(pair.status)
