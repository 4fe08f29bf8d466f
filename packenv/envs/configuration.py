"""A server receives a configuration when it is empty.

## Description
The decision of VQS and VQS-BF: how many jobs of each type a server serves at a time. The agent decides only when a server is
empty and a waiting task fits on it. The server keeps the configuration until it is empty again. Tasks start by the rules of
VQS-BF (`rule` "vqs": of VQS). Several resources are packed by scalar size, the largest demand.

## Action Space
`Discrete(4J − 4)`: the reduced configurations in the order of PAPERS §1.4, `core.layout.configurations` (G, A, 2J). With
`configurations` "maximal": all maximal ones, in descending lexicographic order, up to J = 5.

`info["action_mask"]` (int8) and `action_masks()` (bool) show which actions are valid. All are valid, except where servers
differ and small ones have fewer. `invalid` chooses what replaces an invalid action. With "wait" it counts as 0.

## Observation Space
A Dict of float32 arrays. Amounts are in units of capacity, times in slots. All are at least 0.

| key | shape | |
|---|---|---|
| `queue` | (K, D + 2) | (f) oldest waiting tasks: demand of each resource, age, 1 where there is a task |
| `virtual_queues` | (2J, 4 or 2) | tasks, largest that fits on the empty server, (f) size waiting, (f) age of the head |
| `servers` | (L, D + 2J + 1 or D + 1) | free amounts, (f) jobs of each type, 1 for the server of the decision |
| `configurations` | (2J,) | (f) sum of the active configurations of the busy servers |
| `action_mask` | (A,) | 1 where an action is valid; with `mask_in_observation` |

## Own Arguments
| `rule` | `"vqs-bf"` | or `"vqs"` |
| `configurations` | `"reduced"` | or `"maximal"` |
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from packenv.cluster.best_fit import fill, next_with_room
from packenv.cluster.events import wake_at
from packenv.cluster.queue.by_type import types_of
from packenv.cluster.queue.waiting import now, waiting
from packenv.cluster.servers import jobs_in, kind_levels, kind_of, room_of, scalar_capacity, server_count, server_kinds
from packenv.cluster.state import NONE
from packenv.cluster.virtual_queues import AS_MANY_AS_FIT, serve_in_line, serve_largest, serve_reserved
from packenv.compiled.decorators import apart, compiled, fused
from packenv.envs.core import features as feature
from packenv.envs.core.definition import Definition, Layout, Sizes, one_of
from packenv.envs.core.features import logarithm, logarithm_of
from packenv.envs.core.servable import survey
from packenv.envs.core.server_summaries import add_starts
from packenv.envs.core.state import DECIDING, WAITING, Batch
from packenv.envs.core.step import acts, begins, observes
from packenv.envs.observation.arrays import write_queue, write_servers, write_virtual_queues
from packenv.envs.observation.describe import clear, describe_context, logarithm_per_root
from packenv.envs.observation.layout import checked_actions, observed_shapes, orders_for
from packenv.envs.policy_agents.planned import ConfiguresServers, Planned, still_planned
from packenv.errors import InputError
from packenv.policy import BY_INDEX, BY_LINE, BY_MIX, Needs
from packenv.theory.configurations import maximal_configurations, reduced_bounds, reduced_configurations

if TYPE_CHECKING:
    from packenv.envs.episodes.core import Core
    from packenv.envs.options import Options


RULES = ("vqs-bf", "vqs")
VQS_BF, VQS = 0, 1
"""The policy by whose rules tasks start, as its position in RULES."""


class ConfigurationRules(NamedTuple):
    """The options that compiled code reads."""

    rule: int  # VQS_BF or VQS
    limited: int  # 1 if a server runs no more jobs of a type than its configuration has, as MaxWeight does


@begins(ConfigurationRules)
def begin(rules: ConfigurationRules, b: Batch) -> None:
    turn = b.turn[b.c.e]
    turn.cursor, turn.started = 0, b.c.head[b.c.e].started
    turn.server = NONE
    serve_until_decision(rules, b)


@acts(ConfigurationRules)
def act(rules: ConfigurationRules, b: Batch) -> None:
    c, turn = b.c, b.turn[b.c.e]
    action = b.action[c.e]
    if action >= b.counts[kind_of(c, turn.server)]:
        turn.invalid, action = 1, 0
    b.active[c.e, turn.server] = action
    serve_until_decision(rules, b)


@compiled
def serve_until_decision(rules: ConfigurationRules, b: Batch) -> None:
    """Continue the pass to an empty server or the end."""
    c, turn = b.c, b.turn[b.c.e]
    configured = turn.server  # by the action just taken
    turn.server = NONE
    server = next_of_pass(rules, b, turn.cursor)
    while server != NONE:
        if jobs_in(c, server) == 0 and server != configured:
            turn.server = turn.cursor = server
            turn.phase = DECIDING
            return
        configured = NONE
        if b.active[c.e, server] != NONE:
            serve(rules, b, server)
        server = next_of_pass(rules, b, server + 1)
    turn.phase = WAITING
    if rules.rule == VQS and c.head[c.e].started > turn.started and waiting(c) > 0:
        wake_at(c, now(c) + 1)  # a new head of line may fit a server that this pass has left behind


@fused
def next_of_pass(rules: ConfigurationRules, b: Batch, start: int) -> int:
    """Return the next server (VQS-BF: with starts), or NONE."""
    if rules.rule == VQS:
        return start if waiting(b.c) > 0 and start < server_count(b.c) else NONE
    return next_with_room(b.c, start)


@compiled
def serve(rules: ConfigurationRules, b: Batch, server: int) -> None:
    head = b.c.head[b.c.e]
    started = head.started
    if rules.rule == VQS:
        serve_by_vqs(b, server, rules.limited)
    else:
        serve_by_vqs_bf(b, server)
    add_starts(b, server, head.started - started)


@apart
def serve_by_vqs_bf(b: Batch, server: int) -> None:
    """Serve each type's largest tasks, then best fit (VQS-BF)."""
    configuration = b.table[kind_of(b.c, server), b.active[b.c.e, server]]
    for j in range(configuration.shape[0]):
        serve_largest(b.c, server, j, configuration[j])
    fill(b.c, server)


