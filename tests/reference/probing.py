"""Sparrow, Hawk, Eagle, least waiting time and Yaq (PAPERS §4), message by message.

Every queue is a list, every waiting time is added up anew, every snapshot is a set.
A message takes `delay` slots; what is sent in a slot with delay 0 arrives in that slot, behind all that was sent before.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from packenv.workloads.sampling import mix, uniform, word_at
from tests.reference.model import World
from tests.reference.probing_jobs import Batch, Book, check, largest_of, short_workers, slots_of
from tests.reference.probing_workers import Entry, Worker, shortest, stealable
from tests.reference.table import Task


@dataclass
class Message:
    due: int
    arrive: Callable[..., None]
    content: tuple[Any, ...]


class Probing:
    """All five; each says what it does without."""

    def __init__(
        self,
        *,
        central: bool = False,  # every job is placed centrally, on all workers
        partitioned: bool = False,  # long jobs are placed centrally, on the general partition
        cutoff: float = -1.0,
        reserved: float = -1.0,
        ratio: int = 1,
        minimum: int = 1,
        delay: float = 0.0005,
        sharing: bool = False,
        sticky: bool = False,
        srpt: bool = False,
        threshold: float = 0.0,
        attempts: int = 0,
        seed: int = 0,
    ) -> None:
        check(cutoff=cutoff, reserved=reserved, ratio=ratio, minimum=minimum, delay=delay, threshold=threshold, attempts=attempts)
        self.central, self.partitioned, self.cutoff, self.reserved = central, partitioned, cutoff, reserved
        self.ratio, self.minimum, self.delay = ratio, minimum, round(delay)
        self.sharing, self.sticky, self.srpt, self.threshold, self.attempts = sharing, sticky, srpt, threshold, attempts
        self.key = np.uint64(mix(np.uint64(seed) + np.uint64(1)))
        self.draws = 0
        self.network: list[Message] = []
        self.batch: dict[int, Batch] = {}  # by row
        self.placed: dict[int, Worker] = {}  # by row: those placed centrally that have not completed
        self.snapshots: dict[int, frozenset[int]] = {}
        self.probes: list[Entry] = []  # all that workers took

    def begin(self, world: World) -> None:
        self.world = world
        L = len(world.servers)
        self.book = Book(world.tasks, self.cutoff if self.partitioned else float("inf"))
        largest = largest_of(world.tasks)
        self.workers = [Worker(server, largest, slots_of(server.capacity, largest)) for server in world.servers]
        self.general = L - short_workers(L, self.reserved, self.book) if self.partitioned else L
        nowhere = 0 < len(self.book.long) < len(self.book.tasks) and self.general == L
        if (self.book.long and self.general == 0) or (self.sharing and nowhere and self.reserved != -1):
            raise ValueError("no workers for the long jobs, or for the short ones")
        self.sharing = self.sharing and not nowhere
        if self.minimum > max(L, 20) or self.ratio > max(L, 2):
            raise ValueError("more probes than workers")

    def schedule(self, world: World) -> None:
        self.placed = {row: worker for row, worker in self.placed.items() if row not in world.completed}
        for server in world.vacated:
            self.serve(self.workers[server.index])
            self.steal(self.workers[server.index])
        self.deliver()
        for batch in self.book.newcomers(world):
            self.batch |= {task.row: batch for task in batch.tasks}
            self.submit(batch)
        self.deliver()
        world.awaiting = bool(self.network)

    # The network and chance.

    def send(self, arrive: Callable[..., None], *content: Any) -> None:
        self.network.append(Message(self.world.slot + self.delay, arrive, content))

    def deliver(self) -> None:
        while self.network and self.network[0].due == self.world.slot:
            message = self.network.pop(0)
            message.arrive(*message.content)

    def below(self, n: int) -> int:
        word = np.uint64(word_at(self.key, self.draws))
        self.draws += 1
        return int(uniform(word) * n)

    # The schedulers.

    def submit(self, batch: Batch) -> None:
        if not (self.central or batch.long):
            self.send(self.first_round, batch)
            return
        for task in batch.tasks:
            self.placed[task.row] = min(self.workers[: self.general], key=self.waiting_time)
        number = len(self.snapshots) + 1
        self.snapshots[number] = frozenset(worker.server.index for worker in self.placed.values())
        self.send(self.long, batch, number)

    def waiting_time(self, worker: Worker) -> float:
        left = 0
        for row in (row for row, where in self.placed.items() if where is worker):
            start, estimate = self.world.outcome.start.get(row), self.batch[row].estimate
            left += estimate if start is None else max(1, start + estimate - self.world.slot)
        return left / worker.slots

    def first_round(self, batch: Batch) -> None:
        number = max(self.ratio * len(batch.tasks), self.minimum)
        rejecting = []
        for _ in range(number):
            worker = self.workers[self.below(len(self.workers))]
            if not self.offer(worker, batch):
                rejecting.append(worker)
        if rejecting:
            self.send(self.rejected, batch, len(rejecting), max(worker.snapshot for worker in rejecting))

    def rejected(self, batch: Batch, number: int, snapshot: int) -> None:
        self.send(self.second_round, batch, number, snapshot)

    def second_round(self, batch: Batch, number: int, snapshot: int) -> None:
        again = 0
        for _ in range(number):
            worker = self.below(len(self.workers))
            while worker in self.snapshots[snapshot]:
                worker = self.below(len(self.workers))
            again += not self.offer(self.workers[worker], batch)
        if again:
            self.send(self.rejected_again, batch, again)

    def rejected_again(self, batch: Batch, number: int) -> None:
        self.send(self.third_round, batch, number)

    def third_round(self, batch: Batch, number: int) -> None:
        for _ in range(number):
            self.take(self.workers[self.general + self.below(len(self.workers) - self.general)], batch)

    def request(self, worker: Worker, probe: Entry) -> None:
        task = probe.batch.unassigned.pop(0) if probe.batch.unassigned else None
        self.send(self.reply, worker, probe, task)

    # The workers.

    def long(self, batch: Batch, snapshot: int) -> None:
        """Tasks placed centrally arrive where they were placed."""
        for task in batch.tasks:
            worker = self.placed[task.row]
            worker.queue.append(Entry(batch, task))
            worker.snapshot = snapshot
            self.serve(worker)

    def offer(self, worker: Worker, batch: Batch) -> bool:
        """Whether the worker takes a probe."""
        if self.sharing and (self.runs_long(worker) or worker.has_long):
            return False
        self.take(worker, batch)
        return True

    def runs_long(self, worker: Worker) -> bool:
        return any(job.row is not None and self.batch[job.row].long for job in worker.server.running)

    def take(self, worker: Worker, batch: Batch) -> None:
        self.probes.append(Entry(batch))
        worker.queue.append(self.probes[-1])
        self.serve(worker)

    def serve(self, worker: Worker) -> None:
        while worker.has_free_slot:
            entry = shortest(worker, self.threshold) if self.srpt else next(iter(worker.queue), None)
            if entry is None:
                return
            if entry.task is not None:
                worker.queue.remove(entry)
                entry.batch.told -= 1
                self.world.start(entry.task, worker.server)
            else:
                if not self.sticky:
                    worker.queue.remove(entry)
                worker.held += 1
                self.send(self.request, worker, entry)

    def reply(self, worker: Worker, probe: Entry, task: Task | None) -> None:
        worker.held -= 1
        if task is not None:
            probe.batch.told -= 1
            self.world.start(task, worker.server)
            self.serve(worker)
            return
        if probe in worker.queue:
            worker.queue.remove(probe)
        self.serve(worker)
        self.steal(worker)

    # Stealing.

    def steal(self, thief: Worker) -> None:
        """After a completion, or a reply without a task."""
        under_way = any(message.arrive == self.stolen and message.content[0] is thief for message in self.network)
        if not thief.has_free_slot or thief.queue or under_way or not self.book.long:
            return
        for _ in range(self.attempts):
            victim = self.workers[self.below(self.general)]
            probes = stealable(victim, self.runs_long(victim))
            if probes:
                victim.queue = [entry for entry in victim.queue if entry not in probes]
                self.send(self.stolen, thief, probes)
                return

    def stolen(self, thief: Worker, probes: list[Entry]) -> None:
        thief.queue += probes
        self.serve(thief)


EAGLE = {"partitioned": True, "sharing": True, "sticky": True, "srpt": True, "threshold": 5.0, "ratio": 2, "minimum": 20}

PROBING: dict[str, Callable[..., Probing]] = {
    "sparrow": partial(Probing, ratio=2, minimum=2),
    "hawk": partial(Probing, partitioned=True, ratio=2, minimum=2, attempts=10),
    "eagle": partial(Probing, **EAGLE),
    "lwl": partial(Probing, central=True),
    "yaq": partial(Probing, central=True, srpt=True, threshold=5.0),
}
