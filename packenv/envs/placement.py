"""Which job goes on which server: the whole cluster together.

## Description
Jobs arrive at a cluster, wait, are put on servers, run and leave (Psychas and Ghaderi, arXiv 1901.05998). The agent places
waiting tasks one at a time, also several in one slot, or waits for the next event: an arrival, a completion, or both.

## Action Space
`Discrete(S·K + 1)` with `choices=(S, K)`: a = s·K + k starts a task on the s-th server. Servers on which a task fits come in
order of room, the least first. Of servers with equal room the first is offered. On it the largest fitting task starts of the
k-th virtual queue that it can serve, counted from the largest sizes. So always action 0 is a best fit, the same as in ServerFill,
but not BF-S, which takes servers by index. Sizes of action and observation do not depend on the number of servers. The last
action waits for the next event.

`Discrete(L·2J + 1)` with `choices=None`: a = server·2J + j starts the largest task of virtual queue j that fits on the server
(`rule` "head": its head of line, if that fits). With `rule` "window" `Discrete(L·K + 1)`: a = server·K + k starts the k-th
oldest waiting task. The last action waits. Then the defaults are `observation="normalized"` and `passing=True`, and there
are 2J virtual queues.

`info["action_mask"]` (int8) and `action_masks()` (bool) show which actions are valid. `invalid` chooses what replaces an invalid
action. With "wait" it counts as wait.

## Observation Space
The default, "flat", is an array within [−1, 1]. It has 12 numbers of each action but the last, as in ServerFill, then room and
jobs of each of the S servers, then `context` as in "normalized". `feature_names` has a name for each. "full" (f) and "compact"
are a Dict of float32 arrays, of every server. Amounts are in units of capacity, times in slots. All are at least 0.

| key | shape | |
|---|---|---|
| `queue` | (K, D + 2) | (f) oldest waiting tasks: demand of each resource, age, 1 where there is a task |
| `virtual_queues` | (G·2J, 4 or 2) | tasks, largest that fits on any server, (f) size waiting, (f) age of the head |
| `servers` | (L, D + 2J or D) | free amount of each resource, (f) jobs in service of each type |
| `action_mask` | (A,) | 1 where an action is valid; with `mask_in_observation` |

## Own Arguments
| `choices` | (3, 4) | numbers of offered servers, and of virtual queues on each; None: all of them, with `passing=True` |
| `passing` | False | the agent waits only if nothing fits, and single choices need no decision; True: any `choices` |
| `rule` | `"largest"` | with any `choices`; `"head"`, `"window"`: with `choices=None` |
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from packenv.cluster.best_fit import free_share
from packenv.cluster.queue.by_type import head_of_line, type_of, types_of
from packenv.cluster.queue.waiting import size_of, smallest_size, waiting
from packenv.cluster.servers import fits, kind_of, room_of, server_count, tightest_server
from packenv.cluster.state import NONE
from packenv.compiled.decorators import apart, compiled, fused
from packenv.compiled.intrinsics import natural
from packenv.envs.core.between_decisions import copy_waiting_sizes, count_up_to, put
from packenv.envs.core.definition import Definition, Layout, Sizes, check_integer, one_of
from packenv.envs.core.features import OF_TASKS
from packenv.envs.core.servable import forced, largest_on, served_by, survey, tightest_of_all
from packenv.envs.core.state import DECIDING, WAITING, Batch
from packenv.envs.core.step import acts, begins, observes
from packenv.envs.observation.arrays import write_queue, write_servers, write_virtual_queues
from packenv.envs.observation.describe import (
    describe_context,
    describe_groups,
    describe_nothing,
    describe_start,
    describe_types,
    describe_wait,
)
from packenv.envs.observation.layout import checked_actions, needs_of_types, observed_shapes, orders_for
from packenv.envs.policy_agents.planned import (
    Choice,
    Planned,
    among_choices,
    largest_of_queue,
    nearest_action,
    servable,
    still_planned,
)
from packenv.errors import InputError
from packenv.policy import BY_LINE, BY_QUEUE, BY_ROOM

if TYPE_CHECKING:
    from packenv.envs.episodes.core import Core
    from packenv.envs.options import Options


RULES = ("largest", "head", "window")
LARGEST, HEAD, WINDOW = 0, 1, 2
"""What an action starts: the largest task of a virtual queue that fits, its head of line, or one of the oldest tasks."""


class PlacementRules(NamedTuple):
    """The options that compiled code reads."""

    starts: int  # LARGEST, HEAD or WINDOW
    per_server: int  # actions of each server: 2J, or K, or as many as it offers
    servers: int  # of how many servers the actions are, the tightest; 0: of all
    passing: int  # 1 if the agent may wait while a task fits


@begins(PlacementRules)
def begin(rules: PlacementRules, b: Batch) -> None:
    """Begin the slot's decisions, for choices if something fits."""
    if rules.servers > 0:
        next_decision(rules, b)
    else:
        b.turn[b.c.e].phase = DECIDING


