"""One server at a time: which virtual queue is next?

## Description
Decisions are about servers with room for a waiting task, one by one, the tightest first (`order` "index": the first). Sizes of
action and observation do not depend on the number of servers: an agent trained on 5 runs on 1,000.

## Action Space
`Discrete(2J + 1)`: a = j starts the largest task of virtual queue j that fits on the server. The last action passes: the
server is left out until its next completion or the next arrival. With `choices=K`, `Discrete(K + 1)`: a = n serves the n-th
virtual queue that can be served, counted from 0 and from the largest sizes. So always action 0 is a best fit. On one resource
with `order="index"` it is BF-S.

`info["action_mask"]` (int8) and `action_masks()` (bool) show which actions are valid. `invalid` chooses what replaces an invalid
action. With "wait" it counts as pass.

## Observation Space
A Dict of float32 arrays. Amounts are in units of capacity, times in slots. All are at least 0.

This is `observation="full"` and, without (f), "compact". The default, "flat", is an array within [−1, 1]. It has 12 numbers of
each action (zeros where it is invalid), then room and jobs of the server, then `context` as in "normalized". Numbers of an
action: whether it is valid; `size`, `room_left`, `queue_per_root`, `complements`, `companions` as in "normalized";
4 `room_filled` − 1; 2 √`room_left` − 1 and 2 √`room_filled` − 1; 2 `excess`; 4 times its size less the size of action 0, and 4
times `room_filled` of action 0 less its own. All are cut off at ±1. `feature_names` has a name for each.

| key | shape | |
|---|---|---|
| `queue` | (K, D + 2) | (f) oldest waiting tasks: demand of each resource, age, 1 where there is a task |
| `virtual_queues` | (2J, 4 or 2) | tasks, largest that fits on the server, (f) size waiting, (f) age of the head |
| `server` | (D + 2J + 2 or D,) | server of the decision: free amounts, (f) jobs by type, (f) mean and deviation of their ages |
| `cluster` | (D + 2J + 1,) | (f) free share of each resource; share of servers by the type of their room; the last: none |
| `action_mask` | (A,) | 1 where an action is valid; with `mask_in_observation` |

## Own Arguments
| `order` | `"tightest"` | or `"index"` |
| `passing` | False | servers cannot be passed, and single choices need no decision; or True |
| `choices` | 4 | number of virtual queues to choose from, the largest fitting tasks first; None: all |
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from packenv.cluster.best_fit import next_with_room
from packenv.cluster.queue.waiting import smallest_size, waiting
from packenv.cluster.servers import kind_of, room_of, server_count, tightest_server
from packenv.cluster.state import NONE
from packenv.compiled.decorators import compiled, fused
from packenv.envs.core.between_decisions import copy_waiting_sizes, pass_over, put, reopen_passed
from packenv.envs.core.definition import Definition, Layout, Sizes, check_integer, one_of
from packenv.envs.core.features import OF_TASKS
from packenv.envs.core.servable import any_group_fits, chosen, forced, served_by, survey, tightest_of_all
from packenv.envs.core.state import DECIDING, WAITING, Batch
from packenv.envs.core.step import acts, begins, observes
from packenv.envs.observation.arrays import write_cluster, write_queue, write_server, write_virtual_queues
from packenv.envs.observation.describe import describe_context, describe_groups, describe_types, describe_wait, mask_types
from packenv.envs.observation.layout import needs_of_types, observed_shapes, orders_for
from packenv.envs.policy_agents.planned import (
    Choice,
    Planned,
    among_choices,
    largest_of_queue,
    nearest_action,
    still_planned,
)
from packenv.policy import BY_INDEX, BY_ROOM

if TYPE_CHECKING:
    from packenv.envs.episodes.core import Core
    from packenv.envs.options import Options


ORDERS = ("tightest", "index")
TIGHTEST, FIRST = 0, 1
"""Which server is asked first: the one with the least room, or the first. By position in ORDERS."""


class ServerFillRules(NamedTuple):
    """The options that compiled code reads."""

    order: int  # TIGHTEST or FIRST
    passing: int  # 1 if a server may be passed
    choices: int  # K; 0: an action for each virtual queue


@begins(ServerFillRules)
def begin(rules: ServerFillRules, b: Batch) -> None:
    """Reconsider passed servers that have changed."""
    reopen_passed(b)
    next_decision(rules, b)


@acts(ServerFillRules)
def act(rules: ServerFillRules, b: Batch) -> None:
    turn, action = b.turn[b.c.e], b.action[b.c.e]
    server = turn.server
    i = NONE
    if action < b.mask.shape[1] - 1:
        j = action if rules.choices == 0 else served_by(b, server, action)
        i = chosen(b, server, j) if j != NONE else NONE
        turn.invalid = i == NONE
    else:
        turn.invalid = rules.passing == 0
    if i == NONE:
        pass_over(b, server)
    else:
        put(b, i, server)
    next_decision(rules, b)


@compiled
def next_decision(rules: ServerFillRules, b: Batch) -> None:
    """Find the next server (without passing, skip single choices)."""
    turn = b.turn[b.c.e]
    turn.server = next_server(rules, b)
    if rules.passing == 0:
        i = forced(b, turn.server)
        while i != NONE:
            put(b, i, turn.server)
            turn.server = next_server(rules, b)
            i = forced(b, turn.server)
    turn.phase = WAITING if turn.server == NONE else DECIDING


@fused
def next_server(rules: ServerFillRules, b: Batch) -> int:
    """Return the next server with room, not passed, or NONE."""
    c = b.c
    if waiting(c) == 0:
        return NONE
    if c.vectors:
        return next_of_all(rules, b)
    return next_with_room(c, 0) if rules.order == FIRST else tightest_server(c, smallest_size(c))


@compiled
def next_of_all(rules: ServerFillRules, b: Batch) -> int:
    if rules.order == TIGHTEST:
        return tightest_of_all(b, -1.0)
    for server in range(server_count(b.c)):
        if any_group_fits(b, server):
            return server
    return NONE


@observes(ServerFillRules)
def observe(rules: ServerFillRules, b: Batch) -> None:
    c, e, server = b.c, b.c.e, b.turn[b.c.e].server
    last = b.mask.shape[1] - 1
    kind, room = 0, 0
    if server != NONE:
        kind, room = kind_of(c, server), room_of(c, server)
    b.mask[e, last] = 1 if rules.passing or server == NONE else 0
    if b.actions.shape[1] > 0:
        if c.vectors:
            describe_groups(b, 0, kind, server, rules.choices)
        else:
            copy_waiting_sizes(b)
            describe_types(b, 0, kind, server, room, rules.choices)
        describe_wait(b, last, server)
        describe_context(b, kind)
        return
    survey(b, kind)
    mask_types(b, 0, kind, server, rules.choices)
    write_virtual_queues(b, kind, 0, room, server)
    if b.queue.shape[1] > 0:
        write_queue(b)
    write_server(b, server)
    if b.cluster.shape[1] > 0:
        write_cluster(b)


DEFAULTS = {
    **{"observation": "flat", "reward": "work", "invalid": "first"},
    **{"passing": False, "types": 16, "choices": 4},
}


def layout(
    sizes: Sizes,
    capacity: NDArray[np.int64],
    options: Options,
    *,
    order: str = "tightest",
    passing: bool = True,
    choices: int | None = None,
) -> Layout:
    """Return ServerFill's layout, for (L, D) units of capacity."""
    if choices is not None:
        check_integer("choices", choices, 2, sizes.types)
    rules = ServerFillRules(one_of("order", order, ORDERS), one_of("passing", passing, (False, True)), choices or 0)
    actions = (choices or sizes.types) + 1
    full = options.observation == "full"
    orders = orders_for(sizes, options.observation)
    if sizes.resources == 1:
        orders |= (BY_ROOM, BY_INDEX)[rules.order]
    always = {"virtual_queues": (sizes.types, 4 if full else 2), "server": (sizes.resources + (sizes.types + 2 if full else 0),)}
    only_full = {"cluster": (sizes.resources + sizes.types + 1,)}
    return Layout(
        rules=rules,
        needs=needs_of_types(sizes, capacity, orders),
        actions=actions,
        observed=observed_shapes(sizes, options, actions, always, only_full),
        offered=1,
        summaries=options.observation != "compact",
    )


def policy_action(core: Core, row: int, planned: Planned) -> int:
    """Return an action near a planned task, or pass."""
    waiting, tasks = still_planned(core, row, planned)
    decided = int(core.batch.turn["server"][row])
    on_server = [(i, server) for i, server in tasks if server == decided]

    def action_of(i: int, server: int) -> Choice:
        queue, exact = largest_of_queue(core, row, waiting, i, server)
        if core.layout.rules.choices == 0:
            return Choice(queue, exact)
        return among_choices(core, row, waiting, server, Choice(queue, exact), core.layout.rules.choices)

    return nearest_action(core, row, planned, on_server, action_of)


DEFINITION = Definition("ServerFill", layout, policy_action, __doc__, OF_TASKS, defaults=DEFAULTS)
