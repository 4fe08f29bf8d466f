"""One machine of many processors: which waiting job is next?

Experimental: it may change in any version.

## Description
Rigid jobs arrive at one machine, which packs one resource: a log (SWF), or the model `hpc/lublin`. With `backfill=False` the
chosen job starts as soon as it fits, and nothing starts before it, whoever arrives meanwhile: the decision of RLScheduler
(SC 2020). With `backfill=True` it is EASY. A chosen job that does not fit has a reservation: the first slot with room for it by
the estimates of the running jobs. The next choices of this slot are among the jobs that fit now and do not delay it. At the next
arrival or completion all choices are made again, if any job fits. A choice of one job is carried out without a decision.

Each order of `order` offers the job that it puts first. Always n is the policy `fifo-ff:order=…` of the n-th order, or
`easy:order=…` with `backfill`. Several orders may put the same job first. If all do, it is taken without a decision. A single
order, such as with only `window` given, offers the `window` jobs that it puts first, the first of them as action 0. The agent
knows estimates, never how long a job will run, unless the log has no estimates.

## Action Space
`Discrete(K)`: a = n takes the n-th of the offered jobs. K is 10, `len(order)`, or `window` with a single order.

`info["action_mask"]` (int8) and `action_masks()` (bool) show which actions are valid. The first job replaces an invalid action.

## Observation Space
`actions` (K, F), a row of features for every action, and `context` (C,), of the machine: see the tables below.
"compact" and "full" are not offered. A log ratio x is log(1 + x) / 10.

## Its Own Rewards
| `"slowdown"` | over an episode minus the mean bounded slowdown of its jobs, of runs of 10 s at least |
|---|---|
| `"wait"` | over an episode minus their mean wait, in mean services of its jobs |

A waiting job's bounded slowdown, as if it started now, is charged as it grows. So the cost of a choice shows immediately. Both
sums count from the beginning of the episode, and include jobs that start without a decision.
`info["mean_slowdown"]` is the mean over the jobs that have arrived so far. With `yardstick`, `info["baseline_slowdown"]` at the
end of an episode is the mean under `baseline` on the same jobs, else −1.

An episode is a table. With `jobs=1024` it is 1,024 jobs of a log from a random one on, or of a table that is drawn again. It
begins with an empty machine.

## Own Arguments
| `backfill` | False | or True: EASY |
| `order` | ten of packenv.policies.orders; `"saf"` if `window` is given | one or several; one alone must not vary as jobs wait |
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from packenv.cluster.queue.waiting import eligible_since, next_in_queue, now, oldest, row_of, size_of, waiting
from packenv.cluster.servers import fits, room_of
from packenv.cluster.state import NONE, TASK
from packenv.compiled.decorators import apart, compiled
from packenv.envs.core.between_decisions import put
from packenv.envs.core.definition import Definition, Layout, Sizes, one_of
from packenv.envs.core.features import COUNT, FLAG, SHARE, Feature, Features
from packenv.envs.core.state import DECIDING, WAITING, Batch
from packenv.envs.core.step import acts, begins, observes
from packenv.envs.options import WITHOUT_TYPES, Options
from packenv.errors import InputError
from packenv.policies.orders import Rule, growing, order_named, queued_jobs
from packenv.policy import BY_QUEUE, Needs, Setting
from packenv.results.job_times import SLOWDOWN_BOUND

LOG_RATIO = "log ratio"

OF_JOBS = Features(
    (
        Feature("valid", FLAG, "1: the action is valid"),
        Feature("waits", FLAG, "1: the job has no room now"),
        Feature("log_estimate", LOG_RATIO, "estimate over 10 s"),
        Feature("log_size", "log of a share / 10", "share of the machine", negative=True),
        Feature("log_wait", LOG_RATIO, "wait so far over 10 s"),
        Feature("log_expansion", LOG_RATIO, "wait so far over the estimate, or 10 s if that is longer"),
        Feature("size", SHARE, "share of the machine"),
        Feature("size_fitting", SHARE, "the same; 0 where it has no room now"),
        Feature("of_free", SHARE, "size over what is free, squared; 1 where it has no room now"),
        Feature("log_delay", LOG_RATIO, "time until it is expected to have room over 10 s"),
        Feature("left", SHARE, "share of the machine that is expected to be free beside it then"),
        Feature("long_and_small", "product", "log_estimate · log_size", negative=True),
        Feature("long", "square", "log_estimate²"),
        Feature("small", "square", "log_size²"),
        Feature("large", "square", "size²"),
    ),
    (
        Feature("waiting_jobs", COUNT, "waiting jobs"),
        Feature("hidden", COUNT, "of these not offered"),
        Feature("running", COUNT, "jobs in service"),
        Feature("free", SHARE, "free share of the machine"),
        Feature("reserved", FLAG, "1: a job has a reservation"),
        Feature("log_until", LOG_RATIO, "time until then over 10 s"),
        Feature("beside", SHARE, "share of the machine that may be taken beside it"),
        Feature("growth", COUNT, "waiting jobs, each 10 s over its estimate: what their slowdowns grow by in 10 s"),
    ),
    "of an action that takes a job",
)
VALID, WAITS, LOG_ESTIMATE, LOG_SIZE, LOG_WAIT, LOG_EXPANSION, SIZE, SIZE_FITTING, OF_FREE, LOG_DELAY, LEFT = range(11)
LONG_AND_SMALL, LONG, SMALL, LARGE = range(11, 15)
WAITING_JOBS, HIDDEN, RUNNING, FREE, RESERVED, LOG_UNTIL, BESIDE, GROWTH = range(8)

ESTIMATE, LENGTH, SHARE_OF, BOUND, TURN = range(5)
"""Columns of `Batch.facts`: estimate in slots, the features `log_estimate` and `log_size`, 10 s in slots; from the last one
on the numbers of the orders."""
MACHINE = 0  # the only server


def facts_of(setting: Setting, orders: Sequence[Rule]) -> NDArray[np.float64]:
    """Return facts of each job, (n, 4 + orders)."""
    jobs = queued_jobs(setting)
    bound = SLOWDOWN_BOUND / jobs.slot_seconds
    estimate = np.maximum(jobs.estimate / jobs.slot_seconds, 1.0)
    share = setting.table.demand[:, 0] / setting.capacity[MACHINE, 0]
    if len(orders) > 1 and not jobs.counted:  # only shares of the machine are known: the smallest job counts as one processor
        jobs = jobs._replace(size=jobs.size / jobs.size.min(initial=np.inf), counted=True)
    known = estimate, np.log1p(estimate / bound) / 10, np.log(share) / 10, np.full(len(share), bound)
    return np.column_stack((*known, *(np.asarray(rule(jobs), np.float64) for rule in orders)))


class NextJobRules(NamedTuple):
    """The options that compiled code reads."""

    backfill: int  # 1: EASY
    growing: int  # bit n: the numbers of the n-th order are weights of w / e


@begins(NextJobRules)
def begin(rules: NextJobRules, b: Batch) -> None:
    """Charge waiting, and start or (EASY) forget the kept job."""
    turn, total = b.turn[b.c.e], 0.0
    # what waiting has added to the bounded slowdowns
    i = oldest(b.c)
    while i != NONE:
        total += slowdown(b, i)
        i = next_in_queue(b.c, i)
    turn.slowdown += total - turn.slowdown_waiting
    turn.slowdown_waiting = total
    # the kept job
    if rules.backfill:
        turn.kept = NONE
    elif turn.kept != NONE and fits(b.c, turn.kept, MACHINE):
        start(b, turn.kept)
        turn.kept = NONE
    next_decision(rules, b)


@acts(NextJobRules)
def act(rules: NextJobRules, b: Batch) -> None:
    turn, i = b.turn[b.c.e], b.offered[b.c.e, b.action[b.c.e]]
    turn.invalid = i == NONE
    take(b, b.offered[b.c.e, 0] if i == NONE else i, rules.backfill)
    next_decision(rules, b)


@apart
def take(b: Batch, i: int, backfill: int) -> None:
    """Start job i, or keep it (EASY reserves room)."""
    turn = b.turn[b.c.e]
    if fits(b.c, i, MACHINE):
        # a job that outlasts the reservation takes room next to it
        if turn.kept != NONE and now(b.c) + estimate(b, i) > turn.reserved:
            turn.beside -= size_of(b.c, i)
        start(b, i)
        return
    turn.kept = i
    if backfill:
        turn.reserved, turn.beside = room_for(b, i, list_releases(b))


@compiled
def start(b: Batch, i: int) -> None:
    b.turn[b.c.e].slowdown_waiting -= slowdown(b, i)
    put(b, i, MACHINE)


@compiled
def slowdown(b: Batch, i: int) -> float:
    """Return the bounded slowdown of job i, started now."""
    run = float(b.c.task[b.c.e, i].slots)
    return max(1.0, (now(b.c) - eligible_since(b.c, i) + run) / max(run, b.facts[row_of(b.c, i), BOUND]))


@compiled
def estimate(b: Batch, i: int) -> float:
    return b.facts[row_of(b.c, i), ESTIMATE]


@compiled
def next_decision(rules: NextJobRules, b: Batch) -> None:
    """Find the next choice, and carry out choices of one."""
    turn = b.turn[b.c.e]
    turn.server, turn.phase = NONE, WAITING
    while waiting(b.c) > 0 and (rules.backfill or turn.kept == NONE):
        offered = offer(b, rules.backfill, rules.growing)
        if offered > 1:
            turn.server, turn.phase = MACHINE, DECIDING
        if offered != 1:
            break
        take(b, b.offered[b.c.e, 0], rules.backfill)


@apart
def offer(b: Batch, backfill: int, growing: int) -> int:
    """Write jobs to choose from, and return 0, 1 or 2."""
    c, turn, offered, key = b.c, b.turn[b.c.e], b.offered[b.c.e], b.score[b.c.e]
    orders, places = b.facts.shape[1] - TURN, offered.shape[0]
    room, count, fitting = room_of(c, MACHINE), 0, 0
    offered[:] = NONE
    i = oldest(c)
    while i != NONE:
        has_room = size_of(c, i) <= room
        fitting += has_room
        # With a reservation: only what starts now, and is over in time or fits beside it.
        if turn.kept == NONE or (has_room and (size_of(c, i) <= turn.beside or now(c) + estimate(b, i) <= turn.reserved)):
            count += 1
            # one order offers its first jobs, several offer one job each
            if orders == 1:
                insert(offered, key, min(count - 1, places), i, b.facts[row_of(c, i), TURN])
            else:
                for n in range(orders):
                    value = b.facts[row_of(c, i), TURN + n]
                    if growing >> n & 1:
                        value *= (eligible_since(c, i) - now(c)) / estimate(b, i)
                    if offered[n] == NONE or value < key[n]:
                        offered[n], key[n] = i, value
        i = next_in_queue(c, i)
    if backfill and fitting == 0:  # whichever job has the reservation, nothing starts
        offered[:] = NONE
        return 0
    # is any job different from the first?
    if orders > 1 and count > 1:
        count = 1
        for n in range(1, places):
            count += offered[n] != offered[0]
    return count


@compiled
def insert(offered: NDArray[np.int32], key: NDArray[np.float64], count: int, i: int, value: float) -> None:
    """Insert job i by its number, and drop the last."""
    n = count if count < offered.shape[0] else count - 1
    if n < count and value >= key[n]:
        return
    while n > 0 and value < key[n - 1]:
        offered[n], key[n] = offered[n - 1], key[n - 1]
        n -= 1
    offered[n], key[n] = i, value


@apart
def list_releases(b: Batch) -> int:
    """Write expected releases in order, and return their number."""
    c, releases, count = b.c, b.releases, 0
    for i in range(c.task.shape[1]):
        task = c.task[c.e, i]
        if task.kind == TASK and task.server != NONE:
            end = float(task.slots)
            # expected by its estimate, at the earliest in the next slot
            if task.row >= 0:
                end = max(end + b.facts[task.row, ESTIMATE] - c.source.service[c.s, task.row], now(c) + 1.0)
            n = count
            while n > 0 and end < releases[n - 1, 0]:
                releases[n, 0], releases[n, 1] = releases[n - 1, 0], releases[n - 1, 1]
                n -= 1
            releases[n, 0], releases[n, 1] = end, float(task.size)
            count += 1
    return count


@compiled
def room_for(b: Batch, i: int, count: int) -> tuple[float, float]:
    """Return job i's expected start and the units left then."""
    free, size, n, slot = float(room_of(b.c, MACHINE)), float(size_of(b.c, i)), 0, float(now(b.c))
    while n < count and (free < size or b.releases[n, 0] == slot):
        slot = b.releases[n, 0]
        free += b.releases[n, 1]
        n += 1
    return slot, free - size


