"""`packenv capacity`: the largest load the servers can support."""

from __future__ import annotations

import click

from packenv.cli.options.names import WORKLOAD
from packenv.cli.options.of_fields import options_of, workload_options
from packenv.cli.options.workload import check_named, workload_with_notes
from packenv.cli.outputs import FileOf, Outputs, output_option, output_options
from packenv.cli.tables import text_console
from packenv.errors import InputError
from packenv.options.shared import OF_TRACES, WorkloadOptions
from packenv.options.verbs import CapacityOptions


@click.command()
@click.argument("source", metavar="[WORKLOAD|TRACE]", required=False, type=WORKLOAD)
@workload_options(
    "servers", "sizes", "service", "resources", *OF_TRACES,
    service="Service times, in slots; changes only the rate: geometric:100, fixed:90, …  [default: geometric:100].",
)  # fmt: skip
@options_of(CapacityOptions)
@output_options("Write the numbers")
@output_option("--certificate", type=FileOf(".json"), help="Write the proofs of both bounds as JSON.")
@click.option("--check", type=click.Path(exists=True, dir_okay=False), help="Check the proofs in this file instead of a search.")
def capacity(
    of_workload: WorkloadOptions,
    options: CapacityOptions,
    outputs: Outputs,
    certificate: str | None,
    check: str | None,
) -> None:
    """Find a lower and an upper bound on ρ*, the largest mean number of tasks in service that any policy keeps stable.

    \b
    packenv capacity paper/fig4b
    packenv capacity --sizes uniform:0.1:0.9 --servers 3x1,2x0.5 --gap 0.0005
    packenv capacity trace.parquet --servers 160 --certificate proof.json
    packenv capacity google2011-like --resources all --gap 0.01
    """
    outputs.check(certificate)
    from packenv.theory.capacity.bracket import Bracket
    from packenv.theory.capacity.devices import DeviceBracket
    from packenv.theory.capacity.max_workload import max_workload
    from packenv.theory.certificate_files import check_certificate, load_certificate, save_certificate

    check_named(of_workload, check)
    workload = workload_with_notes(of_workload)
    if workload.has_devices and (certificate or check):
        raise InputError("bounds with devices come from linear programs and have no certificate: give --one-amount")
    console = text_console()
    bracket: Bracket | DeviceBracket
    if check is not None:
        proved = bracket = load_certificate(check).of(workload)
        check_certificate(check, proved, workload)
        console.print(f"{check}: proved for {workload.name}", highlight=False)
    else:
        with console.status(f"{workload.name}: bracketing ρ*") as status:

            def tell(low: float, high: float) -> None:
                status.update(f"{low:.6g} <= ρ* <= {high:.6g}")

            bracket = max_workload(workload, options=options, progress=tell)
    outputs.show(bracket)
    if not bracket.reached:
        console.print(f"no gap of {options.gap:g} in {bracket.seconds:.0f} s; this is the best bracket found", style="yellow")
    proofs = (certificate, lambda path: save_certificate(bracket, path)) if isinstance(bracket, Bracket) else None
    outputs.write(bracket, *([proofs] if proofs else []))
