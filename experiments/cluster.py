"""What a Ray cluster costs: the driver's time for a piece of work, memory with many pieces, and the efficiency to expect.

Measures pieces that do nothing on a cluster of two processes on this machine, and simulates clusters of many cores whose driver
hands out pieces one after the other. Writes cluster.png, and prints the measurements. Needs the extra `ray`.
"""

from __future__ import annotations

import heapq
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure

from experiments.script_options import options_of
from packenv.executors.local import RAY, executor
from packenv.executors.pieces import PIECE, Pieces
from packenv.files import atomic_path

CORES = (1, 3, 10, 30, 100, 300, 1000, 3000)
HOURS = 0.25  # of work for each core
LENGTHS = (0.1, 0.5, PIECE, 10.0)  # seconds
MB = 2**20


class Measured(NamedTuple):
    """On one cluster."""

    processor: float  # seconds of the driver's processor time for a piece
    latency: float  # seconds from handing out a single piece until its outcome is there
    memory: list[tuple[int, float, float]]  # after so many pieces: MB of the driver, and of the largest worker


def own_kind(number: int) -> int:
    """Every item is of its own kind, so each becomes a piece of its own."""
    return number


def memory_of(process: int) -> float:
    """MB that a process has in memory and shares with no file."""
    pages = Path(f"/proc/{process}/statm").read_text().split()
    return (int(pages[1]) - int(pages[2])) * os.sysconf("SC_PAGE_SIZE") / MB


def measure(number: int) -> Measured:
    """So many pieces that do nothing."""
    memory = []
    with executor(RAY, 2) as cluster:
        pieces = Pieces(cluster)
        list(pieces.each(int, range(200), own_kind))  # the workers start
        workers = {cluster.submit(os.getpid).result() for _ in range(20)}
        latencies = []
        for _ in range(100):
            began = time.perf_counter()
            cluster.submit(os.getpid).result()
            latencies.append(time.perf_counter() - began)
        began = time.process_time()
        for done, outcome in enumerate(pieces.each(int, range(number), own_kind), 1):
            assert outcome.value == outcome.number
            if done % (number // 5) == 0:
                memory.append((done, memory_of(os.getpid()), max(map(memory_of, workers))))
                pieces.seconds.clear()  # kinds are few in use, and each item has one of its own here
        return Measured((time.process_time() - began) / number, float(np.median(latencies)), memory)


def efficiency(cores: int, length: float, found: Measured) -> float:
    """The share of the cores' time that is spent on work: pieces of about `length` seconds, handed out one at a time.

    A core waits for its next piece until the driver has come to it, and for the latency where the driver had none ready.
    """
    rng = np.random.default_rng(0)
    pieces = rng.exponential(length, round(HOURS * 3600 * cores / length)) * 0.5 + length * 0.5
    free = [0.0] * cores
    driver = 0.0
    for piece in pieces:
        idle_from = heapq.heappop(free)
        driver = max(driver, idle_from - found.latency) + found.processor
        begins = max(idle_from, driver) + (found.latency if driver > idle_from else 0.0)
        heapq.heappush(free, begins + piece)
    return float(pieces.sum() / (cores * max(free)))


def main(arguments: Sequence[str] | None = None) -> None:
    options = options_of(__doc__, arguments)
    found = measure(2_000 if options.quick else 100_000)
    print(f"a piece: {1000 * found.processor:.2f} ms of the driver's processor time, back after {1000 * found.latency:.1f} ms")
    for done, driver, worker in found.memory:
        print(f"after {done:,} pieces: driver {driver:.0f} MB, worker {worker:.0f} MB")
    cores = CORES[:5] if options.quick else CORES
    figure = Figure((6, 4), layout="constrained")
    axes = figure.subplots()
    for length in LENGTHS:
        shares = [efficiency(number, length, found) for number in cores]
        name = f"pieces of {length:g} s{' (packenv)' if length == PIECE else ''}"
        axes.semilogx(cores, shares, marker="o", label=name)
        print(f"{name}: " + ", ".join(f"{number} cores {share:.1%}" for number, share in zip(cores, shares, strict=True)))
    axes.set(xlabel="cores", ylabel="efficiency", ylim=(0, 1.02), title="Expected on a cluster, by measured costs of a piece")
    axes.legend()
    with atomic_path(options.folder / "cluster.png") as path:
        figure.savefig(path, dpi=120)


if __name__ == "__main__":
    main()
