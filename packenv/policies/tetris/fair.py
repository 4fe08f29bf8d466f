"""Fair sharing: DRF, by number of tasks, and by slots (PAPERS §2).

Tetris is compared with them. The owner (tenant, or job) with the least share starts its first task that fits on any server, on
the first server with room. An owner without such a task is skipped. Unchecked resources may be allocated beyond their capacity.
The tasks of a server then share them (`over_allocation`).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from packenv.cluster import (
    BY_INDEX,
    NONE,
    Cluster,
    Needs,
    first_server,
    first_server_for,
    hold,
    jobs_in,
    now,
    postpone,
    row_of,
    wake_at,
)
from packenv.cluster.records import NEVER, append, empty_lists, link_type, unlink
from packenv.cluster.whole_jobs.book import JobBook, job_book
from packenv.compiled.decorators import apart, compiled
from packenv.compiled.frame import Frame
from packenv.errors import InputError
from packenv.policies.tetris.owner_ranking import Ints, Shares, add_new, launch, settle, shares
from packenv.policy import Setting, completes, schedules

Floats = NDArray[np.float64]

ROUNDING = 1e-9  # of a slot: a task whose end lies behind a slot by less ends in that slot


class Overlaps(Frame):
    """Tasks in service on each server, and the rest of their service.

    n rows, L servers. When the tasks of a server demand more of an unchecked resource than there is, each gets its demand or an
    equal share (max-min), whichever is less. It runs at its share of its scarcest resource (PAPERS §2). Speeds change when a task
    starts or leaves on the server. Jobs in service before slot 0 get their demand and are not slowed.
    """

    checked: int  # resources from this one on are not checked
    links: NDArray[np.void]  # (n,) link_type: the rows in service on each server
    ends: NDArray[np.void]  # (L,) ends_type
    remaining: Floats  # (n,) slots at full speed that a row in service still needed in slot `since` of its server
    speed: Floats  # (n,) from that slot on, at most 1; 0 for a row that starts in the current slot
    since: Ints  # (L,)
    changed: NDArray[np.int32]  # (L,) the first `count` are the servers on which tasks started or left in this slot
    noted: Ints  # (L,) last slot in which a server was in `changed`, NONE
    count: Ints  # (1,)


def overlaps(rows: int, servers: int, checked: int) -> Overlaps:
    """The state before slot 0."""
    return Overlaps(
        checked=checked,
        links=np.zeros(rows, link_type),
        ends=empty_lists(servers),
        remaining=np.zeros(rows),
        speed=np.zeros(rows),
        since=np.zeros(servers, np.int64),
        changed=np.zeros(servers, np.int32),
        noted=np.full(servers, NONE, np.int64),
        count=np.zeros(1, np.int64),
    )


@compiled
def note_change(c: Cluster, o: Overlaps, server: int) -> None:
    if o.noted[server] != now(c):
        o.noted[server] = now(c)
        o.changed[o.count[0]] = server
        o.count[0] += 1


@apart
def share_out(c: Cluster, o: Overlaps, book: JobBook) -> None:
    """Set speeds and ends on all changed servers, after the starts."""
    changed = o.count[0]
    o.count[0] = 0
    for n in range(changed):
        work_until_now(c, o, o.changed[n])
        set_speeds(c, o, book, o.changed[n])
        set_ends(c, o, book, o.changed[n])


@compiled
def work_until_now(c: Cluster, o: Overlaps, server: int) -> None:
    row = o.ends[server].head
    while row != NONE:
        o.remaining[row] -= o.speed[row] * (now(c) - o.since[server])
        row = o.links[row].next
    o.since[server] = now(c)


@compiled
def set_speeds(c: Cluster, o: Overlaps, book: JobBook, server: int) -> None:
    row = o.ends[server].head
    while row != NONE:
        o.speed[row] = 1.0
        row = o.links[row].next
    for r in range(o.checked, book.demand.shape[1]):
        if c.capacity[server, r] > 0 and c.free[c.e, server, r] < 0:
            share = equal_share(c, o, book, server, r)
            row = o.ends[server].head
            while row != NONE:
                demand = book.demand[book.group[row], r]
                if demand > share:
                    o.speed[row] = min(o.speed[row], share / demand)
                row = o.links[row].next


@compiled
def equal_share(c: Cluster, o: Overlaps, book: JobBook, server: int, r: int) -> float:
    """Return what each larger demand gets of an over-allocated resource, in units."""
    # what the tasks of the server may share
    demanded = 0
    row = o.ends[server].head
    while row != NONE:
        demanded += book.demand[book.group[row], r]
        row = o.links[row].next
    available = demanded + c.free[c.e, server, r]  # what jobs from before slot 0 do not take
    # max-min: tasks that demand less than the share leave their rest to the others, until no more do
    share, above = 0.0, NONE
    while True:
        rest, more = available, 0
        row = o.ends[server].head
        while row != NONE:
            demand = book.demand[book.group[row], r]
            if demand > share:
                more += 1
            else:
                rest -= demand
            row = o.links[row].next
        if more == above:
            return share
        share, above = rest / more, more


@compiled
def set_ends(c: Cluster, o: Overlaps, book: JobBook, server: int) -> None:
    """Let no task end before it can.

    Until the first task leaves, speeds can only fall. So its end is known. The others run at full speed after it at best, and are
    looked at again before that.
    """
    first, tasks = NEVER, 0
    row = o.ends[server].head
    while row != NONE:
        if o.speed[row] > 0:
            first = min(first, now(c) + math.ceil(o.remaining[row] / o.speed[row] - ROUNDING))
        tasks += 1
        row = o.links[row].next
    if tasks > 0 and jobs_in(c, server) > tasks:  # a job from before slot 0 may leave in any slot
        first = min(first, now(c) + 1)
        o.noted[server] = now(c) + 1  # look at the server again in the next slot
        o.changed[o.count[0]] = server
        o.count[0] += 1
        wake_at(c, now(c) + 1)
    row = o.ends[server].head
    while row != NONE:
        remaining = o.remaining[row] - o.speed[row] * (first - now(c))
        postpone(c, book.place[row], first + max(math.ceil(remaining - ROUNDING), 0))
        row = o.links[row].next


MOST_SLOTS = 1024


class FairRule(NamedTuple):
    """Parameters of the compiled rule of all three policies: none."""


class FairState(Frame):
    """Owners by share, units of a slot (or 0), and sharing tasks."""

    shares: Shares
    slot: int
    overlaps: Overlaps


def fair_needs(setting: Setting) -> Needs:
    return Needs(orders=BY_INDEX, vectors=setting.capacity.shape[1] > 1, table=True)


def fair_state(setting: Setting, book: JobBook, checked: int, counts: Ints | None = None, slot: int = 0) -> FairState:
    """Return the state before slot 0; `counts` (G,) as in `Shares`."""
    owners = shares(setting, book, checked, counts)
    return FairState(shares=owners, slot=slot, overlaps=overlaps(len(book.group), len(setting.capacity), owners.checked))


class DRF(NamedTuple):
    """Serve the owner with the least dominant share first.

    The dominant share is the largest fraction, over resources, of the cluster that an owner uses.
    `checked`: only this many resources count and are checked, from the first. 0 is all. Raises InputError if there are fewer.
    """

    checked: int = 0

    @property
    def rule(self) -> FairRule:
        return FairRule()

    def needs(self, setting: Setting) -> Needs:
        return fair_needs(setting)

    def initial_state(self, setting: Setting, seed: int) -> FairState:
        return fair_state(setting, job_book(setting.table), self.checked)


class TaskFair(NamedTuple):
    """Serve the owner with the fewest tasks in service first.

    Demands do not matter for the share. `checked` as in DRF.
    """

    checked: int = 0

    @property
    def rule(self) -> FairRule:
        return FairRule()

    def needs(self, setting: Setting) -> Needs:
        return fair_needs(setting)

    def initial_state(self, setting: Setting, seed: int) -> FairState:
        book = job_book(setting.table)
        return fair_state(setting, book, self.checked, np.ones(len(book.job), np.int64))


class SlotFair(NamedTuple):
    """Serve the owner with the fewest slots first.

    Schedulers before Tetris shared slots. A slot is 1/`slots` of the largest server's cpu and memory (the first `checked`
    resources, or all if there are fewer). A server has as many as fit in its capacities, and a task takes as many as cover its
    demands, at least one. Disk and network are not checked. Raises InputError if `slots` or `checked` is below 1, and for a task
    that takes more slots than any server has.
    """

    slots: int = 16
    checked: int = 2

    @property
    def rule(self) -> FairRule:
        return FairRule()

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
        present = capacity.max(axis=0) > 0
        slots = (capacity * self.slots)[:, present] // capacity.max(axis=0)[present]
        return np.asarray(slots.min(axis=1, initial=self.slots), np.int64)

    def _room_of_slot(self, setting: Setting) -> int:
        return int(setting.capacity.max()) // self.slots


@completes(FairRule)
def complete_fair(policy: FairRule, cluster: Cluster, state: FairState, task: int) -> None:
    settle(cluster, state.shares, task)
    if state.shares.checked < cluster.capacity.shape[1]:
        o, row, server = state.overlaps, row_of(cluster, task), cluster.task[cluster.e, task].server
        if row >= 0:  # not a job from before slot 0
            unlink(o.links, o.ends[server], row)
        note_change(cluster, o, server)


@schedules(FairRule)
def schedule_fair(policy: FairRule, cluster: Cluster, state: FairState) -> None:
    """Serve the owner with the least share until none fits.

    This is progressive filling. Room only shrinks within a slot, so an owner without a fitting task is skipped for the rest of
    it.
    """
    add_new(cluster, state.shares)
    rank = 0
    while rank < state.shares.ranked[0]:
        if not serve_owner(cluster, state, state.shares.order[rank]):
            rank += 1
    if state.shares.checked < cluster.capacity.shape[1]:
        share_out(cluster, state.overlaps, state.shares.book)


@compiled
def serve_owner(cluster: Cluster, state: FairState, owner: int) -> bool:
    """Start the owner's first fitting task; return whether there was one."""
    book = state.shares.book
    for n in range(state.shares.groups_of[owner], state.shares.groups_of[owner + 1]):
        g = state.shares.groups[n]
        if book.waiting[g] > 0:
            row = book.ends[g].head
            if state.slot > 0:  # a server with enough slots, or with room
                server = first_server(cluster, state.slot * state.shares.counts[g], 0)
            else:
                server = first_server_for(cluster, book.place[row], state.shares.checked)
            if server != NONE:
                begin(cluster, state, row, server)
                return True
    return False


@compiled
def begin(cluster: Cluster, state: FairState, row: int, server: int) -> None:
    """Start a waiting row with its slots and part of unchecked resources."""
    book = state.shares.book
    launch(cluster, state.shares, row, server)
    if state.slot > 0:
        hold(cluster, book.place[row], state.slot * state.shares.counts[book.group[row]])
    if state.shares.checked < cluster.capacity.shape[1]:
        o = state.overlaps
        append(o.links, o.ends[server], row)
        o.remaining[row], o.speed[row] = cluster.task[cluster.e, book.place[row]].slots - now(cluster), 0.0
        note_change(cluster, o, server)
