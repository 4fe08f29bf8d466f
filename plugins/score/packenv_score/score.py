"""`packenv_score.score`: grade a candidate between the reference and the bound."""

from __future__ import annotations

import hashlib
import secrets
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import Executor
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Any, overload

from packenv import Workload
from packenv.extend import (
    UNSTABLE,
    ArgumentError,
    Geometric,
    InputError,
    Interval,
    Pieces,
    ThisProcess,
    Uniform,
    combine,
    counted,
    experimental,
    find_policy,
    local_executor,
    ratio_of_means,
    takes,
)
from packenv_score.candidate import Candidate, candidate_of
from packenv_score.options import ScoreOptions
from packenv_score.process import Sandboxed, close_all
from packenv_score.result import CaseScore, Score, Scores, artifacts_of
from packenv_score.runs import Carry, Play, Played, bound_of, carried, play
from packenv_score.scale import WORST, case_score, suite_score
from packenv_score.suite import Case, Suite, load_suite

LOADING, FIRST, WHOLE = 1, 2, 3
"""Stages: load and schedule toy clusters, a few paired runs, runs until the interval is narrow."""

FIRST_SEEDS = 4
FEWEST_SEEDS = 8
TOY_SLOTS, TOY_TASKS = 400, 100
STARVED = 0.5
"""Share of a run's slots. A longer wait is suspect if it is rare under the reference."""

ALONE = 0.25
"""Share of a run's slots with arrivals for a suspect. The run then goes on until all work is done."""

QUICK = 5e-4
"""Seconds per task. The supported share of ρ* is not measured for slower candidates."""

HOPELESS = -25.0
"""Scoring ends when the first interval lies below this."""


@overload
def score(candidate: list[Any], *, executor: Executor | None = None, **options: Any) -> Scores: ...
@overload
def score(candidate: Any, *, executor: Executor | None = None, **options: Any) -> Score: ...
@experimental
@takes(ScoreOptions)
def score(candidate: Any, *, options: ScoreOptions, executor: Executor | None = None) -> Score | Scores:
    """Score a policy: 0 is the reference, 100 the bound.

    candidate  a file with `def priority(task, server, cluster) -> float` or a class with `schedule(cluster, state)`
               (FILE.py:NAME selects one of several), or a policy name or object. A list gives `Scores`, on the same jobs
    options    fields of ScoreOptions
    executor   runs the simulations, as in `packenv.simulate_many`; None: processes of this machine, one per core

    No policy beats the bound. A file is never imported here. A `priority` is compiled from its syntax tree. Other programs run
    in a confined process with only a scheduler's view, with every start checked. A fault of the candidate or its file is in
    `Score.fault`, and the score is then the worst, -100. Raises InputError for a missing file or an invalid suite.
    """
    suite = load_suite(options.suite)
    cases = suite.test if options.test else suite.train
    if not cases:
        raise InputError(f"suite {suite.name}: it has no workloads for a test")
    if not (options.time > 0 and options.width > 0):
        raise ArgumentError("`time` and `width` must be above 0")
    with ExitStack() as at_end:
        folder = at_end.enter_context(tempfile.TemporaryDirectory(prefix="packenv-score-", ignore_cleanup_errors=True))
        several = isinstance(candidate, list)
        chosen = [candidate_of(each, folder) for each in (candidate if several else [candidate])]
        place: Executor = executor or at_end.enter_context(local_executor(options.processes))
        at_end.callback(close_all)
        known = Known(secrets.token_bytes(16) if options.seed is None else str(options.seed).encode())
        scores = [Scoring(suite, cases, each, options, place, known).score() for each in chosen]
        return Scores(tuple(scores)) if several else scores[0]


@dataclass
class Known:
    """Data shared by all candidates: seed secret, bounds, reference runs."""

    secret: bytes
    bounds: dict[int, float] = field(default_factory=dict)
    references: dict[tuple[int, int], Played] = field(default_factory=dict)  # by case and seed


