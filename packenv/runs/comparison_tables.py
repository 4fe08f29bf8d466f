"""Tables of a comparison: means over the seeds, with 95 % intervals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from packenv.content.tables import Column, Styled, Table, numbers
from packenv.content.text import INTERVAL_REACHES_ZERO, LONG, NONE, estimate, is_wide, lasting_estimate, listed, number
from packenv.results.job_times import SLOWDOWN_BOUND, eligible_slots
from packenv.results.result import Result
from packenv.results.stability import STABLE, UNDECIDED, UNSTABLE, combine
from packenv.runs.delay_classes import TIMES as CLASS_TIMES
from packenv.runs.measures import BATCH, CLASSES, COMPLETION, DATA, JOBS, MEASURES, QUEUE, SLOTS, SPEED, Record
from packenv.runs.statistics import certainly_below, ratio_of_means
from packenv.theory.completion.bound import SHOWN_AS
from packenv.workloads.in_service import begins_busy

if TYPE_CHECKING:
    from packenv.runs.comparison import Comparison
    from packenv.workloads.workload import Workload

EQUAL = 0.9995  # a ratio above it is 1.00 to three digits
COLOURS = {STABLE: "green", UNSTABLE: "red"}


class Times(NamedTuple):
    """Units of times: slots, seconds if known, minutes and hours if `long`."""

    slot_seconds: float | None
    long: bool = False

    @property
    def unit(self) -> str:
        return "slots" if self.slot_seconds is None else "seconds"

    @property
    def in_unit(self) -> str:
        """Empty for long times, as they have their own units."""
        return "" if self.long else f" in {self.unit}"

    @property
    def slot(self) -> str:
        return "" if self.slot_seconds is None else f" (a slot is {self.slot_seconds:g} s)"

    def of(self, slots: float | None) -> float | None:
        return None if slots is None else slots * (self.slot_seconds or 1.0)

    def cell(self, mean: float | None, half: float | None, cell: Callable[[float | None, float | None], str] = estimate) -> str:
        """Format a time in slots and the half-width of its interval."""
        return (lasting_estimate if self.long else cell)(self.of(mean), self.of(half))


def times_of(comparison: Comparison) -> Times:
    """Return the unit of times: seconds, unless one is as long as LONG."""
    slot, tables = comparison.workload.slot_seconds, table_names(comparison)
    keys = [measure.key for measure in MEASURES if measure.unit == SLOTS and measure.table in tables]
    longest = max((record[key] or 0.0 for record in comparison.summaries for key in keys), default=0.0)
    return Times(slot, slot is not None and longest * slot >= LONG)


def spare_headings(table: str) -> list[str]:
    """Return the headings that narrow terminals leave out, in order."""
    spare = sorted((measure.spare, measure.heading) for measure in MEASURES if measure.table == table and measure.spare)
    return [heading for _, heading in spare]


def tables_of(comparison: Comparison) -> list[Table]:
    """Return the tables of queues and delays, sizes, whole jobs and data."""
    times, cutoff = times_of(comparison), comparison.options.cutoff or 0.0
    parts = "times" if times.long else times.unit
    unit = "slots" if comparison.workload.slot_seconds is None else "s"
    bound = f"{comparison.options.slowdown_bound or SLOWDOWN_BOUND:g} {unit}"
    titles = {
        QUEUE: f"delays{times.in_unit}{times.slot}",
        BATCH: f"bounded slowdown, runs below {bound} as if they took that; response{times.in_unit}",
        JOBS: f"jobs: {'' if times.long else f'{times.unit} '}from the first arrival to the last end",
        CLASSES: f"jobs whose tasks take up to {cutoff:g} {unit} on average, and long ones: completion{times.in_unit}",
        DATA: f"tasks with data: shares by where they ran; mean {parts}: completion, and the parts that add up to it",
    }
    tables = [measures_table(name, titles[name], comparison, times) for name in table_names(comparison)]
    return [tables[0], *detail_tables(comparison, times), *tables[1:]]


def detail_tables(comparison: Comparison, times: Times) -> list[Table]:
    """Return the tables of rejected tasks, recorded waits and classes."""
    size = "size" if comparison.workload.D == 1 else "the largest share of the largest server that a task needs"
    by = {"by_size": (size, "size up to")} if comparison.options.by_size else {}
    by |= {} if comparison.options.by is None else {"by_label": (comparison.options.by, comparison.options.by)}
    classes = [
        classes_table(f"delays{times.in_unit} by {what}", key, heading, comparison, times) for key, (what, heading) in by.items()
    ]
    return [*rejected_table(comparison), *recorded_waits_table(comparison, times), *classes]


def rejected_table(comparison: Comparison) -> list[Table]:
    """Return the shares of rejected tasks by missing resource, if any."""
    reasons = [*(comparison.all_runs[0].rejected or {})]
    if comparison.all_runs[0].rejected is None:
        return []
    title = "turned away: share of the tasks, by what most servers lacked alone"
    table = Table(title, [Column("policy"), *numbers("in all", *reasons)])
    for runs in comparison.by_policy:
        lost = [[(run.rejected or {}).get(reason, 0) / max(run.arrived, 1) for reason in reasons] for run in runs]
        shares = np.mean(lost, axis=0).tolist()
        table.add(runs[0].policy, *(f"{share:.2%}" for share in (sum(shares), *shares)))
    return [table]


def table_names(comparison: Comparison) -> list[str]:
    """Return the names of the tables of measures with values."""
    first = comparison.by_policy[0][0]
    jobs = [JOBS] if first.jobs is not None else []
    classes = [CLASSES] if jobs and comparison.options.cutoff is not None else []
    batch = comparison.options.slowdown_bound is not None or comparison.workload.processors is not None
    return [
        QUEUE,
        *([BATCH] if batch and first.response is not None else []),
        *jobs,
        *classes,
        *([DATA] if first.data is not None else []),
    ]


def measures_table(name: str, title: str, comparison: Comparison, times: Times) -> Table:
    """Return a table with a row for each policy, a column for each measure.

    QUEUE also has the verdict, unless a table was run to its end. JOBS also has the bound. Measures of named resources have a
    column for each.
    """
    summaries, names, shown = comparison.summaries, comparison.workload.resources or (), comparison.workload.amounts
    resources = [names[r] for r in shown] if len(names) > 1 else []
    judged = not comparison.drained and any(record["verdict"] is not None for record in summaries)
    measures = [measure for measure in MEASURES if measure.table == name]
    columns, spare = [], spare_headings(name)
    for measure in measures:
        columns += [Column("verdict")] if measure.unit == SPEED and judged else []
        parts = resources if isinstance(summaries[0][measure.key], list) else []
        headings = [f"{resource} {measure.heading}" for resource in parts] or [measure.heading]
        columns += [Column(heading, numeric=True, of_machine=measure.unit == SPEED) for heading in headings]
        if parts and measure.heading in spare:
            place = spare.index(measure.heading)
            spare[place : place + 1] = headings
            shares = np.nan_to_num(np.array([record[measure.key] for record in summaries], float))
            busiest = int(np.argmax(shares.max(axis=0)[shown]))
            spare = [heading for heading in spare if heading != headings[busiest]] + [headings[busiest]]  # the last one to go
    table = of_policies(title, columns, summaries, spare)
    for record in summaries:
        cells: list[str] = []
        for measure in measures:
            if measure.unit == SPEED and judged:
                verdict = record["verdict"]
                cells.append(NONE if verdict is None else Styled(verdict, COLOURS.get(verdict, "yellow")))
            mean, half = record[measure.key], record["interval"].get(measure.key)
            if measure.unit == SLOTS:
                cells.append(times.cell(mean, half, measure.cell))
            elif isinstance(mean, list) and resources:
                cells += [measure.cell([mean[r]], None) for r in shown]  # type: ignore[arg-type]  # a list has one for each
            else:
                cells.append(measure.cell(mean, half))
        table.add(record["policy"], *cells)
    # The bound is on the mean over all jobs, so all must have ended.
    if name == JOBS and all(record["completion_bound"] is not None for record in summaries) and not any_lost(comparison):
        bound = times.cell(summaries[0]["completion_bound"], summaries[0]["interval"]["completion_bound"])
        table.add(SHOWN_AS, *(bound if measure.key == COMPLETION else NONE for measure in measures), style="dim")
    return table


def answer_of(comparison: Comparison) -> list[str]:
    """Return a sentence on the best policy for a table, and its lead.

    Measures the mean completion of jobs or the mean delay. Also names policies that know durations. Empty unless all tasks
    started. If tasks were rejected, the sentence compares their number, as the means are of different tasks.
    """
    if (
        comparison.workload.jobs is None
        or comparison.options.backlog is not None
        or any(run.waiting for run in comparison.all_runs)
    ):
        return []
    if any_lost(comparison):
        return _fewest_lost(comparison)
    key, heading = (
        (COMPLETION, "mean completion time of jobs") if JOBS in table_names(comparison) else ("mean_delay", "mean wait")
    )
    means = [(record[key], record["policy"]) for record in comparison.summaries if record[key] is not None]
    if len(means) < 2 or len(means) < len(comparison.summaries):
        return []
    estimated = comparison.workload.jobs.estimate is not None

    def known_durations(names: Sequence[str]) -> str:
        return duration_aware_sentence([name for name in comparison.duration_aware if name in names], estimated)

    (_, best), (_, second), *_ = sorted(means, key=lambda pair: pair[0])
    ratio, times = comparison.ratio(best, second, key), times_of(comparison)
    least = times.cell(min(means)[0], None) + ("" if times.long else f" {times.unit}")
    if ratio.mean is None or ratio.mean > EQUAL:
        equal = [name for mean, name in means if mean * EQUAL <= min(means)[0]]
        have = f"the same {heading}" if len(equal) == len(means) else f"the shortest {heading}"
        return [f"{listed(equal)} have {have}, {least}.{known_durations(equal)}"]
    sentence = f"{best} has the shortest {heading}, {least}: {100 * (1 - ratio.mean):.3g} % less than {second}, the next"
    if ratio.low is not None and ratio.high is not None:
        ends = f"{100 * (1 - ratio.high):.3g} to {100 * (1 - ratio.low):.3g} %"
        sentence += (
            f" (95 % interval: {ends})" if certainly_below(ratio, 1.0) else f", which may be chance (95 % interval: {ends})"
        )
    elif all(record["seeds"] == 1 for record in comparison.summaries):
        sentence += " (one run of each)"
    return [f"{sentence}.{known_durations([best, second])}"]


def share_lost(runs: Sequence[Result]) -> float:
    """Return the share of the tasks that were rejected, as a mean over the runs."""
    return float(np.mean([sum((run.rejected or {}).values()) / max(run.arrived, 1) for run in runs]))


def any_lost(comparison: Comparison) -> bool:
    """Return whether some run rejected tasks."""
    return any(share_lost(runs) for runs in comparison.by_policy)


def _fewest_lost(comparison: Comparison) -> list[str]:
    """Return a sentence on the policies that rejected the fewest tasks."""
    shares = {runs[0].policy: share_lost(runs) for runs in comparison.by_policy}
    best = [policy for policy, share in shares.items() if share == min(shares.values())]
    if len(shares) < 2:
        return []
    what = "the same share" if len(best) == len(shares) else "the smallest share"
    turns = "turns" if len(best) == 1 else "turn"
    means = "Waits and completion times rank no policies here: each policy's are of the tasks that it started."
    return [f"{listed(best)} {turns} away {what} of the tasks, {min(shares.values()):.2%}. {means}"]


def duration_aware_sentence(names: Sequence[str], estimated: bool) -> str:
    """Return a sentence on policies that know durations."""
    what = "estimated" if estimated else "true"
    return f" {listed(names)} {'uses' if len(names) == 1 else 'use'} {what} durations of tasks." if names else ""


def legend(comparison: Comparison) -> list[str]:
    """Return the meaning of the marks in the tables."""
    summaries, tables = comparison.summaries, table_names(comparison)
    estimates = [measure.key for measure in MEASURES if measure.table in tables and measure.cell is estimate]
    marks = [*answer_of(comparison), *over_first(comparison)]
    if any(is_wide(record[key], record["interval"][key]) for record in summaries for key in estimates):
        marks.append(f"{INTERVAL_REACHES_ZERO}; more seeds or slots narrow it")
    marks += unlike_the_log(comparison)
    if comparison.drained:
        marks.append(f"utilisation: {_measured_span(comparison)}")
    if any(record["verdict"] == UNSTABLE for record in summaries):
        marks.append("unstable: the queue grows as long as the run lasts, and with it the mean, the delays and the waiting tasks")
    endless = comparison.options.backlog is None and not comparison.drained and not comparison.to_the_end
    if endless and any(record["verdict"] == UNDECIDED for record in summaries):
        marks.append("undecided: the runs are too short to show whether the queue keeps growing")
    if comparison.workload.jobs is not None and any(run.waiting for run in comparison.all_runs):
        when = "to the end" if comparison.to_the_end else "when the table ended"
        hint = "" if comparison.to_the_end or begins_busy(comparison.workload) else " (--drain: of all)"
        marks.append(f"not started {when}: {_not_started(comparison)}; delays are of the others{hint}")
    if any(run.jobs is not None and run.jobs.makespan is None for run in comparison.all_runs):
        hint = "" if comparison.to_the_end or begins_busy(comparison.workload) else " (--drain: until all have)"
        why = f"not all jobs ended; completion times are of the others, and too short{hint}"
        if any_lost(comparison):
            why = "jobs that lost a task never end; completion times are of the others"
        marks.append(f"makespan –: {why}")
    return marks


def _measured_span(comparison: Comparison) -> str:
    """Return the slots of which the shares are, if all work was done."""
    warmup = any(run.warmup for run in comparison.all_runs)
    if comparison.to_the_end:
        jobs = [comparison.workload.at(run.seed).jobs for run in comparison.all_runs]
        from_first = all(table is not None and not table.arrival.min() for table in jobs)
        start = "the end of the warm-up" if warmup else "the first arrival" if from_first else "slot 0"
        return f"from {start} to the last end"
    lengths = {run.slots - run.warmup for run in comparison.all_runs}
    slots = f"{lengths.pop():,} slots of a run" if len(lengths) == 1 else "slots of a run"
    return f"over all {slots}{' after the warm-up' if warmup else ''}, also those after the last end"


USUAL = {"mean_queue": "mean queue", "mean_delay": "mean delay", COMPLETION: "mean completion", "rejected": "tasks turned away"}
"""Names of the usual measures."""


def over_first(comparison: Comparison) -> list[str]:
    """Return a line with each ratio of the usual measure to the first policy's.

    With 95 % intervals, paired by seed. Leaves out unstable policies, or those with unfinished jobs. Empty for a backlog,
    which is equally long under all. The ± of a mean says little about differences, as policies share most of the chance.
    """
    key, summaries = comparison.usual_measure, comparison.summaries
    of_jobs = key == COMPLETION
    lasting = [record["policy"] for record in summaries if (record["makespan"] if of_jobs else record["verdict"] != UNSTABLE)]
    if comparison.options.backlog is not None or len(lasting) < 2 or all(record["seeds"] == 1 for record in summaries):
        return []
    ratios = {policy: comparison.ratio(policy, lasting[0]) for policy in lasting[1:]}
    known = [f"{policy} {ratio}" for policy, ratio in ratios.items() if ratio.mean is not None]
    return [f"{USUAL[key]} over {lasting[0]}'s, on the same tasks: {', '.join(known)}"] if known else []


def _not_started(comparison: Comparison) -> str:
    """Return the tasks of all seeds that wait at the end, by policy."""
    runs = zip(comparison.results, comparison.by_policy, strict=True)
    counts = {name: (sum(run.waiting for run in of_policy), sum(run.arrived for run in of_policy)) for name, of_policy in runs}
    return ", ".join(f"{waiting:,} of {arrived:,} tasks ({name})" for name, (waiting, arrived) in counts.items() if waiting)


def of_policies(title: str, columns: Sequence[Column], summaries: Sequence[Record], spare: Sequence[str]) -> Table:
    """Return an empty table with the policies' column, and ± in its title."""
    several = any(record["seeds"] > 1 for record in summaries)
    return Table(title + ("; ± 95 % over the seeds" if several else ""), [Column("policy"), *columns], spare=spare)


