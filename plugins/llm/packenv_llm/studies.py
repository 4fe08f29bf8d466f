"""Published claims, repeated by `packenv llm reproduce`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from packenv.extend import Answer, Charts, Column, InputError, Table, library_needed, nearest, number, numbers, ratio_of_means
from packenv_llm.measures import values_of
from packenv_llm.options import SLOS, EvaluateOptions, JudgeOptions
from packenv_llm.replica import STEP_TIMES, Replica, StepTime
from packenv_llm.requests import Requests, Source, find_source
from packenv_llm.rules import find_rule
from packenv_llm.simulation import Run, simulate
from packenv_llm.verbs import evaluate, judge, share_figures

WATERMARKS = (0.0, 0.02, 0.05, 0.1, 0.15)
FIT_POINTS = {0.0: 11_582.0, 0.02: 12_134.0}
"""Output tokens a second of vLLM pull request 44594, by watermark: the two to which the step time is fitted."""

THEOREM = {"blocks": 0, "budget": 512, "sequences": 0, "time": "codellama"}
STEPS = ("vllm-44594", "unit", "fixed=0.012,prefill=5e-6,decode=2e-5")
"""Three step times: prompts cost much, nothing, and little while outputs cost something too."""

BUDGET = 16_384  # above the longest prompt of the traces, for rules of whole prompts
SHARED = (
    *("vllm", "vllm:watermark=0.02", "vllm:watermark=0.05", "vllm:victim=least", "vllm:victim=score", "vllm:victim=most"),
    *("vllm:order=prompt,rejoin=order", "vllm:order=aged,rate=500,rejoin=order", "short-first"),
    *("vllm-v0", "sglang", "trt-no-evict", "trt-max-utilization"),
)
COMPARED = (
    *("vllm:watermark=0.02", "vllm", "vllm:victim=least", "vllm:victim=least,watermark=0.02", "trt-max-utilization"),
    *("vllm:watermark=0.02,order=prompt,rejoin=order", "vllm:watermark=0.02,order=hrrn,rejoin=order"),
    *("vllm:watermark=0.02,order=aged,rate=500,rejoin=order", "sglang", "short-first"),
)
DECIDING = ("ttft_mean", "e2e_mean", "ttft_p99", "goodput_1", "goodput_2", "silence_p99", "tax")


def answer(
    title: str, heads: Sequence[str], rows: Sequence[Sequence[Any]], notes: Sequence[str] = (), draw: Any = None
) -> Answer:
    """Return a one-table result. The first column names rows."""
    table = Table(title, [Column(heads[0]), *numbers(*heads[1:])])
    for row in rows:
        table.add(*(text if isinstance(text, str) else number(text, 4) for text in row))
    return Answer([table], notes, [dict(zip(heads, row, strict=True)) for row in rows], draw=draw)


def vllm_44594(seeds: int, traces: str | None) -> Answer:
    """vLLM pull request 44594: preemptions and throughput by watermark, 128 clients, 450 requests"""
    source, replica = find_source("llm/random-1000-5000"), Replica(18_724)
    rows, work = [], {}
    for watermark in WATERMARKS:
        rule = find_rule(f"vllm:watermark={watermark}")
        runs = [simulate(source.draw(seed, 450), replica, rule, seed, closed=128) for seed in range(seeds)]
        counts = [int(run.preemptions.sum()) for run in runs]
        prompts = np.mean([run.requests.prompt.sum() + run.wasted for run in runs])
        work[watermark] = np.mean([run.steps for run in runs]), prompts, np.mean([run.requests.output.sum() for run in runs])
        rows.append([f"{watermark:.0%}", np.mean(counts), np.std(counts, ddof=1)])
    left = [[work[watermark][0], work[watermark][1]] for watermark in FIT_POINTS]
    fixed, prefill = np.linalg.solve(left, [work[watermark][2] / speed for watermark, speed in FIT_POINTS.items()])
    for row, watermark in zip(rows, WATERMARKS, strict=True):
        steps, prompts, outputs = work[watermark]
        row.append(outputs / (fixed * steps + prefill * prompts))
    note = f"step time fitted to the first two throughputs: {1000 * fixed:.3g} ms + {1e6 * prefill:.3g} µs a prompt token"
    return answer("vLLM pull request 44594", ["watermark", "preemptions", "deviation", "output tokens/s"], rows, [note])


def theorem(seeds: int, traces: str | None) -> Answer:
    """Dai, Deng, Li, Peng: work-conserving rules reach the bound, two others do not"""
    rules = ("sarathi", "orca", "vllm-v0", "fastertransformer")
    # The other two are unstable late: their runs are longer.
    shares = {"seeds": seeds, "width": 0.02} | THEOREM
    cases = [*judge(["llm/theorem"], rules[:2], count=256_000, **shares).judgments]
    cases += judge(["llm/theorem"], rules[2:], count=1_024_000, **shares).judgments
    runs = {"seed": 100, "seeds": seeds, "count": 256_000} | THEOREM
    loads = {load: evaluate("llm/theorem", rules[:2], load=load, **runs) for load in (0.9, 0.98, 1.02)}
    kinds = {case.policy: [each.verdict(case.policy) for each in loads.values()] for case in cases[:2]}
    rows = [[case.policy, case.low, case.high, *kinds.get(case.policy, [""] * 3)] for case in cases]
    time, batch = STEP_TIMES["codellama"], 512 // 129
    closed = batch / (time.seconds(129 * batch, 0) + 112 * time.seconds(0, batch)) / cases[0].rate
    note = f"closed form for fastertransformer: {closed:.4f} of the bound, {cases[0].rate:.2f} requests/s"
    return answer("129 + 112 tokens, budget 512", ["rule", "at least", "below", *(f"at {load}" for load in loads)], rows, [note])


def in_system(run: Run, until: float) -> tuple[float, int]:
    """Return the mean and most requests in the system."""
    ends = np.sort(np.minimum(np.nan_to_num(run.last, nan=until), until))
    arrivals = run.requests.arrival
    there = np.arange(1, len(arrivals) + 1) - np.searchsorted(ends, arrivals, side="right")
    return float((ends - arrivals).sum() / until), int(there.max())


def regular(n: int) -> Requests:
    """Return n requests (290 + 990 tokens) every 467.5 ms."""
    times = np.arange(n, dtype=np.float64) * 0.4675
    return Requests(times, np.full(n, 290, np.int64), np.full(n, 991, np.int64))


def point_c(seeds: int, traces: str | None) -> Answer:
    """Dai et al., 6.2, point C: 290 + 990 tokens every 467.5 ms, at most 100 requests in a batch, 500 s"""
    n, until = 1069, 500.0
    requests, long = regular(n), regular(12 * n)
    settings = [("sarathi", 128), ("orca", 128), ("vllm-v0:chunked=yes", 128), ("fastertransformer:chunked=yes", 128)]
    rows = []
    for rule, budget in [*settings, ("sarathi", 1024), ("fastertransformer", 1024)]:
        replica = Replica(0, 1, 16, budget, 100, STEP_TIMES["codellama"])
        run = simulate(requests, replica, find_rule(rule), drain=False, intensity=0.99)
        longer = in_system(simulate(long, replica, find_rule(rule), drain=False), float(long.arrival[-1]))
        rows.append([f"{rule}, budget {budget}", *in_system(run, until), *longer])
    return answer("Point C", ["rule", "mean in system", "most", "mean in 6,000 s", "most in 6,000 s"], rows)


def mc_sf(seeds: int, traces: str | None) -> Answer:
    """Jaillet et al.: MC-SF against the least total latency, proved by CP-SAT, on small instances of both models"""
    rows = []
    for model, n in ((1, 7), (2, 6)):
        ratios, equal = [], 0
        for k in range(3 * seeds):
            requests, memory = round_instance(model, n, k)
            starts, others = rounds_of(requests, memory), rounds_of(requests, memory, False)
            equal += starts == engine_starts(requests, memory)
            best, proved = least_total(requests, memory)
            if proved:
                fixed = sum(r.output - r.arrival for r in requests)
                ratios.append([(sum(each) + fixed) / best for each in (starts, others)])
        mine, first = np.array(ratios).T
        counts = len(mine), mine.mean(), mine.max(), int((mine == 1).sum()), first.mean(), f"{equal} of {3 * seeds}"
        rows.append([f"model {model}, {n} requests", *counts])
    heads = ["instances", "proved", "mc-sf mean", "worst", "exact", "first come, first served", "equal to the formula"]
    return answer("MC-SF over the least total latency", heads, rows)


class RoundRequest(NamedTuple):
    """A request: size + j in round j, `output` rounds."""

    arrival: int
    size: int
    output: int


def least_total(requests: Sequence[RoundRequest], memory: int, seconds: float = 60.0) -> tuple[int, bool]:
    """Return the least Σ (end - arrival) and whether proved.

    CP-SAT solves it. A request's memory rises by one a round: a stack of intervals with the same end.
    """
    try:
        from ortools.sat.python import cp_model
    except ImportError as error:
        raise InputError(library_needed("the hindsight program", "sat", error)) from None
    model = cp_model.CpModel()
    horizon = max(r.arrival for r in requests) + sum(r.output for r in requests)
    intervals, demands, starts = [], [], []
    for r in requests:
        start = model.new_int_var(r.arrival, horizon - r.output, "")
        starts.append(start)
        for j in range(r.output):  # from round j on, one unit more. The first layer includes the prompt
            intervals.append(model.new_fixed_size_interval_var(start + j, r.output - j, ""))
            demands.append(r.size + 1 if j == 0 else 1)
    model.add_cumulative(intervals, demands, memory)
    model.minimize(sum(start + r.output - r.arrival for start, r in zip(starts, requests, strict=True)))
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds, solver.parameters.num_workers = seconds, 1
    status = solver.solve(model)
    return round(solver.objective_value), status == cp_model.OPTIMAL


def rounds_of(requests: Sequence[RoundRequest], memory: int, by_output: bool = True) -> list[int]:
    """Return starts under MC-SF (arXiv 2502.07115), or FCFS with the same look-ahead."""
    starts: dict[int, int] = {}
    now = 0
    while len(starts) < len(requests):
        active = [i for i, begin in starts.items() if begin + requests[i].output > now]
        waiting = [i for i, r in enumerate(requests) if i not in starts and r.arrival <= now]
        for i in sorted(waiting, key=lambda i: (requests[i].output if by_output else 0, i)):
            # Start the request only if memory suffices at every end.
            members = [(starts[k], requests[k]) for k in active] + [(now, requests[i])]
            ends = [begin + r.output for begin, r in members]
            if any(sum(r.size + end - begin for begin, r in members if begin + r.output >= end) > memory for end in ends):
                break
            starts[i] = now
            active.append(i)
        now += 1
    return [starts[i] for i in range(len(requests))]


def round_instance(model: int, n: int, k: int) -> tuple[list[RoundRequest], int]:
    """Draw n requests as in section 5.1 of arXiv 2502.07115."""
    g = np.random.default_rng([model, n, k])
    memory = int(g.integers(30, 51))
    arrivals = np.zeros(n, np.int64)
    if model == 2:
        arrivals = np.floor(np.cumsum(g.exponential(1 / g.uniform(0.5, 1.5), n))).astype(np.int64)
    sizes = g.integers(1, 6, n)
    outputs = [int(g.integers(1, memory - size + 1)) for size in sizes]
    return [RoundRequest(int(a), int(s), o) for a, s, o in zip(arrivals, sizes, outputs, strict=True)], memory


def engine_starts(requests: Sequence[RoundRequest], memory: int) -> list[int]:
    """Return the engine's `mc-sf-known` starts: one-token blocks, one-second steps."""
    columns = np.array(requests).T
    table = Requests(columns[0].astype(float), columns[1] + 1, columns[2])
    run = simulate(table, Replica(memory, 0, 1, 0, 0, StepTime()), find_rule("mc-sf-known"))
    return [round(float(time)) for time in run.first - 1]


