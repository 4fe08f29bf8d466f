"""`packenv kubernetes`: questions about a cluster from kubectl."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import click

from packenv.extend import (
    DEFAULT_SLOTS,
    INPUT,
    POLICY,
    Count,
    InFile,
    InputError,
    Outputs,
    ProcessOptions,
    Range,
    option,
    options_of,
    output_options,
    process_options,
    runs_in,
)

if TYPE_CHECKING:
    from packenv.extend import Law
    from packenv_kubernetes.commands.nodes import ClusterRequest
    from packenv_kubernetes.durations import Durations
    from packenv_kubernetes.manifests import Submitted

POLICIES = ("bf-js",)
"""Default policies for a cluster."""

DRAWS, SEEDS = 199, 16
"""Draws of unknown times, and runs with each number of nodes.

With 199 draws the interval is from the 20th to the 180th ordered draw: 160 of 200 places that another draw may take. Few
runs measure waits poorly, and each is short.
"""


@dataclass(frozen=True)
class ClusterOptions:
    """Options for reading the file, and known durations."""

    service: str | None = option(
        None, "Run times of pods: exponential:1h, fixed:90min, lognormal:MEAN:CV, …", metavar="LAW", group="Cluster", common=True
    )
    durations: InFile | None = option(None, "Recorded run times: a file (owner, seconds), or a trace.", common=True)
    no_preemption: bool = option(False, "Do not preempt pods.")
    resources: str | None = option(
        None, "Resources that count: names with commas, or `all`  [default: cpu, memory, and extended ones].", metavar="NAMES"
    )
    slot_seconds: str = option("1", "Seconds in a slot: an exact decimal.", metavar="H")


@dataclass(frozen=True)
class NodeOptions:
    """Options for added and removed nodes."""

    add: tuple[str, ...] = option(
        (),
        "Nodes to add: like NODE, or 4:16; repeat for more types.",
        metavar="[Nx]NODE",
        group="Nodes",
        common=True,
    )
    without: str | None = option(None, "Names of nodes that fail, with commas.", metavar="NODES", common=True)


@dataclass(frozen=True)
class DrawOptions:
    """Options for draws, and the length of runs."""

    slots: Count | None = option(None, f"Slots of each run  [default: {DEFAULT_SLOTS:,}].", group="Run")
    draws: Annotated[int, Range(0, 1000)] = option(DRAWS, "Draws of unknown run times.")


policy_option = click.option("--policy", "-p", "policies", multiple=True, type=POLICY, help="Policy; repeat for more.")
of_cluster = options_of(ClusterOptions, "of_cluster")
of_nodes = options_of(NodeOptions, "of_nodes")
of_draws = options_of(DrawOptions, "of_draws")
cluster_file = click.argument("source", metavar="CLUSTER", type=INPUT)


@click.group()
def kubernetes() -> None:
    """Ask about a Kubernetes cluster: when pods start, how many nodes it needs.

    CLUSTER is a file that kubectl prints, or - for standard input:

    \b
    kubectl get nodes,pods -A -o json > cluster.json
    kubectl get nodes,pods -A -o json | packenv kubernetes when -
    """


@kubernetes.command()
@cluster_file
@policy_option
@of_cluster
@click.option("--slots", type=click.IntRange(min=1), default=DEFAULT_SLOTS, show_default=True, help="Slots to simulate.")
@click.option("--seed", default=0, show_default=True, help="First seed.")
@click.option("--seeds", type=click.IntRange(min=1), default=1, show_default=True, help="Number of seeds: draws of durations.")
@output_options("Write all records", plot="Draw queues over time and delays", report=True)
def evaluate(
    source: str, policies: tuple[str, ...], of_cluster: ClusterOptions, slots: int, seed: int, seeds: int, outputs: Outputs
) -> None:
    """Compare policies on the cluster: its pods in service go on, and its queue is there.

    \b
    packenv kubernetes evaluate cluster.json --service exponential:1h -p bf-js -p fifo-ff
    """
    outputs.check()
    from packenv import evaluate as evaluate_policies
    from packenv.extend import begin_lines
    from packenv_kubernetes.commands.nodes import print_cluster

    request = _request(source, policies, of_cluster)
    cluster = request.cluster
    workload = cluster.workload(request.service or None, request.slot_seconds, request.preemption)
    print_cluster(cluster, begin_lines(workload), len(cluster.nodes))
    comparison = evaluate_policies(workload, request.policies, slots=slots, seed=seed, seeds=seeds)
    outputs.show(comparison)
    outputs.write(comparison)


@kubernetes.command()
@cluster_file
@click.option("--goal", "-g", "goals", multiple=True, metavar="GOAL", help="max wait <= 10min; repeat for more, all must be met.")
@policy_option
@options_of(NodeOptions, "of_nodes", add="Node to add: like NODE, or 4:16  [default: the commonest].")
@of_cluster
@click.option("--seeds", type=click.IntRange(min=1), default=SEEDS, show_default=True, help="Runs with each number of nodes.")
@process_options
@output_options("Write answers and all tried numbers", report=True)
def plan(
    source: str,
    goals: tuple[str, ...],
    policies: tuple[str, ...],
    of_nodes: NodeOptions,
    of_cluster: ClusterOptions,
    seeds: int,
    where: ProcessOptions,
    outputs: Outputs,
) -> None:
    """Find how many nodes to add or to remove for your goals, or what happens if nodes fail.

    \b
    packenv kubernetes plan cluster.json -g "max wait <= 1h" --service exponential:1h
    packenv kubernetes plan cluster.json -g "max wait <= 1h" --without node-3,node-7
    """
    outputs.check()
    from packenv_kubernetes.commands.nodes import plan_added, plan_failed_nodes
    from packenv_kubernetes.planning.queue import parse_queue_goals

    if len(of_nodes.add) > 1:
        raise InputError("a plan adds nodes of one kind: give --add once; `packenv kubernetes when` takes several")
    if of_nodes.add and of_nodes.without is not None:
        raise InputError("give one of --add and --without; with both, `packenv kubernetes when` shows when pods start")
    request = _request(source, policies, of_cluster, seeds=seeds)
    request = request.with_goals(parse_queue_goals(goals, request.slot_seconds))
    if of_nodes.without is not None:
        answer = plan_failed_nodes(request, of_nodes.without, runs_in(where))
    else:
        answer = plan_added(request, next(iter(of_nodes.add), None), runs_in(where))
    outputs.show(answer)
    outputs.write(answer)


@kubernetes.command()
@cluster_file
@policy_option
@of_nodes
@of_cluster
@of_draws
@process_options
@output_options("Write the interval of each start")
def when(
    source: str,
    policies: tuple[str, ...],
    of_nodes: NodeOptions,
    of_cluster: ClusterOptions,
    of_draws: DrawOptions,
    where: ProcessOptions,
    outputs: Outputs,
) -> None:
    """Find when each waiting pod starts, with intervals over unknown durations.

    \b
    packenv kubernetes when cluster.json --service exponential:1h
    packenv kubernetes when cluster.json --service exponential:1h --add 2xnode-3
    """
    outputs.check()
    from packenv_kubernetes.commands.pod_starts import plan_when

    request, slots = _request(source, policies, of_cluster), of_draws.slots or DEFAULT_SLOTS
    plan_when(request, of_nodes.add, of_nodes.without, slots, of_draws.draws, runs_in(where), outputs)


@kubernetes.command()
@cluster_file
@click.argument("manifests", metavar="MANIFEST…", nargs=-1, required=True, type=INPUT)
@policy_option
@of_cluster
@of_draws
@process_options
@output_options("Write the fate of each pod", report=True)
def submit(
    source: str,
    manifests: tuple[str, ...],
    policies: tuple[str, ...],
    of_cluster: ClusterOptions,
    of_draws: DrawOptions,
    where: ProcessOptions,
    outputs: Outputs,
) -> None:
    """Find whether pods would start if you submit them, when, and which pods they delay.

    A manifest has Pods, Jobs, Deployments or their like, in YAML or JSON.

    \b
    packenv kubernetes submit cluster.json job.yaml --service exponential:1h
    """
    outputs.check()
    from packenv_kubernetes.commands.submitted import plan_submitted
    from packenv_kubernetes.manifests import read_manifests

    submitted = read_manifests(manifests)
    request = _request(source, policies, of_cluster, submitted)
    answer = plan_submitted(request, submitted.notes, of_draws.slots or DEFAULT_SLOTS, of_draws.draws, runs_in(where))
    outputs.show(answer)
    outputs.write(answer)


def _request(
    source: str, policies: tuple[str, ...], options: ClusterOptions, submitted: Submitted | None = None, seeds: int = SEEDS
) -> ClusterRequest:
    """Return a file's cluster with all assumptions. Raises InputError."""
    from packenv.extend import chosen_policies, chosen_resources, exact
    from packenv_kubernetes.commands.nodes import ClusterRequest
    from packenv_kubernetes.dump import read_cluster

    names, sizes = chosen_resources(options.resources)
    if sizes == "max" and names is not None:
        raise InputError("--resources max: does not go with a cluster, whose nodes have several capacities: name resources")
    slot_seconds = float(exact(options.slot_seconds, "--slot-seconds"))
    service = _service(options, slot_seconds)
    cluster = read_cluster(source, names, submitted)
    return ClusterRequest(
        cluster, (), chosen_policies(policies or POLICIES), seeds, service, slot_seconds, not options.no_preemption
    )


def _service(options: ClusterOptions, slot_seconds: float) -> tuple[Law, ...] | Durations:
    """Return a law, past durations, or laws from a trace (InputError)."""
    from packenv.extend import parse_law, read_trace
    from packenv_kubernetes.durations import is_durations, read_durations
    from packenv_kubernetes.started import stretches

    if options.durations is None:
        return (parse_law(options.service, "--service", slot_seconds),) if options.service else ()
    if options.service is not None:
        raise InputError("give one of --service and --durations")
    if is_durations(options.durations):
        return read_durations(options.durations)
    return stretches(read_trace(options.durations).jobs(slot_seconds=options.slot_seconds).jobs.service)
