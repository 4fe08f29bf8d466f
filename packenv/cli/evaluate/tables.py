"""The tables of `packenv evaluate`, from its records: means over the seeds, ± the half-width of a 95 % interval."""

from __future__ import annotations

from rich.box import SIMPLE_HEAD
from rich.table import Table

from packenv.cli.evaluate.records import OF_DATA, OF_JOBS, Record

SHARES_OF_JOBS = ("fragmentation", "over_allocation", "unfairness")
CLASSES = tuple(f"{length}_p{percent}" for length in ("short", "long") for percent in (50, 90, 99))


def results_table(summaries: list[Record]) -> Table:
    """Means over the seeds, ± the half-width of a 95 % interval."""
    title = "delays in slots; ± 95 % over the seeds" if summaries[0]["seeds"] > 1 else "delays in slots"
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD)
    table.add_column("policy", no_wrap=True)
    for name in ("mean queue", "max", "mean delay", "p50", "p95", "p99", "utilisation", "waiting", "verdict", "tasks/s"):
        table.add_column(name, justify="left" if name == "verdict" else "right", no_wrap=True)
    for record in summaries:
        half = record["interval"]
        table.add_row(
            record["policy"],
            _number(record["mean_queue"], half["mean_queue"]),
            _number(record["max_queue"]),
            _number(record["mean_delay"], half["mean_delay"]),
            *(_number(record[key]) for key in ("delay_p50", "delay_p95", "delay_p99")),
            " ".join("–" if share is None else f"{share:.3f}" for share in record["utilisation"]),
            _number(record["waiting"]),
            f"[{_colour(record['verdict'])}]{record['verdict']}",
            f"{record['tasks_per_second']:.2g}",
        )
    return table


def jobs_table(summaries: list[Record]) -> Table:
    """Completion times of whole jobs, for tables that say which tasks make a job."""
    table = Table(title="jobs: slots from the first arrival to the last end", title_justify="left", box=SIMPLE_HEAD)
    table.add_column("policy", no_wrap=True)
    for name in ("makespan", "mean completion", "p50", "p95", "p99", "fragmentation", "over-allocation", "unfairness"):
        table.add_column(name, justify="right", no_wrap=True)
    for record in summaries:
        table.add_row(record["policy"], *(_number(record[key], record["interval"][key]) for key in (*OF_JOBS, *SHARES_OF_JOBS)))
    return table


def classes_table(summaries: list[Record], cutoff: float) -> Table:
    """Completion times of short and of long jobs."""
    title = f"jobs whose tasks take up to {cutoff:g} s on average, and long ones: completion in slots"
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD)
    table.add_column("policy", no_wrap=True)
    for name in CLASSES:
        table.add_column(name.replace("_", " "), justify="right", no_wrap=True)
    for record in summaries:
        table.add_row(record["policy"], *(_number(record[key], record["interval"][key]) for key in CLASSES))
    return table


def data_table(summaries: list[Record]) -> Table:
    """Shares of tasks by how near to their data they ran, and what that cost."""
    title = "tasks with data: shares by where they ran; mean slots until the end, of overhead, and waiting beside room"
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD)
    table.add_column("policy", no_wrap=True)
    for name in ("at home", "in the rack", "elsewhere", "completion", "overhead", "idle wait"):
        table.add_column(name, justify="right", no_wrap=True)
    for record in summaries:
        table.add_row(record["policy"], *(_number(record[key], record["interval"][key]) for key in OF_DATA))
    return table


def _colour(verdict: str) -> str:
    return {"stable": "green", "unstable": "red"}.get(verdict, "yellow")


def _number(value: float | None, half: float | None = None) -> str:
    if value is None:
        return "–"
    shown = f"{value:.0f}" if float(value).is_integer() or abs(value) >= 1000 else f"{value:.3g}"
    return shown if half is None else f"{shown} ± {half:.2g}"
