"""`packenv bound`: a proved lower bound on the mean queue."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import click

from packenv.cli.options.names import WORKLOAD
from packenv.cli.options.of_fields import workload_options
from packenv.cli.options.workload import check_named, is_table, random_workload, workload_with_notes
from packenv.cli.outputs import FileOf, Outputs, output_option, output_options
from packenv.cli.tables import text_console
from packenv.content.tables import Column, Styled, Table, numbers
from packenv.content.text import counted
from packenv.errors import InputError
from packenv.options.shared import WorkloadOptions

if TYPE_CHECKING:
    from packenv.theory.queue_bound.bound import QueueBound
    from packenv.workloads.workload import Workload


@click.command("bound")
@click.argument("source", metavar="[WORKLOAD]", required=False, type=WORKLOAD)
@workload_options(
    "servers", "sizes", "service", "arrivals", "load", "intensity", "rate", "resources",
    intensity="Arrivals as a share of the area bound  [default: the workload's own, or 0.9].",
)  # fmt: skip
@output_options("Write the numbers")
@output_option("--certificate", type=FileOf(".json"), help="Write the bound and its proof as JSON.")
@click.option("--check", type=click.Path(exists=True, dir_okay=False), help="Check the proof in this file instead of a search.")
def bound_command(of_workload: WorkloadOptions, outputs: Outputs, certificate: str | None, check: str | None) -> None:
    """Find a lower bound on the mean number of waiting tasks, for all policies that do not know durations.

    Policies know demands, but neither durations nor future arrivals. The proof holds for random tasks with geometric service
    and arrivals that are independent from slot to slot. A bound of 0 means that no better bound is known, as at low loads or
    with many servers.

    \b
    packenv bound paper/fig4b --intensity 0.95
    packenv bound paper/fig4b --intensity 0.95 --certificate proof.json
    packenv bound paper/fig4b --intensity 0.95 --check proof.json
    """
    outputs.check(certificate)
    from packenv.content.showable import Answer
    from packenv.theory.certificate_files import check_certificate, load_queue_bound, save_queue_bound
    from packenv.theory.queue_bound.queue_bound import queue_bound

    check_named(of_workload, check)
    workload = _bounded(of_workload)
    console = text_console()
    if check is not None:
        bound = load_queue_bound(check)
        check_certificate(check, bound, workload)
        console.print(f"{check}: proved for {workload.name} at intensity {workload.intensity:.4g}", highlight=False)
    else:
        with console.status(f"{workload.name}: bounding the mean queue") as status:
            bound = queue_bound(workload, lambda value: status.update(f"mean queue >= {value:.6g}"))
    nothing = [Styled(f"{workload.name}: nothing better than 0 is known", "yellow")] if bound.vacuous else []
    answer = Answer(
        [] if bound.vacuous else [bound_table(workload, bound)],
        nothing,
        {
            "workload": workload.name,
            "servers": str(workload.servers),
            "intensity": workload.intensity,
            "rate": workload.rate,
            "mean_queue": bound.value,
            "mean_delay": bound.value / workload.rate,
            "proved": {proof.relaxation: proof.value for proof in bound.proved},
            "seconds": bound.seconds,
        },
    )
    outputs.show(answer)
    outputs.write(answer, (certificate, lambda path: save_queue_bound(bound, path)))


def _bounded(options: WorkloadOptions) -> Workload:
    """Return the workload. Raises InputError.

    For several resources without a choice, problems that no choice solves are reported first.
    """
    from packenv.theory.queue_bound.prices import setting_of

    refusal = "no bound on the queue is claimed for a table of jobs or a trace, only for random tasks"
    try:
        return random_workload(options, refusal)
    except InputError:
        if options.source is not None and options.resources is None and not is_table(options):
            with_all = workload_with_notes(replace(options, resources="all"))
            if with_all.jobs is None:
                setting_of(with_all)
        raise


def bound_table(workload: Workload, bound: QueueBound) -> Table:
    """Return the bound of each relaxation, in tasks and as a delay."""
    where = f"{workload.name} on {counted(len(workload.servers), 'server')}, intensity {workload.intensity:.4g}"
    columns = [Column("relaxation"), *numbers("waiting tasks", "mean delay (slots)")]
    table = Table(f"{where}: no policy's mean queue is below", columns)
    for proof in bound.proved:
        table.add(proof.relaxation, f"{proof.value:.6g}", f"{proof.value / workload.rate:.6g}")
    return table
