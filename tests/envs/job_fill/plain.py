"""What JobFill says of a decision, worked out anew from the table of jobs and from what has started so far."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

import packenv

PER_SLOT = 2**20  # work is counted in integers
LOWEST = 1e-6


class Plain:
    """One moment of an episode: rows of `start`, `end` and `server` are -1 where a task has not started.

    `racks`: of each server. `by_data`: tasks with different data are in different groups. Slots last a second.
    """

    def __init__(
        self, workload: packenv.Workload, slot: int, start: Any, end: Any, server: Any, racks: Any = None, by_data: bool = False
    ) -> None:
        assert workload.jobs is not None
        self.jobs, self.network, self.capacity = workload.jobs, workload.network or packenv.Network(), workload.servers.units
        self.slot, self.racks, self.by_data = slot, racks, by_data
        self.start, self.end, self.server = start, end, server
        self.rows = range(len(self.jobs))
        self.resources = range(self.jobs.resources)

    # the table

    def job(self, row: int) -> int:
        return row if self.jobs.job is None else int(self.jobs.job[row])

    def phase(self, row: int) -> int:
        return 0 if self.jobs.phase is None else int(self.jobs.phase[row])

    def owner(self, row: int) -> tuple[str, int]:
        return ("job", self.job(row)) if self.jobs.tenant is None else ("tenant", int(self.jobs.tenant[row]))

    def value(self, row: int) -> float:
        return 1.0 if self.jobs.value is None else float(self.jobs.value[row])

    def home(self, row: int) -> frozenset[int]:
        return frozenset() if self.jobs.home is None else frozenset(self.jobs.home.row(row).tolist())

    def expected(self, row: int) -> int:
        believed = self.jobs.service if self.jobs.estimate is None else self.jobs.estimate
        return max(round(float(believed[row])), 1)

    def mates(self, row: int) -> list[int]:
        return [other for other in self.rows if self.job(other) == self.job(row)]

    @cache  # noqa: B019
    def waits_for(self, row: int) -> frozenset[int]:
        own = set() if self.jobs.predecessors is None else set(self.jobs.predecessors.row(row).tolist())
        return frozenset(own | {other for other in self.mates(row) if self.phase(other) < self.phase(row)})

    @cache  # noqa: B019
    def path(self, row: int) -> int:
        behind = [self.path(other) for other in self.rows if row in self.waits_for(other)]
        return self.expected(row) + max(behind, default=0)

    # the moment

    def completed(self, row: int) -> bool:
        return bool(self.start[row] >= 0 and self.end[row] <= self.slot)

    def runs(self, row: int) -> bool:
        return bool(self.start[row] >= 0 and self.end[row] > self.slot)

    def waits(self, row: int) -> bool:
        arrived = self.jobs.arrival[row] <= self.slot
        return bool(arrived and self.start[row] < 0 and all(self.completed(other) for other in self.waits_for(row)))

    def free(self, server: int) -> Any:
        return self.capacity[server] - sum((self.jobs.demand[row] for row in self.on(server)), 0 * self.capacity[0])

    def work_left(self, row: int) -> int:
        return sum(self.rate(mate) * self.slots_left(mate) for mate in self.mates(row) if not self.completed(mate))

    def rate(self, row: int) -> int:
        largest = self.capacity.max(axis=0)
        return round(PER_SLOT * sum(d / (c or 1) for d, c in zip(self.jobs.demand[row], largest, strict=True)))

    def slots_left(self, row: int) -> int:
        return self.expected(row) if self.start[row] < 0 else max(self.expected_end(row) - self.slot, 0)

    def expected_end(self, row: int) -> int:
        longer = int(self.end[row] - self.start[row] - self.jobs.service[row])  # reading over the network
        return int(self.start[row]) + self.expected(row) + longer

    def first_room(self, row: int, server: int) -> float:
        """The first slot in which the row is expected to have room on a server; infinity if there is none."""
        ends = {other: max(self.expected_end(other), self.slot + 1) for other in self.on(server)}
        for slot in sorted({self.slot, *ends.values()}):
            free = self.capacity[server] - sum(
                (self.jobs.demand[other] for other, end in ends.items() if end > slot), 0 * self.capacity[0]
            )
            if (self.jobs.demand[row] <= free).all():
                return slot
        return math.inf

    def on(self, server: int) -> list[int]:
        return [row for row in self.rows if self.runs(row) and self.server[row] == server]

    def groups(self) -> list[list[int]]:
        found: dict[Any, list[int]] = {}
        for row in self.rows:
            if self.waits(row):
                alike = self.job(row), self.phase(row), self.expected(row), self.path(row), tuple(self.jobs.demand[row])
                found.setdefault((*alike, self.home(row) if self.by_data else None), []).append(row)
        return list(found.values())

    def offered(self, server: int) -> list[list[int]]:
        fitting = [group for group in self.groups() if (self.jobs.demand[group[0]] <= self.free(server)).all()]
        return sorted(fitting, key=lambda group: (self.distance(group, server), self.work_left(group[0]), group[0]))

    def distance(self, group: list[int], server: int) -> float:
        return -sum(self.near(self.nearest(group, server), server))

    # the observation

    def actions(self, server: int, window: int, passing: bool) -> Any:
        groups = self.offered(server)[:window]
        wanted = np.zeros((window + 1, 29))
        wanted[window, :2] = passing, 1
        tasks = sum(map(len, groups))
        open_jobs = self.unfinished()

        def mean(of: Any) -> float:
            return float(sum(len(group) * of(group[0]) for group in groups)) / tasks

        def relative(of: Any, row: int) -> float:
            return float(of(row) / mean(of)) if mean(of) > 0 else 1.0

        for n, group in enumerate(groups):
            row, left = group[0], sum(not self.completed(mate) for mate in self.mates(group[0]))
            stage = [mate for mate in self.mates(row) if self.phase(mate) == self.phase(row)]
            after = [(f - d) / c for d, f, c in self.by_resource(row, server)]
            a, p = relative(lambda r: self.alignment(r, server), row), relative(self.work_left, row)
            waiting_owners = {self.owner(other) for other in self.rows if self.waits(other)}
            value = mean(lambda r: abs(self.value(r)))
            wanted[n] = [
                *(1, 0, a, p, log(p), log(a), log(relative(self.path, row)), log(relative(self.expected, row))),
                log(relative(self.age, row)),
                log(relative(lambda r: self.scarcity(r, server), row)),
                self.left_scarcest(row, server),
                max(d / f for d, f, c in self.by_resource(row, server) if d > 0),
                max(d / c for d, f, c in self.by_resource(row, server)),
                min(after),
                sum(after) / len(after),
                log_count(len(group)),
                log_count(sum(self.runs(mate) for mate in self.mates(row))),
                sum(self.completed(mate) for mate in stage) / len(stage),
                len(group) / left,
                log_count(self.share(self.owner(row)) * len(waiting_owners)),
                self.value(row) / value if value > 0 else 1.0,
                *self.near(self.nearest(group, server), server),
                log(relative(self.bottleneck, row)),
                log(relative(self.scarce_work, row)),
                self.path(row) / max(self.path(other[0]) for other in groups if self.job(other[0]) == self.job(row)),
                log(self.work_left(row) * len(open_jobs) / sum(map(self.work_left, open_jobs))),
                *self.away(self.nearest(group, server), server),
            ]
        return np.clip(wanted, -32, 32)

    def context(self, server: int, window: int) -> list[float]:
        fitting = len(self.offered(server))
        total = self.capacity.sum(axis=0)
        used = total - sum(self.free(s) for s in range(len(self.capacity)))
        shares = [1 - used[r] / total[r] for r in self.resources if total[r] > 0]
        own = [f / c for f, c in zip(self.free(server), self.capacity[server], strict=True) if c > 0]
        waiting = sum(self.waits(row) for row in self.rows) / len(self.capacity)
        return [
            *(log_count(fitting), log_count(max(fitting - window, 0)), log_count(len(self.unfinished())), log_count(waiting)),
            *(sum(shares) / len(shares), sum(own) / len(shares), min([1.0, *own])),
            *self.blocked(server),
        ]

    def unfinished(self) -> list[int]:
        """A row of each job that has arrived and not ended."""
        arrived = {self.job(row): row for row in self.rows if self.jobs.arrival[row] <= self.slot}
        return [row for row in arrived.values() if any(not self.completed(mate) for mate in self.mates(row))]

    def blocked(self, server: int) -> tuple[float, float]:
        foremost = min(self.groups(), key=lambda group: (self.work_left(group[0]), group[0]))[0]
        lacking = self.jobs.demand[foremost] - self.free(server)
        most = max([0.0, *(lacking[r] / max(self.capacity[server][r], 1) for r in self.resources)])
        return float(most > 0), min(most, 32.0)

    def not_started(self, row: int) -> list[float]:
        """What the job's tasks that have not started need, by resource of the cluster: slots of all servers together."""
        total = self.capacity.sum(axis=0)
        rows = [mate for mate in self.mates(row) if self.start[mate] < 0]
        needed = sum((self.jobs.demand[mate] * self.expected(mate) for mate in rows), 0 * total)
        return [float(needed[r] / total[r]) if total[r] > 0 else 0.0 for r in self.resources]

    def bottleneck(self, row: int) -> float:
        return max(self.not_started(row))

    def scarce_work(self, row: int) -> float:
        return sum(own * scarce for own, scarce in zip(self.not_started(row), self.backlog(), strict=True))

    def by_resource(self, row: int, server: int) -> list[tuple[float, float, float]]:
        columns = zip(self.jobs.demand[row], self.free(server), self.capacity[server], strict=True)
        return [(float(d), float(f), float(c)) for d, f, c in columns if c > 0]

    def alignment(self, row: int, server: int) -> float:
        return sum((d / c) * (f / c) for d, f, c in self.by_resource(row, server))

    def backlog(self) -> Any:
        total = self.capacity.sum(axis=0)
        rows = [row for row in self.rows if self.jobs.arrival[row] <= self.slot and self.start[row] < 0]
        needed = sum((self.jobs.demand[row] * self.expected(row) for row in rows), 0 * total)
        return [float(needed[r] / total[r]) if total[r] > 0 else 0.0 for r in self.resources]

    def scarcity(self, row: int, server: int) -> float:
        demand, capacity = self.jobs.demand[row], self.capacity[server]
        return sum(self.backlog()[r] * float(demand[r] / capacity[r]) for r in self.resources if capacity[r] > 0)

    def left_scarcest(self, row: int, server: int) -> float:
        here = [r for r in self.resources if self.capacity[server][r] > 0]
        scarcest = max(here, key=lambda r: (self.backlog()[r], -r))
        return float((self.free(server)[scarcest] - self.jobs.demand[row][scarcest]) / self.capacity[server][scarcest])

    def age(self, row: int) -> int:
        return self.slot - min(int(self.jobs.arrival[mate]) for mate in self.mates(row)) + 1

    def share(self, owner: Any) -> float:
        own = [self.jobs.demand[row] for row in self.rows if self.runs(row) and self.owner(row) == owner]
        used = sum(own, 0 * self.capacity[0])
        total = self.capacity.sum(axis=0)
        return max(float(used[r] / total[r]) for r in self.resources if total[r] > 0)

    def nearest(self, group: list[int], server: int) -> int:
        """The task that starts: at home, or else in the rack, or else any; of those the earliest."""
        return max(group, key=lambda row: (self.near(row, server), -row))

    def near(self, row: int, server: int) -> tuple[float, float]:
        home = self.home(row)
        here = not home or server in home
        rack = self.racks is not None and any(self.racks[other] == self.racks[server] for other in home)
        return float(here), float(here or rack)

    def away(self, row: int, server: int) -> tuple[float, float]:
        """What the row costs away from its data, and what it would wait for them."""
        here, in_rack = self.near(row, server)
        if here:
            return 0.0, 0.0
        factor = ([1.0] + [factor for since, factor in self.network.factor if since <= self.slot])[-1]
        overhead = 0 if self.jobs.remote_overhead is None else float(self.jobs.remote_overhead[row])
        longer = round(overhead * factor * (self.network.same_rack if in_rack else 1.0))
        wait = min(self.first_room(row, other) for other in self.home(row)) - self.slot
        return math.log1p(longer / self.expected(row)), math.log1p(wait / self.expected(row)) if wait < math.inf else 5.0


def log(ratio: float) -> float:
    return math.log(max(ratio, LOWEST))


def log_count(n: float) -> float:
    return math.log(1 + n) / 5
