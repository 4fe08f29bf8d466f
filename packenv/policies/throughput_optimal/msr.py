"""MSR without preemption: configurations by a timer (PAPERS §6).

Markovian service rates (Chen, Grosof and Berg, arXiv 2412.08915) for the rounded types of any law of sizes. Every server goes
through a few configurations by its timer. They and their shares of the time come from the linear program for ρ_K. So every
workload below ρ_K leaves each type's queue a service rate above its arrival rate, whatever the other queues are.
docs/explanation/throughput_optimal.md has the proof.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from packenv.cluster import Cluster, Needs, now, server_count, waiting, wake_at
from packenv.cluster.state import NEVER
from packenv.compiled.decorators import compiled
from packenv.errors import InputError
from packenv.policies.throughput_optimal.entitled import Entitled, Ints, needs_of_types, nothing_entitled, packed_capacity
from packenv.policies.throughput_optimal.entitlement import fill_all, serve_entitled
from packenv.policies.throughput_optimal.rounding import checked_program, pairs, proven_share, too_few_for_eps
from packenv.policy import Setting, name_of, schedules
from packenv.theory.rounded_boxes import RoundedProgram, volumes
from packenv.units import UNIT
from packenv.workloads.sampling import mix, uniform, word_at

NEVER_USED = 1e-9  # a smaller share of the time is a rounding error of the linear program


class ConfigurationCycle(NamedTuple):
    """Configurations (m) that attain ρ_K, cyclic, as W pairs (type, number)."""

    type: NDArray[np.int32]  # (m, W)
    number: NDArray[np.int32]  # (m, W)
    types: NDArray[np.int32]  # (m,) how many pairs a row has
    share: NDArray[np.float64]  # (m,) share of the time of a server of its kind; sums to 1 for each kind
    after: Ints  # (m,) the row that follows it in the cycle


def candidates(program: RoundedProgram, width: int) -> tuple[ConfigurationCycle, list[Ints]]:
    """Return the candidates, and each kind's rows in cyclic order."""
    sizes = in_units(program)
    cycles: list[Ints] = []
    counts: list[Ints] = []
    shares: list[NDArray[np.float64]] = []
    for kind in range(len(program.capacity)):
        used = np.flatnonzero((program.kind == kind) & (program.share > NEVER_USED))
        order = used[in_order(program.counts[used], sizes)]
        if len(order):
            counts += list(program.counts[order])
            shares.append(program.share[order] / program.share[order].sum())
        else:  # too small for every type: nothing is entitled there
            counts.append(np.zeros(len(program.sizes), np.int64))
            shares.append(np.ones(1))
        cycles.append(np.arange(len(counts) - len(shares[-1]), len(counts)))
    of_type, number, types = pairs(np.array(counts), width)
    result = ConfigurationCycle(
        type=of_type,
        number=number,
        types=types,
        share=np.concatenate(shares),
        after=np.concatenate([np.roll(cycle, -1) for cycle in cycles]),
    )
    return result, cycles


def in_units(program: RoundedProgram) -> Ints:
    """Return one size (a box: its volume) for each type, descending, (T,)."""
    return np.round(volumes(program.sizes, program.capacity) * UNIT).astype(np.int64) if program.boxes else program.sizes


def in_order(counts: Ints, sizes: Ints) -> Ints:
    """Return the rows of a short cycle through configurations, (m,).

    `counts` (m, T), `sizes` (T,) descending. The distance of two configurations is the area between their curves "number of tasks
    larger than s". That is the room that a change wastes when tasks of the first are replaced by slightly smaller or larger ones.
    """
    widths = -np.diff(np.append(sizes, 0))
    larger = np.cumsum(counts, axis=1)  # (m, T) number of tasks of at least each size
    apart = np.array([np.abs(larger - row) @ widths for row in larger]).reshape(len(counts), len(counts))
    tour, remaining = [0] if len(counts) else [], set(range(1, len(counts)))
    while remaining:
        nearest = min(remaining, key=lambda n: (apart[tour[-1], n], n))
        remaining.remove(nearest)
        tour.append(nearest)
    return two_opt(np.array(tour, np.int64), apart)


def two_opt(tour: Ints, apart: NDArray[np.int64]) -> Ints:
    """Reverse parts of a cycle while that makes it shorter."""
    better = len(tour) > 3
    while better:
        better = False
        for i in range(len(tour) - 2):
            ends = tour[i + 1 :]
            after = np.append(ends[1:], tour[0])
            longer = apart[tour[i], ends] + apart[tour[i + 1], after] - apart[tour[i], tour[i + 1]] - apart[ends, after]
            k = int(np.argmin(longer))
            if longer[k] < 0:
                tour[i + 1 : i + 2 + k] = tour[i + 1 : i + 2 + k][::-1].copy()
                better = True
    return tour


ROUND, VISIT = 100.0, 5.0  # mean services in a round, and more for each candidate, if the cycle is not given (measured)


