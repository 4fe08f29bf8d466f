"""Fair sharing, with which Tetris is compared: by dominant resource (DRF), by number of tasks, and by slots (PAPERS §2).

The owner (tenant, or job) with the least share starts its first task that fits on any server, on the first server with
room. An owner without such a task is skipped. Resources that are not checked may be allocated beyond their capacity; the
tasks of a server then share them (`over_allocation`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from packenv.cluster import BY_INDEX, NONE, Cluster, Needs, first_server, first_server_for, hold, row_of
from packenv.cluster.whole_jobs.book import JobBook, job_book
from packenv.compiled.decorators import compiled
from packenv.compiled.frame import Frame
from packenv.errors import InputError
from packenv.policies.tetris.over_allocation import Overlaps, enter, leave, overlaps, share_out
from packenv.policies.tetris.owner_ranking import Ints, Shares, launch, settle, shares, take_up
from packenv.policy import Setting, completes, schedules

MOST_SLOTS = 1024


class Sharing(NamedTuple):
    """Parameters of the compiled rule of all three policies: none. They differ in their state only."""


class FairState(Frame):
    """Owners by share, the room of a slot (units; 0 without slots), and the tasks that share what is not checked."""

    shares: Shares
    slot: int
    overlaps: Overlaps


def fair_needs(setting: Setting) -> Needs:
    return Needs(orders=BY_INDEX, vectors=setting.capacity.shape[1] > 1, table=True)


def fair_state(setting: Setting, book: JobBook, checked: int, counts: Ints | None = None, slot: int = 0) -> FairState:
    """The state before slot 0; `counts` (G,) as in `Shares`."""
    owners = shares(setting, book, checked, counts)
    return FairState(shares=owners, slot=slot, overlaps=overlaps(len(book.group), len(setting.capacity), owners.checked))


class DRF(NamedTuple):
    """Dominant resource fairness: a share is the largest fraction, over resources, of the cluster that an owner uses.

    `checked`: only the first so many resources count and are checked; 0 stands for all. Raises InputError if there are fewer.
    """

    checked: int = 0

    @property
    def rule(self) -> Sharing:
        return Sharing()

    def needs(self, setting: Setting) -> Needs:
        return fair_needs(setting)

    def initial_state(self, setting: Setting, seed: int) -> FairState:
        return fair_state(setting, job_book(setting.table), self.checked)


class TaskFair(NamedTuple):
    """Fair sharing of tasks: a share is the number of tasks in service, whatever their demands. `checked` as in DRF."""

    checked: int = 0

    @property
    def rule(self) -> Sharing:
        return Sharing()

    def needs(self, setting: Setting) -> Needs:
        return fair_needs(setting)

    def initial_state(self, setting: Setting, seed: int) -> FairState:
        book = job_book(setting.table)
        return fair_state(setting, book, self.checked, np.ones(len(book.job), np.int64))


class SlotFair(NamedTuple):
    """Fair sharing of slots, as schedulers did before Tetris: a share is the number of slots that an owner holds.

    A slot is 1/`slots` of the largest server's cpu and memory (the first `checked` resources, or all if there are fewer). A
    server has as many as fit in its capacities, and a task takes as many as cover its demands, at least one. Disk and network
    are not checked. Raises InputError if `slots` or `checked` is below 1, and for a task that takes more slots than any
    server has.
    """

    slots: int = 16
    checked: int = 2

    @property
    def rule(self) -> Sharing:
        return Sharing()

    def needs(self, setting: Setting) -> Needs:
        if not 1 <= self.slots <= MOST_SLOTS or self.checked < 1:
            raise InputError(f"slot-fair: needs 1 <= slots <= {MOST_SLOTS} and checked >= 1, not {self.slots} and {self.checked}")
        slot = self._room_of_slot(setting)
        return Needs(orders=BY_INDEX, table=True, least=np.full(len(setting.capacity), slot), room=slot * self._slots_of(setting))

    def initial_state(self, setting: Setting, seed: int) -> FairState:
        book, sized = job_book(setting.table), self._sized(setting)
        largest = setting.capacity.max(axis=0)[sized]
        of_each = -(-book.demand[:, sized] * self.slots // np.where(largest > 0, largest, 1))
        takes = of_each.max(axis=1).clip(min=1)
        most = int(self._slots_of(setting).max())
        if takes.max() > most:
            row = int(np.flatnonzero(takes[book.group] > most)[0])
            raise InputError(f"slot-fair: task {row} takes {takes[book.group[row]]} slots, more than the {most} of any server")
        return fair_state(setting, book, sized.stop, takes, self._room_of_slot(setting))

    def _sized(self, setting: Setting) -> slice:
        """The resources that a slot is a share of."""
        return slice(min(self.checked, setting.capacity.shape[1]))

    def _slots_of(self, setting: Setting) -> Ints:
        """(L,) number of slots of each server."""
        capacity = setting.capacity[:, self._sized(setting)]
        there = capacity.max(axis=0) > 0
        slots = (capacity * self.slots)[:, there] // capacity.max(axis=0)[there]
        return np.asarray(slots.min(axis=1, initial=self.slots), np.int64)

    def _room_of_slot(self, setting: Setting) -> int:
        return int(setting.capacity.max()) // self.slots


@completes(Sharing)
def complete_fair(policy: Sharing, cluster: Cluster, state: FairState, task: int) -> None:
    settle(cluster, state.shares, task)
    if state.shares.checked < cluster.capacity.shape[1]:
        leave(cluster, state.overlaps, row_of(cluster, task), cluster.task[cluster.e, task].server)


@schedules(Sharing)
def schedule_fair(policy: Sharing, cluster: Cluster, state: FairState) -> None:
    """Progressive filling: serve the owner with the least share until no owner has a task that fits.

    Room only shrinks within a slot, so an owner without a task that fits is skipped for the rest of the slot.
    """
    take_up(cluster, state.shares)
    rank = 0
    while rank < state.shares.ranked[0]:
        if not serve_owner(cluster, state, state.shares.order[rank]):
            rank += 1
    if state.shares.checked < cluster.capacity.shape[1]:
        share_out(cluster, state.overlaps, state.shares.book)


@compiled
def serve_owner(cluster: Cluster, state: FairState, owner: int) -> bool:
    """Start the owner's first task that fits on any server; return whether there was one."""
    book = state.shares.book
    for n in range(state.shares.groups_of[owner], state.shares.groups_of[owner + 1]):
        g = state.shares.groups[n]
        if book.waiting[g] > 0:
            row = book.ends[g].head
            server = server_for(cluster, state, g, book.place[row])
            if server != NONE:
                begin(cluster, state, row, server)
                return True
    return False


@compiled
def server_for(cluster: Cluster, state: FairState, g: int, task: int) -> int:
    """The first server with room, or with enough slots, for a task of group g; NONE if there is none."""
    if state.slot > 0:
        return first_server(cluster, state.slot * state.shares.counts[g], 0)
    return first_server_for(cluster, task, state.shares.checked)


@compiled
def begin(cluster: Cluster, state: FairState, row: int, server: int) -> None:
    """Start a waiting row on a server; it takes its slots there, and its part of what is not checked."""
    book = state.shares.book
    launch(cluster, state.shares, row, server)
    if state.slot > 0:
        hold(cluster, book.place[row], state.slot * state.shares.counts[book.group[row]])
    if state.shares.checked < cluster.capacity.shape[1]:
        enter(cluster, state.overlaps, book, row, server)
