"""The tables of `packenv trace describe` and `packenv trace profile`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.table import Column, Table

from packenv.cli.options.workload import dropped_rows
from packenv.cli.tables import print_table, text_console
from packenv.runs.text import NONE, number


def print_description(name: str, statistics: dict[str, Any]) -> None:
    """The tables of `describe`."""
    console = text_console()
    kept, submitted = statistics["kept_tasks"], statistics["submitted_tasks"]
    console.print(
        f"{name}: {statistics['rows']:,} tasks, {statistics['in_snapshot']:,} in the initial snapshot, "
        f"{statistics['submitted']:,} submitted, {statistics['kept']:,} kept{dropped_part(statistics['dropped'])}",
        highlight=False,
    )
    if statistics["about"]:
        console.print(statistics["about"], highlight=False)
    counts = _empty("Distinct demands", "distinct", statistics["distinct"]["rows"])
    for which, levels in statistics["distinct"].items():
        counts.add_row(which, *(f"{count:,}" for count in levels.values()))
    print_table(counts)
    rates = _empty("Rates and bursts", "", ("submitted", "kept"))
    for label in ("tasks", "jobs", "span_s", "tasks_per_s", "jobs_per_s", "interarrival_cv"):
        rates.add_row(label, *(number(column.get(label)) for column in (submitted, kept)))
    for window in kept.get("dispersion", {}):
        rates.add_row(f"dispersion, {window} s", *(number(column["dispersion"][window]) for column in (submitted, kept)))
    print_table(rates)
    if "size" not in kept:
        return
    quantities = ["size", *statistics["resources"], "duration_s", "tasks_per_job", "interarrival_s"]
    print_table(_table("Kept tasks", _transposed({quantity: kept[quantity] for quantity in quantities})))
    print_table(_table("Correlation", list(kept["correlation"].items())))
    rows = [("servers of capacity 1", kept["offered_load"])]
    if there := statistics.get("servers"):
        shares = {name: None if share is None else f"{share:.1%}" for name, share in there["share"].items()}
        rows = [("in use on average", kept["offered_load"]), (f"share of {there['servers']}", shares)]
        rows += [("such servers", there["like"])]
    print_table(_table("Offered load", rows))


def print_match(name: str, match: dict[str, Any]) -> None:
    """The tables of `profile`: [trace, fitted workload] in each cell."""
    pairs = {quantity: {key: _pair(pair) for key, pair in levels.items()} for quantity, levels in match["quantiles"].items()}
    print_table(_table(f"{name}: trace / workload, {match['tasks_compared']:,} tasks", _transposed(pairs)))
    load = {name: [*pair, match["expected_load"][name]] for name, pair in match["offered_load"].items()}
    print_table(_table("Offered load", [("trace / workload / its mean", {name: _pair(three) for name, three in load.items()})]))
    dispersion = {window: _pair(pair) for window, pair in match["dispersion"].items()}
    print_table(_table("Dispersion (window in s)", [("trace / workload", dispersion)]))
    print_table(_table("Kolmogorov-Smirnov distance", [("", match["ks"])]))


def _table(title: str, rows: Iterable[tuple[str, dict[str, Any]]]) -> Table:
    rows = [(label, {name: NONE if value is None else value for name, value in values.items()}) for label, values in rows]
    table = _empty(title, "", rows[0][1])
    for label, values in rows:
        table.add_row(label, *(value if isinstance(value, str) else number(value) for value in values.values()))
    return table


def _empty(title: str, first: str, columns: Iterable[str]) -> Table:
    return Table(first, *(Column(name, justify="right", no_wrap=True) for name in columns), title=title, box=SIMPLE_HEAD)


def _transposed(columns: dict[str, dict[str, Any]]) -> list[tuple[str, dict[str, Any]]]:
    """Rows, of columns; one that lacks a row, as the gaps of a single task do, has None there."""
    labels = dict.fromkeys(label for column in columns.values() for label in column)
    return [(label, {name: column.get(label) for name, column in columns.items()}) for label in labels]


def _pair(pair: list[Any]) -> str:
    return " / ".join(number(value) for value in pair)


def dropped_part(dropped: dict[str, int]) -> str:
    """A clause on the rows that were dropped; nothing for none."""
    parts = dropped_rows(dropped)
    return f"; dropped: {parts}" if parts else ""