RECORDED = {"mean_delay": "mean", "delay_p50": "p50", "delay_p95": "p95", "delay_p99": "p99"}
"""Measures of recorded waits, and their headings."""

LIKENESS = {"correlation": "correlation", "tenfold": "tenfold"}
"""Measures of recorded and simulated waits of the same jobs, and their headings."""

SHORT_WAIT = 60.0
"""Seconds, or slots of unknown length: shorter waits count as this where waits are divided."""

FEWEST_JOBS = 5  # with a correlation


def recorded_delays(workload: Workload) -> Record | None:
    """Return the recorded waits of a log by the keys of RECORDED, in slots.

    A gang counts once. None if there are none.
    """
    waits = workload.provenance.recorded_waits
    if waits is None or workload.jobs is None:
        return None
    waits = waits[workload.jobs.leads]
    quantiles = np.quantile(waits, (0.5, 0.95, 0.99), method="inverted_cdf").tolist()
    return dict(zip(RECORDED, (float(waits.mean()), *quantiles), strict=True))


def likeness(workload: Workload, runs: Sequence[Result]) -> Record:
    """Compare the simulated wait of each job with the recorded one, as means over the runs.

    correlation  Spearman's, of ranks; None for fewer than 5 jobs, or if all waits of a run are equal
    tenfold      share of the jobs that waited ten times as long as recorded, or a tenth
    A gang counts once. Only started jobs count.
    """
    shortest = SHORT_WAIT / (workload.slot_seconds or 1.0)
    correlations, tenfold = [], []
    for run in runs:
        assert workload.provenance.recorded_waits is not None and workload.jobs is not None and run.schedule is not None
        jobs = workload.jobs.first(len(run.schedule.start))
        started = (run.schedule.start >= 0) & jobs.leads
        recorded = workload.provenance.recorded_waits[: len(jobs)][started]
        simulated = (run.schedule.start - eligible_slots(jobs, run.schedule))[started]
        if len(recorded) == 0:
            return dict.fromkeys(LIKENESS)
        if len(recorded) >= FEWEST_JOBS and np.ptp(recorded) > 0 and np.ptp(simulated) > 0:
            correlations.append(np.corrcoef([_ranks(recorded), _ranks(simulated)])[0, 1])
        ratio = np.maximum(simulated, shortest) / np.maximum(recorded, shortest)
        tenfold.append(float(((ratio >= 10) | (ratio <= 0.1)).mean()))
    correlation = float(np.mean(correlations)) if len(correlations) == len(runs) else None
    return {"correlation": correlation, "tenfold": float(np.mean(tenfold))}


