"""Fair sharing: by dominant resource (DRF) and by number of tasks, as slot-based schedulers do (PAPERS §2).

Tetris is compared with both. The owner (tenant, or job) with the least share starts its first task that fits on any server,
on the first server with room. An owner without such a task is skipped. With `checked=2` only the first two resources are
checked (cpu and memory in the workloads of Tetris). The others may then be allocated beyond their capacity: a task that
starts on a server where one of them is allocated x > 1 times its capacity takes x times as long.
"""

from __future__ import annotations

from typing import NamedTuple

from packenv.cluster import BY_INDEX, NONE, Cluster, Needs, first_server_for
from packenv.compiled.decorators import compiled
from packenv.policies.tetris.owner_ranking import DOMINANT, TASKS, Shares, launch, settle, shares, take_up
from packenv.policy import Setting, completes, schedules


class Sharing(NamedTuple):
    """Parameters of the compiled rule of both policies: none. They differ in their state only."""


class DRF(NamedTuple):
    """Dominant resource fairness: a share is the largest fraction, over resources, of the cluster that an owner uses."""

    checked: int = 0

    @property
    def rule(self) -> Sharing:
        return Sharing()

    def needs(self, setting: Setting) -> Needs:
        return _needs(setting)

    def initial_state(self, setting: Setting, seed: int) -> Shares:
        return shares(setting, DOMINANT, self.checked)


class SlotFair(NamedTuple):
    """Fair sharing of slots: a share is the number of tasks in service, whatever their demands."""

    checked: int = 0

    @property
    def rule(self) -> Sharing:
        return Sharing()

    def needs(self, setting: Setting) -> Needs:
        return _needs(setting)

    def initial_state(self, setting: Setting, seed: int) -> Shares:
        return shares(setting, TASKS, self.checked)


def _needs(setting: Setting) -> Needs:
    return Needs(orders=BY_INDEX, vectors=setting.capacity.shape[1] > 1, table=True)


@completes(Sharing)
def complete_fair(policy: Sharing, cluster: Cluster, state: Shares, task: int) -> None:
    settle(cluster, state, task)


@schedules(Sharing)
def schedule_fair(policy: Sharing, cluster: Cluster, state: Shares) -> None:
    """Progressive filling: serve the owner with the least share until no owner has a task that fits.

    Room only shrinks within a slot, so an owner without a task that fits is skipped for the rest of the slot.
    """
    take_up(cluster, state)
    rank = 0
    while rank < state.ranked[0]:
        if not serve_owner(cluster, state, state.order[rank]):
            rank += 1


@compiled
def serve_owner(cluster: Cluster, state: Shares, owner: int) -> bool:
    """Start the owner's first task that fits on any server; return whether there was one."""
    book = state.book
    for n in range(state.groups_of[owner], state.groups_of[owner + 1]):
        g = state.groups[n]
        if book.waiting[g] > 0:
            row = book.first[g]
            server = first_server_for(cluster, book.place[row], state.checked)
            if server != NONE:
                launch(cluster, state, row, server, slow_down(cluster, state, row, server))
                return True
    return False


@compiled
def slow_down(cluster: Cluster, state: Shares, row: int, server: int) -> int:
    """Extra slots of a task that starts where an unchecked resource is then allocated beyond the server's capacity."""
    extra = 0
    service = cluster.task[cluster.e, state.book.place[row]].slots
    for r in range(state.checked, cluster.free.shape[2]):
        capacity = cluster.capacity[server, r]
        if capacity > 0:
            allocated = capacity - cluster.free[cluster.e, server, r] + state.book.demand[state.book.group[row], r]
            extra = max(extra, -(-service * allocated // capacity) - service)
    return extra
