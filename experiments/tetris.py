"""Tetris against fair sharing: what jobs take, what fairness costs, and how much of the cluster stays free.

Jobs of many tasks with four resources on 50 servers, 8 seeds; every policy gets the same jobs.
"""

from collections.abc import Sequence

from figure_script import draw_figure


def main(arguments: Sequence[str] | None = None) -> None:
    draw_figure("tetris", __doc__, arguments)


if __name__ == "__main__":
    main()