@observes(NextJobRules)
def observe(rules: NextJobRules, b: Batch) -> None:
    c, e, turn = b.c, b.c.e, b.turn[b.c.e]
    count = 0
    if turn.server != NONE:
        releases = list_releases(b)
        while count < b.mask.shape[1] and b.offered[e, count] != NONE:
            describe_job(b, count, releases)
            count += 1
    for n in range(b.mask.shape[1]):
        b.mask[e, n] = 1 if n < max(count, 1) else 0
        if n >= count:
            for k in range(b.actions.shape[2]):
                b.actions[e, n, k] = 0.0
    capacity, context = float(b.total[0]), b.context[e]
    context[WAITING_JOBS] = math.log1p(waiting(c)) / 5
    context[HIDDEN] = math.log1p(max(waiting(c) - count, 0)) / 5 if turn.kept == NONE else 0.0
    context[RUNNING] = math.log1p(c.head[e].in_service) / 5
    context[FREE] = room_of(c, MACHINE) / capacity
    reserved = rules.backfill and turn.kept != NONE
    context[RESERVED] = 1.0 if reserved else 0.0
    context[LOG_UNTIL] = math.log1p((turn.reserved - now(c)) / b.facts[0, BOUND]) / 10 if reserved else 0.0
    context[BESIDE] = turn.beside / capacity if reserved else 0.0
    growth, i = 0.0, oldest(c)
    while i != NONE:
        growth += b.facts[row_of(c, i), BOUND] / max(estimate(b, i), b.facts[row_of(c, i), BOUND])
        i = next_in_queue(c, i)
    context[GROWTH] = math.log1p(growth) / 5


