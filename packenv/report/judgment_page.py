"""The page of `packenv judge`: supported fractions of ρ* beside ½ and ⅔, and the verdicts behind them."""

from __future__ import annotations

from collections.abc import Sequence

from packenv.report.charts import Entry, RowChart, Rule
from packenv.report.judgment_tables import evidence_table, judgments_table
from packenv.report.page import Figure, Report, Section
from packenv.report.pictures import Picture, picture_of
from packenv.report.plot_style import colours_for
from packenv.report.workload_charts import profile_section
from packenv.runs.text import listed, number
from packenv.theory.stability.judge import BROKEN, HELD, Judgment, Judgments

GUARANTEES = (Rule(1 / 2, "½"), Rule(2 / 3, "⅔"), Rule(1.0, "ρ*"))


def judgment_page(judgments: Judgments, seeds: int) -> Report:
    """`seeds`: runs at each load."""
    names = list(dict.fromkeys(judgment.workload for judgment in judgments))
    table = judgments_table(judgments.judgments)
    longer = "Each load was tried with runs that got longer until it was decided."
    sections = [
        Section("What is supported", _supported(judgments.judgments), tables=[table]),
        Section("The verdicts behind it", notes=[longer], tables=[*map(evidence_table, judgments)]),
    ]
    played = {case.workload: case.played for case in judgments if case.played is not None and case.played.jobs is not None}
    profiles = [profile_section(workload.at(0)) for workload in played.values()]
    policies = list(dict.fromkeys(judgment.policy for judgment in judgments))
    settings = [
        ("Workloads", ", ".join(names)),
        ("Policies", ", ".join(policies)),
        ("Runs at each load", f"{seeds:,}"),
        ("The most that is supportable, ρ*", "; ".join(dict.fromkeys(_most(judgment, len(names)) for judgment in judgments))),
    ]
    title = f"What {listed(policies) if len(policies) < 4 else f'{len(policies)} policies'} can carry"
    sections += [profile for profile in profiles if profile is not None]
    return Report(title, _answer(judgments.judgments), settings, sections, judgments.notices)


def judgment_chart(judgments: Sequence[Judgment]) -> Picture:
    """Supported fractions of ρ* beside ½ and ⅔: a bar for each judgment, pale where it is not decided."""
    return picture_of("", _supported(judgments))


def _most(judgment: Judgment, workloads: int) -> str:
    where = f"{judgment.workload}: " if workloads > 1 else ""
    ends = dict.fromkeys(number(end, 4) for end in judgment.rho)
    return f"{where}{' to '.join(ends)} tasks in service"


def _answer(judgments: Sequence[Judgment]) -> str:
    """The share that the best policy supports on each workload, and the guarantees that were broken."""
    sentences = []
    for name in dict.fromkeys(judgment.workload for judgment in judgments):
        best = max((judgment for judgment in judgments if judgment.workload == name), key=lambda judgment: judgment.low)
        sentences.append(f"{best.policy} supports {best.low:.3f} to {best.high:.3f} of ρ* on {name}")
    claims = [judgment for judgment in judgments if {judgment.half, judgment.two_thirds} & {HELD, BROKEN}]
    broken = [
        f"{judgment.policy} on {judgment.workload}" for judgment in claims if BROKEN in (judgment.half, judgment.two_thirds)
    ]
    if broken:
        sentences.append(f"the guarantee of {', '.join(broken)} is broken")
    elif claims:
        sentences.append("every guarantee that was decided holds")
    return f"{'; '.join(sentences)}."


def _supported(judgments: Sequence[Judgment]) -> list[Figure]:
    names = dict.fromkeys(judgment.workload for judgment in judgments)
    return [_figure(name, [judgment for judgment in judgments if judgment.workload == name]) for name in names]


def _figure(name: str, judgments: Sequence[Judgment]) -> Figure:
    entries = [
        Entry(judgment.policy, colour, judgment.low, judgment.high, text=f"{judgment.low:.3f} – {judgment.high:.3f}")
        for judgment, colour in zip(judgments, colours_for([judgment.policy for judgment in judgments]), strict=True)
    ]
    text = "; ".join(f"{entry.label} supports {entry.low:.3f} to {entry.high:.3f}" for entry in entries)
    chart = RowChart(entries, "supported fraction of ρ*", (0.0, 1.05), GUARANTEES, bars=True)
    return Figure(f"Supported fraction of ρ* on {name}", f"{text}. Pale: not decided.", chart)
