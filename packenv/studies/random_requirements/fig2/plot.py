"""Figure 2 of the paper: the partition I as a bar, and the configurations that are built on it."""

from __future__ import annotations

import os
from collections.abc import Sequence

from matplotlib.figure import Figure

from packenv.runs.plot_style import COLOURS
from packenv.studies.random_requirements.fig2.partition import Cell

HEIGHT = 0.5


def draw_partition(cells: Sequence[Cell], configurations: Sequence[str], path: str | os.PathLike[str]) -> None:
    """Sizes from 0 to 1 on a line; even types in one colour, odd ones in another. Written to `path`."""
    figure = Figure(figsize=(10, 3.3), layout="constrained")
    axes = figure.add_subplot()
    for cell in cells:
        low, high = float(cell.low), float(cell.high)
        axes.barh(0, high - low, left=low, height=HEIGHT, color=COLOURS[cell.number % 2], alpha=0.35, edgecolor="black")
        small = high - low < 0.05
        axes.annotate(
            f"$I_{{{cell.number}}}$", ((low + high) / 2, HEIGHT / 2 if small else 0), xytext=(0, 3 if small else 0),
            ha="center", va="bottom" if small else "center", fontsize=11 if small else 14, textcoords="offset points",
        )  # fmt: skip
    last = float(cells[-1].low)
    axes.barh(0, last, height=HEIGHT, color="white", edgecolor="black", hatch="///", linewidth=0.6)
    ends = [cell.high for cell in cells if cell.high * 24 >= 1] + [cells[-1].low]
    axes.set_xticks([0, *map(float, ends)], ["0", *(f"{end.numerator}/{end.denominator}" if end < 1 else "1" for end in ends)])
    axes.tick_params(axis="x", labelsize=9, rotation=0)
    for label, end in zip(axes.get_xticklabels()[1:], ends, strict=True):
        label.set_fontsize(10 if end * 4 >= 1 else 7)
        label.set_rotation(0 if end * 4 >= 1 else 60)
    axes.set_xlim(0, 1)
    axes.set_ylim(-0.3, 0.4)
    axes.set_yticks([])
    axes.spines[["left", "top", "right"]].set_visible(False)
    levels = len(cells) // 2
    axes.set_title(f"The partition I for J = {levels}; hatched: smaller sizes, kept with the last type", fontsize=11, loc="left")
    half = (len(configurations) + 1) // 2
    listed = "\n".join(",   ".join(part) for part in (configurations[:half], configurations[half:]))
    axes.set_xlabel(f"size (share of a server)\n\nReduced configurations, jobs of each type:\n{listed}", fontsize=10)
    figure.savefig(path, dpi=130)