@apart
def describe_job(b: Batch, n: int, releases: int) -> None:
    c, i, row = b.c, b.offered[b.c.e, n], b.actions[b.c.e, n]
    facts, wait, room = b.facts[row_of(c, i)], float(now(c) - eligible_since(c, i)), room_of(c, MACHINE)
    capacity, size = float(b.total[0]), float(size_of(c, i))
    has_room, slot, left = size <= room, float(now(c)), room - size
    if not has_room:
        slot, left = room_for(b, i, releases)
    row[VALID], row[WAITS] = 1.0, 0.0 if has_room else 1.0
    row[LOG_ESTIMATE], row[LOG_SIZE] = facts[LENGTH], facts[SHARE_OF]
    row[LOG_WAIT] = math.log1p(wait / facts[BOUND]) / 10
    row[LOG_EXPANSION] = math.log1p(wait / max(facts[ESTIMATE], facts[BOUND])) / 10
    row[SIZE], row[SIZE_FITTING] = size / capacity, size / capacity if has_room else 0.0
    row[OF_FREE] = (size / room) ** 2 if has_room else 1.0
    row[LOG_DELAY], row[LEFT] = math.log1p((slot - now(c)) / facts[BOUND]) / 10, left / capacity
    row[LONG_AND_SMALL] = facts[LENGTH] * facts[SHARE_OF]
    row[LONG], row[SMALL], row[LARGE] = facts[LENGTH] ** 2, facts[SHARE_OF] ** 2, (size / capacity) ** 2


