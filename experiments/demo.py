"""The picture of `make demo`: queues over time and delays of the paper's four policies on a workload fitted to a Google trace.

A hundred servers a fifth of the size of Google's largest, at 92 % of the area bound, for 10^8 slots of 0.1 s, two seeds.
"""

from collections.abc import Sequence

from figure_script import options_of

from packenv.cli.main import main as packenv

SLOTS, QUICK_SLOTS = 100_000_000, 1_000_000


def main(arguments: Sequence[str] | None = None) -> None:
    options = options_of(__doc__, arguments)
    command = ["evaluate", "google2011-like", "--servers", "100x0.2", "--intensity", "0.92"]
    command += ["--slots", str(QUICK_SLOTS if options.quick else SLOTS), "--seeds", "2"]
    if options.processes:
        command += ["--processes", str(options.processes)]
    packenv([*command, "--plot", str(options.folder / "demo.png")])


if __name__ == "__main__":
    main()
