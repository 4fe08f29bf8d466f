"""`evaluate`, `judge` and `bound`: comparisons, stable shares, rate bounds."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from packenv.extend import (
    COLOURS,
    UNDECIDED,
    Answer,
    ArgumentError,
    ChartRow,
    Charts,
    Column,
    Figure,
    InputError,
    Interval,
    Line,
    LineChart,
    LoadSearch,
    Mark,
    Page,
    RowChart,
    RunOutcome,
    Section,
    Showable,
    Table,
    colours_for,
    combine,
    estimate,
    mean_and_half,
    number,
    numbers,
    ratio_of_means,
    takes,
)
from packenv.extend import Key as LegendKey
from packenv_llm.engine import PREEMPTED
from packenv_llm.measures import MEASURES, Measure, goodput_measures, values_of
from packenv_llm.options import DEFAULT_RULES, EvaluateOptions, JudgeOptions, ReplicaOptions
from packenv_llm.replica import Replica, block_steps, step_time
from packenv_llm.requests import Source, find_source
from packenv_llm.rules import Rule, find_rule
from packenv_llm.simulation import Run, simulate

SAMPLE, SAMPLE_SEED = 2**17, 2**31
"""Number and seed of the draws behind a random source's bound."""

GRID, GROWTH = 200, 4
FIRST_SERVICES = 500
"""Least length of a judged run, in services of a request: preemptions may start a queue late."""

GANTT_REQUESTS = 40
SPARE = ("TTFT p50", "ITL p99", "waiting", "tokens/s", "memory", "E2E p99", "TPOT p99", "silence p99", "goodput 1")
"""Columns that a narrow terminal leaves out, first ones first."""


def replica_of(options: ReplicaOptions) -> Replica:
    return Replica(options.blocks, options.spare, options.block, options.budget, options.sequences, step_time(options.time))


def source_of(requests: Any, options: ReplicaOptions) -> Source:
    return replace(find_source(requests), poisson=options.poisson, error=options.prediction_error)


class RateBound(NamedTuple):
    """The highest sustainable rate of requests, and its components.

    memory, tokens, places  steps that a request needs, by each limit
    seconds                 time of all its tokens, without the fixed part of steps
    """

    rate: float
    block_steps: float
    prompt: float
    output: float
    memory: float
    tokens: float
    places: float
    seconds: float


def rate_bound(source: Source, replica: Replica) -> RateBound:
    """Bound every rule's rate, from the steps of a request.

        λ <= 1 / (c₀ · n + seconds of tokens),   n = max(E[block-steps] / M, E[P + O - 1] / b, E[O] / K)

    c₀ is the fixed part of a step. A staircase costs at least level / quantum for each token.
    """
    requests = source.table if source.table is not None else source.draw(SAMPLE_SEED, SAMPLE)
    steps = float(block_steps(requests.prompt, requests.output, replica).mean())
    prompt, output = float(requests.prompt.mean()), float(requests.output.mean())
    time, tokens = replica.time, prompt + output - 1
    limits = steps / replica.usable, tokens / replica.tokens, output / replica.places
    seconds = time.prefill * prompt + time.decode * (output - 1) + time.level * tokens / time.quantum
    # With a cost above the quantum, more and shorter steps may be cheaper.
    numbers_of_steps = max(limits), max(*limits, tokens / time.quantum)
    least = seconds + min(time.fixed * n + time.above * max(0.0, tokens - time.quantum * n) for n in numbers_of_steps)
    return RateBound(1 / least if least > 0 else math.inf, steps, prompt, output, *limits, seconds)


class Bounds(Answer):
    """The bound of each source of requests on one replica."""

    def __init__(self, bounds: dict[str, RateBound], replica: Replica) -> None:
        self.bounds = bounds
        heads = numbers("rate", "prompt", "output", "block-steps", "memory", "budget", "places")
        table = Table("Most requests a second that any rule sustains", [Column("requests"), *heads])
        for name, bound in bounds.items():
            shares = [limit * replica.time.fixed * bound.rate for limit in (bound.memory, bound.tokens, bound.places)]
            texts = [number(value, 4) for value in (bound.rate, bound.prompt, bound.output, bound.block_steps)]
            table.add(name, *texts, *(f"{share:.1%}" for share in shares))
        note = "memory, budget, places: share of the time at the bound that the fixed part of steps takes by this limit alone"
        super().__init__([table], [note], [{"requests": name} | bound._asdict() for name, bound in bounds.items()])