@acts(PlacementRules)
def act(rules: PlacementRules, b: Batch) -> None:
    turn, action = b.turn[b.c.e], b.action[b.c.e]
    turn.phase = WAITING
    i, server = NONE, NONE
    if action < b.mask.shape[1] - 1:
        server, k = action // rules.per_server, action % rules.per_server
        if rules.servers > 0:
            server = offered_server(b, server)
            k = served_by(b, server, k) if server != NONE else NONE
        i = task_of(rules, b, server, k) if k != NONE else NONE
        turn.invalid = i == NONE
    else:
        turn.invalid = rules.passing == 0
    if i != NONE:
        put(b, i, server)
        turn.phase = DECIDING
        if rules.servers > 0:
            next_decision(rules, b)


@compiled
def next_decision(rules: PlacementRules, b: Batch) -> None:
    """Decide if something fits (without passing, skip single choices)."""
    server = offered_server(b, 0)
    if rules.passing == 0:
        i = forced(b, server) if offered_server(b, 1) == NONE else NONE
        while i != NONE:
            put(b, i, server)
            server = offered_server(b, 0)
            i = forced(b, server) if offered_server(b, 1) == NONE else NONE
    b.turn[b.c.e].phase = WAITING if server == NONE else DECIDING


@apart
def offered_server(b: Batch, k: int) -> int:
    """Return the k-th tightest server (per room) or NONE."""
    c = b.c
    if waiting(c) == 0:
        return NONE
    if c.vectors:
        server = tightest_of_all(b, -1.0)
        while k > 0 and server != NONE:
            server = tightest_of_all(b, free_share(c, server))
            k -= 1
        return server
    server = tightest_server(c, smallest_size(c))
    while k > 0 and server != NONE:
        server = tightest_server(c, room_of(c, server) + 1)
        k -= 1
    return server


@fused
def task_of(rules: PlacementRules, b: Batch, server: int, k: int) -> int:
    """Return the fitting task of action (server, k), or NONE."""
    c = b.c
    if rules.starts == WINDOW:
        i = c.queue[c.e].head
        for _ in range(k):
            if i != NONE:
                i = c.task[c.e, i].next
        return i if i != NONE and fits(c, i, server) else NONE
    kind = kind_of(c, server)
    if k >= c.types.count[c.e, kind]:
        return NONE
    if rules.starts == HEAD:
        i = head_of_line(c, kind, k)
        return i if i != NONE and fits(c, i, server) else NONE
    return largest_on(b, kind, k, server)


@observes(PlacementRules)
def observe(rules: PlacementRules, b: Batch) -> None:
    c, e = b.c, b.c.e
    if rules.servers > 0:
        observe_choices(rules, b)
        return
    kinds, types = c.types.least.shape[1:]
    described = b.actions.shape[1] > 0
    for kind in range(kinds):
        survey(b, kind)
        if not described:
            write_virtual_queues(b, kind, kind * types, most_room(b, kind), NONE)
    if not described:
        if b.queue.shape[1] > 0:
            write_queue(b)
        write_servers(b, NONE)
    # the mask, by the tasks that actions start
    if rules.starts == WINDOW:
        mask_window(rules, b)
    elif c.vectors or rules.starts == HEAD:
        for server in range(server_count(c)):
            for j in range(types):
                b.mask[e, server * types + j] = task_of(rules, b, server, j) != NONE
    else:
        mask_types(b)
    b.mask[e, b.mask.shape[1] - 1] = 1
    if described:
        describe_all(rules, b)