def _ranks(values: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return ranks (n,), the mean rank for equal values."""
    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(count) - (count - 1) / 2)[place], np.float64)


def recorded_waits_table(comparison: Comparison, times: Times) -> list[Table]:
    """Return the recorded waits next to those of each policy, and how alike they are."""
    recorded = recorded_delays(comparison.workload)
    if recorded is None:
        return []
    columns = [Column("policy"), *numbers(*RECORDED.values(), *LIKENESS.values())]
    table = Table(f"waits{times.in_unit}, recorded and simulated", columns)
    for record in ({"policy": "as recorded", **recorded}, *comparison.summaries):
        correlation, tenfold = (record.get(key) for key in LIKENESS)
        alike = (NONE if correlation is None else f"{correlation:.2f}", NONE if tenfold is None else f"{tenfold:.0%}")
        table.add(record["policy"], *(times.cell(record[key], None, lambda mean, _: number(mean)) for key in RECORDED), *alike)
    return [table]


def unlike_the_log(comparison: Comparison) -> list[str]:
    """Return a warning if the waits of most jobs differ tenfold from the recorded ones."""
    unlike = {record["policy"]: record.get("tenfold") or 0.0 for record in comparison.summaries}
    shares = [f"{share:.0%} of the jobs ({policy})" for policy, share in unlike.items() if share > 0.5]
    if not shares:
        return []
    return [f"waits differ tenfold from the recorded ones for {listed(shares)}: this is not how the cluster of the log worked"]


def classes_table(title: str, key: str, heading: str, comparison: Comparison, times: Times) -> Table:
    """Return a row for each class of each policy, with the recorded waits of a log."""
    recorded = comparison.workload.provenance.recorded_waits is not None
    shown = {name: text for name, text in CLASS_TIMES.items() if recorded or name != "recorded"}
    columns = numbers(heading, "tasks", *shown.values(), *(["ratio"] if recorded else []))
    columns[0] = columns[0] if key == "by_size" else Column(heading)
    table = of_policies(title, columns, comparison.summaries, spare_headings(QUEUE))
    for record in comparison.summaries:
        for n, (label, of_class) in enumerate(record[key].items()):
            cells = [times.cell(of_class[name], of_class["interval"][name]) for name in shown]
            cells += [_ratio(of_class["mean_delay"], of_class["recorded"])] if recorded else []
            table.add("" if n else record["policy"], label, number(of_class["tasks"]), *cells)
    return table


def _ratio(simulated: float | None, recorded: float | None) -> str:
    return NONE if simulated is None or not recorded else f"{simulated / recorded:.3g}"


def verdict_of(runs: Sequence[Result]) -> str:
    """Return the verdict on all seeds together."""
    return combine(run.verdict for run in runs).kind


def all_done(runs: Sequence[Result]) -> bool:
    """Return whether all work was done, so an open verdict is harmless."""
    return all(run.completed == run.arrived for run in runs)


def none_waited(runs: Sequence[Result]) -> bool:
    """Return whether each task started on arrival, as far as measured."""
    return all(run.mean_queue == 0 and run.waiting == 0 for run in runs)


def story_of(by_policy: Sequence[Sequence[Result]]) -> str:
    """Return a sentence on all runs.

    Such as `vqs falls behind; bf-js and agent:fig4b keep up, agent:fig4b with 36 % fewer waiting`. The difference is of the
    two stable policies with the shortest queues, if its 95 % interval excludes 0.
    """
    named = {kind: [runs for runs in by_policy if verdict_of(runs) == kind] for kind in (UNSTABLE, STABLE)}
    others = [runs for runs in by_policy if verdict_of(runs) not in named]
    parts = []
    for kind, singular, plural in ((UNSTABLE, "falls behind", "fall behind"), (STABLE, "keeps up", "keep up")):
        if named[kind]:
            parts.append(f"{_listed(named[kind])} {singular if len(named[kind]) == 1 else plural}")
    if len(named[STABLE]) > 1:
        parts[-1] += _best(named[STABLE])
    for words in sorted(set(map(_undecided, others))):
        parts.append(f"{_listed([runs for runs in others if _undecided(runs) == words])} {words}")
    return "; ".join(parts)


def _undecided(runs: Sequence[Result]) -> str:
    """Return the words for a policy without a verdict."""
    if all_done(runs):
        return "did all the work"
    if runs[0].rejected is not None:
        return f"turned away {share_lost(runs):.2%} of the tasks"
    if none_waited(runs):
        return "kept no task waiting"
    return "not decided" if verdict_of(runs) == UNDECIDED else "kept tasks waiting"


def _listed(groups: Sequence[Sequence[Result]]) -> str:
    return listed([runs[0].policy for runs in groups])


def _best(groups: Sequence[Sequence[Result]]) -> str:
    queues = [(runs[0].policy, [run.mean_queue for run in runs]) for runs in groups]
    if any(value is None for _, values in queues for value in values) or len({len(values) for _, values in queues}) > 1:
        return ""
    (best, shortest), (second, next_shortest), *_ = sorted(queues, key=lambda pair: sum(value or 0.0 for value in pair[1]))
    ratio = ratio_of_means(shortest, next_shortest)
    if ratio.mean is None or ratio.high is None or not certainly_below(ratio, 0.995):
        return ""
    return f", {best} with {100 * (1 - ratio.mean):.0f} % fewer tasks waiting than {second}"
