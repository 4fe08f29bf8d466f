"""Where the price scheduler's gain in makespan over FIFO comes from: its order of the phases, or that nothing blocks.

FIFO of Zhang and Yao blocks, the price scheduler does not. What each of the two differences saves depends on which is made
first, so both orders are shown; the part of a difference is the mean of the two.
"""

from __future__ import annotations

from experiments.finding import Claim, Row
from experiments.price.runs import Runs, makespans
from packenv.content.text import number
from packenv.runs.statistics import Interval, certainly_above, interval

FIFO, FIFO_UNBLOCKED, PRICE_BLOCKING, PRICE = "fifo", "fifo:blocking=false", "price:blocking", "price"
UNBLOCKED, ORDER = "not blocking", "the order by price"
STEPS = (
    (UNBLOCKED, "first", FIFO, FIFO_UNBLOCKED),
    (ORDER, "second", FIFO_UNBLOCKED, PRICE),
    (ORDER, "first", FIFO, PRICE_BLOCKING),
    (UNBLOCKED, "second", PRICE_BLOCKING, PRICE),
)
CLAIM = "price's gain in makespan over FIFO comes from the prices more than from not blocking"
Slots = list[float]


def saved(runs: Runs, before: str, after: str) -> Slots:
    """Slots by which a policy's makespan is shorter, for each seed."""
    pairs = zip(makespans(runs[before]), makespans(runs[after]), strict=True)
    return [a - b for a, b in pairs if a is not None and b is not None]


def gain_rows(runs: Runs) -> list[Row]:
    """Slots that each difference saves, in both orders in which the two can be made, and both together."""
    steps = [*STEPS, ("both", "together", FIFO, PRICE)]
    return [row(what, when, before, after, interval(saved(runs, before, after))) for what, when, before, after in steps]


def row(what: str, when: str, before: str, after: str, slots: Interval) -> Row:
    about = {"difference": what, "made": when, "from": before, "to": after}
    return about | {"slots": slots.mean, "low": slots.low, "high": slots.high}


def part(runs: Runs, difference: str) -> Slots:
    """Slots that a difference saves, for each seed: the mean of the two orders."""
    first, second = (saved(runs, before, after) for what, _, before, after in STEPS if what == difference)
    return [(a + b) / 2 for a, b in zip(first, second, strict=True)]


def gain_claim(figure: str, runs: Runs) -> Claim:
    """Shown if the order saves certainly more slots than not blocking does, instance by instance."""
    order, unblocked = part(runs, ORDER), part(runs, UNBLOCKED)
    more = interval(a - b for a, b in zip(order, unblocked, strict=True))
    first, second = (interval(saved(runs, before, after)) for _, _, before, after in STEPS[:2])
    total = interval(saved(runs, FIFO, PRICE)).mean
    figures = (
        f"of {number(total or 0.0)} slots {first} come from not blocking, and then {second} from the order; "
        f"mean of both orders {interval(unblocked)} and {interval(order)}"
    )
    return Claim(figure, CLAIM, certainly_above(more, 0), figures)