def victims_54644(seeds: int, traces: str | None) -> Answer:
    """vLLM issue 54644: whom to preempt. 300 requests together, 279 + 280 tokens (lengths are not published)"""
    source, rows = find_source("279+280~0.9"), []
    for blocks in (2800, 1600, 800, 400):
        wasted = {}
        for victim in ("least", "tail", "random", "most"):
            runs = []
            for seed in range(seeds):
                table = source.draw(seed, 300)
                at_once = Requests(np.zeros(300), table.prompt, table.output, table.limit)
                runs.append(simulate(at_once, Replica(blocks), find_rule(f"vllm:victim={victim}"), seed))
            wasted[victim] = [float(run.wasted) for run in runs]
            if victim == "tail":
                tax = float(np.mean([values_of(run, SLOS)["tax"] for run in runs]))
        ratio = ratio_of_means(wasted["least"], wasted["tail"])
        rows.append([f"{blocks} blocks", *(float(np.mean(wasted[key])) for key in wasted), ratio.mean, tax])
    heads = ["memory", "least computed", "tail", "random", "most computed", "least / tail", "tax of tail"]
    return answer("Wasted tokens by victim", heads, rows)


def trt_16827(seeds: int, traces: str | None) -> Answer:
    """TensorRT-LLM issue 16827: 128 requests of 16,384 + 512 tokens, 32 clients, about 350,000 tokens of memory"""
    requests = Requests(np.zeros(128), np.full(128, 16_384), np.full(128, 512))
    rows = []
    for rule in ("trt-no-evict", "trt-max-utilization", "vllm:watermark=0.02"):
        run = simulate(requests, Replica(21_877), find_rule(rule), closed=32)
        values = values_of(run, SLOS)
        rows.append([rule, *(values[key] for key in ("tokens_per_second", "ttft_p50", "tpot_p99", "preemptions", "tax"))])
    return answer("TensorRT-LLM issue 16827", ["rule", "tokens/s", "TTFT p50", "TPOT p99", "preempted per 1,000", "tax"], rows)