OFFERED = ("saf", "sjf", "smallest", "f1", "f2", "f3", "f4", "wfp3", "unicef", "expansion")
DEFAULTS = {"workload": "hpc/lublin-70", "jobs": 1024, "window": 8, "types": 16, "baseline": "easy"} | {
    "observation": "normalized",
    "reward": "slowdown",
    "invalid": "first",
    "order": OFFERED,
}


def instead(arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"order": "saf"} if "window" in arguments else {}


def layout(
    sizes: Sizes,
    capacity: NDArray[np.int64],
    options: Options,
    *,
    backfill: bool = False,
    order: str | Sequence[str] = "saf",
) -> Layout:
    """Return NextJob's layout, for (1, 1) units of capacity."""
    if sizes.servers != 1 or sizes.resources != 1:
        raise InputError(f"NextJob needs one machine and one resource, not {sizes.servers} and {sizes.resources}")
    if not options.describes_actions:
        raise InputError(f"NextJob has the observations 'actions' and 'normalized', not {options.observation!r}")
    orders = [order_named(name, "NextJob") for name in ((order,) if isinstance(order, str) else order)]
    if not orders:
        raise InputError("NextJob: order needs at least one order")
    if len(orders) == 1 and orders[0] in growing:
        raise InputError(f"NextJob: jobs are offered by an order that does not change as they wait, not {order!r}")
    weights = sum(1 << n for n, rule in enumerate(orders) if rule in growing)
    actions = sizes.window if len(orders) == 1 else len(orders)
    return Layout(
        rules=NextJobRules(one_of("backfill", backfill, (False, True)), weights),
        needs=Needs(BY_QUEUE, table=True, durations=True),
        actions=actions,
        observed={"actions": (actions, len(OF_JOBS.of_action)), "context": (len(OF_JOBS.of_context),)},
        groups=actions,
        facts=partial(facts_of, orders=orders),
        features=OF_JOBS,
    )


DEFINITION = Definition(
    "NextJob",
    layout,
    description=__doc__,
    features=OF_JOBS,
    defaults=DEFAULTS,
    instead=instead,
    without=WITHOUT_TYPES,
    measures=("mean_slowdown",),
)
