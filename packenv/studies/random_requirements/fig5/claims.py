"""What the paper claims of figure 5, against the mean queues of each seed."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from packenv.runs.statistics import Interval, certainly_below, ratio
from packenv.studies.finding import Claim

POLICIES = ("bf-js", "vqs-bf", "vqs", "fifo-ff")
HIGH = ("1.5", "1.6")
CLEAR = 0.8  # of the queue of the others, or less: clearly below
Queues = dict[tuple[str, str], list[float | None]]  # mean queue of each seed, by β and policy


def claims_of(key: str, queues: Queues) -> list[Claim]:
    high = [beta for beta in HIGH if (beta, POLICIES[0]) in queues]
    former, latter = ("bf-js", "vqs-bf"), ("vqs", "fifo-ff")
    clear = {beta: ratio(_each(max, queues, beta, former), _each(min, queues, beta, latter)) for beta in high}
    slight = {beta: ratio(queues[beta, "vqs-bf"], queues[beta, "bf-js"]) for beta in high}
    return [
        Claim(
            "fig5",
            f"{key}: at high β BF-J/S and VQS-BF have clearly shorter queues than VQS and FIFO-FF",
            all(_clearly(found) for found in clear.values()),
            f"the longer of the former over the shorter of the latter {_told(clear)}",
        ),
        Claim(
            "fig5",
            f"{key}: at high β VQS-BF has slightly shorter queues than BF-J/S",
            all(certainly_below(found, 1) for found in slight.values()),
            f"VQS-BF over BF-J/S {_told(slight)}",
        ),
    ]


def _each(which: Callable[[Sequence[float]], float], queues: Queues, beta: str, policies: tuple[str, str]) -> list[float | None]:
    """Seed by seed, the larger or smaller of two policies' queues."""
    return [which((a or 0.0, b or 0.0)) for a, b in zip(*(queues[beta, policy] for policy in policies), strict=True)]


def _clearly(found: Interval) -> bool:
    return found.mean is not None and found.mean <= CLEAR and certainly_below(found, 1)


def _told(found: dict[str, Interval]) -> str:
    if all(each.mean is None for each in found.values()):
        return "cannot be said: queues of 0"
    single = "" if any(each.low is not None for each in found.values()) else " (one run: no interval)"
    return ", ".join(f"{each} at β = {beta}" for beta, each in found.items()) + single