def sources_of(traces: str | None) -> list[Source]:
    """Return the Azure services (or their traces) and long outputs."""
    files = [Path(traces or "") / "llm" / f"azure2023_{name}.parquet" for name in ("conv", "code")]
    names = [str(file) for file in files] if traces and all(map(Path.is_file, files)) else ["llm/conv-like", "llm/code-like"]
    return [find_source(name) for name in (*names, "llm/random-1000-5000")]


def shares(seeds: int, traces: str | None) -> Answer:
    """The share of the bound that rules keep stable on three workloads under three step times"""
    rows: list[Any] = []
    tables: list[Table] = []
    for source in sources_of(traces):
        count = 64_000 if source.name.endswith("5000") else 512_000
        cells = []
        for steps in STEPS:
            options = JudgeOptions(time=steps, budget=BUDGET, poisson=True, seeds=seeds, width=0.02, count=count)
            cells.append(judge([source], SHARED, options=options).judgments)
            rows += [[source.name, steps, *case[1:4]] for case in cells[-1]]
        tables.append(Table(f"Share of the bound, {source.name}", [Column("rule"), *numbers(*STEPS)]))
        for cases in zip(*cells, strict=True):
            tables[-1].add(cases[0].policy, *(f"{case.low:g} to {case.high:g}" for case in cases))

    def draw(*_: Any) -> Charts:
        return Charts("", share_figures((f"{row[0]}, {row[1]}", *row[2:]) for row in rows))

    heads = ["requests", "step time", "rule", "at least", "below"]
    return Answer(tables, [], [dict(zip(heads, row, strict=True)) for row in rows], draw=draw)


