"""Figure 4(b) of arXiv 1901.05998: mean queues of three policies against the traffic intensity, for large jobs.

Sizes uniform on [0.1, 0.9], five servers, 15 intensities from 0.85 to 0.99, 8 seeds of a million slots each.
"""

from collections.abc import Sequence

from figure_script import draw_figure


def main(arguments: Sequence[str] | None = None) -> None:
    draw_figure("fig4b", __doc__, arguments)


if __name__ == "__main__":
    main()
