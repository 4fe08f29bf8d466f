"""Eagle over Hawk by the size of the cluster, what each of Eagle's three mechanisms adds, and Hawk over Sparrow by load.

Workloads in the proportions of three traces, 6 seeds, clusters of 4,000 to 23,000 servers.
"""

from collections.abc import Sequence

from figure_script import draw_figure


def main(arguments: Sequence[str] | None = None) -> None:
    draw_figure("eagle", __doc__, arguments)


if __name__ == "__main__":
    main()