def compared(
    source: Source, load: float, rules: Sequence[str], seeds: int, steps: str = STEPS[0], count: int = 20_000, blocks: int = 7022
) -> list[list[Any]]:
    """Return ratios to the first rule, on fresh seeds."""
    count = count // 5 if source.name.endswith("5000") else count
    options = EvaluateOptions(blocks=blocks, budget=BUDGET, time=steps, load=load, count=count, seed=500, seeds=seeds)
    comparison = evaluate(source, rules, options=options)
    return [
        [source.name, f"{load:g}", rule, *(str(comparison.ratio(rule, rules[0], key)) for key in DECIDING)] for rule in rules[1:]
    ]


def matrix(seeds: int, traces: str | None) -> Answer:
    """Rules against `vllm` with a watermark of 2 %, at three loads, on fresh seeds and windows"""
    cells = [(source, load) for source in sources_of(traces) for load in (0.8, 0.9, 0.97)]
    rows = [row for cell in cells for row in compared(*cell, COMPARED, seeds, count=8_000)]
    return answer("Ratios to vllm:watermark=0.02", ["requests", "load", "rule", *DECIDING], rows)


def watermark(seeds: int, traces: str | None) -> Answer:
    """The watermark against victims: wasted tokens and times of each, relative to `vllm` as it is"""
    rules = ["vllm", *(f"vllm:victim={victim}" for victim in ("least", "score", "random", "most"))]
    rules += [f"vllm:watermark={share}" for share in (0.01, 0.02, 0.05, 0.1)]
    rules += [f"vllm:watermark=0.02,victim={victim}" for victim in ("least", "score")]
    rows = [row for source in sources_of(traces) for row in compared(source, 0.9, rules, seeds)]
    return answer("Ratios to vllm", ["requests", "load", "rule", *DECIDING], rows)


