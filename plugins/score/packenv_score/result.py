"""`Score`: a candidate's score with its interval, cases and hints."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from packenv.extend import Column, Interval, Showable, Table, counted, estimate, number, numbers
from packenv_score.runs import Played


class CaseScore(NamedTuple):
    """A case: means over seeds, queue (tasks) or completion (slots)."""

    case: str
    measure: str
    candidate: float
    reference: float
    bound: float
    ratio: Interval  # candidate / reference
    score: Interval
    verdict: str | None  # of random tasks
    supported: float | None = None  # of random tasks: the share of ρ* that it carries, once stage 3 is over


INTERVALS = ("ratio", "score")  # of a case
CASE_KEYS = (
    *(key for key in CaseScore._fields if key not in INTERVALS),
    *(f"{key}{end}" for key in INTERVALS for end in ("", "_low", "_high")),
)
CASE_COLUMNS = {
    "candidate": "value",
    "reference": "reference_value",
    "score": "case_score",
    "score_low": "case_score_low",
    "score_high": "case_score_high",
}
"""Names of a case's keys in rows that also have the candidate's own."""


@dataclass(frozen=True, repr=False)
class Score(Showable):
    """A candidate's score: 0 is the reference, 100 the certified bound.

    fault             the candidate's fault, in one line; the score is then the worst, -100
    stage             1: toy clusters; 2: a few paired runs; 3: runs until the interval is narrow enough or the time is over
    decision_seconds  seconds for each started task
    lines, nodes      size of its program: lines of code, nodes of the syntax tree
    artifacts         hints for the next attempt
    unconfined        limits that this system does not enforce on the candidate's process
    """

    candidate: str
    suite: str
    side: str  # train or test
    reference: str
    score: Interval
    fault: str | None
    stage: int
    seeds: int
    cases: tuple[CaseScore, ...]
    decision_seconds: float | None
    lines: int | None
    nodes: int | None
    seconds: float
    artifacts: tuple[str, ...]
    unconfined: tuple[str, ...]

    @property
    def value(self) -> float:
        assert self.score.mean is not None
        return self.score.mean

    @property
    def correct(self) -> bool:
        """Whether the candidate has no fault."""
        return self.fault is None

    @property
    def half(self) -> float | None:
        """Half of the width of the 95 % interval."""
        return None if self.score.high is None or self.score.mean is None else self.score.high - self.score.mean

    @property
    def title(self) -> str:
        return f"Score of {self.candidate} on {self.suite} ({self.side}), {counted(self.seeds, 'seed')}: {self.in_short()}"

    def in_short(self) -> str:
        """`27.9 ± 1.8 of 100`, or the fault."""
        return f"{number(self.value)}: {self.fault}" if self.fault else f"{estimate(self.value, self.half)} of 100"

    def facts(self) -> list[tuple[str, str]]:
        facts = [("score", self.in_short()), *((case.case, f"{case.ratio} times {self.reference}") for case in self.cases)]
        return facts + [("next", line) for line in self.artifacts] + [("time", self.pace())]

    def pace(self) -> str:
        """Return the time for each task and in total."""
        each = "" if self.decision_seconds is None else f"{1e6 * self.decision_seconds:.3g} µs for each task, "
        return f"{each}{self.seconds:.0f} s in all"

    def tables(self) -> list[Table]:
        """Return a row for each case: reference, candidate, bound, score."""
        if not self.cases:
            return []
        columns = [
            Column("workload"),
            *numbers(self.reference, "candidate", "bound", "ratio", "score", "supported"),
            Column("verdict"),
        ]
        table = Table(self.title, columns, spare=("verdict", "supported", "bound"))
        known = any(case.supported is not None for case in self.cases)
        for case in self.cases:
            half = None if case.score.high is None or case.score.mean is None else case.score.high - case.score.mean
            low = case.ratio.low
            ratio = estimate(case.ratio.mean, None if low is None or case.ratio.mean is None else case.ratio.mean - low)
            style = "red" if case.verdict == "unstable" else ""
            table.add(
                case.case, number(case.reference), number(case.candidate), number(case.bound), ratio,
                estimate(case.score.mean, half), "–" if case.supported is None else f"{case.supported:.2f}",
                case.verdict or "–", style=style,
            )  # fmt: skip
        return [table if known else table.without(["supported"])]

    def footnotes(self) -> list[str]:
        """Return the legend, hints, and limits not enforced."""
        legend = (
            ["mean queue in tasks, of tables mean completion in slots; 0 is the reference, 100 the bound"] if self.cases else []
        )
        if not self.cases and self.correct:
            legend = [f"{self.candidate} schedules the toy clusters without a fault; `stages` 2 and 3 score it"]
        lines = legend + [line for line in self.artifacts if self.fault is None or self.fault not in line]
        if any(case.supported is not None for case in self.cases):
            lines.append("supported: the share of ρ* that it carries while 200 tasks always wait, in one run")
        return lines + [f"not enforced here: {line}" for line in self.unconfined]

    @property
    def records(self) -> list[dict[str, Any]]:
        """A row for each case. `score` belongs to the suite."""
        whole = self.to_dict()
        candidate = {key: value for key, value in whole.items() if key not in ("cases", "artifacts", "unconfined")}
        return [candidate | {CASE_COLUMNS.get(key, key): case.get(key) for key in CASE_KEYS} for case in whole["cases"] or [{}]]

    @property
    def plain(self) -> list[dict[str, Any]]:
        """A record for each candidate: this one."""
        return [self.to_dict()]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON, `score`, `low` and `high` first."""
        plain: dict[str, Any] = {
            "candidate": self.candidate,
            "score": self.score.mean if self.cases or self.fault else None,  # None: nothing was scored yet
            "low": self.score.low,
            "high": self.score.high,
        }
        plain |= {
            "correct": self.correct,
            "fault": self.fault,
            "suite": self.suite,
            "side": self.side,
            "reference": self.reference,
        }
        plain |= {
            "stage": self.stage,
            "seeds": self.seeds,
            "cases": [plain_case(case) for case in self.cases],
            "decision_seconds": self.decision_seconds,
        }
        plain |= {"lines": self.lines, "nodes": self.nodes, "seconds": self.seconds}
        return plain | {"artifacts": [*self.artifacts], "unconfined": [*self.unconfined]}


