"""Delay scheduling: locality against the closed form, fixed and dynamic intervals, and slots that stick to jobs.

Clusters of 100 and 1,000 servers, 8 seeds; the network is constant, or changes during the run; every task reads a block of its
own, or many the same few.
"""

from collections.abc import Sequence

from figure_script import draw_figure


def main(arguments: Sequence[str] | None = None) -> None:
    draw_figure("delay", __doc__, arguments)


if __name__ == "__main__":
    main()
