"""Figure 5 of the paper: mean queue and mean delay against traffic scaling, a row of panels for each set of data."""

from __future__ import annotations

import os
from typing import Any

from matplotlib.figure import Figure

from packenv.studies.random_requirements.fig4.plot import Row, draw_curves, legends

APART = 0.012  # β between the bars of two policies, which would hide each other


def draw_scaling(
    panels: list[tuple[str, list[Row]]], names: list[str], slot_seconds: float, title: str, path: str | os.PathLike[str]
) -> None:
    """`panels`: what the data is, and its rows with speedup, policy, mean_queue, mean_delay (slots) and verdict."""
    figure = Figure(figsize=(10.5, 1 + 3.6 * len(panels)), layout="constrained")
    parts: Any = figure.subfigures(len(panels), 1, squeeze=False)[:, 0]
    for part, (about, rows) in zip(parts, panels, strict=True):
        left, right = part.subplots(1, 2)
        apart = APART if rows[0]["seeds"] > 1 else 0.0
        draw_curves(left, rows, "speedup", "mean_queue", names, apart=apart)
        draw_curves(right, rows, "speedup", "mean_delay", names, slot_seconds, apart)
        left.set_ylabel("mean queue (waiting tasks)")
        right.set_ylabel("mean delay of started tasks (s)")
        for axes in (left, right):
            axes.set_xlabel("traffic scaling β")
        part.suptitle(f"{title}\n{about}" if part is parts[0] else about, fontsize=10)
    legends(parts[-1], left)
    figure.savefig(path, dpi=110)
