"""The page of `packenv evaluate`: queues over time, delays, how full the cluster was, and the tables."""

from __future__ import annotations

from collections.abc import Sequence

from packenv.report.comparison_tables import Times
from packenv.report.page import Figure, Image, Report, Section
from packenv.report.run_charts import delays, fullness, mean_queues, queue_over_time
from packenv.report.schedule_chart import schedule_chart
from packenv.report.story import story_of
from packenv.report.tables import Table
from packenv.report.workload_charts import profile_section
from packenv.results.result import Result
from packenv.runs.clock import clock_for
from packenv.runs.measures import MEASURES, SPEED, Record
from packenv.runs.text import listed, number
from packenv.workloads.workload import Workload

MOST_SCHEDULES = 4


def evaluate_report(
    by_policy: list[list[Result]],
    summaries: Sequence[Record],
    tables: Sequence[Table],
    legend: Sequence[str],
    notices: Sequence[str],
    workload: Workload,
    times: Times,
    backlog: int | None,
) -> Report:
    """`legend`: what marks of the tables mean; `notices`: on policies."""
    speeds = [measure.heading for measure in MEASURES if measure.unit == SPEED]  # the same command gives the same page
    sections = [
        Section("The queue", [*queue_over_time(by_policy, workload, backlog), *mean_queues(summaries)]),
        Section("Delays", delays(by_policy, workload)),
        Section("The numbers", notes=legend, tables=[table.without(speeds) for table in tables]),
    ]
    first = [runs[0] for runs in by_policy if runs[0].schedule is not None and runs[0].started and workload.jobs is not None]
    if first:
        pictures: list[Figure | Image] = [fullness(workload, first), _schedules(first[:MOST_SCHEDULES], workload)]
        sections.insert(2, Section("The cluster", pictures))
    profile = profile_section(workload.at(by_policy[0][0].seed))
    who = listed([runs[0].policy for runs in by_policy]) if len(by_policy) < 4 else f"{len(by_policy)} policies"
    title = f"{who} on {workload.name}"
    asked = _asked(by_policy, workload, times, backlog)
    return Report(title, f"{story_of(by_policy)}.", asked, [*sections, *([profile] if profile else [])], notices)


def _asked(by_policy: list[list[Result]], workload: Workload, times: Times, backlog: int | None) -> list[tuple[str, str]]:
    runs = [run for own in by_policy for run in own]
    clock = clock_for(max(run.slots for run in runs), times.slot_seconds)
    arrivals = f"{number(workload.rate)} tasks per slot, intensity {workload.intensity:.3f}"
    return [
        ("Workload", workload.name),
        ("Arrivals", arrivals if backlog is None else f"{backlog:,} tasks are kept waiting"),
        ("Servers", f"{len(workload.servers):,}"),
        ("Length", f"{number(max(run.slots for run in runs) / clock.slots)} {clock.unit}"),
        ("Seeds", ", ".join(map(str, dict.fromkeys(run.seed for run in runs)))),
        ("Policies", ", ".join(own[0].policy for own in by_policy)),
    ]


def _schedules(runs: Sequence[Result], workload: Workload) -> Image:
    """Who ran where and when in these runs."""
    names = listed([run.policy for run in runs])
    finding = f"Each server's tasks over time under {names}, as high as what they need; above them the number of waiting tasks."
    return Image("Who ran where and when", finding, schedule_chart(runs, workload)._repr_png_())
