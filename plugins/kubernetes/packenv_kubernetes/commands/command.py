"""What `packenv plan` asks of a cluster as it is, from its options."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from packenv.cli.options.workload import chosen_policies
from packenv.cli.outputs import Outputs
from packenv.content.showable import Answer
from packenv.content.text import do_not_go
from packenv.errors import InputError
from packenv.inputs.numbers import exact
from packenv_kubernetes.commands.nodes import ClusterRequest, plan_added, plan_failed_nodes
from packenv_kubernetes.commands.pod_starts import plan_when
from packenv_kubernetes.commands.submitted import plan_submitted
from packenv_kubernetes.dump import read_cluster
from packenv_kubernetes.durations import Durations, is_durations, read_durations
from packenv_kubernetes.manifests import Submitted, read_manifests
from packenv_kubernetes.planning.queue import parse_queue_goals
from packenv_kubernetes.started import stretches
from packenv.options.shared import DEFAULT_SLOTS, OF_READING, WorkloadOptions
from packenv.options.verbs import DRAWS, QUEUE_SEEDS
from packenv.runs.runner import RunOptions
from packenv.workloads.laws import Law, parse_law
from packenv.workloads.resources import chosen_resources
from packenv.workloads.traces import read_trace
from packenv.workloads.workload import INTENSITIES

POLICIES = ("bf-js",)
"""The policies for a cluster as it is, unless others are named."""


def plan_starts(options: WorkloadOptions, run_options: RunOptions, parameters: Mapping[str, Any], outputs: Outputs) -> None:
    """Print when the pods of a cluster would start, with a node more or without some if options say so. Raises InputError."""
    request, slots, draws = _request(options, parameters)
    plan_when(request, parameters["add"], parameters["without"], slots, draws, run_options, outputs)


def plan_cluster(options: WorkloadOptions, run_options: RunOptions, parameters: Mapping[str, Any]) -> Answer:
    """Nodes to add or to take away, what if some fail, or what if pods are submitted. Raises InputError.

    parameters  values of the command's options: `goals`, `policies`, `seeds`, `durations`, `no_preemption`; of one question
                `add`, `without`, or `submit`, `draws` and `slots`
    """
    if parameters["submit"]:
        submitted = read_manifests(parameters["submit"])
        request, slots, draws = _request(options, parameters, submitted)
        return plan_submitted(request, submitted.notes, slots, draws, run_options)
    request, _, _ = _request(options, parameters)
    if parameters["without"] is not None:
        return plan_failed_nodes(request, parameters["without"], run_options)
    return plan_added(request, parameters["add"], run_options)


def _request(
    options: WorkloadOptions, parameters: Mapping[str, Any], submitted: Submitted | None = None
) -> tuple[ClusterRequest, int, int]:
    """The cluster and what is asked of it; slots of a run, and draws. Raises InputError."""
    source = str(options.source)
    said_by_itself = ("sizes", *INTENSITIES, "servers", "racks", "network", "reading", "serving", "columns", *OF_READING)
    if idle := [f"--{option.replace('_', '-')}" for option in said_by_itself if getattr(options, option) is not None]:
        them = "it" if len(idle) == 1 else "them"
        raise InputError(do_not_go(idle, f"a cluster as it is: {source} says {them} itself"))
    if options.speedup != "1":
        raise InputError("--speedup does not go with a cluster as it is: all that waits is there")
    names, sizes = chosen_resources(options.resources)
    if sizes == "max" and names is not None:
        raise InputError("--resources max: does not go with a cluster as it is, whose nodes have several capacities: name them")
    slot_seconds = float(exact(options.slot_seconds or "1", "--slot-seconds"))
    service = _service(options, parameters["durations"], slot_seconds)
    cluster = read_cluster(source, names, submitted)
    policies, seeds = chosen_policies(parameters["policies"] or POLICIES), parameters["seeds"] or QUEUE_SEEDS
    asks_of_pods = submitted is not None or parameters["asks_when"]
    goals = [] if asks_of_pods else parse_queue_goals(parameters["goals"], slot_seconds)
    request = ClusterRequest(cluster, goals, policies, seeds, service, slot_seconds, not parameters["no_preemption"])
    draws = DRAWS if parameters["draws"] is None else parameters["draws"]
    return request, parameters["slots"] or DEFAULT_SLOTS, draws


def _service(options: WorkloadOptions, durations: str | None, slot_seconds: float) -> tuple[Law, ...] | Durations:
    """The law of services, past durations by owner, or laws of the stretches of a trace. Raises InputError."""
    if durations is None:
        return (parse_law(options.service, "--service", slot_seconds),) if options.service else ()
    if options.service is not None:
        raise InputError("give one of --service and --durations")
    if is_durations(durations):
        return read_durations(durations)
    return stretches(read_trace(durations).jobs(slot_seconds=options.slot_seconds or "1").jobs.service)
