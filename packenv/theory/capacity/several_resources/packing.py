"""Fillings of servers with boxes: greedy, or the most valuable."""

from __future__ import annotations

import math
from collections import Counter

import highspy
import numpy as np

from packenv.compiled.decorators import compiled
from packenv.theory.capacity.linear_program import ConfigurationColumns, Floats, Ints, QuietHighs
from packenv.theory.capacity.one_resource.certificate import ServerConfiguration
from packenv.theory.capacity.several_resources.certificate import Boxes
from packenv.theory.capacity.several_resources.demand_law import VectorKinds

TASKS = 50_000  # tasks to pack
SURPLUS = 1e-6  # a share may be missed by this much, so that rounding up does not add a task of every box


def packing(boxes: Ints, shares: Floats, kinds: VectorKinds, scales: Floats) -> Boxes:
    """Pack tasks in shares (n,) by largest inner product with the room."""
    tasks = len(boxes) * max(1, round(TASKS / len(boxes)))
    remaining = np.ceil(tasks * shares * (1 - SURPLUS)).astype(np.int64)
    # Kinds in turn, in proportion to their servers.
    together = math.gcd(*kinds.number.tolist())
    kind = np.repeat(np.arange(len(kinds.number)), kinds.number // together).tolist()
    copies: Counter[tuple[int, bytes]] = Counter()
    rounds, counts = 0, np.zeros(len(boxes), np.int64)
    # Fill servers until all tasks are packed; equal fillings are counted.
    while remaining.any():
        before = remaining.sum()
        for k in kind:
            counts[:] = 0
            fill(boxes, kinds.capacity[k].copy(), remaining, scales, counts)
            copies[k, counts.tobytes()] += together
        rounds += 1
        if remaining.sum() == before:
            raise ValueError("a box fits no server")
    # Write the fillings as configurations of a proof.
    configurations = []
    for (k, contents), servers in copies.items():
        counts = np.frombuffer(contents, np.int64)
        where = np.flatnonzero(counts)
        configurations.append(ServerConfiguration(k, tuple(zip(where.tolist(), counts[where].tolist(), strict=True)), servers))
    return Boxes(tuple(map(tuple, boxes.tolist())), tuple(configurations), rounds)


def columns_of(packed: Boxes) -> ConfigurationColumns:
    """Return a packing's configurations as columns of the linear program."""
    counts = np.zeros((len(packed.configurations), len(packed.boxes)))
    for n, configuration in enumerate(packed.configurations):
        for j, count in configuration.held:
            counts[n, j] = count
    return ConfigurationColumns(counts, np.array([configuration.kind for configuration in packed.configurations], np.int64))


def valuable(boxes: Ints, kinds: VectorKinds, prices: Floats) -> tuple[Floats, ConfigurationColumns]:
    """(G,) worth found (a lower bound), with configurations begun by each box."""
    counts, kind = [], []
    worth = np.zeros(len(kinds.number))
    for k, capacity in enumerate(kinds.capacity):
        for j in np.flatnonzero((boxes <= capacity).all(axis=1)).tolist():
            filling = np.zeros(len(boxes), np.int64)
            filling[j] = 1
            fill_by_worth(boxes, prices, capacity - boxes[j], filling)
            counts.append(filling)
            kind.append(k)
            worth[k] = max(worth[k], filling @ prices)
    return worth, ConfigurationColumns(np.array(counts, np.float64), np.array(kind, np.int64))


@compiled
def fill(boxes: Ints, room: Ints, remaining: Ints, scales: Floats, counts: Ints) -> None:
    """Move boxes to `counts`, the most like the room first."""
    while True:
        best, most = -1, -1.0
        for j in range(boxes.shape[0]):
            if remaining[j] > 0:
                likeness = 0.0
                for r in range(room.shape[0]):
                    if boxes[j, r] > room[r]:
                        likeness = -1.0
                        break
                    likeness += boxes[j, r] * scales[r] * room[r]
                if likeness > most:
                    best, most = j, likeness
        if best < 0:
            return
        remaining[best] -= 1
        counts[best] += 1
        for r in range(room.shape[0]):
            room[r] -= boxes[best, r]


@compiled
def fill_by_worth(boxes: Ints, prices: Floats, room: Ints, counts: Ints) -> None:
    """Add boxes by price per share of free room."""
    while True:
        best, most = -1, 0.0
        for j in range(boxes.shape[0]):
            share = 0.0
            for r in range(room.shape[0]):
                if boxes[j, r] > room[r]:
                    share = -1.0
                    break
                if boxes[j, r] > 0:
                    share += boxes[j, r] / room[r]
            if share > 0 and prices[j] / share > most:
                best, most = j, prices[j] / share
        if best < 0:
            return
        counts[best] += 1
        for r in range(room.shape[0]):
            room[r] -= boxes[best, r]


ABOUT = 1e-4  # relative gap: a configuration may be worth this much less than the best one
SECONDS = 2.0  # for one configuration


class IntegerPricing:
    """Configurations of `boxes` (n, D), best and `valuable`."""

    def __init__(self, boxes: Ints, kinds: VectorKinds) -> None:
        self.boxes, self.kinds = boxes, kinds
        self.solvers = [self._solver(capacity) for capacity in kinds.capacity]

    def _solver(self, capacity: Ints) -> highspy.Highs:
        highs = QuietHighs()
        options = {"output_flag": False, "threads": 1, "mip_rel_gap": ABOUT, "time_limit": SECONDS}
        for name, value in options.items():
            highs.setOptionValue(name, value)
        scale = np.maximum(capacity, 1)
        resources, count = self.boxes.shape[1], len(self.boxes)
        free, none, nothing = np.full(resources, -highspy.kHighsInf), np.zeros(resources, np.int32), np.zeros(0)
        highs.addRows(resources, free, capacity / scale, 0, none, nothing, nothing)
        rows = np.tile(np.arange(resources, dtype=np.int32), count)
        starts = np.arange(0, count * resources, resources, dtype=np.int32)
        most = np.where((self.boxes <= capacity).all(axis=1), highspy.kHighsInf, 0.0)
        highs.addCols(count, np.zeros(count), np.zeros(count), most, len(rows), starts, rows, (self.boxes / scale).ravel())
        highs.changeColsIntegrality(count, np.arange(count, dtype=np.int32), np.full(count, highspy.HighsVarType.kInteger))
        return highs

    def __call__(self, prices: Floats) -> tuple[Floats, ConfigurationColumns]:
        """(G,) largest worth found, and configurations near it."""
        worth, columns = valuable(self.boxes, self.kinds, prices)
        counts, kind = [columns.counts], [columns.kind]
        every = np.arange(len(prices), dtype=np.int32)
        for k, highs in enumerate(self.solvers):
            highs.changeColsCost(len(prices), every, -prices)
            highs.run()
            best = np.round(np.array(highs.getSolution().col_value))
            if (best @ self.boxes <= self.kinds.capacity[k]).all() and best @ prices > worth[k]:
                worth[k] = best @ prices
                counts.append(best[None])
                kind.append(np.array([k]))
        return worth, ConfigurationColumns(np.concatenate(counts), np.concatenate(kind))
