"""`packenv plan`: the least number of servers with which each policy meets goals."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import click

from packenv.cli.options import shared
from packenv.cli.options.completed_names import PATH, POLICY, WORKLOAD
from packenv.cli.options.shared import COUNT, FILE, JSON, option
from packenv.cli.options.workload import (
    WorkloadOptions,
    chosen_policies,
    shown_slot,
    with_durations,
    workload_from,
)
from packenv.cli.outputs import check_outputs, write_all
from packenv.cli.plan.failure import plan_failure
from packenv.cli.plan.mixes import kinds_as_servers, plan_mixes
from packenv.cli.plan.numbers import Asked, plan_numbers
from packenv.cli.plan.tables import LEFT_OUT
from packenv.cli.plan.when import plan_when
from packenv.cli.report.page import write_report
from packenv.cli.tables import format_option, show, text_console
from packenv.errors import InputError
from packenv.files import write_json
from packenv.planning.failure import parse_failing
from packenv.planning.goals import EXAMPLES
from packenv.planning.kinds import parse_kinds
from packenv.planning.plan import DEFAULT_SLOTS, SEEDS, run_length, wanted_goals
from packenv.planning.when import DRAWS
from packenv.runs.runner import RunOptions
from packenv.workloads.in_service import begins_busy
from packenv.workloads.traces.table import exact
from packenv.workloads.workload import Workload


def grown(said: WorkloadOptions, growth: str) -> Workload:
    """The workload with its arrivals `growth` times as many in the same time.

    Those of a trace come faster: each task is there once, and none at the same time as its copy. Its days become shorter.
    """
    factor = exact(growth, "--growth")
    workload, _ = workload_from(said, servers="1")
    if factor == 1:
        return workload
    if workload.jobs is None:
        return workload.with_(rate=float(factor * Fraction(workload.rate)))
    speedup = Decimal(growth) * Decimal(said.speedup)
    return workload_from(replace(said, speedup=f"{speedup:f}"), servers="1")[0]


@click.command("plan")
@click.argument("source", metavar="[WORKLOAD|TRACE]", required=False, type=WORKLOAD)
@click.option("--goal", "-g", "wanted", multiple=True, metavar="GOAL", help=f"{EXAMPLES}; repeat for more, all must be met.")
@click.option("--policy", "-p", "policies", multiple=True, type=POLICY, help="Policy to plan with; repeat for more.")
@click.option("--servers", help="The kind of server: 1, 1x0.5, 1x1:0.5 for two resources; a number before it does not matter.")
@click.option("--types", help="Kinds of machines and the cost of each, for the cheapest mix: 1=0.50,2=0.95; or 1:0.5=0.8.")
@shared.sizes
@shared.service
@click.option("--load", type=float, help="Arrivals as a share of ρ* of the workload's own servers.")
@click.option("--intensity", type=float, help="Arrivals as a share of the area bound of the workload's own servers.")
@click.option("--rate", type=float, help="Tasks per slot.")
@shared.resources
@shared.slot_seconds
@option("--speedup", default="1", help="β: arrivals of a trace come this many times as fast.")
@option("--growth", default="1", help="Arrivals grow by this factor: a trace comes so much faster, a workload has more tasks.")
@click.option(
    "--draws",
    type=click.IntRange(0, 1000),
    help=f"Numbers for so many other draws of days, or seeds  [default: 0]; --when: of unknown times  [default: {DRAWS}].",
)
@click.option("--without", metavar="SERVERS", help="What if these servers fail, such as 3,7,10-12, numbered from 0?")
@click.option("--max-demand", type=float, help="Also without the tasks of a trace that need more: what do they cost?")
@click.option(
    "--when", "asks_when", is_flag=True, help="When waiting pods would start, on a cluster as kubectl prints it (JSON)."
)
@click.option("--durations", type=PATH, help="A trace; how long its tasks took is the law of services, with --when.")
@click.option("--slots", type=COUNT, help=f"Slots of each run of a workload  [default: {DEFAULT_SLOTS:,}].")
@option("--seeds", type=COUNT, default=SEEDS, help="Runs with each number of servers; as many others confirm the answer.")
@shared.run_options
@click.option("--log", type=FILE, help="Keep each finished run in this file; a second call makes only the runs that it lacks.")
@format_option
@click.option("--json", "json_path", type=JSON, help="Write the answers, and all that was tried, as JSON; - is standard output.")
@click.option("--plot", type=FILE, help="Draw each goal's measure against the number of servers (PNG, PDF, SVG).")
@shared.report_option
def plan(
    wanted: tuple[str, ...],
    policies: tuple[str, ...],
    slots: int | None,
    seeds: int,
    made: RunOptions,
    types: str | None,
    growth: str,
    draws: int | None,
    asks_when: bool,
    durations: str | None,
    max_demand: float | None,
    without: str | None,
    log: str | None,
    form: str,
    json_path: str | None,
    plot: str | None,
    report: str | None,
    **words: Any,
) -> None:
    """Find the least number of servers with which each policy meets your goals, and a bound that no policy can beat.

    \b
    packenv plan trace.parquet --goal "p95 wait <= 60s" -p bf-js -p fifo-ff
    packenv plan paper/fig4b -g "mean wait <= 20" -g "max queue <= 50"
    packenv plan --sizes uniform:0.1:0.9 --service geometric:100 --rate 0.5
    packenv plan trace.parquet -g "mean wait <= 9s" --types 1=0.50,2=0.95
    packenv plan trace.parquet -g "p95 wait <= 60s" --servers 40 --without 0-9
    packenv plan cluster.json --when --service exponential:3600
    """
    check_outputs(json_path, log, plot=plot, report=report)
    if asks_when:
        if wanted or types or without or log or plot or report:
            raise InputError("--when says when pods start: no --goal, --types, --without, --log, --plot or --report goes with it")
        cluster, left_out = workload_from(with_durations(WorkloadOptions(**words), durations), servers="1")
        own = chosen_policies(policies or ("bf-js",))
        plan_when(cluster, left_out, own, slots or DEFAULT_SLOTS, DRAWS if draws is None else draws, made, form, json_path)
        return
    if durations is not None:
        raise InputError("--durations goes with --when")
    named = chosen_policies(policies)
    kinds = None if types is None else parse_kinds(types)
    said = WorkloadOptions(**words | kinds_as_servers(kinds, words["servers"]))
    workload = grown(said, growth)
    if begins_busy(workload):
        raise InputError(f"{workload.name} is a cluster as it is: --when says when its waiting pods would start")
    goals, length = wanted_goals(workload, wanted, mixed=kinds is not None or without is not None), run_length(workload, slots)
    asked = Asked(workload, goals, named, seeds, length, shown_slot(said, workload), draws or 0, max_demand)
    if kinds is not None and (draws or max_demand is not None or plot is not None):
        raise InputError("--draws, --max-demand and --plot go with a number of equal servers, not with --types")
    if max_demand is not None and workload.jobs is None:
        raise InputError("--max-demand is for traces: the laws of a workload say what tasks there are")
    if without is not None:
        if kinds is not None or draws or max_demand is not None or plot is not None:
            raise InputError("--without goes with a cluster: no --types, --draws, --max-demand or --plot goes with it")
        if said.servers is None and workload.jobs is not None:
            raise InputError("--without goes with --servers, which says what the whole cluster is")
        found = plan_failure(asked, parse_failing(without, len(workload.servers)), made, log)
    else:
        found = plan_numbers(asked, made, log) if kinds is None else plan_mixes(asked, kinds, made, log)
    show(form, found.tables, found.records, LEFT_OUT)
    text_console().print(found.answer, highlight=False)
    pictures = [] if found.draw is None else [(plot, found.draw)]
    pages = [(report, lambda path: write_report(found.report(), path))]
    write_all((json_path, lambda path: write_json(path, found.records)), *pictures, *pages)
