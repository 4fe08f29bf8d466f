"""`Judgment`: a policy's fraction of ρ*, its verdicts, and output."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from packenv.content.charts import ChartRow, Guide, RowChart, colours_for
from packenv.content.page import Charts, Figure, Page, Section
from packenv.content.showable import Showable
from packenv.content.tables import Column, Styled, Table, form, numbers, table_of
from packenv.content.text import about, listed, number
from packenv.options.verbs import JudgeOptions
from packenv.policy import find_policy
from packenv.results.stability import UNDECIDED, Verdict, longer
from packenv.theory.capacity.configuration_bounds import vqs_bound
from packenv.workloads.windows import Lasting
from packenv.workloads.workload import Workload

HELD, BROKEN, NOT_CLAIMED = "held", "broken", "not claimed"
GUARANTEES = (Guide(1 / 2, "½"), Guide(2 / 3, "⅔"), Guide(1.0, "ρ*"))
LEFT_OUT = ("guarantee",)
"""Columns that a narrow terminal does without, the first of them first."""

MEASURED = "slots", "seeds", "mean_queue"
"""Of the runs at a load."""

STATUS_COLOURS = {HELD: "green", BROKEN: "red", UNDECIDED: "yellow", NOT_CLAIMED: "dim"}


class Evidence(NamedTuple):
    """One load's verdict, from `seeds` runs of `slots` slots."""

    load: float
    verdict: Verdict
    slots: int
    seeds: int
    mean_queue: float


class Judged(Showable):
    """How judgments are shown: one, or several."""

    def _all(self) -> Sequence[Judgment]:
        raise NotImplementedError

    @property
    def title(self) -> str:
        return "Supported fractions of ρ*"

    def facts(self) -> list[tuple[str, str]]:
        return [(f"{case.policy} on {case.workload}", f"{case.low:.3f} to {case.high:.3f}") for case in self._all()]

    @property
    def records(self) -> list[dict[str, Any]]:
        """A record for each judgment, as in `packenv judge --json`."""
        return [judgment.record for judgment in self._all()]

    @property
    def notices(self) -> list[str]:
        """Ways to decide undecided loads."""
        return [notice for judgment in self._all() for notice in judgment.remarks]

    def tables(self) -> list[Table]:
        return [judgments_table(self._all())]

    def footnotes(self) -> list[str]:
        proofs = [
            f"{judgment.policy}: at least {judgment.proved:.3f} on {judgment.workload} is proved"
            for judgment in self._all()
            if judgment.proved
        ]
        return [*proofs, *(Styled(notice, "yellow") for notice in self.notices)]

    def charts(self) -> Charts:
        """Draw fractions of ρ* next to ½ and ⅔."""
        return Charts("", supported(self._all()))

    def to_frame(self, library: str = "arrow") -> Any:
        """Return a row per load, as Arrow, "pandas" or "polars"."""
        rows = []
        for case in self._all():
            of_case = {"workload": case.workload, "policy": case.policy, "low": case.low, "high": case.high}
            for trial in case.evidence:
                verdict = {"verdict": trial.verdict.kind, "confidence": trial.verdict.confidence}
                rows.append(of_case | {"load": trial.load} | verdict | {key: getattr(trial, key) for key in MEASURED})
        return form("frame_of_rows")(rows, library)

    def page(self) -> Page:
        """Return a page of fractions of ρ*, and verdicts."""
        cases = self._all()
        names, policies = (list(dict.fromkeys(getattr(case, key) for case in cases)) for key in ("workload", "policy"))
        longer_runs = "Each load was tried with runs that got longer until it was decided."
        sections = [
            Section("What is supported", supported(cases), tables=self.tables()),
            Section("The verdicts behind it", notes=[longer_runs], tables=[*map(evidence_table, cases)]),
        ]
        played = {case.workload: case.played for case in cases if case.played is not None}
        settings = [
            ("Workloads", ", ".join(names)),
            ("Policies", ", ".join(policies)),
            ("Runs at each load", f"{max(trial.seeds for case in cases for trial in case.evidence):,}"),
            ("The most that is supportable, ρ*", "; ".join(dict.fromkeys(_most(case, len(names)) for case in cases))),
        ]
        title = f"What {listed(policies) if len(policies) < 4 else f'{len(policies)} policies'} can carry"
        workloads = [workload.at(0) for workload in played.values()]
        bounds = list(dict.fromkeys(line for workload in workloads for line in workload.bound_caveats))
        return Page(title, _answer(cases), settings, sections, [*self.notices, *bounds], workloads)


