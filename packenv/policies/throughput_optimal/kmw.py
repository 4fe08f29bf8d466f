"""K-discretised MaxWeight without preemption (PAPERS §6).

It is MaxWeight over all configurations of K rounded types: Yao, Kowalik and Grosof, arXiv 2605.21715. Unlike `maxweight` it
changes the configuration of a server that is not empty. Tasks beyond the new configuration finish, the rest stays.
docs/explanation/throughput_optimal.md has the proof.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from packenv.cluster import (
    BY_INDEX,
    BY_SIZE,
    NONE,
    Cluster,
    Needs,
    jobs_in,
    kind_of,
    now,
    queue_length,
    server_count,
    waiting,
    wake_at,
)
from packenv.cluster.servers import server_kinds
from packenv.compiled.decorators import compiled
from packenv.errors import InputError, nearest
from packenv.policies.throughput_optimal.entitled import Entitled, Ints, needs_of_types, nothing_entitled, packed_capacity
from packenv.policies.throughput_optimal.entitlement import fill_all, next_roomy, note_least_types, serve_entitled
from packenv.policies.throughput_optimal.rounding import (
    Listed,
    activate_heaviest,
    checked_program,
    is_listed,
    largest_listed_weight,
    listed,
    proven_share,
    too_few_for_eps,
)
from packenv.policy import Setting, name_of, schedules
from packenv.theory.capacity.one_resource.knapsack import Knapsack
from packenv.theory.rounded_boxes import RoundedProgram

MOST_STEPS = 200_000  # sums times types: a tenth of a millisecond for each choice


class Packings(NamedTuple):
    """The sums of sizes that each kind of server holds, from 0; R in all.

    The configuration of the largest weight ⟨k, Q⟩ solves an unbounded knapsack over them. No configuration is listed: with 20
    types of small sizes there are too many. The result equals `maxweight`'s choice: the first of the largest weight in descending
    lexicographic order.
    """

    after: NDArray[np.int32]  # (R, T) number of the sum after one more task, within the same kind; -1: does not fit
    first: Ints  # (kinds + 1,) sums of kind k are rows first[k] .. first[k + 1] - 1
    best: Ints  # (R,) scratch: largest weight of what can be added to each sum
    present: Ints  # (T,) scratch: types with waiting tasks
    length: Ints  # (T,) scratch: how many of them wait


def all_packings(sizes: Ints, capacity: Ints) -> Packings:
    """Return all packings of `sizes` (T,) on kinds of `capacity`, in units."""
    tables = []
    for units in capacity.tolist():
        before = Knapsack(sizes, units).before
        after = np.full(before.shape, -1, np.int32)
        state, j = np.nonzero(before >= 0)
        after[before[state, j], j] = state
        tables.append(after)
    first = np.cumsum([0, *map(len, tables)])
    nothing = np.zeros(len(sizes), np.int64)
    return Packings(np.concatenate(tables), first, np.zeros(int(first[-1]), np.int64), nothing, nothing.copy())


def no_packings() -> Packings:
    """Empty packings, where configurations are listed instead."""
    nothing = np.zeros(0, np.int64)
    return Packings(np.zeros((0, 0), np.int32), nothing, nothing, nothing, nothing)


@compiled
def largest_weight(cluster: Cluster, packings: Packings, kind: int) -> int:
    """Return a configuration's largest weight: V(s) = max_j Q_j + V(s + size_j)."""
    types = 0
    for j in range(packings.present.shape[0]):
        length = queue_length(cluster, kind, j)
        if length > 0:
            packings.present[types], packings.length[types] = j, length
            types += 1
    first = packings.first[kind]
    for row in range(packings.first[kind + 1] - 1, first - 1, -1):
        most = 0
        for n in range(types):
            after = packings.after[row, packings.present[n]]
            if after >= 0:
                most = max(most, packings.length[n] + packings.best[first + after])
        packings.best[row] = most
    return packings.best[first]


@compiled
def first_heaviest(cluster: Cluster, packings: Packings, entitled: Entitled, server: int) -> None:
    """Make the first heaviest configuration the server's active one.

    Call it after `largest_weight` of its kind. It takes the largest type that begins some best continuation. That gives the first
    one in descending lexicographic order, which leaves no room for another task.
    """
    kind = kind_of(cluster, server)
    first = packings.first[kind]
    row, j, n = first, 0, -1
    while j < entitled.size.shape[0]:
        after = packings.after[row, j]
        if after >= 0 and packings.best[row] == queue_length(cluster, kind, j) + packings.best[first + after]:
            if n < 0 or entitled.type[server, n] != j:
                n += 1
                entitled.type[server, n], entitled.number[server, n] = j, 0
            entitled.number[server, n] += 1
            row = first + after
        else:
            j += 1
    entitled.types[server] = n + 1


EMPTY, TIMER, WEIGHT = 0, 1, 2
REFRESH = {"empty": EMPTY, "timer": TIMER, "weight": WEIGHT}