@dataclass
class Runs:
    """Runs of a case by seed, and a law's bound."""

    candidate: list[Played]
    reference: list[Played]
    bound: float | None = None

    def bounds(self) -> list[float]:
        return [self.bound if self.bound is not None else float(run.bound or 0.0) for run in self.reference]


class Scoring:
    """The stages of one score."""

    def __init__(
        self, suite: Suite, cases: Sequence[Case], candidate: Candidate, options: ScoreOptions, place: Executor, known: Known
    ) -> None:
        self.suite, self.cases, self.candidate, self.options = suite, cases, candidate, options
        self.reference = options.against or suite.reference
        find_policy(self.reference)
        if isinstance(candidate.policy, Sandboxed):
            candidate = replace(candidate, policy=replace(candidate.policy, seconds=max(20.0, options.time / 2)))
            self.candidate = candidate
        self.pieces = Pieces(place)
        self.began = time.monotonic()
        self.known = known
        self.runs = [Runs([], [], known.bounds.get(n)) for n in range(len(cases))]
        self.stage, self.seeds, self.fault = LOADING, 0, candidate.fault
        self.pace = 0.0  # seconds that the last runs took for each seed
        self.unconfined: tuple[str, ...] = ()
        self.shares: dict[int, float | None] = {}  # of ρ*, by case
        self.started_all: set[int] = set()  # cases in which a suspect was seen to start every task in the end

    def score(self) -> Score:
        """Score in stages until precise, out of time or faulty."""
        last = self.options.stages
        if not self.fault and self._legal() and last > LOADING and self._more(FIRST_SEEDS):
            high = self._total().high
            if last > FIRST and (high is None or high >= HOPELESS):
                self.stage = WHOLE
                while not self._enough() and self._more(self._next()):
                    pass
                self._carries()
        return self._result()

    def _legal(self) -> bool:
        """Stage 1: it loads, and schedules toy clusters."""
        # Cases of the same kind share one toy cluster.
        toys = list({each.title: each for each in map(toy, self.cases)}.values())
        plays = [Play(n, case, self.candidate.policy, self._seed("toy", n), case.slots) for n, case in enumerate(toys)]
        return self._take(plays, [], Pieces(ThisProcess())) is not None  # in this process: starting others takes a second

    def _more(self, seeds: int) -> bool:
        """Run `seeds` of every case. False: fault or no time."""
        if seeds < 1:
            return False
        self.stage = max(self.stage, FIRST)
        new, began = range(self.seeds, self.seeds + seeds), time.monotonic()
        plays, references = [], []
        for n, case in enumerate(self.cases):
            for k in new:
                seed = self._seed(case.title, k)
                plays.append(Play(n, case, self.candidate.policy, seed, case.slots))
                references.append(Play(n, case, self.reference, seed, case.slots, bounded=True))
        # Reference runs are shared by all candidates.
        lacking = [each for each in references if (each.number, each.seed) not in self.known.references]
        done = self._take(plays, lacking, self.pieces)
        if done is None:
            return False
        self.known.references |= {(each.number, each.seed): run for each, run in zip(lacking, done[len(plays) :], strict=True)}
        for mine, its, run in zip(plays, references, done[: len(plays)], strict=True):
            self.runs[mine.number].candidate.append(run)
            self.runs[mine.number].reference.append(self.known.references[its.number, its.seed])
        self.seeds += seeds
        self.pace = (time.monotonic() - began) / seeds
        self.fault = self._misbehaves()
        return not self.fault

    def _take(self, plays: Sequence[Play], references: Sequence[Play], pieces: Pieces) -> list[Played] | None:
        """Return the runs in order, None at the first fault."""
        # Bounds not known yet are computed in the same batch.
        unknown = [n for n, runs in enumerate(self.runs) if references and runs.bound is None and self.cases[n].slots is not None]
        items: list[Any] = [*(self.cases[n] for n in unknown), *plays, *references]
        values: dict[int, Any] = {}
        for outcome in pieces.each(work, items, kind_of):
            if outcome.error is not None:
                raise outcome.error
            values[outcome.number] = outcome.value
            if isinstance(outcome.value, Played):
                self.unconfined = self.unconfined or outcome.value.unconfined
                if outcome.value.fault is not None:
                    if outcome.number >= len(unknown) + len(plays):
                        raise InputError(f"the reference {self.reference}: {outcome.value.fault}")
                    self.fault = outcome.value.fault
                    return None
        for place, n in enumerate(unknown):
            if values[place] <= 0:
                raise InputError(f"{self.cases[n].title}: no bound above 0 is known, so nothing is 100 on its scale")
            self.runs[n].bound = self.known.bounds[n] = values[place]
        return [values[n] for n in range(len(unknown), len(items))]

    def _misbehaves(self) -> str:
        """Return the fault: unstable, starving (unlike the reference) or impossible."""
        for n, (case, runs) in enumerate(zip(self.cases, self.runs, strict=True)):
            if case.slots is not None:
                mine, its = (verdict_of(side) for side in (runs.candidate, runs.reference))
                if mine == UNSTABLE and its != UNSTABLE:
                    return f"{case.title}: unstable, where {self.reference} is {its}"
                # A task waiting this long is suspect, unless the reference has such waits too.
                limit = STARVED * case.slots
                starved = [run for run in runs.candidate if run.oldest > limit]
                as_long = [run for run in runs.reference if max(run.oldest, run.longest) > limit]
                if len(starved) > max(len(runs.candidate) / 2, 2 * len(as_long)):
                    if never := self._never_starts(n, max(starved, key=lambda run: run.oldest)):
                        return never
            elif any(run.stopped for run in runs.candidate):
                return f"{case.title}: {next(run.stopped for run in runs.candidate if run.stopped)}"
            # More than six standard errors above the bound is impossible without hidden knowledge.
            mean, variance = case_score(
                [run.value for run in runs.candidate], [run.value for run in runs.reference], runs.bounds()
            )
            if mean - 6 * variance**0.5 > 100:
                return f"{case.title}: {mean:.0f} of 100, better than any policy can be: it knows more than a scheduler"
        return ""

    def _never_starts(self, n: int, worst: Played) -> str:
        """Return a fault if some tasks never start (late is no fault), or ""."""
        if n not in self.started_all:
            case = self.cases[n]
            # Stop the arrivals and run on until all work is done.
            table = case.workload.tabulated(worst.seed, max(1, round(ALONE * (case.slots or 0))))
            (run,) = self.pieces.each(
                work, [Play(n, Case(case.title, table, None), self.candidate.policy, worst.seed, None)], kind_of
            )
            if run.error is not None:
                raise run.error
            if run.value.fault is not None:
                return f"{case.title}: never starts some tasks, when nothing else is left to be done: {run.value.fault}"
            self.started_all.add(n)
        return ""

    def _carries(self) -> None:
        """Measure the supported share of ρ*, for quick candidates only."""
        runs = [run for runs in self.runs for run in runs.candidate]
        if self.fault or sum(run.seconds for run in runs) > QUICK * sum(run.decisions for run in runs):
            return
        items = [
            Carry(n, case, self.candidate.policy, self._seed("carried", n), case.slots // 2)
            for n, case in enumerate(self.cases)
            if case.slots is not None
        ]
        for outcome in self.pieces.each(work, items, kind_of):
            if outcome.error is None:
                self.shares[items[outcome.number].number] = outcome.value

    def _total(self) -> Interval:
        if self.seeds == 0:
            return Interval(0.0, None, None)  # nothing is known against it
        cases = []
        for runs in self.runs:
            candidate, reference = ([run.value for run in part] for part in (runs.candidate, runs.reference))
            cases.append(case_score(candidate, reference, runs.bounds()))
        return suite_score(cases, self.seeds)

    def _enough(self) -> bool:
        total = self._total()
        known = total.high is not None and total.mean is not None and total.high - total.mean <= self.options.width
        return self.seeds >= FEWEST_SEEDS and known

    def _next(self) -> int:
        """Return the additional seeds: at most double, within the time."""
        left = self.options.time - (time.monotonic() - self.began)
        return min(self.seeds, int(left / self.pace))

    def _seed(self, *place: Any) -> int:
        """Return a seed for candidate and reference, unpredictable without `seed`."""
        digest = hashlib.sha256(self.known.secret + repr((self.suite.name, self.options.test, *place)).encode()).digest()
        return int.from_bytes(digest[:8], "big") >> 2

    def _result(self) -> Score:
        measured = [runs for runs in self.runs if runs.candidate]
        cases = tuple(
            self._case_result(case, runs, self.shares.get(n))
            for n, (case, runs) in enumerate(zip(self.cases, self.runs, strict=True))
            if runs.candidate
        )
        total = Interval(WORST, WORST, WORST) if self.fault else self._total()
        decisions = [run for runs in self.runs for run in runs.candidate]
        started = sum(run.decisions for run in decisions)
        return Score(
            candidate=self.candidate.name,
            suite=self.suite.name,
            side="test" if self.options.test else "train",
            reference=self.reference,
            score=total,
            fault=self.fault or None,
            stage=self.stage,
            seeds=self.seeds,
            cases=cases,
            decision_seconds=sum(run.seconds for run in decisions) / started if started else None,
            lines=self.candidate.lines,
            nodes=self.candidate.nodes,
            seconds=time.monotonic() - self.began,
            artifacts=tuple(artifacts_of(self.fault, cases, [(run.candidate, run.reference) for run in measured])),
            unconfined=self.unconfined,
        )

    def _case_result(self, case: Case, runs: Runs, share: float | None) -> CaseScore:
        mine, its = [run.value for run in runs.candidate], [run.value for run in runs.reference]
        value, variance = case_score(mine, its, runs.bounds())
        return CaseScore(
            case=case.title,
            measure="mean queue" if case.slots is not None else "mean completion",
            candidate=sum(mine) / len(mine),
            reference=sum(its) / len(its),
            bound=sum(runs.bounds()) / len(mine),
            ratio=ratio_of_means(mine, its),
            score=suite_score([(value, variance)], self.seeds),
            verdict=verdict_of(runs.candidate) if case.slots is not None else None,
            supported=share,
        )


def verdict_of(runs: Sequence[Played]) -> str:
    """Return the verdict on a stream's runs. Stopped means unstable."""
    if any(run.stopped for run in runs):
        return UNSTABLE
    return combine(run.verdict for run in runs if run.verdict is not None).kind


def work(item: Any) -> Any:
    """Run one item in the executor's process."""
    if isinstance(item, Case):
        return bound_of(item)
    return carried(item) if isinstance(item, Carry) else play(item)


def kind_of(item: Any) -> tuple[Any, ...]:
    """Return a key for items of similar duration."""
    return (item.title,) if isinstance(item, Case) else (type(item).__name__, item.number, type(item.policy).__name__, item.slots)


def toy(case: Case) -> Case:
    """Return two half-busy small servers, or a table's first tasks."""
    workload = case.workload
    if workload.jobs is not None:
        first = workload.jobs.first(min(TOY_TASKS, len(workload.jobs)))
        return Case(f"toy of {case.title}", workload.with_(jobs=first), None)
    sizes = Uniform(0.1, 0.9) if workload.D == 1 else (Uniform(0.1, 0.9),) * workload.D
    servers, name = "2x" + ":".join(["1"] * workload.D), f"toy of {counted(workload.D, 'resource')}"
    return Case(name, Workload(sizes=sizes, service=Geometric(5), servers=servers, intensity=0.5, name=name), TOY_SLOTS)
