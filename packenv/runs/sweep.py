"""`Sweep`: comparisons of the same policies at several loads, and a measure over the load."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from packenv.content.charts import GREY, MARKERS, Key, Line, LineChart, Point, colours_for
from packenv.content.page import Charts, Figure, Page, Section
from packenv.content.showable import Showable
from packenv.content.tables import Column, Styled, Table, numbers
from packenv.content.text import clock_for, counted, estimate, listed, number
from packenv.errors import ArgumentError, InputError, nearest
from packenv.options.shared import INTENSITIES
from packenv.results.stability import UNDECIDED, UNSTABLE
from packenv.runs import comparison_tables
from packenv.runs.measures import MEASURES, QUEUE, SIZE, SLOTS, TASKS, Measure, Record

if TYPE_CHECKING:
    from packenv.runs.comparison import Comparison

AXES = {"load": "load (share of ρ*)", "intensity": "intensity (share of the area bound)", "rate": "tasks per slot"}
"""Titles of the horizontal axis."""

SHAPES = {UNSTABLE: "x"}
"""Shapes of points, as in the papers' figures; undecided ones are hollow."""

SPREAD = 10.0  # of the largest to the least mean, from which the vertical axis is logarithmic
UNITS = {TASKS: "tasks", SIZE: "capacity"}
KEYS = {UNDECIDED: Key(GREY, "undecided", "o", False), UNSTABLE: Key(GREY, "unstable", "x")}


def several_loads(changes: Mapping[str, Any]) -> tuple[str, list[float]] | None:
    """Return the argument that has a list of values, and these, ascending; None if there is none. Raises InputError."""
    lists = {key: changes[key] for key in INTENSITIES if isinstance(changes.get(key), Iterable)}
    if not lists:
        return None
    if len(lists) > 1:
        raise ArgumentError("give one of `load`, `intensity` and `rate`")
    [(key, listed_values)] = lists.items()
    try:
        values = sorted({float(value) for value in listed_values})
    except (TypeError, ValueError):
        values = []
    if not values:
        raise ArgumentError(f"`{key}` must be a number, or a list of numbers such as 0.5, 0.7, 0.9, not {listed_values!r}")
    return key, values


def check_measure(key: str) -> Measure:
    """Return the measure with this key. Raises InputError unless it is one number of a run."""
    by_key = {measure.key: measure for measure in MEASURES if measure.spread and measure.key != "utilisation"}
    if key not in by_key:
        mean = f"mean_{key}"
        suggestion = f"; did you mean {mean}?" if mean in by_key else nearest(key, [*by_key], alike=0.6)
        raise InputError(f"{key!r} is not a measure of a figure over the load{suggestion}")
    return by_key[key]


