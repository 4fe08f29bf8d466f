"""`packenv reproduce`: the figures of the papers, and which of their claims they show."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from packenv.cli.outputs import check_outputs
from packenv.errors import InputError, nearest
from packenv.files import write_json
from packenv.studies import FIGURES, GROUPS
from packenv.studies import reproduce as run_study

if TYPE_CHECKING:  # they bring the simulator with them
    from packenv.studies.finding import Finding, Settings

OF_TRACES = ("fig1", "fig5")


@click.command()
@click.argument("figures", nargs=-1, required=True, metavar=f"{'|'.join([*FIGURES, *GROUPS])} …")
@click.option("--out", default="out", show_default=True, metavar="DIR", help="Where pictures, tables and claims go.")
@click.option(
    "--seeds",
    type=click.IntRange(min=1),
    help="Seeds of every point [default: 24 in fig3; 8 in fig4, tetris, delay; 6 in eagle; 4 in fig5; 40 in price-fig3; "
    "8 in price-fig4; else 20].",
)
@click.option(
    "--slots",
    type=click.IntRange(min=100),
    help="Slots of every run; of fig5 and fig1, the span of the made-up data  [default: 4·10^6, 10^6, 1.5 days, a day].",
)
@click.option("--quick", is_flag=True, help="A tenth of the slots and fewer seeds: a first look, not a result.")
@click.option("--trace", metavar="PATH", help="The trace for fig1 and fig5  [default: a random workload fitted to one].")
@click.option("--servers", type=click.IntRange(min=1), help="Servers of fig5  [default: the load offered at β = 1.6].")
@click.option("--processes", type=click.IntRange(min=1), help="Runs side by side  [default: one per core].")
@click.option("--json", "json_path", metavar="FILE", help="Also write all claims to FILE as JSON.")
def reproduce(
    figures: tuple[str, ...], out: str, trace: str | None, quick: bool, json_path: str | None, **numbers: int | None
) -> None:
    """Draw figures of the papers again, and say which of their claims they show.

    `all` are those of arXiv 1901.05998, `tetris` is Tetris against fair sharing, `eagle` is Eagle against Hawk, Sparrow and
    others, `delay` delay scheduling, fixed and dynamic, `price-figs` those of Zhang and Yao's price and SAT schedulers
    (price-fig5 has their figures 5 to 7, price-fig8 8 to 10).

    Every figure becomes DIR/FIGURE.png, DIR/FIGURE.csv and DIR/FIGURE_claims.csv. A claim that is not shown is a result,
    not an error. Means stand beside verdicts: hollow points are not known to be stable, crosses are unstable.

    \b
    packenv reproduce fig4b
    packenv reproduce price-figs
    packenv reproduce all --trace google2011_tasks.parquet --out figures
    """
    chosen = choose(figures)
    folder = folder_for(out)
    check_outputs(json_path)
    if trace is not None and not set(OF_TRACES) & set(chosen):
        raise InputError(f"--trace is for {' and '.join(OF_TRACES)}, not {', '.join(chosen)}")
    if numbers["servers"] is not None and "fig5" not in chosen:
        raise InputError(f"--servers is for fig5, not {', '.join(chosen)}")
    settings = settings_for(trace, quick, numbers)
    found: dict[str, Finding] = {}
    for figure in chosen:
        found[figure] = run(figure, settings).beside(found)
        report(found[figure], folder)
    claims = [claim for finding in found.values() for claim in finding.claims]
    click.echo(f"{sum(claim.shown for claim in claims)} of {len(claims)} claims shown{settings.remark}")
    if json_path is not None:
        write_json(json_path, [claim.record() for claim in claims])


def choose(figures: tuple[str, ...]) -> list[str]:
    """The figures asked for, each once, in the order of the papers."""
    for name in figures:
        if name not in (*FIGURES, *GROUPS):
            raise InputError(f"unknown figure {name!r}{nearest(name, [*FIGURES, *GROUPS])}")
    wanted = {member for name in figures for member in GROUPS.get(name, [name])}
    return [name for name in FIGURES if name in wanted]


def folder_for(out: str) -> Path:
    """The folder, made if need be, and known to be writable before anything long is run."""
    folder = Path(out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{out}: cannot be made a folder ({error.strerror})") from None
    if not os.access(folder, os.W_OK | os.X_OK):
        raise InputError(f"{out}: cannot be written to")
    return folder


def settings_for(trace: str | None, quick: bool, numbers: dict[str, Any]) -> Settings:
    from packenv.studies.finding import Settings

    settings = Settings(quick=quick, **numbers)
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


def report(finding: Finding, folder: Path) -> None:
    """Write the files, print the claims."""
    from packenv.studies.finding import write_finding

    write_finding(finding, folder)
    for line in (*finding.notes, *map(str, finding.claims)):
        click.echo(line)
    click.echo(f"  → {', '.join(str(folder / name) for name in finding.files())}")
