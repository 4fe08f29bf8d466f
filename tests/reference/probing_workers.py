"""A worker of the probing schedulers (PAPERS §4): its queue, which entry is next, and what a thief may take."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from tests.reference.model import Server
from tests.reference.probing_jobs import Batch
from tests.reference.table import Task, Vector


@dataclass(eq=False)
class Entry:
    """In a worker's queue: a task that was placed there, or a probe for a batch."""

    batch: Batch
    task: Task | None = None  # None: a probe
    counter: int = 0  # estimates of those that bypassed it


@dataclass(eq=False)
class Worker:
    server: Server
    largest: Vector  # the most that a task takes
    slots: int
    queue: list[Entry] = field(default_factory=list)
    held: int = 0  # slots that wait for a reply
    snapshot: int = 0  # number of the last one that it was sent

    @property
    def has_long(self) -> bool:
        return any(entry.batch.long for entry in self.queue)

    @property
    def has_free_slot(self) -> bool:
        """And room in it: jobs that were there before slot 0 may be larger than any task."""
        wanted = tuple((self.held + 1) * most for most in self.largest)
        return len(self.server.running) + self.held < self.slots and self.server.fits(wanted)


def shortest(worker: Worker, threshold: float) -> Entry | None:
    """By Algorithm 1. Probes for batches without unassigned tasks leave on the way."""
    front: list[Entry] = []
    ahead: list[Entry] = []
    chosen, least = None, float("inf")
    for entry in list(worker.queue):
        if entry.task is None and entry.batch.told == 0:
            worker.queue.remove(entry)
            continue
        if entry.batch.long:
            if not front:
                return entry
            break
        left = entry.batch.told * entry.batch.estimate
        if left < least and all(may_bypass(entry, other, threshold) for other in front):
            chosen, least, ahead = entry, left, list(front)
        front.append(entry)
    for other in ahead:
        assert chosen is not None
        other.counter += chosen.batch.estimate
    return chosen


def may_bypass(entry: Entry, other: Entry, threshold: float) -> bool:
    return other.counter + entry.batch.estimate <= threshold * other.batch.estimate


def stealable(victim: Worker, runs_long: bool) -> list[Entry]:
    """What a thief takes (Hawk, ATC 2015, and its authors' simulator): the first group of short ones behind a long one, whole.

    The task in service, if it is long, stands before all that queue.
    """
    line = "L" * runs_long + "".join("L" if entry.batch.long else "s" for entry in victim.queue)
    group = re.search("L(s+)", line)
    return victim.queue[group.start(1) - runs_long : group.end(1) - runs_long] if group else []
