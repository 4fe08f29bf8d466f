"""`packenv plan`: the least number of servers for goals."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, replace
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import click

from packenv.cli.options.names import POLICY, WORKLOAD
from packenv.cli.options.of_fields import log, options_of, process_options, runs_in, workload_options
from packenv.cli.options.workload import chosen_policies, is_table, workload_from, workload_with_notes
from packenv.cli.outputs import Outputs, output_options
from packenv.cli.tables import print_notes, text_console
from packenv.content.tables import Styled
from packenv.content.text import do_not_go
from packenv.errors import ArgumentError, CommandError, InputError
from packenv.inputs.numbers import exact
from packenv.options.shared import OF_TRACES, ProcessOptions, WorkloadOptions
from packenv.options.verbs import GOAL_EXAMPLES, PlanOptions

if TYPE_CHECKING:
    from packenv.content.showable import Showable
    from packenv.planning.kinds import Kinds
    from packenv.planning.request import PlanRequest
    from packenv.runs.runner import RunOptions
    from packenv.workloads.workload import Workload


ANY, NUMBER = ("goals", "growth", "slots", "seeds", "log", "report"), "a number of equal servers"
KINDS = {
    NUMBER: {*ANY, "draws", "max_demand", "plot"},
    "--types": {*ANY, "types", "plot"},
    "--without": {*ANY, "without"},
    "--add": {*ANY, "add", "draws", "max_demand", "plot"},
}
"""Parameters that go with each kind of plan, by its name in messages."""


def kind_of(parameters: Mapping[str, Any]) -> str:
    """Return the kind of plan that these parameters request.

    parameters  by name. None, False or empty if not set
    Raises InputError for an option that does not go with it.
    """
    present = [name for name, value in parameters.items() if not (value is None or value is False or value == ())]
    kind = next((flag for flag in KINDS if flag.removeprefix("--") in present), NUMBER)
    if idle := [name for name in present if name in set().union(*KINDS.values()) - KINDS[kind]]:
        others = [other for other, options in KINDS.items() if {*idle} <= options and other[2:] not in idle]
        flags = [f"--{name.replace('_', '-')}" for name in idle]
        raise InputError(do_not_go(flags, kind) + (f"; leave it out, or use {' or '.join(others)}" if others else ""))
    return kind


def grown(options: WorkloadOptions, growth: str | None, add: str | None, any_number: bool) -> Workload:
    """Return the workload with `growth` times the arrivals, and `add` applied.

    any_number  a trace may have the servers that its gangs need: of capacity 1, unless others are named
    A trace comes faster, so each task occurs once, and its days become shorter.
    """
    from packenv.planning.kinds import with_kind
    from packenv.workloads.find import is_trace_source
    from packenv.workloads.servers import WithKind

    servers = "1" if any_number else None
    traced = options.source is not None and is_trace_source(options.source)
    if add is not None and traced:
        options = replace(options, servers=WithKind(options.servers, add))  # type: ignore[arg-type]
    workload = workload_with_notes(options, servers)
    if add is not None and not traced:
        workload = with_kind(workload, add)
    if growth is None:
        return workload
    if growth.strip().endswith("%"):
        raise InputError(f"--growth must be a factor, such as 1.2 for a fifth more arrivals, not {growth!r}")
    factor = exact(growth, "--growth")
    if workload.jobs is None:
        return workload.with_(rate=float(factor * Fraction(workload.rate)))
    speedup = Decimal(growth) * Decimal(options.speedup)
    return workload_from(replace(options, speedup=f"{speedup:f}"), servers)[0]


@click.command("plan")
@click.argument("source", metavar="[WORKLOAD|TRACE]", required=False, type=WORKLOAD)
@click.option(
    "--goal", "-g", "goals", multiple=True, metavar="GOAL", help=f"Goal: {GOAL_EXAMPLES}; repeat for more, all must be met."
)
@click.option("--policy", "-p", "policies", multiple=True, type=POLICY, help="Policy to plan with; repeat for more.")
@workload_options(
    "servers", "sizes", "service", "arrivals", "load", "intensity", "rate", "resources", *OF_TRACES, "estimates", "speedup",
    servers="Server type: 1, or 1x1:0.5; with --add, --without: existing servers.",
    load="Arrivals as a share of the workload's own servers' ρ*.",
    intensity="Arrivals as a share of the workload's own servers' area bound.",
)  # fmt: skip
@options_of(PlanOptions)
@process_options
@log
@output_options(
    "Write answers and all tried numbers",
    plot="Draw each goal's measure by servers, or cost",
    report=True,
)
def plan(
    goals: tuple[str, ...],
    policies: tuple[str, ...],
    of_workload: WorkloadOptions,
    options: PlanOptions,
    where: ProcessOptions,
    log: str | None,
    outputs: Outputs,
) -> None:
    """Find the fewest servers with which each policy meets your goals, and a bound that no policy can beat.

    \b
    packenv plan trace.parquet --goal "p95 wait <= 60s" -p bf-js -p fifo-ff
    packenv plan paper/fig4b -g "mean wait <= 20" -g "max queue <= 50"
    packenv plan --sizes uniform:0.1:0.9 --service geometric:100 --rate 0.5
    packenv plan trace.parquet -g "mean wait <= 9s" --types 1=0.50,2=0.95
    packenv plan trace.parquet -g "p95 wait <= 60s" --servers 40 --without 0-9
    packenv plan trace.parquet -g "p95 wait <= 60s" --servers 4x1,2x2 --add 2
    """
    outputs.check(log)
    from packenv.workloads.find import room_of

    if (room := room_of(of_workload.source)) is not None:
        command = room.COMMANDS.get("plan")
        advice = f"run {command}" if command else "there is no plan for it"
        raise InputError(f"{of_workload.source} is {room.WHAT}: {advice}")
    kind = kind_of(asdict(options) | {"goals": goals, "log": log, "plot": outputs.plot, "report": outputs.report})
    request, kinds = requested(kind, of_workload, policies, goals, options)
    answer = answered(request, kinds, options.without, runs_in(where), log)
    outputs.show(answer)
    outputs.write(answer)


def requested(
    kind: str, of_workload: WorkloadOptions, names: tuple[str, ...], goals: tuple[str, ...], options: PlanOptions
) -> tuple[PlanRequest, Kinds | None]:
    """Return the checked request, and the kinds of a mix. Raises InputError."""
    from packenv.planning.kinds import check_kinds, parse_kinds
    from packenv.planning.request import plan_request

    policies = chosen_policies(names) if names else ()
    kinds = None if options.types is None else parse_kinds(options.types)
    if kinds is not None and of_workload.servers is not None:
        raise InputError("give either --servers or --types")
    if kinds is not None:
        of_workload = replace(of_workload, servers=kinds.one_of_each)
    if kind == "--without" and of_workload.servers is None and is_table(of_workload):
        raise InputError("--without needs --servers, the whole cluster")
    workload = grown(of_workload, options.growth, options.add, kind in (NUMBER, "--types"))
    try:
        mixed = kind in ("--types", "--without")
        request = plan_request(workload, goals, policies or chosen_policies((), workload), options, mixed=mixed)
    except ArgumentError as error:
        if "add" not in error.remedy:
            raise
        arguments = [*click.get_current_context().find_root().obj, "--add", error.remedy["add"]]
        raise CommandError(error.of_options(), shlex.join(["packenv", *arguments])) from None
    if kinds is not None:
        check_kinds(kinds, workload)
    return request, kinds


def answered(request: PlanRequest, kinds: Kinds | None, without: str | None, options: RunOptions, log: str | None) -> Showable:
    """Return the plan. Raises NoneMeets if no policy meets the goals."""
    from packenv.planning.failures import failure_plans, parse_failing
    from packenv.planning.lower_bounds.cost_bound import least_cost
    from packenv.planning.mix_plans import MixPlans, mix_plans
    from packenv.planning.plan import server_plans
    from packenv.planning.request import GAP, SECONDS
    from packenv.planning.server_plans import ServerPlans

    runs = request.log(log)
    if without is not None:
        return failure_plans(request, parse_failing(without, request.workload.servers), options, runs)
    answer: MixPlans | ServerPlans
    if kinds is not None:
        with text_console().status(f"{request.workload.name}: the least cost of any policy"):
            cost = least_cost(request.workload, request.goals, kinds, GAP, SECONDS)
        answer = mix_plans(request, kinds, cost, options, runs)
    else:
        with text_console().status(f"{request.workload.name}: the fewest servers of any policy"):
            fewest = request.bound()
        answer = server_plans(request, fewest, options, runs)
    if not answer.plans:
        print_refused(answer.refusals, answer.plans)
    return answer


def print_refused(refused: Sequence[object], plans: Collection[Any], of: str = "servers") -> None:
    """Print which policies miss the goals with any number `of` servers. Raises NoneMeets if all do."""
    from packenv.planning.search import NoneMeets

    print_notes(Styled(str(problem), "yellow") for problem in refused)
    if not plans:
        raise NoneMeets(f"no policy meets the goals with any number of {of}")
