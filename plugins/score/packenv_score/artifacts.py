"""Hints for the next attempt: longer waits and idle room."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from packenv.extend import number
from packenv_score.result import CaseScore
from packenv_score.runs import Played

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