@apart
def serve_by_vqs(b: Batch, server: int, limited: int) -> None:
    """Serve heads of line (VQS).

    A configuration with a type-1 job reserves two thirds of the server for it. Its other type starts every task that fits, or
    with `limited` at most its count.
    """
    c = b.c
    configuration = b.table[kind_of(c, server), b.active[c.e, server]]
    room = serve_reserved(c, server, b.reserved[c.e]) if configuration[1] == 1 else room_of(c, server)
    for j in range(configuration.shape[0]):
        if j != 1 and configuration[j] > 0:
            room = serve_in_line(c, server, j, room, configuration[j] if limited else AS_MANY_AS_FIT)


@observes(ConfigurationRules)
def observe(rules: ConfigurationRules, b: Batch) -> None:
    c, e, server = b.c, b.c.e, b.turn[b.c.e].server
    kind = kind_of(c, server) if server != NONE else 0
    survey(b, kind)
    for n in range(b.mask.shape[1]):
        b.mask[e, n] = n < b.counts[kind]
    if b.actions.shape[1] > 0:
        for n in range(b.mask.shape[1]):
            describe_configuration(b, n, kind, server)
        describe_context(b, kind)
    else:
        write_virtual_queues(b, kind, 0, c.server[e, server].capacity if server != NONE else 0, server)
        if b.queue.shape[1] > 0:
            write_queue(b)
        write_servers(b, server)
        if b.configurations.shape[1] > 0:
            write_configurations(b)


@apart
def write_configurations(b: Batch) -> None:
    c, e = b.c, b.c.e
    for j in range(b.configurations.shape[1]):
        b.configurations[e, j] = 0.0
    for s in range(server_count(c)):
        if b.active[e, s] != NONE and jobs_in(c, s) > 0:
            for j in range(b.table.shape[2]):
                b.configurations[e, j] += b.table[kind_of(c, s), b.active[e, s], j]


@apart
def describe_configuration(b: Batch, n: int, kind: int, server: int) -> None:
    """Write the features of configuration n on an empty server."""
    c, e = b.c, b.c.e
    out = b.actions[e, n]
    clear(out)
    if not b.mask[e, n] or server == NONE:
        return
    # its types: weight, jobs, waiting sizes and ages, the size that would start at once, and its main type
    share, capacity = 1.0 / b.scale[0], float(c.server[e, server].capacity)
    weight, jobs, starts, size, age, main = 0.0, 0, 0.0, 0.0, 0, NONE
    for j in range(b.table.shape[2]):
        many = b.table[kind, n, j]
        if many > 0:
            queue = c.types.queue[e, kind, j]
            jobs += many
            weight += many * queue.count
            size += queue.size
            if main == NONE or j != 1:
                main = j
            if queue.count > 0:
                starts += min(many, queue.count) * (queue.size / float(queue.count))
                age = max(age, now(c) - queue.since)
    starts = min(starts, capacity)
    # servers of this kind on which it is active
    active = 0
    for s in range(server_count(c)):
        active += b.active[e, s] == n and kind_of(c, s) == kind and jobs_in(c, s) > 0
    # sizes as shares of the largest server, counts and ages as logarithms
    out[feature.VALID], out[feature.WAITS] = 1.0, 1.0 if b.table[kind, n, 1] > 0 else 0.0
    out[feature.SIZE] = starts * share
    out[feature.ROOM_LEFT] = (capacity - starts) * share
    out[feature.QUEUE_COUNT] = logarithm(weight)
    out[feature.QUEUE_SIZE] = logarithm(size * share)
    out[feature.HEAD_AGE] = logarithm(age / b.scale[1])
    out[feature.SAME_TYPE] = logarithm_of(jobs)
    out[feature.LARGEST_OF_TYPE] = c.types.bound[e, kind, main - 1 if main > 0 else c.types.count[e, kind] - 1] * share
    out[feature.ROOMY_SERVERS] = active / float(server_count(c))
    out[feature.ROOM] = capacity * share
    out[feature.WAITING] = logarithm_per_root(b, waiting(c))


