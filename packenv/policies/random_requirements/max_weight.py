"""MaxWeight, a reference policy that knows the law of sizes (PAPERS §1.5).

It chooses among all maximal configurations. Jobs have types by size, and every job occupies the largest size of its type. With
the distinct sizes of the law as types, it supports every workload below ρ*. With a grid of types, it supports every workload
below ρ* of the rounded sizes (§1.2). Several resources are packed by scalar size.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from packenv.cluster import (
    BY_LINE,
    BY_MIX,
    BY_TYPE,
    NONE,
    Cluster,
    Needs,
    close,
    freed_count,
    freed_server,
    head_of_line,
    hold,
    is_closed,
    jobs_in,
    jobs_of_type,
    kind_of,
    new_count,
    place,
    queue_length,
    server_count,
    waiting,
)
from packenv.cluster.servers import scalar_capacity, server_kinds
from packenv.compiled.decorators import compiled
from packenv.errors import InputError
from packenv.policy import Setting, name_of, schedules, takes_over
from packenv.theory.configurations import maximal_configurations, reduced_bounds
from packenv.theory.rounded_types import distinct_sizes, largest_of_cells

MOST_TYPES = 32
MOST_LEVELS = 16
MOST_NAMED = 10_000  # types that a user may ask for: two seconds to find
QUICK = 2_000  # configurations; every renewal computes the weights of all of them


class Configurations(NamedTuple):
    """Maximal configurations by kind of server, and L active ones."""

    jobs: NDArray[np.int32]  # (n, types) number of jobs of each type: configurations of kind 0, then of kind 1, …
    first: NDArray[np.int64]  # (kinds + 1,) configurations of kind k are rows first[k] .. first[k + 1] - 1
    size: NDArray[np.int64]  # (types,) units that a job of each type occupies
    active: NDArray[np.int64]  # (L,) row of each server's active configuration, NONE before the first renewal
    most: NDArray[np.int64]  # (kinds,) scratch: largest weight of a configuration
    present: NDArray[np.int64]  # (types,) scratch: types with waiting jobs
    length: NDArray[np.int64]  # (types,) scratch: number of waiting jobs of these types


class MaxWeight(NamedTuple):
    """Give each empty server the heaviest of all configurations.

    The weight of a configuration k is ⟨k, Q⟩. A server keeps its configuration until it is empty.

    types  number of types: the distinct sizes of the law or table if there are at most this many, else cells of equal
           probability
    J      instead of `types`: the types are the 2J intervals of partition I of the largest server
    limit  largest number of configurations

    Each job occupies the largest size of its type. With neither `types` nor `J`, the types are the distinct sizes if these
    are at most 32 and have at most `limit` configurations, else the finest grid of at most 32 cells with at most 2,000
    configurations. Raises InputError for more than `limit` configurations, and for both `types` and `J`.
    """

    types: int = 0
    J: int = 0
    stall: bool = False
    limit: int = 50_000

    def needs(self, setting: Setting) -> Needs:
        return Needs(orders=BY_TYPE | BY_LINE | BY_MIX, types=_types(self, setting))

    def initial_state(self, setting: Setting, seed: int) -> Configurations:
        sizes = _types(self, setting)
        kinds = server_kinds(scalar_capacity(setting.capacity))[1]
        configurations = _configurations(self, sizes, kinds, self.limit)
        return Configurations(
            jobs=np.concatenate(configurations),
            first=np.cumsum([0, *map(len, configurations)]),
            size=sizes,
            active=np.full(len(setting.capacity), NONE, np.int64),
            most=np.zeros(len(kinds), np.int64),
            present=np.zeros(len(sizes), np.int64),
            length=np.zeros(len(sizes), np.int64),
        )


def _types(policy: MaxWeight, setting: Setting) -> NDArray[np.int64]:
    """Return the size that each type occupies, descending, in units (InputError)."""
    if not 0 <= policy.types <= MOST_NAMED or not 0 <= policy.J <= MOST_LEVELS or policy.J == 1:
        raise InputError(f"{name_of(policy)}: types must lie between 1 and {MOST_NAMED:,}, and J between 2 and {MOST_LEVELS}")
    if policy.types and policy.J:
        raise InputError(f"{name_of(policy)}: give types or J, not both")
    capacity = scalar_capacity(setting.capacity)
    if policy.J:
        return reduced_bounds(policy.J, int(capacity.max()))
    sizes, servers = setting.workload.demand_law, setting.workload.servers
    if policy.types:
        return largest_of_cells(sizes, servers, policy.types)
    finite = distinct_sizes(sizes, servers)
    for cells in range(MOST_TYPES, 1, -1):
        exact = finite is not None and len(finite[0]) <= cells
        types = largest_of_cells(sizes, servers, cells)
        try:
            _configurations(policy, types, server_kinds(capacity)[1], policy.limit if exact else min(QUICK, policy.limit))
        except InputError:
            continue
        return types
    return largest_of_cells(sizes, servers, 1)


def _configurations(
    policy: MaxWeight, sizes: NDArray[np.int64], capacity: NDArray[np.int64], limit: int
) -> list[NDArray[np.int32]]:
    """Return each kind's maximal configurations, at most `limit` (InputError)."""
    configurations: list[NDArray[np.int32]] = []
    for units in capacity:
        try:
            configurations.append(maximal_configurations(sizes, int(units), limit - sum(map(len, configurations))))
        except InputError:
            what = f"{len(sizes)} types have more than {limit} maximal configurations"
            raise InputError(f"{name_of(policy)}: {what}; give fewer, such as types={max(1, len(sizes) // 2)}") from None
    return configurations