@dataclass(frozen=True, repr=False)
class Scores(Showable):
    """Scores of candidates on the same jobs."""

    scores: tuple[Score, ...]

    def __iter__(self) -> Iterator[Score]:
        return iter(self.scores)

    @property
    def ranked(self) -> list[Score]:
        return sorted(self.scores, key=lambda score: -score.value)

    @property
    def title(self) -> str:
        first = self.scores[0]
        return f"Scores on {first.suite} ({first.side}): 0 is {first.reference}, 100 the bound"

    def facts(self) -> list[tuple[str, str]]:
        return [(score.candidate, score.in_short()) for score in self.ranked]

    def tables(self) -> list[Table]:
        """Return a row for each candidate, best first."""
        table = Table(self.title, [Column("candidate"), *numbers("score", "seeds", "lines")])
        for score in self.ranked:
            shown = number(score.value) if score.fault else estimate(score.value, score.half)
            lines = "–" if score.lines is None else str(score.lines)
            table.add(score.candidate, shown, str(score.seeds), lines, style="red" if score.fault else "")
        return [table]

    def footnotes(self) -> list[str]:
        """Return the faults of candidates."""
        return [f"{score.candidate}: {score.fault}" for score in self.ranked if score.fault]

    @property
    def records(self) -> list[dict[str, Any]]:
        """The rows of each candidate, the best first."""
        return [row for score in self.ranked for row in score.records]

    @property
    def plain(self) -> list[dict[str, Any]]:
        """A record for each candidate, the best first."""
        return [score.to_dict() for score in self.ranked]

    def to_dict(self) -> dict[str, Any]:
        return {"scores": self.plain}


def plain_case(case: CaseScore) -> dict[str, Any]:
    """Return a case in plain values, intervals as three numbers."""
    plain = {key: value for key, value in case._asdict().items() if not isinstance(value, Interval)}
    for key in INTERVALS:
        interval: Interval = getattr(case, key)
        plain |= {key: interval.mean, f"{key}_low": interval.low, f"{key}_high": interval.high}
    return plain


Runs = Sequence[Played]

MOST = 6  # lines
NOTABLE = 0.05  # share of the mean queue: smaller differences are not reported


def artifacts_of(fault: str, cases: Sequence[CaseScore], runs: Sequence[tuple[Runs, Runs]]) -> list[str]:
    """Describe the fault and large differences by size, worst first.

    runs  for each case: runs of the candidate, runs of the reference
    """
    lines = [f"fault: {fault}"] if fault else []
    worst_first = sorted(zip(cases, runs, strict=True), key=lambda pair: pair[0].score.mean or 0.0)
    for case, (mine, its) in worst_first[: max(1, MOST - len(lines))]:
        lines += _of_case(case.case, mine, its)
    return lines[:MOST]


def _of_case(title: str, mine: Runs, its: Runs) -> list[str]:
    """Describe the size classes with the largest loss and gain."""
    usual = max(Counter(len(run.classes) for run in mine).items(), key=lambda item: item[1], default=(0, 0))[0]
    # Compare only runs with the usual number of size classes.
    pairs = [(a, b) for a, b in zip(mine, its, strict=True) if len(a.classes) == len(b.classes) == usual > 1]
    if not pairs:
        return []
    queues = np.array([[[c.queue for c in run.classes] for run in pair] for pair in pairs])  # (seeds, 2, classes)
    waits = np.array([[[c.wait for c in run.classes] for run in pair] for pair in pairs]).mean(axis=0)
    change = (queues[:, 0] - queues[:, 1]).mean(axis=0)
    whole = max(float(queues[:, 1].sum(axis=1).mean()), 1e-9)
    lines = []
    for k, word in ((int(np.argmax(change)), "longer"), (int(np.argmin(change)), "shorter")):
        if (change[k] > 0) == (word == "longer") and abs(change[k]) > NOTABLE * whole:
            sizes = pairs[0][0].classes[k]
            low, high = f"{sizes.low:.2g}", f"{sizes.high:.2g}"
            who = f"size {low} waits" if low == high else f"sizes {low} to {high} wait"
            lines.append(
                f"{title}: {who} {word}, {number(waits[0][k])} slots, not {number(waits[1][k])}: "
                f"{change[k]:+.2g} tasks in the queue"
            )
    waiting = float(np.mean([run.classes[-1].queue for run in mine]))
    if waiting > 0.5 and len(lines) < 2:
        idle, largest = 1 - float(np.mean([run.utilisation for run in mine])), pairs[0][0].classes[-1].low
        lines.append(f"{title}: {idle:.0%} of the room is idle while {waiting:.2g} tasks of size {largest:.2g} and more wait")
    return lines