@takes(ReplicaOptions)
def bound(requests: Sequence[Any], *, options: ReplicaOptions) -> Bounds:
    """Bound the rate that any rule sustains.

    requests  sources: names, lengths such as 1000+200, files, or tables
    options   the replica
    """
    replica = replica_of(options)
    sources = [source_of(text, options) for text in requests]
    return Bounds({source.name: rate_bound(source, replica) for source in sources}, replica)


@dataclass(frozen=True, repr=False)
class Comparison(Showable):
    """Runs of each rule on the same requests."""

    source: Source
    runs: dict[str, list[Run]]
    options: EvaluateOptions
    rate: float | None
    load: float | None

    @property
    def title(self) -> str:
        if self.options.closed:
            return f"{self.source.name}, {self.options.closed} clients"
        return f"{self.source.name} at {self.rate:.4g} requests/s, {self.load:.3g} of the bound"

    @cached_property
    def by_rule(self) -> dict[str, list[dict[str, Any]]]:
        """All measures, seed by seed."""
        return {rule: [values_of(run, self.options.slos) for run in runs] for rule, runs in self.runs.items()}

    def values(self, rule: str, key: str) -> list[float]:
        """Return a rule's measure, seed by seed."""
        return [values[key] for values in self.by_rule[rule]]

    def ratio(self, rule: str, other: str, key: str) -> Interval:
        """Return a measure's ratio, paired by seed (95 % interval)."""
        return ratio_of_means(self.values(rule, key), self.values(other, key))

    @property
    def measures(self) -> list[Measure]:
        all_measures = (*MEASURES, *goodput_measures(self.options.slos))
        return [measure for measure in all_measures if self.options.blocks or measure.key != "memory"]

    def verdict(self, rule: str) -> str:
        return "" if self.options.closed else combine(run.verdict for run in self.runs[rule]).kind

    def tables(self) -> list[Table]:
        first, *others = self.runs
        directed = [m for m in self.measures if m.less is not None]
        table = Table(self.title, [Column("rule"), Column("verdict"), *numbers(*(m.heading for m in self.measures))], spare=SPARE)
        for rule in self.runs:
            cells = [estimate(*mean_and_half(self.values(rule, m.key))) for m in self.measures]
            table.add(rule, self.verdict(rule), *cells)
        ratios = Table(f"Ratios to {first}", [Column("rule"), *numbers(*(m.heading for m in directed))], spare=SPARE)
        for rule in others:
            ratios.add(rule, *(str(self.ratio(rule, first, m.key)) for m in directed))
        return [table, ratios] if others else [table]

    def footnotes(self) -> list[str]:
        notes = [f"{m.heading}: {m.meaning}, in {m.unit}" for m in self.measures]
        knowing = [rule for rule, runs in self.runs.items() if runs[0].rule.knows_outputs]
        return notes + [f"{rule}: knows output lengths, which no server does" for rule in knowing]

    @property
    def records(self) -> list[dict[str, Any]]:
        head = {"requests": self.source.name, "rate": self.rate, "load": self.load}
        return [
            head | {"policy": rule, "seed": run.seed} | run.verdict.plain | values
            for rule, runs in self.runs.items()
            for run, values in zip(runs, self.by_rule[rule], strict=True)
        ]

    def to_dict(self) -> dict[str, Any]:
        return {"runs": self.records}

    def charts(self, what: str = "time") -> Charts:
        """Draw queue and memory, or request times with "schedule"."""
        if what == "schedule":
            return Charts(self.title, [self._gantt(rule, runs[0]) for rule, runs in self.runs.items()])
        figures = [self._over_time("waiting requests", 0, 1)]
        if self.options.blocks:
            figures.append(self._over_time("share of the blocks in use", 2, replica_of(self.options).usable))
        return Charts(self.title, figures)

    def _over_time(self, label: str, column: int, unit: int) -> Figure:
        lines = []
        for (rule, runs), colour in zip(self.runs.items(), colours_for([*self.runs]), strict=True):
            run = runs[0]
            last = min(max(math.ceil(run.seconds / run.width), 1), len(run.bins))
            times = (np.arange(last) + 0.5) * run.width
            lines.append(Line(rule, colour, times.tolist(), (run.bins[:last, column] / unit).tolist()))
        top = max(1e-9, *(max(line.y) for line in lines))
        return Figure(label, f"{label} over time, seed {self.options.seed}", LineChart(lines, "seconds", label, 1.05 * top))

    def _gantt(self, rule: str, run: Run) -> Figure:
        entries, shown = [], min(GANTT_REQUESTS, len(run.requests))
        preempted = run.log[run.log["kind"] == PREEMPTED]
        for i in range(shown):
            times = preempted["time"][preempted["request"] == i][:20]
            marks = [Mark(float(run.first[i])), *(Mark(float(time), "x") for time in times)]
            entries.append(ChartRow(str(i), COLOURS[0], float(run.requests.arrival[i]), float(run.last[i]), marks))
        end = max(float(run.last[:shown].max()), 1e-9)
        keys = (LegendKey(COLOURS[0], "first token", "o"), LegendKey(COLOURS[0], "preempted", "x"))
        finding = f"{rule}: from arrival to last token of the first {shown} requests"
        return Figure(rule, finding, RowChart(entries, "seconds", (0.0, end), marks=keys))

    def page(self) -> Page:
        measures = Section("Measures", notes=self.footnotes(), tables=self.tables())
        facts = [("requests", self.source.name), ("replica", str(replica_of(self.options))), ("seeds", str(self.options.seeds))]
        verdicts = ", ".join(f"{rule} is {self.verdict(rule)}" for rule in self.runs if self.verdict(rule))
        answer = verdicts or f"{len(self.runs)} rules, closed loop"
        return Page(self.title, answer, facts, [Section("Over time", self.charts().figures), measures])


