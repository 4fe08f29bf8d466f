"""What the paper claims of figure 3, against the runs of each curve."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from packenv.results.result import Result
from packenv.results.stability import STABLE, UNSTABLE
from packenv.runs.statistics import interval
from packenv.runs.text import number
from packenv.runs.verdicts import joint_verdict, queue_growth, verdict_counts, verdicts_in_words
from packenv.studies.finding import Claim

SERVES = 0.03  # jobs per slot that the configuration (2, 1) serves: three of 100 slots each
LOCKED = 50  # waiting jobs: a queue that never comes back to as few is locked
EARLY = 1_000_000  # slots
LOCKED_START = "started locked"
Curves = dict[str, list[Result]]


def claims_a(curves: Curves, rate: float) -> list[Claim]:
    limit = "its limit is 0.0133 jobs per slot"
    return [
        _stability("fig3a", f"VQS is unstable at {rate:g} jobs per slot ({limit})", curves["vqs"], UNSTABLE),
        _stability("fig3a", "BF-J/S is stable", curves["bf-js"], STABLE),
        _stability("fig3a", "VQS-BF is stable", curves["vqs-bf"], STABLE),
    ]


def claims_b(curves: Curves, rate: float) -> list[Claim]:
    served = interval(result.started / result.slots for result in curves["bf-js"])
    assert served.mean is not None
    hybrid = curves["vqs-bf"]
    ends = [locked_from(result) for result in hybrid]
    length = hybrid[0].slots
    seeds = len(hybrid)
    early = sum(end is not None and end <= EARLY for end in ends)
    locked = [result for result, end in zip(hybrid, ends, strict=True) if end is not None]
    return [
        _stability("fig3b", "VQS is stable", curves["vqs"], STABLE),
        _stability("fig3b", f"BF-J/S is unstable at {rate:g} jobs per slot", curves["bf-js"], UNSTABLE),
        Claim(
            "fig3b",
            "BF-J/S locks into (2,1) and serves 0.03 jobs per slot, 0.9 of the most possible",
            all(locked_from(result) is not None for result in curves["bf-js"]) and abs(served.mean / SERVES - 1) < 0.01,
            f"locked with {sum(locked_from(r) is not None for r in curves['bf-js'])} of {seeds} seeds, "
            f"serves {number(served.mean, 4)} of {rate:g} arriving",
        ),
        Claim(
            "fig3b",
            "VQS-BF locks with positive probability",
            any(result.verdict.kind != STABLE for result in locked),
            f"locked with {f'{early} of {seeds} seeds by slot {EARLY:,}, ' if length > EARLY else ''}"
            f"{len(locked)} of {seeds} by slot {length:,}; all together {verdicts_in_words(verdict_counts(hybrid))}, "
            f"mean queue {interval(r.mean_queue for r in hybrid)}",
        ),
        _stability("fig3b", "VQS-BF that starts with a locked server stays unstable", curves[LOCKED_START], UNSTABLE),
    ]


def locked_from(result: Result) -> int | None:
    """The slot from which the queue never came back to LOCKED jobs; None unless that is a quarter of the run ago."""
    path, width = result.trajectory.queue, result.trajectory.bin_slots
    low = np.flatnonzero(path <= LOCKED)
    since = int(low[-1] + 1) * width if len(low) else 0
    return since if since <= 0.75 * result.slots else None


def _stability(figure: str, claim: str, results: Sequence[Result], kind: str) -> Claim:
    grows = interval(queue_growth(result) for result in results)
    queue = interval(result.mean_queue for result in results)
    per = "–" if grows.mean is None else f"{1e4 * grows.mean:.3g}"
    said = f"{verdicts_in_words(verdict_counts(results))}; mean queue {queue}, grows by {per} per 10,000 slots"
    return Claim(figure, claim, joint_verdict(results) == kind, said)
