"""Fair sharing: DRF, and by number of tasks as slot-based schedulers do (PAPERS §2, comparators of Tetris).

The owner (tenant, or job) with the least share starts its first task that fits anywhere, on the first server with room;
an owner with no such task is passed over. With `checked=2` only the first two resources, cpu and memory in Tetris'
setting, are looked at. The others may then be allocated more than once: a task that starts where one of them is allocated
x > 1 times its capacity takes x times as long.
"""

from __future__ import annotations

from typing import NamedTuple

from packenv.cluster import BY_INDEX, NONE, Cluster, Needs, first_server_for
from packenv.compiled.decorators import inner
from packenv.policies.tetris.owner_ranking import DOMINANT, TASKS, Shares, launch, settle, shares, take_up
from packenv.policy import Setting, completes, schedules


class Sharing(NamedTuple):
    """What compiled code knows of both: they differ in their state alone."""


class DRF(NamedTuple):
    """Dominant resource fairness: a share is the largest, over resources, of what is in service of the whole cluster."""

    checked: int = 0

    @property
    def rule(self) -> Sharing:
        return Sharing()

    def needs(self, setting: Setting) -> Needs:
        return _needs(setting)

    def initial_state(self, setting: Setting, seed: int) -> Shares:
        return shares(setting, DOMINANT, self.checked)


class SlotFair(NamedTuple):
    """Fair sharing of slots: a share is a number of tasks in service, whatever they take."""

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
    """Progressive filling. Room only shrinks meanwhile, so an owner that was passed over once is for this slot."""
    take_up(cluster, state)
    rank = 0
    while rank < state.ranked[0]:
        if not serve_owner(cluster, state, state.order[rank]):
            rank += 1


@inner
def serve_owner(cluster: Cluster, state: Shares, owner: int) -> bool:
    """Start the owner's first task that fits somewhere; whether there was one."""
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


@inner
def slow_down(cluster: Cluster, state: Shares, row: int, server: int) -> int:
    """Extra slots of a task that makes a server allocate resources that nobody checks beyond its capacity."""
    extra = 0
    service = cluster.task[cluster.e, state.book.place[row]].slots
    for r in range(state.checked, cluster.free.shape[2]):
        capacity = cluster.capacity[server, r]
        if capacity > 0:
            allocated = capacity - cluster.free[cluster.e, server, r] + state.book.demand[state.book.group[row], r]
            extra = max(extra, -(-service * allocated // capacity) - service)
    return extra