class MSR(NamedTuple):
    """Rotate each server through configurations that attain ρ_K, by a timer.

    A server starts tasks that its active configuration lacks.

    types     number of types K. 0: the distinct sizes if these are few, else enough for ρ_K >= (1 - eps) ρ*
    cycle     mean slots of a round. 0: 100 mean services, and 5 for each configuration. With a long queue it lasts longer:
              the geometric mean of `cycle` and the time in which as many tasks arrive as wait
    backfill  fill idle room by best fit from the whole queue
    few       types with at most this many waiting tasks are served by backfilling only
    eps       see `types`
    grid      in place of `types`: the number of types of equal width, as an agent has with `--types`, which the policy can guard

    Raises InputError for parameters out of range, and for a load that is at least ρ_K of the given `types`.
    """

    types: int = 0
    cycle: float = 0.0
    backfill: bool = False
    few: int = 0
    eps: float = 0.01
    grid: int = 0

    @property
    def rule(self) -> MSRRule:
        return MSRRule(self.backfill, self.few)

    def needs(self, setting: Setting) -> Needs:
        return needs_of_types(self._program(setting), self.backfill)

    def initial_state(self, setting: Setting, seed: int) -> MSRState:
        program = self._program(setting)
        entitled = nothing_entitled(program, setting.capacity)
        choices, cycles = candidates(program, entitled.type.shape[1])
        state = MSRState(
            entitled=entitled,
            candidates=choices,
            cycle=self.cycle or (ROUND + VISIT * max(map(len, cycles))) * setting.workload.mean_service,
            rate=setting.workload.rate,
            active=first_candidates(program, packed_capacity(program, setting.capacity), choices, cycles),
            until=np.zeros(len(setting.capacity), np.int64),
            next=np.zeros(1, np.int64),
            key=np.array([mix(np.uint64(seed) + np.uint64(1))], np.uint64),
            draws=np.zeros(1, np.int64),
        )
        for server, row in enumerate(state.active.tolist()):
            enter(state, server, row, 0, 0)
        state.next[0] = state.until.min()
        return state

    def guarantee(self, setting: Setting) -> float:
        """Return lower ρ_K / upper ρ*, or 0 outside the model."""
        return proven_share(self, setting)

    def notice(self, setting: Setting) -> str:
        """Return a notice if the types miss `eps`, or ""."""
        return too_few_for_eps(self, setting)

    def _program(self, setting: Setting) -> RoundedProgram:
        if not 0 <= self.cycle < math.inf:
            raise InputError(f"{name_of(self)}: a cycle lasts a positive number of slots, not {self.cycle}")
        return checked_program(self, setting)


class MSRRule(NamedTuple):
    """The parameters that compiled code reads."""

    backfill: bool
    few: int


class MSRState(NamedTuple):
    """Candidates, and the place of each of L servers in its round."""

    entitled: Entitled
    candidates: ConfigurationCycle
    cycle: float  # mean slots of a round while few tasks wait
    rate: float  # tasks per slot
    active: Ints  # (L,) row of the candidate that each server is in
    until: Ints  # (L,) slot in which it goes on to the next
    next: Ints  # (1,) the first of these slots
    key: NDArray[np.uint64]  # (1,) key of the policy's own random stream
    draws: Ints  # (1,) random numbers drawn so far

    def active_configuration(self, server: int, types: int) -> Ints | None:
        """(types,) tasks of each type in the server's active configuration."""
        return self.entitled.active_configuration(server, types)


def first_candidates(program: RoundedProgram, capacity: Ints, choices: ConfigurationCycle, cycles: list[Ints]) -> Ints:
    """Return servers' first candidates, (L,), spread evenly over the round."""
    active = np.zeros(len(capacity), np.int64)
    for units, cycle in zip(program.capacity, cycles, strict=True):
        servers = np.flatnonzero((capacity == units).reshape(len(capacity), -1).all(axis=1))
        ends = np.cumsum(choices.share[cycle])
        at = np.searchsorted(ends, (np.arange(len(servers)) + 0.5) / len(servers))
        active[servers] = cycle[np.minimum(at, len(cycle) - 1)]
    return active


@schedules(MSRRule)
def schedule(policy: MSRRule, cluster: Cluster, state: MSRState) -> None:
    while state.next[0] <= now(cluster):  # also what fell due before the first arrival, or while another policy scheduled
        slot = state.next[0]
        go_on(cluster, state, slot, waiting(cluster) if slot == now(cluster) else 0)
    before = waiting(cluster)
    if before > 0:
        for server in range(server_count(cluster)):
            serve_entitled(cluster, state.entitled, server, policy.few)
        fill_all(cluster, state.entitled, policy.few, policy.backfill, before)
    wake_at(cluster, state.next[0])


@compiled
def go_on(cluster: Cluster, state: MSRState, slot: int, queue: int) -> None:
    """Move servers whose time is over to their next candidate."""
    soonest = NEVER
    for server in range(server_count(cluster)):
        if state.until[server] == slot:
            enter(state, server, state.candidates.after[state.active[server]], slot, queue)
        soonest = min(soonest, state.until[server])
    state.next[0] = soonest


@compiled
def enter(state: MSRState, server: int, row: int, slot: int, queue: int) -> None:
    """Make candidate `row` a server's configuration for geometric slots."""
    entitled, choices = state.entitled, state.candidates
    state.active[server] = row
    entitled.types[server] = choices.types[row]
    for n in range(choices.types[row]):
        entitled.type[server, n], entitled.number[server, n] = choices.type[row, n], choices.number[row, n]
    mean = choices.share[row] * max(state.cycle, math.sqrt(state.cycle * queue / state.rate))
    slots = 1
    if mean > 1.0:
        slots += int(math.log(uniform(word_at(state.key[0], state.draws[0]))) / math.log1p(-1.0 / mean))
    state.draws[0] += 1
    state.until[server] = slot + slots