DEFAULTS = {"observation": "normalized", "reward": "size", "invalid": "nearest"}

SETS = ("reduced", "maximal")
MOST_CONFIGURATIONS = 20_000
"""Enough for all maximal configurations up to J = 5."""


def layout(
    sizes: Sizes, capacity: NDArray[np.int64], options: Options, *, rule: str = "vqs-bf", configurations: str = "reduced"
) -> Layout:
    """Return Configuration's layout, for (L, D) units of capacity."""
    if not sizes.levels:
        raise InputError("Configuration takes J, not types")
    maximal = one_of("configurations", configurations, SETS) == 1
    rules = ConfigurationRules(one_of("rule", rule, RULES), int(maximal))
    full = options.observation == "full"
    kind, kind_capacity = server_kinds(scalar_capacity(capacity))
    levels = kind_levels(sizes.levels, kind_capacity)
    table, counts = configuration_table([configurations_of(j, sizes.types, maximal) for j in levels])
    orders = orders_for(sizes._replace(resources=1), options.observation) | BY_INDEX | BY_MIX
    least = None
    if rules.rule == VQS:
        orders |= BY_LINE
        least = (kind_capacity >> np.array(levels))[kind]
    actions = checked_actions(int(counts.max()))
    always = {
        "virtual_queues": (sizes.types, 4 if full else 2),
        "servers": (sizes.servers, sizes.resources + (sizes.types if full else 0) + 1),
    }
    observed = observed_shapes(sizes, options, actions, always, {"configurations": (sizes.types,)})
    return Layout(
        rules=rules,
        needs=Needs(orders, levels=sizes.levels, least=least),
        actions=actions,
        observed=observed,
        summaries="actions" in observed,
        configurations=table,
        counts=counts,
    )


def configuration_table(configurations: list[NDArray[np.int64]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return configurations, (G, N, 2J) padded with zeros, and counts."""
    counts = np.array([len(rows) for rows in configurations])
    table = np.zeros((len(configurations), counts.max(), configurations[0].shape[1]), np.int64)
    for kind, rows in enumerate(configurations):
        table[kind, : len(rows)] = rows
    return table, counts


def configurations_of(levels: int, types: int, maximal: bool) -> NDArray[np.int64]:
    """Return a kind's configurations as counts, (N, types)."""
    rows = maximal_of_partition(levels) if maximal else reduced_configurations(levels)
    return np.pad(rows, ((0, 0), (0, types - rows.shape[1])))


def maximal_of_partition(levels: int) -> NDArray[np.int64]:
    """Return I's maximal configurations, (N, 2J), in descending order."""
    whole = 3 << levels  # in these units every supremum is whole
    return maximal_configurations(reduced_bounds(levels, whole), whole, MOST_CONFIGURATIONS).astype(np.int64)


def policy_action(core: Core, row: int, planned: Planned) -> int:
    """Return the policy's own configuration, or the nearest to it."""
    b = core.batch
    server = int(b.turn["server"][row])
    kind = int(b.c.server["kind"][row, server])
    table = b.table[kind, : b.counts[kind]]
    active = None
    if isinstance(planned.state, ConfiguresServers):
        active = planned.state.active_configuration(server, table.shape[1])
    if active is None:
        active = np.zeros(table.shape[1], np.int64)
        for i, target in still_planned(core, row, planned)[1]:
            if target == server:
                active[types_of(b.c, row, kind, b.c.task["size"][row, i])] += 1
    shared = np.minimum(table, active).sum(axis=1)
    differing = np.abs(table - active).sum(axis=1)
    return int((shared * 1000 - differing).argmax())


DEFINITION = Definition("Configuration", layout, policy_action, __doc__, feature.OF_CONFIGURATIONS, defaults=DEFAULTS)
