"""The tables of a comparison of policies, from its records: means over the seeds, ± the half-width of a 95 % interval."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from packenv.content.tables import Column, Styled, Table, numbers
from packenv.content.text import NONE, WIDE, estimate, is_wide, number
from packenv.results.stability import STABLE, UNDECIDED, UNSTABLE
from packenv.runs.measures import CLASSES, COMPLETION, DATA, JOBS, MEASURES, QUEUE, SLOTS, SPEED, Record
from packenv.runs.size_classes import TIMES as SIZE_TIMES
from packenv.theory.completion.bound import SHOWN_AS

if TYPE_CHECKING:
    from packenv.runs.comparison import Comparison

COLOURS = {STABLE: "green", UNSTABLE: "red"}


class Times(NamedTuple):
    """The unit in which times are shown: seconds where the length of a slot is known, else slots."""

    slot_seconds: float | None

    @property
    def unit(self) -> str:
        return "slots" if self.slot_seconds is None else "seconds"

    @property
    def unit_and_slot(self) -> str:
        return "slots" if self.slot_seconds is None else f"seconds (a slot is {self.slot_seconds:g} s)"

    def of(self, slots: float | None) -> float | None:
        return None if slots is None else slots * (self.slot_seconds or 1.0)


def spare_columns() -> list[str]:
    """Headings that a narrow terminal does without, the first of them first."""
    spare = sorted((measure.spare, measure.heading) for measure in MEASURES if measure.spare)
    return [*dict.fromkeys(heading for _, heading in spare)]


def tables_of(comparison: Comparison) -> list[Table]:
    """Queues and delays; by size, of whole jobs and of data, where the runs measured them."""
    summaries, times, cutoff = comparison.summaries, Times(comparison.workload.shown_slot), comparison.cutoff or 0.0
    titles = {
        QUEUE: f"delays in {times.unit_and_slot}",
        JOBS: f"jobs: {times.unit} from the first arrival to the last end",
        CLASSES: f"jobs whose tasks take up to {cutoff:g} s on average, and long ones: completion in {times.unit}",
        DATA: f"tasks with data: shares by where they ran; mean {times.unit}: completion, and the parts that add up to it",
    }
    tables = [measures_table(name, titles[name], summaries, times) for name in tables_shown(comparison)]
    return [tables[0], *([sizes_table(summaries, times)] if comparison.by_size else []), *tables[1:]]


def tables_shown(comparison: Comparison) -> list[str]:
    """The names of the tables of measures for which the runs have values."""
    first = comparison.by_policy[0][0]
    jobs = [JOBS] if first.jobs is not None else []
    classes = [CLASSES] if jobs and comparison.cutoff is not None else []
    return [QUEUE, *jobs, *classes, *([DATA] if first.data is not None else [])]


def measures_table(name: str, title: str, summaries: Sequence[Record], times: Times) -> Table:
    """A line for each policy, a column for each measure; in QUEUE also the verdict, in JOBS the bound below them."""
    measures = [measure for measure in MEASURES if measure.table == name]
    columns = []
    for measure in measures:
        columns += [Column("verdict")] if measure.unit == SPEED else []
        columns.append(Column(measure.heading, numeric=True))
    table = of_policies(title, columns, summaries)
    for record in summaries:
        cells: list[str] = []
        for measure in measures:
            if measure.unit == SPEED:
                cells.append(Styled(record["verdict"], COLOURS.get(record["verdict"], "yellow")))
            both = record[measure.key], record["interval"].get(measure.key)
            cells.append(measure.cell(*(map(times.of, both) if measure.unit == SLOTS else both)))
        table.add(record["policy"], *cells)
    bounded = next((record for record in summaries if name == JOBS and record["completion_bound"] is not None), None)
    if bounded is not None:
        bound = estimate(*(times.of(part["completion_bound"]) for part in (bounded, bounded["interval"])))
        table.add(SHOWN_AS, *(bound if measure.key == COMPLETION else NONE for measure in measures), style="dim")
    return table


def legend(comparison: Comparison) -> list[str]:
    """The meaning of the marks that occur in the tables."""
    summaries, tables = comparison.summaries, tables_shown(comparison)
    estimates = [measure.key for measure in MEASURES if measure.table in tables and measure.cell is estimate]
    marks = over_first(comparison)
    if any(is_wide(record[key], record["interval"][key]) for record in summaries for key in estimates):
        marks.append(f"{WIDE}; more seeds or slots narrow it")
    if any(record["verdict"] == UNSTABLE for record in summaries):
        marks.append("unstable: the queue grows as long as the run lasts, and with it the mean, the delays and what waits")
    if comparison.backlog is None and any(record["verdict"] == UNDECIDED for record in summaries):
        marks.append("undecided: the runs are too short to tell whether the queue would go on growing")
    if comparison.workload.jobs is not None and any(run.waiting for run in comparison.all_runs):
        marks.append(f"not started when the table ended: {_not_started(comparison)}; delays are of the others (drain: of all)")
    if any(run.jobs is not None and run.jobs.makespan is None for run in comparison.all_runs):
        marks.append("makespan –: not all jobs ended; completion times are of those that did: too short (drain: until all have)")
    return marks


def over_first(comparison: Comparison) -> list[str]:
    """A line with ratios of mean queues or completion times to the first policy's, seed by seed, and their 95 % intervals.

    Without policies whose queue grows as long as a run lasts, or under which not all jobs ended; none of a backlog, which is
    as long under all. A mean's ± is mostly chance that all policies share, and says little about their difference.
    """
    of_jobs = JOBS in tables_shown(comparison)
    key, heading = (COMPLETION, "mean completion") if of_jobs else ("mean_queue", "mean queue")
    summaries = comparison.summaries
    lasting = [record["policy"] for record in summaries if (record["makespan"] if of_jobs else record["verdict"] != UNSTABLE)]
    if comparison.backlog is not None or len(lasting) < 2 or all(record["seeds"] == 1 for record in summaries):
        return []
    ratios = {policy: comparison.ratio(policy, lasting[0], key) for policy in lasting[1:]}
    known = [f"{policy} {ratio}" for policy, ratio in ratios.items() if ratio.mean is not None]
    return [f"{heading} over {lasting[0]}'s, on the same tasks: {', '.join(known)}"] if known else []


def _not_started(comparison: Comparison) -> str:
    """Tasks of all seeds that wait at the end, by policy."""
    runs = zip(comparison.results, comparison.by_policy, strict=True)
    counts = {name: (sum(run.waiting for run in of_policy), sum(run.arrived for run in of_policy)) for name, of_policy in runs}
    return ", ".join(f"{waiting:,} of {arrived:,} tasks ({name})" for name, (waiting, arrived) in counts.items() if waiting)


def of_policies(title: str, columns: Sequence[Column], summaries: Sequence[Record]) -> Table:
    """An empty table with the policies' column. Its title says what ± means where a policy has several seeds."""
    several = any(record["seeds"] > 1 for record in summaries)
    return Table(title + ("; ± 95 % over the seeds" if several else ""), [Column("policy"), *columns], spare=spare_columns())


def sizes_table(summaries: Sequence[dict[str, Any]], times: Times) -> Table:
    """A line for each class of each policy, the smallest sizes first."""
    columns = numbers("size up to", "tasks", *SIZE_TIMES.values())
    table = of_policies(f"delays in {times.unit} by size", columns, summaries)
    for record in summaries:
        for n, (size, of_class) in enumerate(record["by_size"].items()):
            cells = [estimate(times.of(of_class[key]), times.of(of_class["interval"][key])) for key in SIZE_TIMES]
            table.add("" if n else record["policy"], size, number(of_class["tasks"]), *cells)
    return table
