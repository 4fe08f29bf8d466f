"""The most valuable configuration, by integer programming."""

from __future__ import annotations

import highspy
import numpy as np

from packenv.theory.capacity.linear_program import ConfigurationColumns, Floats, Ints
from packenv.theory.capacity.quiet_highs import QuietHighs
from packenv.theory.capacity.several_resources.demand_law import VectorKinds
from packenv.theory.capacity.several_resources.packing import valuable

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
