"""Jobs that read blocks of data on a few servers (PAPERS §5).

They are drawn by seed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from packenv.errors import InputError
from packenv.jobs import Jobs, Ragged
from packenv.workloads.network import Network
from packenv.workloads.workload import Workload

Ints = NDArray[np.int64]
Bins = tuple[tuple[int, float], ...]

COPIES = 3
FACEBOOK: Bins = ((1, 0.39), (2, 0.16), (10, 0.14), (50, 0.09), (100, 0.06), (200, 0.06), (400, 0.04), (800, 0.04))
"""Number of tasks of a job, and its share of the jobs: about table 1 of Zaharia et al., EuroSys 2010, without its largest bin."""

SLOT_SECONDS = 0.1
SECONDS, SPREAD = 20.0, 0.5  # mean service of a task at home; all services differ from it by at most this share
OVERHEAD = 8.0  # seconds that a task takes longer away from home
SWINGS = tuple((600.0 * k, (0.1, 3.0)[k % 2]) for k in range(200))
"""Every ten minutes the network becomes thirty times slower, or as fast as before."""


def replicas(random: np.random.Generator, blocks: int, servers: int, rack: int = 0, copies: int = COPIES) -> Ints:
    """Draw (blocks, copies) distinct servers that hold each block.

    There are `copies`, or all servers if they are fewer. Without racks every set of servers is equally likely. With racks of
    `rack` (> 1) servers the first of three copies is on any server, and the others on two servers of another rack, like in HDFS.
    """
    racks = servers // rack if rack > 1 and copies == COPIES else 0  # an incomplete last rack gets first copies only
    if racks > 1:
        # The first copy on any server, the others on two servers of another rack.
        first = random.integers(0, servers, blocks)
        first_rack = np.minimum(first // rack, racks)
        second_rack = random.integers(0, racks - (first_rack < racks), blocks)
        second_rack += (second_rack >= first_rack) & (first_rack < racks)
        second = random.integers(0, rack, blocks)
        third = (second + random.integers(1, rack, blocks)) % rack
        return np.column_stack([first, second_rack * rack + second, second_rack * rack + third])
    # Without racks: distinct servers, one copy after another.
    copies = min(copies, servers)
    holders = random.integers(0, servers, (blocks, 1))
    for n in range(1, copies):
        place = random.integers(0, servers - n, (blocks, 1))
        for holder in np.sort(holders, axis=1).T:  # the place-th server that is not taken yet
            place += place >= holder[:, None]
        holders = np.hstack([holders, place])
    return holders


def lists(rows: Ints) -> Ragged:
    """Turn an array (n, k) into one list per row."""
    return Ragged(np.arange(len(rows) + 1, dtype=np.int64) * rows.shape[1], rows.ravel())


@dataclass(frozen=True)
class Readers:
    """Function from a seed to tasks that read blocks.

    Servers have capacity 1, and a task takes 1 / `places` of it. `bins` are numbers of tasks of a job, and their weights. Each
    task reads its own block, or the k-th of `blocks` with a probability in proportion to 1 / k^`skew` (Zipf).
    Raises InputError for numbers out of range.
    """

    jobs: int
    servers: int
    intensity: float  # work at home / capacity of the servers while jobs arrive; 0: all arrive in slot 0
    bins: Bins = FACEBOOK
    places: int = 1
    rack: int = 0  # servers in a rack; 0: no racks
    overhead: float = OVERHEAD
    copies: int = COPIES  # of each block
    blocks: int = 0  # distinct blocks; 0: one for each task
    skew: float = 0.0  # 0: all blocks are read equally often

    def __post_init__(self) -> None:
        if self.copies < 1 or self.blocks < 0 or not 0 <= self.skew < math.inf:
            raise InputError(f"needs copies >= 1, blocks >= 0 and skew >= 0, not {self.copies}, {self.blocks} and {self.skew}")

    def __call__(self, seed: int) -> Jobs:
        random = np.random.Generator(np.random.Philox(seed))
        sizes, weights = (np.array(column) for column in zip(*self.bins, strict=True))
        tasks = random.choice(sizes.astype(np.int64), self.jobs, p=weights / weights.sum())
        job = np.repeat(np.arange(self.jobs), tasks)
        mean = SECONDS / SLOT_SECONDS
        service = np.rint(mean * random.uniform(1 - SPREAD, 1 + SPREAD, len(job)))
        gaps = random.exponential(size=self.jobs)
        span = service.sum() / (self.servers * self.places * self.intensity) if self.intensity else 0.0
        arrival = np.floor((np.cumsum(gaps) - gaps[0]) / gaps.sum() * span)
        return Jobs.of(
            arrival[job],
            np.full(len(job), 1 / self.places),
            service,
            job=job,
            home=lists(self.homes(random, len(job))),
            remote_overhead=np.full(len(job), round(self.overhead / SLOT_SECONDS)),
        )

    def homes(self, random: np.random.Generator, tasks: int) -> Ints:
        """Draw the servers (tasks, copies) with the block of each task."""
        place = replicas(random, self.blocks or tasks, self.servers, self.rack, self.copies)
        if self.blocks == 0:
            return place
        weight = np.arange(1, self.blocks + 1) ** -self.skew
        return place[random.choice(self.blocks, tasks, p=weight / weight.sum())]


@dataclass(frozen=True)
class HeadOfLine:
    """Function from a seed to successive jobs of reading tasks.

    One additional job, whose many tasks read nothing, keeps the cluster full. Services are geometric, so at any time every server
    is equally likely to become free next: the setting of the closed form for locality (PAPERS §5).
    """

    jobs: int
    servers: int
    tasks: int = 20

    def __call__(self, seed: int) -> Jobs:
        random = np.random.Generator(np.random.Philox(seed))
        slots = 1.5 * self.servers  # between jobs; enough servers become free in that time
        mean = self.servers / 2.0
        tasks = self.jobs * self.tasks
        filler = int(1.3 * self.jobs * slots * self.servers / mean)
        service = random.geometric(1 / mean, filler + tasks)
        arrival = np.append(np.zeros(filler), np.repeat(np.arange(1, self.jobs + 1) * slots, self.tasks))
        homes = replicas(random, tasks, self.servers)
        offsets = np.append(np.zeros(filler, np.int64), np.arange(tasks + 1) * homes.shape[1])
        return Jobs.of(
            arrival,
            np.ones(filler + tasks),
            service,
            job=np.append(np.zeros(filler, np.int64), np.repeat(np.arange(1, self.jobs + 1), self.tasks)),
            home=Ragged(offsets, homes.ravel()),
        )


@dataclass(frozen=True, eq=False)
class Placed:
    """Function from a seed to the same table with drawn home servers.

    All tasks that read the same block have the same home servers.
    """

    table: Jobs
    blocks: Ints  # (n,) number of the block that each task reads; negative: none
    servers: int
    rack: int = 0

    def __call__(self, seed: int) -> Jobs:
        random = np.random.Generator(np.random.Philox(seed))
        place = replicas(random, int(self.blocks.max(initial=-1)) + 1, self.servers, self.rack)
        reads = self.blocks >= 0
        offsets = np.append(0, np.cumsum(reads * place.shape[1]))
        return replace(self.table, home=Ragged(offsets, place[self.blocks[reads]].ravel()))


def readers(
    servers: int = 100, rack: int = 0, factor: tuple[tuple[float, float], ...] = (), name: str = "delay", **of: float
) -> Workload:
    """Return jobs of Facebook's sizes, on servers for one task each.

    `factor` are changes of the network's speed (`Network`), `of` additional arguments of `Readers`. Raises InputError.
    """
    if rack < 0 or servers < 1:
        raise InputError(f"needs servers >= 1 and rack >= 0, not {servers} and {rack}")
    options = {"jobs": 300, "intensity": 0.8} | of
    return Workload(
        jobs=Readers(servers=servers, rack=rack, **options),  # type: ignore[arg-type]
        servers=servers,
        network=Network(racks=rack, factor=factor),
        slot_seconds=SLOT_SECONDS,
        name=name,
    )


def hot(factor: tuple[tuple[float, float], ...] = ()) -> Workload:
    """Return `readers` of 2,000 blocks: one task in twelve reads the hottest."""
    return readers(factor=factor, blocks=2000, skew=0.9)


def changing() -> Workload:
    """Return `readers` on a network whose speed changes."""
    return readers(factor=SWINGS)


def hot_changing() -> Workload:
    """Return `hot` on a network whose speed changes."""
    return hot(factor=SWINGS)


def head_of_line(servers: int, jobs: int) -> Workload:
    """Return the setting of the closed form for locality (PAPERS §5)."""
    return Workload(jobs=HeadOfLine(jobs, servers), servers=servers, slot_seconds=1.0, name=f"head of line, {servers} servers")
