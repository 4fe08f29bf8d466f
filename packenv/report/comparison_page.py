"""The page of a comparison: queues over time, delays, how full the cluster was, and the tables."""

from __future__ import annotations

from collections.abc import Sequence

from packenv.report.comparison_tables import legend, tables_of
from packenv.report.page import Figure, Image, Report, Section
from packenv.report.plot_style import clock_for
from packenv.report.run_charts import delays, fullness, mean_queues, queue_over_time
from packenv.report.schedule_chart import schedule_chart
from packenv.report.story import story_of
from packenv.report.workload_charts import profile_section
from packenv.results.result import Result
from packenv.runs.comparison import Comparison
from packenv.runs.measures import MEASURES, SPEED
from packenv.runs.text import listed, number
from packenv.workloads.workload import Workload

MOST_SCHEDULES = 4


def comparison_page(comparison: Comparison, notices: Sequence[str]) -> Report:
    """The page that `packenv evaluate --report` writes. `notices`: on policies."""
    by_policy, workload, backlog = comparison.by_policy, comparison.workload, comparison.backlog
    speeds = [measure.heading for measure in MEASURES if measure.unit == SPEED]  # the same command gives the same page
    tables = [table.without(speeds) for table in tables_of(comparison)]
    sections = [
        Section("The queue", [*queue_over_time(by_policy, workload, backlog), *mean_queues(comparison.summaries)]),
        Section("Delays", delays(by_policy, workload)),
        Section("The numbers", notes=legend(comparison), tables=tables),
    ]
    first = [runs[0] for runs in by_policy if runs[0].schedule is not None and runs[0].started and workload.jobs is not None]
    if first:
        pictures: list[Figure | Image] = [fullness(workload, first), _schedules(first[:MOST_SCHEDULES], workload)]
        sections.insert(2, Section("The cluster", pictures))
    profile = profile_section(workload.at(by_policy[0][0].seed))
    policies = [*comparison.results]
    title = f"{listed(policies) if len(policies) < 4 else f'{len(policies)} policies'} on {workload.name}"
    sections += [profile] if profile else []
    notes = [*notices, *comparison.remarks, *comparison.stopped]
    return Report(title, f"{story_of(by_policy)}.", _asked(comparison), sections, notes)


def _asked(comparison: Comparison) -> list[tuple[str, str]]:
    workload, longest = comparison.workload, max(run.slots for run in comparison.all_runs)
    clock = clock_for(longest, workload.shown_slot)
    arrivals = f"{number(workload.rate)} tasks per slot, intensity {workload.intensity:.3f}"
    return [
        ("Workload", workload.name),
        ("Arrivals", arrivals if comparison.backlog is None else f"{comparison.backlog:,} tasks are kept waiting"),
        ("Servers", f"{len(workload.servers):,}"),
        ("Length", f"{number(longest / clock.slots)} {clock.unit}"),
        ("Seeds", ", ".join(map(str, dict.fromkeys(run.seed for run in comparison.all_runs)))),
        ("Policies", ", ".join(comparison.results)),
    ]


def _schedules(runs: Sequence[Result], workload: Workload) -> Image:
    """The schedules of these runs: which task ran where and when."""
    names = listed([run.policy for run in runs])
    finding = f"Each server's tasks over time under {names}, as high as what they need; above them the number of waiting tasks."
    return Image("Who ran where and when", finding, schedule_chart(runs, workload)._repr_png_())
