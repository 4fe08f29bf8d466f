"""`packenv trace`: recorded workloads converted, described and fitted."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from packenv.cli.options.names import INPUT, PATH
from packenv.cli.options.of_fields import JSON, options_of
from packenv.cli.options.workload import note_devices, note_servers
from packenv.cli.outputs import Outputs, check_files, output_option, output_options, write_all
from packenv.cli.tables import print_table, text_console
from packenv.content.tables import Column, Table, numbers
from packenv.content.text import NONE, counted, counted_by_reason, left_out_lines, number
from packenv.errors import ArgumentError, InputError, of_options
from packenv.files import write_json
from packenv.options.verbs import OF_ROWS, ConvertOptions, DescribeOptions, ProfileOptions, ReadOptions

if TYPE_CHECKING:
    from packenv.content.page import Charts
    from packenv.workloads.traces import Trace
    from packenv.workloads.traces.trace import Sizes

MOST_EXACT = 10.0  # share with a digit behind the point

json_option = output_option("--json", "json_path", type=JSON, help="Also write the result as JSON (-: standard output).")


@click.group(name="trace")
def trace() -> None:
    """Convert, describe and profile traces of clusters.

    packenv recognises these forms by their columns or content:

    \b
    the folder of Google's trace of 2011 (with task_events/),
      or one row per task made of it
    Google's events of 2019 (borg_traces_data.csv, or exports)
    Alibaba's batch tasks of 2018 (batch_task.csv)
    Alibaba's pods of 2023 (openb_pod_list_*.csv)
    Alibaba's instances of 2025 (disaggregated_DLRM_trace.csv)
    Alibaba's jobs on spot GPUs of 2026 (job_info_df.csv)
    Azure's trace for packing of 2020 (.sqlite)
    Microsoft's Philly jobs (cluster_job_log)
    Standard Workload Format (.swf, .swf.gz)
    Slurm's jobs, as sacct --parsable2 prints them
    job lines of Hawk and Eagle, `arrival n_tasks mean d1 d2 …` (.tr, .tr.gz)
    Facebook's samples of SWIM (.tsv, or as a table)
    your own table, with columns arrival, size, service (in slots),
      or submit_time_s, duration_s and a column per resource (in seconds)

    A table is Parquet, a folder of Parquet parts, or CSV with `,` `;` `|` or tabs.
    """


@trace.command(short_help="Convert a trace to slots, and write it as a table.")
@click.argument("path", type=INPUT)
@click.argument("out", type=PATH)
@options_of(ReadOptions, "reading", (*OF_ROWS, "gangs"))
@options_of(ConvertOptions)
@json_option
def convert(path: str, out: str, reading: ReadOptions, options: ConvertOptions, json_path: str | None) -> None:
    """Convert the trace at PATH to slots and write it to OUT (.parquet, .csv or .csv.gz).

    OUT has the columns arrival, size (or one for each resource, by name) and service. It also has job, phase, value, tenant,
    predecessors, home, estimate, remote_overhead and gang if the trace has them. packenv reads the same jobs from OUT.
    A Slurm job on several nodes becomes a gang with a task for each node, with --one-by-one a single task.

    \b
    packenv trace convert tasks.csv slots.parquet --slot-seconds 1 --resources all
    """
    check_files(out, json_path)
    from packenv.workloads.traces import write_jobs
    from packenv.workloads.workload_of_trace import on_nodes, with_gangs

    with progress(f"reading {path}"):
        recorded, sizes = read(path, reading)
        note_devices(recorded)
        recorded, of_nodes = on_nodes(recorded, several_servers=True, gangs=reading.gangs)
        jobs, dropped, t0 = recorded.jobs(reading.slot_seconds, options.speedup, sizes, estimates=options.estimates)
        jobs = with_gangs(jobs, reading.gangs, path)
    with progress(f"writing {out}"):
        write_jobs(jobs, out, recorded.resources if sizes == "all" else None)
    last = int(jobs.arrival[-1])
    result = {"out": out, "tasks": len(jobs), "resources": jobs.resources, "last_arrival": last, "dropped": dropped, "t0_us": t0}
    click.echo(f"{len(jobs):,} tasks written to {out}, arriving in slots 0 to {last:,}{dropped_part(dropped)}")
    for line in of_nodes:
        click.echo(line)
    if jobs.devices is not None and recorded.devices_said:
        click.echo("GPUs are written as amounts: single GPUs and their kinds are lost")
    if recorded.blocks is not None:
        click.echo("the places of data blocks are not written: each run draws them")
    if json_path:
        write_json(json_path, result)


@trace.command(short_help="Print statistics of a trace.")
@click.argument("path", type=INPUT)
@options_of(ReadOptions, "reading", OF_ROWS)
@options_of(DescribeOptions)
@output_options("Also write the result", form=False, plot="Draw distinct requests by resource, as in arXiv 1901.05998")
def describe(path: str, reading: ReadOptions, options: DescribeOptions, outputs: Outputs) -> None:
    """Print statistics of the trace at PATH: counts, distinct sizes, rates, quantiles, correlations, offered load.

    \b
    packenv trace describe tasks.csv
    packenv trace describe tasks.csv --servers 3x1:0.5
    packenv trace describe trace.parquet --resources cpu --servers 4x2
    """
    outputs.check()
    from packenv.workloads.fitting.profile import describe as statistics_of

    with progress(f"reading {path}"):
        recorded, _ = read(path, reading)
        statistics = statistics_of(recorded, reading.slot_seconds, options.servers)
    if not statistics.get("devices"):
        note_devices(recorded)

    def draw() -> Charts:
        from packenv.report.workload_charts import requests_charts  # brings the statistics of traces with it

        return requests_charts(recorded, f"Distinct requests in {Path(path).name}")

    print_description(Path(path).name, statistics)
    from packenv.content.showable import Answer

    outputs.write(Answer([], [], statistics, draw=draw))


@trace.command(short_help="Fit a random workload to a trace.")
@click.argument("path", type=INPUT)
@options_of(ReadOptions, "reading", OF_ROWS)
@options_of(ProfileOptions)
@json_option
def profile(path: str, reading: ReadOptions, options: ProfileOptions, json_path: str | None) -> None:
    """Fit a random workload to the trace at PATH, and print how well it matches.

    The workload contains statistics only, no row of the trace. --json writes the statistics, the match and the workload.

    \b
    packenv trace profile tasks.csv --servers 2 --out tasks-like.json
    """
    out, name = options.out, options.name or f"{Path(path).name.split('.')[0]}-like"
    check_files(out, json_path)
    from packenv.workloads.fitting.profile import profile as fit_to

    with progress(f"reading {path}"):
        recorded, _ = read(path, reading)
    with progress("fitting and comparing with two million tasks"):
        note_devices(recorded)
        note_servers(recorded, options.servers)
        fitted = fit_to(recorded, name, reading.slot_seconds, options.servers, options.about)
    print_match(fitted)
    for line in fitted["notes"]:
        click.echo(line)
    write_all((out, lambda file: write_json(file, fitted["workload"])), (json_path, lambda file: write_json(file, fitted)))


def read(path: str, reading: ReadOptions) -> tuple[Trace, Sizes]:
    """Return the trace at `path`, and whether its tasks have one size."""
    from packenv.workloads.resources import chosen_resources
    from packenv.workloads.traces import read_trace
    from packenv.workloads.workload_of_trace import usual_sizes

    names, sizes = chosen_resources(reading.resources)
    try:
        recorded = read_trace(path, names, reading=reading)
    except ArgumentError as error:
        raise InputError(error.of_options()) from None
    return recorded, usual_sizes(recorded, sizes)


def progress(what: str) -> AbstractContextManager[Any]:
    """Show a moving line on a terminal's standard error."""
    from rich.console import Console

    return Console(stderr=True).status(what)


