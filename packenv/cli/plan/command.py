"""`packenv plan`: the least number of servers for goals."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import asdict, replace
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from packenv.cli.options.names import POLICY, WORKLOAD
from packenv.cli.options.of_fields import options_of
from packenv.cli.options.shared import log, process_options, runs_in, workload_options
from packenv.cli.options.workload import chosen_policies, is_table, workload_from, workload_with_notes
from packenv.cli.outputs import Outputs, output_options
from packenv.cli.tables import text_console
from packenv.content.text import do_not_go
from packenv.errors import ArgumentError, InputError
from packenv.inputs.numbers import exact
from packenv.options.shared import OF_TRACES, ProcessOptions, WorkloadOptions
from packenv.options.verbs import GOAL_EXAMPLES, PlanOptions

if TYPE_CHECKING:
    from packenv.content.showable import Showable
    from packenv.planning.plan import PlanRequest
    from packenv.runs.runner import RunOptions
    from packenv.workloads.workload import Workload


class Question(NamedTuple):
    """A kind of plan."""

    title: str
    options: tuple[str, ...]  # parameters that go with it, besides those of every question

    @property
    def flag(self) -> str:
        """Option of this kind, such as `--types`, or its title without one."""
        return self.title.partition(",")[0]


PLANNED = ("goals", "growth", "slots", "seeds", "log", "report")
NUMBER = Question("a number of equal servers", (*PLANNED, "draws", "max_demand", "plot"))
ADDED = Question("--add, servers more for those that are there", (*PLANNED, "add", "draws", "max_demand", "plot"))
MIX = Question("--types, the cheapest mix", (*PLANNED, "types", "plot"))
FAILURE = Question("--without, a cluster whose servers fail", (*PLANNED, "without"))
FLAGS = {"goals": "goal"}
QUESTIONS = (NUMBER, ADDED, MIX, FAILURE)
OF_SOME = {name for question in QUESTIONS for name in question.options}


def question_of(parameters: Mapping[str, Any]) -> Question:
    """Return the kind of plan that these parameters request.

    parameters  by name. None, False or empty if not set
    Raises InputError for an option that does not go with it.
    """
    if parameters["types"] is not None:
        question = MIX
    elif parameters["without"] is not None:
        question = FAILURE
    else:
        question = NUMBER if parameters["add"] is None else ADDED
    there = [name for name, value in parameters.items() if not (value is None or value is False or value == ())]
    idle = [name for name in there if name in OF_SOME and name not in question.options]
    if idle:
        others = [other.flag for other in QUESTIONS if {*idle} <= {*other.options}]
        flags = [f"--{FLAGS.get(name, name.replace('_', '-'))}" for name in idle]
        raise InputError(do_not_go(flags, question.title) + (f", but with {' or '.join(others)}" if others else ""))
    return question


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
        raise InputError(f"--growth is a factor, 1.2 for a fifth more arrivals, not {growth!r}")
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
        own = room.COMMANDS.get("plan")
        raise InputError(f"{of_workload.source} is {room.WHAT}: " + (f"{own} answers it" if own else "there is no plan of it"))
    parameters = {**asdict(options), "goals": goals, "policies": policies, "log": log}
    question = question_of({**parameters, "plot": outputs.plot, "report": outputs.report})
    answer = of_servers(question, of_workload, policies, goals, options, runs_in(where), log)
    outputs.show(answer)
    outputs.write(answer)


def of_servers(
    question: Question,
    of_workload: WorkloadOptions,
    names: tuple[str, ...],
    goals: tuple[str, ...],
    options: PlanOptions,
    run_options: RunOptions,
    log: str | None,
) -> Showable:
    """Return a plan of servers for a workload or a trace. Raises InputError."""
    from packenv.cli.plan.failed_servers import plan_failure
    from packenv.cli.plan.mixes import kinds_as_servers, plan_mixes
    from packenv.planning.kinds import parse_kinds
    from packenv.planning.plan import plan_request
    from packenv.planning.what_if import parse_failing

    named = chosen_policies(names) if names else ()
    kinds = None if options.types is None else parse_kinds(options.types)
    of_workload = replace(of_workload, **kinds_as_servers(kinds, of_workload.servers))
    if question is FAILURE and of_workload.servers is None and is_table(of_workload):
        raise InputError("--without needs --servers, the whole cluster")
    workload = grown(of_workload, options.growth, options.add, question in (NUMBER, MIX))
    policies = named or chosen_policies((), workload)
    try:
        request = plan_request(workload, goals, policies, options, mixed=question in (MIX, FAILURE))
    except ArgumentError as error:
        if "add" not in error.remedy:
            raise
        words = [*click.get_current_context().find_root().obj, "--add", error.remedy["add"]]
        raise InputError(f"{error.of_options()}; this works: {shlex.join(['packenv', *words])}") from None
    if question is FAILURE:
        failing = parse_failing(str(options.without), workload.servers)
        return plan_failure(request, failing, run_options, log)
    if kinds is not None:
        return plan_mixes(request, kinds, run_options, log)
    return plan_numbers(request, run_options, log)


def plan_numbers(request: PlanRequest, run_options: RunOptions, log: str | None) -> Showable:
    """Return the least number of servers for each policy.

    Raises NoneMeets if no policy meets the goals with any number.
    """
    from packenv.cli.plan.answers import print_refused

    runs = request.log(log)
    with text_console().status(f"{request.workload.name}: the fewest servers of any policy"):
        bound = request.bound()
    answer = request.run(bound, run_options, runs)
    print_refused(answer.refusals, answer.plans)
    return answer