def rule(seeds: int, traces: str | None) -> Answer:
    """The rule that comes with packenv, against `vllm` with a watermark of 2 %, under three step times"""
    rules = [COMPARED[0], "short-first", *COMPARED[5:8]]
    settings: list[tuple[Source, dict[str, int]]] = [(source, {}) for source in sources_of(traces)]
    # Mooncake's requests took no part in the choice of the rule. Their prompts need a larger memory.
    unseen = Path(traces or "") / "llm" / "mooncake_conversation.parquet"
    if traces and unseen.is_file():
        settings.append((find_source(str(unseen)), {"count": 4_000, "blocks": 40_000}))
    rows = [
        [row[0], steps, *row[2:]]
        for source, sizes in settings
        for steps in STEPS
        for row in compared(source, 0.9, rules, seeds, steps, **sizes)
    ]
    return answer("Ratios to vllm:watermark=0.02 at 0.9", ["requests", "step time", "rule", *DECIDING], rows)


STUDIES = {
    "vllm-44594": vllm_44594,
    "theorem": theorem,
    "point-c": point_c,
    "mc-sf": mc_sf,
    "victims-54644": victims_54644,
    "trt-16827": trt_16827,
    "shares": shares,
    "matrix": matrix,
    "watermark": watermark,
    "rule": rule,
}


def reproduce(name: str | None, seeds: int, traces: str | None) -> Answer:
    """Run or list studies. Raises InputError for an unknown one."""
    if name is None:
        return answer("Studies", ["name", "what it repeats"], [[key, str(study.__doc__)] for key, study in STUDIES.items()])
    if name not in STUDIES:
        raise InputError(f"unknown study {name!r}{nearest(name, [*STUDIES])}")
    return STUDIES[name](seeds, traces)