def print_description(name: str, statistics: dict[str, Any]) -> None:
    """Print the tables of `describe`."""
    console = text_console()
    tasks, submitted = statistics["kept_tasks"], statistics["submitted_tasks"]
    # Counts and notes.
    counts = [counted(statistics["rows"], "task")]
    if statistics["in_snapshot"]:
        counts += [f"{statistics['in_snapshot']:,} in the initial snapshot", f"{statistics['submitted']:,} submitted"]
    complete = statistics["kept"] == statistics["rows"]
    counts.append(f"{'all ' if complete else ''}{statistics['kept']:,} can be simulated")
    tasks_left_out = {reason: n for reason, n in statistics["dropped"].items() if reason not in statistics["no_tasks"]}
    console.print(f"{name}: {', '.join(counts)}{dropped_part(tasks_left_out)}", highlight=False)
    if statistics["no_tasks"]:
        console.print(f"not counted as tasks: {counted_by_reason(statistics['no_tasks'])}", highlight=False)
    if statistics["about"]:
        console.print(statistics["about"], highlight=False)
    if "gangs" in statistics:
        console.print(f"gangs: {statistics['gangs']}", highlight=False)
    for note in statistics["notes"]:
        console.print(of_options(note), highlight=False)
    for line in left_out_lines(statistics.get("servers", {}).get("left_out", {})):
        console.print(line, highlight=False)
    resources, headings = statistics["resources"], _columns_shown(statistics)
    # Distinct demands, and rates.
    demands = _empty("Distinct demands", "distinct", headings(statistics["distinct"]["rows"]))
    for group, levels in statistics["distinct"].items():
        demands.add(group, *(f"{count:,}" for count in headings(levels).values()))
    print_table(demands)
    rates = _empty("Rates and bursts", "", ("submitted", "kept"))
    for label in ("tasks", "jobs", "span_s", "tasks_per_s", "jobs_per_s", "interarrival_cv"):
        rates.add(label, *(number(column.get(label)) for column in (submitted, tasks)))
    for window in tasks.get("dispersion", {}):
        rates.add(f"dispersion, {window} s", *(number(column["dispersion"][window]) for column in (submitted, tasks)))
    print_table(rates)
    if "size" not in tasks:
        return
    from packenv.workloads.servers import GI, in_gib

    # Spreads, correlations and offered load of the kept tasks.
    quantities = ["size", *resources, "duration_s", "tasks_per_job", "interarrival_s"]
    in_bytes = {name for name in resources if tasks[name].get("max", 0) >= GI}  # bytes, or as many of another unit

    def amount(name: str, value: float | None) -> Any:
        return value if value is None or name not in in_bytes else in_gib(value)

    spreads = {name: {level: amount(name, value) for level, value in tasks[name].items()} for name in quantities}
    print_table(_table("Kept tasks", _transposed(headings(spreads))))
    print_table(_table("Correlation", [*headings(tasks["correlation"]).items()]))
    rows = [("servers of capacity 1", tasks["offered_load"])]
    if servers := statistics.get("servers"):
        from packenv.workloads.workload import shortened

        def percent(share: float) -> str:
            return f"{share:.1%}" if share < MOST_EXACT else f"{share:,.0%}"

        shares = {name: None if share is None else percent(share) for name, share in servers["share"].items()}
        used = {name: amount(name, value) for name, value in tasks["offered_load"].items()}
        rows = [("in use on average", used), (f"share of {shortened(servers['servers'])}", shares)]
        rows += [("servers like the first", servers["like"])]
    print_table(_table("Offered load", [(label, headings(columns)) for label, columns in rows]))
    if statistics.get("devices"):
        from packenv.workloads.devices import KindLoad, kinds_table

        print_table(kinds_table([KindLoad(*[load[name] for name in KindLoad._fields]) for load in statistics["devices"]]))


