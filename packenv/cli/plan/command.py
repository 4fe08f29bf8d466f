"""`packenv plan`: the least number of servers with which each policy meets goals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

import click

from packenv.cli.options import shared
from packenv.cli.options.shared import COUNT, PATH, POLICY, WORKLOAD
from packenv.cli.options.workload import (
    WorkloadOptions,
    chosen_policies,
    workload_from,
    workload_told,
)
from packenv.cli.outputs import Outputs, output_options
from packenv.cli.plan.answers import print_refused
from packenv.cli.plan.failed_servers import plan_failure
from packenv.cli.plan.mixes import kinds_as_servers, plan_mixes
from packenv.cli.tables import text_console
from packenv.content.showable import Showable
from packenv.errors import InputError
from packenv.planning.goals import EXAMPLES
from packenv.planning.kinds import parse_kinds
from packenv.planning.plan import DEFAULT_SLOTS, DRAWS, QUEUE_SEEDS, SEEDS
from packenv.planning.server_plans import PlanRequest, plan_request
from packenv.planning.what_if import parse_failing
from packenv.runs.runner import RunOptions
from packenv.workloads.find import room_of
from packenv.workloads.traces.table import exact
from packenv.workloads.workload import Workload


class Question(NamedTuple):
    """One of the things that can be planned."""

    title: str
    options: tuple[str, ...]  # parameters of the command that go with it, of those that do not go with every question


PLANNED = ("goals", "growth", "slots", "seeds", "log", "report")
NUMBER = Question("a number of equal servers", (*PLANNED, "draws", "max_demand", "plot"))
MIX = Question("--types, the cheapest mix", (*PLANNED, "types", "plot"))
FAILURE = Question("--without, a cluster whose servers fail", (*PLANNED, "without"))
OF_PODS = ("durations", "no_preemption", "draws", "slots")
WHEN = Question("--when, which says when pods start", OF_PODS)
SUBMIT = Question("--submit, pods that are submitted to a cluster", (*OF_PODS, "submit", "report"))
OF_CLUSTER = ("goals", "durations", "no_preemption", "seeds", "report")
NODES = Question("a plan of a cluster as it is", (*OF_CLUSTER, "add"))
FAILED_NODES = Question("--without, nodes of a cluster that fail", (*OF_CLUSTER, "without"))
OF_SOME = {name for question in (NUMBER, MIX, FAILURE, WHEN, SUBMIT, NODES, FAILED_NODES) for name in question.options}


def question_of(parameters: Mapping[str, Any], is_cluster: bool) -> Question:
    """The question that these parameters ask. Raises InputError for an option that does not go with it.

    parameters  value of each; None, or empty, for those that were not set
    """
    if parameters["asks_when"]:
        if not is_cluster:
            raise InputError("--when is for a cluster as kubectl prints it: kubectl get nodes,pods -A -o json > cluster.json")
        question = WHEN
    elif parameters["submit"]:
        if not is_cluster:
            raise InputError("--submit is for a cluster as kubectl prints it: kubectl get nodes,pods -A -o json > cluster.json")
        question = SUBMIT
    elif is_cluster:
        question = FAILED_NODES if parameters["without"] is not None else NODES
    elif parameters["types"] is not None:
        question = MIX
    else:
        question = FAILURE if parameters["without"] is not None else NUMBER
    for name, value in parameters.items():
        if value not in (None, ()) and name in OF_SOME and name not in question.options:
            flag = "goal" if name == "goals" else name.replace("_", "-")
            raise InputError(f"--{flag} does not go with {question.title}")
    return question


def grown(options: WorkloadOptions, growth: str | None) -> Workload:
    """The workload with its arrivals `growth` times as many in the same time.

    Those of a trace come faster: each task is there once, and none at the same time as its copy. Its days become shorter.
    """
    workload = workload_told(options, servers="1")
    if growth is None:
        return workload
    factor = exact(growth, "--growth")
    if workload.jobs is None:
        return workload.with_(rate=float(factor * Fraction(workload.rate)))
    speedup = Decimal(growth) * Decimal(options.speedup)
    return workload_from(replace(options, speedup=f"{speedup:f}"), servers="1")[0]


@click.command("plan")
@click.argument("source", metavar="[WORKLOAD|TRACE]", required=False, type=WORKLOAD)
@click.option("--goal", "-g", "goals", multiple=True, metavar="GOAL", help=f"{EXAMPLES}; repeat for more, all must be met.")
@click.option("--policy", "-p", "policies", multiple=True, type=POLICY, help="Policy to plan with; repeat for more.")
@click.option("--types", help="Kinds of machines and the cost of each, for the cheapest mix: 1=0.50,2=0.95; or 1:0.5=0.8.")
@shared.workload_options(
    "servers", "sizes", "service", "load", "intensity", "rate", "resources", "slot_seconds", "columns", "time_unit", "partition",
    "finished_only", "estimates", "speedup",
    servers="The kind of server: 1, 1x0.5, 1x1:0.5 for two resources; a number before it does not matter.",
    load="Arrivals as a share of ρ* of the workload's own servers.",
    intensity="Arrivals as a share of the area bound of the workload's own servers.",
)  # fmt: skip
@click.option("--growth", help="Arrivals grow by this factor: a trace comes so much faster, a workload has more tasks.")
@click.option(
    "--draws",
    type=click.IntRange(0, 1000),
    help=f"Numbers for so many other draws of days, or seeds  [default: 0]; of a cluster: of unknown times  [default: {DRAWS}].",
)
@click.option(
    "--without", metavar="SERVERS", help="What if these fail? Servers such as 3,7,10-12, from 0; nodes of a cluster by name."
)
@click.option("--add", metavar="NODE", help="Nodes to add to a cluster: like this one, or a capacity  [default: the commonest].")
@click.option("--max-demand", type=float, help="Also without the tasks of a trace that need more: what do they cost?")
@click.option(
    "--when", "asks_when", is_flag=True, help="When waiting pods would start, on a cluster as kubectl prints it (JSON)."
)
@click.option(
    "--submit",
    multiple=True,
    type=PATH,
    help="Would these pods start, and at whose expense? Manifests of Pods, Jobs, Deployments (YAML, JSON); repeat for more.",
)
@click.option("--durations", type=PATH, help="How long pods took: a file with owner and seconds, or a trace; for a cluster.")
@click.option("--no-preemption", is_flag=True, default=None, help="On a cluster: no waiting pod takes the place of others.")
@click.option("--slots", type=COUNT, help=f"Slots of each run of a workload  [default: {DEFAULT_SLOTS:,}].")
@click.option(
    "--seeds",
    type=COUNT,
    help=f"Runs with each number; as many others confirm the answer  [default: {SEEDS}, of a cluster as it is {QUEUE_SEEDS}].",
)
@shared.run_options
@shared.log
@output_options(
    "Write the answers, and all that was tried,",
    plot="Draw each goal's measure against the number of servers, or the cost",
    report=True,
)
def plan(
    of_workload: WorkloadOptions,
    run_options: RunOptions,
    outputs: Outputs,
    **parameters: Any,
) -> None:
    """Find the least number of servers with which each policy meets your goals, and a bound that no policy can beat.

    \b
    packenv plan trace.parquet --goal "p95 wait <= 60s" -p bf-js -p fifo-ff
    packenv plan paper/fig4b -g "mean wait <= 20" -g "max queue <= 50"
    packenv plan --sizes uniform:0.1:0.9 --service geometric:100 --rate 0.5
    packenv plan trace.parquet -g "mean wait <= 9s" --types 1=0.50,2=0.95
    packenv plan trace.parquet -g "p95 wait <= 60s" --servers 40 --without 0-9
    packenv plan cluster.json --when --service exponential:3600
    packenv plan cluster.json --submit job.yaml --service exponential:3600
    packenv plan cluster.json -g "max wait <= 1h" --service exponential:3600
    packenv plan cluster.json -g "max wait <= 1h" --without node-3,node-7
    """
    outputs.check(parameters["log"])
    room = room_of(of_workload.source)
    question = question_of({**parameters, "plot": outputs.plot, "report": outputs.report}, room is not None)
    if question is WHEN:
        room.plan_starts(of_workload, run_options, parameters, outputs)
        return
    if room is None:
        answer = of_servers(question, of_workload, run_options, parameters)
    else:
        answer = room.plan_cluster(of_workload, run_options, parameters)
    outputs.show(answer)
    outputs.write(answer)


def of_servers(question: Question, options: WorkloadOptions, run_options: RunOptions, parameters: Mapping[str, Any]) -> Showable:
    """A plan of servers for a workload or a trace. Raises InputError."""
    policies = chosen_policies(parameters["policies"])
    kinds = None if parameters["types"] is None else parse_kinds(parameters["types"])
    options = replace(options, **kinds_as_servers(kinds, options.servers))
    workload = grown(options, parameters["growth"])
    mixed = question in (MIX, FAILURE)
    seeds, slots, draws = parameters["seeds"] or SEEDS, parameters["slots"], parameters["draws"] or 0
    request = plan_request(workload, parameters["goals"], policies, seeds, slots, draws, parameters["max_demand"], mixed=mixed)
    if question is FAILURE:
        if options.servers is None and workload.jobs is not None:
            raise InputError("--without goes with --servers, which says what the whole cluster is")
        failing = parse_failing(parameters["without"], len(workload.servers))
        return plan_failure(request, failing, run_options, parameters["log"])
    if kinds is not None:
        return plan_mixes(request, kinds, run_options, parameters["log"])
    return plan_numbers(request, run_options, parameters["log"])


def plan_numbers(request: PlanRequest, run_options: RunOptions, log: str | None) -> Showable:
    """The least number of servers for each policy. Raises NoneMeets if no policy meets the goals with any number."""
    runs = request.log(log)
    with text_console().status(f"{request.workload.name}: the fewest servers of any policy"):
        bound = request.bound()
    answer = request.run(bound, run_options, runs)
    print_refused(answer.refusals, answer.plans)
    return answer