@compiled
def observe_choices(rules: PlacementRules, b: Batch) -> None:
    """Write mask and "actions" of the offered servers."""
    c, last = b.c, b.mask.shape[1] - 1
    if not c.vectors:
        copy_waiting_sizes(b)
    for k in range(rules.servers):
        server = offered_server(b, k)
        kind = kind_of(c, server) if server != NONE else 0
        if c.vectors:
            describe_groups(b, k * rules.per_server, kind, server, rules.per_server)
        else:
            room = room_of(c, server) if server != NONE else 0
            describe_types(b, k * rules.per_server, kind, server, room, rules.per_server)
    b.mask[c.e, last] = 1 if rules.passing or b.mask[c.e, 0] == 0 else 0
    describe_wait(b, last, NONE)
    describe_context(b, 0)


@compiled
def describe_all(rules: PlacementRules, b: Batch) -> None:
    c, e = b.c, b.c.e
    if not c.vectors:
        copy_waiting_sizes(b)
    for server in range(server_count(c)):
        for k in range(rules.per_server):
            action = server * rules.per_server + k
            if not b.mask[e, action]:
                describe_nothing(b, action)
                continue
            i, kind = task_of(rules, b, server, k), kind_of(c, server)
            size = size_of(c, i)
            rank = 0 if c.vectors else count_up_to(b, size)
            describe_start(b, action, kind, type_of(c, kind, size), server, size, rank)
    describe_wait(b, b.mask.shape[1] - 1, NONE)
    describe_context(b, 0)


@fused
def most_room(b: Batch, kind: int) -> int:
    c = b.c
    record, most = c.server[c.e], 0
    for server in range(record.shape[0]):
        if record[server].kind == kind:
            most = max(most, record[server].room)
    return most


@apart
def mask_types(b: Batch) -> None:
    """Allow queues with a fitting smallest task (needs `survey`)."""
    c, e = b.c, b.c.e
    record, mask, types = c.server[e], b.mask[e], c.types.least.shape[2]
    for server in range(record.shape[0]):
        least, room, first = c.types.least[e, natural(record[server].kind)], record[server].room, natural(server * types)
        for j in range(types):
            mask[first + natural(j)] = least[j] <= room


@compiled
def mask_window(rules: PlacementRules, b: Batch) -> None:
    c, e = b.c, b.c.e
    i = c.queue[e].head
    for k in range(rules.per_server):
        for server in range(server_count(c)):
            b.mask[e, server * rules.per_server + k] = i != NONE and fits(c, i, server)
        if i != NONE:
            i = c.task[e, i].next


MOST_OFFERED = 1000

OF_ALL = ("full", "compact")
"""Observations that do not say which servers are offered."""

WHOLE = {"observation": "normalized", "types": None, "choices": None, "passing": True}
"""Defaults of actions that are of every server, where those below are of some."""

DEFAULTS = {
    **{"observation": "flat", "reward": "work", "invalid": "first"},
    **{"passing": False, "types": 16, "choices": (3, 4)},
}


def layout(
    sizes: Sizes,
    capacity: NDArray[np.int64],
    options: Options,
    *,
    rule: str = "largest",
    passing: bool = True,
    choices: tuple[int, int] | None = None,
) -> Layout:
    """Return Placement's layout, for (L, D) units of capacity."""
    starts = one_of("rule", rule, RULES)
    one_of("passing", passing, (False, True))
    orders = orders_for(sizes, options.observation) | (0, BY_LINE, BY_QUEUE)[starts]
    if choices is None:
        if not passing:
            raise InputError("passing=False goes with choices: an agent that is offered every server may always wait")
        servers, per_server = 0, sizes.window if starts == WINDOW else sizes.types
        actions = checked_actions(sizes.servers * per_server + 1)
    else:
        servers, per_server = checked_choices(choices, sizes.types, starts, options)
        actions = servers * per_server + 1
        orders |= BY_ROOM if sizes.resources == 1 else 0
    full = options.observation == "full"
    always = {
        "virtual_queues": (sizes.kinds * sizes.types, 4 if full else 2),
        "servers": (sizes.servers, sizes.resources + (sizes.types if full else 0)),
    }
    return Layout(
        rules=PlacementRules(starts, per_server, servers, int(passing)),
        needs=needs_of_types(sizes, capacity, orders),
        actions=actions,
        observed=observed_shapes(sizes, options, actions, always, {}),
        summaries=options.describes_actions,
        offered=servers,
    )


