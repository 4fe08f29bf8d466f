"""How much of the devices any policy could allocate, even one that may choose among the pods: a linear program.

Variables are how many pods of each shape run on each kind of node, and how often a device holds each set of shares. A kind of
node has so much cpu, memory and devices in all, and a pod of g devices runs ⌊m / g⌋ times at most on a node of m. Sets of shares
are found as they are needed (Gilmore and Gomory, Operations Research 1961): a knapsack a kind of node.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from experiments.fgd.engine import Nodes
from packenv.policies.gpus.fragmentation import WHOLE
from packenv.policies.gpus.ranking import GpuRequests

Floats = NDArray[np.float64]
CLOSE = 1e-7  # milli of a set's worth for which no better one is looked for


class Program:
    """The program for the nodes of one cluster and the needs of one list, by how many pods of each need there are."""

    def __init__(self, nodes: Nodes, requests: GpuRequests) -> None:
        self.requests = requests
        table = np.column_stack([nodes.free, nodes.devices, nodes.kind])
        self.kinds, self.number = np.unique(table, axis=0, return_counts=True)
        self.shares = np.flatnonzero((requests.share > 0) & (requests.share < WHOLE))
        self.columns: list[dict[int, float]] = []
        self.worth: list[float] = []
        self.n = len(requests.share)
        for k, (cpu, memory, devices, kind) in enumerate(self.kinds):
            fits = (requests.demand <= (cpu, memory)).all(axis=1) & ((requests.share == 0) | (requests.kinds & kind > 0))
            for request in np.flatnonzero(fits & (requests.share == WHOLE) & (requests.count <= devices)):
                self._add(k, {int(request): 1}, requests.count[request], devices // requests.count[request])
            for request in np.flatnonzero(fits & (requests.share > 0) & (requests.share < WHOLE)):
                self._add(k, {int(request): 1}, 1, 0)

    def rows(self, k: int) -> tuple[int, int, int]:
        """The rows of a kind of node: cpu, memory, devices. Before them there is one for each need."""
        first = self.n + 3 * k
        return first, first + 1, first + 2

    def _add(self, k: int, pods: dict[int, int], devices: int, most: int) -> None:
        """A column: these pods together on `devices` devices of a node of kind k; `most` of them on one node, 0: one a device."""
        cpu, memory, room = self.rows(k)
        per_node = self.kinds[k][2]
        column = {request: float(number) for request, number in pods.items()}
        column[cpu] = float(sum(number * self.requests.demand[request, 0] for request, number in pods.items()))
        column[memory] = float(sum(number * self.requests.demand[request, 1] for request, number in pods.items()))
        column[room] = per_node / most if most else float(devices)
        self.columns.append(column)
        self.worth.append(
            float(sum(number * self.requests.share[request] * self.requests.count[request] for request, number in pods.items()))
        )

    def most(self, pods: Floats) -> float:
        """The milli that can be allocated of `pods` (N,) of each need; those without devices are left out."""
        if not self.columns:
            return 0.0
        limit = np.concatenate([pods, (self.number[:, None] * self.kinds[:, :3]).ravel()])
        while True:
            matrix = np.zeros((len(limit), len(self.columns)))
            for j, column in enumerate(self.columns):
                matrix[list(column), j] = list(column.values())
            scale = np.maximum(limit, 1)
            found = linprog(-np.array(self.worth), A_ub=matrix / scale[:, None], b_ub=limit / scale, method="highs")
            price = -found.ineqlin.marginals / scale
            if sum(self._price(k, price) for k in range(len(self.kinds))) == 0:
                return float(-found.fun)

    def _price(self, k: int, price: Floats) -> bool:
        """Add the set of shares that is worth most at these prices to a device of kind k, if it is worth more than a device."""
        cpu, memory, room = self.rows(k)
        gain = self.requests.share - price[: self.n] - self.requests.demand @ price[[cpu, memory]]
        able = (self.requests.demand <= self.kinds[k][:2]).all(axis=1) & (self.requests.kinds & self.kinds[k][3] > 0) & (gain > 0)
        items = [int(request) for request in self.shares if able[request]]
        best_of = {int(self.requests.share[request]): request for request in sorted(items, key=lambda request: gain[request])}
        if not best_of:
            return False
        step = int(np.gcd.reduce([*best_of, WHOLE]))
        weights = np.array(sorted(best_of)) // step
        gains = np.array([gain[best_of[int(w * step)]] for w in weights])
        worth, last = np.zeros(WHOLE // step + 1), np.full(WHOLE // step + 1, -1)
        for room_left in range(1, len(worth)):
            worth[room_left] = worth[room_left - 1]
            usable = weights <= room_left
            values = worth[room_left - weights[usable]] + gains[usable]
            if len(values) and values.max() > worth[room_left]:
                worth[room_left], last[room_left] = values.max(), int(values.argmax())
        if worth[-1] <= price[room] + CLOSE:
            return False
        pods: dict[int, int] = {}
        at = len(worth) - 1
        while at > 0:
            if last[at] < 0:
                at -= 1
                continue
            request = best_of[int(weights[last[at]] * step)]
            pods[request] = pods.get(request, 0) + 1
            at -= weights[last[at]]
        self._add(k, pods, 1, 0)
        return True