def proved_share(workload: Workload, policy: str, rho: float) -> float | None:
    """Return VQS's proved share of ρ* (K_RED), or None outside the model."""
    if policy.split(":")[0] != "vqs" or workload.D > 1 or len(workload.servers.kinds) > 1:
        return None
    return vqs_bound(workload, getattr(find_policy(policy), "J", 0) or None) / rho


@dataclass(frozen=True, repr=False)
class Judgment(Judged):
    """Support of at least `low` of ρ*, less than `high`.

    rho               lower and upper bound on ρ*, in tasks in service
    claimed           the fraction of ρ* that the policy's guarantee claims; 0 without a guarantee
    half, two_thirds  whether that guarantee was held, broken, or undecided; not claimed if it is smaller than that
    evidence          the verdict on every load tried, in the order of the search
    played            the workload, at no load in particular

    Runs have these lengths and begin with an empty cluster. A queue that would only settle later counts as unstable.
    """

    policy: str
    workload: str
    low: float
    high: float
    rho: tuple[float, float]
    claimed: float
    half: str
    two_thirds: str
    evidence: tuple[Evidence, ...]
    played: Workload | None = field(default=None, compare=False)

    def _all(self) -> Sequence[Judgment]:
        return (self,)

    @property
    def needed(self) -> float | None:
        """Slots of a run that decides every load, or None if none is open or its queue is too short to tell."""
        return max((trial.slots * times for trial in self._open_loads if (times := longer(trial.verdict)) > 1), default=None)

    @property
    def _open_loads(self) -> list[Evidence]:
        return [trial for trial in self.evidence if trial.verdict.kind == UNDECIDED and self.low < trial.load < self.high]

    @property
    def needed_tasks(self) -> float | None:
        """Tasks of a deciding run, or None, also for tables."""
        if self.needed is None or self.played is None or self.played.jobs is not None:
            return None
        return self.needed * self.high * self.rho[1] / self.played.mean_service

    @property
    def proved(self) -> float | None:
        """The share of ρ* proved for VQS (K_RED), or None."""
        if self.played is None or not self.claimed:
            return None
        return proved_share(self.played, self.policy, self.rho[1])

    @property
    def remarks(self) -> list[str]:
        """The lines of `notices` on this judgment."""
        where, remarks = f"{self.policy} on {self.workload}", []
        if self._open_loads:
            length = "longer runs" if self.needed is None else f"runs of about {self.needed:.2g} slots"
            remarks.append(f"{where}: some loads stay undecided, {length} would decide")
            jobs = None if self.played is None else self.played.jobs
            if self.played is not None and isinstance(self.played.draw, Lasting):
                remarks[-1] += "; more --seeds may do it too"
            elif jobs is not None:
                remarks[-1] += f"; too short for that, the table has {int(jobs.arrival[-1]) + 1:.2g} at its own rate"
            elif self.needed_tasks is not None:
                fewest, seeds = JudgeOptions().seeds, max(tried.seeds for tried in self.evidence)
                remarks[-1] += f": --tasks {about(self.needed_tasks).replace(',', '')}"
                remarks[-1] += f", or faster, --seeds {fewest}" if seeds < fewest else ""
        return remarks

    @property
    def record(self) -> dict[str, Any]:
        """The judgment in plain values."""
        keys = ("policy", "workload", "low", "high", "rho", "claimed", "half", "two_thirds")
        record = {key: getattr(self, key) for key in keys} | {"rho": list(self.rho), "needed": self.needed, "proved": self.proved}
        parts = ("kind", "confidence", "drift", "level")
        verdicts = [{key: getattr(trial.verdict, key) for key in parts} for trial in self.evidence]
        evidence = [trial._asdict() | {"verdict": verdict} for trial, verdict in zip(self.evidence, verdicts, strict=True)]
        return record | {"evidence": evidence}

    def to_dict(self) -> dict[str, Any]:
        return self.record


