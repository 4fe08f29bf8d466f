"""Which fraction of ρ* four policies keep stable on the workloads of figures 3 and 4, beside ½ and ⅔.

With --quick: on figure 3(a) alone, with two seeds at each load and intervals 0.2 wide.
"""

from collections.abc import Sequence

from experiments.script_options import options_of
from packenv.cli.main import main as packenv

WORKLOADS = ("paper/fig3a", "paper/fig3b", "paper/fig4a", "paper/fig4b")
POLICIES = ("bf-js", "vqs", "vqs-bf", "fifo-ff")


def main(arguments: Sequence[str] | None = None) -> None:
    options = options_of(__doc__, arguments)
    command = ["judge", *(WORKLOADS[:1] if options.quick else WORKLOADS)]
    for policy in POLICIES:
        command += ["-p", policy]
    if options.quick:
        command += ["--seeds", "2", "--width", "0.2"]
    if options.processes:
        command += ["--processes", str(options.processes)]
    packenv([*command, "--plot", str(options.folder / "judged.png")])


if __name__ == "__main__":
    main()