@takes(EvaluateOptions)
def evaluate(
    requests: Any, policies: Sequence[str | Rule] = DEFAULT_RULES, *, options: EvaluateOptions, log: int = 0
) -> Comparison:
    """Run rules on the same requests, and compare them.

    requests  a name, lengths such as 1000+200, a file, or a table
    policies  rules: names, texts such as "vllm:watermark=0.02", files, or objects
    options   the replica and the runs
    log       entries of the log of the first seed's runs, for the picture of the schedule

    Raises InputError for requests that can never run, and for rules that admit nobody.
    """
    source, replica = source_of(requests, options), replica_of(options)
    rules = [find_rule(text) for text in dict.fromkeys(policies)]
    limit = rate_bound(source, replica).rate
    rate = options.rate if options.rate is not None else (options.load or 0.9) * limit
    load = rate / limit
    runs: dict[str, list[Run]] = {rule.name: [] for rule in rules}
    for seed in range(options.seed, options.seed + options.seeds):
        table = source.draw(seed, options.count, 1.0 if options.closed else rate)
        # Every rule sees the same requests.
        for rule in rules:
            logged = log if seed == options.seed else 0
            runs[rule.name].append(simulate(table, replica, rule, seed, options.closed or 0, True, load, logged))
    return Comparison(source, runs, options, *((None, None) if options.closed else (rate, load)))


class Judgment(NamedTuple):
    """A stable share of the bound: `low` to below `high`.

    rate    the bound, in requests a second
    trials  loads, their verdicts and runs
    """

    requests: str
    policy: str
    low: float
    high: float
    rate: float
    trials: list[dict[str, Any]]


