"""Rewards: named functions of the passage between two decisions."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from packenv.envs.core.state import Numbers, Passage
from packenv.errors import InputError, nearest

Reward = Callable[[Passage], Any]


def queue(passage: Passage) -> Numbers:
    """Return −∫ Q dt, the delay of all tasks (Little's law)."""
    return 0.0 - passage.queue  # not -0.0


def delay(passage: Passage) -> Numbers:
    """Return minus the delays of the started tasks."""
    return 0.0 - passage.delay


def size(passage: Passage) -> Numbers:
    """Return the size placed less the arrival rate of size.

    This is minus the drift of the waiting size, without the arrivals' noise.
    """
    return passage.placed - passage.arriving


def work(passage: Passage) -> Numbers:
    """Return the size served less the mean offered size.

    Both are over the mean service. A task counts its size slot by slot while in service. So empty room costs as long as it stays
    empty, and the reward does not depend by chance on which services are long.
    """
    return passage.served - passage.offered


def tasks(passage: Passage) -> Numbers:
    """Return the tasks started less their arrival rate.

    This is minus the drift of the queue, without the arrivals' noise. Discounted by exp(−t/τ), the sum differs from that of
    `queue` over τ by an amount that no policy changes (integration by parts).
    """
    return passage.started - passage.arrivals


def advantage(passage: Passage) -> Numbers:
    """Return the baseline's ∫ Q dt less one's own (equal jobs)."""
    return passage.baseline - passage.queue


def completion(passage: Passage) -> Numbers:
    """Return −∫ unfinished jobs dt: minus a table's sum of completion times."""
    return 0.0 - passage.unfinished


def overtaking(passage: Passage) -> Numbers:
    """Return minus overtaken jobs times the work of the task.

    A starting task overtakes the waiting jobs with less work left than its own job. On one large server its work delays each of
    them by as many slots. With Φ = −Σ over unfinished jobs of work left · (jobs with as much or more) / capacity, minus the
    completion times still to come there if the least work left goes first, `completion` + ΔΦ has two parts: minus the jobs that
    served work overtakes, minus the unfinished jobs times the idle share of the cluster. This is shaping by a potential (Ng,
    Harada and Russell, ICML 1999). The reward is the first part, which a choice among tasks decides. A task counts when it
    starts, not while it is served. The second part and the arrivals' share of Φ are mostly noise and left out. With
    `passing=True` a cluster may stay idle: use `completion`.
    """
    return 0.0 - passage.overtaken


def value(passage: Passage) -> Numbers:
    """Return −∫ value of the unfinished jobs dt."""
    return 0.0 - passage.unfinished_value


def makespan(passage: Passage) -> Numbers:
    """Return minus the slots, up to the last end."""
    return 0.0 - passage.elapsed


def slowdown(passage: Passage) -> Numbers:
    """Return minus the growth of the mean bounded slowdown."""
    return 0.0 - passage.slowdown


def wait(passage: Passage) -> Numbers:
    """Return −∫ Q dt over jobs and their mean service.

    Over a table it sums to minus the mean wait, in mean services.
    """
    return 0.0 - passage.wait


REWARDS: dict[str, Reward] = {
    **{"queue": queue, "delay": delay, "size": size, "work": work, "tasks": tasks, "advantage": advantage},
    **{"completion": completion, "overtaking": overtaking, "value": value, "makespan": makespan},
    **{"slowdown": slowdown, "wait": wait},
}
OF_TABLE = (slowdown, wait)
"""Rewards of environments that know the jobs of a table beforehand (`Layout.facts`)."""


TERMS: dict[Reward, tuple[str, ...]] = {
    **{queue: ("-queue",), delay: ("-delay",), size: ("placed", "-arriving"), work: ("served", "-offered")},
    **{tasks: ("started", "-arrivals"), advantage: ("baseline", "-queue"), completion: ("-unfinished",)},
    **{overtaking: ("-overtaken",), value: ("-unfinished_value",), makespan: ("-elapsed",)},
    **{slowdown: ("-slowdown",), wait: ("-wait",)},
}
"""What a reward is the sum of, by fields of the passage; `-` before those that are taken from it."""


def terms_of(reward: Reward, passage: Passage) -> dict[str, Numbers]:
    """Return a reward's terms by name (your function is one)."""
    if isinstance(reward, PricedReward):
        return terms_of(reward.reward, passage) | {"unfairness": 0.0 - reward.price * passage.missing_shares}
    if reward not in TERMS:
        return {"reward": reward(passage)}
    named = [(term.removeprefix("-"), -1.0 if term.startswith("-") else 1.0) for term in TERMS[reward]]
    return {name: 0.0 + sign * getattr(passage, name) for name, sign in named}


WITH_PRICE = ("completion", "value", "makespan")
"""Rewards that `:unfairness=PRICE` can follow."""


@dataclass(frozen=True)
class PricedReward:
    """A reward with a price on unfairness.

    With `completion:unfairness=2` an unfinished job costs 1 in every slot, and up to 2 more while it has waiting tasks and less
    than its fair share. Over a finished table the additional costs sum to the price times `missing_shares` of
    `packenv.results.fairness`.
    """

    reward: Reward
    price: float

    def __call__(self, passage: Passage) -> Numbers:
        return self.reward(passage) - self.price * passage.missing_shares


def find_reward(reward: str | Reward) -> Reward:
    """Return a reward by name (or InputError), or the callable."""
    if callable(reward):
        return reward
    name, price = name_and_price(reward)
    return PricedReward(REWARDS[name], price) if price else REWARDS[name]


def name_and_price(reward: str) -> tuple[str, float]:
    """Return a reward's name and price (NAME, NAME:unfairness=PRICE), or InputError."""
    name, colon, option = str(reward).partition(":")
    if name not in REWARDS:
        raise InputError(f"unknown reward {reward!r}{nearest(name, list(REWARDS))}")
    if not colon:
        return name, 0.0
    key, _, number = option.partition("=")
    if key != "unfairness" or name not in WITH_PRICE:
        raise InputError(f"reward {reward!r}: only {' and '.join(WITH_PRICE)} have an option, unfairness=PRICE")
    try:
        price = float(number)
    except ValueError:
        price = math.nan
    if not 0 <= price < math.inf:
        raise InputError(f"reward {reward!r}: the price of unfairness must be a number >= 0, not {number!r}")
    return name, price


def of_jobs(reward: Reward) -> bool:
    """Return whether only environments of whole jobs give it."""
    return reward in (completion, overtaking, value) or isinstance(reward, PricedReward)
