"""`packenv plan`: the least number of servers with which each policy meets goals."""

from __future__ import annotations

from typing import Any

import click

from packenv.cli import shared_options
from packenv.cli.completed_names import POLICY, WORKLOAD
from packenv.cli.outputs import check_outputs, write_all
from packenv.cli.plan.all_policies import plan_all
from packenv.cli.plan.tables import LEFT_OUT, answer, plan_record, plan_table
from packenv.cli.shared_options import COUNT, FILE, JSON, option
from packenv.cli.tables import format_option, show, text_console
from packenv.cli.workload_options import WorkloadOptions, chosen_policies, shown_slot, workload_from
from packenv.errors import InputError
from packenv.files import write_json
from packenv.planning.bound import fewest_servers
from packenv.planning.goals import EXAMPLES, check_goals, parse_goal
from packenv.planning.search import NoneMeets
from packenv.runs.runner import RunOptions

DEFAULT_SLOTS = 200_000
GAP, SECONDS = 0.001, 20.0  # of the bracket of ρ*
TRACE_GOAL = "a trace needs a --goal, as every number of servers gets its work done in the end; such as"


@click.command("plan")
@click.argument("source", metavar="[WORKLOAD|TRACE]", required=False, type=WORKLOAD)
@click.option("--goal", "-g", "wanted", multiple=True, metavar="GOAL", help=f"{EXAMPLES}; repeat for more, all must be met.")
@click.option("--policy", "-p", "policies", multiple=True, type=POLICY, help="Policy to plan with; repeat for more.")
@click.option("--servers", help="The kind of server: 1, 1x0.5, 1x1:0.5 for two resources; a number before it does not matter.")
@shared_options.sizes
@shared_options.service
@click.option("--load", type=float, help="Arrivals as a share of ρ* of the workload's own servers.")
@click.option("--intensity", type=float, help="Arrivals as a share of the area bound of the workload's own servers.")
@click.option("--rate", type=float, help="Tasks per slot.")
@shared_options.resources
@shared_options.slot_seconds
@option("--speedup", default="1", help="β: arrivals of a trace come this many times as fast.")
@click.option("--slots", type=COUNT, help=f"Slots of each run of a workload  [default: {DEFAULT_SLOTS:,}].")
@option("--seeds", type=COUNT, default=4, help="Runs with each number of servers; as many others confirm the answer.")
@shared_options.run_options
@format_option
@click.option("--json", "json_path", type=JSON, help="Write the answers, and all that was tried, as JSON; - is standard output.")
@click.option("--plot", type=FILE, help="Draw each goal's measure against the number of servers (PNG, PDF, SVG).")
def plan(
    wanted: tuple[str, ...],
    policies: tuple[str, ...],
    slots: int | None,
    seeds: int,
    made: RunOptions,
    form: str,
    json_path: str | None,
    plot: str | None,
    **words: Any,
) -> None:
    """Find the least number of servers with which each policy meets your goals, and a bound that no policy can beat.

    \b
    packenv plan trace.parquet --goal "p95 wait <= 60s" -p bf-js -p fifo-ff
    packenv plan google2011-like --goal "mean wait <= 1s" --goal "utilisation >= 60%" --plot plan.png
    packenv plan --sizes uniform:0.1:0.9 --service geometric:100 --rate 0.5
    """
    check_outputs(json_path, plot=plot)
    named = chosen_policies(policies)
    said = WorkloadOptions(**words)
    workload, _ = workload_from(said, servers="1")
    if len(workload.servers.kinds) > 1:
        raise InputError(
            f"a plan is for servers of one kind; {workload.name} has {len(workload.servers.kinds)}: say which, --servers 1x1"
        )
    if workload.jobs is not None and (workload.jobs.home is not None or workload.draw is not None):
        raise InputError(f"{workload.name} says on which servers data lie: their number cannot be changed")
    goals = [parse_goal(text, workload.slot_seconds) for text in wanted]
    check_goals(goals, workload)
    if workload.jobs is not None and not goals:
        raise InputError(f"{TRACE_GOAL} {EXAMPLES}")
    if workload.jobs is not None and slots is not None:
        raise InputError("--slots is for workloads: a trace is run to its end")
    console = text_console()
    with console.status(f"{workload.name}: the fewest servers of any policy"):
        bound = fewest_servers(workload, goals, GAP, SECONDS)
    options: dict[str, Any] = {"drain": True} if workload.jobs is not None else {}
    length = slots or (DEFAULT_SLOTS if workload.jobs is None else None)
    plans, refused = plan_all(workload, named, goals, bound, seeds, length, options, made)
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

    write_all((json_path, lambda path: write_json(path, records)), (plot, draw))
