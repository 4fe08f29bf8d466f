"""`packenv reproduce`: the figures of the papers, and which of their claims they show."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from packenv.cli.options import shared
from packenv.cli.options.completed_names import Named
from packenv.cli.options.shared import COUNT, JSON, option
from packenv.cli.outputs import check_outputs, write_all
from packenv.cli.report.page import write_report
from packenv.errors import InputError, nearest
from packenv.files import check_folder_writable, make_folder, write_json
from packenv.runs.runner import RunOptions
from packenv.studies import FIGURES, GROUPS
from packenv.studies import reproduce as run_study

if TYPE_CHECKING:  # they bring the simulator with them
    from packenv.studies.finding import Finding, Settings

OF_TRACES = ("fig1", "fig5")
FIGURE = Named(lambda incomplete: [*FIGURES, *GROUPS], files=False)


@click.command()
@click.argument("figures", nargs=-1, required=True, metavar="FIGURE…", type=FIGURE)
@option("--out", default="out", metavar="DIR", help="Folder for pictures, tables and claims.")
@click.option(
    "--seeds",
    type=click.IntRange(min=1),
    help="Seeds of each point [default: 24 in fig3; 8 in fig4, tetris, delay; 6 in eagle; 4 in fig5; 40 in price-fig3; "
    "8 in price-fig4; else 20].",
)
@click.option(
    "--slots",
    type=click.IntRange(min=100),
    help="Slots of each run; fig5 and fig1: slots that the fitted workload spans  [default: 4·10^6, 10^6, 1.5 days, a day].",
)
@click.option("--quick", is_flag=True, help="Use a tenth of the slots and fewer seeds: a first look, not a result.")
@click.option("--trace", metavar="PATH", help="Trace for fig1 and fig5  [default: a random workload fitted to one].")
@click.option("--servers", type=COUNT, help="Servers of fig5  [default: the load offered at β = 1.6].")
@shared.run_options
@click.option("--json", "json_path", type=JSON, help="Also write all claims as JSON; - is standard output.")
@shared.report_option
def reproduce(
    figures: tuple[str, ...],
    out: str,
    trace: str | None,
    quick: bool,
    json_path: str | None,
    report: str | None,
    made: RunOptions,
    **numbers: int | None,
) -> None:
    """Reproduce figures of the papers, and say which of their claims the runs show.

    \b
    FIGURE is one of
      fig1 fig2 fig3a fig3b fig4a fig4b fig5, of arXiv 1901.05998; all: these
      tetris: Tetris and fair sharing
      eagle: Eagle, Hawk, Sparrow and others
      delay: fixed and dynamic delay scheduling
      price-fig1 price-fig2 price-fig3 price-fig4, price-fig5 (with 6 and 7),
      price-fig8 (with 9 and 10), price-abundant: the price and SAT schedulers
      of Zhang and Yao; price-figs: these

    Each figure writes DIR/FIGURE.png, DIR/FIGURE.csv and DIR/FIGURE_claims.csv. A claim that is not shown is a result, not
    an error. Hollow points are runs not known to be stable, crosses unstable ones.

    \b
    packenv reproduce fig4b
    packenv reproduce price-figs
    packenv reproduce all --trace google2011_tasks.parquet --out figures
    """
    chosen = choose(figures)
    folder = folder_for(out)
    check_outputs(json_path, report=report)
    if trace is not None and not set(OF_TRACES) & set(chosen):
        raise InputError(f"--trace is for {' and '.join(OF_TRACES)}, not {', '.join(chosen)}")
    if numbers["servers"] is not None and "fig5" not in chosen:
        raise InputError(f"--servers is for fig5, not {', '.join(chosen)}")
    settings = settings_for(trace, quick, made, numbers)
    found: dict[str, Finding] = {}
    failed: list[InputError] = []
    for figure in chosen:
        found[figure] = run(figure, settings).beside(found)
        try:
            publish(found[figure], folder)
        except InputError as error:
            failed.append(error)
    claims = [claim for finding in found.values() for claim in finding.claims]
    click.echo(f"{sum(claim.shown for claim in claims)} of {len(claims)} claims shown{settings.remark}")

    def tell(path: str) -> None:
        from packenv.cli.reproduce_report import reproduce_report  # brings the studies with it

        write_report(reproduce_report(found, settings.remark), path)

    write_all((json_path, lambda path: write_json(path, [claim.record() for claim in claims])), (report, tell), failed=failed)


def choose(figures: tuple[str, ...]) -> list[str]:
    """The figures asked for, each once, in the order of the papers."""
    for name in figures:
        if name not in (*FIGURES, *GROUPS):
            raise InputError(f"unknown figure {name!r}{nearest(name, [*FIGURES, *GROUPS])}")
    wanted = {member for name in figures for member in GROUPS.get(name, [name])}
    return [name for name in FIGURES if name in wanted]


def folder_for(out: str) -> Path:
    """The folder, made if need be, and known to be writable before anything long is run."""
    check_folder_writable(out)
    make_folder(out)
    return Path(out)


def settings_for(trace: str | None, quick: bool, made: RunOptions, numbers: dict[str, Any]) -> Settings:
    from packenv.studies.finding import Settings

    settings = Settings(quick=quick, runs=made, **numbers)
    if trace is None:
        return settings
    from packenv.workloads.traces import read_trace

    return replace(settings, trace=read_trace(trace), trace_name=Path(trace).name)


def run(figure: str, settings: Settings) -> Finding:
    """Reproduce the figure, and say how long it took."""
    began = time.perf_counter()
    finding = run_study(figure, settings)
    click.echo(f"{finding.title}, {time.perf_counter() - began:.1f} s")
    return finding


def publish(finding: Finding, folder: Path) -> None:
    """Print the claims, write the files."""
    from packenv.studies.finding import write_finding

    for line in (*finding.notes, *map(str, finding.claims)):
        click.echo(line)
    write_finding(finding, folder)
    click.echo(f"  → {', '.join(str(folder / name) for name in finding.files())}")