@takes_over(MaxWeight)
def take_over_max_weight(policy: MaxWeight, cluster: Cluster, state: Configurations) -> None:
    """Clear configurations of servers with another policy's jobs, until empty."""
    for server in range(server_count(cluster)):
        if jobs_in(cluster, server) > 0:
            state.active[server] = NONE


@schedules(MaxWeight)
def schedule(policy: MaxWeight, cluster: Cluster, state: Configurations) -> None:
    """Serve all servers if there are new tasks, else freed ones."""
    if waiting(cluster) == 0:
        return
    if new_count(cluster) > 0:
        for server in range(server_count(cluster)):
            serve(cluster, state, server)
    else:
        for n in range(freed_count(cluster)):
            serve(cluster, state, freed_server(cluster, n))
    if policy.stall and waiting(cluster) > 0:
        stall_light(cluster, state)


@compiled
def serve(cluster: Cluster, state: Configurations, server: int) -> None:
    """Renew an empty server's configuration. Start missing heads of line."""
    if is_closed(cluster, server):
        return
    kind = kind_of(cluster, server)
    if jobs_in(cluster, server) == 0:
        state.active[server] = heaviest(cluster, state, kind)
    active = state.active[server]
    if active == NONE:
        return
    for j in range(state.size.shape[0]):
        for _ in range(state.jobs[active, j] - jobs_of_type(cluster, server, j)):
            task = head_of_line(cluster, kind, j)
            if task == NONE:
                break
            place(cluster, task, server)
            hold(cluster, task, state.size[j])


@compiled
def heaviest(cluster: Cluster, state: Configurations, kind: int) -> int:
    """Return the first configuration of the largest weight."""
    types = 0
    for j in range(state.size.shape[0]):
        length = queue_length(cluster, kind, j)
        if length > 0:
            state.present[types], state.length[types] = j, length
            types += 1
    best, most = state.first[kind], 0
    if types > 0:
        for row in range(state.first[kind], state.first[kind + 1]):
            weight = 0
            for n in range(types):
                weight += state.jobs[row, state.present[n]] * state.length[n]
            if weight > most:
                best, most = row, weight
    return best


@compiled
def weight_of(cluster: Cluster, state: Configurations, kind: int, row: int) -> int:
    """Return the weight ⟨k, Q⟩ of a configuration, Q of this kind of server."""
    weight = 0
    for j in range(state.size.shape[0]):
        weight += state.jobs[row, j] * queue_length(cluster, kind, j)
    return weight


@compiled
def stall_light(cluster: Cluster, state: Configurations) -> None:
    """Stall servers with less than half of the largest weight."""
    for kind in range(state.most.shape[0]):
        state.most[kind] = weight_of(cluster, state, kind, heaviest(cluster, state, kind))
    for server in range(server_count(cluster)):
        if jobs_in(cluster, server) > 0 and not is_closed(cluster, server):
            kind, active = kind_of(cluster, server), state.active[server]
            weight = weight_of(cluster, state, kind, active) if active != NONE else 0
            if 2 * weight < state.most[kind]:
                close(cluster, server)
