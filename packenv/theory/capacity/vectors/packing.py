"""Servers filled with demand vectors: by what is left to pack, or by what the vectors are worth."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np

from packenv.compiled.decorators import compiled
from packenv.theory.capacity.certificate import Configuration
from packenv.theory.capacity.columns import Columns, Floats, Ints
from packenv.theory.capacity.vectors.certificate import Boxes
from packenv.theory.capacity.vectors.law import VectorKinds

JOBS = 50_000  # to pack
SURPLUS = 1e-6  # by which a share may be missed, so that rounding does not add a job of every kind


def packing(boxes: Ints, shares: Floats, kinds: VectorKinds, scales: Floats) -> Boxes:
    """Jobs in these shares, packed into server after server of all kinds in turn: always the box (n, D) that is most like
    the room that is left, by the product with it, each resource counted by `scales` (D,)."""
    jobs = len(boxes) * max(1, round(JOBS / len(boxes)))
    left = np.ceil(jobs * shares * (1 - SURPLUS)).astype(np.int64)
    together = math.gcd(*kinds.number.tolist())
    kind = np.repeat(np.arange(len(kinds.number)), kinds.number // together).tolist()
    found: Counter[tuple[int, bytes]] = Counter()
    rounds, held = 0, np.zeros(len(boxes), np.int64)
    while left.any():
        before = left.sum()
        for k in kind:
            held[:] = 0
            fill(boxes, kinds.capacity[k].copy(), left, scales, held)
            found[k, held.tobytes()] += together
        rounds += 1
        if left.sum() == before:
            raise ValueError("a box fits no server")
    configurations = []
    for (k, contents), servers in found.items():
        counts = np.frombuffer(contents, np.int64)
        where = np.flatnonzero(counts)
        configurations.append(Configuration(k, tuple(zip(where.tolist(), counts[where].tolist(), strict=True)), servers))
    return Boxes(tuple(map(tuple, boxes.tolist())), tuple(configurations), rounds)


def columns_of(packed: Boxes) -> Columns:
    """Its configurations."""
    held = np.zeros((len(packed.configurations), len(packed.boxes)))
    for n, one in enumerate(packed.configurations):
        for j, count in one.held:
            held[n, j] = count
    return Columns(held, np.array([one.kind for one in packed.configurations], np.int64))


def valuable(boxes: Ints, kinds: VectorKinds, prices: Floats) -> tuple[Floats, Columns]:
    """The largest worth that was found on each kind of server, not the largest there is, and configurations: one that
    begins with each box on each kind of server that it fits."""
    held, kind = [], []
    worth = np.zeros(len(kinds.number))
    for k, capacity in enumerate(kinds.capacity):
        for j in np.flatnonzero((boxes <= capacity).all(axis=1)).tolist():
            one = np.zeros(len(boxes), np.int64)
            one[j] = 1
            fill_by_worth(boxes, prices, capacity - boxes[j], one)
            held.append(one)
            kind.append(k)
            worth[k] = max(worth[k], one @ prices)
    return worth, Columns(np.array(held, np.float64), np.array(kind, np.int64))


@compiled
def fill(boxes: Ints, room: Ints, left: Ints, scales: Floats, held: Ints) -> None:
    """Move boxes from `left` to `held` until none fits in the room."""
    while True:
        best, most = -1, -1.0
        for j in range(boxes.shape[0]):
            if left[j] > 0:
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
        left[best] -= 1
        held[best] += 1
        for r in range(room.shape[0]):
            room[r] -= boxes[best, r]


@compiled
def fill_by_worth(boxes: Ints, prices: Floats, room: Ints, held: Ints) -> None:
    """Add boxes, always that which is worth most for its shares of the room that is left, until none of worth fits."""
    while True:
        best, most = -1, 0.0
        for j in range(boxes.shape[0]):
            taken = 0.0
            for r in range(room.shape[0]):
                if boxes[j, r] > room[r]:
                    taken = -1.0
                    break
                if boxes[j, r] > 0:
                    taken += boxes[j, r] / room[r]
            if taken > 0 and prices[j] / taken > most:
                best, most = j, prices[j] / taken
        if best < 0:
            return
        held[best] += 1
        for r in range(room.shape[0]):
            room[r] -= boxes[best, r]
