"""How values are spread: a bar for each of their bins."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from packenv.cli.report.drawing import Key, Spec, quantity

MOST_BINS = 30
SPREAD = 30.0  # of the largest to the least value, from which the axis is logarithmic


@dataclass(frozen=True)
class BinChart:
    """A small chart. edges (k + 1,) ascending, heights (k,)."""

    direct: ClassVar[bool] = True

    edges: NDArray[np.float64]
    heights: NDArray[np.float64]
    x_title: str
    y_title: str
    log: bool = False

    def keys(self) -> list[Key]:
        return []

    def spec(self, narrow: bool) -> Spec:
        low, high = float(self.edges[0]), float(self.edges[-1])
        x = quantity("x", (low, high), self.x_title, self.log, tickCount=4 if narrow else 8)
        y = quantity("y", (0.0, float(self.heights.max()) or 1.0), self.y_title, tickCount=4)
        rows: list[dict[str, Any]] = [
            {"x": float(start), "end": float(end), "y": float(height), "zero": 0}
            for (start, end), height in zip(pairwise(self.edges), self.heights, strict=True)
        ]
        encoding = {"x": x, "x2": {"field": "end"}, "y": y, "y2": {"field": "zero"}}
        mark = {"type": "rect", "fill": "var(--c0)", "opacity": 0.8}
        return Spec({"data": {"values": rows}, "mark": mark, "encoding": encoding}, 190 if narrow else 220, right=10)


def shares_in_bins(values: ArrayLike, x_title: str, of: str) -> BinChart:
    """The share of the values in each of up to MOST_BINS bins, which are equally wide, by their logarithm if they spread far."""
    x = np.asarray(values, np.float64)
    least, most = float(x.min()), float(x.max())
    log = least > 0 and most >= SPREAD * least
    if log:
        edges = np.geomspace(least, most, MOST_BINS + 1)
    elif (x == np.rint(x)).all():
        width = math.ceil((most - least + 1) / MOST_BINS)  # as many whole numbers in each bin
        edges = np.arange(least - 0.5, most + width, width)
    else:
        edges = np.linspace(least, most, MOST_BINS + 1) if least < most else np.array([0.9 * least, 1.1 * most])
    counts, _ = np.histogram(x, np.concatenate([[-np.inf], edges[1:-1], [np.inf]]))  # rounded ends lose no value
    return BinChart(edges, counts / len(x), x_title, f"share of {of}", log)


def counts_over_time(when: ArrayLike, x_title: str, y_title: str) -> BinChart:
    """How many values lie in each of MOST_BINS equal parts of the time from 0 to the last."""
    x = np.asarray(when, np.float64)
    counts, edges = np.histogram(x, bins=MOST_BINS, range=(0.0, float(x.max()) or 1.0))
    return BinChart(edges, counts.astype(np.float64), x_title, y_title)
