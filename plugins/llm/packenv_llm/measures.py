"""Measures of a run: one row each, for all outputs."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from packenv_llm.engine import LOG_STEP, SHORTEST_GAP
from packenv_llm.simulation import WARMUP, Run


class Measure(NamedTuple):
    """A measure. `less`: less is better (None: no direction)."""

    key: str
    heading: str
    unit: str
    less: bool | None
    value: Callable[[Run], float]
    meaning: str


def counted(run: Run) -> slice:
    """Return the measured requests: all but the first tenth."""
    return slice(int(len(run.requests) * WARMUP), None)


def first_token(run: Run) -> NDArray[np.float64]:
    times: NDArray[np.float64] = (run.first - run.requests.arrival)[counted(run)]
    return times


def end_to_end(run: Run) -> NDArray[np.float64]:
    times: NDArray[np.float64] = (run.last - run.requests.arrival)[counted(run)]
    return times


def per_token(run: Run) -> NDArray[np.float64]:
    """Return seconds per token after the first (0 if none)."""
    outputs = run.requests.output[counted(run)]
    times: NDArray[np.float64] = (end_to_end(run) - first_token(run)) / np.maximum(outputs - 1, 1)
    return times


def gap_quantile(run: Run, share: float) -> float:
    """Return a quantile of times between tokens, within 1 %."""
    total = int(run.gaps.sum())
    if total == 0:
        return 0.0
    place = int(np.searchsorted(np.cumsum(run.gaps), share * total))
    return SHORTEST_GAP * math.exp((place + 0.5) * LOG_STEP)


def goodput(run: Run, slo: tuple[float, float]) -> float:
    """Share of the requests within both limits."""
    return float(((first_token(run) <= slo[0]) & (per_token(run) <= slo[1])).mean())


MEASURES = (
    Measure("ttft_mean", "TTFT", "s", True, lambda run: float(first_token(run).mean()), "Mean time to the first token"),
    Measure("ttft_p50", "TTFT p50", "s", True, lambda run: float(np.quantile(first_token(run), 0.5)), "Median of it"),
    Measure("ttft_p99", "TTFT p99", "s", True, lambda run: float(np.quantile(first_token(run), 0.99)), "99th percentile of it"),
    Measure("e2e_mean", "E2E", "s", True, lambda run: float(end_to_end(run).mean()), "Mean time to the last token"),
    Measure("e2e_p99", "E2E p99", "s", True, lambda run: float(np.quantile(end_to_end(run), 0.99)), "99th percentile of it"),
    Measure(
        "tpot_p99", "TPOT p99", "s", True, lambda run: float(np.quantile(per_token(run), 0.99)),
        "99th percentile, over requests, of the mean time per token after the first",
    ),
    Measure(
        "itl_p99", "ITL p99", "s", True, lambda run: gap_quantile(run, 0.99), "99th percentile, over tokens, of the gap"
    ),
    Measure(
        "silence_p99", "silence p99", "s", True, lambda run: float(np.quantile(run.silence[counted(run)], 0.99)),
        "99th percentile, over requests, of the longest time between two tokens",
    ),
    Measure(
        "tokens_per_second", "tokens/s", "tokens/s", False, lambda run: float(run.requests.output.sum()) / run.seconds,
        "Output tokens per second",
    ),
    Measure(
        "preemptions", "preempted", "per 1,000", True, lambda run: 1000 * float(run.preemptions.sum()) / len(run.requests),
        "Preemptions per 1,000 requests",
    ),
    Measure(
        "tax", "tax", "share", True,
        lambda run: run.wasted / (run.wasted + float(run.requests.prompt.sum() + run.requests.output.sum())),
        "Recompute tax: wasted tokens over wasted, prompt and output tokens",
    ),
    Measure(
        "memory", "memory", "share", None, lambda run: run.used / max(run.busy, 1e-12) / run.replica.usable,
        "Blocks in use, on average over the time of steps",
    ),
    Measure(
        "waiting", "waiting", "requests", True, lambda run: run.waiting / max(run.seconds, 1e-12),
        "Requests without a token in a step, on average over time",
    ),
)  # fmt: skip


def goodput_measures(slos: Sequence[tuple[float, float]]) -> list[Measure]:
    """Return a measure for each pair of limits."""
    measures = []
    for n, slo in enumerate(slos, 1):
        meaning = f"Share of requests with TTFT <= {slo[0]:g} s and TPOT <= {slo[1]:g} s"
        measures.append(Measure(f"goodput_{n}", f"goodput {n}", "share", False, partial(goodput, slo=slo), meaning))
    return measures


def values_of(run: Run, slos: Sequence[tuple[float, float]]) -> dict[str, Any]:
    """Return all measures of a run, by key."""
    return {measure.key: measure.value(run) for measure in (*MEASURES, *goodput_measures(slos))}
