"""Figures 8 to 10 of the price scheduler: efficiency, utilisation and fairness over time, beside nine others; makespans.

100 jobs of 1 to 5 phases on two machines, demands of at most three fifths of a machine, 20 seeds.
"""

from collections.abc import Sequence

from figure_script import draw_figure


def main(arguments: Sequence[str] | None = None) -> None:
    draw_figure("price-fig8", __doc__, arguments)


if __name__ == "__main__":
    main()