class Judgments(Answer):
    """Judgments of rules on sources of requests."""

    def __init__(self, judgments: Sequence[Judgment]) -> None:
        self.judgments, notes = judgments, []
        columns = [Column("requests"), Column("rule"), *numbers("at least", "below", "requests/s", "bound")]
        table = Table("Share of the bound that rules keep stable", columns)
        for case in judgments:
            cells = f"{case.low:.3f}", f"{case.high:.3f}", number(case.low * case.rate, 4), number(case.rate, 4)
            table.add(case.requests, case.policy, *cells)
            undecided = [trial["load"] for trial in case.trials if trial["verdict"] == UNDECIDED]
            doubtful = [load for load in undecided if case.low < load < case.high]
            if doubtful:
                loads = f"undecided at {min(doubtful):.3f} to {max(doubtful):.3f}"
                notes.append(f"{case.policy} on {case.requests}: {loads}; a larger --count decides")
        super().__init__([table], notes, [case._asdict() for case in judgments], draw=self._charts, write=self._page)

    def _charts(self) -> Charts:
        """Draw a bar for each judgment, from `low` to `high`."""
        return Charts("", share_figures((case.requests, case.policy, case.low, case.high) for case in self.judgments))

    def _page(self) -> Page:
        return Page(self.title, "", [], [Section("Shares", self._charts().figures, tables=self.tables())], self.footnotes())


def share_figures(rows: Iterable[tuple[str, str, float, float]]) -> list[Figure]:
    """Return a chart for each heading of the rows."""
    by_heading: dict[str, list[ChartRow]] = {}
    colours: dict[str, Any] = {}
    for heading, rule, low, high in rows:
        colour = colours.setdefault(rule, COLOURS[len(colours) % len(COLOURS)])
        by_heading.setdefault(heading, []).append(ChartRow(rule, colour, low, high, text=f"{low:.3f} to {high:.3f}"))
    charts = {heading: RowChart(entries, "share of the bound", (0.0, 1.0), bars=True) for heading, entries in by_heading.items()}
    finding = "the share of the bound that each rule keeps stable"
    return [Figure(heading, f"{heading}: {finding}", chart) for heading, chart in charts.items()]


class LoadRun(NamedTuple):
    """A planned run, with `slots` requests."""

    load: float
    slots: int
    seed: int


@takes(JudgeOptions)
def judge(requests: Sequence[Any], policies: Sequence[str | Rule] = DEFAULT_RULES, *, options: JudgeOptions) -> Judgments:
    """Find each rule's stable share of the bound, by source.

    requests  names, lengths, files or tables
    policies  rules
    options   the replica and the search: a bisection over loads, as in `packenv judge`
    """
    if not 0 < options.width < 1:
        raise ArgumentError(f"`width` is between 0 and 1, not {options.width}")
    replica = replica_of(options)
    sources = [source_of(text, options) for text in requests]
    rules = [find_rule(text) for text in dict.fromkeys(policies)]
    return Judgments([_judgment(source, rule, replica, options) for source in sources for rule in rules])


def _judgment(source: Source, rule: Rule, replica: Replica, options: JudgeOptions) -> Judgment:
    bound = rate_bound(source, replica)
    limit, services = bound.rate, bound.output / max(bound.memory, bound.tokens, bound.places)  # at the same time, at the bound
    if not math.isfinite(limit):
        raise InputError(f"{source.name}: no rate is too high for this replica")
    least = math.ceil(FIRST_SERVICES * services)
    lengths = [max(options.count, least)]
    while lengths[0] >= 2 * least:
        lengths.insert(0, max(lengths[0] // GROWTH, least))

    def plan(load: float) -> Iterator[list[Any]]:
        return ([LoadRun(load, length, seed) for seed in range(options.seeds)] for length in lengths)

    def outcome(planned: LoadRun) -> RunOutcome:
        table = source.draw(planned.seed, planned.slots, planned.load * limit)
        run = simulate(table, replica, rule, planned.seed, drain=False, intensity=planned.load)
        return RunOutcome(run.verdict, run.waiting / run.seconds)

    # Bisect over loads, with longer runs for undecided ones.
    search = LoadSearch(plan, lambda runs: [outcome(planned) for planned in runs], lambda *_: None)  # type: ignore[arg-type]
    low, high = search.interval(max(1, round(options.width * GRID)))
    trials = [
        {"load": e.load} | e.verdict.plain | {"requests": e.slots, "seeds": e.seeds, "waiting": e.mean_queue}
        for e in search.evidence
    ]
    return Judgment(source.name, rule.name, low / GRID, high / GRID, limit, trials)
