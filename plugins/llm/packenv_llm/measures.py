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

Floats = NDArray[np.float64]
Times = Callable[[Run], Floats]


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


def first_token(run: Run) -> Floats:
    return (run.first - run.requests.arrival)[counted(run)]


def end_to_end(run: Run) -> Floats:
    return (run.last - run.requests.arrival)[counted(run)]


def per_token(run: Run) -> Floats:
    """Return seconds per token after the first (0 if none)."""
    return (end_to_end(run) - first_token(run)) / np.maximum(run.requests.output[counted(run)] - 1, 1)


def gap_quantile(run: Run, share: float) -> float:
    """Return a quantile of times between tokens, within 1 %."""
    total = int(run.gaps.sum())
    place = int(np.searchsorted(np.cumsum(run.gaps), share * total))
    return SHORTEST_GAP * math.exp((place + 0.5) * LOG_STEP) if total else 0.0


def goodput(run: Run, slo: tuple[float, float]) -> float:
    """Share of the requests within both limits."""
    return float(((first_token(run) <= slo[0]) & (per_token(run) <= slo[1])).mean())


def mean(times: Times) -> Callable[[Run], float]:
    return lambda run: float(times(run).mean())


def p(share: int, times: Times) -> Callable[[Run], float]:
    return lambda run: float(np.quantile(times(run), share / 100))


def tax(run: Run) -> float:
    return run.wasted / (run.wasted + float(run.requests.prompt.sum() + run.requests.output.sum()))


MEASURES = (
    Measure("ttft_mean", "TTFT", "s", True, mean(first_token), "Mean time to the first token"),
    Measure("ttft_p50", "TTFT p50", "s", True, p(50, first_token), "Median of it"),
    Measure("ttft_p99", "TTFT p99", "s", True, p(99, first_token), "99th percentile of it"),
    Measure("e2e_mean", "E2E", "s", True, mean(end_to_end), "Mean time to the last token"),
    Measure("e2e_p99", "E2E p99", "s", True, p(99, end_to_end), "99th percentile of it"),
    Measure("tpot_p99", "TPOT p99", "s", True, p(99, per_token),
            "99th percentile, over requests, of the mean time per token after the first"),
    Measure("itl_p99", "ITL p99", "s", True, lambda run: gap_quantile(run, 0.99), "99th percentile, over tokens, of the gap"),
    Measure("silence_p99", "silence p99", "s", True, p(99, lambda run: run.silence[counted(run)]),
            "99th percentile, over requests, of the longest time between two tokens"),
    Measure("tokens_per_second", "tokens/s", "tokens/s", False, lambda run: float(run.requests.output.sum()) / run.seconds,
            "Output tokens per second"),
    Measure("preemptions", "preempted", "per 1,000", True, lambda run: 1000 * float(run.preemptions.mean()),
            "Preemptions per 1,000 requests"),
    Measure("tax", "tax", "share", True, tax, "Recompute tax: wasted tokens over wasted, prompt and output tokens"),
    Measure("memory", "memory", "share", None, lambda run: run.used / max(run.busy, 1e-12) / run.replica.usable,
            "Blocks in use, on average over the time of steps"),
    Measure("waiting", "waiting", "requests", True, lambda run: run.waiting / max(run.seconds, 1e-12),
            "Requests without a token in a step, on average over time"),
)  # fmt: skip


def goodput_measures(slos: Sequence[tuple[float, float]]) -> list[Measure]:
    """Return a measure for each pair of limits."""
    about = "Share of requests with TTFT <= {:g} s and TPOT <= {:g} s"
    return [
        Measure(f"goodput_{n}", f"goodput {n}", "share", False, partial(goodput, slo=slo), about.format(*slo))
        for n, slo in enumerate(slos, 1)
    ]


def values_of(run: Run, slos: Sequence[tuple[float, float]]) -> dict[str, Any]:
    """Return all measures of a run, by key."""
    return {measure.key: measure.value(run) for measure in (*MEASURES, *goodput_measures(slos))}