def checked_choices(choices: Any, types: int, starts: int, options: Options) -> tuple[int, int]:
    """Return numbers of servers and queues, or raise InputError."""
    if not isinstance(choices, Sequence) or len(choices) != 2:
        raise InputError(f"choices must be a pair (servers, virtual queues of each) or None, not {choices!r}")
    if starts != LARGEST:
        raise InputError("choices need rule 'largest': use choices=None with other rules")
    if not options.describes_actions:
        raise InputError(f"observation {options.observation!r} does not show the offered servers: use choices=None")
    check_integer("choices: servers", choices[0], 1, MOST_OFFERED)
    check_integer("choices: virtual queues", choices[1], 2, types)
    return int(choices[0]), int(choices[1])


def instead(arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the defaults for offering every server."""
    choices, rule, observation = (arguments.get(key, "default") for key in ("choices", "rule", "observation"))
    every = choices is None or rule not in ("default", "largest") or (choices == "default" and observation in OF_ALL)
    return WHOLE if every else {}


def policy_action(core: Core, row: int, planned: Planned) -> int:
    """Return an action near a planned task, or wait."""
    waiting, tasks = still_planned(core, row, planned)
    if core.layout.rules.servers > 0:
        return nearest_choice(core, row, planned, waiting, tasks)

    def action_of(i: int, server: int) -> tuple[int, bool]:
        choice, exact = option(core, row, waiting, i, server)
        return (choice if choice == NONE else server * core.layout.rules.per_server + choice), exact

    return nearest_action(core, row, planned, tasks, action_of)


def option(core: Core, row: int, waiting: NDArray[np.int64], i: int, server: int) -> Choice:
    """Return the server's choice nearest to task i."""
    c, rules = core.batch.c, core.layout.rules
    if rules.starts == WINDOW:
        k = int(np.flatnonzero(waiting == i)[0])
        return Choice(k, True) if k < rules.per_server else Choice(NONE, False)
    if rules.starts == HEAD:
        kind = int(c.server["kind"][row, server])
        j = int(types_of(c, row, kind, c.task["size"][row, [i]])[0])
        return Choice(j, int(c.types.queue["head"][row, kind, j]) == i)
    return largest_of_queue(core, row, waiting, i, server)


def nearest_choice(core: Core, row: int, planned: Planned, waiting: NDArray[np.int64], tasks: list[tuple[int, int]]) -> int:
    """Return the nearest action among servers of equal room."""
    rules = core.layout.rules
    room = free_room(core, row)
    able = [server for server in np.lexsort((np.arange(len(room)), room)) if servable(core, row, waiting, int(server))]
    _, first = np.unique(room[able], return_index=True)
    offered = [int(able[n]) for n in first[: rules.servers]]

    def action_of(i: int, server: int) -> Choice:
        k = next((k for k, candidate in enumerate(offered) if room[candidate] == room[server]), NONE)
        if k == NONE:
            return Choice(NONE, False)
        largest = largest_of_queue(core, row, waiting, i, offered[k])
        near = among_choices(core, row, waiting, offered[k], largest, rules.per_server)
        return near if near.choice == NONE else Choice(k * rules.per_server + near.choice, near.exact and offered[k] == server)

    return nearest_action(core, row, planned, tasks, action_of)


def free_room(core: Core, row: int) -> NDArray[np.float64]:
    """Return each server's room or free share, (L,)."""
    c = core.batch.c
    if not c.vectors:
        return c.server["room"][row].astype(np.float64)
    shares = np.zeros(c.capacity.shape)
    np.divide(c.free[row], c.capacity, out=shares, where=c.capacity > 0)
    return shares.sum(axis=1)


DEFINITION = Definition("Placement", layout, policy_action, __doc__, OF_TASKS, defaults=DEFAULTS, instead=instead)
