"""The tables of a comparison of policies, from its records: means over the seeds, ± the half-width of a 95 % interval."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from rich.box import SIMPLE_HEAD
from rich.markup import escape
from rich.table import Table

from packenv.results.stability import UNSTABLE
from packenv.runs.comparison import Comparison
from packenv.runs.records import Record
from packenv.runs.size_classes import TIMES as SIZE_TIMES
from packenv.runs.text import NONE, WIDE, about, estimate, is_wide, number
from packenv.theory.completion.bound import SHOWN_AS

QUANTILES = (50, 90, 99)


class Times(NamedTuple):
    """In what times are shown: seconds, where the length of a slot is known, or slots."""

    slot_seconds: float | None

    @property
    def unit(self) -> str:
        return "slots" if self.slot_seconds is None else "seconds"

    @property
    def unit_and_slot(self) -> str:
        return "slots" if self.slot_seconds is None else f"seconds (a slot is {self.slot_seconds:g} s)"

    def of(self, slots: float | None) -> float | None:
        return None if slots is None else slots * (self.slot_seconds or 1.0)


class Shown(NamedTuple):
    """A column: its heading, the field of the records, and whether that is a time."""

    heading: str
    key: str
    is_time: bool = True


JOBS = (
    Shown("makespan", "makespan"),
    Shown("mean completion", "mean_completion"),
    *(Shown(f"p{percent}", f"completion_p{percent}") for percent in (50, 95, 99)),
    *(Shown(name.replace("_", "-"), name, False) for name in ("fragmentation", "over_allocation", "unfairness")),
)
CLASSES = tuple(Shown(f"{of} p{percent}", f"{of}_p{percent}") for of in ("short", "long") for percent in QUANTILES)
DATA = (
    Shown("at home", "node_local", False),
    Shown("in the rack", "rack_local", False),
    Shown("elsewhere", "remote", False),
    Shown("completion", "task_completion"),
    Shown("service", "task_service"),
    Shown("overhead", "remote_slots"),
    Shown("scheduling delay", "scheduling_delay"),
    Shown("no room", "no_room"),
)
LEFT_OUT_FIRST = ("tasks/s", "max", "p50", "waiting", "p99", "over-allocation", "unfairness", "fragmentation", "makespan")
LEFT_OUT_LATER = ("in the rack", "elsewhere", "short p50", "long p50", "service", "no room", "p95", "short p99", "long p99")
LEFT_OUT = (*LEFT_OUT_FIRST, *LEFT_OUT_LATER, "mean queue", "utilisation", "overhead", "completion", "long p90")
"""Columns that a narrow terminal does without, the first of them first."""


def tables_of(comparison: Comparison) -> list[Table]:
    """Queues and delays; by size, of whole jobs and of data, where the runs measured them."""
    summaries, times, first = comparison.summaries, Times(comparison.workload.shown_slot), comparison.by_policy[0][0]
    tables = [results_table(summaries, times)]
    if comparison.by_size:
        tables.append(sizes_table(summaries, times))
    if first.jobs is not None:
        tables.append(jobs_table(summaries, times))
        if comparison.cutoff is not None:
            tables.append(classes_table(summaries, comparison.cutoff, times))
    if first.data is not None:
        tables.append(data_table(summaries, times))
    return tables


def results_table(summaries: list[Record], times: Times) -> Table:
    """Queues, delays and the verdict."""
    table = titled(f"delays in {times.unit_and_slot}", summaries)
    for name in ("mean queue", "max", "mean delay", "p50", "p95", "p99", "utilisation", "waiting", "verdict", "tasks/s"):
        table.add_column(name, justify="left" if name == "verdict" else "right", no_wrap=True)
    for record in summaries:
        half = record["interval"]
        table.add_row(
            escape(record["policy"]),
            estimate(record["mean_queue"], half["mean_queue"]),
            number(record["max_queue"]),
            estimate(times.of(record["mean_delay"]), times.of(half["mean_delay"])),
            *(number(times.of(record[key])) for key in ("delay_p50", "delay_p95", "delay_p99")),
            " ".join("–" if share is None else f"{share:.3f}" for share in record["utilisation"]),
            number(record["waiting"]),
            f"[{_colour(record['verdict'])}]{record['verdict']}",
            about(record["tasks_per_second"]),
        )
    return table


def jobs_table(summaries: list[Record], times: Times) -> Table:
    """Completion times of whole jobs, for tables that say which tasks make a job; below them the bound on the mean."""
    table = _table(f"jobs: {times.unit} from the first arrival to the last end", JOBS, summaries, times)
    bounded = next((record for record in summaries if record["completion_bound"] is not None), None)
    if bounded is not None:
        shown = estimate(*(times.of(each["completion_bound"]) for each in (bounded, bounded["interval"])))
        cells = (shown if column.key == "mean_completion" else NONE for column in JOBS)
        table.add_row(SHOWN_AS, *cells, style="dim")
    return table


def classes_table(summaries: list[Record], cutoff: float, times: Times) -> Table:
    """Completion times of short and of long jobs."""
    title = f"jobs whose tasks take up to {cutoff:g} s on average, and long ones: completion in {times.unit}"
    return _table(title, CLASSES, summaries, times)


def data_table(summaries: list[Record], times: Times) -> Table:
    """Shares of tasks by how near to their data they ran, and what their completion times consist of."""
    title = f"tasks with data: shares by where they ran; mean {times.unit}: completion, and the parts that add up to it"
    return _table(title, DATA, summaries, times)


def _table(title: str, columns: tuple[Shown, ...], summaries: list[Record], times: Times) -> Table:
    table = titled(title, summaries)
    for column in columns:
        table.add_column(column.heading, justify="right", no_wrap=True)
    for record in summaries:
        cells = []
        for _, key, is_time in columns:
            both = record[key], record["interval"][key]
            cells.append(estimate(*(times.of(value) if is_time else value for value in both)))
        table.add_row(escape(record["policy"]), *cells)
    return table


def legend(tables: list[Table], summaries: list[Record]) -> list[str]:
    """What the marks mean that occur in the tables."""
    headings = {str(column.header) for table in tables for column in table.columns}
    columns = (Shown("mean queue", "mean_queue"), Shown("mean delay", "mean_delay"), *JOBS, *CLASSES, *DATA)
    keys = [column.key for column in columns if column.heading in headings]
    found = []
    if any(is_wide(record[key], record["interval"][key]) for record in summaries for key in keys):
        found.append(f"{WIDE}; more seeds or slots narrow it")
    if any(record["verdict"] == UNSTABLE for record in summaries):
        found.append("unstable: the queue grows as long as the run lasts, and with it the mean, the delays and what waits")
    return found


def titled(title: str, summaries: Sequence[Record]) -> Table:
    """An empty table with the policies' column. Its title says what ± means where a policy has several seeds."""
    several = any(record["seeds"] > 1 for record in summaries)
    table = Table(title=title + ("; ± 95 % over the seeds" if several else ""), title_justify="left", box=SIMPLE_HEAD)
    table.add_column("policy", no_wrap=True)
    return table


def _colour(verdict: str) -> str:
    return {"stable": "green", "unstable": "red"}.get(verdict, "yellow")


def sizes_table(summaries: Sequence[dict[str, Any]], times: Times) -> Table:
    """A line for each class of each policy, the smallest sizes first."""
    table = titled(f"delays in {times.unit} by size", summaries)
    for name in ("size up to", "tasks", "mean delay", "p99.9", "largest"):
        table.add_column(name, justify="right", no_wrap=True)
    for record in summaries:
        for n, (size, own) in enumerate(record["by_size"].items()):
            shown = [estimate(times.of(own[key]), times.of(own["interval"][key])) for key in SIZE_TIMES]
            table.add_row("" if n else escape(record["policy"]), size, number(own["tasks"]), *shown)
    return table
