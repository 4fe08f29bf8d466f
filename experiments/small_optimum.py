"""How far policies are from the shortest mean queue of any policy, on the six small workloads `small/…`.

Prints a table for each: mean queues, and their ratios to the optimal policy's. With --quick: for the first alone, by short runs.
"""

from collections.abc import Sequence

from experiments.script_options import options_of
from packenv.cli.main import main as packenv
from packenv.workloads.named.random_requirements import SMALL

POLICIES = ("bf-js", "bf-j", "bf-s", "vqs", "vqs-bf", "fifo-ff", "maxweight")


def main(arguments: Sequence[str] | None = None) -> None:
    options = options_of(__doc__, arguments)
    for name in [*SMALL][: 1 if options.quick else None]:
        command = ["optimal-policy", name]
        for policy in POLICIES[: 2 if options.quick else None]:
            command += ["-p", policy]
        command += ["--slots", "20000", "--seeds", "2"] if options.quick else ["--seeds", "32"]
        if options.processes:
            command += ["--processes", str(options.processes)]
        packenv(command)


if __name__ == "__main__":
    main()
