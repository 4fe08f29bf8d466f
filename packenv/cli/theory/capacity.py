"""`packenv capacity`: how much work the servers can support at all, with proof."""

from __future__ import annotations

from typing import Any

import click

from packenv.cli.options import shared
from packenv.cli.options.completed_names import WORKLOAD
from packenv.cli.options.shared import FILE, JSON, option
from packenv.cli.options.workload import WorkloadOptions, workload_told
from packenv.cli.outputs import check_outputs, write_all
from packenv.cli.tables import format_option, show, text_console
from packenv.errors import InputError
from packenv.files import write_json
from packenv.report.tables import Column, Table, numbers
from packenv.runs.text import counted
from packenv.theory.capacity.bracket import Bracket
from packenv.theory.capacity.certificate_files import load_certificate, save_certificate
from packenv.theory.capacity.configuration_bounds import halving_bound, vqs_bound
from packenv.theory.capacity.max_workload import GAP, SECONDS, max_workload
from packenv.workloads.workload import Workload


@click.command()
@click.argument("source", metavar="[WORKLOAD|TRACE]", required=False, type=WORKLOAD)
@shared.sizes
@shared.servers
@click.option("--service", help="Law of service, in slots, which changes only the rate: geometric:100, fixed:100, …")
@shared.resources
@shared.slot_seconds
@shared.columns
@option("--gap", type=float, default=GAP, help="Stop when (upper - lower) / upper is at most this.")
@option("--seconds", type=float, default=SECONDS, help="Stop after this time.")
@format_option
@click.option("--json", "json_path", type=JSON, help="Write the numbers as JSON; - is standard output.")
@click.option("--certificate", type=FILE, help="Write the proofs of both bounds as JSON.")
@click.option("--check", type=click.Path(exists=True, dir_okay=False), help="Check the proofs in this file instead of a search.")
def capacity(
    gap: float,
    seconds: float,
    form: str,
    json_path: str | None,
    certificate: str | None,
    check: str | None,
    **words: Any,
) -> None:
    """Find a lower and an upper bound on ρ*, the largest mean number of tasks in service that any policy keeps stable.

    \b
    packenv capacity paper/fig4b
    packenv capacity --sizes uniform:0.1:0.9 --servers 3x1,2x0.5 --gap 0.0005
    packenv capacity trace.parquet --servers 160 --certificate proof.json
    packenv capacity google2011-like --resources all --gap 0.01
    """
    check_outputs(json_path, certificate)
    if not seconds > 0:
        raise InputError(f"--seconds must be positive, not {seconds}")
    workload = workload_told(WorkloadOptions(**words))
    console = text_console()
    if check is not None:
        bracket = load_certificate(check)
        bracket.verify(workload)
        console.print(f"{check}: proved for {workload.name}", highlight=False)
    else:
        with console.status(f"{workload.name}: bracketing ρ*") as status:
            bracket = max_workload(workload, gap, seconds, lambda low, high: status.update(f"{low:.6g} <= ρ* <= {high:.6g}"))
    show(form, [capacity_table(workload, bracket)], [capacity_record(workload, bracket)])
    if not bracket.reached:
        console.print(f"no gap of {gap:g} in {bracket.seconds:.0f} s; this is the best bracket found", style="yellow")
    write_all(
        (json_path, lambda path: write_json(path, capacity_record(workload, bracket))),
        (certificate, lambda path: save_certificate(bracket, path)),
    )


def guaranteed(workload: Workload) -> dict[str, float]:
    """Lower bounds on what VQS, and the weaker partition, keep up with; none for unequal servers or several resources."""
    if workload.D > 1 or len(workload.servers.kinds) > 1:
        return {}
    return {"vqs_bound": vqs_bound(workload), "halving_bound": halving_bound(workload)}


def capacity_record(workload: Workload, bracket: Bracket) -> dict[str, Any]:
    """The JSON of `packenv capacity`: all in tasks in service on the whole cluster, except the rates."""
    return {
        "workload": workload.name,
        "servers": str(workload.servers),
        "lower": bracket.lower,
        "upper": bracket.upper,
        "gap": bracket.gap,
        "reached": bracket.reached,
        "area_bound": bracket.area_bound,
        "lower_rate": workload.rate_for(bracket.lower),
        "upper_rate": workload.rate_for(bracket.upper),
        "seconds": bracket.seconds,
        **guaranteed(workload),
    }


def capacity_table(workload: Workload, bracket: Bracket) -> Table:
    """Each number in tasks in service, as a share of ρ*, and as a rate."""
    title = f"{workload.name} on {counted(len(workload.servers), 'server')}: ρ* with a gap of {bracket.gap:.2%}"
    table = Table(title, [Column(""), *numbers("tasks in service", "share of ρ*", "tasks per slot")])
    rows = {"ρ* at least": bracket.lower, "ρ* at most": bracket.upper, "area bound": bracket.area_bound}
    found = guaranteed(workload)
    if found:
        J = workload.default_levels()
        rows |= {f"VQS at least (J = {J})": found["vqs_bound"], f"cuts at 2^-m only (J = {J})": found["halving_bound"]}
    for what, value in rows.items():
        share = "" if what.startswith("ρ*") else f"{value / bracket.upper:.3f}"
        table.add(what, f"{value:.6g}", share, f"{workload.rate_for(value):.6g}")
    return table