@dataclass(frozen=True, repr=False)
class Sweep(Showable):
    """Comparisons of the same policies at several loads.

    axis         "load", "intensity" or "rate"
    values       of the axis, ascending, one for each comparison
    comparisons  a `Comparison` at each value
    measure      key of the measure that is drawn
    """

    axis: str
    values: list[float]
    comparisons: list[Comparison]
    measure: str = "mean_queue"

    @property
    def policies(self) -> list[str]:
        return [*dict.fromkeys(policy for comparison in self.comparisons for policy in comparison.results)]

    @property
    def title(self) -> str:
        seeds = max(len(runs) for comparison in self.comparisons for runs in comparison.by_policy)
        where = f"{self.comparisons[0].workload.label} at {self.axis} {', '.join(map(number, self.values))}"
        return f"{listed(self.policies)} on {where}, {counted(seeds, 'seed')}"

    @property
    def summaries(self) -> list[Record]:
        """The means of each policy at each load, with the value of the axis first."""
        means = self._with_axis([comparison.summaries for comparison in self.comparisons])
        return sorted(means, key=lambda summary: self.policies.index(summary["policy"]))

    @property
    def records(self) -> list[Record]:
        """The measures of each run, with the value of the axis first."""
        return self._with_axis([comparison.records for comparison in self.comparisons])

    def _with_axis(self, parts: Iterable[list[Record]]) -> list[Record]:
        each = zip(self.values, parts, strict=True)
        return [{self.axis: value, **record, self.axis: value} for value, records in each for record in records]

    @property
    def rows(self) -> list[Record]:
        """The means of each policy at each load."""
        return self.summaries

    @property
    def plain(self) -> list[Record]:
        """The measures of each run, and after them the means; `kind` tells them apart."""
        return [{"kind": kind, **record} for kind, of in (("run", self.records), ("mean", self.summaries)) for record in of]

    def to_dict(self) -> dict[str, Any]:
        """All records in plain values: `policies`, the means of each at each load, and `runs`."""
        return {**self.comparisons[0].workload.record, "axis": self.axis, "policies": self.summaries, "runs": self.records}

    def facts(self) -> list[tuple[str, str]]:
        """The measure of each policy from the lowest to the highest load."""
        measure = check_measure(self.measure)
        facts = []
        for policy in self.policies:
            of_policy = [summary for summary in self.summaries if summary["policy"] == policy]
            means = "; ".join(f"{number(summary[self.axis])}: {_cell(summary, measure)}" for summary in of_policy)
            facts.append((policy, f"{measure.heading} at {means}"))
        return facts

    def tables(self) -> list[Table]:
        """A row for each policy and load: means over the seeds, ± the half-width of a 95 % interval."""
        times = [comparison_tables.times_of(comparison) for comparison in self.comparisons]
        common = times[0]._replace(long=any(unit.long for unit in times))
        title = f"delays{common.in_unit}{common.slot}"
        of_load = [comparison_tables.measures_table(QUEUE, title, comparison, common) for comparison in self.comparisons]
        longest = max(of_load, key=lambda table: len(table.title))
        policy, *columns = longest.columns
        table = replace(longest, columns=[policy, *numbers(self.axis), *columns], rows=[])
        for name in self.policies:
            for value, part in zip(self.values, of_load, strict=True):
                table.rows.extend([[row[0], number(value), *row[1:]] for row in part.rows if row[0] == name])
        measure = check_measure(self.measure)
        others = [] if measure.table == QUEUE else [self._drawn_table(measure)]
        for value, comparison in zip(self.values, self.comparisons, strict=True):
            of_value = comparison_tables.detail_tables(comparison, common)
            others += [replace(detail, title=f"{self.axis} {number(value)}: {detail.title}") for detail in of_value]
        return [table, *others]

    def _drawn_table(self, measure: Measure) -> Table:
        """The measure of the figure, where the first table lacks it; times in slots."""
        unit = f" in {measure.unit}" if measure.unit == SLOTS else ""
        table = Table(f"{measure.heading}{unit}", [Column("policy"), *numbers(self.axis, measure.heading)])
        for summary in self.summaries:
            table.add(summary["policy"], number(summary[self.axis]), _cell(summary, measure))
        return table

    def footnotes(self) -> list[str]:
        """Remarks of policies, each once, and which runs were stopped or have wide intervals."""
        lines: list[str] = []
        for value, comparison in zip(self.values, self.comparisons, strict=True):
            where = f"{self.axis} {number(value)}: "
            lines += [Styled(where + line, "yellow") for line in comparison.not_reached]
            lines += [Styled(where + line, "red") for line in comparison.stopped]
        if any(summary["verdict"] == UNSTABLE for summary in self.summaries):
            lines.append("unstable: the queue grows as long as the run lasts, and so do its mean and the delays")
        remarks = dict.fromkeys(line for comparison in self.comparisons for line in comparison.remarks)
        return [*lines, *(Styled(line, "yellow") for line in remarks)]

    def charts(self, measure: str | None = None) -> Charts:
        """Return a measure over the load: a line for each policy with bands, the 95 % intervals over the seeds.

        measure  its key, such as "mean_delay"; by default that of the sweep

        Hollow points are undecided, crosses are unstable. Raises InputError for an unknown measure.
        """
        row = check_measure(measure or self.measure)
        measured = [summary for summary in self.summaries if summary[row.key] is not None]
        if not measured:
            raise InputError(f"no run has a {row.heading}, so there is no figure")
        # The axis: logarithmic where the means spread far; unstable lines leave a linear one at the top.
        means = [summary[row.key] for summary in measured]
        log = min(means) > 0 and max(means) >= SPREAD * min(means)
        low_enough = [summary for summary in measured if log or summary["verdict"] != UNSTABLE] or measured
        top = max(summary[row.key] + _half(summary, row) for summary in low_enough)
        clock = clock_for(top, self.comparisons[0].workload.slot_seconds)
        scale, unit = (1 / clock.slots, clock.unit) if row.unit == SLOTS else (1.0, UNITS.get(row.unit, ""))
        top, bottom = (1.3 if log else 1.08) * top * scale or 1.0, min(means) * scale / 1.5 if log else 0.0
        # A line for each policy, with its band and a mark for each verdict.
        lines, findings = [], []
        for policy, colour in zip(self.policies, colours_for(self.policies), strict=True):
            of_policy = [summary for summary in measured if summary["policy"] == policy]
            points = [
                Point(
                    comparison[self.axis],
                    comparison[row.key] * scale,
                    comparison["verdict"] != UNDECIDED,
                    SHAPES.get(comparison["verdict"], ""),
                )
                for comparison in of_policy
            ]
            halves = [_half(comparison, row) * scale for comparison in of_policy]
            at, y = [point.x for point in points], [point.y for point in points]
            band: dict[str, Any] = {}
            if any(halves):
                band["low"] = [max(mean - half, bottom) for mean, half in zip(y, halves, strict=True)]
                band["high"] = [mean + half for mean, half in zip(y, halves, strict=True)]
            marker = MARKERS.get(policy, "o")
            lines.append(Line(policy, colour, at, y, points=points, marker=marker, leaving=policy, **band))
            findings.append(f"{policy} {', '.join(f'{number(point.y)} at {number(point.x)}' for point in points)}")
        kinds = {summary["verdict"] for summary in self.summaries}
        keys = [key for kind, key in KEYS.items() if kind in kinds]
        y_title = f"{row.heading} ({unit})" if unit else row.heading
        chart = LineChart(lines, AXES[self.axis], y_title, top, marks=keys, bottom=bottom)
        banded = ", bands: 95 % intervals over the seeds" if any(line.low is not None for line in lines) else ""
        heading = f"{row.heading[:1].upper()}{row.heading[1:]} over the {self.axis}{banded}"
        heading += "".join(f"; {'hollow' if kind == UNDECIDED else '×'}: {kind}" for kind in KEYS if kind in kinds)
        return Charts(self.comparisons[0].workload.label, [Figure(heading, f"{'; '.join(findings)}.", chart)])

    def page(self) -> Page:
        """The figure and the tables."""
        first = self.comparisons[0].workload
        values = ", ".join(map(number, self.values))
        facts = [("Workload", first.label), (self.axis.capitalize(), values), ("Servers", f"{len(first.servers):,}")]
        figures = self.charts().figures
        sections = [Section("Over the load", figures), Section("The numbers", notes=self.footnotes(), tables=self.tables())]
        return Page(self.title, figures[0].finding, facts, sections)


def _cell(summary: Record, measure: Measure) -> str:
    return estimate(summary[measure.key], summary["interval"].get(measure.key))


def _half(summary: Record, measure: Measure) -> float:
    return summary["interval"].get(measure.key) or 0.0
