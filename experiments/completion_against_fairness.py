"""Mean completion time against unfairness on `analytics`: Tetris from no fairness to all of it, other policies, and agents.

Below Tetris' curve are those whose jobs end sooner at the same unfairness. All play the same tables, which no agent has seen.
With --quick: two tables, few policies.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import packenv
from experiments.script_options import options_of
from experiments.whole_job_agents import QUICK_SEEDS, REPORTED, SEEDS, Player, means
from packenv.content.charts import colours_for
from packenv.files import atomic_path
from packenv.report.plot_style import light_grid
from packenv.runs.measured import Measured
from packenv.runs.statistics import interval, ratio_of_means

WORKLOAD = "analytics"
TETRIS = tuple(f"tetris:f={f:g},m=1" for f in (0, 0.1, 0.25, 0.5, 0.75, 0.9))
AGENTS = ("agent:analytics", "agent:analytics-fair", "agent:analytics-fairer")
WEIGHTED = tuple(f"weighted-fair:alpha={alpha:g}" for alpha in (-3, -2, -1, -0.5, 0))
OTHERS = ("srpt", "price", "drf")
Runs = Mapping[str, Sequence[Measured]]
LINES = (
    ("Tetris, m = 1, from f = 0 to .9", TETRIS, "o-"),
    ("weighted fair, from α = -3 to 0", WEIGHTED, "^-"),
    ("agents", AGENTS, "D-"),
)


def mean(found: Runs, policy: str, key: str) -> float:
    return interval(means(found[policy], key)).mean or np.nan


def at_the_same_unfairness(found: Runs, agent: str, line: Sequence[str]) -> list[float | None]:
    """By table, the mean completion time of policies on a line between the two points that are as unfair as the agent.

    Beyond the last point its own: it is the most, or the least, unfair that they can be.
    """
    known = sorted(line, key=lambda policy: mean(found, policy, "unfairness"))
    at = [mean(found, policy, "unfairness") for policy in known]
    columns = np.array([means(found[policy], "mean_completion") for policy in known], float)
    return [float(np.interp(mean(found, agent, "unfairness"), at, column)) for column in columns.T]


def draw(found: Runs, path: Path) -> None:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
    others = [policy for policy in OTHERS if policy in found]
    colours = colours_for([*(name for name, *_ in LINES), *others])
    marked: list[tuple[str, Sequence[str], str]] = [*LINES, *((policy, [policy], "s") for policy in others)]
    for (label, policies, style), colour in zip(marked, colours, strict=True):
        shown = sorted((policy for policy in policies if policy in found), key=lambda policy: mean(found, policy, "unfairness"))
        points: Any = [[mean(found, policy, key) for policy in shown] for key in ("unfairness", "mean_completion")]
        axes.plot(*points, style, color=colour, label=label)
    axes.set(xlabel="unfairness (0: fair)", ylabel="mean completion time (slots)", xlim=(0, None))
    axes.legend(frameon=False)
    light_grid(axes)
    with atomic_path(path) as temporary:
        figure.savefig(temporary, dpi=150)
    plt.close(figure)


def main(arguments: Sequence[str] | None = None) -> None:
    options = options_of(__doc__, arguments)
    tetris, weighted, others = (TETRIS[::3], WEIGHTED[::4], ()) if options.quick else (TETRIS, WEIGHTED, OTHERS)
    played = [*tetris, *weighted, *others, *AGENTS]
    player = Player(options.processes, None)
    found = player.play(packenv.workload(WORKLOAD), played, REPORTED, QUICK_SEEDS if options.quick else SEEDS)
    print("| policy | unfairness | mean completion | makespan | completion over Tetris, as unfair | over weighted fair |")
    print("|---|--:|--:|--:|--:|--:|")
    for policy in played:
        own = means(found[policy], "mean_completion")
        cells = [str(interval(means(found[policy], key))) for key in ("unfairness", "mean_completion", "makespan")]
        over = [ratio_of_means(own, at_the_same_unfairness(found, policy, line)) for line in (tetris, weighted)]
        print(f"| `{policy}` | {' | '.join(cells)} | {' | '.join(map(str, over))} |")
    picture = options.folder / "completion_against_fairness.png"
    draw(found, picture)
    print(os.path.relpath(picture))


if __name__ == "__main__":
    main()