def print_match(fitted: dict[str, Any]) -> None:
    """Print the tables of `profile`: [trace, fitted workload] in each cell."""
    name, match, headings = fitted["workload"]["name"], fitted["match"], _columns_shown(fitted["statistics"])
    quantiles, offered = headings(match["quantiles"]), headings(match["offered_load"])
    pairs = {quantity: {key: _pair(pair) for key, pair in levels.items()} for quantity, levels in quantiles.items()}
    print_table(_table(f"{name}: trace / workload, {match['tasks_compared']:,} tasks", _transposed(pairs)))
    load = {name: [*pair, match["expected_load"][name]] for name, pair in offered.items()}
    print_table(_table("Offered load", [("trace / workload / its mean", {name: _pair(three) for name, three in load.items()})]))
    dispersion = {window: _pair(pair) for window, pair in match["dispersion"].items()}
    print_table(_table("Dispersion (window in s)", [("trace / workload", dispersion)]))
    print_table(_table("Kolmogorov-Smirnov distance", [("", headings(match["ks"]))]))


def _columns_shown(statistics: dict[str, Any]) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Return a function that removes sizes if resources have units.

    The size is the largest demand, without meaning for cores and GB.
    """
    resources, tasks = statistics["resources"], statistics["kept_tasks"]
    units = len(resources) > 1 and any(tasks.get(name, {}).get("max", 0) > 1 for name in resources)
    return lambda columns: {name: column for name, column in columns.items() if not (units and name.startswith("size"))}


def _table(title: str, rows: Iterable[tuple[str, dict[str, Any]]]) -> Table:
    rows = [(label, {name: NONE if value is None else value for name, value in values.items()}) for label, values in rows]
    table = _empty(title, "", rows[0][1])
    for label, values in rows:
        table.add(label, *(value if isinstance(value, str) else number(value) for value in values.values()))
    return table


def _empty(title: str, first: str, columns: Iterable[str]) -> Table:
    return Table(title, [Column(first), *numbers(*columns)])


def _transposed(columns: dict[str, dict[str, Any]]) -> list[tuple[str, dict[str, Any]]]:
    """Return rows from columns, None where a column lacks a row."""
    labels = dict.fromkeys(label for column in columns.values() for label in column)
    return [(label, {name: column.get(label) for name, column in columns.items()}) for label in labels]


def _pair(pair: list[Any]) -> str:
    return " / ".join(number(value) for value in pair)


def dropped_part(dropped: dict[str, int]) -> str:
    """Return a clause on dropped rows, if any."""
    parts = counted_by_reason(dropped)
    return f"; left out: {parts}" if parts else ""
