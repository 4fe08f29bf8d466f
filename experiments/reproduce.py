"""`packenv reproduce`: the figures of the papers, and which of their claims the runs show.

A new study is a folder with a function that takes `Settings` and returns a `Finding`, and a line in FIGURES.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from experiments.finding import Claim, Finding, Settings, write_finding
from packenv.cli.options.names import COUNT, NameType
from packenv.cli.options.of_fields import option, process_options, runs_in
from packenv.cli.outputs import Outputs, output_options, picture_options
from packenv.content.page import Image, Page, Section
from packenv.content.showable import Answer
from packenv.content.tables import Table, table_of
from packenv.content.text import counted
from packenv.errors import InputError, nearest
from packenv.files import check_folder_writable, make_folder
from packenv.options.shared import ProcessOptions
from packenv.runs.runner import RunOptions

FIGURES = {
    "fig1": "random_requirements.fig1:reproduce",
    "fig2": "random_requirements.fig2:reproduce",
    "fig3a": "random_requirements.fig3:reproduce_a",
    "fig3b": "random_requirements.fig3:reproduce_b",
    "fig4a": "random_requirements.fig4:reproduce_a",
    "fig4b": "random_requirements.fig4:reproduce_b",
    "fig5": "random_requirements.fig5:reproduce",
    "tetris": "tetris.figure:reproduce",
    "eagle": "eagle.figure:reproduce",
    "delay": "delay.figure:reproduce",
    "price-fig1": "price.makespans:reproduce_1",
    "price-fig2": "price.makespans:reproduce_2",
    "price-fig3": "price.makespans:reproduce_3",
    "price-fig4": "price.solving_times:reproduce",
    "price-fig5": "price.curves:reproduce_5",
    "price-fig8": "price.curves:reproduce_8",
    "price-abundant": "price.makespans:reproduce_abundant",
    "rlscheduler": "rlscheduler.figure:reproduce",
    "fgd": "fgd.figure:reproduce",
    "fgd-departures": "fgd.departures:reproduce",
}
"""Module, in `experiments`, and function of each figure, in the order of the papers."""

GROUPS = {
    "all": [name for name in FIGURES if name.startswith("fig")],
    "price-figs": [name for name in FIGURES if name.startswith("price-")],
}
OF_TRACES, OF_LOGS = ("fig1", "fig5"), ("rlscheduler", "fgd", "fgd-departures")
FIGURE = NameType(lambda incomplete: [*FIGURES, *GROUPS], files=False)
LIMIT = 400
"""Table of a table above which the page leaves it to the CSV file."""


def finding_of(figure: str, settings: Settings) -> Finding:
    """Run what a figure of FIGURES takes. Raises InputError for settings that do not go with it."""
    module, _, function = FIGURES[figure].partition(":")
    finding: Finding = getattr(import_module(f"experiments.{module}"), function)(settings)
    return finding


@click.command()
@click.argument("figures", nargs=-1, required=True, metavar="FIGURE…", type=FIGURE)
@option("--out", default="out", metavar="DIR", help="Folder for pictures, tables and claims.")
@click.option(
    "--seeds",
    type=click.IntRange(min=1),
    help="Seeds of each point [default: 24 in fig3; 8 in fig4, tetris, delay; 6 in eagle; 4 in fig5; 40 in price-fig3; "
    "8 in price-fig4; 10 in fgd, 4 in fgd-departures; else 20].",
)
@click.option(
    "--slots",
    type=click.IntRange(min=100),
    help="Slots of each run; fig5 and fig1: slots that the fitted workload spans  [default: 4·10^6, 10^6, 1.5 days, a day].",
)
@click.option("--quick", is_flag=True, help="Use a tenth of the slots and fewer seeds: a first look, not a result.")
@click.option(
    "--trace", metavar="PATH",
    help="Trace for fig1 and fig5  [default: a random workload fitted to one]; folder of logs (.swf) for rlscheduler, of lists "
    "for fgd.",
)  # fmt: skip
@click.option("--servers", type=COUNT, help="Servers of fig5  [default: the load offered at β = 1.6].")
@process_options
@option("--format", "form", type=click.Choice(["png", "pdf", "svg"]), default="png", help="Form of the pictures.")
@picture_options()
@output_options("Also write all claims", form=False, report=True)
def reproduce(
    figures: tuple[str, ...],
    out: str,
    trace: str | None,
    quick: bool,
    form: str,
    picture_width: float | None,
    titled: bool,
    outputs: Outputs,
    where: ProcessOptions,
    **numbers: int | None,
) -> None:
    """Reproduce figures of the papers, and check which of their claims the runs show.

    \b
    FIGURE is one of
      fig1 fig2 fig3a fig3b fig4a fig4b fig5, of arXiv 1901.05998; all: these
      tetris: Tetris and fair sharing
      eagle: Eagle, Hawk, Sparrow and others
      delay: fixed and dynamic delay scheduling
      price-fig1 price-fig2 price-fig3 price-fig4, price-fig5 (with 6 and 7),
      price-fig8 (with 9 and 10), price-abundant: the price and SAT schedulers
      of Zhang and Yao; price-figs: these
      rlscheduler: RLScheduler's table of batch scheduling, as coded and defined,
      and the decisions of its windows
      fgd: placing pods on shared GPUs, and the effect of ties;
      fgd-departures: the same with pods that leave and wait

    Each figure writes DIR/FIGURE.png (or .pdf, .svg), DIR/FIGURE.csv and DIR/FIGURE_claims.csv. A claim that is not shown is a
    result, not an error. Hollow points are runs not known to be stable, crosses unstable ones.

    \b
    packenv reproduce fig4b
    packenv reproduce price-figs
    packenv reproduce all --trace google2011_tasks.parquet --out figures
    """
    chosen = choose(figures)
    folder = folder_for(out)
    outputs.check()
    of_traces, of_logs = ({*names} & {*chosen} for names in (OF_TRACES, OF_LOGS))
    if trace is not None and bool(of_traces) == bool(of_logs):
        only = "" if not of_logs else ", one kind at a time"
        raise InputError(f"--trace is for {', '.join((*OF_TRACES, *OF_LOGS))}{only}, not {', '.join(chosen)}")
    if numbers["servers"] is not None and "fig5" not in chosen:
        raise InputError(f"--servers is for fig5, not {', '.join(chosen)}")
    settings = settings_for(None if of_logs else trace, quick, runs_in(where), numbers)
    settings = replace(settings, folder=trace) if of_logs else settings
    findings: dict[str, Finding] = {}
    failures: list[InputError] = []
    for figure in chosen:
        findings[figure] = run(figure, settings).beside(findings)
        try:
            publish(findings[figure], folder, form, picture_width, titled)
        except InputError as error:
            failures.append(error)
    claims = [claim for finding in findings.values() for claim in finding.claims]
    click.echo(f"{sum(claim.shown for claim in claims)} of {len(claims)} claims shown{settings.remark}")
    answer = Answer([], [], [claim.record() for claim in claims], write=lambda: reproduce_page(findings, settings.remark))
    outputs.write(answer, failed=failures)


def choose(figures: tuple[str, ...]) -> list[str]:
    """The figures of these names and groups, each once, in the order of the papers."""
    for name in figures:
        if name not in (*FIGURES, *GROUPS):
            raise InputError(f"unknown figure {name!r}{nearest(name, [*FIGURES, *GROUPS])}")
    members = {member for name in figures for member in GROUPS.get(name, [name])}
    return [name for name in FIGURES if name in members]


def folder_for(out: str) -> Path:
    """The folder, made if need be, and known to be writable before anything long is run."""
    check_folder_writable(out)
    make_folder(out)
    return Path(out)


def settings_for(trace: str | None, quick: bool, run_options: RunOptions, numbers: dict[str, Any]) -> Settings:
    settings = Settings(quick=quick, runs=run_options, **numbers)
    if trace is None:
        return settings
    from packenv.workloads.traces import read_trace

    return replace(settings, trace=read_trace(trace), trace_name=Path(trace).name)


def run(figure: str, settings: Settings) -> Finding:
    """Reproduce the figure, and say how long it took."""
    began = time.perf_counter()
    finding = finding_of(figure, settings)
    click.echo(f"{finding.title}, {time.perf_counter() - began:.1f} s")
    return finding


def publish(finding: Finding, folder: Path, form: str, width: float | None, titled: bool) -> None:
    """Print the claims, write the files."""
    for line in (*finding.notes, *map(str, finding.claims)):
        click.echo(line)
    write_finding(finding, folder, form, width, titled)
    click.echo(f"  → {', '.join(str(folder / name) for name in finding.files(form))}")


def reproduce_page(findings: Mapping[str, Finding], remark: str) -> Page:
    """The page: each figure, its claims and its tables. `remark`: what is said of shortened runs."""
    claims = [claim for finding in findings.values() for claim in finding.claims]
    sections = [Section("The claims", tables=[claims_table("All claims of the papers", claims)])] if len(findings) > 1 else []
    sections += [_section(finding) for finding in findings.values()]
    questions = [("Figures", ", ".join(findings)), ("Claims", counted(len(claims), "claim"))]
    missed = [claim for claim in claims if not claim.shown]
    rest = f"; not shown: {'; '.join(f'{claim.figure}, {claim.claim}' for claim in missed)}" if 0 < len(missed) < 4 else ""
    answer = f"{sum(claim.shown for claim in claims)} of {counted(len(claims), 'claim')} shown{remark}{rest}."
    title = next(iter(findings.values())).title if len(findings) == 1 else f"{len(findings)} figures, run again"
    return Page(title, answer, questions, sections)


def claims_table(caption: str, claims: Sequence[Claim]) -> Table:
    records = [claim.record() for claim in claims]
    figures = {claim.figure for claim in claims}
    if len(figures) == 1:
        records = [{key: value for key, value in record.items() if key != "figure"} for record in records]
    return table_of(caption, records, folded=False)


def _section(finding: Finding) -> Section:
    shown = sum(claim.shown for claim in finding.claims)
    summary = f"{finding.title}. {shown} of {counted(len(finding.claims), 'claim')} shown"
    tables = [claims_table("Claims", finding.claims)]
    left_out = []
    for part, rows in finding.tables.items():
        name = f"{finding.figure}{part}.csv"
        if len(rows) > LIMIT:
            left_out.append(f"{name} has {len(rows):,} rows, which are not here.")
        else:
            tables.append(table_of(f"{name}, {counted(len(rows), 'row')}", rows))
    picture = Image(finding.figure, f"{summary}.", _picture(finding))
    return Section(finding.title, [picture], [*finding.notes, *left_out], tables)


def _picture(finding: Finding) -> bytes:
    """The PNG file of the figure."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "picture.png"
        finding.save_picture(path)
        return path.read_bytes()