@dataclass(frozen=True, repr=False)
class Judgments(Judged):
    """Judgments of several policies, or on several workloads."""

    judgments: tuple[Judgment, ...]

    def _all(self) -> Sequence[Judgment]:
        return self.judgments

    def __iter__(self) -> Iterator[Judgment]:
        return iter(self.judgments)

    def __len__(self) -> int:
        return len(self.judgments)

    def __getitem__(self, place: int) -> Judgment:
        return self.judgments[place]

    def to_dict(self) -> dict[str, Any]:
        return {"judgments": self.records}


def judgments_table(judgments: Sequence[Judgment]) -> Table:
    """A line for each judgment."""
    heads = numbers("supported", "≥ ½", "≥ ⅔", "guarantee")
    table = Table("fractions of ρ* that are supported", [Column("workload"), Column("policy"), *heads], spare=LEFT_OUT)
    above: Judgment | None = None
    for judgment in judgments:
        same = above is not None and above.played is judgment.played and above.workload == judgment.workload
        table.add(
            "" if same else judgment.workload,
            judgment.policy,
            f"{judgment.low:.3f} – {judgment.high:.3f}",
            *(Styled(status, STATUS_COLOURS[status]) for status in (judgment.half, judgment.two_thirds)),
            f"{judgment.claimed:.3f}" if judgment.claimed else "–",
        )
        above = judgment
    return table


def evidence_table(judgment: Judgment) -> Table:
    """A line for each load that was tried."""
    records = [
        {
            "load (share of ρ*)": trial.load,
            "verdict": str(trial.verdict),
            "seeds": trial.seeds,
            "slots": trial.slots,
            "mean queue": trial.mean_queue,
        }
        for trial in sorted(judgment.evidence, key=lambda trial: trial.load)
    ]
    return table_of(f"{judgment.policy} on {judgment.workload}", records)


def _most(judgment: Judgment, workloads: int) -> str:
    where = f"{judgment.workload}: " if workloads > 1 else ""
    ends = dict.fromkeys(number(end, 4) for end in judgment.rho)
    return f"{where}{' to '.join(ends)} tasks in service"


def _answer(judgments: Sequence[Judgment]) -> str:
    """Describe the best policy's share per workload, and broken guarantees."""
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


def supported(judgments: Sequence[Judgment]) -> list[Figure]:
    names = dict.fromkeys(judgment.workload for judgment in judgments)
    return [_figure(name, [judgment for judgment in judgments if judgment.workload == name]) for name in names]


def _figure(name: str, judgments: Sequence[Judgment]) -> Figure:
    entries = [
        ChartRow(judgment.policy, colour, judgment.low, judgment.high, text=f"{judgment.low:.3f} – {judgment.high:.3f}")
        for judgment, colour in zip(judgments, colours_for([judgment.policy for judgment in judgments]), strict=True)
    ]
    text = "; ".join(f"{entry.label} supports {entry.low:.3f} to {entry.high:.3f}" for entry in entries)
    chart = RowChart(entries, "supported fraction of ρ*", (0.0, 1.05), GUARANTEES, bars=True)
    return Figure(f"Supported fraction of ρ* on {name}", f"{text}. Pale: not decided.", chart)
