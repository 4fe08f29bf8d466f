"""Rewards: named functions of what happened between two decisions, for one environment or a batch."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from packenv.envs.core.state import Numbers, Passage
from packenv.errors import InputError, nearest

Reward = Callable[[Passage], Any]


def queue(passage: Passage) -> Numbers:
    """−∫ Q dt: by Little's law, the delay of all tasks, whether they started or not."""
    return 0.0 - passage.queue  # not -0.0


def delay(passage: Passage) -> Numbers:
    """Minus the delays of the tasks that started."""
    return 0.0 - passage.delay


def size(passage: Passage) -> Numbers:
    """Size placed less the rate at which size arrives: minus the drift of the waiting size, without the arrivals' noise."""
    return passage.placed - passage.arriving


def work(passage: Passage) -> Numbers:
    """Size served, over the mean service, less what the tasks add to it that arrive on average.

    A task counts its size as in `size`, on average, but slot by slot while it is in service. So what is left empty costs as
    long as it is empty, and it does not matter by chance which services are long.
    """
    return passage.served - passage.offered


def tasks(passage: Passage) -> Numbers:
    """Tasks started less the rate at which they arrive: minus the drift of the queue, without the arrivals' noise.

    Discounted by exp(−t/τ), the sum differs from that of `queue` over τ by an amount that no policy changes (integration
    by parts).
    """
    return passage.started - passage.arrivals


def advantage(passage: Passage) -> Numbers:
    """∫ Q dt of the baseline less one's own: both have the same jobs, so most of their noise cancels."""
    return passage.baseline - passage.queue


def completion(passage: Passage) -> Numbers:
    """−∫ unfinished jobs dt: over a table that is done, minus the sum of the jobs' completion times (Little's law)."""
    return 0.0 - passage.unfinished


def overtaking(passage: Passage) -> Numbers:
    """Minus the jobs with less work left that a task goes before, times its work, when it starts.

    On one large server, work given to a job delays each job with less work left by as many slots. With Φ = −Σ over unfinished
    jobs of work left · (jobs with as much or more) / capacity, minus the completion times that are still to come there if the
    least work left goes first, `completion` + ΔΦ is minus the jobs that what is served goes before, minus the unfinished jobs
    times the idle share of the cluster: shaping by a potential (Ng, Harada and Russell, ICML 1999). This is the first part,
    which is what a choice among tasks decides; a task counts when it starts rather than while it is served. Left out are the
    second part and what arrivals add to Φ: both are mostly noise. With `passing=True`, where a cluster may be left idle, take
    `completion`.
    """
    return 0.0 - passage.overtaken


def value(passage: Passage) -> Numbers:
    """−∫ value of the unfinished jobs dt: minus the sum of completion times, each times the value of its job."""
    return 0.0 - passage.unfinished_value


def makespan(passage: Passage) -> Numbers:
    """Minus the slots that pass: over a table that is done, minus the slots from the first arrival to the last end."""
    return 0.0 - passage.elapsed


def slowdown(passage: Passage) -> Numbers:
    """Minus what the bounded slowdowns of the table's jobs have grown by: over a table minus their mean."""
    return 0.0 - passage.slowdown


def wait(passage: Passage) -> Numbers:
    """−∫ Q dt over the jobs of the table and their mean service: over a table minus the mean wait, in mean services."""
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
    """The terms that add up to a reward, by name; a function of one's own is one term."""
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

    With `completion:unfairness=2` a job costs 1 in every slot until it has ended, and up to 2 more while it has waiting tasks and
    less than its fair share. Over a table that is done, what is added sums to the price times `missing_shares` of
    `packenv.results.fairness`.
    """

    reward: Reward
    price: float

    def __call__(self, passage: Passage) -> Numbers:
        return self.reward(passage) - self.price * passage.missing_shares


def find_reward(reward: str | Reward) -> Reward:
    """A reward by name, or the callable itself. Raises InputError for an unknown name, with the nearest ones."""
    if callable(reward):
        return reward
    name, price = name_and_price(reward)
    return PricedReward(REWARDS[name], price) if price else REWARDS[name]


def name_and_price(reward: str) -> tuple[str, float]:
    """The name of a reward and its price on unfairness, 0 without one: NAME, or NAME:unfairness=PRICE. Raises InputError."""
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
    """Whether only environments that follow whole jobs can give it."""
    return reward in (completion, overtaking, value) or isinstance(reward, PricedReward)
