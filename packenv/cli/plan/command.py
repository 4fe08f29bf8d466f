"""`packenv plan`: the least number of servers with which each policy meets goals."""

from __future__ import annotations

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
from packenv.cli.plan.all_policies import plan_all
from packenv.cli.plan.tables import LEFT_OUT, answer, plan_record, plan_table
from packenv.cli.plan.when import plan_when
from packenv.cli.report.page import write_report
from packenv.cli.tables import format_option, show, text_console
from packenv.errors import InputError
from packenv.files import write_json
from packenv.planning.bound import fewest_servers
from packenv.planning.goals import EXAMPLES
from packenv.planning.plan import DEFAULT_SLOTS, GAP, SECONDS, SEEDS, run_kind, run_length, wanted_goals
from packenv.planning.search import NoneMeets, Search
from packenv.planning.when import DRAWS
from packenv.runs.runner import RunOptions
from packenv.workloads.in_service import begins_busy


@click.command("plan")
@click.argument("source", metavar="[WORKLOAD|TRACE]", required=False, type=WORKLOAD)
@click.option("--goal", "-g", "wanted", multiple=True, metavar="GOAL", help=f"{EXAMPLES}; repeat for more, all must be met.")
@click.option("--policy", "-p", "policies", multiple=True, type=POLICY, help="Policy to plan with; repeat for more.")
@click.option("--servers", help="The kind of server: 1, 1x0.5, 1x1:0.5 for two resources; a number before it does not matter.")
@shared.sizes
@shared.service
@click.option("--load", type=float, help="Arrivals as a share of ρ* of the workload's own servers.")
@click.option("--intensity", type=float, help="Arrivals as a share of the area bound of the workload's own servers.")
@click.option("--rate", type=float, help="Tasks per slot.")
@shared.resources
@shared.slot_seconds
@option("--speedup", default="1", help="β: arrivals of a trace come this many times as fast.")
@click.option("--slots", type=COUNT, help=f"Slots of each run of a workload  [default: {DEFAULT_SLOTS:,}].")
@click.option(
    "--when", "asks_when", is_flag=True, help="When waiting pods would start, on a cluster as kubectl prints it (JSON)."
)
@click.option("--durations", type=PATH, help="A trace; how long its tasks took is the law of services, with --when.")
@click.option("--draws", type=COUNT, help=f"Draws of the times that are not known, with --when  [default: {DRAWS}].")
@option("--seeds", type=COUNT, default=SEEDS, help="Runs with each number of servers; as many others confirm the answer.")
@shared.run_options
@format_option
@click.option("--json", "json_path", type=JSON, help="Write the answers, and all that was tried, as JSON; - is standard output.")
@click.option("--plot", type=FILE, help="Draw each goal's measure against the number of servers (PNG, PDF, SVG).")
@shared.report_option
def plan(
    wanted: tuple[str, ...],
    policies: tuple[str, ...],
    slots: int | None,
    asks_when: bool,
    durations: str | None,
    draws: int | None,
    seeds: int,
    made: RunOptions,
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
    packenv plan cluster.json --when --service exponential:3600
    """
    check_outputs(json_path, plot=plot, report=report)
    if asks_when:
        if wanted or plot or report:
            raise InputError("--when says when pods start: no --goal, --plot or --report goes with it")
        said = with_durations(WorkloadOptions(**words), durations)
        cluster, left_out = workload_from(said, servers="1")
        own = chosen_policies(policies or ("bf-js",))
        plan_when(cluster, left_out, own, slots or DEFAULT_SLOTS, draws or DRAWS, made, form, json_path)
        return
    if durations is not None or draws is not None:
        raise InputError("--durations and --draws go with --when")
    named = chosen_policies(policies)
    said = WorkloadOptions(**words)
    workload, _ = workload_from(said, servers="1")
    if begins_busy(workload):
        raise InputError(f"{workload.name} is a cluster as it is: --when says when its waiting pods would start")
    goals, length = wanted_goals(workload, wanted), run_length(workload, slots)
    console = text_console()
    with console.status(f"{workload.name}: the fewest servers of any policy"):
        bound = fewest_servers(workload, goals, GAP, SECONDS)
    searches = [Search(workload, name, goals, seeds, length, run_kind(workload)) for name in named]
    plans, refused = plan_all(searches, bound, made)
    for problem in refused:
        console.print(str(problem), style="yellow", highlight=False)
    if not plans:
        raise NoneMeets("none of the policies meets the goals with any number of servers")
    slot_seconds = shown_slot(said, workload)
    records = [plan_record(workload, goals, one, bound) for one in plans]
    show(form, [plan_table(workload, goals, plans, bound, slot_seconds)], records, LEFT_OUT)
    console.print(answer(workload, goals, plans, bound), highlight=False)

    def draw(path: str) -> None:
        from packenv.cli.plan.plot import draw_plans  # brings matplotlib with it

        draw_plans(plans, goals, bound, workload, slot_seconds, path)

    def tell(path: str) -> None:
        from packenv.cli.plan.report import plan_report  # brings the profile of traces with it

        told = plan_report(plans, [*map(str, refused)], goals, bound, workload, slot_seconds, seeds, length)
        write_report(told, path)

    write_all((json_path, lambda path: write_json(path, records)), (plot, draw), (report, tell))
