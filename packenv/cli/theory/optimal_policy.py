"""`packenv optimal-policy`: the shortest mean queue of a small workload."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from packenv.cli.options.names import FILE, POLICY, WORKLOAD
from packenv.cli.options.of_fields import options_of, process_options, runs_in, workload_options
from packenv.cli.options.workload import random_workload
from packenv.cli.outputs import Outputs, output_option, output_options
from packenv.content.tables import Column, Table, numbers
from packenv.content.text import number
from packenv.errors import ArgumentError, InputError
from packenv.options.shared import ProcessOptions, WorkloadOptions
from packenv.options.verbs import OptimalPolicyOptions

if TYPE_CHECKING:
    from packenv.theory.stationary_optimum.optimum import StationaryOptimum

Queues = dict[str, list[float | None]]
"""Mean queues by policy, of each seed."""


@click.command("optimal-policy")
@click.argument("source", metavar="[WORKLOAD]", required=False, type=WORKLOAD)
@click.option("--policy", "-p", "policies", multiple=True, type=POLICY, help="Policy to compare; repeat for more.")
@workload_options("servers", "sizes", "service", "arrivals", "load", "intensity", "rate")
@options_of(OptimalPolicyOptions)
@process_options
@output_option("--out", common=True, type=FILE, help="Write the policy (FILE.json, FILE.safetensors); -p optimal:FILE runs it.")
@output_options("Write the numbers")
def optimal_policy(
    policies: tuple[str, ...],
    of_workload: WorkloadOptions,
    options: OptimalPolicyOptions,
    where: ProcessOptions,
    out: str | None,
    outputs: Outputs,
) -> None:
    """Find the policy with the shortest mean queue on a small workload, and compare others with it.

    The workload has a few discrete sizes, a few servers and geometric service. With two sizes the search takes seconds for a
    mean service of 10, minutes for 100. The table begins with a lower bound on the mean queue of every policy. Runs without a
    limit on the queue show what the found policy reaches.

    \b
    packenv optimal-policy small/fig3a --out fig3a -p bf-js -p vqs
    packenv evaluate small/fig3a -p optimal:fig3a -p bf-js
    """
    from packenv.content.showable import Answer
    from packenv.policies.optimal import Optimal, files_of, save_optimal
    from packenv.policy import find_policy, name_of
    from packenv.runs.progress import progress_lines
    from packenv.runs.run import by_policy, runs_of
    from packenv.runs.runner import run_all
    from packenv.theory.stationary_optimum.optimum import stationary_optimum

    outputs.check(*([] if out is None else map(str, files_of(out))))
    others = [find_policy(name) for name in dict.fromkeys(policies)]
    workload = random_workload(of_workload, "the optimal policy is found for random workloads, not for a table of jobs")
    with progress_lines() as lines:
        line = lines.add_task(f"{workload.name}: solving")

        def show(states: int, iterations: int, low: float, high: float) -> None:
            known = f"{states:,} states, {iterations:,} iterations: {max(low, 0.0):.5g} to {high:.5g}"
            lines.update(line, description=f"{workload.name}: the shortest mean queue, {known}")

        try:
            best = stationary_optimum(workload, options=options, progress=show)
        except ArgumentError as error:
            raise InputError(error.of_options()) from None
    if out is not None:
        save_optimal(out, best)
    all_policies = [Optimal(best.instance, best.decisions), *others]
    names = [name_of(policy) for policy in all_policies]
    runs = runs_of(workload, all_policies, range(options.seeds), options.slots)
    queues = by_policy(names, [result.mean_queue for result in run_all(runs, runs_in(where))])
    clamped = f"more than {best.most} waiting jobs of a size are taken for {best.most}"
    notes = [f"{best.states:,} states, {best.seconds:.1f} s; {clamped}"]
    if not best.settled:
        hidden = 1 - best.smaller / best.lower
        notes.append(f"too few: doubling them changes the shortest mean queue by {hidden:.2%}")
    answer = Answer([optimum_table(best, queues)], notes, optimum_record(best, queues))
    outputs.show(answer)
    outputs.write(answer)


def optimum_record(optimum: StationaryOptimum, queues: Queues) -> dict[str, Any]:
    """Return the JSON of `packenv optimal-policy`.

    It has mean queues, and ratios to the optimal policy, with 95 % intervals.
    """
    from packenv.runs.statistics import interval, ratio_of_means

    best = queues["optimal"]
    return {
        "workload": optimum.workload.name,
        "rate": optimum.instance.rate,
        "states": optimum.states,
        "most": optimum.most,
        "seconds": optimum.seconds,
        "lower": optimum.lower,
        "smaller": optimum.smaller,
        "policies": [
            {"policy": name, "mean_queue": [*interval(values)], "ratio": [*ratio_of_means(values, best)]}
            for name, values in queues.items()
        ],
    }


def optimum_table(optimum: StationaryOptimum, queues: Queues) -> Table:
    """Return mean queues, and their ratios to the optimum on the same jobs."""
    from packenv.runs.statistics import interval, ratio_of_means

    table = Table(f"{optimum.workload.name}: mean queue", [Column(""), *numbers("mean queue", "ratio to optimal")])
    table.add("any policy, at least", number(optimum.lower), "")
    for name, values in queues.items():
        table.add(name, str(interval(values)), "" if name == "optimal" else str(ratio_of_means(values, queues["optimal"])))
    return table