class KMaxWeight(NamedTuple):
    """Give a server the heaviest configuration of K rounded types.

    types     number of types K. 0: the distinct sizes if these are few, else enough for ρ_K >= (1 - eps) ρ*
    refresh   when a server with room for some waiting task gets a new configuration. "empty": if the server is
              empty. "weight": also if the configuration weighs less than the largest weight w by more than slack · √w.
              "timer": also after `every` slots
    slack     see `refresh`
    every     slots. 0: ten mean services
    backfill  fill idle room by best fit from the whole queue
    few       types with at most this many waiting tasks are served by backfilling only
    eps       see `types`
    grid      in place of `types`: the number of types of equal width, as an agent has with `--types`, which the policy can guard

    Raises InputError for parameters out of range, and for a load that is at least ρ_K of the given `types`.
    """

    types: int = 0
    refresh: str = "weight"
    slack: float = 10.0
    every: int = 0
    backfill: bool = False
    few: int = 0
    eps: float = 0.03
    grid: int = 0

    @property
    def rule(self) -> KMaxWeightRule:
        return KMaxWeightRule(REFRESH[self.refresh], self.slack, self.backfill, self.few)

    def needs(self, setting: Setting) -> Needs:
        return needs_of_types(self._program(setting), self.backfill, BY_SIZE | BY_INDEX)

    def initial_state(self, setting: Setting, seed: int) -> KMaxWeightState:
        program = self._program(setting)
        entitled = nothing_entitled(program, setting.capacity)
        kinds = server_kinds(packed_capacity(program, setting.capacity))[1]
        every = self.every or max(1, round(10 * setting.workload.mean_service))
        return KMaxWeightState(
            entitled=entitled,
            packings=all_packings(program.sizes, kinds) if program.listed is None else no_packings(),
            choices=listed(program, kinds, entitled.type.shape[1]),
            most=np.zeros(len(kinds), np.int64),
            since=np.full(len(setting.capacity), -every, np.int64),
            every=every,
        )

    def guarantee(self, setting: Setting) -> float:
        """Return ρ_K / ρ* with refresh=weight and slack > 0, else 0."""
        proven = self.refresh == "weight" and self.slack > 0
        return proven_share(self, setting, MOST_STEPS) if proven else 0.0

    def notice(self, setting: Setting) -> str:
        return too_few_for_eps(self, setting, MOST_STEPS)

    def _program(self, setting: Setting) -> RoundedProgram:
        if self.refresh not in REFRESH:
            raise InputError(
                f"kmw: refresh must be empty, timer or weight, not {self.refresh!r}{nearest(self.refresh, list(REFRESH))}"
            )
        if not 0 <= self.slack < math.inf or self.every < 0:
            raise InputError(f"{name_of(self)}: slack and every must be >= 0")
        return checked_program(self, setting, MOST_STEPS)


class KMaxWeightRule(NamedTuple):
    """The parameters that compiled code reads."""

    refresh: int
    slack: float
    backfill: bool
    few: int


class KMaxWeightState(NamedTuple):
    """Active configurations of L servers, and when they were chosen."""

    entitled: Entitled
    packings: Packings
    choices: Listed  # in place of the packings, where configurations are listed
    most: Ints  # (kinds,) scratch: the largest weight of a configuration in this slot; UNKNOWN
    since: Ints  # (L,) slot in which the active configuration was chosen
    every: int  # slots after which it is chosen anew, with refresh=timer

    def active_configuration(self, server: int, types: int) -> Ints | None:
        """Return the server's tasks by type, (types,), or None at first."""
        return self.entitled.active_configuration(server, types)


UNKNOWN = -1


@schedules(KMaxWeightRule)
def schedule(policy: KMaxWeightRule, cluster: Cluster, state: KMaxWeightState) -> None:
    before = waiting(cluster)
    if before == 0:
        return
    for kind in range(state.most.shape[0]):
        state.most[kind] = UNKNOWN
    note_least_types(cluster, state.entitled)
    server = next_roomy(cluster, state.entitled, 0)
    while server != NONE:
        refresh(policy, cluster, state, server)
        serve_entitled(cluster, state.entitled, server, policy.few)
        server = next_roomy(cluster, state.entitled, server + 1)
    fill_all(cluster, state.entitled, policy.few, policy.backfill, before)
    if policy.refresh == TIMER and waiting(cluster) > 0:
        for server in range(server_count(cluster)):
            wake_at(cluster, state.since[server] + state.every)


@compiled
def refresh(policy: KMaxWeightRule, cluster: Cluster, state: KMaxWeightState, server: int) -> None:
    """Choose the server's configuration again if that is due.

    It uses the queues that earlier servers have left. Queues only get shorter while servers are served, so a largest weight found
    earlier in the slot is an upper bound.
    """
    kind = kind_of(cluster, server)
    due = jobs_in(cluster, server) == 0
    if policy.refresh == TIMER and now(cluster) - state.since[server] >= state.every:
        due = True
    if due or (policy.refresh == WEIGHT and is_light(policy, cluster, state, server)):
        find_heaviest(cluster, state, kind)
        if due or is_light(policy, cluster, state, server):
            if is_listed(state.choices):
                activate_heaviest(state.choices, state.entitled, kind, server)
            else:
                first_heaviest(cluster, state.packings, state.entitled, server)
            state.since[server] = now(cluster)


@compiled
def find_heaviest(cluster: Cluster, state: KMaxWeightState, kind: int) -> None:
    """Note the largest weight for this kind of server."""
    if is_listed(state.choices):
        state.most[kind] = largest_listed_weight(cluster, state.choices, kind)
    else:
        state.most[kind] = largest_weight(cluster, state.packings, kind)


@compiled
def is_light(policy: KMaxWeightRule, cluster: Cluster, state: KMaxWeightState, server: int) -> bool:
    """Return whether the weight is below the largest w - slack · √w."""
    kind = kind_of(cluster, server)
    if state.most[kind] == UNKNOWN:
        find_heaviest(cluster, state, kind)
    return weight_of(cluster, state.entitled, server) < state.most[kind] - policy.slack * math.sqrt(state.most[kind])


@compiled
def weight_of(cluster: Cluster, entitled: Entitled, server: int) -> int:
    """⟨k, Q⟩ of the active configuration."""
    kind, weight = kind_of(cluster, server), 0
    for n in range(entitled.types[server]):
        weight += entitled.number[server, n] * queue_length(cluster, kind, entitled.type[server, n])
    return weight
